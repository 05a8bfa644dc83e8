package container

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
)

// entry is a container as a node writes it.
type entry struct {
	ID        string    `json:"id"`
	Bytes     string    `json:"bytes"`
	Timestamp time.Time `json:"timestamp"`
	Index     string    `json:"index"`
}

// errGap means that a node's index does not have a block where it should be.
var errGap = errors.New("the index of the node is not complete")

// indexed returns blocks of a range from the index of a node, from the range's begin on.
func (c *Client) indexed(ctx context.Context, from, to uint64) ([]*primary.Block, error) {
	var last, unread error
	var odd []source.Node // whose block cannot be read
	silent := true        // no node with an index has answered
	if c.without() {
		return nil, ErrNoIndex
	}
	for _, n := range c.cfg.Node.Fit(source.Choice{Rank: c.rank(true)}) {
		blocks, err := c.rangeOf(ctx, n, from, to)
		if err == nil {
			c.delivered(n, from, from+uint64(len(blocks))-1)
			c.blame(odd)
			return blocks, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if isUnreadable(err) {
			unread, odd = err, append(odd, n)
		}
		if c.lacking(n, err) || errors.Is(err, errGap) {
			continue // it will never have it
		}
		if !errors.Is(err, source.ErrUnreachable) {
			silent = false
		}
		// Most of all it counts that a node only waits for the block.
		if last == nil || errors.Is(err, ingest.ErrNotFound) {
			last = err
		}
	}
	if last == nil || silent && c.givesUp() {
		return nil, errors.Join(ErrNoIndex, last)
	}
	if !isUnreadable(last) {
		last = errors.Join(last, unread)
	}
	return nil, last
}

// givesUp reports whether nodes with an index have been silent for so long that they
// are not asked for a while.
func (c *Client) givesUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.heard) < c.cfg.Patience {
		return false
	}
	c.given = time.Now().Add(again)
	return true
}

// without reports whether blocks are taken bare without asking for an index.
func (c *Client) without() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.single() && time.Now().Before(c.given)
}

// lacking takes note of a node that has no index, and reports whether an error says so.
func (c *Client) lacking(n source.Node, err error) bool {
	var no *source.RefusedError
	if !errors.As(err, &no) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.at(n)
	a.none, a.has = time.Now().Add(again), false
	return true
}

// place returns where the block of a height is in a node's index, as far as is known,
// or reports that it is in a gap.
func (c *Client) place(n source.Node, height uint64) (index uint64, ok, gap bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.at(n)
	return a.first + height - a.base, height >= a.base, a.inGap(height)
}

// untilGapEnds returns the last height up to which no node's index has what is missing
// at from, at most to.
func (c *Client) untilGapEnds(from, to uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.nodes {
		if a.has && a.inGap(from) {
			to = min(to, a.gapTo)
		}
	}
	return to
}

// placed takes note of where a block was found.
func (c *Client) placed(n source.Node, index, height uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.at(n)
	// Heights grow with indices, one by one if they have grown as much: ranges that are
	// fetched at one time come in any order, and those below need not be looked for.
	if height < a.base || height-a.base != index-a.first {
		a.first, a.base = index, height
	}
	a.has, c.heard = true, time.Now()
}

// rangeOf returns blocks of a range from one node's index.
func (c *Client) rangeOf(ctx context.Context, n source.Node, from, to uint64) (blocks []*primary.Block, err error) {
	index, ok, gap := c.place(n, from)
	switch {
	case gap:
		return nil, fmt.Errorf("block %d: %w", from, errGap)
	case !ok:
		err = errGap
	default:
		blocks, err = c.rangeAt(ctx, n, index, from, to)
	}
	// An index that lacks many blocks ends before the place where this one should be.
	if !errors.Is(err, errGap) && !errors.Is(err, ingest.ErrNotFound) {
		return blocks, err
	}
	// The index is incomplete, or begins anywhere else than it was thought to.
	if index, err = c.locate(ctx, n, from); isUnreadable(err) {
		return nil, fmt.Errorf("%w: %w", errGap, err) // what cannot be read says no height
	} else if err != nil {
		return nil, err
	}
	return c.rangeAt(ctx, n, index, from, to)
}

// rangeAt returns blocks from one node's index, of which the first is thought to be at
// an index. Ranges that a node cannot answer are asked for in smaller ones.
func (c *Client) rangeAt(ctx context.Context, n source.Node, index, from, to uint64) ([]*primary.Block, error) {
	for {
		c.mu.Lock()
		pace := uint64(c.pace)
		c.mu.Unlock()
		size := min(to-from+1, pace)
		blocks, err := c.ask(ctx, n, index, from, size)
		large := errors.Is(err, source.ErrTooLong) || errors.Is(err, source.ErrTimeout)
		if err != nil && large && size > 1 && ctx.Err() == nil {
			c.setPace(int(size+3) / 4)
			c.retries.Inc()
			continue
		}
		if err == nil && size == pace && pace < maxContainers {
			c.setPace(int(min(2*pace, maxContainers)))
		}
		return blocks, err
	}
}

func (c *Client) setPace(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace = n
}

