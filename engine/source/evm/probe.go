package evm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/ingest"
	"quorate/engine/source"
)

// probeEvery is how often each node is asked what it can do.
const probeEvery = 30 * time.Second

// Features is what nodes offer beyond blocks and receipts.
type Features struct {
	// Trace: a node has the debug API, so [Client.Trace] works for blocks whose state
	// it has.
	Trace bool
}

// only is the choice of one node.
func only(n source.Node) source.Choice {
	return source.Choice{Rank: func(other source.Node) int {
		if other == n {
			return 0
		}
		return -1
	}}
}

// Features asks every node what it offers, and returns what one of them at least
// does. An error means that no node has answered.
func (c *Client) Features(ctx context.Context) (f Features, err error) {
	nodes := c.cfg.Node.Nodes()
	c.pool.keep(nodes)
	err = source.ErrNoNode
	probe := func(ctx context.Context, n source.Node) (bool, error) { return c.probe(ctx, n) }
	gather(ctx, nodes, probe, func(_ source.Node, traces bool, probeErr error) time.Duration {
		f.Trace = f.Trace || traces
		switch {
		case probeErr == nil:
			err = nil
		case err != nil:
			err = probeErr
		}
		switch {
		case f.Trace:
			return patience
		case err == nil:
			return longPatience
		}
		return forever
	})
	return f, err
}

const (
	// patience is how long other nodes are waited for once one has answered, and
	// longPatience when much depends on what they say.
	patience     = 300 * time.Millisecond
	longPatience = 3 * time.Second
	// forever is until all have answered or the time for a call is over.
	forever = -1
)

// gather asks the nodes at the same time and passes on each answer as it comes; take
// returns how long the others are waited for from then on.
func gather[T any](ctx context.Context, nodes []source.Node, ask func(context.Context, source.Node) (T, error),
	take func(source.Node, T, error) (wait time.Duration),
) {
	type answer struct {
		node  source.Node
		value T
		err   error
	}
	ctx, stop := context.WithCancel(ctx)
	answers := make(chan answer, len(nodes))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	for _, n := range nodes {
		asking.Go(func() {
			value, err := ask(ctx, n)
			answers <- answer{n, value, err}
		})
	}
	var enough <-chan time.Time
	for range nodes {
		select {
		case a := <-answers:
			if wait := take(a.node, a.value, a.err); wait != forever {
				enough = time.After(wait)
			}
		case <-enough:
			return
		}
	}
}

// probe asks a node whether it has the debug API.
func (c *Client) probe(ctx context.Context, n source.Node) (traces bool, err error) {
	err = c.probeCall(ctx, n)
	switch k := classify(err); {
	case err == nil, k == missing, k == noState:
		c.pool.traced(n)
		return true, nil
	case k == later, k == smaller, !errors.As(err, new(*source.RPCError)):
		return false, outward(err)
	}
	c.pool.untraced(n, 0, noMethod)
	return false, nil
}

// probeCall asks a node for the trace of a block that there is not: one with the
// debug API says so.
func (c *Client) probeCall(ctx context.Context, n source.Node) error {
	calls := []source.BatchCall{{Method: "debug_traceBlockByHash", Params: []any{evm.Hash{}.String(), tracer(callTracer, c.cfg.TraceTimeout)}}}
	if err := c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, only(n)); err != nil {
		return err
	}
	return calls[0].Err
}

// keepProbing asks the nodes from time to time what they can do, until ctx ends.
func (c *Client) keepProbing(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := c.Features(ctx); err != nil && ctx.Err() == nil {
			c.cfg.Logger.Debug("a node does not say what it can do", "path", c.cfg.Name, "err", err)
		}
	}
}

// traceMetric reports of each node whether it has the debug API.
func (c *Client) traceMetric(emit func(value float64, labels ...string)) {
	for _, n := range c.cfg.Node.Nodes() {
		has := 0.0
		c.pool.of(n, func(a *ability) {
			if a.traces == yes {
				has = 1
			}
		})
		emit(has, n.Endpoint().String())
	}
}

// header asks a node for the header of a block; nil: it has none.
func (c *Client) header(ctx context.Context, n source.Node, at string) (*evm.Block, error) {
	blocks, errs, err := c.headers(ctx, n, at)
	if err == nil {
		err = errs[0]
	}
	if err != nil && classify(err) == missing {
		return nil, nil
	}
	return blocks[0], err
}

// headers asks a node for the headers of blocks; nil: it has none. err is about all of
// them, errs about each.
func (c *Client) headers(ctx context.Context, n source.Node, at ...string) (blocks []*evm.Block, errs []error, err error) {
	blocks, errs = make([]*evm.Block, len(at)), make([]error, len(at))
	calls := make([]source.BatchCall, len(at))
	for i := range at {
		calls[i] = source.BatchCall{Method: "eth_getBlockByNumber", Params: []any{at[i], false}, Decode: func(result []byte) (err error) {
			if blocks[i] = nil; string(result) != "null" {
				blocks[i], _, err = decodeHeader(result)
			}
			return err
		}}
	}
	err = c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, only(n))
	for i := range calls {
		errs[i] = calls[i].Err
	}
	return blocks, errs, err
}

