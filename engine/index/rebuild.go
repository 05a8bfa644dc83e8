package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// Blocks reads blocks that were committed, such as those of an archive.
type Blocks interface {
	// Read yields the blocks from one height to another, both included, in their
	// order. Each is a block of its own, which f may keep and does not change.
	Read(ctx context.Context, from, to uint64, f func(*evm.Block) error) error
}

const (
	// A group of a rebuild has so many transactions, or so many blocks, at most: that
	// fits a transaction of the database, mostly.
	rebuildTxs    = 4096
	rebuildBlocks = 1024
	// switchWithin is how many blocks may be left to make when new blocks begin to
	// wait for the switch.
	switchWithin = 256
	// restRows is after how many rows background work looks whether to rest.
	restRows = 64
)

// Stale returns the tables that the program would make in another way than they
// were made, that are not there, or that lack older blocks since they began above the
// genesis block.
func (c *Chain) Stale() (list []Table) {
	cur := c.last.Load()
	if cur == nil {
		return nil
	}
	for _, t := range Tables() {
		p := tables[t].part
		if (cur.places.of[t].version != tables[t].version || cur.from.late(p)) && !(c.opts.NoRollup && p == partMetrics) {
			list = append(list, t)
		}
	}
	return list
}

// Rebuild makes tables again from blocks, beside those that are served, up to the
// last indexed block, and then puts them in their place. Tables that are made
// together with one of them are made too. Blocks can be committed and views read
// all the time; views that are open keep what they show. It goes on where an
// earlier one was ended, by ctx, an error or the end of the process. progress, if
// not nil, is called with how many blocks the tables have, of how many.
func (c *Chain) Rebuild(ctx context.Context, from Blocks, tables []Table, progress func(done, of uint64)) error {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	ctx, end := c.interruptible(ctx)
	defer end()
	if err := c.sweep(ctx); err != nil {
		return err
	}
	defer c.aside.Store(0)
	want, err := together(tables)
	if err != nil || len(want) == 0 || c.last.Load() == nil {
		return err
	}
	b, err := c.openBuild(want)
	if err == nil {
		err = b.run(ctx, from, progress)
	}
	if err != nil {
		return fmt.Errorf("rebuild tables of chain %s: %w", c.id, err)
	}
	return c.sweep(ctx)
}

// together returns the tables with those that are made with them, in their order.
func together(list []Table) (all []Table, err error) {
	var want [store.TablesEnd]bool
	for _, t := range list {
		if t >= store.TablesEnd || tables[t].name == "" {
			return nil, fmt.Errorf("%w: %s", ErrTable, t)
		}
		for _, other := range Tables() {
			want[other] = want[other] || other == t || tables[t].part != partPure && tables[other].part == tables[t].part
		}
	}
	for _, t := range Tables() {
		if want[t] {
			all = append(all, t)
		}
	}
	return all, nil
}

// build makes tables again. Its rows, and how far it has come, are committed
// together, as those of the chain itself are.
type build struct {
	c        *Chain
	m        *maker
	editions []edition
	made     [store.TablesEnd]bool // those of editions
	begins   begins                // the first blocks of the tables of each part
	first    uint64                // the lowest of those
	cur      cursor                // its head is the last block made
	lacks    bool                  // metrics lack what a block has that was completed meanwhile
	next     uint64
	// compare, if not nil, takes the place of the switch: the tables are compared with
	// those that are served, and removed.
	compare func(s *store.Snapshot, served, made *places) error
	flying  chan error // the end of the commit under way; nil if there is none
	// urgent: new blocks wait for the end, so that nothing rests.
	urgent bool
}

