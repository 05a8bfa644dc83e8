package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// errForeign: the block to trace is none of the node's.
var errForeign = errors.New("trace of another block")

// fakeNode is a source whose faults a test chooses.
type fakeNode struct {
	mu     sync.Mutex
	blocks []*evm.Block
	tip    uint64
	claim  uint64                                      // the tip that it reports, if above zero
	heads  chan uint64                                 // to Watch
	quiet  bool                                        // Watch does not tell
	fetch  func(from, to uint64) ([]*evm.Block, error) // replaces the answer if it gives any
	trace  func(b *evm.Block) error
	tipErr error
	hang   bool // no answers until the caller gives up
	calls  int
}

func newNode(blocks []*evm.Block, tip uint64) *fakeNode {
	return &fakeNode{blocks: blocks, tip: tip, heads: make(chan uint64, 1024)}
}

func chainOf(n int) []*evm.Block { return indextest.New(indextest.Config{Seed: 1, Txs: 3}).Blocks(n) }

// set changes the node under its lock.
func (f *fakeNode) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// accept adds a block to what the node has.
func (f *fakeNode) accept() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tip++
	if !f.quiet {
		f.heads <- f.tip
	}
}

func (f *fakeNode) wait(ctx context.Context) error {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if !hang {
		return ctx.Err()
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeNode) Tip(ctx context.Context) (chain.Head, error) {
	if err := f.wait(ctx); err != nil {
		return chain.Head{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tipErr != nil {
		return chain.Head{}, f.tipErr
	}
	b := f.blocks[min(f.tip, uint64(len(f.blocks)-1))]
	return chain.Head{Height: max(f.tip, f.claim), ID: chain.ID(b.Hash), TimeMilli: b.TimeMilli}, nil
}

func (f *fakeNode) Fetch(ctx context.Context, from, to uint64) ([]*evm.Block, error) {
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fetch != nil {
		if blocks, err := f.fetch(from, to); blocks != nil || err != nil {
			return blocks, err
		}
	}
	var list []*evm.Block
	for n := from; n <= to; n++ {
		if n > f.tip || n >= uint64(len(f.blocks)) {
			return list, fmt.Errorf("block %d: %w", n, ErrNotFound)
		}
		list = append(list, f.copied(n))
	}
	return list, nil
}

// copied needs mu. It gives a block of our own, without what a trace tells.
func (f *fakeNode) copied(n uint64) *evm.Block {
	b := *f.blocks[n]
	b.Traced, b.Balances = false, nil
	b.Txs = append([]evm.Tx(nil), b.Txs...)
	for i := range b.Txs {
		b.Txs[i].Calls, b.Txs[i].Failure = nil, nil
	}
	return &b
}

func (f *fakeNode) Needs(b *evm.Block) bool { return b.Number > 0 && len(b.Txs)+len(b.Atomic) > 0 }

func (f *fakeNode) Complete(ctx context.Context, b *evm.Block) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trace != nil {
		if err := f.trace(b); err != nil {
			return err
		}
	}
	have := f.blocks[b.Number]
	if b.Hash != have.Hash {
		return errForeign
	}
	b.Traced, b.Balances = true, have.Balances
	for i := range b.Txs {
		b.Txs[i].Calls = have.Txs[i].Calls
	}
	return nil
}

func (f *fakeNode) Watch(ctx context.Context, onHead func(uint64)) error {
	for {
		select {
		case n := <-f.heads:
			onHead(n)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fakeSink keeps blocks, and refuses those that do not follow.
type fakeSink struct {
	mu     sync.Mutex
	blocks []*evm.Block
	groups []int
	fail   error
	block  chan struct{} // commits wait for it
}

func (s *fakeSink) Cursor() (chain.Head, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.blocks) == 0 {
		return chain.Head{}, false
	}
	return s.blocks[len(s.blocks)-1].Link().Head, true
}

func (s *fakeSink) Commit(ctx context.Context, blocks []*evm.Block) error {
	s.mu.Lock()
	gate := s.block
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, b := range blocks {
		if b.Number != uint64(len(s.blocks)) || b.Number > 0 && b.Parent != s.blocks[b.Number-1].Hash {
			return fmt.Errorf("bad row: block %d on %d", b.Number, len(s.blocks))
		}
		s.blocks = append(s.blocks, b)
	}
	s.groups = append(s.groups, len(blocks))
	return nil
}

func (s *fakeSink) height() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blocks) - 1
}
