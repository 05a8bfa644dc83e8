package evm

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/index/indextest"
)

// random makes values of any length, with empty slices nil.
type random struct{ *rand.Rand }

func (r random) bytes(most int) []byte {
	n := r.IntN(most + 1)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func (r random) wide() (v uint256.Int) {
	return *v.SetBytes(r.bytes(32))
}

func (r random) optional() *uint256.Int {
	if r.IntN(3) == 0 {
		return nil
	}
	v := r.wide()
	return &v
}

func (r random) hash() (h evm.Hash) {
	switch r.IntN(4) {
	case 0:
		a := r.address()
		copy(h[12:], a[:])
	case 1:
		h[31] = byte(r.IntN(5))
	default:
		h[r.IntN(32)], h[0] = 1, byte(r.IntN(9))
	}
	return h
}

func (r random) address() (a evm.Address) {
	a[r.IntN(20)] = byte(r.IntN(4))
	return a
}

func (r random) calls() (calls []evm.Call) {
	for range r.IntN(4) {
		calls = append(calls, evm.Call{
			Type: evm.CallType(r.IntN(8)), Depth: uint16(r.IntN(1 << 16)), From: r.address(), To: r.address(), Value: r.wide(),
			Gas: r.Uint64(), GasUsed: r.Uint64N(1e6), Reverted: r.IntN(2) == 0,
		})
	}
	return calls
}

// tx makes a transaction, with an encoding or without one, which fits or not.
func (r random) tx(i int, b *evm.Block) evm.Tx {
	t := evm.Tx{
		Index: uint32(i), Type: uint8(r.IntN(consensus.LastType + 1)), Nonce: r.Uint64N(1e5), From: r.address(), To: r.address(),
		Value: r.wide(), GasLimit: r.Uint64N(1e7), GasUsed: r.Uint64N(1e7), Input: r.bytes(200), Failed: r.IntN(2) == 0,
		Calls: r.calls(), GasPrice: r.wide(),
	}
	if t.Type < consensus.TypeBlob && r.IntN(3) == 0 {
		t.Creation, t.To = true, evm.Address{}
		t.Contract = evm.CreateAddress(t.From, t.Nonce)
	}
	if t.Type >= consensus.TypeDynamicFee {
		fee, tip := r.wide(), r.wide()
		t.MaxFee, t.MaxPriorityFee = &fee, &tip
		t.GasPrice = consensus.EffectivePrice(&t, b.BaseFee)
	}
	s := &consensus.Signed{ChainID: r.wide(), V: r.wide(), R: r.wide(), S: r.wide()}
	if t.Type > 0 && r.IntN(2) == 0 {
		s.Access = []consensus.Access{{Address: r.address(), Keys: []evm.Hash{r.hash()}}}
	}
	raw, err := consensus.AppendTx(nil, &t, s)
	if err != nil {
		panic(err)
	}
	t.Raw, t.Hash = raw, evm.Keccak(raw)
	if r.IntN(3) == 0 {
		t.Failure = &evm.Failure{Error: "e" + string(r.bytes(20)), Revert: r.bytes(evm.MaxRevert)}
	}
	switch r.IntN(12) {
	case 0:
		t.Raw = nil
	case 1:
		t.Raw = r.bytes(30)
	case 2:
		t.Nonce++
	case 3:
		t.Hash = r.hash()
	case 4:
		t.GasPrice = r.wide()
	case 5:
		t.Contract = r.address()
	case 6:
		t.Index = r.Uint32()
	case 7:
		t.MaxFee, t.MaxPriorityFee = r.optional(), r.optional()
	case 8:
		t.Type = uint8(r.Uint32())
	}
	return t
}

func (r random) block() *evm.Block {
	b := &evm.Block{
		Number: r.Uint64N(1e9), Hash: r.hash(), Parent: r.hash(), TimeMilli: r.Uint64N(1e13), GasLimit: r.Uint64N(1e8),
		GasUsed: r.Uint64N(1e8), BaseFee: r.optional(), Miner: r.address(), Size: r.Uint64N(1e6), Traced: r.IntN(2) == 0,
		ExtData: r.bytes(50), Foreign: r.bytes(20), Unverified: string(r.bytes(9)),
	}
	h := consensus.Header{
		Parent: b.Parent, Miner: b.Miner, Number: b.Number, Time: b.TimeMilli / 1000, TimeMilli: &b.TimeMilli, GasLimit: b.GasLimit,
		GasUsed: b.GasUsed, BaseFee: b.BaseFee, HasExtData: r.IntN(2) == 0, BlobGasUsed: new(uint64), ExcessBlobGas: new(uint64),
		BlockGasCost: new(uint256.Int), ParentBeaconRoot: new(evm.Hash), MinDelayExcess: new(uint64), ExtDataGasUsed: new(uint256.Int),
	}
	if b.BaseFee == nil {
		b.BaseFee = new(uint256.Int)
		h.BaseFee = b.BaseFee
	}
	settles := r.IntN(2) == 0
	if settles { // its header says what it reserves
		paid := r.wide()
		settled := r.Uint64()
		b.Reserved, b.BaseFee = &evm.Reserved{Gas: b.GasUsed, BaseFee: *b.BaseFee, Settled: settled}, &paid
		h.TargetExponent, h.MinPriceExponent = new(uint64), new(uint64)
		h.SettledHeight, h.SettledGasUnix, h.SettledGasNumerator, h.SettledExcess = &settled, &settled, &settled, &settled
	}
	switch b.Header = h.Append(nil); r.IntN(5) {
	case 0:
		b.Header, b.BaseFee = nil, r.optional()
	case 1:
		b.Header = r.bytes(30)
	default:
		b.Hash = evm.Keccak(b.Header)
	}
	for range r.IntN(3) {
		b.Atomic = append(b.Atomic, evm.Atomic{Address: r.address(), Wei: r.wide(), Export: r.IntN(2) == 0})
	}
	odd := r.IntN(3) == 0
	log := uint32(0)
	for i := range r.IntN(5) {
		t := r.tx(i, b)
		for range r.IntN(4) {
			l := evm.Log{Address: r.address(), Data: r.bytes(80), Index: log}
			if log++; odd {
				l.Index = r.Uint32()
			}
			for range r.IntN(5) {
				l.Topics = append(l.Topics, r.hash())
			}
			t.Logs = append(t.Logs, l)
		}
		b.Txs = append(b.Txs, t)
	}
	if settles && r.IntN(2) == 0 {
		b.GasUsed = usedBy(b.Txs)
	}
	if r.IntN(2) == 0 {
		b.Balances = []evm.Balance{}
		for range r.IntN(4) {
			b.Balances = append(b.Balances, evm.Balance{Address: r.address(), Before: r.wide(), Wei: r.wide()})
		}
	}
	return b
}

func checkSame(t testing.TB, want *evm.Block) []byte {
	t.Helper()
	data := Append([]byte("xy"), want)[2:]
	var got evm.Block
	if err := Decode(data, &got); err != nil {
		t.Fatalf("%v\n%+v", err, want)
	}
	if !reflect.DeepEqual(&got, want) {
		t.Fatalf("got\n%+v\nwant\n%+v", &got, want)
	}
	return data
}

func TestRandomBlocks(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(1, 2))}
	for range 3000 {
		checkSame(t, r.block())
	}
}

