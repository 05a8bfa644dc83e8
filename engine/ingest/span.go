package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"quorate/engine/chain/evm"
	evmsource "quorate/engine/source/evm"
)

// fill fetches and traces a span, for which the window has set aside size bytes.
func (r *round) fill(s *span, size int) {
	defer close(s.done)
	s.blocks, s.err = r.fetchAll(s)
	if len(s.blocks) > 0 {
		r.i.mu.Lock()
		s.fetched, s.left = time.Now(), len(s.blocks)
		r.i.mu.Unlock()
	}
	if r.i.cfg.Trace {
		r.traceAll(s)
	}
	total := 0
	s.sizes = make([]int, len(s.blocks))
	for k, b := range s.blocks {
		s.sizes[k] = sizeOf(b)
		total += s.sizes[k]
	}
	r.window.give(size - total)
	if s.err == nil {
		r.length.seen(len(s.blocks), total)
	}
}

// retry makes a call up to the configured number of tries, each with a token
// and within the time for a call.
func (r *round) retry(tokens chan struct{}, call func(ctx context.Context) error) error {
	for try := 1; ; try++ {
		select {
		case tokens <- struct{}{}:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
		err := r.i.call(r.ctx, call)
		<-tokens
		switch {
		case err == nil:
			return nil
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		}
		r.i.note(err)
		if try == r.i.cfg.Tries {
			return err
		}
		if !pause(r.ctx, backoff(err, try-1)) {
			return context.Cause(r.ctx)
		}
	}
}

// fetchAll fetches the blocks of a span; with an error it gives the good ones
// before it.
func (r *round) fetchAll(s *span) (good []*evm.Block, err error) {
	err = r.retry(r.fetch, func(ctx context.Context) error {
		from := s.from + uint64(len(good))
		blocks, err := r.i.cfg.Source.Fetch(ctx, from, s.to)
		n, wrong := r.check(from, s.to, good, blocks, err)
		good = append(good, blocks[:n]...)
		if wrong != nil {
			return fmt.Errorf("fetch block %d: %w", s.from+uint64(len(good)), wrong)
		}
		return nil
	})
	return good, err
}

// check tells how many of the blocks can be taken, and what is wrong with the next.
func (r *round) check(from, to uint64, before, blocks []*evm.Block, err error) (int, error) {
	if uint64(len(blocks)) > to-from+1 {
		return 0, fmt.Errorf("%w: %d instead of %d", ErrAnswer, len(blocks), to-from+1)
	}
	var last *evm.Block
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	for k, b := range blocks {
		switch want := from + uint64(k); {
		case b == nil || b.Number != want:
			return k, ErrAnswer
		case last != nil && b.Parent != last.Hash:
			return k, fmt.Errorf("%w: it has parent %s, block %d is %s", ErrParent, b.Parent, last.Number, last.Hash)
		}
		last = b
	}
	if err == nil && uint64(len(blocks)) != to-from+1 {
		err = fmt.Errorf("%w: %d instead of %d", ErrAnswer, len(blocks), to-from+1)
	}
	return len(blocks), err
}

// traceAll traces the blocks of a span at the same time. With an error it cuts
// off the block and those behind it.
func (r *round) traceAll(s *span) {
	var wg sync.WaitGroup
	errs := make([]error, len(s.blocks))
	for k, b := range s.blocks {
		if b.Number < r.i.cfg.TraceFrom || b.Number == 0 || len(b.Txs)+len(b.Atomic) == 0 {
			continue
		}
		wg.Go(func() { errs[k] = r.traceOne(b) })
	}
	wg.Wait()
	k := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if k < 0 {
		return
	}
	s.err = errs[k]
	s.blocks = s.blocks[:k]
	r.i.mu.Lock()
	s.left = k
	r.i.mu.Unlock()
}

func (r *round) traceOne(b *evm.Block) error {
	err := r.retry(r.trace, func(ctx context.Context) error {
		if err := r.i.cfg.Source.Trace(ctx, b); err != nil {
			return fmt.Errorf("trace block %d: %w", b.Number, err)
		}
		return nil
	})
	if err == nil || r.ctx.Err() != nil || !r.i.cfg.TraceOptional || !errors.Is(err, evmsource.ErrNoTrace) {
		return err
	}
	r.i.mu.Lock()
	defer r.i.mu.Unlock()
	if r.i.state.Untraced == 0 {
		r.i.log.Warn("blocks are indexed without their calls, and native balances are unknown from here on", "err", err)
	}
	r.i.state.Untraced++
	return nil
}
