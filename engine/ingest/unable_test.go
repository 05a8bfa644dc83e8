package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

func unableNow(*evm.Block) error { return ErrUnable }

// lacking returns the heights of blocks that need a trace and have none.
func lacking(s *fakeSink, n *fakeNode) (heights []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.blocks {
		if n.Needs(b) && !b.Traced {
			heights = append(heights, b.Number)
		}
	}
	return heights
}

func heightsOf(gaps []Gap) (heights []uint64) {
	for _, g := range gaps {
		heights = append(heights, g.Height)
	}
	return heights
}

// When no node has completed anything for a while the head goes on without: what it
// lacks is in the list, over an end and a new start too, and is made up for when a node
// can complete blocks again. The time counts from the last block that was completed.
func TestUnableAtHead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(120), &fakeSink{}
		node, late := newNode(blocks, 40), &repairedOnes{}
		cfg := Config[*evm.Block]{
			Source: node, Sink: sink, Completer: node, Optional: true, Repairs: repairs(t, path), OnRepaired: late.take,
			UnableAfter: time.Minute,
		}
		i, stop := run(t, cfg)
		grow := func(n int) {
			for range n {
				node.accept()
			}
		}
		after(time.Second)
		node.set(func() { node.trace = unableNow })
		grow(10)
		after(50 * time.Second)
		if s := i.Status(); !errors.Is(s.Err, ErrUnable) || s.Height > 45 || s.Missing != 0 {
			t.Errorf("before the time: %+v", s)
		}
		node.set(func() { node.trace = nil })
		after(5 * time.Second)
		node.set(func() { node.trace = unableNow })
		grow(10)
		after(50 * time.Second)
		if s := i.Status(); !errors.Is(s.Err, ErrUnable) || s.Height < 50 || s.Height > 55 || s.Missing != 0 {
			t.Errorf("before the time after a block was completed: %+v", s)
		}
		after(15 * time.Second)
		grow(10)
		after(time.Second)
		s := i.Status()
		if want := lacking(sink, node); s.Err != nil || s.Height != 70 || len(want) < 10 || !reflect.DeepEqual(heightsOf(s.Gaps), want) ||
			s.Missing != len(want) || s.Unable != len(want) || !s.Gaps[0].Unable || s.Gaps[0].ID != chain.ID(blocks[want[0]].Hash) {
			t.Errorf("%+v, want gaps at %v", s, want)
		}
		stop()

		cfg.Repairs = repairs(t, path)
		i, stop = run(t, cfg)
		defer stop()
		after(time.Hour)
		grow(10)
		after(2 * time.Minute)
		if s, want := i.Status(), lacking(sink, node); s.Height != 80 || s.Unable != len(want) || !reflect.DeepEqual(heightsOf(s.Gaps), want) {
			t.Errorf("after a new start: %+v, want gaps at %v", s, want)
		}
		node.set(func() { node.trace = nil })
		grow(10)
		after(time.Minute)
		if s := i.Status(); s.Err != nil || s.Height != 90 || s.Missing != 0 || s.Unable != 0 {
			t.Errorf("in the end: %+v", s)
		}
		late.set(nil)
		want, got := lacking(sink, node), heightsOfBlocks(late.list)
		slices.Sort(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("completed %v, want %v", got, want)
		}
		if left := repairs(t, path).Gaps(); len(left) > 0 {
			t.Errorf("the list still has %v", heightsOf(left))
		}
	})
}

func heightsOfBlocks(list []*evm.Block) (heights []uint64) {
	for _, b := range list {
		heights = append(heights, b.Number)
	}
	return heights
}