func TestCutPayload(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(3, 4))}
	for range 30 {
		data := Append(nil, r.block())
		var b evm.Block
		for n := range data {
			if Decode(data[:n], &b) == nil {
				t.Fatalf("%d of %d bytes are a block", n, len(data))
			}
		}
		if Decode(append(data, 0), &b) == nil {
			t.Fatal("a byte too many is a block")
		}
	}
}

func TestMadeUpChain(t *testing.T) {
	t.Parallel()
	for _, b := range indextest.New(indextest.Config{Seed: 1, Txs: 20}).Blocks(50) {
		checkSame(t, b)
	}
}

// TestLateTrace archives blocks without their traces, and adds those as notes.
func TestLateTrace(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 10}).Blocks(40)
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i, b := range blocks {
		bare := *b
		if i%3 == 1 {
			bare.Traced, bare.Balances, bare.Txs = false, nil, make([]evm.Tx, len(b.Txs))
			copy(bare.Txs, b.Txs)
			for k := range bare.Txs {
				bare.Txs[k].Calls, bare.Txs[k].Failure = nil, nil
			}
		}
		if err := a.Append(context.Background(), []archive.Block{BlockOf(&bare)}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (got []*evm.Block) {
		t.Helper()
		if err := NewReader(a).Read(context.Background(), 0, 39, func(b *evm.Block) error { got = append(got, b); return nil }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); got[1].Traced || !got[2].Traced {
		t.Fatal("wrong blocks are traced")
	}
	for i, b := range blocks {
		if i%3 != 1 {
			continue
		}
		other := *b
		other.Hash[0]++ // of a block that was never accepted
		other.Balances = nil
		notes := []archive.Note{
			{Height: b.Number, Type: NoteTrace, Data: AppendTrace(nil, b)},
			{Height: b.Number, Type: NoteTrace, Data: AppendTrace(nil, &other)},
			{Height: b.Number, Type: NoteToken, Data: []byte("not a trace")},
		}
		if err := a.AddNotes(context.Background(), notes); err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range read() {
		if !reflect.DeepEqual(b, blocks[i]) {
			t.Fatalf("block %d: got\n%+v\nwant\n%+v", i, b, blocks[i])
		}
	}
}

// A note of a whole block counts more than the block that was archived, whichever release
// wrote it, the last one most, unless it could not be checked and the archived one was since.
func TestCorrections(t *testing.T) {
	t.Parallel()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	told := evm.Block{Number: 7, Hash: evm.Hash{7}, Traced: true, GasUsed: 1}
	form := func(change func(*evm.Block)) *evm.Block {
		b := told
		change(&b)
		return &b
	}
	if err := a.Append(t.Context(), []archive.Block{BlockOf(form(func(b *evm.Block) { b.Unverified = "unknown" }))}); err != nil {
		t.Fatal(err)
	}
	check := func(what string, gas uint64, unverified string) {
		t.Helper()
		err := NewReader(a).Read(t.Context(), 7, 7, func(b *evm.Block) error {
			if b.GasUsed != gas || b.Unverified != unverified {
				t.Errorf("%s: gas %d, %q", what, b.GasUsed, b.Unverified)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	note := func(typ archive.NoteType, b *evm.Block) {
		t.Helper()
		if err := a.AddNotes(t.Context(), []archive.Note{{Height: 7, Type: typ, Data: Append(nil, b)}}); err != nil {
			t.Fatal(err)
		}
	}
	check("as it came", 1, "unknown")
	note(NoteBlock, form(func(b *evm.Block) { b.GasUsed = 2 }))
	check("an older release", 2, "")
	note(NoteCorrection, form(func(b *evm.Block) { b.GasUsed, b.Unverified = 3, "new" }))
	check("not over one that was checked", 2, "")
	note(NoteCorrection, form(func(b *evm.Block) { b.GasUsed = 4 }))
	check("the last", 4, "")
	note(NoteCorrection, form(func(b *evm.Block) { b.Hash, b.GasUsed = evm.Hash{8}, 5 }))
	check("another block", 4, "")
	if err := a.Replace(t.Context(), []archive.Block{BlockOf(&told)}); err != nil {
		t.Fatal(err)
	}
	check("the archived one is checked", 4, "")
}

func FuzzDecode(f *testing.F) {
	r := random{rand.New(rand.NewPCG(9, 9))}
	for range 20 {
		b := r.block()
		f.Add(Append(nil, b), AppendTrace(nil, b))
	}
	f.Fuzz(func(t *testing.T, data, trace []byte) {
		var b evm.Block
		if Decode(data, &b) == nil {
			checkSame(t, &b)
			_ = DecodeTrace(trace, &b)
		}
	})
}
