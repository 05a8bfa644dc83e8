package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

var key = []byte("a key of sixteen or more bytes")

func codec(t testing.TB, key []byte) *Codec {
	t.Helper()
	c, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sample() *Token {
	return &Token{Route: 7, Filters: HashFilters([]byte("filters")), Tip: 123456, Ascending: true, Position: []byte("position")}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := codec(t, key)
	for n := 1; n <= MaxPosition; n++ {
		want := sample()
		want.Position, want.Ascending = bytes.Repeat([]byte{byte(n)}, n), n%2 == 0
		text := c.Append([]byte("x"), want)[1:]
		if len(text) > MaxLen {
			t.Fatalf("%d bytes, more than MaxLen", len(text))
		}
		got, err := c.Parse(nil, text, want.Route, want.Filters)
		if err != nil {
			t.Fatal(err)
		}
		if got.Tip != want.Tip || got.Ascending != want.Ascending || !bytes.Equal(got.Position, want.Position) ||
			got.Route != want.Route || got.Filters != want.Filters {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
	for _, n := range []int{0, MaxPosition + 1} {
		tok := sample()
		tok.Position = make([]byte, n)
		if text := c.Append(nil, tok); len(text) != 0 {
			t.Errorf("a position of %d bytes gives %q", n, text)
		}
	}
}

// TestMAC compares with the standard library's HMAC, also for long keys.
func TestMAC(t *testing.T) {
	t.Parallel()
	for _, k := range [][]byte{key, bytes.Repeat([]byte("k"), 64), bytes.Repeat([]byte("k"), 65)} {
		raw, err := base64.RawURLEncoding.DecodeString(string(codec(t, k).Append(nil, sample())))
		if err != nil {
			t.Fatal(err)
		}
		h := hmac.New(sha256.New, k)
		h.Write(raw[:len(raw)-macLen])
		if want := h.Sum(nil)[:macLen]; !bytes.Equal(raw[len(raw)-macLen:], want) {
			t.Errorf("key of %d bytes: MAC %x, want %x", len(k), raw[len(raw)-macLen:], want)
		}
	}
	if _, err := New(key[:15]); !errors.Is(err, ErrKey) {
		t.Errorf("a short key: %v", err)
	}
}

// TestForged changes each character of a token, cuts it and stretches it.
func TestForged(t *testing.T) {
	t.Parallel()
	c, tok := codec(t, key), sample()
	text := string(c.Append(nil, tok))
	f := func(forged string) {
		t.Helper()
		if _, err := c.Parse(nil, []byte(forged), tok.Route, tok.Filters); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: error %v", forged, err)
		}
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range text {
		f(text[:i])
		for _, r := range alphabet + "=+/ \n%" {
			if byte(r) != text[i] {
				f(text[:i] + string(r) + text[i+1:])
			}
		}
		f(text[:i] + "\n" + text[i:])
	}
	f(text + "A")
	f(text + "=")
	f(text + "\r\n")
	// Lengths whose last character holds other numbers of bits.
	for n := 1; n <= 4; n++ {
		tok := sample()
		tok.Position = tok.Position[:n]
		f(string(c.Append(nil, tok)) + "\n")
	}
	f(text + text)
	f(strings.Repeat("A", MaxLen))
	f(strings.Repeat("A", 1<<20))
	f(string(codec(t, []byte("another key, as long as the first")).Append(nil, tok)))
}

func TestOther(t *testing.T) {
	t.Parallel()
	c, tok := codec(t, key), sample()
	text := c.Append(nil, tok)
	if _, err := c.Parse(nil, text, tok.Route+1, tok.Filters); !errors.Is(err, ErrOther) {
		t.Errorf("another route: %v", err)
	}
	if _, err := c.Parse(nil, text, tok.Route, HashFilters([]byte("others"))); !errors.Is(err, ErrOther) {
		t.Errorf("other filters: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	c, tok := codec(f, key), sample()
	f.Add(c.Append(nil, tok))
	f.Add([]byte(nil))
	f.Add([]byte("AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := c.Parse(nil, text, tok.Route, tok.Filters)
		if err != nil {
			return
		}
		if again := c.Append(nil, &got); !bytes.Equal(again, text) {
			t.Errorf("%q is taken, but is written as %q", text, again)
		}
	})
}

func TestAllocations(t *testing.T) {
	c, tok := codec(t, key), sample()
	text, buf := make([]byte, 0, MaxLen), make([]byte, 0, MaxLen)
	if n := testing.AllocsPerRun(100, func() { text = c.Append(text[:0], tok) }); n != 0 {
		t.Errorf("Append: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Parse(buf, text, tok.Route, tok.Filters) }); n != 0 {
		t.Errorf("Parse: %v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	c, tok := codec(b, key), sample()
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = c.Append(text[:0], tok)
	}
}

// TestOlderKeys: a codec takes the tokens of all its keys and signs with the first, so that
// keys of several servers can be changed one server after the other.
func TestOlderKeys(t *testing.T) {
	t.Parallel()
	keys := [][]byte{[]byte("the first of the keys"), []byte("the second of the keys"), []byte("the third of the keys")}
	all, err := New(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	want, now := sample(), time.Unix(1_700_000_000, 0)
	uuid := &UUID{Route: 7, Filters: want.Filters, Position: 5}
	for i, key := range append(keys, []byte("another server's key")) {
		c, taken := codec(t, key), i < len(keys)
		got, err := all.Parse(nil, c.Append(nil, want), want.Route, want.Filters)
		if (err == nil && got.Tip == want.Tip) != taken {
			t.Errorf("key %d: %+v, %v", i, got, err)
		}
		pos, err := all.ParseUUID(c.AppendUUID(nil, uuid, now), 7, want.Filters, now)
		if (err == nil && pos == 5) != taken {
			t.Errorf("key %d: a UUID's position %d, %v", i, pos, err)
		}
		if same := bytes.Equal(all.Append(nil, want), c.Append(nil, want)); same != (i == 0) {
			t.Errorf("key %d signs: %t", i, same)
		}
	}
	if _, err := New(keys[0], []byte("short")); !errors.Is(err, ErrKey) {
		t.Errorf("a short key: %v", err)
	}
}
