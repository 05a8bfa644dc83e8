package primary

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	store "quorate/engine/store/index"
)

// someTimes returns times that never decrease: those of a chain with a steady rate, with
// long rests, with many blocks at once, or with all of it, from 0 or near the largest.
func someTimes(rnd *rand.Rand, n int) []uint64 {
	list, at := make([]uint64, n), []uint64{0, 1_600_000_000, math.MaxUint64 - 1<<40}[rnd.IntN(3)]
	same, most, rests := []int{0, 2, 50}[rnd.IntN(3)], []uint64{1, 3, 1000}[rnd.IntN(3)], rnd.IntN(2) == 0
	for i := range list {
		if same == 0 || rnd.IntN(same) == 0 {
			at += rnd.Uint64N(most + 1)
		}
		if rests && rnd.IntN(100) == 0 {
			at += rnd.Uint64N(1 << 20)
		}
		list[i] = at
	}
	return list
}

// around returns times to ask for: those of a list, those next to them, and any.
func around(rnd *rand.Rand, times []uint64) []uint64 {
	asked := []uint64{0, 1, math.MaxUint64, times[0], times[len(times)-1], times[len(times)-1] + 1}
	for range 40 {
		t := times[rnd.IntN(len(times))]
		asked = append(asked, t-1, t, t+1, rnd.Uint64(), times[0]+rnd.Uint64N(times[len(times)-1]-times[0]+1))
	}
	return asked
}

func readsFor(n int) int { return 2 + spareReads + bits.Len(uint(n)) }

// The first height at or after a time is that which comes first from the beginning, and
// takes few reads.
func TestFirstFrom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		times := someTimes(rnd, 1+rnd.IntN([]int{1, 4, 60, 3000}[rnd.IntN(4)]))
		first := []uint64{0, 1, 7_000_000, math.MaxUint64 - uint64(len(times))}[rnd.IntN(4)]
		for _, time := range around(rnd, times) {
			want := uint64(math.MaxUint64)
			if i, _ := slices.BinarySearch(times, time); i < len(times) {
				want = first + uint64(i)
			}
			reads := 0
			got, err := firstFrom(first, first+uint64(len(times)-1), time, func(height uint64) (uint64, error) {
				reads++
				return times[height-first], nil
			})
			if err != nil || got != want || reads > readsFor(len(times)) {
				t.Fatalf("%d times from height %d on, from %d on: height %d, want %d, after %d reads: %v", len(times), first, time, got, want, reads, err)
			}
		}
	}
}

// Times that make guesses wrong, and such that do go back, take no more reads. Of a steady
// chain of any length it takes a handful.
func TestFirstFromReads(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	const n = 1 << 40
	for name, c := range map[string]struct {
		time func(height uint64) uint64
		most int
	}{
		"steady":       {func(h uint64) uint64 { return 1_600_000_000 + 2*h }, 6},
		"one at once":  {func(h uint64) uint64 { return 1_600_000_000 + h/1000 }, 20},
		"exponential":  {func(h uint64) uint64 { return 1 << (h >> 35) }, readsFor(n)},
		"all the same": {func(uint64) uint64 { return 5 }, 2},
		"late":         {func(h uint64) uint64 { return max(h, n-1000) * (n / 1000) }, readsFor(n)},
		"early":        {func(h uint64) uint64 { return min(h, 1000) }, readsFor(n)},
		"unordered":    {func(uint64) uint64 { return rnd.Uint64() }, readsFor(n)},
		"backwards":    {func(h uint64) uint64 { return n - h }, readsFor(n)},
	} {
		for range 200 {
			of, reads := rnd.Uint64N(n), 0
			time := c.time(of)
			got, err := firstFrom(0, n-1, time, func(height uint64) (uint64, error) {
				reads++
				return c.time(height), nil
			})
			if err != nil || reads > c.most {
				t.Fatalf("%s: %d reads for block %d, at most %d: %v", name, reads, of, c.most, err)
			}
			if name == "unordered" || name == "backwards" {
				continue
			}
			if got > of || c.time(got) < time || got > 0 && c.time(got-1) >= time {
				t.Fatalf("%s: block %d for the time of block %d", name, got, of)
			}
		}
	}
	fails := errors.New("fails")
	for bad := range uint64(3) {
		if _, err := firstFrom(0, 2, 2, func(height uint64) (uint64, error) {
			if height == bad {
				return 0, fails
			}
			return 1 + height, nil
		}); !errors.Is(err, fails) {
			t.Errorf("block %d cannot be read: %v", bad, err)
		}
	}
}

// stamp is a machine that has the rows of blocks alone; genesis: also of that which nobody
// sent.
type stamp struct{ genesis bool }

func (stamp) Load(*Overlay) error { return nil }

func (m stamp) Apply(rows *Overlay, b *Block) error {
	p := b.Platform
	if m.genesis && p.Height == 1 {
		rows.PutBlock(&BlockInfo{Chain: PChain, ID: p.Parent})
	}
	rows.PutBlock(&BlockInfo{Chain: PChain, Height: p.Height, ID: p.ID, Time: p.Time})
	return nil
}

// Blocks are listed by times from wherever their rows begin.
func TestBlocksByTime(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 10))
	for i, c := range []struct {
		first   uint64
		count   int
		genesis bool
	}{{0, 30, false}, {1, 30, false}, {1, 30, true}, {700, 600, false}, {5, 1, false}} {
		times := someTimes(rnd, c.count)
		list := blocks(c.first, c.first+uint64(c.count)-1)
		for j := range list {
			list[j].Platform.Time = times[j]
		}
		rows, err := OpenChain(openDB(t, t.TempDir()), Config{ID: RowsID(9, PChain), Version: 1, Reads: 1, Machine: func() Machine { return stamp{c.genesis} }})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, rows, list)
		if n := count(t, rows, store.XChainVertexTimes); n > 0 {
			t.Errorf("%d rows of vertices", n)
		}
		if c.genesis {
			list, times = append([]*Block{{Platform: &platform.Block{ID: list[0].Platform.Parent}}}, list...), append([]uint64{0}, times...)
		}
		v, err := rows.View(PChain)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		for _, from := range around(rnd, times) {
			to := from + rnd.Uint64N(100)
			var got, want []chain.ID
			_, seeks := v.Cost()
			if _, err := v.Blocks(&BlockFilter{TimeRange: TimeRange{From: from, To: to}}, Page{Limit: 1000, Asc: true}, func(b *BlockInfo) bool {
				got = append(got, b.ID)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			for j, b := range list {
				if times[j] >= from && (times[j] < to || to == 0) {
					want = append(want, b.Platform.ID)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d: %d blocks from %d to %d, want %d", i, len(got), from, to, len(want))
			}
			if _, after := v.Cost(); after-seeks > 3+2*readsFor(len(list)) {
				t.Errorf("%d: %d seeks", i, after-seeks)
			}
		}
	}
}

// A block that is missing or malformed is an error.
func TestTimesBroken(t *testing.T) {
	t.Parallel()
	rows, err := OpenChain(openDB(t, t.TempDir()), Config{ID: RowsID(9, PChain), Version: 1, Reads: 1, Machine: func() Machine { return stamp{} }})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, rows, blocks(4, 6))
	for _, value := range [][]byte{nil, {}, {blockVersion}, {blockVersion + 1}, make([]byte, 90)} {
		put(t, rows, rows.Space().Key(store.PrimaryBlocks).U64(5), value)
		v, err := rows.View(PChain)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.heightFrom(5); !errors.Is(err, ErrRow) {
			t.Errorf("%x: %v", value, err)
		}
		v.Close()
	}
}
