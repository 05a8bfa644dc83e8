package evm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/ingest"
	"quorate/engine/source"
)

const (
	callTracer = "callTracer"
	diffTracer = "prestateTracer"

	// traceTxs bounds the transactions traced one by one in one request, of which
	// each makes the node run those before it too.
	traceTxs = 8
	// balanceCalls bounds the balances asked for in one request.
	balanceCalls = 500
)

// traceConfig is the configuration that the debug API takes.
type traceConfig struct {
	Tracer  string    `json:"tracer"`
	Timeout string    `json:"timeout"`
	Config  *diffMode `json:"tracerConfig,omitempty"`
}

type diffMode struct {
	DiffMode bool `json:"diffMode"`
}

func tracer(name string, timeout time.Duration) traceConfig {
	t := traceConfig{Tracer: name, Timeout: timeout.String()}
	if name == diffTracer {
		t.Config = &diffMode{DiffMode: true}
	}
	return t
}

// Needs implements [ingest.Completer]: blocks without transactions have no traces,
// and of the genesis block no node has one.
func (c *Client) Needs(b *evm.Block) bool { return b.Number > 0 && len(b.Txs)+len(b.Atomic) > 0 }

// Complete implements [ingest.Completer] by Trace.
func (c *Client) Complete(ctx context.Context, b *evm.Block) error { return c.Trace(ctx, b) }

