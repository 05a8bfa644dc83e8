package evm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// maxUnknown bounds the members of a block that are not known here and kept.
const maxUnknown = 16

// header is what a block has besides its parts.
type header struct {
	consensus.Header
	seen    uint32 // bits of the members that must be there
	hash    evm.Hash
	size    uint64
	extra   []byte // blockExtraData as written
	txs     []byte // transactions as written
	unknown []member
	encoded []byte

	// What the optional members point to.
	wides   [2]uint256.Int
	numbers [10]uint64
	beacon  evm.Hash
}

// member is one that is not known here, as written.
type member struct {
	name  string
	value []byte
}

// Members that each block must have.
const (
	seenHash = 1 << iota
	seenParent
	seenUncles
	seenMiner
	seenStateRoot
	seenTxRoot
	seenReceiptsRoot
	seenBloom
	seenDifficulty
	seenNumber
	seenGasLimit
	seenGasUsed
	seenTime
	seenExtra
	seenMixHash
	seenNonce
	seenTxs
	seenAll = 1<<iota - 1
)

// required reads a member that each block has and reports whether name is that of one.
func (h *header) required(f *fields, name []byte) bool {
	bit := uint32(0)
	switch string(name) {
	case "hash":
		h.hash, bit = f.hash("hash"), seenHash
	case "parentHash":
		h.Parent, bit = f.hash("parentHash"), seenParent
	case "sha3Uncles":
		h.Uncles, bit = f.hash("sha3Uncles"), seenUncles
	case "miner":
		h.Miner, bit = f.address("miner"), seenMiner
	case "stateRoot":
		h.StateRoot, bit = f.hash("stateRoot"), seenStateRoot
	case "transactionsRoot":
		h.TxRoot, bit = f.hash("transactionsRoot"), seenTxRoot
	case "receiptsRoot":
		h.ReceiptsRoot, bit = f.hash("receiptsRoot"), seenReceiptsRoot
	case "logsBloom":
		f.fixed("logsBloom", h.Bloom[:])
		bit = seenBloom
	case "difficulty":
		f.uint256("difficulty", &h.Difficulty)
		bit = seenDifficulty
	case "number":
		h.Number, bit = f.uint("number"), seenNumber
	case "gasLimit":
		h.GasLimit, bit = f.uint("gasLimit"), seenGasLimit
	case "gasUsed":
		h.GasUsed, bit = f.uint("gasUsed"), seenGasUsed
	case "timestamp":
		h.Time, bit = f.uint("timestamp"), seenTime
	case "extraData":
		h.Extra, bit = f.data("extraData"), seenExtra
	case "mixHash":
		h.MixHash, bit = f.hash("mixHash"), seenMixHash
	case "nonce":
		f.fixed("nonce", h.Nonce[:])
		bit = seenNonce
	case "transactions":
		h.txs, bit = f.Raw(), seenTxs
	default:
		return false
	}
	h.seen |= bit
	return true
}

// optional reads a member that some blocks have, those of headers in the order of
// the upgrades that brought them.
func (h *header) optional(f *fields, name []byte) {
	wide := func(v *uint256.Int) *uint256.Int {
		f.uint256(string(name), v)
		return v
	}
	number := func(i int) *uint64 {
		h.numbers[i] = f.uint(string(name))
		return &h.numbers[i]
	}
	if f.Null() {
		return
	}
	switch string(name) {
	case "extDataHash":
		h.HasExtData, h.ExtDataHash = true, f.hash("extDataHash")
	case "baseFeePerGas":
		h.BaseFee = wide(new(uint256.Int)) // the block keeps it
	case "extDataGasUsed":
		h.ExtDataGasUsed = wide(&h.wides[0])
	case "blockGasCost":
		h.BlockGasCost = wide(&h.wides[1])
	case "blobGasUsed":
		h.BlobGasUsed = number(0)
	case "excessBlobGas":
		h.ExcessBlobGas = number(1)
	case "parentBeaconBlockRoot":
		h.beacon = f.hash("parentBeaconBlockRoot")
		h.ParentBeaconRoot = &h.beacon
	case "timestampMilliseconds":
		h.TimeMilli = number(2)
	case "minDelayExcess":
		h.MinDelayExcess = number(3)
	case "targetExponent":
		h.TargetExponent = number(4)
	case "minPriceExponent":
		h.MinPriceExponent = number(5)
	case "settledHeight":
		h.SettledHeight = number(6)
	case "settledGasUnix":
		h.SettledGasUnix = number(7)
	case "settledGasNumerator":
		h.SettledGasNumerator = number(8)
	case "settledExcess":
		h.SettledExcess = number(9)
	case "blockExtraData":
		h.extra = f.Text()
	case "size":
		h.size = f.uint("size")
	case "totalDifficulty", "uncles": // covered by nothing, and not used
		f.Skip()
	default:
		if value := f.Raw(); len(h.unknown) < maxUnknown {
			h.unknown = append(h.unknown, member{string(name), value})
		}
	}
}

