package address

import (
	"math/rand/v2"
	"testing"

	"github.com/cosmos/btcutil/bech32"
)

// TestAppend compares with the package that reads addresses.
func TestAppend(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, prefix := range []string{"avax", "fuji", "custom", "local", "a", "cascade"} {
		for range 500 {
			var a Address
			for i := range a {
				a[i] = byte(rnd.Uint32())
			}
			want, err := bech32.EncodeFromBase256(prefix, a[:])
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Append([]byte("x"), prefix); string(got) != "x"+want {
				t.Fatalf("%x: got %s, want %s", a, got[1:], want)
			}
		}
	}
}

// TestAppendAllocs: pages are full of addresses.
func TestAppendAllocs(t *testing.T) {
	a, room := Address{1, 2, 3}, make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { room = a.Append(room[:0], "avax") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	a, room := Address{1, 2, 3}, make([]byte, 0, 64)
	for b.Loop() {
		room = a.Append(room[:0], "avax")
	}
}