// openBuild goes on with the build in the database, or begins one.
func (c *Chain) openBuild(want []Table) (*build, error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	old, head, err := c.readBuild(s)
	if err != nil {
		return nil, err
	}
	served := c.places()
	if !covers(old, want) {
		if old, err = c.beginBuild(served, old, want); err != nil {
			return nil, err
		}
		head = nil
	}
	at := *served
	from := c.begins()
	b := &build{c: c, editions: old, begins: from.best(), first: math.MaxUint64}
	for _, e := range old {
		at.of[e.table], b.made[e.table] = e.place, true
		b.first = min(b.first, b.begins[tables[e.table].part])
	}
	b.next = b.first
	if head != nil {
		b.cur, b.next = *head, head.head.Number+1
	}
	b.cur.places, b.cur.rolled.Next = &at, b.begins[partMetrics]
	b.m = newMaker(c, &at, func(t Table) bool { return b.made[t] })
	b.m.pipelined = true
	if b.made[store.TableRollup] && b.next > b.begins[partMetrics] {
		if b.cur.rolled, err = loadRolled(s, &at); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// covers reports whether a build makes all wanted tables, by the rules of today.
func covers(list []edition, want []Table) bool {
	has := func(t Table) bool { return slices.ContainsFunc(list, func(e edition) bool { return e.table == t }) }
	return len(list) > 0 &&
		!slices.ContainsFunc(list, func(e edition) bool { return e.version != tables[e.table].version }) &&
		!slices.ContainsFunc(want, func(t Table) bool { return !has(t) })
}

// readBuild reads what is being made again, and how far it is made, nil for nowhere.
func (c *Chain) readBuild(s *store.Snapshot) (list []edition, done *cursor, err error) {
	_, err = s.Get(c.places().rowKey(rowBuilding), func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
			return fmt.Errorf("%w: tables that are made again", errCodec)
		}
		n := 2 + int(binary.BigEndian.Uint16(b))
		if n > 2 {
			done = &cursor{}
			if err := done.decode(b[2:n]); err != nil {
				return err
			}
		}
		list, err = decodeEditions(b[n:])
		return err
	})
	return list, done, err
}

// buildRow returns the row that readBuild reads.
func buildRow(done *cursor, list []edition) []byte {
	var at []byte
	if done != nil {
		at = done.append(nil)
	}
	return appendEditions(append(key(nil).u16(uint16(len(at))), at...), list)
}

// readDropping reads what is to be removed.
func (c *Chain) readDropping() (list []edition, err error) {
	err = c.snapshot(func(s *store.Snapshot) error {
		_, err := s.Get(c.places().rowKey(rowDropping), func(b []byte) (err error) {
			list, err = decodeEditions(b)
			return err
		})
		return err
	})
	return list, err
}

// beginBuild drops an earlier build, if there is one, and begins another.
func (c *Chain) beginBuild(served *places, old []edition, want []Table) (list []edition, err error) {
	for _, t := range want {
		e := edition{t, place{version: tables[t].version, edition: served.of[t].edition + 1}}
		for slices.ContainsFunc(old, func(o edition) bool { return o.table == t && o.edition == e.edition }) {
			e.edition++
		}
		list = append(list, e)
	}
	return list, c.putRows(
		row{served.rowKey(rowBuilding), buildRow(nil, list)},
		row{served.rowKey(rowDropping), appendEditions(nil, old)}, // there were none: they are swept first
	)
}

// putRows writes rows in one transaction.
func (c *Chain) putRows(list ...row) error {
	b, err := c.db.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	for i := range list {
		if err := b.Set(list[i].key, list[i].value); err != nil {
			return err
		}
	}
	return b.Commit()
}

// run makes the tables up to the chain's last block, and puts them in their place.
func (b *build) run(ctx context.Context, from Blocks, progress func(done, of uint64)) (err error) {
	defer func() { err = errors.Join(err, b.land()) }()
	for {
		of := b.c.last.Load().head.Number + 1
		if b.next+b.c.within >= of {
			break
		}
		if err := b.pass(ctx, from, of, progress); err != nil {
			return err
		}
	}
	if err := b.redo(ctx, from); err != nil {
		return err
	}
	s, err := b.finish(ctx, from, progress)
	if err != nil || s == nil {
		return err
	}
	defer s.Close()
	return errors.Join(b.compare(s, b.c.places(), b.m.at), b.c.abandon())
}

