package codec

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

// sample has a member of each kind.
type sample struct {
	a      uint8
	b      uint16
	c      uint32
	d      uint64
	e      int64
	fixed  [3]byte
	bytes  []byte
	text   string
	list   []uint32
	nested [][]uint16
	kind   uint32
}

func (s *sample) code(c *Coder) {
	c.Uint8(&s.a)
	c.Uint16(&s.b)
	c.Uint32(&s.c)
	c.Uint64(&s.d)
	c.Int64(&s.e)
	c.Fixed(s.fixed[:])
	c.Bytes(&s.bytes)
	c.String(&s.text)
	List(c, &s.list, 4, (*Coder).Uint32)
	List(c, &s.nested, 4, func(c *Coder, l *[]uint16) { List(c, l, 2, (*Coder).Uint16) })
	Type(c, &s.kind, func(k uint32) bool { return k == 7 })
}

func encoded(t *testing.T) []byte {
	t.Helper()
	s := sample{
		1, 2, 3, 4, -5,
		[3]byte{6, 7, 8},
		[]byte{9, 10}, "añ",
		[]uint32{11},
		[][]uint16{{12}, nil},
		7,
	}
	b, err := Append([]byte{0xff}, 0x0102, s.code)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLayout(t *testing.T) {
	t.Parallel()
	want := []byte{
		0xff, 1, 2,
		1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfb,
		6, 7, 8,
		0, 0, 0, 2, 9, 10,
		0, 3, 'a', 0xc3, 0xb1,
		0, 0, 0, 1, 0, 0, 0, 11,
		0, 0, 0, 2, 0, 0, 0, 1, 0, 12, 0, 0, 0, 0,
		0, 0, 0, 7,
	}
	if got := encoded(t); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
	var s sample
	if err := Decode(want[1:], 0x0102, MaxLen, s.code); err != nil {
		t.Fatal(err)
	}
	again, err := Append([]byte{0xff}, 0x0102, s.code)
	if err != nil || !bytes.Equal(again, want) {
		t.Errorf("got %x, %v", again, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	good := encoded(t)[1:]
	check := func(what string, b []byte, version uint16, limit int, want error) {
		t.Helper()
		var s sample
		if err := Decode(b, version, limit, s.code); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	for n := range good {
		check("cut", good[:n], 0x0102, MaxLen, ErrShort)
	}
	check("a byte too many", append(bytes.Clone(good), 0), 0x0102, MaxLen, ErrTrailing)
	check("another version", good, 0x0103, MaxLen, ErrVersion)
	check("over the limit", good, 0x0102, len(good)-1, ErrTooLong)
	spoilt := bytes.Clone(good)
	spoilt[len(spoilt)-1] = 8
	check("another type", spoilt, 0x0102, MaxLen, ErrType)

	none := func(*Coder) {}
	if err := Decode([]byte{0, 0}, 0, MaxLen, none); err != nil {
		t.Errorf("an empty value: got %v", err)
	}
	long := sample{text: strings.Repeat("x", math.MaxUint16+1)}
	dst := []byte{1}
	if b, err := Append(dst, 0, long.code); !errors.Is(err, ErrTooLong) || !bytes.Equal(b, dst) {
		t.Errorf("a long string: got %d bytes, %v", len(b), err)
	}
}

// A length that the rest of the input cannot hold is refused before anything is
// allocated for it, and a list grows with what is really there.
func TestLengths(t *testing.T) {
	t.Parallel()
	for _, n := range [][]byte{{0, 0, 0, 3}, {0, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}} {
		in := append(append([]byte{0, 0}, n...), 1, 2)
		var list []uint8
		if err := Decode(in, 0, MaxLen, func(c *Coder) { List(c, &list, 1, (*Coder).Uint8) }); !errors.Is(err, ErrShort) && !errors.Is(err, ErrTooLong) || list != nil {
			t.Errorf("list of %x: got %v, %v", n, list, err)
		}
		var b []byte
		if err := Decode(in, 0, MaxLen, func(c *Coder) { c.Bytes(&b) }); !errors.Is(err, ErrShort) && !errors.Is(err, ErrTooLong) || b != nil {
			t.Errorf("bytes of %x: got %v, %v", n, b, err)
		}
	}
	numbers := make([]uint32, 3*chunk+1)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	raw, err := Append(nil, 0, func(c *Coder) { List(c, &numbers, 4, (*Coder).Uint32) })
	if err != nil {
		t.Fatal(err)
	}
	var back []uint32
	if err := Decode(raw, 0, MaxLen, func(c *Coder) { List(c, &back, 4, (*Coder).Uint32) }); err != nil || len(back) != len(numbers) || back[len(back)-1] != numbers[len(back)-1] {
		t.Errorf("%d elements, %v", len(back), err)
	}
}

// Elements are larger in memory than in the input: a list that promises many of them
// must not be allocated whole before they turn out to be there.
func TestListGrows(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	in := make([]byte, 1<<20)
	in[3] = 0x08 // 512 Ki elements
	var list [][1024]byte
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Decode(in, 0, MaxLen, func(c *Coder) {
		List(c, &list, 1, func(c *Coder, _ *[1024]byte) { c.Fail(ErrValue) })
	})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrValue) || n > 1<<20 {
		t.Errorf("%d bytes allocated, %v", n, err)
	}
}

// Bytes that were read alias the input but cannot grow into it.
func TestAlias(t *testing.T) {
	t.Parallel()
	in := []byte{0, 0, 0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b'}
	var a, b []byte
	if err := Decode(in, 0, MaxLen, func(c *Coder) { c.Bytes(&a); c.Bytes(&b) }); err != nil {
		t.Fatal(err)
	}
	_ = append(a, 'x')
	if string(a) != "a" || string(b) != "b" || !bytes.Equal(in[7:11], []byte{0, 0, 0, 1}) {
		t.Errorf("got %q and %q in %x", a, b, in)
	}
}

func TestSinceAndHash(t *testing.T) {
	t.Parallel()
	in := []byte{0, 0, 1, 2, 3}
	var since []byte
	err := Decode(in, 0, MaxLen, func(c *Coder) {
		var v uint8
		c.Uint8(&v)
		start := c.Offset()
		c.Uint8(&v)
		c.Uint8(&v)
		since = c.Since(start)
	})
	if err != nil || !bytes.Equal(since, []byte{2, 3}) {
		t.Errorf("got %x, %v", since, err)
	}
	sum, n := HashOf(0x0102, since)
	if want := sha256.Sum256([]byte{1, 2, 2, 3}); sum != want || n != 4 {
		t.Errorf("got %x of %d bytes", sum, n)
	}
}
