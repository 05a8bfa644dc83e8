package events

import (
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
)

// readAll returns what a follower is told until there is no more, and how far it was taken
// back first.
func readAll(t testing.TB, r *Follower) (lines []line, stands []uint64) {
	t.Helper()
	for {
		b, err := r.Next(10)
		if err != nil {
			t.Fatal(err)
		}
		if b.Retracted {
			stands = append(stands, b.Stands.Number)
			lines = slices.DeleteFunc(lines, func(l line) bool { return l.height > b.Stands.Number })
		}
		for i := range b.Events {
			lines = append(lines, lineOf(&b.Events[i]))
		}
		if !b.More {
			return lines, stands
		}
	}
}

// between is a chain to which something happens at the next of its calls.
type between struct {
	*index.Chain
	onCursor, onView func()
}

func once(f *func()) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
}

// Cursor implements [Chain].
func (c *between) Cursor() (uint64, evm.Hash, bool) {
	once(&c.onCursor)
	return c.Chain.Cursor()
}

// At implements [Chain].
func (c *between) At(tip *uint64) (*index.View, error) {
	once(&c.onView)
	return c.Chain.At(tip)
}

// What is put right while a follower or a hub reads on is taken back as well, whether the
// follower is near the head or reads rows for itself.
func TestCorrectedMeanwhile(t *testing.T) {
	t.Parallel()
	const bad, last = 20, 120
	blocks := indextest.New(indextest.Config{Seed: 3, Txs: 3}).Blocks(last + 1)
	lie := *blocks[bad]
	lie.Txs = slices.Clone(lie.Txs)
	lie.Txs[0].Logs = nil
	told := slices.Clone(blocks)
	told[bad] = &lie
	for name, at := range map[string]struct {
		tip   int // when it is put right
		point func(c *between) *func()
	}{
		"the hub is asked":           {bad + 10, func(c *between) *func() { return &c.onCursor }},
		"the hub reads":              {bad + 10, func(c *between) *func() { return &c.onView }},
		"a follower reads by itself": {last, func(c *between) *func() { return &c.onView }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &between{Chain: openChain(t, name)}
			commit(t, c.Chain, told[:bad+5]...)
			hub, all := NewHub(c), Filter{Blocks: true, Txs: true, Transfers: true}
			r := hub.Follow(all, Before(0))
			defer r.Close()
			log, _ := readAll(t, r)
			commit(t, c.Chain, told[bad+5:at.tip]...)
			*at.point(c) = func() {
				if err := c.Rewind(t.Context(), read(told), bad-1); err != nil {
					t.Fatal(err)
				}
				c.Correct([]index.Correction{{Height: bad, ID: [6]byte{1, 2}}})
				commit(t, c.Chain, blocks[bad:]...)
			}
			again, stands := readAll(t, r)
			if !slices.Equal(stands, []uint64{bad - 1}) {
				t.Fatalf("taken back to %v", stands)
			}
			fresh := hub.Follow(all, Before(0))
			defer fresh.Close()
			want, _ := readAll(t, fresh)
			log = append(slices.DeleteFunc(log, func(l line) bool { return l.height >= bad }), again...)
			if !slices.Equal(log, want) {
				t.Errorf("%d lines, want %d", len(log), len(want))
			}
		})
	}
}

// Results of a block that were false and are put right take back what was told of it and of
// the blocks above, though all blocks stay what they are: from who follows, from who comes
// back with a position, and from nobody who has not been told them.
func TestCorrected(t *testing.T) {
	t.Parallel()
	const bad, last = 40, 90 // what is told at once is kept of the newest 64
	c := openChain(t, "corrected")
	blocks := indextest.New(indextest.Config{Seed: 3, Txs: 3}).Blocks(last + 1)
	lie := *blocks[bad]
	lie.Txs = slices.Clone(lie.Txs)
	at := slices.IndexFunc(lie.Txs, func(tx evm.Tx) bool { return len(tx.Logs) > 0 })
	if at < 0 {
		t.Fatal("no block with logs")
	}
	lie.Txs[at].Logs = nil
	told := slices.Clone(blocks)
	told[bad] = &lie
	commit(t, c, told...)
	hub, all := NewHub(c), Filter{Blocks: true, Txs: true, Transfers: true}
	before := hub.Follow(all, Before(0))
	defer before.Close()
	early := hub.Follow(all, Before(0))
	defer early.Close()
	for early.At().Height < bad/2 {
		if _, err := early.Next(10); err != nil {
			t.Fatal(err)
		}
	}
	log, _ := readAll(t, before)
	kept := before.At()
	atEarly := early.At()

	if err := c.Rewind(t.Context(), read(told), bad-1); err != nil {
		t.Fatal(err)
	}
	c.Correct([]index.Correction{{Height: bad, ID: [6]byte{1, 2}}})
	commit(t, c, blocks[bad:]...)

	fresh := hub.Follow(all, Before(0))
	defer fresh.Close()
	want, _ := readAll(t, fresh)
	again, stands := readAll(t, before)
	log = append(slices.DeleteFunc(log, func(l line) bool { return l.height >= bad }), again...)
	if !slices.Equal(stands, []uint64{bad - 1}) || !slices.Equal(log, want) {
		t.Errorf("taken back to %v; %d lines, want %d", stands, len(log), len(want))
	}
	if _, stands := readAll(t, early); len(stands) > 0 || atEarly.Height >= bad {
		t.Errorf("one at %d was taken back to %v", atEarly.Height, stands)
	}
	now := before.At()
	for text, want := range map[string][]uint64{kept.String(): {bad - 1}, now.String(): nil, atEarly.String(): nil} {
		p, err := ParsePosition(text)
		if err != nil || p.String() != text {
			t.Fatalf("%q: %v, %q", text, err, p.String())
		}
		r := hub.Follow(all, p)
		if _, stands := readAll(t, r); !slices.Equal(stands, want) {
			t.Errorf("from %s on taken back to %v, want %v", text, stands, want)
		}
		r.Close()
	}
	// A second correction, at a block above; who comes back from before both is taken back
	// once, to the lower one.
	c.Correct([]index.Correction{{Height: bad, ID: [6]byte{1, 2}}, {Height: last, ID: [6]byte{3}}})
	if _, stands := readAll(t, before); !slices.Equal(stands, []uint64{last - 1}) {
		t.Errorf("taken back to %v", stands)
	}
	r := hub.Follow(all, kept)
	defer r.Close()
	if _, stands := readAll(t, r); !slices.Equal(stands, []uint64{bad - 1}) {
		t.Errorf("taken back to %v", stands)
	}
}

// A correction of the first block of an index, or of one below, takes back all above the first
// one: no follower is lost.
func TestCorrectedFirst(t *testing.T) {
	t.Parallel()
	const first = 5
	c := openChain(t, "corrected first")
	c.StartAt(first)
	blocks := indextest.New(indextest.Config{Seed: 4, Txs: 3}).Blocks(20)
	commit(t, c, blocks[first:]...)
	hub := NewHub(c)
	r := hub.Follow(Filter{Blocks: true}, Before(first))
	defer r.Close()
	want, _ := readAll(t, r)
	for i, height := range []uint64{first, first - 1} {
		c.Correct([]index.Correction{{Height: first, ID: [6]byte{1}}, {Height: height, ID: [6]byte{2}}}[:i+1])
		again, stands := readAll(t, r)
		if !slices.Equal(stands, []uint64{first}) || !slices.Equal(again, want[1:]) {
			t.Errorf("corrected at %d: taken back to %v; %d events", height, stands, len(again))
		}
	}
}