// decodeHeader reads a block's own members. What is in its parts is left as text.
func decodeHeader(text []byte) (*evm.Block, *header, error) {
	h := &header{}
	var f fields
	f.chunk = 64
	f.Reset(text)
	f.Members(func(name []byte) {
		if !h.required(&f, name) {
			h.optional(&f, name)
		}
	})
	if !f.End() {
		return nil, nil, fmt.Errorf("block: %w", f.Err())
	}
	if h.seen != seenAll {
		return nil, nil, fmt.Errorf("block without all of its members: %b", h.seen^seenAll)
	}
	if h.Time > maxTime {
		return nil, nil, fmt.Errorf("block %d: time of %d s", h.Number, h.Time)
	}
	if h.TimeMilli != nil && *h.TimeMilli/1000 != h.Time {
		return nil, nil, fmt.Errorf("block %d: times of %d s and %d ms", h.Number, h.Time, *h.TimeMilli)
	}
	b := &evm.Block{Hash: h.hash, Size: h.size}
	h.Fill(b)
	h.encoded = h.Append(make([]byte, 0, headerLen))
	return b, h, nil
}

// headerLen is the usual length of a header in its encoding, rather too large.
const headerLen = 768

// fixed reads as many bytes as dst has.
func (f *fields) fixed(name string, dst []byte) {
	f.failAt(name, hexFixed(dst, f.Text()))
}

// hashes reports whether the header's encoding has the hash that the node said. Of
// members that are not known it tries whether an upgrade appended them to the
// header, in any order: then the header is known after all.
func (h *header) hashes() bool {
	if evm.Keccak(h.encoded) == h.hash {
		return true
	}
	if len(h.unknown) == 0 || len(h.unknown) > maxGuessed {
		return false
	}
	values := make([][]byte, len(h.unknown))
	for i, m := range h.unknown {
		v, err := guessValue(m.value)
		if err != nil {
			return false
		}
		values[i] = v
	}
	return permute(values, 0, func() bool {
		h.Further = values
		h.encoded = h.Append(h.encoded[:0])
		if evm.Keccak(h.encoded) == h.hash {
			return true
		}
		h.Further = nil
		return false
	})
}

// maxGuessed bounds the unknown members whose order is tried.
const maxGuessed = 6

var errGuess = errors.New("neither a number nor bytes")

// guessValue returns the encoding of a value as written: bytes if it has pairs of
// digits and may be no number, else a number.
func guessValue(text []byte) ([]byte, error) {
	var f fields
	f.Reset(text)
	digits := f.Text()
	if !f.End() || len(digits) < 2 {
		return nil, errGuess
	}
	if n, err := hexLen(digits); err == nil && (n == 0 || n >= evm.AddressLen || digits[2] == '0') {
		b, err := f.hexBytes(digits)
		return consensus.AppendString(nil, b), err
	}
	var v uint256.Int
	if err := hexUint256(&v, digits); err != nil {
		return nil, err
	}
	b := v.Bytes32()
	return consensus.AppendString(nil, b[32-v.ByteLen():]), nil
}

// permute calls f with values in each order until it returns true.
func permute(values [][]byte, from int, f func() bool) bool {
	if from == len(values) {
		return f()
	}
	for i := from; i < len(values); i++ {
		values[from], values[i] = values[i], values[from]
		if permute(values, from+1, f) {
			return true
		}
		values[from], values[i] = values[i], values[from]
	}
	return false
}

// names lists the members that are not known.
func (h *header) names() (names []string) {
	for _, m := range h.unknown {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}
