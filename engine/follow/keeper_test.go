package follow

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/archive"
	"quorate/engine/metric"
)

// keeperRig is a keeper and what it was asked to do.
type keeperRig struct {
	*keeper[*block]
	m *memoryIndex

	mu   sync.Mutex // guards what follows
	did  []string
	node error // of a node that does not answer
}

func (r *keeperRig) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, what)
}

func newKeeperRig(t *testing.T, dir string, m *memoryIndex, blocks []*block) *keeperRig {
	t.Helper()
	s := newSink(t, dir, m)
	r := &keeperRig{keeper: newKeeper(s, slog.New(slog.DiscardHandler), metric.NewSet()), m: m}
	r.fetch = func(_ context.Context, from, to uint64) (list []archive.Block, _ error) {
		r.note("fetch")
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, b := range blocks[from : to+1] {
			list = append(list, archive.Block{Height: b.height, ID: b.id, Parent: b.parent, Data: b.encode(nil)})
		}
		return list, r.node
	}
	r.replay = func(context.Context) error { r.note("replay"); return nil }
	r.rebuild = func(_ context.Context, progress func(done, of uint64)) error {
		progress(7, 9)
		if w := r.Work(); len(w) != 1 || w[0] != (Work{WorkRebuild, 7, 9, 0}) {
			t.Errorf("work %v", w)
		}
		// What a rebuild reads may be damaged.
		last, _, _ := s.archive.Last()
		err := s.reader.Read(t.Context(), 0, last, func(*block) error { return nil })
		r.note("rebuild")
		return err
	}
	return r
}

// run runs the keeper until the rebuild is done.
func (r *keeperRig) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	last := r.rebuild
	r.rebuild = func(ctx context.Context, progress func(done, of uint64)) error {
		err := last(ctx, progress)
		if err == nil {
			stop()
		}
		return err
	}
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
}

// damage flips a bit of the archive's journal.
func damage(t *testing.T, dir string, part float64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[int(part*float64(len(raw)))] ^= 1
	if err := os.WriteFile(files[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWorkLeft: how long a work takes yet follows from how long it has taken.
func TestWorkLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper[*block]{log: slog.New(slog.DiscardHandler)}
		progress := k.progress(WorkCatchUp, "")
		for i, want := range []time.Duration{0, 80 * time.Second, 35 * time.Second, 0} {
			progress([]uint64{100, 200, 400, 750}[i], []uint64{1000, 1000, 750, 750}[i])
			if w := k.work.Load(); w.Left != want {
				t.Errorf("%d of %d: %s, want %s", w.Done, w.Of, w.Left, want)
			}
			<-time.After(time.Duration(10+10*i) * time.Second)
		}
	})
}

// TestKeeper: an index that was removed catches up, gets what the notes say, and is
// rebuilt where it is stale; one that is there gets no notes again.
func TestKeeper(t *testing.T) {
	t.Parallel()
	blocks, dir := chainOf(50, "a"), t.TempDir()
	r := newKeeperRig(t, dir, &memoryIndex{}, blocks)
	commit(t, r.sink, blocks[:40], 10)
	r.sink.index = &memoryIndex{}
	r.run(t)
	if want := []string{"replay", "rebuild"}; len(r.did) < 2 || !slices.Equal(r.did[:1], want[:1]) {
		t.Errorf("it did %v", r.did)
	}
	select {
	case <-r.caught.done:
	default:
		t.Error("the ingest is not let go")
	}
	if head, _ := r.sink.index.Cursor(); head.Height != 39 {
		t.Errorf("the index is at %d", head.Height)
	}
}

// TestKeeperMends: damage that the catch-up or a rebuild meets is fetched again as soon
// as a node answers, and named until then; what was being done goes on.
func TestKeeperMends(t *testing.T) {
	t.Parallel()
	blocks, dir := chainOf(40, "a"), t.TempDir()
	r := newKeeperRig(t, dir, &memoryIndex{}, blocks)
	commit(t, r.sink, blocks, 10)
	damage(t, dir, 0.4)
	fresh := &memoryIndex{}
	r.sink.index = fresh
	down := errors.New("no node")
	r.node = down
	fetch := r.fetch
	var named []Gap
	r.fetch = func(ctx context.Context, from, to uint64) ([]archive.Block, error) {
		list, err := fetch(ctx, from, to)
		named = r.gaps(39, 0)
		if stuck := r.stuckFor(0); (stuck != nil) != (err == nil) { // after the first failure
			t.Errorf("stuck: %v, the fetch: %v", stuck, err)
		}
		if hurt, _ := r.trouble(); len(hurt) != 1 || hurt[0].From != from {
			t.Errorf("damage %v, fetched from %d", hurt, from)
		}
		r.mu.Lock()
		r.node = nil // it answers the next time
		r.mu.Unlock()
		return list, err
	}
	r.run(t)
	if len(named) != 1 || named[0].Kind != GapDamaged || named[0].Rows || named[0].To < named[0].From {
		t.Errorf("named %v", named)
	}
	if err := r.stuckFor(time.Hour); err != nil {
		t.Errorf("stuck for an hour: %v", err)
	}
	if hurt, err := r.trouble(); len(hurt) > 0 || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("left: %v, %v", hurt, err)
	}
	if got := strings.Join(r.did, " "); !strings.HasPrefix(got, "fetch fetch replay rebuild") {
		t.Errorf("it did %s", got)
	}
	mustHold(t, r.sink, fresh, blocks, 40)
}

// TestKeeperWaits: while the archive is filled behind an old index nothing is rebuilt
// from it, and the ingest of the head goes on.
func TestKeeperWaits(t *testing.T) {
	t.Parallel()
	blocks := chainOf(40, "a")
	r := newKeeperRig(t, t.TempDir(), &memoryIndex{blocks: chainOf(30, "a")}, blocks[:30])
	done := make(chan struct{})
	go func() { defer close(done); r.run(t) }()
	<-r.caught.done
	if gaps := r.gaps(29, 0); len(gaps) != 1 || gaps[0].Kind != GapFilling || gaps[0].To != 29 {
		t.Errorf("gaps %v", gaps)
	}
	fill := filler[*block]{r.sink, r.joined.happened}
	commit(t, fill, blocks[:20], 10)
	r.mu.Lock()
	if len(r.did) > 0 {
		t.Errorf("it did %v", r.did)
	}
	r.mu.Unlock()
	if err := fill.Commit(t.Context(), blocks[20:40]); !errors.Is(err, errJoined) {
		t.Error(err)
	}
	<-done
	if len(r.did) == 0 || r.did[0] != "rebuild" {
		t.Errorf("it did %v", r.did)
	}
}

func TestParseStartBlock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]StartBlock{
		"0": {}, "17": {Height: 17}, "latest": {Below: true}, "latest-0": {Below: true}, "latest-500": {Height: 500, Below: true},
	} {
		if got, err := ParseStartBlock(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "late", "latest-", "latest-x", "latest--1", "0x1", "18446744073709551616"} {
		if got, err := ParseStartBlock(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
