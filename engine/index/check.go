package index

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"quorate/engine/spare"
	store "quorate/engine/store/index"
)

// Difference is a row that is not what blocks say.
type Difference struct {
	Table Table
	// Key is the sort key of the row, as store's layout has it.
	Key []byte
	// Want and Have are its values; nil if there should be no row, or is none.
	Want, Have []byte
}

// String names the row and what is wrong with it.
func (d Difference) String() string {
	name := fmt.Sprintf("%s: row %s", d.Table, hex.EncodeToString(d.Key))
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

// compareEvery is after how many rows the end of the context is looked for.
const compareEvery = 1 << 12

// compareTable goes through two editions of a table side by side.
func compareTable(ctx context.Context, spared *spare.Time, s *store.Snapshot, t Table, served, made *places, report func(Difference)) (n uint64, err error) {
	have, err := openSide(s, served.key(byte(t)))
	if err != nil {
		return 0, err
	}
	defer have.rows.Close()
	want, err := openSide(s, made.key(byte(t)))
	if err != nil {
		return 0, err
	}
	defer want.rows.Close()
	worker := spared.Worker()
	for have.key != nil || want.key != nil {
		if n%restRows == 0 {
			worker.Rest(ctx.Done())
		}
		if n++; n%compareEvery == 0 && ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		order := bytes.Compare(have.key, want.key)
		switch { // no key is behind all keys
		case have.key == nil:
			order = 1
		case want.key == nil:
			order = -1
		}
		d := Difference{Table: t}
		if order <= 0 {
			d.Key, d.Have = have.key, have.value
		}
		if order >= 0 {
			d.Key, d.Want = want.key, want.value
		}
		if order != 0 || !bytes.Equal(d.Have, d.Want) {
			report(Difference{t, bytes.Clone(d.Key), bytes.Clone(d.Want), bytes.Clone(d.Have)})
		}
		if order <= 0 {
			err = have.next()
		}
		if order >= 0 && err == nil {
			err = want.next()
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// side is one edition of a table. Its key is nil at the end.
type side struct {
	rows       *store.Rows
	lead       int
	key, value []byte
	keyRoom    []byte
}

func openSide(s *store.Snapshot, lead []byte) (*side, error) {
	rows, err := s.Rows(lead, false)
	if err != nil {
		return nil, err
	}
	rows.Seek(lead)
	d := &side{rows: rows, lead: len(lead), value: []byte{}}
	return d, d.read()
}

func (d *side) next() error {
	d.rows.Next()
	return d.read()
}

func (d *side) read() error {
	if !d.rows.Valid() {
		d.key = nil
		return nil
	}
	d.keyRoom = append(d.keyRoom[:0], d.rows.Key()[d.lead:]...)
	if d.key = d.keyRoom; d.key == nil {
		d.key = []byte{} // a table of one row
	}
	return d.rows.Value(func(b []byte) error {
		d.value = append(d.value[:0], b...)
		return nil
	})
}
