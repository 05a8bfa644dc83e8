package warp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// message returns a signed message of a form.
func message(payload, signers []byte) []byte {
	b := make([]byte, headLen, headLen+len(payload)+len(signers)+tailLen)
	binary.BigEndian.PutUint32(b[2:], 1)
	binary.BigEndian.PutUint32(b[38:], uint32(len(payload)))
	b = append(append(b, payload...), 0, 0, 0, 0)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(signers))), signers...)
	return append(b, make([]byte, SignatureLen)...)
}

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse(message([]byte("payload"), []byte{0x01, 0x80, 0x05}))
	if err != nil {
		t.Fatal(err)
	}
	if s.NetworkID != 1 || string(s.Payload) != "payload" || len(s.Signers) != 4 || s.Signers[1] != 2 || s.Signers[3] != 16 {
		t.Errorf("%+v", s)
	}
	good := message([]byte("payload"), []byte{1})
	for name, b := range map[string][]byte{
		"empty":           nil,
		"cut":             good[:len(good)-1],
		"longer":          append(bytes.Clone(good), 0),
		"codec":           append([]byte{1}, good[1:]...),
		"leading zero":    message(nil, []byte{0, 1}),
		"payload claimed": append(append(bytes.Clone(good[:38]), 0xff, 0xff, 0xff, 0xff), good[42:]...),
	} {
		if _, err := Parse(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		weight, total uint64
		quorum        int
		want          bool
	}{
		{67, 100, 67, true},
		{66, 100, 67, false},
		{math.MaxUint64, math.MaxUint64, 100, true},
		{math.MaxUint64 - 1, math.MaxUint64, 100, false},
		{0, 100, 0, true},
	} {
		if got := reaches(test.weight, test.total, test.quorum); got != test.want {
			t.Errorf("%d of %d reaches %d%%: %t", test.weight, test.total, test.quorum, got)
		}
	}
}

// A set must not claim more weight than there is, and its keys must be ones.
func TestNewSet(t *testing.T) {
	t.Parallel()
	if _, err := NewSet([]Validator{{Weight: 6}, {Weight: 5}}, 10); err == nil {
		t.Error("more weight than all together")
	}
	infinity := Validator{PublicKey: [KeyLen]byte{0xc0}, Weight: 1}
	if _, err := NewSet([]Validator{infinity}, 10); err == nil {
		t.Error("the point at infinity is a key")
	}
}

// What can be read has the bytes that it was read from.
func FuzzParse(f *testing.F) {
	f.Add(message([]byte("payload"), []byte{1, 0x80}))
	f.Add(message(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(b, s.Unsigned) || !bytes.HasSuffix(b, s.signature[:]) {
			t.Errorf("%x: its parts are not of it", b)
		}
		signers := make([]byte, len(b)-len(s.Unsigned)-tailLen)
		for _, i := range s.Signers {
			signers[len(signers)-1-i/8] |= 1 << (i % 8)
		}
		again := append(message(s.Payload, signers)[headLen:len(b)-SignatureLen], s.signature[:]...)
		if !bytes.Equal(again, b[headLen:]) {
			t.Errorf("%x became %x", b[headLen:], again)
		}
	})
}
