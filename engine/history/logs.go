package history

import (
	"context"
	"errors"

	"quorate/engine/chain/evm"
)

// TakeLog takes a log with its block and transaction, and reports whether there is room for more.
type TakeLog func(b *evm.Block, tx *evm.Tx, l *evm.Log) (more bool)

// errEnough ends a search that has found enough.
var errEnough = errors.New("enough")

// Logs calls take with the logs that match, in order, until it returns false. It ends with
// ErrNotArchived at the first block that is not there. passed is how many blocks were read.
func (h *History) Logs(ctx context.Context, f *Filter, take TakeLog) (passed int, err error) {
	tip, _, ok := h.places.Cursor()
	if !ok || f.To > tip {
		return 0, ErrNotArchived
	}
	a, err := h.archive(ctx)
	if err != nil {
		return 0, err
	}
	first, _, ok := a.First()
	s := search{h: h, f: f, take: take}
	for from := f.From; from <= f.To && err == nil; {
		span := from / spanBlocks
		last := min(f.To, span*spanBlocks+spanBlocks-1)
		filter, age := h.filters.get(span)
		switch {
		case filter != nil && !f.may(filter):
		case filter == nil && 2*(last-from+1) >= spanBlocks && ok && first <= span*spanBlocks && span*spanBlocks+spanBlocks-1 <= tip:
			err = s.span(ctx, span, age)
		default:
			err = s.blocks(ctx, from, last, nil)
		}
		from = last + 1
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return s.passed, err
}

// search is one in the making.
type search struct {
	h      *History
	f      *Filter
	take   TakeLog
	passed int
}

// span reads all blocks of a span, and keeps its filter.
func (s *search) span(ctx context.Context, span, age uint64) error {
	items := make(map[uint64]struct{})
	err := s.blocks(ctx, span*spanBlocks, span*spanBlocks+spanBlocks-1, items)
	if err == nil {
		s.h.filters.keep(span, newBloom(items), age)
	}
	return err
}

// blocks reads blocks, and adds what their logs are found by to items, if that is not nil.
func (s *search) blocks(ctx context.Context, from, to uint64, items map[uint64]struct{}) error {
	return s.h.blocks(ctx, from, to, func(b *evm.Block) error {
		s.passed++
		wanted := s.f.From <= b.Number && b.Number <= s.f.To
		for i := range b.Txs {
			tx := &b.Txs[i]
			for k := range tx.Logs {
				l := &tx.Logs[k]
				if items != nil {
					addItems(items, l)
				}
				if wanted && s.f.Match(l) && !s.take(b, tx, l) {
					return errEnough
				}
			}
		}
		return nil
	})
}

func addItems(items map[uint64]struct{}, l *evm.Log) {
	items[item(0, l.Address[:])] = struct{}{}
	for i := range l.Topics {
		items[item(1+i, l.Topics[i][:])] = struct{}{}
	}
}
