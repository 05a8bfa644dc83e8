package follow

import (
	"context"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/follow/verdict"
	"quorate/engine/ingest"
)

// deeper is the index as it takes older blocks.
type deeper struct {
	c *EVM
	// proofs are those of older blocks: nodes that have no old states cost those at the
	// head nothing.
	proofs *verdict.Proofs
}

// First implements [olderIndex].
func (d deeper) First() uint64 { return d.c.rows.Begin().Lists }

// CommitBelow implements [olderIndex].
func (d deeper) CommitBelow(ctx context.Context, blocks []*evm.Block) error {
	err := d.c.checkEnd(ctx, blocks)
	if err == nil {
		err = d.c.rows.CommitBelow(ctx, blocks)
	}
	if err == nil {
		for _, b := range blocks {
			d.c.taken(b, d.c.status().Target, d.proofs)
		}
	}
	return err
}

// fetchOlder fetches blocks below the chain's first one if the operator wants it to
// begin there, and what else the archive is to keep.
func (c *EVM) fetchOlder(cfg ingest.Config[*evm.Block]) error {
	if _, _, started := c.rows.Cursor(); !started {
		c.rows.StartAt(cfg.From)
		return nil
	}
	k := c.keeper.Load()
	proofs := verdict.NewProofs(c.log, c.metrics(), c.node, c.second.Refuted)
	o := &older[*evm.Block]{keeper: k, index: deeper{c, proofs}, nodes: c.from, fetch: beside(cfg, " older"), log: c.log}
	o.check = func() func(context.Context, []*evm.Block) error {
		s := c.newSettling()
		return func(ctx context.Context, blocks []*evm.Block) error { return c.checkBy(ctx, s, blocks) }
	}
	return c.startOlder(o, func(ctx context.Context) (bool, error) {
		if b := c.rows.Begin(); b.Lists < b.Balances {
			c.tokens.Search() // the end may have come before what older blocks name was asked
		}
		wanted, err := c.plan(ctx, o)
		if err == nil && wanted && c.node != nil {
			err = c.start("proofs of older blocks of", proofs.Run)
		}
		return wanted, err
	}, c.tokens.Search)
}

// plan decides down to where o fetches, and reports whether there is anything to do.
func (c *EVM) plan(ctx context.Context, o *older[*evm.Block]) (bool, error) {
	a, begin := o.keeper.sink.archive, c.rows.Begin().Lists
	first, _, ok := a.First()
	want, err := c.wantedStart(ctx)
	if err != nil || !ok {
		return false, err
	}
	keep := a.Keep()
	switch {
	case want > begin:
		o.log.Warn("the chain goes on as it was begun in the data folder, below the start block that is wanted now; to begin there use another folder",
			"first", begin, "wanted", want)
	case want < begin && keep != (archive.Keep{}):
		o.log.Warn("older blocks are not fetched: the archive keeps only the newest ones", "first", begin, "wanted", want)
	case want < begin || first < begin:
		o.down = want
		if first < want {
			o.down = first // in the archive already
		}
		o.log.Info("older blocks are fetched, downwards; lists grow with each range, and sums are made again once the first block of the chain is there",
			"first", begin, "down to", o.down)
		return true, nil
	}
	if keep == (archive.Keep{}) || first <= begin {
		return false, nil
	}
	last, _, _ := a.Last()
	o.down = begin
	if keep.Blocks > 0 {
		o.down = max(begin, last-min(last, keep.Blocks-1))
	}
	if keep.Bytes > 0 {
		o.enough = func() bool { return a.Size() >= keep.Bytes }
		if keep.Blocks > 0 {
			below := o.down
			o.down, o.enough = begin, func() bool {
				first, _, _ := a.First()
				return first <= below && a.Size() >= keep.Bytes
			}
		}
	}
	if first <= o.down || o.enough != nil && o.enough() {
		return false, nil
	}
	o.log.Info("the archive is filled downwards, as far as it is kept", "first", first)
	return true, nil
}
