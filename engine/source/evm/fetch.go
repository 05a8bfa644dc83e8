package evm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/source"
)

// MaxRange bounds the blocks of one [Client.Fetch].
const MaxRange = 10_000

// receiptCalls bounds the receipts asked for in one request one by one.
const receiptCalls = 200

// Fetch returns the blocks from..to, both included, with their receipts and in
// order of height, each the child of the one before. Requests are as large as the
// nodes answer well. On an error it returns the blocks before the one that it is
// about.
func (c *Client) Fetch(ctx context.Context, from, to uint64) ([]*evm.Block, error) {
	if to < from || to-from >= MaxRange {
		return nil, fmt.Errorf("evm source: a range of 1 to %d blocks, not %d to %d", MaxRange, from, to)
	}
	c.ahead.fetching(to)
	blocks := make([]*evm.Block, to-from+1)
	done, err := 0, error(nil)
	for err == nil && done < len(blocks) {
		n, at := min(c.pace.next(), len(blocks)-done), from+uint64(done)
		n, err = c.fetchSome(ctx, blocks[done:done+n], at)
		done += n
	}
	blocks = blocks[:done]
	for i := 1; i < len(blocks); i++ {
		if blocks[i].Parent != blocks[i-1].Hash {
			c.Blame(blocks[i].Number)
			err = bad("block %d has parent %s, block %d is %s", blocks[i].Number, blocks[i].Parent, blocks[i-1].Number, blocks[i-1].Hash)
			blocks = blocks[:i]
			break
		}
	}
	c.blocks.Add(float64(len(blocks)))
	for _, b := range blocks {
		c.txs.Add(float64(len(b.Txs)))
	}
	return blocks, outward(err)
}

