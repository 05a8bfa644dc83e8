package follow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
)

// block is a block of a kind that only this test has.
type block struct {
	height     uint64
	id, parent chain.ID
}

func (b *block) Link() chain.Link {
	return chain.Link{Head: chain.Head{Height: b.height, ID: b.id}, Parent: b.parent}
}

func (b *block) Memory() int { return 100 }

func (b *block) encode(dst []byte) []byte {
	return append(append(binary.BigEndian.AppendUint64(dst, b.height), b.id[:]...), b.parent[:]...)
}

// chainOf makes the first blocks of a chain.
func chainOf(n int, seed string) []*block {
	blocks := make([]*block, n)
	var parent chain.ID
	for i := range blocks {
		id := chain.ID(sha256.Sum256(fmt.Append(parent[:], seed, i)))
		blocks[i] = &block{uint64(i), id, parent}
		parent = id
	}
	return blocks
}

// memoryIndex keeps blocks in memory, and refuses those that do not follow.
type memoryIndex struct {
	mu     sync.Mutex
	blocks []*block
	fail   error
	early  error // with which commits fail before they wait for the archive
}

func (m *memoryIndex) Cursor() (head chain.Head, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.blocks) == 0 {
		return head, false
	}
	return m.blocks[len(m.blocks)-1].Link().Head, true
}

func (m *memoryIndex) Commit(_ context.Context, blocks []*block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range blocks {
		if m.fail != nil {
			return m.fail
		}
		if b.height != uint64(len(m.blocks)) || b.height > 0 && b.parent != m.blocks[b.height-1].id {
			return fmt.Errorf("block %d on %d", b.height, len(m.blocks))
		}
		m.blocks = append(m.blocks, b)
	}
	return nil
}

// CommitAfter implements [Index].
func (m *memoryIndex) CommitAfter(ctx context.Context, blocks []*block, ready func() error) error {
	if m.early != nil {
		return m.early
	}
	if err := ready(); err != nil {
		return err
	}
	return m.Commit(ctx, blocks)
}

// aheadMemory is a memoryIndex that takes blocks when it lands, or the next ones come.
type aheadMemory struct {
	memoryIndex
	taken []*block
}

// CommitAhead implements [aheadIndex].
func (m *aheadMemory) CommitAhead(ctx context.Context, blocks []*block, ready func() error) error {
	if err := m.Land(); err != nil {
		return err
	}
	if m.early != nil {
		return m.early
	}
	m.taken = blocks
	return ready()
}

// Land implements [aheadIndex].
func (m *aheadMemory) Land() error {
	blocks := m.taken
	m.taken = nil
	return m.Commit(context.Background(), blocks)
}

// blocksOf reads the blocks of an archive.
type blocksOf struct{ *archive.Archive }

func (r blocksOf) Read(ctx context.Context, from, to uint64, f func(*block) error) error {
	return r.Archive.Read(ctx, from, to, func(a archive.Block) error {
		b := &block{height: binary.BigEndian.Uint64(a.Data)}
		copy(b.id[:], a.Data[8:])
		copy(b.parent[:], a.Data[40:])
		return f(b)
	})
}

