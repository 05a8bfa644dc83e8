package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

func repairs(t *testing.T, path string) *Repairs {
	t.Helper()
	r, err := OpenRepairs(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// repairedOnes collects what OnRepaired was called with.
type repairedOnes struct {
	mu   sync.Mutex
	list []*evm.Block
	fail error
}

func (r *repairedOnes) take(_ context.Context, b *evm.Block) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	r.list = append(r.list, b)
	return nil
}

func (r *repairedOnes) set(err error) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
	return len(r.list)
}

// One block that no node can complete does not stop the chain: it is in the list,
// with the reason, before it is committed, it is tried again, over a restart too,
// and handed over when it comes.
func TestGap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{}
		node := newNode(blocks, 99)
		fails := func(b *evm.Block) error {
			if b.Number == 60 {
				return errors.Join(ErrIncomplete, errors.New("execution timeout"))
			}
			return nil
		}
		node.trace = fails
		late := &repairedOnes{}
		cfg := Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Optional: true, Repairs: repairs(t, path), OnRepaired: late.take}
		i, stop := run(t, cfg)
		after(time.Minute)
		s := i.Status()
		if s.Err != nil || s.Height != 99 || s.Missing != 1 || len(s.Gaps) != 1 {
			t.Fatalf("status %+v", s)
		}
		if g := s.Gaps[0]; g.Height != 60 || g.ID != chain.ID(blocks[60].Hash) || !strings.Contains(g.Reason, "execution timeout") || g.Tries != 1 {
			t.Errorf("gap %+v", g)
		}
		if sink.blocks[60].Traced || !sink.blocks[61].Traced {
			t.Error("block 60 is traced, or block 61 is not")
		}
		after(20 * time.Minute)
		if g := i.Status().Gaps; len(g) != 1 || g[0].Tries < 3 || g[0].Tries > 6 {
			t.Errorf("tried again with growing pauses: %+v", g)
		}
		stop()

		cfg.Repairs = repairs(t, path)
		if g := cfg.Repairs.Gaps(); len(g) != 1 || g[0].Height != 60 || !cfg.Repairs.Completed() {
			t.Fatalf("after a restart: %+v", g)
		}
		node.set(func() { node.trace = nil })
		late.set(errors.New("disk full"))
		i, stop = run(t, cfg)
		defer stop()
		after(time.Hour)
		if g := i.Status().Gaps; len(g) != 1 || g[0].Reason != "disk full" {
			t.Errorf("what could not be handed over: %+v", g)
		}
		late.set(nil)
		after(12 * time.Hour)
		if late.set(nil) != 1 || late.list[0].Number != 60 || !late.list[0].Traced || i.Status().Missing != 0 {
			t.Errorf("%d blocks were completed, status %+v", len(late.list), i.Status())
		}
		if g := repairs(t, path).Gaps(); len(g) != 0 {
			t.Errorf("the list still has %+v", g)
		}
	})
}

// While no node can complete anything the list stays as it is: nothing is tried in vain.
func TestGapWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(50), &fakeSink{}
		list := repairs(t, path)
		gap := Gap{Height: 20, ID: chain.ID(blocks[20].Hash), Reason: "x", Since: time.Now(), Tries: 4, Next: time.Now()}
		if err := errors.Join(list.SetCompleted(), list.add(gap)); err != nil {
			t.Fatal(err)
		}
		sink.blocks = append(sink.blocks, blocks...)
		node := newNode(blocks, 49)
		node.trace = func(*evm.Block) error { return ErrUnable }
		late := &repairedOnes{}
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Repairs: list, OnRepaired: late.take})
		defer stop()
		after(time.Hour)
		if g := list.Gaps(); len(g) != 1 || g[0].Tries != 4 {
			t.Errorf("gaps %+v", g)
		}
		node.set(func() { node.trace = nil })
		after(time.Minute)
		if late.set(nil) != 1 || len(list.Gaps()) != 0 {
			t.Errorf("%d blocks were completed", late.set(nil))
		}
	})
}

// A chain of which some block was completed before is not committed incomplete after
// a restart either.
func TestCompletedBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	if err := repairs(t, path).SetCompleted(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(50), &fakeSink{}
		node := newNode(blocks, 49)
		node.trace = func(*evm.Block) error { return ErrUnable }
		i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Optional: true, Repairs: repairs(t, path)})
		defer stop()
		after(time.Minute)
		if s := i.Status(); !errors.Is(s.Err, ErrUnable) || s.Incomplete != 0 || s.Missing != 0 {
			t.Errorf("status %+v", s)
		}
		node.set(func() { node.trace = nil })
		after(time.Minute)
		mustHave(t, sink, blocks, 49, true)
	})
}

func TestRepairsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	r := repairs(t, path)
	if r.Completed() || len(r.Gaps()) != 0 {
		t.Error("no file is not an empty list")
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, height := range []uint64{9, 3, 7, 3} {
		if err := r.add(Gap{Height: height, ID: chain.ID{1}, Reason: strings.Repeat("x", 1000), Since: at, Next: at.Add(time.Duration(height) * time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	var heights []uint64
	for _, g := range repairs(t, path).Gaps() {
		heights = append(heights, g.Height)
		if len(g.Reason) != maxReason || !g.Since.Equal(at) || g.ID != (chain.ID{1}) {
			t.Errorf("gap %+v", g)
		}
	}
	if !reflect.DeepEqual(heights, []uint64{3, 7, 9}) {
		t.Errorf("gaps at %v", heights)
	}
	if g, ok := r.due(at.Add(8*time.Second), 9, false); !ok || g.Height != 3 {
		t.Errorf("due: %+v, %v", g, ok)
	}
	if g, ok := r.due(at.Add(8*time.Second), 9, true); !ok || g.Height != 7 {
		t.Errorf("due at the other end: %+v, %v", g, ok)
	}
	if g, ok := r.due(at.Add(10*time.Second), 6, true); !ok || g.Height != 3 {
		t.Errorf("due among the committed: %+v, %v", g, ok)
	}
	if _, ok := r.due(at, 9, false); ok {
		t.Error("due before its time")
	}
	if err := errors.Join(r.filled(3), r.filled(4), r.cut(7)); err != nil {
		t.Fatal(err)
	}
	if g := repairs(t, path).Gaps(); len(g) != 1 || g[0].Height != 7 {
		t.Errorf("gaps %+v", g)
	}
	if err := os.WriteFile(path, []byte(`{"gaps":[{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRepairs(path); err == nil {
		t.Error("a damaged file was read")
	}
	for h := range uint64(maxGaps) {
		r.kept.Gaps = append(r.kept.Gaps, Gap{Height: 100 + h})
	}
	if err := r.add(Gap{Height: 50}); !errors.Is(err, ErrManyGaps) {
		t.Errorf("a list without end: %v", err)
	}
}
