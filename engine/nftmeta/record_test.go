package nftmeta

import (
	"math/rand/v2"
	"testing"
)

// TestHeads: what passes read of a record is what is in it, whatever its document says.
func TestHeads(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		r := record{
			Version: recordVersion, Status: []Status{Indexed, Unreachable}[rng.IntN(2)], URI: rng.Uint64(), At: rng.Int64N(1 << 40), Tried: rng.Int64(),
			Due: rng.Int64(), Failures: rng.IntN(3), Asked: rng.Int64N(2) * rng.Int64(),
		}
		if rng.IntN(3) > 0 {
			r.Doc = &Document{Name: `,"d":{"u":1,"a":2`, Properties: `{"t":7,"due":8}`}
		}
		raw, _ := r.encode()
		want := head{uri: r.URI, at: r.At, tried: r.Tried, due: r.Due, asked: r.Asked, doc: r.Doc != nil}
		if got, err := decodeHead(raw); err != nil || *got != want {
			t.Fatalf("%s: %+v, %v, want %+v", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "?", "{}", `{"v":9}`, `{"v":1}`, `{"v":1,"s":"","u":-1,"at":1,"t":1,"due":1}`, `{"v":1,"s":"","u":1,"at":1,"t":x,"due":1}`} {
		if got, err := decodeHead([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}
