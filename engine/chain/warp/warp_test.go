package warp

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	u, err := New(1, chain.ID{1}, make([]byte, MaxPayload))
	if err != nil {
		t.Fatalf("longest payload: %v", err)
	}
	if _, err := New(1, chain.ID{1}, make([]byte, MaxPayload+1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("payload too long: %v", err)
	}
	var sig [SignatureLen]byte
	signers := bytes.Repeat([]byte{255}, MaxSigners)
	if _, err := ParseSigned(AppendSigned(nil, u.Bytes(), signers, &sig)); err != nil {
		t.Errorf("most signers: %v", err)
	}
	signers = append(signers, 1)
	if _, err := ParseSigned(AppendSigned(nil, u.Bytes(), signers, &sig)); !errors.Is(err, ErrMalformed) {
		t.Errorf("too many signers: %v", err)
	}
}

// What a parser gives must not reach into bytes that follow its part.
func TestParsedPartsAreCapped(t *testing.T) {
	t.Parallel()
	c := golden(t).Signed[3]
	s, err := ParseSigned(slices.Clone(c.Bytes))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(s.Payload, 0xee)
	_ = append(s.Bytes(), 0xee)
	_ = append(s.Signers, 0xee)
	same(t, "unsigned part", s.Bytes(), c.Unsigned)
	same(t, "signers", s.Signers, c.Signers)
}

// Every prefix, and every message with a byte more, is refused.
func TestTruncated(t *testing.T) {
	t.Parallel()
	g := golden(t)
	for _, c := range []struct {
		name  string
		bytes []byte
		parse func(b []byte) error
	}{
		{"unsigned", g.Unsigned[1].Bytes, func(b []byte) error { _, err := Parse(b); return err }},
		{"signed", g.Signed[2].Bytes, func(b []byte) error { _, err := ParseSigned(b); return err }},
		{"addressed call", g.AddressedCalls[1].Bytes, func(b []byte) error { _, err := ParseAddressedCall(b); return err }},
		{"registration", g.Registrations[0].Payload, func(b []byte) error { _, _, err := ParseL1ValidatorRegistration(b); return err }},
		{"initial justification", g.Justifications[4].Bytes, func(b []byte) error { _, err := RegistrationJustification(b); return err }},
	} {
		if err := c.parse(c.bytes); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for n := range c.bytes {
			if err := c.parse(c.bytes[:n:n]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s cut to %d bytes: %v", c.name, n, err)
			}
		}
		if err := c.parse(append(slices.Clone(c.bytes), 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s with a byte more: %v", c.name, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	g := golden(t)
	edit := func(b []byte, at int, v byte) []byte {
		b = slices.Clone(b)
		b[at] = v
		return b
	}
	bad := func(want string, err error) {
		t.Helper()
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrMalformed with %q", err, want)
		}
	}
	unsigned := g.Unsigned[1].Bytes
	_, err := Parse(edit(unsigned, 1, 1))
	bad("codec version 1", err)
	_, err = Parse(edit(unsigned, 38, 0xff))
	bad("at most 24576", err)

	signed := g.Signed[2].Bytes
	at := len(g.Signed[2].Unsigned)
	_, err = ParseSigned(edit(signed, at+3, 1))
	bad("signature type 1", err)
	_, err = ParseSigned(edit(signed, at+8, 0))
	bad("start with a zero byte", err)

	call := g.AddressedCalls[1].Bytes
	_, err = ParseAddressedCall(edit(call, 1, 9))
	bad("payload codec version 9", err)
	_, err = ParseAddressedCall(g.Hash.Bytes)
	bad("payload type 0, want 1", err)

	registration := g.Registrations[0].Payload
	_, _, err = ParseL1ValidatorRegistration(edit(registration, len(registration)-1, 2))
	bad("validator registration", err)
}

func TestMalformedJustification(t *testing.T) {
	t.Parallel()
	field := func(num protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), inner)
	}
	index := func(b []byte, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), v)
	}
	subnet := field(1, make([]byte, chain.IDLen))
	for name, b := range map[string][]byte{
		"empty":                 {},
		"varint":                index(nil, 1),
		"unknown field":         field(3, []byte{1}),
		"two fields":            append(field(2, []byte{1}), field(2, []byte{2})...),
		"empty registration":    field(2, nil),
		"no subnet":             field(1, index(nil, 1)),
		"short subnet":          field(1, field(1, make([]byte, 31))),
		"long subnet":           field(1, field(1, make([]byte, 33))),
		"index above 32 bits":   field(1, index(subnet, 1<<32)),
		"bad tag inside":        field(1, append(slices.Clone(subnet), 0x00)),
		"bad field inside":      field(1, append(slices.Clone(subnet), 0x1a, 9)),
		"bad varint inside":     field(1, append(slices.Clone(subnet), 0x10, 0x80)),
		"length beyond the end": {0x0a, 0x80, 0x01, 0},
	} {
		if id, err := RegistrationJustification(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %s, %v", name, id, err)
		}
	}
	// An index of 0 may be left out, and unknown fields inside are skipped.
	want, err := RegistrationJustification(field(1, index(subnet, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{field(1, subnet), field(1, append(field(7, []byte("new")), subnet...))} {
		if got, err := RegistrationJustification(b); err != nil || got != want {
			t.Errorf("%x: got %s, %v; want %s", b, got, err, want)
		}
	}
}

func TestUnwrapABI(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		want := bytes.Repeat([]byte{7}, n)
		data := wrapABI(want)
		if got, ok := UnwrapABI(data); !ok || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %x, %v", n, got, ok)
		}
		refuse := func(what string, b []byte) {
			t.Helper()
			if got, ok := UnwrapABI(b); ok {
				t.Errorf("%d bytes, %s: gave %x", n, what, got)
			}
		}
		refuse("cut", data[:len(data)-1])
		refuse("a word less", data[:len(data)-32])
		refuse("a word more", append(slices.Clone(data), make([]byte, 32)...))
		for _, at := range []int{0, 23, 30, 31, 32, 55, 56, 60} { // of the offset and of the length
			b := slices.Clone(data)
			b[at] ^= 0x80
			refuse(fmt.Sprint("byte ", at), b)
		}
	}
}

