package evmchain

import (
	"encoding/hex"
	"math/bits"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

const digits = "0123456789abcdef"

// The functions below append JSON strings as nodes write them.

func jsonBytes(dst, b []byte) []byte {
	dst = append(dst, '"', '0', 'x')
	dst = hex.AppendEncode(dst, b)
	return append(dst, '"')
}

func jsonHash(dst []byte, h *evm.Hash) []byte       { return jsonBytes(dst, h[:]) }
func jsonAddress(dst []byte, a *evm.Address) []byte { return jsonBytes(dst, a[:]) }

// jsonUint writes a number without leading zeros.
func jsonUint(dst []byte, v uint64) []byte {
	dst = append(dst, '"', '0', 'x')
	if v == 0 {
		return append(dst, '0', '"')
	}
	for shift := (bits.Len64(v) - 1) / 4 * 4; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&0xf])
	}
	return append(dst, '"')
}

func jsonWide(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return jsonUint(dst, v.Uint64())
	}
	started := false
	dst = append(dst, '"', '0', 'x')
	for i := len(v) - 1; i >= 0; i-- {
		for shift := 60; shift >= 0; shift -= 4 {
			d := v[i] >> shift & 0xf
			started = started || d != 0
			if started {
				dst = append(dst, digits[d])
			}
		}
	}
	return append(dst, '"')
}
