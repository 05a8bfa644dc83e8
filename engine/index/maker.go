package index

import (
	"context"
	"fmt"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
	"quorate/engine/yield"
	"quorate/rollup"
)

// maker makes the rows of tables, block after block: of those that are served, or
// of those that are made again. It is not safe for concurrent use.
type maker struct {
	c    *Chain
	at   *places
	only [256]bool // the tables to make

	// What is known of the rows before the next block. The caches hold what is
	// committed, or what ahead holds too.
	tokens *cache[holding, balance]
	noted  *cache[SeenToken, struct{}]
	stamps *cache[evm.Address, rollup.Stamp]
	cells  *cache[string, []byte]
	hours  *rollup.Hours // nil: they are read before the next block
	// ahead is what the group before has changed, if it is being committed while
	// the next one is made.
	ahead ahead
	// worker rests between the blocks of a group; nil does not.
	worker *yield.Worker
	// pipelined: a group is made while the one before is being committed.
	pipelined bool
	roll      *roll // of the group before, if pipelined
	builder   *builder
}

// ahead holds changes that a snapshot may not show yet.
type ahead struct {
	tokens map[holding]balance
	cells  map[string][]byte
}

// allTables takes all tables that follow from blocks.
func allTables(Table) bool { return true }

// newMaker returns a maker of the tables that take wants. Pure tables are also
// made where they are not served yet; folds need what was before.
func newMaker(c *Chain, at *places, take func(Table) bool) *maker {
	m := &maker{c: c, at: at}
	for _, t := range Tables() {
		m.only[t] = take(t) && (tables[t].part == partPure || at.has(byte(t)))
	}
	size := c.opts.Remember
	m.tokens = newCache[holding, balance](size / 2)
	m.noted = newCache[SeenToken, struct{}](size / 20)
	m.stamps = newCache[evm.Address, rollup.Stamp](size / 2)
	m.cells = newCache[string, []byte](size / 20)
	m.builder = &builder{
		m: m, roles: map[evm.Address]Role{},
		balances: map[holding]struct{}{}, owners: map[NFT]evm.Address{}, cells: map[string]struct{}{},
	}
	return m
}

// What a balance, a stamp and the name of a token take in memory, about.
const (
	tokenBytes = 200
	stampBytes = 60
	notedBytes = 60
	cellBytes  = 250
	// RememberBytes is what each balance takes with its share of the others.
	RememberBytes = tokenBytes + stampBytes + notedBytes/10 + cellBytes/10
)

// bytes returns about how many bytes the maker remembers.
func (m *maker) bytes() int64 {
	return int64(tokenBytes*m.tokens.len() + stampBytes*m.stamps.len() + notedBytes*m.noted.len() + cellBytes*m.cells.len())
}

// writes reports whether a table is one of those that are made.
func (m *maker) writes(table byte) bool { return m.only[table] }

// group makes the rows of blocks, which follow on cur, or on nothing if first, and
// writes them.
func (m *maker) group(ctx context.Context, blocks []*evm.Block, cur cursor, first bool, w *writer) error {
	s, err := m.c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	below := uint64(0) // heights from here on are not made yet
	if !first {
		below = cur.head.Number + 1
	}
	p, err := newStored(m, s, below)
	if err != nil {
		return err
	}
	if err := p.load(ctx, blocks); err != nil {
		return err
	}
	b := m.builder
	b.begin(p)
	if m.writes(store.TableRollup) {
		if b.roll, err = m.newRoll(s, &cur.rolled); err != nil {
			return err
		}
	}
	w.roll = b.roll
	for _, blk := range blocks {
		b.rows.list, b.rows.bytes = b.rows.list[:0], 0
		b.lenient = cur.traced
		if err := b.apply(blk); err != nil {
			return fmt.Errorf("index block %d: %w", blk.Number, err)
		}
		cur.take(blk)
		if err := w.block(&b.rows, cur); err != nil {
			return fmt.Errorf("index block %d: %w", blk.Number, err)
		}
		m.worker.Rest(ctx.Done())
	}
	if err := w.flush(); err != nil {
		return err
	}
	p.keep()
	if m.pipelined {
		m.ahead, m.roll = ahead{p.changed, p.cells.changed}, b.roll
	}
	return nil
}

// alone makes each group wait for the one before, which must be committed by now.
func (m *maker) alone() { m.pipelined, m.roll, m.ahead = false, nil, ahead{} }

// begin makes the builder ready for another group.
func (b *builder) begin(p prior) {
	b.prior, b.roll = p, nil
	b.seen, b.nfts = b.seen[:0], b.nfts[:0]
	b.rows.chunk = nil // its rows may still be referred to after a failed commit
}
