package chain

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"github.com/mr-tron/base58"
)

// TestCB58 compares with a package for bytes of any length: random ones, and those with
// zeros, which have digits of their own, at the start, at the end and throughout.
func TestCB58(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	check := func(b []byte) {
		t.Helper()
		sum := sha256.Sum256(b)
		want := base58.Encode(append(bytes.Clone(b), sum[IDLen-checksumLen:]...))
		if got := appendCB58([]byte("x"), b); string(got) != "x"+want {
			t.Fatalf("%x: got %s, want %s", b, got[1:], want)
		}
	}
	for _, size := range []int{0, 1, NodeIDLen, IDLen} {
		for range 2000 {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
			check(b)
			if size > 0 {
				clear(b[rnd.IntN(size):])
				check(b)
				clear(b[:rnd.IntN(size)])
				check(b)
			}
		}
		check(make([]byte, size))
		check(bytes.Repeat([]byte{0xff}, size))
	}
}

// TestAppendAllocs: pages are full of IDs.
func TestAppendAllocs(t *testing.T) {
	id, node, room := ID{1, 2, 3}, NodeID{1, 2, 3}, make([]byte, 0, 128)
	if n := testing.AllocsPerRun(100, func() { room = node.Append(id.Append(room[:0])) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkID(b *testing.B) {
	id, room := ID(sha256.Sum256(nil)), make([]byte, 0, 64)
	for b.Loop() {
		room = id.Append(room[:0])
	}
}
