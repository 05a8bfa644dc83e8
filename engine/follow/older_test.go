package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/metric"
)

// belowIndex is an index that takes older blocks.
type belowIndex struct {
	blocks []*block // the lowest first
	fail   error    // once
}

func (m *belowIndex) First() uint64 { return m.blocks[0].height }

func (m *belowIndex) CommitBelow(_ context.Context, blocks []*block) error {
	if err := m.fail; err != nil {
		m.fail = nil
		return err
	}
	low := m.blocks[0]
	for i := len(blocks) - 1; i >= 0; i-- {
		if b := blocks[i]; b.height+1 != low.height || b.id != low.parent {
			return fmt.Errorf("block %d below %d", b.height, low.height)
		}
		low = blocks[i]
	}
	m.blocks = append(slices.Clone(blocks), m.blocks...)
	return nil
}

// nodesOf has the blocks of one chain, and of another one to begin with.
type nodesOf struct {
	blocks, lies []*block

	mu      sync.Mutex // guards what follows
	liar    int        // so many answers are of the other chain, until it is blamed for each
	down    int        // so many calls fail
	fetched map[uint64]int
}

var errDown = errors.New("no node")

func (n *nodesOf) list() ([]*block, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down > 0 {
		n.down--
		return nil, errDown
	}
	if n.liar > 0 {
		return n.lies, nil
	}
	return n.blocks, nil
}

func (n *nodesOf) Tip(context.Context) (chain.Head, error) {
	panic("the tip of a range is known")
}

func (n *nodesOf) Watch(context.Context, func(uint64)) error { panic("a range has no new blocks") }

func (n *nodesOf) Fetch(_ context.Context, from, to uint64) ([]*block, error) {
	list, err := n.list()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := from; h <= to; h++ {
		n.fetched[h]++
	}
	return list[from : to+1], nil
}

func (n *nodesOf) Witness(_ context.Context, height uint64, id chain.ID) (with, against int, err error) {
	list, err := n.list()
	if err == nil && list[height].id == id {
		return 1, 0, nil
	}
	return 0, 1, err
}

func (n *nodesOf) Blame(uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.liar = max(0, n.liar-1)
}

// newOlder returns a lane below an archive that begins with a block.
func newOlder(t *testing.T, dir string, blocks []*block, first int) (*older[*block], *belowIndex, *nodesOf) {
	t.Helper()
	s := newSink(t, dir, &memoryIndex{})
	if _, _, ok := s.archive.First(); !ok {
		var list []archive.Block
		for _, b := range blocks[first:] {
			list = append(list, archive.Block{Height: b.height, ID: b.id, Parent: b.parent, Data: b.encode(nil)})
		}
		if err := s.archive.Append(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	m := &belowIndex{blocks: slices.Clone(blocks[first:])}
	n := &nodesOf{blocks: blocks, lies: chainOf(len(blocks), "lies"), fetched: map[uint64]int{}}
	return &older[*block]{
		keeper: newKeeper(s, log, metric.NewSet()), index: m, nodes: n, log: log,
		fetch: ingest.Config[*block]{Fetchers: 2, Span: 16},
	}, m, n
}

// mustReach checks that archive and index have the blocks from a height on.
func mustReach(t *testing.T, o *older[*block], m *belowIndex, blocks []*block, low int) {
	t.Helper()
	if !slices.EqualFunc(m.blocks, blocks[low:], func(a, b *block) bool { return *a == *b }) {
		t.Errorf("the index begins at %d, want %d", m.First(), low)
	}
	var got []*block
	if err := o.keeper.sink.reader.Read(t.Context(), uint64(low), uint64(len(blocks)-1), func(b *block) error {
		got = append(got, b)
		return nil
	}); err != nil || !slices.EqualFunc(got, blocks[low:], func(a, b *block) bool { return *a == *b }) {
		t.Errorf("the archive has %d blocks from %d on: %v", len(got), low, err)
	}
}

// TestOlder: older blocks come range by range, down to where they are wanted, and
// further when that is lowered, though nodes fail and lie on the way.
func TestOlder(t *testing.T) {
	t.Parallel()
	blocks, dir := chainOf(1000, "a"), t.TempDir()
	o, m, n := newOlder(t, dir, blocks, 950)
	o.down = 400
	n.down, m.fail = 3, errors.New("disk")
	if !o.Run(t.Context()) {
		t.Fatal("it gave up")
	}
	mustReach(t, o, m, blocks, 400)
	if n.fetched[399]+n.fetched[950] > 0 || n.fetched[400] == 0 {
		t.Errorf("fetched %v", n.fetched)
	}
	if ranges := len(o.keeper.sink.archive.Segments()); ranges < 4 {
		t.Errorf("%d ranges", ranges)
	}
	o.down, n.liar = 0, 1 // of which the last block of the range tells
	if !o.Run(t.Context()) {
		t.Fatal("it gave up")
	}
	mustReach(t, o, m, blocks, 0)
	if !o.Run(t.Context()) || len(o.keeper.Work()) > 0 || o.Err() != nil {
		t.Errorf("at the end: %v, %v", o.keeper.Work(), o.Err())
	}
}

// TestOlderStops: what a crash or an end left in the archive goes into the index
// without a node; the lane says how far it is and what is wrong.
func TestOlderStops(t *testing.T) {
	t.Parallel()
	blocks, dir := chainOf(300, "a"), t.TempDir()
	o, m, n := newOlder(t, dir, blocks, 250)
	ctx, stop := context.WithCancel(t.Context())
	o.enough = func() bool { stop(); return false } // before each range
	if o.Run(ctx) {
		t.Error("it is done after it was ended")
	}
	var list []archive.Block
	for _, b := range blocks[200:250] {
		list = append(list, archive.Block{Height: b.height, ID: b.id, Parent: b.parent, Data: b.encode(nil)})
	}
	if err := o.keeper.sink.archive.Prepend(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	n.down = 1 << 30
	o.enough, o.down = func() bool { return m.First() == 200 }, 100
	if !o.Run(t.Context()) {
		t.Error("it gave up")
	}
	mustReach(t, o, m, blocks, 200)

	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	o.enough = nil
	ended := make(chan bool)
	go func() { ended <- o.Run(ctx) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C { // until the node has failed once
		if w := o.keeper.Work(); len(w) == 1 && o.Err() != nil {
			if w[0] != (Work{WorkOlder, 0, 100, 0}) {
				t.Errorf("work %v", w)
			}
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("nothing failed")
		}
	}
	n.mu.Lock()
	n.down = 0
	n.mu.Unlock()
	if !<-ended {
		t.Error("it gave up")
	}
	mustReach(t, o, m, blocks, 100)
}

// TestOlderRoom: a range that takes more memory than was thought is cut.
func TestOlderRoom(t *testing.T) {
	t.Parallel()
	data := make([]byte, olderBytes/4)
	r := &blockRange[*block]{
		last: chain.Head{Height: 19}, stop: func(error) {},
		encoded: (&Sink[*block]{encode: func([]byte, *block) []byte { return data }}).encoded,
	}
	r.Nodes = &nodesOf{}
	if err := r.Commit(t.Context(), chainOf(20, "a")); err != nil {
		t.Fatal(err)
	}
	if n := len(r.blocks); n != 8 || r.blocks[n-1].Height != 19 || r.bytes > 2*olderBytes {
		t.Errorf("%d blocks of %d bytes", n, r.bytes)
	}
}