// However far the chain grows meanwhile, one that was at its head goes on; one that is
// far from it waits.
func TestUnableFarFromHead(t *testing.T) {
	t.Parallel()
	const near = 30
	for name, far := range map[string]bool{"grows": false, "far": true} {
		path := filepath.Join(t.TempDir(), "repairs.json")
		synctest.Test(t, func(t *testing.T) {
			blocks, sink := chainOf(near+60), &fakeSink{}
			tip := uint64(len(blocks) - 1)
			node, late := newNode(blocks, 40), &repairedOnes{}
			if far {
				node.tip = tip
				node.trace = func(b *evm.Block) error {
					if b.Number > 40 {
						return ErrUnable
					}
					return nil
				}
			}
			i, stop := run(t, Config[*evm.Block]{
				Source: node, Sink: sink, Completer: node, Repairs: repairs(t, path), OnRepaired: late.take, UnableAfter: time.Minute, near: near,
			})
			defer stop()
			after(time.Second)
			if !far {
				node.set(func() { node.trace = unableNow })
				node.accept()
				node.accept()
				after(time.Second)
				node.set(func() { node.tip = tip })
			}
			after(10 * time.Minute)
			if s := i.Status(); far && (!errors.Is(s.Err, ErrUnable) || s.Height > 45 || s.Missing != 0) || !far && (s.Err != nil || s.Height != tip || s.Unable < near/2) {
				t.Errorf("%s: height %d, %d of %d gaps, %v", name, s.Height, s.Unable, s.Missing, s.Err)
			}
			node.set(func() { node.trace = nil })
			after(time.Minute)
			if s := i.Status(); s.Err != nil || s.Height != tip || s.Missing != 0 || late.set(nil) != len(lacking(sink, node)) {
				t.Errorf("%s: in the end height %d, %d gaps, %v", name, s.Height, s.Missing, s.Err)
			}
		})
	}
}

// The one node that can complete blocks is down, or hangs, while others have them: the
// chain waits for it no longer than for one that cannot, and then no block waits at all.
func TestCompleterDown(t *testing.T) {
	t.Parallel()
	for name, trace := range map[string]func(*evm.Block) error{
		"down":  func(*evm.Block) error { return errors.New("connection refused") },
		"hangs": func(*evm.Block) error { <-time.After(15 * time.Second); return ErrTimeout },
		"lies":  func(*evm.Block) error { return ErrRefused },
	} {
		path := filepath.Join(t.TempDir(), "repairs.json")
		synctest.Test(t, func(t *testing.T) {
			blocks, sink := chainOf(120), &fakeSink{}
			node, late := newNode(blocks, 40), &repairedOnes{}
			i, stop := run(t, Config[*evm.Block]{
				Source: node, Sink: sink, Completer: completer{node, trace}, Repairs: repairs(t, path), OnRepaired: late.take, UnableAfter: time.Minute,
			})
			defer stop()
			after(time.Second)
			if s := i.Status(); s.Missing != 0 || s.Height > 5 {
				t.Errorf("%s: before the time: %+v", name, s)
			}
			after(2 * time.Minute)
			for range 50 {
				node.accept()
				after(time.Second)
				if s := i.Status(); s.Err != nil || s.Behind() > 0 {
					t.Fatalf("%s: %d blocks behind, %v", name, s.Behind(), s.Err)
				}
			}
			after(time.Hour)
			want := lacking(sink, node)
			if s := i.Status(); s.Unable != len(want) || !reflect.DeepEqual(heightsOf(s.Gaps), want) || s.Gaps[0].Tries != 1 {
				t.Errorf("%s: %+v, want gaps at %v", name, s, want)
			}
		})
	}
}

// completer completes blocks as trace says, which may take its time.
type completer struct {
	*fakeNode
	trace func(*evm.Block) error
}

func (c completer) Complete(ctx context.Context, b *evm.Block) error {
	if err := c.trace(b); err != nil {
		return err
	}
	return c.fakeNode.Complete(ctx, b)
}

