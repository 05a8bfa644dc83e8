package index

import (
	"context"
	"fmt"

	store "quorate/engine/store/index"
)

// sweepRows is how many rows are removed in one transaction: others wait for it.
const sweepRows = 2000

// sweep removes the rows of editions that are of no use any more. Snapshots that
// were opened before still see them. It goes on where it was when it is called
// again.
func (c *Chain) sweep(ctx context.Context) error {
	list, err := c.readDropping()
	if err != nil {
		return err
	}
	for len(list) > 0 {
		if err := c.drop(ctx, list[0]); err != nil {
			return fmt.Errorf("remove what %s had before: %w", list[0].table, err)
		}
		list = list[1:]
		if err := c.putRows(row{c.places().rowKey(rowDropping), appendEditions(nil, list)}); err != nil {
			return err
		}
	}
	return nil
}

// snapshot calls f with a snapshot.
func (c *Chain) snapshot(f func(*store.Snapshot) error) error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// drop removes the rows of an edition that is neither served nor made.
func (c *Chain) drop(ctx context.Context, e edition) error {
	if served := c.places().of[e.table]; served.version > 0 && served.edition == e.edition {
		return fmt.Errorf("%w: edition %d is served", errCodec, e.edition)
	}
	lead := store.TableKey(nil, byte(e.table), c.ordinal, e.edition)
	worker := c.opts.Spare.Worker()
	for next := lead; next != nil; worker.Rest(ctx.Done()) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := c.db.Batch()
		if err != nil {
			return err
		}
		if err := c.snapshot(func(s *store.Snapshot) (err error) {
			next, err = dropSome(s, b, lead, next)
			return err
		}); err != nil {
			b.Discard()
			return err
		}
		if err := b.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// dropSome removes rows and returns the key to go on from, nil at the end.
func dropSome(s *store.Snapshot, b *store.Batch, lead, from []byte) ([]byte, error) {
	rows, err := s.Rows(lead, false)
	if err != nil {
		return nil, err
	}
	n := 0
	for rows.Seek(from); rows.Valid(); rows.Next() {
		k := append([]byte(nil), rows.Key()...)
		if n++; n > sweepRows {
			return k, nil
		}
		if err := b.Delete(k); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
