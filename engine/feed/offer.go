package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
)

const (
	// groupBytes is how much is packed into one record, unless one block is more.
	groupBytes = 512 << 10
	// maxTries is how often an append is tried while others append, too.
	maxTries = 16
)

// Offer appends blocks that follow each other, and before them those that the log lacks below,
// which below returns. Those that are in the log already come to stand in their places, as
// they are there. encode returns a block's bytes.
func (t *Tail[B]) Offer(ctx context.Context, blocks []Block[B], encode func(B) []byte, below func(from, to uint64) ([]Block[B], error)) (err error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	if t.at == 0 {
		if err := t.sync(ctx, true); err != nil {
			return err
		}
	}
	for range maxTries {
		var known int
		if known, err = t.there(ctx, blocks); err != nil {
			return err
		}
		if err = t.fill(ctx, blocks[0].Height, encode, below); err == nil {
			err = t.append(ctx, blocks[known:], encode)
		}
		if !errors.Is(err, ErrMoved) {
			return err
		}
		t.moved.Inc()
		if err = t.sync(ctx, true); err != nil {
			return err
		}
	}
	return err
}

// there puts what the log has of some blocks in their places, and returns how many it need not
// have appended. It needs asking.
func (t *Tail[B]) there(ctx context.Context, blocks []Block[B]) (known int, err error) {
	for next := t.Next(); known < len(blocks) && blocks[known].Height < next; known++ {
		b := &blocks[known]
		in := t.held(b.Height, b.Height)
		if len(in) == 0 {
			if in, err = t.older(ctx, b.Height, b.Height); errors.Is(err, ErrNotHere) { // below the log, or in a hole
				continue
			} else if err != nil {
				return known, err
			}
		}
		if in[0].ID != b.ID {
			return known, fmt.Errorf("%w: block %d is %x there and %x here", ErrForked, b.Height, in[0].ID, b.ID)
		}
		if !in[0].Absent {
			*b = in[0]
		}
	}
	return known, nil
}

// fill appends the blocks between the end of the log and a height. It needs asking.
func (t *Tail[B]) fill(ctx context.Context, to uint64, encode func(B) []byte, below func(from, to uint64) ([]Block[B], error)) error {
	for from := max(t.Next(), to-min(to, Kept)); from < to; {
		blocks, err := below(from, to-1)
		if err != nil || len(blocks) == 0 {
			return err // without them: that is a hole
		}
		if err := t.append(ctx, blocks, encode); err != nil {
			return err
		}
		from = blocks[len(blocks)-1].Height + 1
	}
	return nil
}

// append appends blocks as records. It needs asking.
func (t *Tail[B]) append(ctx context.Context, blocks []Block[B], encode func(B) []byte) error {
	for len(blocks) > 0 {
		var group []archive.Block
		for size := 0; len(group) < len(blocks) && size < groupBytes; {
			b := &blocks[len(group)]
			group = append(group, archive.Block{Height: b.Height, ID: b.ID, Parent: b.Parent, Data: encode(b.Item)})
			b.size = len(group[len(group)-1].Data)
			if size += b.size; size > groupBytes && len(group) > 1 {
				group = group[:len(group)-1]
			}
		}
		r := t.record(group)
		raw := r.Append(nil)
		at, err := t.cfg.Log.Append(ctx, t.subject, t.at, raw)
		if t.answered(err) != nil {
			return err
		}
		t.appended.Inc()
		t.at, t.sum = at, xxhash.Sum64(raw)
		done := slices.Clone(blocks[:len(group)])
		done[0].Absent = r.Kind == Absent
		t.grow(t.cfg.Writer, done)
		blocks = blocks[len(group):]
	}
	return nil
}

// record makes a record of blocks. A single one that is too large is stood for.
func (t *Tail[B]) record(blocks []archive.Block) *Record {
	b := &blocks[0]
	r := &Record{
		Kind: Blocks, Of: t.cfg.Kind, Network: t.cfg.Network, Chain: t.cfg.Chain, Writer: t.cfg.Writer, Next: b.Height, Parent: b.Parent,
	}
	var err error
	if large := len(b.Data) > MaxRaw-archive.MaxBundle; !large {
		r.Data, _, err = t.codec.Pack(nil, blocks)
	}
	if err != nil || len(r.Data) == 0 || r.Size() > MaxRecord {
		t.refused.Inc()
		t.cfg.Logger.Warn("a block is too large for the log: others fetch it elsewhere", "height", b.Height, "bytes", len(b.Data))
		r.Kind, r.Data = Absent, b.ID[:]
	}
	return r
}