// Trace completes a block that [Client.Fetch] gave: the calls of its transactions
// and the balances that it changed, imports and exports included. Each node that can
// is asked until one does. On an error the block stays as it was; it wraps
// [ErrNoTrace] and [ingest.ErrIncomplete] when all give up on this block, and
// [ErrNoTrace] and [ingest.ErrUnable] when none has the debug API or the state. Of
// the genesis block, which no node traces, the balances stay unknown.
func (c *Client) Trace(ctx context.Context, b *evm.Block) error {
	if !c.Needs(b) {
		b.Traced = true
		if b.Number != 0 {
			b.Balances = []evm.Balance{}
		}
		return nil
	}
	if e := c.ahead.take(&b.Hash); e != nil {
		if err := e.finish(ctx, c, b); err == nil || ctx.Err() != nil {
			return err
		}
	}
	var err error
	for _, n := range c.cfg.Node.Fit(source.Choice{Rank: c.pool.forTrace(b.Number)}) {
		nodeErr := c.traceAt(ctx, n, b)
		if nodeErr == nil {
			c.pool.tracedBlock(n, b.Number)
			c.ahead.traced(true)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err = worst(err, nodeErr)
	}
	c.ahead.traced(false)
	if err == nil {
		return fmt.Errorf("%w: %w: no node has the debug API and the state of block %d", ingest.ErrUnable, ErrNoTrace, b.Number)
	}
	err = fmt.Errorf("trace of block %d: %w", b.Number, err)
	switch k := classify(err); {
	case errors.Is(err, ingest.ErrIncomplete):
		return fmt.Errorf("%w: %w", ErrNoTrace, err)
	case k == noMethod || k == noState:
		return fmt.Errorf("%w: %w: %w", ingest.ErrUnable, ErrNoTrace, err)
	}
	return outward(err)
}

// traceAt traces a block at one node.
func (c *Client) traceAt(ctx context.Context, n source.Node, b *evm.Block) error {
	began := time.Now()
	t := newTrace(c, n, b)
	err := t.block(ctx)
	if errors.Is(err, source.ErrTimeout) && !c.alive(ctx, n) {
		return err // it answers nothing: this block is not to blame
	}
	if err != nil && ctx.Err() == nil && t.piecewise(err) {
		c.fallbacks.Inc()
		// Each transaction alone makes the node run those before it too: no more time
		// is spent on that than on what was too much.
		limited, stop := context.WithTimeoutCause(ctx, max(c.cfg.TraceTimeout, time.Since(began)), errGivenUp)
		t = newTrace(c, n, b)
		err = t.each(limited)
		stop()
	}
	if err == nil {
		err = t.settle(ctx)
	}
	if err == nil {
		t.done()
		return nil
	}
	t.undo()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b.Reserved != nil && errors.Is(err, errContradicted) {
		c.Blame(b.Number) // a later header says which of the two is false: the block need not wait for it
		return fmt.Errorf("%w: %w", ingest.ErrIncomplete, err)
	}
	c.pool.untraced(n, b.Number, classify(err))
	if tooMuch := errors.Is(err, errGivenUp) || errors.Is(err, source.ErrTimeout); !tooMuch {
		return err
	}
	if !c.alive(ctx, n) {
		return err
	}
	return fmt.Errorf("%w: %v", ingest.ErrIncomplete, err)
}

// alive reports whether a node answers questions to its debug API: then a trace that
// it has not given is too much for it.
func (c *Client) alive(ctx context.Context, n source.Node) bool {
	err := c.probeCall(ctx, n)
	k := classify(err)
	return err == nil || errors.As(err, new(*source.RPCError)) && k != later && k != noMethod
}

// trace is one call of Trace.
type trace struct {
	client *Client
	node   source.Node
	of     *evm.Block
	calls  callReader
	diffs  diffReader
	asked  map[evm.Address]bool // whose balances came from the node
	gaveUp bool
}

func newTrace(c *Client, n source.Node, b *evm.Block) *trace {
	t := &trace{client: c, node: n, of: b, asked: make(map[evm.Address]bool)}
	t.diffs.ledger = newLedger()
	t.diffs.pre, t.diffs.post = make(map[evm.Address]amount), make(map[evm.Address]amount)
	return t
}

// done makes the block a traced one.
func (t *trace) done() {
	t.client.traces.Inc()
	t.client.pool.traced(t.node)
	t.of.Traced, t.of.Balances = true, t.diffs.ledger.balances()
}

// undo leaves the block as it was.
func (t *trace) undo() {
	for i := range t.of.Txs {
		t.of.Txs[i].Calls, t.of.Txs[i].Failure = nil, nil
	}
}

// readCalls reads what the callTracer says of the block.
func (t *trace) readCalls(text []byte) error {
	t.calls.calls, t.calls.unsure = nil, nil
	return t.calls.eachTrace(text, t.of.Txs, func(i int) error { return t.calls.result(&t.of.Txs[i]) })
}

// readStates reads what the prestateTracer says of the block.
func (t *trace) readStates(text []byte) error {
	t.diffs.ledger = newLedger()
	return t.diffs.eachTrace(text, t.of.Txs, func(int) error { return t.diffs.result() })
}

// piecewise reports whether asking for each transaction may help against err.
func (t *trace) piecewise(err error) bool {
	if len(t.of.Txs) == 0 || errors.Is(err, ErrNotFound) {
		return false
	}
	if errors.Is(err, errGivenUp) {
		return true
	}
	switch classify(err) {
	case smaller, refused:
		return true
	}
	return false
}

// ask sends calls to the node.
func (t *trace) ask(ctx context.Context, calls []source.BatchCall) error {
	return t.client.cfg.Node.CallBatchOf(ctx, t.client.cfg.Path, calls, only(t.node))
}

// block asks for everything in one request.
func (t *trace) block(ctx context.Context) error {
	b, timeout := t.of, t.client.cfg.TraceTimeout
	var calls []source.BatchCall
	if len(b.Txs) > 0 {
		calls = append(calls, source.BatchCall{
			Method: "debug_traceBlockByHash",
			Params: []any{b.Hash.String(), tracer(callTracer, timeout)},
			Decode: t.orGivenUp(t.readCalls),
		}, source.BatchCall{
			Method: "debug_traceBlockByHash",
			Params: []any{b.Hash.String(), tracer(diffTracer, timeout)},
			Decode: t.orGivenUp(t.readStates),
		})
	}
	before := len(calls)
	asks := t.atomicAsks()
	calls = append(calls, t.balanceCalls(asks)...)
	t.gaveUp = false
	if err := t.ask(ctx, calls); err != nil {
		return err
	}
	if t.gaveUp {
		return errGivenUp
	}
	if err := firstRefusal(calls); err != nil {
		return err
	}
	if len(calls) > before {
		t.take(asks)
	}
	return nil
}

// orGivenUp keeps an answer that says that the node gave up from being a bad one.
func (t *trace) orGivenUp(decode func([]byte) error) func([]byte) error {
	return func(text []byte) error {
		err := decode(text)
		if errors.Is(err, errGivenUp) {
			t.gaveUp = true
			return nil
		}
		return err
	}
}

// refusal is a node's no to a single transaction, for a reason that is not known here.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// each asks for the traces of the transactions, a few in each request and alone
// those for which that is too much.
func (t *trace) each(ctx context.Context) error {
	size := traceTxs
	for start := 0; start < len(t.of.Txs); {
		end := min(start+size, len(t.of.Txs))
		err := t.some(ctx, t.of.Txs[start:end])
		switch {
		case err == nil:
			start = end
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, source.ErrTimeout) || classify(err) != smaller && !errors.As(err, new(*refusal)):
			return err
		case size > 1:
			size = 1
		default: // not even alone
			return fmt.Errorf("%w: %w", errGivenUp, err)
		}
	}
	return nil
}