// finish makes the tables of the last blocks, while no others are committed, and
// puts the tables in their place, or returns a snapshot to compare them in.
func (b *build) finish(ctx context.Context, from Blocks, progress func(done, of uint64)) (*store.Snapshot, error) {
	c := b.c
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return nil, err
	}
	b.urgent = true
	last := c.last.Load()
	if err := b.pass(ctx, from, last.head.Number+1, progress); err != nil {
		return nil, err
	}
	if b.cur.head.Hash != last.head.Hash {
		return nil, errors.Join(fmt.Errorf("%w: these are blocks of another chain: %d is %s, not %s",
			ErrOrder, b.cur.head.Number, b.cur.head.Hash, last.head.Hash), b.land(), c.abandon())
	}
	if err := b.redo(ctx, from); err != nil {
		return nil, err
	}
	if b.compare != nil {
		return c.db.Snapshot()
	}
	return nil, b.replace(*last)
}

// pass makes the tables of the blocks below a height. They are read, made and
// committed at the same time, each group after the other.
func (b *build) pass(ctx context.Context, from Blocks, of uint64, progress func(done, of uint64)) error {
	if b.next >= of {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	groups := make(chan []*evm.Block, 1)
	ended := make(chan error, 1)
	go func() {
		defer close(groups)
		ended <- b.readGroups(ctx, from, b.next, of-1, groups)
	}()
	b.m.worker = b.worker()
	err := func() error {
		for blocks := range groups {
			b.m.worker.Begin()
			if err := b.group(ctx, blocks); err != nil {
				return err
			}
			if progress != nil {
				progress(b.next, of)
			}
		}
		return nil
	}()
	cancel(err)
	for range groups { // the reader ends when it sees that ctx has
	}
	return errors.Join(err, <-ended, b.land())
}

// readGroups reads blocks and hands them over in groups. Where tables begin, another
// group does.
func (b *build) readGroups(ctx context.Context, from Blocks, first, last uint64, groups chan<- []*evm.Block) error {
	var group []*evm.Block
	next, worker, txs := first, b.worker(), 0
	send := func() error {
		select {
		case groups <- group:
			worker.Begin()
			group, txs = nil, 0
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := from.Read(ctx, first, last, func(blk *evm.Block) error {
		worker.Rest(ctx.Done())
		if blk.Number != next {
			return fmt.Errorf("%w: block %d, want %d", ErrOrder, blk.Number, next)
		}
		if err := ascends(blk); err != nil {
			return err
		}
		next++
		group, txs = append(group, blk), txs+len(blk.Txs)
		if txs < b.c.groupTxs && len(group) < rebuildBlocks && !slices.Contains(b.begins[:], next) {
			return nil
		}
		return send()
	})
	if err == nil && next != last+1 {
		err = fmt.Errorf("%w: blocks end before %d, want %d", ErrOrder, next, last+1)
	}
	if err == nil && len(group) > 0 {
		err = send()
	}
	return err
}

// worker returns a worker of the build.
func (b *build) worker() *yield.Worker {
	if b.urgent {
		return nil
	}
	return b.c.opts.Spare.Worker()
}

// group makes the tables of blocks, and leaves them to be committed.
func (b *build) group(ctx context.Context, blocks []*evm.Block) error {
	if b.next > b.first && blocks[0].Parent != b.cur.head.Hash {
		return fmt.Errorf("%w: block %d has parent %s, want %s", ErrOrder, b.next, blocks[0].Parent, b.cur.head.Hash)
	}
	for _, t := range Tables() {
		b.m.only[t] = b.made[t] && b.next >= b.begins[tables[t].part]
	}
	rows := new(load)
	w := &writer{c: b.c, ctx: ctx, at: b.m.at, load: rows}
	w.later = func(batch *store.Batch) error { return b.launch(ctx, batch, rows.end()) }
	w.land = b.land
	w.mark = func(set func(key, value []byte) error) error {
		return set(w.at.rowKey(rowBuilding), buildRow(&w.done, b.editions))
	}
	w.marked = func() { b.cur, b.next = w.done, w.done.head.Number+1 }
	defer w.discard()
	if err := b.m.group(ctx, blocks, b.cur, b.next == b.first, w); err != nil {
		return err
	}
	b.c.aside.Store(b.m.bytes())
	if b.m.writes(store.TableRollup) {
		b.c.rebuilt.Store(b.next)
	}
	return nil
}

// launch loads rows and then commits a batch, while further rows are made, after what
// was launched before.
func (b *build) launch(ctx context.Context, batch *store.Batch, rows sorter) error {
	if err := b.land(); err != nil {
		batch.Discard()
		return err
	}
	b.flying = make(chan error, 1)
	worker := b.worker()
	go func(ended chan<- error) {
		err := rows.load(ctx, b.c.db, worker)
		if err != nil {
			batch.Discard()
		} else {
			err = batch.Commit()
		}
		ended <- err
	}(b.flying)
	return nil
}

// land waits for the commit under way.
func (b *build) land() error {
	if b.flying == nil {
		return nil
	}
	err := <-b.flying
	b.flying = nil
	return err
}

// replace puts the tables in the place of those that are served, in one
// transaction. The caller holds the commit lock.
func (b *build) replace(cur cursor) error {
	c := b.c
	old := cur.places
	at := *old
	gone, err := c.readDropping()
	if err != nil {
		return err
	}
	for _, e := range b.editions {
		gone = append(gone, edition{e.table, old.of[e.table]})
		at.of[e.table] = e.place
		cur.from[tables[e.table].part] = b.begins[tables[e.table].part]
	}
	for _, e := range at.retired() {
		gone = append(gone, e)
		at.of[e.table] = place{}
	}
	cur.places = &at
	if b.lacks {
		cur.places = at.lacking(partMetrics.has)
	}
	var more []row
	if b.m.writes(store.TableRollup) {
		cur.rolled = b.cur.rolled
		if cur.held != nil {
			cur.held = nil
			more = append(more, row{at.rowKey(rowHeld), nil})
		}
	}
	if b.m.writes(store.TableTxs) && b.m.writes(store.TableAddressTxs) && b.m.writes(store.TableNativeBalances) {
		cur.gaps, cur.traced = b.cur.gaps, b.cur.traced
	}
	c.doubt = true
	list := []row{
		{at.key(store.TableCursor), cur.append(nil)},
		{at.rowKey(rowServing), cur.places.append(nil)},
		{at.rowKey(rowBuilding), nil},
		{at.rowKey(rowDropping), appendEditions(nil, gone)},
	}
	if cur.from != c.begins() {
		more = append(more, row{at.rowKey(rowBegins), cur.from.append(nil)})
	}
	if err := c.putRows(append(list, more...)...); err != nil {
		return errors.Join(err, c.settle())
	}
	c.doubt = false
	m := newMaker(c, cur.places, allTables)
	m.noted = c.maker.noted
	m.tokens, m.stamps, m.cells = c.maker.tokens, c.maker.stamps, c.maker.cells
	if b.m.writes(store.TableTokenBalances) {
		m.tokens = b.m.tokens
	}
	if b.m.writes(store.TableTxCounts) {
		m.cells = b.m.cells
	}
	if b.m.writes(store.TableRollup) {
		m.stamps = b.m.stamps
	}
	c.maker = m
	c.setLast(&cur)
	c.tokenVersion.Add(1) // what was kept of answers may be good no longer
	return nil
}
