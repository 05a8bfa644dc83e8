// Package chaintest holds what the tests of the codecs of the P- and the X-Chain
// share: examples that avalanchego's own packages made (e2e/vectors), JSON as nodes
// write it, and ways to spoil an encoding.
package chaintest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"quorate/engine/chain/codec"
)

// Hex is a byte string that is written with 0x.
type Hex []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hex) UnmarshalText(b []byte) (err error) {
	*h, err = hex.AppendDecode([]byte{}, bytes.TrimPrefix(b, []byte("0x")))
	return err
}

// Encoded is an example.
type Encoded struct {
	Name  string
	Bytes Hex
	ID    string
	// Unsigned is the length of what a transaction's credentials sign.
	Unsigned int
	// Types are the names of the types that stand at open places within, in order.
	Types []string
	JSON  json.RawMessage
	// Low and High have a bit for each byte: whether avalanchego accepts the example
	// with the lowest or the highest bit of that byte flipped.
	Low, High Hex
}

// Load reads a file of examples.
func Load[T any](t testing.TB, file []byte) *T {
	t.Helper()
	all := new(T)
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Recode parses bytes and encodes what was parsed.
type Recode func([]byte) ([]byte, error)

// Recoder makes a [Recode] of a parser.
func Recoder[T interface{ Bytes() ([]byte, error) }](parse func([]byte) (T, error)) Recode {
	return func(b []byte) ([]byte, error) {
		v, err := parse(b)
		if err != nil {
			return nil, err
		}
		return v.Bytes()
	}
}

// Fuzz checks that whatever parses encodes to the same bytes.
func Fuzz(f *testing.F, seeds []Encoded, recode Recode) {
	f.Helper()
	for _, e := range seeds {
		f.Add([]byte(e.Bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := recode(b); err == nil && !bytes.Equal(got, b) {
			t.Fatalf("%x round-trips to %x", b, got)
		}
	})
}

// RoundTrip checks that an example encodes to itself.
func RoundTrip(t testing.TB, e *Encoded, recode Recode) {
	t.Helper()
	got, err := recode(e.Bytes)
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	if !bytes.Equal(got, e.Bytes) {
		t.Fatalf("%s:\ngot  %x\nwant %x", e.Name, got, []byte(e.Bytes))
	}
}

// SameJSON checks that got has every member of want with the same value, and no
// other, but for members called one of but, at any depth. Numbers are compared by
// their digits.
func SameJSON(t testing.TB, name string, got any, want json.RawMessage, but ...string) {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		without(v, but)
		return v
	}
	if g, w := read(b), read(want); !reflect.DeepEqual(g, w) {
		gotText, _ := json.MarshalIndent(g, "", " ")
		wantText, _ := json.MarshalIndent(w, "", " ")
		t.Errorf("%s: got\n%s\nwant\n%s", name, diff(gotText, wantText), diff(wantText, gotText))
	}
}

// without removes members from all objects within v.
func without(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			delete(v, name)
		}
		for _, member := range v {
			without(member, names)
		}
	case []any:
		for _, element := range v {
			without(element, names)
		}
	}
}

// diff returns the lines of a from shortly before the first that differs from b's.
func diff(a, b []byte) string {
	as, bs := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	i := 0
	for i < len(as) && i < len(bs) && as[i] == bs[i] {
		i++
	}
	return strings.Join(as[max(0, i-3):min(len(as), i+10)], "\n")
}

// SpoilEach calls [Spoil] with each example of which avalanchego says what it accepts.
func SpoilEach(t testing.TB, list []Encoded, recode Recode) {
	t.Helper()
	for i := range list {
		if len(list[i].Low) > 0 {
			Spoil(t, &list[i], recode)
		}
	}
}

// Spoil checks that a spoilt example is refused, or that it is another value that
// encodes to itself: cut at each length, longer by a byte, with each bit pattern of
// the example's flips. It must agree with avalanchego on the latter, but that types
// and values which validation always refuses may be refused at once.
func Spoil(t testing.TB, e *Encoded, recode Recode) {
	t.Helper()
	for n := range e.Bytes {
		if _, err := recode(e.Bytes[:n:n]); err == nil {
			t.Fatalf("%s: accepted when cut at byte %d", e.Name, n)
		}
	}
	if _, err := recode(append(bytes.Clone(e.Bytes), 0)); !errors.Is(err, codec.ErrTrailing) {
		t.Fatalf("%s: a byte too many: got %v", e.Name, err)
	}
	b := bytes.Clone(e.Bytes)
	flip := func(bits []byte, mask byte) {
		for i := range b {
			b[i] ^= mask
			theirs := bits[i/8]>>(i%8)&1 == 1
			got, err := recode(b)
			switch {
			case err == nil && !theirs:
				t.Fatalf("%s: accepted with byte %d changed, which avalanchego refuses", e.Name, i)
			case err == nil && !bytes.Equal(got, b):
				t.Fatalf("%s with byte %d changed: got %x, want %x", e.Name, i, got, b)
			case err != nil && theirs && !errors.Is(err, codec.ErrType) && !errors.Is(err, codec.ErrValue):
				t.Fatalf("%s: refused with byte %d changed, which avalanchego accepts: %v", e.Name, i, err)
			}
			b[i] ^= mask
		}
	}
	flip(e.Low, 1)
	flip(e.High, 0x80)
}

// Bomb writes lengths that promise more than there is at each place of an example and
// checks that parsing allocates no more than a small multiple of the input's length.
// A test that calls it must not be parallel to others.
func Bomb(t *testing.T, e *Encoded, recode Recode) {
	t.Helper()
	b := bytes.Clone(e.Bytes)
	tries := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := 0; i+4 <= len(b); i++ {
		old := [4]byte(b[i:])
		for _, n := range []uint32{1 << 20, 1<<31 - 1} {
			binary.BigEndian.PutUint32(b[i:], n)
			got, err := recode(b)
			if err == nil && !bytes.Equal(got, b) {
				t.Fatalf("%s with %d at byte %d: got %x, want %x", e.Name, n, i, got, b)
			}
			tries++
		}
		copy(b[i:], old[:])
	}
	runtime.ReadMemStats(&after)
	if each := int(after.TotalAlloc-before.TotalAlloc) / max(1, tries); each > 32*len(b)+1<<14 {
		t.Errorf("%s: %d bytes allocated for an input of %d", e.Name, each, len(b))
	}
}