// wrapABI encodes dynamic bytes as a contract's log holds them.
func wrapABI(b []byte) []byte {
	out := make([]byte, 64, 64+len(b)+31)
	out[31] = 32
	new(big.Int).SetInt64(int64(len(b))).FillBytes(out[32:64])
	out = append(out, b...)
	return append(out, make([]byte, (32-len(b)%32)%32)...)
}

func TestBits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 64, 65, 1000} {
		all, none := NewBits(n), NewBits(n)
		for i := range n {
			all.Set(i)
		}
		if all.Count() != n || none.Count() != 0 || len(none.Signers()) != 0 {
			t.Errorf("%d: counts %d and %d", n, all.Count(), none.Count())
		}
		if len(all.Signers()) != (n+7)/8 {
			t.Errorf("%d: all in %d bytes", n, len(all.Signers()))
		}
		for i := range n {
			one := NewBits(n)
			one.Set(i)
			want := new(big.Int).Lsh(big.NewInt(1), uint(i)).Bytes()
			same(t, fmt.Sprint("only ", i), one.Signers(), want)
			back, ok := BitsFromSigners(want, n)
			if !ok || !back.Equal(one) || !back.Has(i) || back.Count() != 1 {
				t.Errorf("%d of %d: read back %v, %v", i, n, back, ok)
			}

			rest := all.Clone()
			rest.Clear(i)
			if rest.Has(i) || !all.Has(i) || rest.Count() != n-1 || rest.Equal(all) {
				t.Errorf("%d of %d cleared: %v", i, n, rest)
			}
			var seen []int
			rest.Each(func(k int) { seen = append(seen, k) })
			if len(seen) != n-1 || slices.Contains(seen, i) || !slices.IsSorted(seen) {
				t.Errorf("%d of %d cleared: each gives %v", i, n, seen)
			}
		}
		over := new(big.Int).Lsh(big.NewInt(1), uint(n)).Bytes()
		if _, ok := BitsFromSigners(over, n); ok {
			t.Errorf("index %d of %d accepted", n, n)
		}
		if _, ok := BitsFromSigners(append([]byte{0}, all.Signers()...), n); ok {
			t.Errorf("%d: form with a leading zero byte accepted", n)
		}
		if all.Has(n+1000) || all.Has(len(all)*64) {
			t.Errorf("%d: has an index far out", n)
		}
	}
	if b, ok := BitsFromSigners(nil, 0); !ok || b.Count() != 0 {
		t.Error("empty set of no validators refused")
	}
}
