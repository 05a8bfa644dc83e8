package primary

import (
	"context"
	"fmt"

	store "quorate/engine/store/index"
)

// Difference is a row that is not what blocks say.
type Difference struct {
	Table byte // of engine/store/index
	store.Difference
}

// String names the row and what is wrong with it.
func (d Difference) String() string { return d.Text(fmt.Sprintf("table %#x", d.Table)) }

// Check makes all rows again from blocks, beside those that are served, compares them
// one by one, and removes them. It reports each difference and returns how many rows it
// has compared. Rows that are stale are not looked at: they differ by other rules.
// Blocks can be committed meanwhile. Rows that were half made again are given up. It
// takes as much room on disk as the rows do.
func (c *Chain) Check(ctx context.Context, from Blocks, progress func(done, of uint64), report func(Difference)) (rows uint64, err error) {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	at := c.at.Load()
	if at.cursor == nil || c.Stale() {
		return 0, nil
	}
	b, err := c.openBuild(ctx, buildCheck, at.cursor.first)
	if err != nil {
		return 0, err
	}
	var s *store.Snapshot
	err = c.abreast(ctx, b, from, at.cursor.first, progress, func() (err error) {
		s, err = c.db.Snapshot()
		return err
	})
	if err == nil {
		defer s.Close()
		for _, t := range rowTables() {
			var n uint64
			n, err = s.Compare(ctx, c.Space().Key(t), b.Space().Key(t), nil, func(d store.Difference) {
				report(Difference{t, d})
			})
			if rows += n; err != nil {
				break
			}
		}
	}
	if err != nil {
		return rows, fmt.Errorf("check rows of the primary network: %w", err)
	}
	return rows, c.dropBuild(ctx)
}

// rowTables returns the tables whose rows follow from blocks.
func rowTables() []byte {
	list := []byte{store.PrimaryCursor}
	for t := byte(store.PrimaryBlocks); t < store.PrimaryEnd; t++ {
		list = append(list, t)
	}
	return list
}
