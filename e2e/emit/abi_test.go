package emit

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

func TestSelectors(t *testing.T) {
	t.Parallel()
	if got := hex.EncodeToString(sendSelector); got != "ee5b48eb" {
		t.Errorf("selector %s", got)
	}
	if got := hex.EncodeToString(sendTopic[:]); got != "56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d" {
		t.Errorf("topic %s", got)
	}
}

func TestPackBytes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 31, 32, 33, 64, 1000} {
		b := bytes.Repeat([]byte{0xab}, n)
		packed := packBytes(b)
		if len(packed)%word != 0 {
			t.Errorf("%d bytes: packed to %d", n, len(packed))
		}
		got, err := unpackBytes(packed)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes: %x, %v", n, got, err)
		}
	}
}

func TestUnpackBytesRejects(t *testing.T) {
	t.Parallel()
	good := packBytes([]byte("message"))
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"empty":           nil,
		"no length":       good[:word],
		"half a word":     good[:len(good)-1],
		"word too much":   append(bytes.Clone(good), make([]byte, word)...),
		"offset":          change(word-1, 2*word),
		"huge offset":     change(0, 1),
		"length too long": change(2*word-1, 33),
		"huge length":     change(2*word-8, 0xff),
		"padding":         change(len(good)-1, 1),
	} {
		if got, err := unpackBytes(b); !errors.Is(err, errABI) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

func FuzzUnpackBytes(f *testing.F) {
	f.Add(packBytes(nil))
	f.Add(packBytes([]byte("message")))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := unpackBytes(data)
		if err == nil && !bytes.Equal(packBytes(b), data) {
			t.Errorf("%x is not canonical", data)
		}
	})
}