// A node that can complete only the highest or only the lowest blocks completes those.
func TestUnableInPart(t *testing.T) {
	t.Parallel()
	for name, can := range map[string]func(uint64) bool{
		"pruned": func(n uint64) bool { return n > 35 }, "stands still": func(n uint64) bool { return n < 35 },
	} {
		path := filepath.Join(t.TempDir(), "repairs.json")
		synctest.Test(t, func(t *testing.T) {
			blocks, sink := chainOf(50), &fakeSink{}
			sink.blocks = append(sink.blocks, blocks...)
			list, want := repairs(t, path), []uint64(nil)
			for n := range uint64(30) {
				b := blocks[20+n]
				if err := list.add(Gap{Height: b.Number, ID: chain.ID(b.Hash), Since: time.Now(), Next: time.Now(), Unable: true}); err != nil {
					t.Fatal(err)
				}
				if !can(b.Number) {
					want = append(want, b.Number)
				}
			}
			node, late := newNode(blocks, 49), &repairedOnes{}
			node.trace = func(b *evm.Block) error {
				if can(b.Number) {
					return nil
				}
				return ErrUnable
			}
			i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Repairs: list, OnRepaired: late.take})
			defer stop()
			after(5 * time.Minute)
			if got := heightsOf(i.Status().Gaps); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: gaps at %v, want %v", name, got, want)
			}
		})
	}
}

// Whatever was done to a list, and wherever its file was cut off, it is read as it was
// after the last change that is whole. A change costs the same in a long list.
func TestRepairsChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repairs.json")
	r := repairs(t, path)
	at := time.Unix(1_700_000_000, 0).UTC()
	gap := func(h uint64) Gap {
		return Gap{Height: h, ID: chain.ID{byte(h)}, Reason: "no node", Since: at, Next: at, Unable: h%2 == 0}
	}
	same := func(what string, got, want *Repairs) {
		t.Helper()
		if !reflect.DeepEqual(got.kept, want.kept) && (len(got.kept.Gaps)+len(want.kept.Gaps) > 0 || got.kept.Completed != want.kept.Completed) {
			t.Errorf("%s: %v, want %v", what, heightsOf(got.Gaps()), heightsOf(want.Gaps()))
		}
		if got.unable != want.unable {
			t.Errorf("%s: %d are unable, want %d", what, got.unable, want.unable)
		}
	}
	var sizes []int64
	for h := range uint64(300) {
		err := r.add(gap(h))
		if h%3 == 0 {
			err = errors.Join(err, r.filled(h))
		}
		if h%100 == 99 {
			err = errors.Join(err, r.cut(h-5), r.add(gap(h-6)))
		}
		info, statErr := os.Stat(path)
		if err = errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	same("read again", repairs(t, path), r)
	grew := 0
	for k := range sizes[1:] {
		if d := sizes[k+1] - sizes[k]; d > 0 && d < 2000 {
			grew++
		}
	}
	if grew < 290 {
		t.Errorf("the file was added to only %d times", grew)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.add(gap(700)); err != nil {
		t.Fatal(err)
	}
	longer, err := os.ReadFile(path)
	if err != nil || len(longer) <= len(text) {
		t.Fatal(err, len(longer))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	before := repairs(t, path)
	for cut := len(text); cut < len(longer); cut += 41 {
		if err := os.WriteFile(path, longer[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		got := repairs(t, path)
		same("cut off", got, before)
		if err := got.add(gap(701)); err != nil { // goes on behind what is whole
			t.Fatal(err)
		}
		same("written after it was cut off", repairs(t, path), got)
	}
	if err := os.WriteFile(path, append(slices.Clone(text), "{\"gap\":[\n{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRepairs(path); err == nil {
		t.Error("a damaged file was read")
	}
}

// A change that cannot be written is not made, and does not harm those after it.
func TestRepairsFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "there")
	path := filepath.Join(dir, "repairs.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := repairs(t, path)
	if err := errors.Join(r.add(Gap{Height: 3}), r.add(Gap{Height: 5})); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+" no more"); err != nil {
		t.Fatal(err)
	}
	if r.add(Gap{Height: 7}) == nil || r.filled(3) == nil || r.cut(4) == nil {
		t.Error("no error")
	}
	if got := heightsOf(r.Gaps()); !reflect.DeepEqual(got, []uint64{3, 5}) {
		t.Errorf("gaps at %v", got)
	}
	if err := os.Rename(dir+" no more", dir); err != nil {
		t.Fatal(err)
	}
	if err := r.add(Gap{Height: 9}); err != nil {
		t.Fatal(err)
	}
	if got := heightsOf(repairs(t, path).Gaps()); !reflect.DeepEqual(got, []uint64{3, 5, 9}) {
		t.Errorf("in the file: gaps at %v", got)
	}
}
