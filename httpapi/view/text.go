package view

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string that is valid UTF-8 whatever s holds.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		return appendOdd(dst, s[i:])
	}
	return append(append(dst, s[start:]...), '"')
}

// appendOdd appends the rest of a string, from its first character that is not
// plain, and the closing quote.
func appendOdd(dst []byte, s string) []byte {
	for _, r := range s { // bytes that are not UTF-8 come as U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// AppendHash appends 0x and the hex digits of h.
func AppendHash(dst []byte, h *evm.Hash) []byte { return AppendHex(dst, h[:]) }

// AppendHex appends 0x and the hex digits of b.
func AppendHex(dst, b []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, 2+2*len(b))[:n+2+2*len(b)]
	dst[n], dst[n+1] = '0', 'x'
	out := dst[n+2:]
	for i, c := range b {
		binary.LittleEndian.PutUint16(out[2*i:], hexPairs[c])
	}
	return dst
}

// hexPairs has the two digits of each byte, the first one lowest.
var hexPairs = func() (pairs [256]uint16) {
	for i := range pairs {
		pairs[i] = uint16(hexDigits[i>>4]) | uint16(hexDigits[i&15])<<8
	}
	return pairs
}()

// chunk is the largest power of ten in 64 bits, which has chunkDigits zeros.
const (
	chunk       = 1e19
	chunkDigits = 19
)

// AppendAmount appends the decimal digits of v.
func AppendAmount(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return strconv.AppendUint(dst, v[0], 10)
	}
	// At most 78 digits: five chunks, the lowest first.
	var chunks [5]uint64
	n, w := 0, *v
	for ; !w.IsUint64() || w[0] != 0; n++ {
		var rem uint64
		for i := 3; i >= 0; i-- {
			w[i], rem = bits.Div64(rem, w[i], chunk)
		}
		chunks[n] = rem
	}
	dst = strconv.AppendUint(dst, chunks[n-1], 10)
	for n -= 2; n >= 0; n-- {
		var digits [chunkDigits]byte
		c := chunks[n]
		for i := chunkDigits - 1; i >= 0; i-- {
			digits[i] = '0' + byte(c%10)
			c /= 10
		}
		dst = append(dst, digits[:]...)
	}
	return dst
}

// sumSlots is the number of addresses whose text is kept, a power of two; full
// they take about 5 MiB.
const sumSlots = 1 << 15

// Addresses keeps the checksummed text of addresses seen lately: a checksum is
// a Keccak hash, and pages repeat the same few addresses. It is for use by any
// number of goroutines.
type Addresses struct{ slots []atomic.Pointer[addressText] }

type addressText struct {
	address evm.Address
	text    [2 + 2*evm.AddressLen]byte
}

// NewAddresses returns an empty table.
func NewAddresses() *Addresses {
	return &Addresses{slots: make([]atomic.Pointer[addressText], sumSlots)}
}

// Append appends the checksummed text of a.
func (t *Addresses) Append(dst []byte, a *evm.Address) []byte {
	slot := &t.slots[Slot(a)&(sumSlots-1)]
	e := slot.Load()
	if e == nil || e.address != *a {
		e = &addressText{address: *a}
		a.Append(e.text[:0])
		slot.Store(e)
	}
	return append(dst, e.text[:]...)
}

// Slot spreads addresses over tables. All bytes count, for there are addresses
// with long runs of zeros.
func Slot(a *evm.Address) uint32 {
	const odd = 0x9e3779b97f4a7c15
	h := binary.LittleEndian.Uint64(a[:]) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(a[8:])) * odd
	h = (h ^ h>>32 ^ uint64(binary.LittleEndian.Uint32(a[16:]))) * odd
	return uint32(h >> 32)
}
