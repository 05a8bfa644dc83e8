package index

import (
	"bytes"
	"encoding/binary"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// cells are values that blocks change, each with its history: a row for each block
// that changed it, whose key is that of the cell and ^height. A rewind has only to
// remove the rows of a block.
type cells struct {
	s       *store.Snapshot
	rows    [store.TablesEnd]*store.Rows // by table, as far as they were needed
	changed map[string][]byte            // in the group
}

// cell implements prior.
func (p *stored) cell(k key) ([]byte, error) {
	if value, ok := p.cells.changed[string(k)]; ok || p.below == 0 {
		return value, nil
	}
	if value, ok := p.m.ahead.cells[string(k)]; ok {
		return value, nil
	}
	if value, ok := p.m.cells.get(string(k)); ok {
		return value, nil
	}
	rows := &p.cells.rows[k[0]]
	if *rows == nil {
		var err error
		if *rows, err = p.cells.s.Rows(p.m.at.key(k[0]), false); err != nil {
			return nil, err
		}
	}
	var value []byte
	p.key = append(p.key[:0], k...)
	if p.seek(*rows) {
		if err := (*rows).Value(func(b []byte) error {
			value = bytes.Clone(b)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	p.m.cells.put(string(k), value)
	return value, nil
}

// setCell implements prior.
func (p *stored) setCell(k key, value []byte) { p.cells.changed[string(k)] = bytes.Clone(value) }

// set changes a cell.
func (b *builder) set(k key, value []byte) {
	b.prior.setCell(k, value)
	b.cells[string(k)] = struct{}{}
}

// sums appends the rows of the cells that a block changed.
func (b *builder) sums(blk *evm.Block) error {
	if err := b.tally(b.start(store.TableTxCounts), uint64(len(blk.Txs))); err != nil {
		return err
	}
	for k := range b.cells {
		value, err := b.prior.cell(key(k))
		if err != nil {
			return err
		}
		b.put(append(b.scratch[:0], k...).u64(^blk.Number), value)
	}
	return nil
}

// tally adds to the number in a cell, where its table is made.
func (b *builder) tally(k key, more uint64) error {
	if b.scratch = k; !b.m.writes(k[0]) {
		return nil
	}
	old, err := b.prior.cell(k)
	if err != nil {
		return err
	}
	n := uint64(0)
	if old != nil {
		if n, err = decodeNumber(old); err != nil {
			return err
		}
	}
	b.set(k, binary.AppendUvarint(b.value[:0], n+more))
	return nil
}

func decodeNumber(b []byte) (uint64, error) {
	d := decoder{b: b}
	n := d.uv()
	return n, d.end("number")
}

// gasCost returns what the header of a block says that the block costs, nil if that
// is not known.
func (b *builder) gasCost(blk *evm.Block) *uint256.Int {
	h := &b.header
	if len(blk.Header) == 0 || h.Parse(blk.Header) != nil {
		return nil
	}
	if h.BlockGasCost == nil {
		return new(uint256.Int)
	}
	return h.BlockGasCost
}
