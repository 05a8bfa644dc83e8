package index

import (
	"context"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Roll makes the metrics of the chain from its own rows, if they are not there:
// of blocks that were indexed without them, or by rules whose rows cannot be read
// any more. It is a [Chain.Rebuild] that needs no archive. If other tables are being
// made again it does nothing: what makes them makes the metrics too.
func (c *Chain) Roll(ctx context.Context, progress func(done, of uint64)) error {
	cur := c.last.Load()
	if c.opts.NoRollup || cur == nil || cur.places.has(store.TableRollup) {
		return nil
	}
	return c.Reroll(ctx, progress)
}

// Reroll makes the metrics of the chain again, from its own rows.
func (c *Chain) Reroll(ctx context.Context, progress func(done, of uint64)) error {
	var others bool
	if err := c.snapshot(func(s *store.Snapshot) error {
		list, _, err := c.readBuild(s)
		for _, e := range list {
			others = others || tables[e.table].part != partMetrics
		}
		return err
	}); err != nil || others {
		return err
	}
	return c.Rebuild(ctx, ownRows{c}, []Table{store.TableRollup}, progress)
}

// ownRows reads blocks from the chain's own rows: of their transactions the
// transfers, as logs, and the calls. That is what metrics are made from.
type ownRows struct{ c *Chain }

// ownRowsBlocks is for how many blocks one snapshot is open.
const ownRowsBlocks = 4096

// Read implements [Blocks].
func (o ownRows) Read(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
	for from <= to {
		last := min(to, from+ownRowsBlocks-1)
		if err := o.c.snapshot(func(s *store.Snapshot) error {
			r, err := newReader(s, o.c.places(), from)
			if err != nil {
				return err
			}
			for number := from; number <= last; number++ {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				b, err := r.block(number)
				if err == nil {
					err = f(b)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		from = last + 1
	}
	return nil
}

// reader reads stored blocks one after the other.
type reader struct{ blocks, txs *store.Rows }

// newReader begins at a height.
func newReader(s *store.Snapshot, at *places, from uint64) (*reader, error) {
	var r reader
	for _, t := range [...]struct {
		table byte
		rows  **store.Rows
	}{{store.TableBlocks, &r.blocks}, {store.TableTxs, &r.txs}} {
		rows, err := s.Rows(at.key(t.table), false)
		if err != nil {
			return nil, err
		}
		rows.Seek(at.key(t.table).u64(from))
		*t.rows = rows
	}
	return &r, nil
}

// block reads the next block.
func (r *reader) block(number uint64) (*evm.Block, error) {
	if !r.blocks.Valid() || binary.BigEndian.Uint64(r.blocks.Key()[leadLen:]) != number {
		return nil, fmt.Errorf("%w: block %d is missing", errCodec, number)
	}
	var h Header
	if err := r.blocks.Value(func(b []byte) (err error) {
		h, err = decodeHeader(number, b)
		return err
	}); err != nil {
		return nil, err
	}
	r.blocks.Next()
	b := &evm.Block{
		Number: number, Hash: h.Hash, Parent: h.Parent, TimeMilli: h.TimeMilli, GasLimit: h.GasLimit, GasUsed: h.GasUsed,
		BaseFee: h.BaseFee, Reserved: h.Reserved, Miner: h.Miner, Size: h.Size, Traced: h.Traced, Txs: make([]evm.Tx, 0, h.TxCount),
	}
	log := uint32(0)
	for ; r.txs.Valid(); r.txs.Next() {
		k := r.txs.Key()[leadLen:]
		if binary.BigEndian.Uint64(k) != number {
			break
		}
		if err := r.txs.Value(func(v []byte) error {
			tx, err := decodeTx(&h.BlockRef, binary.BigEndian.Uint32(k[heightLen:]), v)
			if err != nil {
				return err
			}
			for i := range tx.Transfers {
				tx.Logs = append(tx.Logs, tx.Transfers[i].log(log))
				log++
			}
			b.Txs = append(b.Txs, tx.Tx)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if len(b.Txs) != int(h.TxCount) {
		return nil, fmt.Errorf("%w: %d of %d transactions of block %d", errCodec, len(b.Txs), h.TxCount, number)
	}
	return b, nil
}

// log returns a log that tells of the transfer alone; an item of a batch has one
// of its own.
func (t *Transfer) log(index uint32) evm.Log {
	pad := func(a *evm.Address) (h evm.Hash) {
		copy(h[evm.HashLen-evm.AddressLen:], a[:])
		return h
	}
	id, value := t.ID.Bytes32(), t.Value.Bytes32()
	l := evm.Log{Index: index, Address: t.Token}
	switch t.Kind {
	case ERC20:
		l.Topics, l.Data = []evm.Hash{topicTransfer, pad(&t.From), pad(&t.To)}, value[:]
	case ERC721:
		l.Topics = []evm.Hash{topicTransfer, pad(&t.From), pad(&t.To), id}
	case ERC1155:
		l.Topics, l.Data = []evm.Hash{topicTransferSingle, {}, pad(&t.From), pad(&t.To)}, append(id[:], value[:]...)
	}
	return l
}
