package token

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// uuid8 is the text form of a UUID of version 8 (RFC 9562).
var uuid8 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

var made = time.Unix(1_700_000_000, 0)

func uuidCodec(t testing.TB, key string) *Codec {
	t.Helper()
	c, err := New([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUUID(t *testing.T) {
	t.Parallel()
	c := uuidCodec(t, "the key of all tests")
	chainA, chainB := HashFilters([]byte("a")), HashFilters([]byte("b"))
	for _, pos := range []uint32{0, 1, 0xfff, 0x1000, 19_676, MaxUUIDPosition} {
		for _, at := range []time.Time{time.Unix(0, 0), made, time.Unix(1<<32+5, 0), time.Unix(uuidTime, 0)} {
			text := c.AppendUUID([]byte("x"), &UUID{Route: 3, Filters: chainA, Position: pos}, at)[1:]
			if !uuid8.Match(text) {
				t.Fatalf("%s is no UUID of version 8", text)
			}
			for _, form := range [][]byte{text, bytes.ToUpper(text)} {
				if got, err := c.ParseUUID(form, 3, chainA, at.Add(Lifetime-1)); got != pos || err != nil {
					t.Errorf("%s: %d, %v, want %d", form, got, err, pos)
				}
			}
			f := func(c *Codec, text []byte, route uint8, of Filters, now time.Time, want error) {
				t.Helper()
				if _, err := c.ParseUUID(text, route, of, now); !errors.Is(err, want) {
					t.Errorf("%q: %v, want %v", text, err, want)
				}
			}
			f(c, text, 3, chainA, at.Add(Lifetime), ErrExpired)
			f(c, text, 3, chainA, at.Add(10*Lifetime), ErrExpired)
			f(c, text, 4, chainA, at, ErrForeign)
			f(c, text, 3, chainB, at, ErrForeign)
			f(c, text, 4, chainA, at.Add(Lifetime), ErrForeign) // before its age
			f(uuidCodec(t, "the key of another server"), text, 3, chainA, at, ErrForeign)
			for i := range text {
				for _, by := range []string{"0", "1", "f", "-", "g", " ", "\n", "é"} {
					if changed := string(text[:i]) + by + string(text[i+1:]); !strings.EqualFold(changed, string(text)) {
						f(c, []byte(changed), 3, chainA, at, ErrForeign)
					}
				}
				f(c, text[:i], 3, chainA, at, ErrForeign)
				f(c, append(bytes.Clone(text), text[:i+1]...), 3, chainA, at, ErrForeign)
			}
			f(c, []byte("{"+string(text[1:35])+"}"), 3, chainA, at, ErrForeign)
			f(c, bytes.ReplaceAll(text, []byte("-"), nil), 3, chainA, at, ErrForeign)
		}
	}
}

// TestUUIDKnown holds the layout: tokens outlast a release.
func TestUUIDKnown(t *testing.T) {
	t.Parallel()
	c := uuidCodec(t, "the key of all tests")
	const want = "06553f10-04cd-8cdc-a565-fa1a04035408"
	if got := string(c.AppendUUID(nil, &UUID{Route: 12, Filters: HashFilters([]byte("a")), Position: 0x4cdcdc}, made)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUUIDAllocatesNothing(t *testing.T) {
	c := uuidCodec(t, "the key of all tests")
	u, buf := UUID{Route: 3, Position: 7}, make([]byte, 0, uuidLen)
	if n := testing.AllocsPerRun(100, func() {
		text := c.AppendUUID(buf, &u, made)
		if pos, err := c.ParseUUID(text, 3, u.Filters, made); pos != 7 || err != nil {
			t.Fatal(pos, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzUUID: only what was made here is read, in its one form.
func FuzzUUID(f *testing.F) {
	c := uuidCodec(f, "the key of all tests")
	good := c.AppendUUID(nil, &UUID{Route: 3, Position: 7}, made)
	f.Add(good)
	f.Add([]byte("00000000-0000-8000-8000-000000000000"))
	f.Add([]byte(strings.Repeat("-", uuidLen)))
	f.Fuzz(func(t *testing.T, text []byte) {
		pos, err := c.ParseUUID(text, 3, Filters{}, made)
		if err == nil && !bytes.EqualFold(text, good) || err != nil && pos != 0 {
			t.Errorf("%q gives %d, %v", text, pos, err)
		}
	})
}