func openArchive(t *testing.T, dir string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(dir, archive.Options{Kind: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func newSink(t *testing.T, dir string, m *memoryIndex) *Sink[*block] {
	t.Helper()
	a := openArchive(t, dir)
	return &Sink[*block]{
		rewind:  m.rewind,
		archive: a, index: m, reader: blocksOf{a}, room: func() error { return nil },
		encode: func(dst []byte, b *block) []byte { return b.encode(dst) },
	}
}

func commit(t *testing.T, s ingest.Sink[*block], blocks []*block, size int) {
	t.Helper()
	for group := range slices.Chunk(blocks, size) {
		if err := s.Commit(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
}

// mustHold checks that the archive and the index have the first n of the blocks.
func mustHold(t *testing.T, s *Sink[*block], m *memoryIndex, blocks []*block, n int) {
	t.Helper()
	if !slices.EqualFunc(m.blocks, blocks[:n], func(a, b *block) bool { return *a == *b }) {
		t.Errorf("the index has %d blocks, want %d", len(m.blocks), n)
	}
	next := 0
	err := s.reader.Read(t.Context(), 0, uint64(n-1), func(b *block) error {
		if *b != *blocks[next] {
			return fmt.Errorf("block %d is another one", next)
		}
		next++
		return nil
	})
	if last, _, ok := s.archive.Last(); err != nil || !ok || last != uint64(n-1) {
		t.Errorf("the archive has blocks to %d: %v, %v; want %d", last, ok, err, n-1)
	}
}

// TestSink: blocks go into the archive before the index, so that after a failure
// between the two the next commit, or the next start, makes the index catch up.
func TestSink(t *testing.T) {
	t.Parallel()
	blocks, m, dir := chainOf(3000, "a"), &memoryIndex{}, t.TempDir()
	s := newSink(t, dir, m)
	commit(t, s, blocks[:100], 7)
	mustHold(t, s, m, blocks, 100)
	m.fail = errors.New("disk full")
	if err := s.Commit(t.Context(), blocks[100:110]); !errors.Is(err, m.fail) {
		t.Fatalf("a commit that fails: %v", err)
	}
	if head, ok := s.Cursor(); !ok || head.Height != 109 || head.ID != blocks[109].id {
		t.Errorf("the cursor is at %d, that of the archive at 109", head.Height)
	}
	m.fail = nil
	commit(t, s, blocks[110:120], 10)
	mustHold(t, s, m, blocks, 120)

	commit(t, s, blocks[120:], 256)
	fresh := &memoryIndex{} // the database was removed
	s.index = fresh
	if head, ok := s.Cursor(); !ok || head.Height != 2999 {
		t.Errorf("the cursor is at %d", head.Height)
	}
	var done []uint64
	if err := s.CatchUp(t.Context(), func(n, of uint64) {
		if done = append(done, n); of != 2999 {
			t.Errorf("%d of %d", n, of)
		}
	}); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, fresh, blocks, 3000)
	if !slices.IsSorted(done) || done[len(done)-1] != 2999 {
		t.Errorf("progress %v", done)
	}
}

// ordered is an index that refuses blocks which the archive does not have yet.
type ordered struct {
	*memoryIndex
	archive *archive.Archive
}

// CommitAfter implements [Index].
func (o ordered) CommitAfter(ctx context.Context, blocks []*block, ready func() error) error {
	return o.memoryIndex.CommitAfter(ctx, blocks, func() error {
		if err := ready(); err != nil {
			return err
		}
		if last, _, ok := o.archive.Last(); !ok || last < blocks[len(blocks)-1].height {
			return fmt.Errorf("the archive ends with %d, %v", last, ok)
		}
		return nil
	})
}

// TestArchiveFirst: the index writes nothing before the archive has the blocks, and
// nothing that the archive does not take. An index that fails while the archive is
// written leaves it ahead.
func TestArchiveFirst(t *testing.T) {
	t.Parallel()
	blocks, m := chainOf(60, "a"), &memoryIndex{}
	s := newSink(t, t.TempDir(), m)
	s.index = ordered{m, s.archive}
	commit(t, s, blocks[:40], 3)
	mustHold(t, s, m, blocks, 40)

	m.early = errors.New("cannot be read")
	if err := s.Commit(t.Context(), blocks[40:50]); !errors.Is(err, m.early) {
		t.Fatal(err)
	}
	if last, _, _ := s.archive.Last(); last != 49 || len(m.blocks) != 40 {
		t.Errorf("the archive ends with %d, the index has %d blocks", last, len(m.blocks))
	}
	m.early = nil
	commit(t, s, blocks[50:], 10)
	mustHold(t, s, m, blocks, 60)

	other := chainOf(70, "b")
	if err := s.Commit(t.Context(), other[60:]); !errors.Is(err, archive.ErrFork) {
		t.Errorf("blocks of another chain: %v", err)
	}
	mustHold(t, s, m, blocks, 60)
}

// TestSinkAhead: the archive has blocks at once, the index when it has landed; whatever
// fails, the index has them after the next commit.
func TestSinkAhead(t *testing.T) {
	t.Parallel()
	blocks, m := chainOf(100, "a"), &aheadMemory{}
	s := newSink(t, t.TempDir(), &m.memoryIndex)
	s.index = m
	next := 0
	ahead := func(n int) error {
		next += n
		return s.commitAhead(t.Context(), blocks[next-n:next])
	}
	for range 3 {
		if err := ahead(10); err != nil {
			t.Fatal(err)
		}
	}
	if head, _ := s.Cursor(); head.Height != 29 || len(m.blocks) != 20 || !s.flying {
		t.Errorf("at block %d, %d in the index", head.Height, len(m.blocks))
	}
	s.mu.Lock()
	err := s.land()
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, &m.memoryIndex, blocks, 30)
	for i, fail := range []func(error){func(err error) { m.fail = err }, func(err error) { m.early = err }} {
		if err := ahead(5); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		fail(broken)
		if err := ahead(5); !errors.Is(err, broken) || s.flying {
			t.Errorf("failure %d: %v, %v", i, err, s.flying)
		}
		head, _ := s.Cursor() // what is in the archive counts
		next = int(head.Height) + 1
		fail(nil)
		if err := ahead(5); err != nil {
			t.Fatal(err)
		}
		commit(t, s, blocks[next:next+5], 5) // lands what came before
		next += 5
		mustHold(t, s, &m.memoryIndex, blocks, next)
	}
	if err := ahead(5); err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, &m.memoryIndex, blocks, next)
	s.room = func() error { return errors.New("full") }
	if err := ahead(5); err == nil {
		t.Error("without room")
	}
}

// TestNoRoom: without room nothing reaches the archive or the index.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	full, blocks, m := errors.New("full"), chainOf(10, "a"), &memoryIndex{}
	s := newSink(t, t.TempDir(), m)
	s.room = func() error { return full }
	if err := s.Commit(t.Context(), blocks); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := (filler[*block]{s, nil}).Commit(t.Context(), blocks); !errors.Is(err, full) {
		t.Error(err)
	}
	s.room = func() error { return nil }
	if _, _, ok := s.archive.Last(); ok || len(m.blocks) > 0 {
		t.Error("something was written")
	}
	commit(t, s, blocks, 5)
	s.room, s.index = func() error { return full }, &memoryIndex{}
	if err := s.CatchUp(t.Context(), nil); !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestFill: an index that was made before there was an archive goes on by itself,
// while the archive is filled behind it; when they meet, blocks go into both.
func TestFill(t *testing.T) {
	t.Parallel()
	blocks, m := chainOf(400, "a"), &memoryIndex{blocks: chainOf(300, "a")}
	s := newSink(t, t.TempDir(), m)
	if apart, err := s.apart(); err != nil || !apart {
		t.Fatal(apart, err)
	}
	if err := s.CatchUp(t.Context(), nil); err != nil { // there is nothing to catch up with
		t.Fatal(err)
	}
	met := false
	fill := filler[*block]{s, func() { met = true }}
	commit(t, fill, blocks[:100], 64)
	commit(t, s, blocks[300:310], 10) // the head goes on
	commit(t, fill, blocks[100:300], 64)
	if head, ok := fill.Cursor(); !ok || head.Height != 299 {
		t.Errorf("filled to %d", head.Height)
	}
	// The fill has fetched further than the index is.
	if err := fill.Commit(t.Context(), blocks[300:320]); !errors.Is(err, errJoined) {
		t.Errorf("where they meet: %v", err)
	}
	if !met {
		t.Error("nobody was told")
	}
	mustHold(t, s, m, blocks, 310)
	if apart, err := s.apart(); err != nil || apart {
		t.Error(apart, err)
	}
	commit(t, s, blocks[310:], 30)
	mustHold(t, s, m, blocks, 400)
}

// TestForked: an archive of another chain is not mixed with the index.
func TestForked(t *testing.T) {
	t.Parallel()
	m, other, dir := &memoryIndex{}, chainOf(50, "b"), t.TempDir()
	s := newSink(t, dir, m)
	commit(t, s, chainOf(20, "a"), 20)
	m.blocks = other[:20]
	if err := s.Commit(t.Context(), other[20:30]); !errors.Is(err, ErrForked) {
		t.Errorf("at the same height: %v", err)
	}
	m.blocks = other[:10]
	err := s.CatchUp(t.Context(), nil)
	if !errors.Is(err, ErrForked) {
		t.Errorf("the archive is ahead: %v", err)
	}
	if hash := hex.EncodeToString(other[9].id[:]); err != nil && !strings.HasSuffix(err.Error(), hash+" here") {
		t.Errorf("%q does not name the index's block, %s", err, hash)
	}
	m.blocks = other[:30]
	if err := (filler[*block]{s, nil}).Commit(t.Context(), other[20:40]); err == nil || errors.Is(err, errJoined) {
		t.Errorf("the archive is behind: %v", err)
	}
}

// TestDamagedCatchUp: what lies before a damage is caught up with, and the damage is
// named; when it is mended the rest follows.
func TestDamagedCatchUp(t *testing.T) {
	t.Parallel()
	blocks, dir := chainOf(40, "a"), t.TempDir()
	s := newSink(t, dir, &memoryIndex{})
	commit(t, s, blocks, 10) // four records of a journal
	files, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2-40] ^= 1 // in the second one's blocks
	if err := os.WriteFile(files[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &memoryIndex{}
	s.index = m
	var damage *archive.Damage
	if err := s.CatchUp(t.Context(), nil); !errors.As(err, &damage) {
		t.Fatalf("no damage: %v", err)
	}
	if len(m.blocks) != 10 || damage.From != 10 || damage.To != 19 {
		t.Errorf("%d blocks, damage from %d to %d", len(m.blocks), damage.From, damage.To)
	}
	err = s.archive.Repair(t.Context(), []archive.Damage{*damage}, func(_ context.Context, from, to uint64) (list []archive.Block, _ error) {
		for _, b := range blocks[from : to+1] {
			list = append(list, archive.Block{Height: b.height, ID: b.id, Parent: b.parent, Data: b.encode(nil)})
		}
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, m, blocks, 40)
}