// fetchSome fills blocks with those from height at on, in as many requests as it
// takes, and returns the number of those before the first that could not be had.
func (c *Client) fetchSome(ctx context.Context, blocks []*evm.Block, at uint64) (int, error) {
	n := len(blocks)
	done, err := c.fetchBatch(ctx, blocks, at)
	if err == nil || ctx.Err() != nil {
		return done, err
	}
	small, slow := classify(err) == smaller, errors.Is(err, source.ErrTimeout)
	switch {
	case small:
		c.pace.failed(n)
	case !errors.Is(err, ErrBadAnswer): // else one block of many may be the bad one
		return done, err
	}
	switch {
	case n == 1 && (slow || !small):
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
	done, err = c.fetchSome(ctx, blocks[part:], at+uint64(part))
	return part + done, err
}

// fetchAlone gets a block that is too large to come with its receipts: first it,
// then they, if need be one by one.
func (c *Client) fetchAlone(ctx context.Context, blocks []*evm.Block, at uint64) (int, error) {
	calls := []source.BatchCall{c.blockCall(&blocks[0], at, new(int))}
	err := c.ask(ctx, calls)
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

// fetchBatch fills blocks by one request, and by further ones if no node has the
// receipts of whole blocks. It returns the number of blocks before the first that
// could not be had.
func (c *Client) fetchBatch(ctx context.Context, blocks []*evm.Block, at uint64) (int, error) {
	nodes := c.cfg.Node.Nodes()
	b := &batch{client: c, blocks: blocks, at: at, nodes: nodes, strict: len(nodes) > 1, byTx: c.pool.noneHasReceipts(nodes)}
	err := b.ask(ctx)
	if err != nil && b.strict && ctx.Err() == nil && classify(err) == missing {
		b.strict = false // no node has all of them: one may have some
		err = b.ask(ctx)
	}
	if err != nil && ctx.Err() == nil && classify(err) == noMethod && !b.byTx && c.pool.noneHasReceipts(b.nodes) {
		c.cfg.Logger.Warn("no node has eth_getBlockReceipts: receipts are asked for one by one", "path", c.cfg.Name)
		b.byTx = true
		err = b.ask(ctx)
	}
	if err != nil {
		return 0, err
	}
	c.bytes.Add(float64(b.size))
	for i := range blocks {
		err := b.refusal(i)
		if err == nil && b.byTx {
			err = c.receipts(ctx, blocks[i])
		}
		if err != nil {
			return i, &blockError{at + uint64(i), err}
		}
	}
	return len(blocks), nil
}

// batch is a request for blocks with their receipts.
type batch struct {
	client *Client
	blocks []*evm.Block
	at     uint64
	nodes  []source.Node
	byTx   bool // without receipts
	strict bool // an answer that lacks a block does not count

	calls []source.BatchCall // for each block one or two, behind that for the last finalized one
	from  int                // of calls, where those for blocks begin
	final *evm.Block         // the last finalized one, if it was asked for
	size  int                // of the answer, in bytes
}

// ask sends the request. Where a node may have blocks that are not accepted, it is
// asked for the last finalized one before them.
func (b *batch) ask(ctx context.Context) error {
	c := b.client
	b.calls = make([]source.BatchCall, 0, 2*len(b.blocks)+1)
	b.from, b.final = 0, nil
	last := b.at + uint64(len(b.blocks)) - 1
	if c.pool.needsFinal(b.nodes, last) {
		b.from = 1
		b.calls = append(b.calls, source.BatchCall{Method: "eth_getBlockByNumber", Params: []any{"finalized", false}, Decode: func(result []byte) (err error) {
			b.size, b.final = 0, nil
			if string(result) != "null" {
				b.final, _, err = decodeHeader(result)
			}
			return err
		}})
	}
	for i := range b.blocks {
		b.calls = append(b.calls, c.blockCall(&b.blocks[i], b.at+uint64(i), &b.size))
		if !b.byTx {
			b.calls = append(b.calls, c.receiptsCall(&b.blocks[i], b.at+uint64(i), &b.size))
		}
	}
	b.size = 0
	rank := c.pool.forBlocks(last)
	if !b.strict && len(b.nodes) > 1 {
		rank = c.pool.furthest(b.nodes, last)
	}
	began := time.Now()
	return c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, b.calls, source.Choice{
		Rank: rank,
		Check: func(n source.Node, _ []source.BatchCall) error {
			defer func() { began = time.Now() }() // another node is not to blame for this one
			err := b.check(n)
			if err == nil {
				c.pace.answered(len(b.blocks), b.size, time.Since(began))
				c.pool.gave(n, b.at, len(b.blocks))
			}
			return err
		},
	})
}

// refusal returns why a block was not had.
func (b *batch) refusal(i int) error {
	per := (len(b.calls) - b.from) / len(b.blocks)
	calls := b.calls[b.from+i*per : b.from+(i+1)*per]
	switch {
	case calls[0].Err != nil:
		return calls[0].Err
	case b.blocks[i] == nil:
		return ErrNotFound
	}
	return firstRefusal(calls)
}

// check decides whether a node's answer counts.
func (b *batch) check(n source.Node) error {
	pool := &b.client.pool
	if b.from > 0 {
		knows := b.calls[0].Err == nil && b.final != nil
		final := uint64(0)
		if knows {
			final = b.final.Number
		}
		if final = pool.finalizes(n, final, knows); knows {
			for i, block := range b.blocks {
				switch {
				case b.at+uint64(i) <= final || block == nil:
				case block.Reserved != nil:
					pool.settles(n)
				default:
					b.blocks[i] = nil // not accepted yet
				}
			}
		}
	}
	for i := range b.blocks {
		err := b.refusal(i)
		if err == nil {
			continue
		}
		at := b.at + uint64(i)
		switch classify(err) {
		case smaller:
			return nil // less is asked for then
		case missing:
			pool.lags(n, at)
			if !b.strict {
				return nil
			}
		case noMethod:
			pool.withoutReceipts(n)
		}
		return source.Pass(&blockError{at, err})
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
	return c.ask(ctx, calls)
}

// firstRefusal returns the first error of single calls.
func firstRefusal(calls []source.BatchCall) error {
	for i := range calls {
		if calls[i].Err != nil {
			return calls[i].Err
		}
	}
	return nil
}
