package evm

import (
	"context"
	"errors"
	"sync"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/source"
)

// newest is a head that a node has announced.
type newest struct {
	number uint64
	hash   evm.Hash // zero: not told
	txRoot evm.Hash
}

// maxAhead bounds the blocks whose traces are asked for before the blocks are there.
const maxAhead = 2

// ahead asks for the traces of a block as soon as its head is announced: at the head
// of the chain a node then traces the block while it is fetched and checked, and the
// block is complete one round trip earlier. While the client is catching up nothing
// is asked for ahead.
type ahead struct {
	mu    sync.Mutex
	asked uint64 // the highest block that was fetched
	// traces: the last block to be traced was. Chains that are not traced, and nodes
	// that have lost the debug API, are not asked twice.
	traces bool
	list   []*early // at most maxAhead, the oldest first
}

// early is a block that is traced ahead.
type early struct {
	hash          evm.Hash
	node          source.Node
	cancel        context.CancelFunc
	done          chan struct{} // closed when what follows is there
	calls, states []byte        // what the two tracers said
	err           error
}

// fetching notes that the blocks up to a height are asked for.
func (a *ahead) fetching(to uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = max(a.asked, to)
}

// traced notes whether a block could be traced.
func (a *ahead) traced(ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.traces = ok
}

// begin returns a new entry for a head, or nil if it is not to be traced ahead.
func (a *ahead) begin(h *newest, cancel context.CancelFunc) *early {
	a.mu.Lock()
	defer a.mu.Unlock()
	near := h.number > a.asked && h.number <= a.asked+maxAhead
	if !a.traces || !near || h.hash.IsZero() || h.txRoot == consensus.EmptyRoot {
		return nil
	}
	if len(a.list) == maxAhead { // nobody has asked for it
		a.list[0].cancel()
		a.list = append(a.list[:0], a.list[1:]...)
	}
	e := &early{hash: h.hash, cancel: cancel, done: make(chan struct{})}
	a.list = append(a.list, e)
	return e
}

// take removes the entry of a block and returns it, nil if there is none.
func (a *ahead) take(hash *evm.Hash) *early {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, e := range a.list {
		if e.hash == *hash {
			a.list = append(a.list[:i], a.list[i+1:]...)
			return e
		}
	}
	return nil
}

// traceAhead asks for the traces of a head in goroutines of lanes, if it is to be
// traced ahead. They end with ctx.
func (c *Client) traceAhead(ctx context.Context, lanes *sync.WaitGroup, h *newest) {
	ctx, cancel := context.WithCancel(ctx)
	e := c.ahead.begin(h, cancel)
	if e == nil {
		cancel()
		return
	}
	nodes := c.cfg.Node.Fit(source.Choice{Rank: c.pool.forTrace(h.number)})
	if len(nodes) == 0 {
		e.err = source.ErrNoNode
		close(e.done)
		cancel()
		return
	}
	e.node = nodes[0]
	lanes.Go(func() {
		defer cancel()
		defer close(e.done)
		// In requests of their own: nodes answer a batch one call after the other.
		states := make(chan error, 1)
		lanes.Go(func() { states <- c.rawTrace(ctx, e, diffTracer, &e.states) })
		err := c.rawTrace(ctx, e, callTracer, &e.calls)
		e.err = errors.Join(err, <-states)
	})
}

// rawTrace asks for what a tracer says of a block.
func (c *Client) rawTrace(ctx context.Context, e *early, name string, dst *[]byte) error {
	calls := []source.BatchCall{{
		Method: "debug_traceBlockByHash",
		Params: []any{e.hash.String(), tracer(name, c.cfg.TraceTimeout)},
		Decode: func(text []byte) error { *dst = text; return nil },
	}}
	if err := c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, only(e.node)); err != nil {
		return err
	}
	return calls[0].Err
}

// finish completes a block by what was asked for ahead. On an error it stays as it was.
func (e *early) finish(ctx context.Context, c *Client, b *evm.Block) error {
	select {
	case <-e.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if e.err != nil {
		return e.err
	}
	t := newTrace(c, e.node, b)
	err := t.readCalls(e.calls)
	if err == nil {
		err = t.readStates(e.states)
	}
	if err == nil {
		err = t.settle(ctx)
	}
	if err != nil {
		t.undo()
		return err
	}
	t.done()
	c.pool.tracedBlock(e.node, b.Number)
	c.early.Inc()
	return nil
}
