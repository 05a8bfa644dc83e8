package evm

import (
	"bytes"
	"fmt"

	"github.com/holiman/uint256"
)

// What is kept of a failure, in bytes.
const (
	MaxError  = 256
	MaxRevert = 1024
)

// Failure is what a trace says of a transaction that failed. No hash covers it.
type Failure struct {
	// Error is the node's text, such as "execution reverted" or "out of gas": at least
	// one byte and at most MaxError.
	Error string
	// Revert is what the outermost call returned: the first MaxRevert bytes.
	Revert []byte
}

// The selectors of what Solidity reverts with: Error(string) and Panic(uint256).
var (
	errorString  = [4]byte{0x08, 0xc3, 0x79, 0xa0}
	panicUint256 = [4]byte{0x4e, 0x48, 0x7b, 0x71}
)

// panics are the codes of Panic(uint256), in the words of go-ethereum.
var panics = map[uint64]string{
	0x00: "generic panic",
	0x01: "assert(false)",
	0x11: "arithmetic underflow or overflow",
	0x12: "division or modulo by zero",
	0x21: "enum overflow",
	0x22: "invalid encoded storage byte array accessed",
	0x31: "out-of-bounds array access; popping on an empty array",
	0x32: "out-of-bounds access of an array or bytesN",
	0x41: "out of memory",
	0x51: "uninitialized function",
}

// Reason returns the error and, behind a colon, what the contract said in the form of
// Error(string) or Panic(uint256). It may hold any bytes.
func (f *Failure) Reason() string {
	if said := f.said(); said != "" {
		return f.Error + ": " + said
	}
	return f.Error
}

// said decodes the data of a revert; empty if it has neither form.
func (f *Failure) said() string {
	selector, rest := f.Revert[:min(4, len(f.Revert))], f.Revert[min(4, len(f.Revert)):]
	word := func() (v uint256.Int, ok bool) {
		if len(rest) < 32 {
			return v, false
		}
		v.SetBytes32(rest)
		rest = rest[32:]
		return v, true
	}
	first, ok := word()
	switch {
	case ok && bytes.Equal(selector, panicUint256[:]) && len(rest) == 0:
		if text := panics[first.Uint64()]; text != "" && first.IsUint64() {
			return text
		}
		return fmt.Sprintf("unknown panic code: %s", first.Hex())
	case ok && bytes.Equal(selector, errorString[:]) && first.IsUint64() && first.Uint64() == 32:
		n, ok := word()
		switch {
		case !ok:
		case n.LtUint64(uint64(len(rest)) + 1):
			return string(rest[:n.Uint64()])
		case len(f.Revert) == MaxRevert: // the text is longer than what is kept of it
			return string(rest) + "…"
		}
	}
	return ""
}
