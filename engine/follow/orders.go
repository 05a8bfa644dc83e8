package follow

import (
	"context"
	"errors"

	"quorate/engine/index"
)

// order is work on tables that someone has asked for and waits for.
type order struct {
	ctx   context.Context // of who waits
	do    func(ctx context.Context, progress func(done, of uint64)) error
	ended chan error // has room for one
}

// errUnfinished is what an order ends with that came to no end.
var errUnfinished = errors.New("given up")

// carryOut does what was ordered, until ctx or that of the order ends. Damage that it
// meets is mended first.
func (k *keeper[B]) carryOut(ctx context.Context, o *order) {
	err := errUnfinished
	defer func() { o.ended <- err }()
	defer k.work.Store(nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(o.ctx, func() { cancel(context.Cause(o.ctx)) })()
	err = k.mending(ctx, func() error {
		return o.do(ctx, k.progress(WorkRebuild, "tables of the index are made again from the archive, as was ordered"))
	})
}

// Reindex makes tables of the index again from the archive, those that are stale
// without any, while the old ones are served, and returns what was made of how many
// blocks. It waits until archive and index are together. When it is ended by ctx, the
// next call goes on where it was.
func (c *EVM) Reindex(ctx context.Context, tables []index.Table, progress func(done, of uint64)) (made []index.Table, blocks uint64, err error) {
	k := c.keeper.Load()
	if k == nil {
		return nil, 0, errNotAsked
	}
	err = k.obey(ctx, func(ctx context.Context, shown func(done, of uint64)) error {
		if made = tables; made == nil {
			made = c.rows.Stale()
		}
		return c.rows.Rebuild(ctx, k.sink.reader, made, func(done, of uint64) {
			shown(done, of)
			progress(done, of)
		})
	})
	if number, _, ok := c.rows.Cursor(); ok {
		blocks = number + 1
	}
	return made, blocks, err
}

// Reindex makes the rows again from the archive, if they are stale or all is set, while
// the old ones are served, and returns of how many blocks they were made, 0 if they were
// not. It waits until archive and index are together. When it is ended by ctx, the next
// call goes on where it was.
func (p *Primary) Reindex(ctx context.Context, all bool, progress func(done, of uint64)) (blocks uint64, err error) {
	err = p.keeper.Load().obey(ctx, func(ctx context.Context, shown func(done, of uint64)) error {
		if !all && !p.rows.Stale() {
			return nil
		}
		err := p.rows.Remake(ctx, p.keeper.Load().sink.reader, func(done, of uint64) {
			shown(done, of)
			progress(done, of)
		})
		first, _ := p.rows.First()
		if head, ok := p.rows.Cursor(); ok && err == nil {
			blocks = head.Height - first + 1
		}
		return err
	})
	return blocks, err
}

// obey has the keeper do something, and waits for it.
func (k *keeper[B]) obey(ctx context.Context, do func(ctx context.Context, progress func(done, of uint64)) error) error {
	o := &order{ctx: ctx, do: do, ended: make(chan error, 1)}
	select {
	case k.orders <- o:
		return <-o.ended // soon after the end of ctx
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
