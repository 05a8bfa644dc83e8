package primary

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	store "quorate/engine/store/index"
)

// Difference is a row that is not what blocks say.
type Difference struct {
	Table byte // of engine/store/index
	// Key is the sort key of the row, as store's layout has it.
	Key []byte
	// Want and Have are its values; nil if there should be no row, or is none.
	Want, Have []byte
}

// String names the row and what is wrong with it.
func (d Difference) String() string {
	name := fmt.Sprintf("table %#x: row %s", d.Table, hex.EncodeToString(d.Key))
	switch {
	case d.Have == nil:
		return name + " is missing"
	case d.Want == nil:
		return name + " follows from no block"
	}
	return fmt.Sprintf("%s is %s, want %s", name, short(d.Have), short(d.Want))
}

// short writes a value, the first bytes of a long one.
func short(b []byte) string {
	if len(b) <= 64 {
		return "0x" + hex.EncodeToString(b)
	}
	return fmt.Sprintf("0x%s... of %d bytes", hex.EncodeToString(b[:64]), len(b))
}

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
			n, err = s.Compare(ctx, c.Space().Key(t), b.Space().Key(t), nil, func(key, have, want []byte) {
				report(Difference{t, bytes.Clone(key), bytes.Clone(want), bytes.Clone(have)})
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
