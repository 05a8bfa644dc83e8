package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/mr-tron/base58"
)

const (
	checksumLen = 4
	// maxCB58 bounds the text ParseID looks at: 36 bytes never need more than 50 digits.
	maxCB58 = 64

	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	// base5 is what a group of five digits counts to, groups58 the number of groups that
	// 36 bytes need, and words58 that of words of 32 bits that they are.
	base5    = 58 * 58 * 58 * 58 * 58
	perGroup = 5
	groups58 = 10
	words58  = 9
)

// columns58 says what words of 32 bits count in groups of digits: columns58[j][i] is the
// j-th group of one in the i-th word, the first being the highest.
var columns58 = func() (t [groups58][words58]uint64) {
	t[groups58-1][words58-1] = 1
	for i := words58 - 1; i > 0; i-- {
		carry := uint64(0)
		for j := groups58 - 1; j >= 0; j-- {
			carry += t[j][i] << 32
			t[j][i-1] = carry % base5
			carry /= base5
		}
	}
	return t
}()

// appendCB58 appends at most 32 bytes and the last four of their SHA-256 in base 58. Pages
// of the primary network are made of little else, so it multiplies words with the digits
// of their place, where packages for bytes of any length divide each byte by one digit.
func appendCB58(dst, b []byte) []byte {
	var raw [4 * words58]byte
	sum := sha256.Sum256(b)
	at := len(raw) - checksumLen - len(b)
	copy(raw[at:], b)
	copy(raw[len(raw)-checksumLen:], sum[IDLen-checksumLen:])
	var w [words58]uint64
	for i := range w {
		w[i] = uint64(binary.BigEndian.Uint32(raw[4*i:]))
	}
	var text [groups58 * perGroup]byte
	carry := uint64(0)
	for j := groups58 - 1; j >= 0; j-- {
		// Each product is below 2^61.3: six of them and the carry fit 64 bits.
		c := &columns58[j]
		v := carry + w[0]*c[0] + w[1]*c[1] + w[2]*c[2] + w[3]*c[3] + w[4]*c[4] + w[5]*c[5]
		carry = v / base5
		v += w[6]*c[6] + w[7]*c[7] + w[8]*c[8] - carry*base5
		carry += v / base5
		v0 := uint32(v % base5)
		// None of these divisions waits for another.
		v1, v2, v3, v4 := v0/58, v0/(58*58), v0/(58*58*58), v0/(58*58*58*58)
		to := (*[perGroup]byte)(text[perGroup*j:])
		to[0], to[1], to[2] = digits58[v4%58], digits58[v3-58*v4], digits58[v2-58*v3]
		to[3], to[4] = digits58[v1-58*v2], digits58[v0-58*v1]
	}
	start := 0
	for start < len(text) && text[start] == digits58[0] {
		start++
	}
	for ; at < len(raw) && raw[at] == 0; at++ { // a digit for each leading zero byte
		dst = append(dst, digits58[0])
	}
	return append(dst, text[start:]...)
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