func (t *trace) some(ctx context.Context, txs []evm.Tx) error {
	calls := make([]source.BatchCall, 0, 2*len(txs))
	diffs := make([][]byte, len(txs))
	frames := make([][]byte, len(txs))
	for i := range txs {
		for _, one := range []struct {
			tracer string
			to     *[]byte
		}{{callTracer, &frames[i]}, {diffTracer, &diffs[i]}} {
			calls = append(calls, source.BatchCall{
				Method: "debug_traceTransaction",
				Params: []any{txs[i].Hash.String(), tracer(one.tracer, t.client.cfg.TraceTimeout)},
				Decode: func(text []byte) error { *one.to = text; return nil },
			})
		}
	}
	if err := t.ask(ctx, calls); err != nil {
		return err
	}
	if err := firstRefusal(calls); err != nil {
		if classify(err) == refused {
			return &refusal{err}
		}
		return err
	}
	for i := range txs {
		t.calls.Reset(frames[i])
		err := t.calls.result(&txs[i])
		if err == nil && t.calls.End() {
			t.diffs.Reset(diffs[i])
			err = t.diffs.result()
			t.diffs.End()
		}
		if err = errors.Join(err, t.calls.Err(), t.diffs.Err()); err != nil {
			return bad("transaction %d: %w", txs[i].Index, err)
		}
	}
	return nil
}

// balanceAsk is a balance to ask the node for, before and after the block.
type balanceAsk struct {
	address     evm.Address
	before, wei uint256.Int
}

// atomicAsks returns the accounts of imports and exports, each once.
func (t *trace) atomicAsks() (asks []*balanceAsk) {
	for _, a := range t.of.Atomic {
		if !t.asked[a.Address] {
			t.asked[a.Address] = true
			asks = append(asks, &balanceAsk{address: a.Address})
		}
	}
	return asks
}

func (t *trace) balanceCalls(asks []*balanceAsk) (calls []source.BatchCall) {
	for _, a := range asks {
		address := a.address.String()
		calls = append(calls,
			source.BatchCall{Method: "eth_getBalance", Params: []any{address, number(t.of.Number - 1)}, Decode: balanceInto(&a.before)},
			source.BatchCall{Method: "eth_getBalance", Params: []any{address, number(t.of.Number)}, Decode: balanceInto(&a.wei)})
	}
	return calls
}

// take puts what the node said in place of what the diffs say.
func (t *trace) take(asks []*balanceAsk) {
	for _, a := range asks {
		e, _ := t.diffs.ledger.get(a.address)
		e.before, e.wei, e.unsure = a.before, a.wei, false
	}
}

// settle asks for the balances that the traces leave open.
func (t *trace) settle(ctx context.Context) error {
	l := &t.diffs.ledger
	for _, a := range t.calls.unsure {
		l.doubt(a)
	}
	t.doubtCreated()
	asks := t.atomicAsks() // none if they were asked for with the traces
	for _, a := range l.unsure() {
		if !t.asked[a] {
			asks = append(asks, &balanceAsk{address: a})
		}
	}
	for len(asks) > 0 {
		some := asks[:min(len(asks), balanceCalls/2)]
		asks = asks[len(some):]
		calls := t.balanceCalls(some)
		if err := t.ask(ctx, calls); err != nil {
			return err
		}
		if err := firstRefusal(calls); err != nil {
			return err
		}
		t.take(some)
	}
	return nil
}

// doubtCreated asks for contracts that were made with a balance of which no diff
// tells: SELFDESTRUCT in them, even a failed one, hides them from the tracer.
func (t *trace) doubtCreated() {
	l := &t.diffs.ledger
	for i := range t.of.Txs {
		tx := &t.of.Txs[i]
		if tx.Creation && !tx.Failed && !tx.Value.IsZero() && !l.moved(tx.Contract) {
			l.doubt(tx.Contract)
		}
		for j := range tx.Calls {
			c := &tx.Calls[j]
			if c.Type.Creates() && !c.Reverted && !c.Value.IsZero() && !l.moved(c.To) {
				l.doubt(c.To)
			}
		}
	}
}
