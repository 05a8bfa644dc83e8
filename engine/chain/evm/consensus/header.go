package consensus

import (
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// BloomLen is the length of a filter of logs in bytes.
const BloomLen = 256

// maxFurther bounds the members of a header that are not known here.
const maxFurther = 16

// Header is a block's header. The members from BaseFee on came with upgrades, in
// this order: a header has those up to that of its upgrade.
type Header struct {
	Parent, Uncles                  evm.Hash
	Miner                           evm.Address
	StateRoot, TxRoot, ReceiptsRoot evm.Hash
	Bloom                           [BloomLen]byte
	Difficulty                      uint256.Int
	Number                          uint64
	GasLimit, GasUsed               uint64
	Time                            uint64 // Unix seconds
	Extra                           []byte
	MixHash                         evm.Hash
	Nonce                           [8]byte
	// HasExtData: the header is one of the C-Chain, which has ExtDataHash.
	HasExtData  bool
	ExtDataHash evm.Hash

	BaseFee                    *uint256.Int
	ExtDataGasUsed             *uint256.Int // of the C-Chain only
	BlockGasCost               *uint256.Int
	BlobGasUsed, ExcessBlobGas *uint64
	ParentBeaconRoot           *evm.Hash
	TimeMilli, MinDelayExcess  *uint64
	// With Helicon a chain may execute blocks after it accepted them (ACP-194). Its
	// headers hold the gas clock after the last block that they settle.
	TargetExponent, MinPriceExponent    *uint64
	SettledHeight                       *uint64
	SettledGasUnix, SettledGasNumerator *uint64 // Unix seconds, and the fraction's numerator over the gas rate
	SettledExcess                       *uint64
	// Further are the encodings of members behind those that are there: upgrades append
	// some.
	Further [][]byte
}

// Append appends the header's encoding, whose Keccak-256 is the block's hash.
func (h *Header) Append(dst []byte) []byte {
	start := len(dst)
	dst = AppendString(dst, h.Parent[:])
	dst = AppendString(dst, h.Uncles[:])
	dst = AppendString(dst, h.Miner[:])
	dst = AppendString(dst, h.StateRoot[:])
	dst = AppendString(dst, h.TxRoot[:])
	dst = AppendString(dst, h.ReceiptsRoot[:])
	dst = AppendString(dst, h.Bloom[:])
	dst = appendWide(dst, &h.Difficulty)
	for _, v := range [...]uint64{h.Number, h.GasLimit, h.GasUsed, h.Time} {
		dst = rlp.AppendUint64(dst, v)
	}
	dst = AppendString(dst, h.Extra)
	dst = AppendString(dst, h.MixHash[:])
	dst = AppendString(dst, h.Nonce[:])
	if h.HasExtData {
		dst = AppendString(dst, h.ExtDataHash[:])
	}
	dst = h.appendOptional(dst)
	return closeList(dst, start)
}

// appendOptional appends the members that came with upgrades, up to the last one
// that is there: one that is not is an empty string before a later one.
func (h *Header) appendOptional(dst []byte) []byte {
	end := len(dst) // behind the last member that is there
	wide := func(v *uint256.Int) {
		if v == nil {
			dst = append(dst, 0x80)
			return
		}
		dst = appendWide(dst, v)
		end = len(dst)
	}
	number := func(v *uint64) {
		if v == nil {
			dst = append(dst, 0x80)
			return
		}
		dst = rlp.AppendUint64(dst, *v)
		end = len(dst)
	}
	wide(h.BaseFee)
	if h.HasExtData {
		wide(h.ExtDataGasUsed)
	}
	wide(h.BlockGasCost)
	number(h.BlobGasUsed)
	number(h.ExcessBlobGas)
	if h.ParentBeaconRoot != nil {
		dst = AppendString(dst, h.ParentBeaconRoot[:])
		end = len(dst)
	} else {
		dst = append(dst, 0x80)
	}
	number(h.TimeMilli)
	number(h.MinDelayExcess)
	for _, v := range [settledMembers]*uint64{
		h.TargetExponent, h.MinPriceExponent, h.SettledHeight, h.SettledGasUnix, h.SettledGasNumerator, h.SettledExcess,
	} {
		number(v)
	}
	dst = dst[:end]
	for _, f := range h.Further {
		dst = append(dst, f...)
	}
	return dst
}

// Parse reads the encoding of a header. Extra and Further are parts of raw.
func (h *Header) Parse(raw []byte) error {
	*h = Header{}
	r := list(raw)
	h.Parent = r.hash("parentHash")
	h.Uncles = r.hash("sha3Uncles")
	h.Miner = r.address("miner")
	h.StateRoot = r.hash("stateRoot")
	h.TxRoot = r.hash("transactionsRoot")
	h.ReceiptsRoot = r.hash("receiptsRoot")
	r.fixed("logsBloom", h.Bloom[:])
	r.wide("difficulty", &h.Difficulty)
	h.Number = r.uint("number")
	h.GasLimit = r.uint("gasLimit")
	h.GasUsed = r.uint("gasUsed")
	h.Time = r.uint("timestamp")
	h.Extra = r.bytes("extraData")
	h.MixHash = r.hash("mixHash")
	r.fixed("nonce", h.Nonce[:])
	// Only a header of the C-Chain has 32 bytes here: a base fee is no such number.
	if r.more() && r.rest[0] == 0x80+evm.HashLen {
		h.HasExtData = true
		h.ExtDataHash = r.hash("extDataHash")
	}
	h.parseOptional(&r)
	for r.more() {
		_, _, rest, err := rlp.Split(r.rest)
		if err != nil || len(h.Further) == maxFurther {
			r.fail("further members", errLength)
			break
		}
		h.Further = append(h.Further, r.rest[:len(r.rest)-len(rest)])
		r.rest = rest
	}
	return r.end()
}

func (h *Header) parseOptional(r *reader) {
	wide := func(what string) *uint256.Int {
		if !r.more() {
			return nil
		}
		v := new(uint256.Int)
		r.wide(what, v)
		return v
	}
	number := func(what string) *uint64 {
		if !r.more() {
			return nil
		}
		v := r.uint(what)
		return &v
	}
	h.BaseFee = wide("baseFeePerGas")
	if h.HasExtData {
		h.ExtDataGasUsed = wide("extDataGasUsed")
	}
	h.BlockGasCost = wide("blockGasCost")
	h.BlobGasUsed = number("blobGasUsed")
	h.ExcessBlobGas = number("excessBlobGas")
	switch {
	case r.more() && r.rest[0] == 0x80: // not there, but a later one is
		if r.rest = r.rest[1:]; !r.more() {
			r.fail("parentBeaconBlockRoot", errLength)
		}
	case r.more():
		root := r.hash("parentBeaconBlockRoot")
		h.ParentBeaconRoot = &root
	}
	h.TimeMilli = number("timestampMilliseconds")
	h.MinDelayExcess = number("minDelayExcess")
	if !r.numbers(settledMembers) {
		return
	}
	h.TargetExponent = number("targetExponent")
	h.MinPriceExponent = number("minPriceExponent")
	h.SettledHeight = number("settledHeight")
	h.SettledGasUnix = number("settledGasUnix")
	h.SettledGasNumerator = number("settledGasNumerator")
	h.SettledExcess = number("settledExcess")
}

// settledMembers is how many members came with Helicon, together. With fewer, or others
// than numbers, a header has some that are not known here.
const settledMembers = 6

// numbers reports whether so many elements come next that are numbers.
func (r *reader) numbers(n int) bool {
	rest := r.rest
	for range n {
		var err error
		if _, rest, err = rlp.SplitUint64(rest); err != nil {
			return false
		}
	}
	return r.err == nil
}

// Milli is the block's time in Unix milliseconds.
func (h *Header) Milli() uint64 {
	if h.TimeMilli != nil {
		return *h.TimeMilli
	}
	return h.Time * 1000
}

// Settles reports whether the block was accepted before it was executed (ACP-194). Then
// its receiptsRoot and logsBloom are those of the blocks that it settles, above the
// SettledHeight of its parent up to its own; its stateRoot is that after the last of
// these; and GasUsed and BaseFee are upper bounds. avalanchego calls all others
// synchronous: vms/saevm/hook.
func (h *Header) Settles() bool {
	for _, v := range [...]*uint64{h.SettledHeight, h.SettledGasUnix, h.SettledGasNumerator, h.SettledExcess} {
		if v != nil && *v != 0 {
			return true
		}
	}
	return false
}

// Fill sets what a block has of its header, but for Hash and Header. Of one that was
// accepted before it was executed GasUsed and BaseFee are those of Reserved.
func (h *Header) Fill(b *evm.Block) {
	b.Number, b.Parent, b.TimeMilli = h.Number, h.Parent, h.Milli()
	b.GasLimit, b.GasUsed, b.BaseFee, b.Miner = h.GasLimit, h.GasUsed, h.BaseFee, h.Miner
	if h.Settles() {
		b.Reserved = &evm.Reserved{Gas: h.GasUsed}
		if h.SettledHeight != nil {
			b.Reserved.Settled = *h.SettledHeight
		}
		if h.BaseFee != nil {
			b.Reserved.BaseFee = *h.BaseFee
		}
	}
}

// DecodeHeader reads the encoding of a header and sets all that a block has of it,
// its hash and Header among it.
func DecodeHeader(raw []byte, b *evm.Block) error {
	var h Header
	if err := h.Parse(raw); err != nil {
		return err
	}
	h.Fill(b)
	b.Header, b.Hash = raw, evm.Keccak(raw)
	return nil
}
