package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mr-tron/base58"
)

const (
	checksumLen = 4
	// maxCB58 bounds the text ParseID looks at: 36 bytes never need more than 50 digits.
	maxCB58 = 64

	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	// base10 is the largest power of 58 below 2^64: its tenth.
	base10 = 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58
	perDiv = 10
)

// appendCB58 appends at most 36 bytes and the last four of their SHA-256 in base 58. Pages
// of the primary network are made of little else, so it divides words by ten digits at
// a time where packages for bytes of any length divide each byte by one digit.
func appendCB58(dst, b []byte) []byte {
	var raw [5 * 8]byte
	sum := sha256.Sum256(b)
	at := len(raw) - checksumLen - len(b)
	copy(raw[at:], b)
	copy(raw[len(raw)-checksumLen:], sum[IDLen-checksumLen:])
	var words [5]uint64
	for i := range words {
		words[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	var text [5 * perDiv]byte
	end := len(text)
	for first := 0; ; {
		for first < len(words) && words[first] == 0 {
			first++
		}
		if first == len(words) {
			break
		}
		var rest uint64
		for i := first; i < len(words); i++ {
			words[i], rest = bits.Div64(rest, words[i], base10)
		}
		for range perDiv {
			end--
			text[end] = digits58[rest%58]
			rest /= 58
		}
	}
	for end < len(text) && text[end] == digits58[0] {
		end++
	}
	for ; at < len(raw) && raw[at] == 0; at++ { // a digit for each leading zero byte
		dst = append(dst, digits58[0])
	}
	return append(dst, text[end:]...)
}

func decodeCB58(s string, dst []byte) error {
	if s == "" {
		return fmt.Errorf("%w: it is empty", ErrLength)
	}
	if len(s) > maxCB58 {
		return fmt.Errorf("%w: %d characters", ErrLength, len(s))
	}
	b, err := base58.Decode(s)
	if err != nil {
		return fmt.Errorf("not base58: %w", err)
	}
	if len(b) != len(dst)+checksumLen {
		return fmt.Errorf("%w: want %d bytes with their checksum, got %d", ErrLength, len(dst)+checksumLen, len(b))
	}
	sum := sha256.Sum256(b[:len(dst)])
	if [checksumLen]byte(sum[IDLen-checksumLen:]) != [checksumLen]byte(b[len(dst):]) {
		return ErrChecksum
	}
	copy(dst, b)
	return nil
}
