package ingest

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// rewindSink is a sink that can go back.
type rewindSink struct {
	fakeSink
	rewound []uint64
}

func (s *rewindSink) ID(_ context.Context, height uint64) (chain.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return chain.ID(s.blocks[height].Hash), nil
}

func (s *rewindSink) Rewind(_ context.Context, to uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = s.blocks[:to+1]
	s.rewound = append(s.rewound, to)
	return nil
}

// forkOf returns a chain that has other blocks from a height on.
func forkOf(blocks []*evm.Block, from int, salt byte) []*evm.Block {
	fork := slices.Clone(blocks)
	for n := from; n < len(fork); n++ {
		b := *fork[n]
		b.Hash[7] ^= salt
		b.Parent = fork[n-1].Hash
		fork[n] = &b
	}
	return fork
}

// votes makes several nodes of a fakeNode: which chains they have.
type votes struct {
	*fakeNode
	chains [][]*evm.Block // nil: that node does not answer
}

func (v *votes) Witness(_ context.Context, height uint64, id chain.ID) (with, against int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, blocks := range v.chains {
		switch {
		case blocks == nil:
		case chain.ID(blocks[height].Hash) == id:
			with++
		default:
			against++
		}
	}
	if with+against == 0 {
		err = errUnreachable
	}
	return with, against, err
}

// Blocks that were never accepted are given up when the nodes have others: all that
// answer, or most; not when another agrees with us, when too many would go, or when
// the sink cannot.
func TestRewind(t *testing.T) {
	t.Parallel()
	blocks := chainOf(200)
	wrong := forkOf(blocks, 51, 1) // what is committed
	far := forkOf(blocks, 10, 2)
	for name, c := range map[string]struct {
		chains  [][]*evm.Block // of the nodes; the first gives the blocks
		to      uint64         // 0: none
		max     uint64
		growing bool // a block comes after the start
	}{
		"one node":               {chains: [][]*evm.Block{blocks}, to: 50},
		"while it grows":         {chains: [][]*evm.Block{blocks}, to: 50, growing: true},
		"all that answer":        {chains: [][]*evm.Block{blocks, nil}, to: 50},
		"most":                   {chains: [][]*evm.Block{blocks, blocks, wrong}, to: 50},
		"one lies, one agrees":   {chains: [][]*evm.Block{wrong, blocks}},
		"too many would be lost": {chains: [][]*evm.Block{blocks}, max: 20},
		"far":                    {chains: [][]*evm.Block{far}, to: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sink := &rewindSink{}
				sink.blocks = slices.Clone(wrong[:81])
				node := &votes{newNode(c.chains[0], 150), c.chains}
				if c.growing { // it is found out by the next block
					node.chains = [][]*evm.Block{wrong}
					node.blocks, node.tip = wrong, 80
				}
				i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, MaxRewind: c.max})
				defer stop()
				after(time.Second)
				if c.growing {
					node.set(func() { node.chains, node.blocks, node.tip = c.chains, c.chains[0], 149 })
					node.accept()
				}
				after(5 * time.Minute)
				sink.mu.Lock()
				rewound := slices.Clone(sink.rewound)
				sink.mu.Unlock()
				if name == "one lies, one agrees" {
					mustHave(t, &sink.fakeSink, wrong, 150, false)
					return
				}
				if c.to == 0 {
					s := i.Status()
					if !errors.Is(s.Err, ErrOtherChain) || len(rewound) != 0 || s.Height != 80 {
						t.Errorf("went back to %v, status %+v", rewound, s)
					}
					if hash := hex.EncodeToString(wrong[80].Hash[:]); s.Err != nil && !strings.Contains(s.Err.Error(), hash) {
						t.Errorf("%q does not name the block, %s", s.Err, hash)
					}
					return
				}
				if !slices.Equal(rewound, []uint64{c.to}) {
					t.Errorf("went back to %v, want %d: %v", rewound, c.to, i.Status().Err)
				}
				mustHave(t, &sink.fakeSink, c.chains[0], 150, false)
				if s := i.Status(); s.Err != nil || s.Height != 150 {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// Gaps above the block to which the sink goes back are forgotten.
func TestRewindCutsGaps(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/repairs.json"
	synctest.Test(t, func(t *testing.T) {
		blocks := chainOf(100)
		list := repairs(t, path)
		for _, h := range []uint64{40, 60} {
			if err := list.add(Gap{Height: h, Next: time.Now().Add(24 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		sink := &rewindSink{}
		sink.blocks = slices.Clone(forkOf(blocks, 51, 1)[:81])
		node := newNode(blocks, 90)
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Repairs: list})
		defer stop()
		after(5 * time.Minute)
		if g := list.Gaps(); len(g) != 1 || g[0].Height != 40 {
			t.Errorf("gaps %+v", g)
		}
	})
}

// One block that is bad at first is asked for again by itself, and nothing that was
// fetched and completed beside it is asked for twice.
func TestBadBlockAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(400), &fakeSink{}
		node := newNode(blocks, 399)
		fetched, completed := make(map[uint64]int), make(map[uint64]int)
		node.fetch = func(from, to uint64) ([]*evm.Block, error) {
			bad := from <= 60 && to >= 60 && fetched[60] < 5
			for n := from; n <= to; n++ {
				fetched[n]++
				if bad && n == 60 {
					var list []*evm.Block
					for m := from; m < 60; m++ {
						list = append(list, node.copied(m))
					}
					return list, ErrRefused
				}
			}
			return nil, nil
		}
		node.trace = func(b *evm.Block) error { completed[b.Number]++; return nil }
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Span: 32})
		after(time.Minute)
		stop()
		mustHave(t, sink, blocks, 399, true)
		for n := range uint64(400) {
			if n != 60 && fetched[n] > 1 || completed[n] > 1 {
				t.Fatalf("block %d was fetched %d times and completed %d times", n, fetched[n], completed[n])
			}
		}
		if fetched[60] != 6 {
			t.Errorf("the bad block was asked for %d times", fetched[60])
		}
	})
}

// partSink commits half of a group and fails, once.
type partSink struct {
	fakeSink
	failed bool
}

func (s *partSink) Commit(ctx context.Context, blocks []*evm.Block) error {
	if s.failed || len(blocks) < 2 {
		return s.fakeSink.Commit(ctx, blocks)
	}
	s.failed = true
	if err := s.fakeSink.Commit(ctx, blocks[:len(blocks)/2]); err != nil {
		return err
	}
	return errors.New("disk full")
}

// After a commit that failed half-way each block is still told of once, in order.
func TestPartialCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &partSink{}
		var told []uint64
		_, stop := run(t, Config[*evm.Block]{Source: newNode(blocks, 99), Sink: sink, OnBlock: func(b *evm.Block) { told = append(told, b.Number) }})
		after(time.Minute)
		stop()
		mustHave(t, &sink.fakeSink, blocks, 99, false)
		if len(told) != 100 || !slices.IsSorted(told) || !sink.failed {
			t.Errorf("told of %v", told)
		}
	})
}
