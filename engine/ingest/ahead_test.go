package ingest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain/evm"
)

// aheadSink is a fakeSink that works with what was committed until it is asked to land.
type aheadSink struct {
	fakeSink
	flying bool
	lands  int
	after  []int // heights after which it was asked to land
	late   error // why the work fails
}

func (s *aheadSink) CommitAhead(ctx context.Context, blocks []*evm.Block) error {
	if err := s.fakeSink.Commit(ctx, blocks); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying = true
	return nil
}

func (s *aheadSink) Commit(ctx context.Context, blocks []*evm.Block) error {
	s.mu.Lock()
	s.flying = false
	s.mu.Unlock()
	return s.fakeSink.Commit(ctx, blocks)
}

func (s *aheadSink) Land() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying = false
	s.lands++
	s.after = append(s.after, len(s.blocks)-1)
	return s.late
}

// TestAhead: a sink is ahead only while further blocks are known, which it gets in groups
// of some size, and not for long while none comes.
func TestAhead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			blocks, sink := chainOf(900), &aheadSink{}
			node, rnd := newNode(blocks, 699), rand.New(rand.NewPCG(seed, 5))
			node.fetch = func(from, _ uint64) ([]*evm.Block, error) {
				if rnd.IntN(10) == 0 {
					return nil, errors.New("later")
				}
				return nil, nil
			}
			_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Group: 200, Span: 8, TipEvery: time.Hour})
			after(time.Minute)
			mustHave(t, &sink.fakeSink, blocks, 699, false)
			if sink.flying {
				t.Error("it is ahead at the head")
			}
			// But for those where it waited in vain, and at the end.
			few := 0
			for _, n := range sink.groups {
				if n < 50 {
					few++
				}
			}
			if few > sink.lands+2 || slices.Max(sink.groups) > 200 {
				t.Errorf("groups of %v, and %d times nothing came", sink.groups, sink.lands)
			}
			node.set(func() { node.fetch = nil })
			for range 20 {
				node.accept()
				after(0) // no time passes
				if sink.flying {
					t.Fatal("it is ahead at the head")
				}
			}
			mustHave(t, &sink.fakeSink, blocks, 719, false)
			stop()
		})
	}
}

// TestAheadOfNothing: when the blocks that are known of do not come, and when the ingest
// ends, the sink lands; why it could not is told.
func TestAheadOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(300), &aheadSink{late: errors.New("no room")}
		node := newNode(blocks, 199)
		node.fetch = func(from, to uint64) ([]*evm.Block, error) {
			if to >= 120 {
				return nil, errors.New("not now")
			}
			return nil, nil
		}
		i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Group: 40, Span: 20, TipEvery: time.Hour})
		after(time.Second)
		mustHave(t, &sink.fakeSink, blocks, 119, false)
		if sink.flying || !slices.Equal(sink.after, []int{119}) {
			t.Errorf("ahead: %v, landed after %v", sink.flying, sink.after)
		}
		if err := i.Status().Err; err == nil {
			t.Error("nothing is wrong")
		}
		node.set(func() { node.fetch, sink.late = nil, nil })
		after(time.Minute)
		mustHave(t, &sink.fakeSink, blocks, 199, false)
		if err := i.Status().Err; err != nil {
			t.Error(err)
		}
		stop()
	})
	synctest.Test(t, func(t *testing.T) {
		sink := &aheadSink{}
		node := newNode(chainOf(300), 299)
		node.fetch = func(_, to uint64) ([]*evm.Block, error) {
			if to >= 100 {
				return nil, errors.New("not now")
			}
			return nil, nil
		}
		cfg := Config[*evm.Block]{Source: node, Sink: sink, Group: 4, Span: 4, TipEvery: time.Hour}
		var stopped func()
		cfg.OnBlock = func(b *evm.Block) {
			if b.Number == 80 {
				stopped()
			}
		}
		i, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped = cancel
		if err := i.Run(ctx); err != nil {
			t.Error(err)
		}
		if sink.flying || sink.lands == 0 {
			t.Error("it ended without landing")
		}
	})
}
