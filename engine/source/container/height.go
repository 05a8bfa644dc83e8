package container

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
)

// maxSingle bounds the blocks that are asked for one by one at one time.
const maxSingle = 8

// method names a call of the chain's own API: its path is that of the alias.
func (c *Client) method(name string) (path, method string) {
	if c.cfg.Chain == primary.XChain {
		return "/ext/bc/X", "avm." + name
	}
	return "/ext/bc/P", "platform." + name
}

// bares returns blocks of a range without headers, at most as many as are asked for at
// one time.
func (c *Client) bares(ctx context.Context, from, to uint64) ([]*primary.Block, error) {
	size := int(min(to-from+1, maxSingle))
	blocks, errs := make([]*primary.Block, size), make([]error, size)
	var wg sync.WaitGroup
	for i := range blocks {
		wg.Go(func() { blocks[i], errs[i] = c.bareAt(ctx, from+uint64(i)) })
	}
	wg.Wait()
	for i := range blocks {
		err := errs[i]
		if err == nil && i > 0 {
			if err = Follows(blocks[i-1], blocks[i]); err != nil {
				c.Blame(from + uint64(i))
			}
		}
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			return blocks[:i], nil // the next call is about it
		}
		if blocks[i].Bare {
			c.bare.Inc()
		}
	}
	return blocks, nil
}

// bareAt returns the block at a height without its header.
func (c *Client) bareAt(ctx context.Context, height uint64) (b *primary.Block, err error) {
	path, method := c.method("getBlockByHeight")
	params := map[string]string{"height": decimal(height), "encoding": "hex"}
	var unread error
	var odd []source.Node // whose block cannot be read
	err = c.cfg.Node.CallOf(ctx, path, method, params, source.Choice{Rank: c.rank(false)}, func(n source.Node, result []byte) error {
		var r struct {
			Block string `json:"block"`
		}
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		if b, err = c.read(r.Block, "", height, true); err != nil {
			if isUnreadable(err) {
				unread, odd = err, append(odd, n)
			}
			return err
		}
		if got := b.Link().Height; got != height {
			return fmt.Errorf("block %d in place of %d", got, height)
		}
		c.delivered(n, height, height)
		return nil
	})
	if err != nil {
		if err = absent(err); !isUnreadable(err) {
			err = errors.Join(err, unread)
		}
		return nil, fmt.Errorf("block %d: %w", height, err)
	}
	c.blame(odd)
	return b, nil
}

// Tip implements [ingest.Source]. Of a last block that this release cannot read it returns
// the height alone: the chain goes on, and what is below may be readable.
func (c *Client) Tip(ctx context.Context) (chain.Head, error) {
	head, err := c.tip(ctx)
	if isUnreadable(err) && c.cfg.Chain != primary.XVertices {
		head = chain.Head{}
		head.Height, err = c.height(ctx)
	}
	return head, err
}

func (c *Client) tip(ctx context.Context) (chain.Head, error) {
	var last error
	for _, n := range c.cfg.Node.Fit(source.Choice{Rank: c.rank(true)}) {
		index, b, err := c.newest(ctx, n)
		if err == nil {
			if b.Vertex != nil {
				b.Place = index
			}
			return b.Link().Head, nil
		}
		if ctx.Err() != nil {
			return chain.Head{}, context.Cause(ctx)
		}
		if !c.lacking(n, err) {
			last = err
		}
	}
	if !c.single() {
		return chain.Head{}, errors.Join(ErrNoIndex, last)
	}
	// No index, none of those that had one, or an empty one, answers: the chain's API does.
	height, err := c.height(ctx)
	if err != nil {
		return chain.Head{}, err
	}
	b, err := c.bareAt(ctx, height)
	if err != nil {
		return chain.Head{}, err
	}
	return b.Link().Head, nil
}

// height asks for the height of the last block.
func (c *Client) height(ctx context.Context) (height uint64, err error) {
	path, method := c.method("getHeight")
	params, field := any(struct{}{}), "height"
	if c.cfg.Chain == primary.CChain {
		path, method, params = "/ext/bc/C/rpc", "eth_blockNumber", []any{}
	}
	err = c.cfg.Node.CallOf(ctx, path, method, params, source.Choice{Rank: c.rank(false)}, func(_ source.Node, result []byte) (err error) {
		if c.cfg.Chain == primary.CChain {
			var text string
			if err := json.Unmarshal(result, &text); err != nil {
				return err
			}
			height, err = strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 63)
			return err
		}
		var r map[string]json.RawMessage
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		height, err = strconv.ParseUint(strings.Trim(string(r[field]), `"`), 10, 63)
		return err
	})
	return height, err
}

// Watch implements [ingest.Source]: it asks for the last height again and again.
func (c *Client) Watch(ctx context.Context, onHead func(height uint64)) error {
	tick := time.NewTicker(c.cfg.Poll)
	defer tick.Stop()
	known := uint64(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		height, err := c.latest(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrNoIndex), errors.Is(err, ingest.ErrNotFound), errors.Is(err, errEnded):
			continue
		case err != nil:
			return err
		}
		if height > known {
			onHead(height)
		}
		known = height
	}
}

// errEnded means that the X-Chain has no more vertices.
var errEnded = errors.New("the vertices have ended")

func (c *Client) latest(ctx context.Context) (uint64, error) {
	if c.cfg.Chain != primary.XVertices {
		return c.height(ctx)
	}
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return 0, errEnded
	}
	head, err := c.Tip(ctx)
	return head.Height, err
}
