package follow

import (
	"context"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	containersource "quorate/engine/source/container"
)

// least returns the height of the first block that nodes have.
func (p *Primary) least() uint64 {
	if p.cfg.Chain == primary.CChain {
		return 1 // no node has a container of the genesis block
	}
	return 0
}

// wantedStart returns the block with which the operator wants the chain to begin.
// Vertices are of use from the first one on alone.
func (p *Primary) wantedStart(ctx context.Context) (uint64, error) {
	if p.cfg.Start == (StartBlock{}) || p.cfg.Chain == primary.XVertices {
		return p.least(), nil
	}
	height := p.cfg.Start.Height
	if p.cfg.Start.Below {
		tip, err := p.client.Tip(ctx)
		if err != nil {
			return 0, err
		}
		height = tip.Height - min(height, tip.Height)
	}
	return max(height, p.least()), nil
}

// chooseStart returns the height from which on the chain is followed where nothing is
// kept of it.
func (p *Primary) chooseStart(ctx context.Context) (height uint64, err error) {
	if _, ok := p.keeper.sink.Cursor(); ok {
		return p.least(), nil
	}
	if height, err = p.wantedStart(ctx); err == nil && height > p.least() {
		p.log.Info("the chain is followed from a block above its first one", "from", height)
	}
	return height, err
}

// archived is the index of older blocks of a chain whose rows are made again from the
// first block on when all of them are there: those of one block follow from all before.
type archived struct{ archive *archive.Archive }

// First implements [olderIndex].
func (a archived) First() uint64 {
	first, _, _ := a.archive.First()
	return first
}

// CommitBelow implements [olderIndex].
func (archived) CommitBelow(context.Context, []*primary.Block) error { return nil }

// certain are nodes that need not be asked whether they have a block: each is known by
// the one above it, whoever gave it.
type certain struct{ *containersource.Client }

// Witness implements [ingest.Witness].
func (certain) Witness(context.Context, uint64, chain.ID) (with, against int, err error) {
	return 1, 0, nil
}

// fetchOlder fetches blocks below the archive's first one if the operator wants the chain
// to begin there, and then has the rows made again.
func (p *Primary) fetchOlder(cfg ingest.Config[*primary.Block]) error {
	k := p.keeper
	if _, ok := k.sink.index.Cursor(); !ok {
		return nil // it begins as it is wanted
	}
	return p.cfg.Host.Go("older blocks of "+p.cfg.Name, func(ctx context.Context) error {
		for _, e := range []*event{&k.joined, &k.tended} {
			select {
			case <-e.done:
			case <-ctx.Done():
				return nil
			}
		}
		o := &older[*primary.Block]{keeper: k, index: archived{k.sink.archive}, nodes: certain{p.client}, fetch: beside(cfg, " older"), log: p.log}
		if !k.retry(ctx, "the block with which the chain is to begin is not known", func(error) {}, func() (err error) {
			o.down, err = p.wantedStart(ctx)
			return err
		}) {
			return nil
		}
		begun, _ := p.first()
		first, _, ok := k.sink.archive.First()
		switch {
		case !ok || begun <= o.down:
			return p.giveUp(ctx)
		case first > o.down && k.sink.archive.Keep() != (archive.Keep{}):
			p.log.Warn("older blocks are not fetched: the archive keeps only the newest ones", "first", first, "wanted", o.down)
			return p.giveUp(ctx)
		}
		p.log.Info("older blocks are fetched, downwards; the index is made again when all of them are there", "first", first, "down to", o.down)
		if !o.Run(ctx) {
			return nil
		}
		p.deeper.Store(true)
		k.reached()
		return nil
	})
}

// giveUp removes rows that were half made for older blocks, which are not wanted any more.
func (p *Primary) giveUp(ctx context.Context) error {
	if p.rows != nil {
		p.keeper.retry(ctx, "rows that were half made for older blocks are not removed yet", func(error) {}, func() error { return p.rows.GiveUp(ctx) })
	}
	return nil
}