// tipOf asks a node for its last accepted block: the last finalized one if it knows that.
// Where blocks are executed after they were accepted it is the last executed one, since
// there the last finalized one is the last that is settled.
func (c *Client) tipOf(ctx context.Context, n source.Node) (chain.Head, error) {
	ask := yes
	c.pool.of(n, func(a *ability) {
		if ask = a.finalized; a.settles {
			ask = no
		}
	})
	tags := []string{"latest", "finalized"}
	if ask == no {
		tags = append(tags[:1], c.beyond()...)
	}
	blocks, errs, err := c.headers(ctx, n, tags...)
	if err != nil {
		return chain.Head{}, err
	}
	latest, err := blocks[0], errs[0]
	if latest != nil && latest.Reserved != nil {
		c.pool.settles(n)
		for _, b := range blocks[1:] {
			if b != nil && b.Number > c.accepted.Load() {
				c.accepted.Store(b.Number)
			}
		}
		c.executed.Store(max(c.executed.Load(), latest.Number))
		return latest.Link().Head, nil
	}
	if ask != no {
		final, finalErr := blocks[1], errs[1]
		switch {
		case finalErr == nil && final != nil:
			c.pool.finalizes(n, final.Number, true)
			return final.Link().Head, nil
		case finalErr == nil || errors.As(finalErr, new(*source.RPCError)) && classify(finalErr) != later:
			if ask == unknown {
				c.pool.finalizes(n, 0, false)
			}
		default:
			return chain.Head{}, finalErr
		}
	}
	switch {
	case err != nil:
		return chain.Head{}, err
	case latest == nil:
		return chain.Head{}, bad("no last block")
	}
	return latest.Link().Head, nil
}

// beyond names blocks above the last one that is known to be executed, further and further
// apart: nodes answer for those that are accepted. There are none before a node executes
// blocks after it accepted them.
func (c *Client) beyond() (list []string) {
	last := c.executed.Load()
	for step := uint64(1); last > 0 && step <= maxBeyond; step *= 2 {
		list = append(list, number(last+step))
	}
	return list
}

// maxBeyond is how far above the last executed block it is looked for accepted ones: a
// node executes what it accepted within 30 s.
const maxBeyond = 256

// Executing returns about how many blocks are accepted and not executed yet, as far as
// nodes were asked.
func (c *Client) Executing() uint64 {
	accepted := c.accepted.Load()
	return accepted - min(accepted, c.executed.Load())
}

// Tip returns the last accepted block: the highest of those of the nodes that answer.
func (c *Client) Tip(ctx context.Context) (head chain.Head, err error) {
	rank := c.pool.forBlocks(0)
	nodes := slices.DeleteFunc(c.cfg.Node.Nodes(), func(n source.Node) bool { return rank(n) < 0 })
	err = source.ErrNoNode
	gather(ctx, nodes, c.tipOf, func(_ source.Node, told chain.Head, tipErr error) time.Duration {
		switch {
		case tipErr == nil && (err != nil || told.Height > head.Height):
			head, err = told, nil
		case err != nil:
			err = tipErr
		}
		if err != nil {
			return forever
		}
		return patience
	})
	return head, outward(err)
}

// Witness implements [ingest.Witness]. A node that has another block, while as many
// have this one, is not asked for a while.
func (c *Client) Witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error) {
	var errs []error
	var others []source.Node
	ask := func(ctx context.Context, n source.Node) (*evm.Block, error) { return c.header(ctx, n, number(height)) }
	gather(ctx, c.cfg.Node.Nodes(), ask, func(n source.Node, b *evm.Block, err error) time.Duration {
		switch {
		case err != nil:
			errs = append(errs, err)
		case b == nil || b.Number != height:
			errs = append(errs, &blockError{height, ErrNotFound})
		case chain.ID(b.Hash) == id:
			with++
		default:
			against++
			others = append(others, n)
		}
		if with > 0 && with >= against {
			return patience
		}
		return forever
	})
	if with+against == 0 {
		return 0, 0, outward(errors.Join(errs...))
	}
	if with >= against {
		for _, n := range others {
			c.pool.disagrees(n)
		}
	}
	return with, against, nil
}

// Blame implements [ingest.Blamer].
func (c *Client) Blame(height uint64) { c.pool.blame(height) }

var (
	_ ingest.Source[*evm.Block]    = (*Client)(nil)
	_ ingest.Completer[*evm.Block] = (*Client)(nil)
	_ ingest.Witness               = (*Client)(nil)
	_ ingest.Blamer                = (*Client)(nil)
)
