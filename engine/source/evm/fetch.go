package evm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"quorate/engine/chain/evm"
	"quorate/engine/source"
)

// MaxRange bounds the blocks of one [Client.Fetch].
const MaxRange = 10_000

// receiptCalls bounds the receipts asked for in one request one by one.
const receiptCalls = 200

// Fetch returns the blocks from..to, both included, with their receipts and in
// order of height, each the child of the one before. Several requests run at one
// time. On an error it gives the blocks before the one that it is about.
func (c *Client) Fetch(ctx context.Context, from, to uint64) ([]*evm.Block, error) {
	if to < from || to-from >= MaxRange {
		return nil, fmt.Errorf("evm source: a range of 1 to %d blocks, not %d to %d", MaxRange, from, to)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := fetch{client: c, from: from, to: to, next: from, failedAt: to + 1, blocks: make([]*evm.Block, to-from+1)}
	var wg sync.WaitGroup
	for range min(c.cfg.Connections, len(f.blocks)) {
		wg.Go(func() { f.work(ctx) })
	}
	wg.Wait()
	done, err := f.blocks[:f.failedAt-from], f.err
	for i := 1; i < len(done); i++ {
		if done[i].Parent != done[i-1].Hash {
			err = bad("block %d has parent %s, block %d is %s", done[i].Number, done[i].Parent, done[i-1].Number, done[i-1].Hash)
			done = done[:i]
			break
		}
	}
	c.blocks.Add(float64(len(done)))
	for _, b := range done {
		c.txs.Add(float64(len(b.Txs)))
	}
	return done, outward(err)
}

// fetch is one call of Fetch.
type fetch struct {
	client   *Client
	from, to uint64
	blocks   []*evm.Block // by height less from; each is written by one worker

	mu       sync.Mutex // guards what follows
	next     uint64     // height that no worker has yet
	failedAt uint64     // lowest height that could not be had, else to+1
	err      error      // why
}

// take gives a worker its next blocks. Blocks above one that failed are not asked for.
func (f *fetch) take() (blocks []*evm.Block, at uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next > f.to || f.next >= f.failedAt {
		return nil, 0
	}
	at = f.next
	// The last requests are no larger than leaves all connections some work.
	left := f.to - at + 1
	n := min(uint64(f.client.pace.next()), max(1, (left+uint64(f.client.cfg.Connections)-1)/uint64(f.client.cfg.Connections)))
	f.next += n
	return f.blocks[at-f.from : at-f.from+n], at
}

func (f *fetch) fail(at uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at < f.failedAt {
		f.failedAt, f.err = at, err
	}
}

func (f *fetch) work(ctx context.Context) {
	for {
		blocks, at := f.take()
		if len(blocks) == 0 {
			return
		}
		if done, err := f.client.fetchSome(ctx, blocks, at); err != nil {
			f.fail(at+uint64(done), err)
			return
		}
	}
}

// fetchSome fills blocks with those from height at on, in as many requests as it
// takes, and gives the number of those before the first that could not be had.
func (c *Client) fetchSome(ctx context.Context, blocks []*evm.Block, at uint64) (int, error) {
	n := len(blocks)
	err := c.fetchBatch(ctx, blocks, at)
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	if classify(err) != smaller {
		var which *blockError
		if errors.As(err, &which) {
			return int(which.number - at), err
		}
		return 0, err
	}
	c.pace.failed(n)
	slow := errors.Is(err, source.ErrTimeout)
	switch {
	case n == 1 && slow:
		return 0, err
	case n == 1:
		return c.fetchAlone(ctx, blocks, at)
	}
	c.splits.Inc()
	// A node that may hang is given one block, to know soon which of the two it is.
	part := n / 2
	if slow {
		part = 1
	}
	if done, err := c.fetchSome(ctx, blocks[:part], at); err != nil {
		return done, err
	}
	done, err := c.fetchSome(ctx, blocks[part:], at+uint64(part))
	return part + done, err
}

// fetchAlone gets a block that is too large to come with its receipts: first it,
// then they, if need be one by one.
func (c *Client) fetchAlone(ctx context.Context, blocks []*evm.Block, at uint64) (int, error) {
	calls := []source.BatchCall{c.blockCall(&blocks[0], at, new(int))}
	_, err := c.ask(ctx, c.fetching, calls)
	if err == nil {
		err = calls[0].Err
	}
	if err == nil && blocks[0] == nil {
		err = &blockError{at, ErrNotFound}
	}
	if err == nil {
		err = c.receipts(ctx, blocks[0])
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// blockError says which block an error is about.
type blockError struct {
	number uint64
	err    error
}

func (e *blockError) Error() string { return fmt.Sprintf("block %d: %v", e.number, e.err) }
func (e *blockError) Unwrap() error { return e.err }

// blockCall asks for the block at a height. Its length is added to size.
func (c *Client) blockCall(dst **evm.Block, at uint64, size *int) source.BatchCall {
	return source.BatchCall{
		Method: "eth_getBlockByNumber",
		Params: []any{number(at), true},
		Decode: func(result []byte) (err error) {
			*dst = nil
			if string(result) == "null" {
				return nil
			}
			*size += len(result)
			*dst, err = decodeBlock(result, at, c.cfg.AVAXAssetID, c.check)
			return err
		},
	}
}

// receiptsCall asks for the receipts of b, which blockCall has set by then.
func (c *Client) receiptsCall(b **evm.Block, at uint64, size *int) source.BatchCall {
	return source.BatchCall{
		Method: "eth_getBlockReceipts",
		Params: []any{number(at)},
		Decode: func(result []byte) error {
			*size += len(result)
			switch {
			case *b == nil: // found missing by now
				return nil
			case string(result) == "null":
				return fmt.Errorf("block %d has no receipts", at)
			}
			return decodeReceipts(*b, result, c.check)
		},
	}
}

// fetchBatch fills blocks by one request, and by further ones if the node wants
// to be asked for each receipt.
func (c *Client) fetchBatch(ctx context.Context, blocks []*evm.Block, at uint64) error {
	byTx, size := c.receiptsByTx.Load(), 0
	calls := make([]source.BatchCall, 0, 2*len(blocks))
	for i := range blocks {
		calls = append(calls, c.blockCall(&blocks[i], at+uint64(i), &size))
		if !byTx {
			calls = append(calls, c.receiptsCall(&blocks[i], at+uint64(i), &size))
		}
	}
	took, err := c.ask(ctx, c.fetching, calls)
	if err != nil {
		return err
	}
	c.pace.answered(len(blocks), size, took)
	c.bytes.Add(float64(size))
	per := len(calls) / len(blocks)
	for i := range blocks {
		err := calls[i*per].Err
		switch {
		case err != nil:
			return &blockError{at + uint64(i), err}
		case blocks[i] == nil:
			return &blockError{at + uint64(i), ErrNotFound}
		case byTx:
			err = c.receipts(ctx, blocks[i])
		default:
			err = calls[i*per+1].Err
		}
		if err != nil && classify(err) == noMethod && !byTx {
			c.cfg.Logger.Warn("node does not have eth_getBlockReceipts: receipts are asked for one by one", "path", c.cfg.Name)
			c.receiptsByTx.Store(true)
			return c.fetchBatch(ctx, blocks, at)
		}
		if err != nil {
			return &blockError{at + uint64(i), err}
		}
	}
	return nil
}

// receipts completes a block by asking for the receipt of each transaction.
func (c *Client) receipts(ctx context.Context, b *evm.Block) error {
	r := newReceipts(b, nil, c.check)
	texts := make([][]byte, len(b.Txs))
	size := receiptCalls
	for start := 0; start < len(b.Txs); {
		end := min(start+size, len(b.Txs))
		err := c.receiptTexts(ctx, b, texts, start, end)
		switch {
		case err == nil:
			start = end
		case size > 1 && classify(err) == smaller:
			size /= 2
		default:
			return err
		}
	}
	for i := range b.Txs {
		c.bytes.Add(float64(len(texts[i])))
		r.texts = append(r.texts, texts[i])
		r.Reset(texts[i])
		err := r.receipt(&b.Txs[i])
		if r.End(); err == nil {
			err = r.Err()
		}
		if err != nil {
			return bad("block %d: receipt %d: %w", b.Number, i, err)
		}
	}
	if err := r.close(len(b.Txs), nil); err != nil {
		return bad("%w", err)
	}
	return nil
}

// receiptTexts asks for the receipts of the transactions from start up to end.
func (c *Client) receiptTexts(ctx context.Context, b *evm.Block, texts [][]byte, start, end int) error {
	calls := make([]source.BatchCall, 0, end-start)
	for i := start; i < end; i++ {
		calls = append(calls, source.BatchCall{
			Method: "eth_getTransactionReceipt",
			Params: []any{b.Txs[i].Hash.String()},
			Decode: func(result []byte) error { texts[i] = result; return nil },
		})
	}
	if _, err := c.ask(ctx, c.fetching, calls); err != nil {
		return err
	}
	return firstRefusal(calls)
}

// firstRefusal gives the first error of single calls.
func firstRefusal(calls []source.BatchCall) error {
	for i := range calls {
		if calls[i].Err != nil {
			return calls[i].Err
		}
	}
	return nil
}
