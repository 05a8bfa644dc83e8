package consensus

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

func TestHeaderRefuses(t *testing.T) {
	t.Parallel()
	whole := recorded(t)[3].header()
	fields := func(change func(h *Header)) []byte {
		h := *whole
		change(&h)
		return h.Append(nil)
	}
	var h Header
	tail := func(further ...[]byte) []byte { return fields(func(h *Header) { h.Further = further }) }
	if err := h.Parse(tail([]byte{7}, []byte{0xc1, 9}, []byte{0x80})); err != nil || len(h.Further) != 3 {
		t.Errorf("%d further members, %v", len(h.Further), err)
	}
	// An empty root with nothing behind it could as well not be there.
	empty := fields(func(h *Header) { h.ParentBeaconRoot, h.TimeMilli, h.MinDelayExcess = nil, nil, nil })
	empty = closeList(append(bytes.Clone(empty[3:]), 0x80), 0)
	for name, raw := range map[string][]byte{
		"nothing":          nil,
		"a string":         {0x82, 1, 2},
		"an empty list":    {0xc0},
		"a byte behind":    append(whole.Append(nil), 0),
		"a long form":      tail([]byte{0x81, 1}),
		"too many members": tail(slices.Repeat([][]byte{{1}}, settledMembers+maxFurther+1)...),
		"an empty root":    empty,
	} {
		if err := h.Parse(raw); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %v", name, err)
		}
		var b evm.Block
		if err := DecodeHeader(raw, &b); err == nil || b.Header != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTxRefuses(t *testing.T) {
	t.Parallel()
	good := signedTx(t, 1)
	with := func(change func(tx *evm.Tx, s *Signed)) []byte {
		var tx evm.Tx
		var s Signed
		if err := ParseTx(good.Raw, &tx, &s); err != nil {
			t.Fatal(err)
		}
		change(&tx, &s)
		raw, err := AppendTx(nil, &tx, &s)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, c := range map[string]struct {
		raw            []byte
		decode, sender error
	}{
		"nothing":            {nil, ErrEncoding, ErrEncoding},
		"type 0":             {append([]byte{0}, good.Raw[1:]...), ErrUnknownType, ErrUnknownType},
		"type 5":             {append([]byte{5}, good.Raw[1:]...), ErrUnknownType, ErrUnknownType},
		"type 127":           {append([]byte{127}, good.Raw[1:]...), ErrUnknownType, ErrUnknownType},
		"another type":       {append([]byte{1}, good.Raw[1:]...), ErrEncoding, ErrEncoding},
		"bytes behind":       {append(bytes.Clone(good.Raw), 1), ErrEncoding, ErrEncoding},
		"v of 2":             {with(func(_ *evm.Tx, s *Signed) { s.V.SetUint64(2) }), nil, ErrSignature},
		"s too high":         {with(func(_ *evm.Tx, s *Signed) { s.S.SetAllOne() }), nil, ErrSignature},
		"r of 0":             {with(func(_ *evm.Tx, s *Signed) { s.R.Clear() }), nil, ErrSignature},
		"s of 0":             {with(func(_ *evm.Tx, s *Signed) { s.S.Clear() }), nil, ErrSignature},
		"r too high":         {with(func(_ *evm.Tx, s *Signed) { s.R.SetAllOne() }), nil, ErrSignature},
		"legacy v of 26":     {with(func(tx *evm.Tx, s *Signed) { tx.Type = 0; s.V.SetUint64(26) }), nil, ErrSignature},
		"legacy v of 29":     {with(func(tx *evm.Tx, s *Signed) { tx.Type = 0; s.V.SetUint64(29) }), nil, ErrSignature},
		"blob of no account": {append([]byte{TypeBlob}, good.Raw[1:]...), ErrEncoding, ErrEncoding},
	} {
		var tx evm.Tx
		if err := DecodeTx(c.raw, &tx); !errors.Is(err, c.decode) || c.decode != nil && tx.Raw != nil {
			t.Errorf("%s: %v", name, err)
		}
		if from, err := Sender(c.raw); !errors.Is(err, c.sender) {
			t.Errorf("%s: sender %s, %v", name, from, err)
		}
	}
	for _, tx := range []evm.Tx{{Type: 5}, {Type: 2}, {Type: 3, MaxFee: new(uint256.Int), MaxPriorityFee: new(uint256.Int), Creation: true}} {
		if raw, err := AppendTx(nil, &tx, &Signed{}); err == nil {
			t.Errorf("%+v: encoded %x", tx, raw)
		}
	}
	if Input(nil) != nil || Input([]byte{0x02, 0xc0}) != nil || Input([]byte{9}) != nil {
		t.Error("an input of what is none")
	}
}

// Each member of a block that its hash covers, changed by itself, is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	a := recorded(t)[3]
	for field, change := range map[string]func(b *evm.Block){
		"hash":                 func(b *evm.Block) { b.Hash[0] ^= 1 },
		"number":               func(b *evm.Block) { b.Number++ },
		"parentHash":           func(b *evm.Block) { b.Parent[31] ^= 1 },
		"timestamp":            func(b *evm.Block) { b.TimeMilli++ },
		"gasLimit":             func(b *evm.Block) { b.GasLimit++ },
		"gasUsed":              func(b *evm.Block) { b.GasUsed++ },
		"miner":                func(b *evm.Block) { b.Miner[0] ^= 1 },
		"baseFeePerGas":        func(b *evm.Block) { b.BaseFee = nil },
		"extDataHash":          func(b *evm.Block) { b.ExtData = []byte{1} },
		"transactions[2].hash": func(b *evm.Block) { b.Txs[2].Hash[0] ^= 1 },
		"transactionsRoot":     func(b *evm.Block) { b.Txs = b.Txs[1:] },
		"receiptsRoot":         func(b *evm.Block) { b.Txs[0].Logs[0].Data[0] ^= 1 },
	} {
		b := a.blockOf(t)
		change(b)
		var m *Mismatch
		if err := Check(b); !errors.As(err, &m) || m.Field != field || m.Error() == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	b := a.blockOf(t)
	b.Header = append(b.Header, 0)
	b.Hash = evm.Keccak(b.Header)
	if err := Check(b); !errors.Is(err, ErrEncoding) {
		t.Errorf("a header that is none: %v", err)
	}
}

// Headers of before Apricot phase 1 do not cover the ExtData: there a zero stands
// for its hash, whatever the block holds. Others do.
func TestCheckBeforeApricot1(t *testing.T) {
	t.Parallel()
	for _, extra := range [][]byte{nil, {1}} {
		b := recorded(t)[3].blockOf(t)
		var h Header
		if err := h.Parse(b.Header); err != nil {
			t.Fatal(err)
		}
		h.ExtDataHash, h.BaseFee, h.ExtDataGasUsed, h.BlockGasCost = evm.Hash{}, nil, nil, nil
		h.BlobGasUsed, h.ExcessBlobGas, h.ParentBeaconRoot, h.TimeMilli, h.MinDelayExcess = nil, nil, nil, nil, nil
		b.Header, b.ExtData = h.Append(nil), extra
		b.Hash = evm.Keccak(b.Header)
		h.Fill(b)
		if err := Check(b); err != nil {
			t.Errorf("ExtData %x: %v", extra, err)
		}
		h.BaseFee = uint256.NewInt(1)
		b.Header = h.Append(nil)
		b.Hash = evm.Keccak(b.Header)
		h.Fill(b)
		var m *Mismatch
		if err := Check(b); !errors.As(err, &m) || m.Field != "extDataHash" {
			t.Errorf("with a base fee, ExtData %x: %v", extra, err)
		}
	}
}