// ask asks one node for containers from an index on, the first of which must be the
// block of a height.
func (c *Client) ask(ctx context.Context, n source.Node, index, from, size uint64) (blocks []*primary.Block, err error) {
	start, skip := index, uint64(0)
	if c.cfg.Chain == primary.XVertices && index > 0 {
		start, skip = index-1, 1 // for the ID of the one before
		size = min(size, maxContainers-1)
	}
	params := map[string]string{"startIndex": decimal(start), "numToFetch": decimal(size + skip), "encoding": "hex"}
	err = c.cfg.Node.CallOf(ctx, c.path, "index.getContainerRange", params, only(n), func(_ source.Node, result []byte) error {
		var r struct {
			Containers []entry `json:"containers"`
		}
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		if got := uint64(len(r.Containers)); got > size+skip {
			return fmt.Errorf("%d containers, asked for %d", got, size+skip)
		} else if got <= skip {
			return source.Pass(fmt.Errorf("container %d: %w", index, ingest.ErrNotFound))
		}
		blocks, err = c.entries(r.Containers, start, from, int(skip))
		return err
	})
	if err != nil {
		return nil, absent(err)
	}
	c.placed(n, index, from)
	return blocks, nil
}

// entries reads and checks containers of consecutive indices from start on. The first
// skip of them come before the height from.
func (c *Client) entries(list []entry, start, from uint64, skip int) ([]*primary.Block, error) {
	blocks := make([]*primary.Block, 0, len(list))
	var before chain.ID
	for i := range list {
		e := &list[i]
		if e.Index != decimal(start+uint64(i)) {
			return nil, fmt.Errorf("container of index %.20q in place of %d", e.Index, start+uint64(i))
		}
		height := from + uint64(i) - uint64(skip)
		b, err := c.read(e.Bytes, e.ID, height, false)
		if isUnreadable(err) && len(blocks) > 0 {
			break // the next call is about it
		}
		if err != nil {
			return nil, err
		}
		if b.Vertex != nil {
			b.Before, before = before, b.Vertex.ID
			b.Accepted = uint64(max(0, e.Timestamp.Unix()))
			c.seen(b)
		}
		if got := b.Link().Height; got != height {
			if len(blocks) > 0 {
				break // the index has a gap here
			}
			return nil, source.Pass(fmt.Errorf("%w: it has block %d in place of %d", errGap, got, height))
		}
		if i < skip {
			continue
		}
		if n := len(blocks); n > 0 {
			if err := Follows(blocks[n-1], b); err != nil {
				return nil, err
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, c.signed(blocks)
}

// seen takes note of a vertex: behind the stop vertex there is none.
func (c *Client) seen(b *primary.Block) {
	if b.Vertex.Stop {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
	}
}

// locate finds the block of a height in the index of a node, in which heights grow.
func (c *Client) locate(ctx context.Context, n source.Node, height uint64) (index uint64, err error) {
	top, last, err := c.newest(ctx, n)
	if err != nil {
		return 0, err
	}
	if height > last.Link().Height {
		return 0, fmt.Errorf("block %d: %w", height, ingest.ErrNotFound)
	}
	at, found, next := uint64(0), false, last.Link().Height
	sort.Search(int(top)+1, func(i int) bool {
		if err != nil {
			return true
		}
		var b *primary.Block
		if b, err = c.one(ctx, n, uint64(i)); err != nil {
			return true
		}
		got := b.Link().Height
		if got == height {
			at, found = uint64(i), true
		}
		if got >= height {
			next = min(next, got)
		}
		return got >= height
	})
	if err != nil {
		return 0, err
	}
	if !found {
		c.mu.Lock()
		a := c.at(n)
		a.gapFrom, a.gapTo = height, next-1
		c.mu.Unlock()
		return 0, fmt.Errorf("block %d: %w: %w", height, ingest.ErrNotFound, errGap)
	}
	return at, nil
}

// one returns the container at an index of a node, at whatever height it is.
func (c *Client) one(ctx context.Context, n source.Node, index uint64) (b *primary.Block, err error) {
	params := map[string]string{"index": decimal(index), "encoding": "hex"}
	err = c.cfg.Node.CallOf(ctx, c.path, "index.getContainerByIndex", params, only(n), func(_ source.Node, result []byte) error {
		_, b, err = c.answer(result)
		return err
	})
	return b, absent(err)
}

// newest returns the last container of a node and its index.
func (c *Client) newest(ctx context.Context, n source.Node) (index uint64, b *primary.Block, err error) {
	params := map[string]string{"encoding": "hex"}
	err = c.cfg.Node.CallOf(ctx, c.path, "index.getLastAccepted", params, only(n), func(_ source.Node, result []byte) error {
		index, b, err = c.answer(result)
		return err
	})
	if err == nil {
		c.mu.Lock()
		c.at(n).has, c.heard, c.given = true, time.Now(), time.Time{}
		c.mu.Unlock()
	}
	return index, b, absent(err)
}

// answer reads an answer of one container.
func (c *Client) answer(result []byte) (index uint64, b *primary.Block, err error) {
	var e entry
	if err := json.Unmarshal(result, &e); err != nil {
		return 0, nil, err
	}
	if index, err = strconv.ParseUint(e.Index, 10, 62); err != nil {
		return 0, nil, fmt.Errorf("index: %w", err)
	}
	if b, err = c.read(e.Bytes, e.ID, index, false); err != nil {
		return 0, nil, err
	}
	if b.Vertex != nil {
		b.Accepted = uint64(max(0, e.Timestamp.Unix()))
		c.seen(b)
	}
	return index, b, nil
}

// absent makes what nodes say of containers that they do not have yet one error.
func absent(err error) error {
	var rpc *source.RPCError
	if errors.As(err, &rpc) {
		for _, text := range []string{"no container", "> last accepted index", "not found", "unfinalized"} {
			if strings.Contains(rpc.Message, text) {
				return fmt.Errorf("%w: %w", ingest.ErrNotFound, err)
			}
		}
	}
	return err
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
