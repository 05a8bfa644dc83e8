package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// checksumLen is the length of the checksum that nodes put after bytes in hex.
const checksumLen = 4

// DecodeHex reads bytes in the encoding that nodes call hex: 0x, the digits,
// and at the end four bytes of the SHA-256 of what is before. The errors wrap
// [ErrBadAnswer].
func DecodeHex(s string) ([]byte, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return nil, fmt.Errorf("%w: want 0x and hex digits, got %.20q", ErrBadAnswer, s)
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("%w: bytes in hex: %w", ErrBadAnswer, err)
	}
	if len(b) < checksumLen {
		return nil, fmt.Errorf("%w: bytes in hex without a checksum", ErrBadAnswer)
	}
	b, sum := b[:len(b)-checksumLen], b[len(b)-checksumLen:]
	if want := sha256.Sum256(b); !bytes.Equal(sum, want[len(want)-checksumLen:]) {
		return nil, fmt.Errorf("%w: bytes in hex do not match their checksum", ErrBadAnswer)
	}
	return b, nil
}
