package source

import (
	"encoding/hex"
	"errors"
	"testing"
)

// liveBlock is the P-Chain's first block on network "local", as avalanchego
// v1.14.2 encodes it.
const liveBlock = "0x00000000000276164e9619e3b1c79c4b6bcaa8585fb95328e60480ac9e40da0539fe23260e0c00000000000000003be84959"

func TestDecodeHex(t *testing.T) {
	t.Parallel()
	b, err := DecodeHex(liveBlock)
	if err != nil || "0x"+hex.EncodeToString(b)+"3be84959" != liveBlock {
		t.Errorf("got %x, %v", b, err)
	}
	if b, err := DecodeHex("0x7852b855"); err != nil || len(b) != 0 { // the checksum of nothing
		t.Errorf("no bytes: got %x, %v", b, err)
	}
	for _, s := range []string{"", "0x", "0x7852b8", "7852b855", "0x7852b854", "0x7852b85", "0x7852b85g", liveBlock[:len(liveBlock)-2]} {
		if _, err := DecodeHex(s); !errors.Is(err, ErrBadAnswer) {
			t.Errorf("%q: got %v", s, err)
		}
	}
}

func FuzzDecodeHex(f *testing.F) {
	f.Add(liveBlock)
	f.Add("0x7852b855")
	f.Fuzz(func(t *testing.T, s string) {
		b, err := DecodeHex(s)
		if err == nil && len(s) != 2+2*(len(b)+checksumLen) || err != nil && !errors.Is(err, ErrBadAnswer) {
			t.Errorf("got %x, %v", b, err)
		}
	})
}
