package view

import (
	"encoding/binary"
	"math/bits"
	"slices"
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
	for len(b) >= 4 {
		binary.LittleEndian.PutUint64(out, hexEight(b))
		b, out = b[4:], out[8:]
	}
	for i, c := range b {
		binary.LittleEndian.PutUint16(out[2*i:], hexPairs[c])
	}
	return dst
}

// hexEight returns the eight digits of the first four bytes, the first one lowest.
func hexEight(b []byte) uint64 {
	_ = b[3]
	return uint64(hexPairs[b[0]]) | uint64(hexPairs[b[1]])<<16 | uint64(hexPairs[b[2]])<<32 | uint64(hexPairs[b[3]])<<48
}

// hexPairs has the two digits of each byte, the first one lowest.
var hexPairs = func() (pairs [256]uint16) {
	for i := range pairs {
		pairs[i] = uint16(hexDigits[i>>4]) | uint16(hexDigits[i&15])<<8
	}
	return pairs
}()

// AppendUint appends the decimal digits of v: a page of transactions has a thousand
// numbers, all of different lengths, so the digits of each are made without a branch.
func AppendUint(dst []byte, v uint64) []byte {
	if v < 10 {
		return append(dst, '0'+byte(v))
	}
	if v < eightDigits {
		return appendEight(dst, v)
	}
	if high := v / eightDigits; high < eightDigits {
		dst = appendEight(dst, high)
	} else {
		dst = appendAllEight(appendEight(dst, high/eightDigits), high%eightDigits)
	}
	return appendAllEight(dst, v%eightDigits)
}

const (
	eightDigits = 1e8                // the first number that has more
	zeroDigits  = 0x3030303030303030 // as text
)

// appendEight appends the digits of a number below eightDigits, without zeros before it.
func appendEight(dst []byte, v uint64) []byte {
	d := decimalEight(v)
	zeros := bits.TrailingZeros64(d|1<<56) >> 3 // the last digit is written in any case
	n := len(dst) + 8 - zeros
	return binary.LittleEndian.AppendUint64(dst, (d|zeroDigits)>>(8*zeros&63))[:n]
}

// appendAllEight is appendEight with the zeros.
func appendAllEight(dst []byte, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, decimalEight(v)|zeroDigits)
}

// decimalEight returns the eight digits of a number below eightDigits, a byte each, the
// first one lowest. It splits fours into pairs and pairs into digits, all of them at
// once: the factors are 1/100 and 1/10, exact for such numbers.
func decimalEight(v uint64) uint64 {
	four := v/10000 | v%10000<<32
	high := four * 10486 >> 20 & 0x0000007f_0000007f
	two := high | (four-100*high)<<16
	high = two * 103 >> 10 & 0x000f_000f_000f_000f
	return high | (two-10*high)<<8
}

// chunk is the largest power of ten in 64 bits, which has 3 + 8 + 8 zeros.
const chunk = 1e19

// AppendAmount appends the decimal digits of v.
func AppendAmount(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return AppendUint(dst, v[0])
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
	dst = AppendUint(dst, chunks[n-1])
	for n -= 2; n >= 0; n-- {
		high, low := chunks[n]/eightDigits, chunks[n]%eightDigits
		end := len(dst) + 3 // of the first digits, which are the last ones of eight
		dst = binary.LittleEndian.AppendUint64(dst, (decimalEight(high/eightDigits)|zeroDigits)>>40)[:end]
		dst = appendAllEight(appendAllEight(dst, high%eightDigits), low)
	}
	return dst
}

// sumSlots is the number of addresses whose checksum is kept, a power of two: 1 MiB.
const sumSlots = 1 << 15

// checksums are those that the process has seen lately.
var checksums addresses

// addresses keeps the checksums of addresses: one is a Keccak hash, and pages repeat the
// same few addresses. It is for use by any number of goroutines.
type addresses struct{ slots [sumSlots]addressSlot }

// addressSlot has an address and which digits of its text are capitals: half of a
// cache line, since pages come by in an order that no cache foresees. Its last word
// seals the others: what two goroutines wrote at once is not taken for either.
type addressSlot [4]atomic.Uint64

// append appends the checksummed text of a.
func (t *addresses) append(dst []byte, a *evm.Address) []byte {
	slot := &t.slots[Slot(a)&(sumSlots-1)]
	one, two := binary.LittleEndian.Uint64(a[:]), binary.LittleEndian.Uint64(a[8:])
	three, seal := slot[2].Load(), slot[3].Load()
	tail := binary.LittleEndian.Uint32(a[16:])
	if slot[0].Load() != one || slot[1].Load() != two || uint32(three) != tail || seal != sealOf(one, two, three, byte(seal)) {
		capitals := uint64(a.Capitals())
		three = uint64(tail) | capitals<<32
		seal = sealOf(one, two, three, byte(capitals>>32))
		slot[0].Store(one)
		slot[1].Store(two)
		slot[2].Store(three)
		slot[3].Store(seal)
	}
	return appendChecked(dst, a, evm.Capitals(three>>32|seal<<56>>24))
}

// sealOf returns the last word of a slot: its lowest byte has the last capitals.
func sealOf(one, two, three uint64, last byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := (one + odd) * odd
	h = (h ^ h>>32 ^ two) * odd
	h = (h ^ h>>32 ^ three) * odd
	h = (h ^ h>>32 ^ uint64(last)) * odd
	return h&^0xff | uint64(last)
}

// appendChecked appends the text of an address with capitals in their places.
func appendChecked(dst []byte, a *evm.Address, capitals evm.Capitals) []byte {
	n := len(dst)
	dst = slices.Grow(dst, 2+2*evm.AddressLen)[:n+2+2*evm.AddressLen]
	dst[n], dst[n+1] = '0', 'x'
	out := dst[n+2:]
	for i := 0; i < evm.AddressLen; i += 4 {
		binary.LittleEndian.PutUint64(out[2*i:], hexEight(a[i:])^capitalBits[byte(capitals>>(2*i))])
	}
	return dst
}

// capitalBits has, for eight digits, what turns those with a bit into capitals.
var capitalBits = func() (flips [256]uint64) {
	for i := range flips {
		for k := range 8 {
			flips[i] |= uint64(i>>k&1) * ('a' ^ 'A') << (8 * k)
		}
	}
	return flips
}()

// Slot spreads addresses over tables. All bytes count, for there are addresses
// with long runs of zeros.
func Slot(a *evm.Address) uint32 {
	const odd = 0x9e3779b97f4a7c15
	h := binary.LittleEndian.Uint64(a[:]) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(a[8:])) * odd
	h = (h ^ h>>32 ^ uint64(binary.LittleEndian.Uint32(a[16:]))) * odd
	return uint32(h >> 32)
}
