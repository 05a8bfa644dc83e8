package index

import (
	"context"
	"fmt"

	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// Difference is a row of a table that is not what blocks say.
type Difference struct {
	Table Table
	store.Difference
}

// String names the row and what is wrong with it.
func (d Difference) String() string { return d.Text(d.Table.String()) }

// Check makes all tables again from blocks, beside those that are served, compares
// row by row, and removes them. It reports each difference and returns how many rows it
// has compared. Tables that are stale are left out: they differ by other rules. So are
// metrics that begin above other tables, with blocks that nobody had traced: older
// blocks tell that others are traced.
// Blocks can be committed meanwhile. A rebuild under way is given up. It takes as
// much room on disk as the tables do.
func (c *Chain) Check(ctx context.Context, from Blocks, progress func(done, of uint64), report func(Difference)) (rows uint64, err error) {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	ctx, end := c.interruptible(ctx)
	defer end()
	cur := c.last.Load()
	if cur == nil {
		return 0, nil
	}
	var list []Table
	for _, t := range Tables() {
		if cur.places.of[t].version == tables[t].version && cur.repeatable(tables[t].part) {
			list = append(list, t)
		}
	}
	if err := c.abandon(); err != nil {
		return 0, err
	}
	if err := c.sweep(ctx); err != nil {
		return 0, err
	}
	defer c.aside.Store(0)
	b, err := c.openBuild(list)
	if err == nil {
		b.compare = func(s *store.Snapshot, served, made *places) error {
			for _, t := range list {
				n, err := compareTable(ctx, c.opts.Spare, s, t, served, made, report)
				if rows += n; err != nil {
					return fmt.Errorf("%s: %w", t, err)
				}
			}
			return nil
		}
		err = b.run(ctx, from, progress)
	}
	if err != nil {
		return rows, fmt.Errorf("check chain %s: %w", c.id, err)
	}
	return rows, c.sweep(ctx)
}

// compareTable goes through two editions of a table side by side.
func compareTable(ctx context.Context, spared *yield.Time, s *store.Snapshot, t Table, served, made *places, report func(Difference)) (n uint64, err error) {
	worker := spared.Worker()
	return s.Compare(ctx, served.key(byte(t)), made.key(byte(t)), func() { worker.Rest(ctx.Done()) }, func(d store.Difference) {
		report(Difference{t, d})
	})
}
