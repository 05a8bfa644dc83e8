package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// View reads a chain as it was at one height: rows of later blocks never show, nor do
// those of blocks below the first one, which may be on their way.
// It is not safe for concurrent use, and must be closed soon.
//
// Reads cost what a page holds, not what the chain holds: a list that has to
// pass over many rows ends a page early, with a position to go on from.
type View struct {
	c    *Chain
	s    *store.Snapshot
	at   *places // where the tables lay when the view was opened
	tip  evm.Head
	head uint64 // the last block that was indexed when the view was opened
	from begins
	gaps []Gap

	corrections []Correction // before it was opened

	row   *Tx       // room for what lists yield
	block *BlockRef // that was read last
}

// At opens a view of the chain at height *tip, or at the last indexed block if
// tip is nil. The error is or wraps [ErrEmpty], [ErrAbove] or [ErrBelow] when there
// is no such block yet.
func (c *Chain) At(tip *uint64) (*View, error) {
	corrections := c.Corrections()
	cur := c.last.Load() // before the snapshot, which then has all of it
	if cur == nil {
		return nil, ErrEmpty
	}
	if tip != nil && *tip > cur.head.Number {
		return nil, fmt.Errorf("%w: %d, the last is %d", ErrAbove, *tip, cur.head.Number)
	}
	if first := cur.from[partPure]; tip != nil && *tip < first {
		return nil, fmt.Errorf("%w: %d, the first is %d", ErrBelow, *tip, first)
	}
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	v := &View{c: c, s: s, at: cur.places, tip: cur.head, head: cur.head.Number, from: cur.from, gaps: cur.gaps, corrections: corrections}
	if tip != nil && *tip < cur.head.Number {
		v.tip.Number = *tip
		h, found, err := v.Block(*tip)
		if err == nil && !found {
			err = fmt.Errorf("%w: block %d is missing", errCodec, *tip)
		}
		if err != nil {
			s.Close()
			return nil, err
		}
		v.tip = evm.Head{Number: h.Number, Hash: h.Hash, TimeMilli: h.TimeMilli}
	}
	return v, nil
}

// Close ends the view. Further calls do nothing.
func (v *View) Close() {
	v.s.Close()
	if v.row != nil {
		txRooms.Put(v.row)
		v.row = nil
	}
}

// Tip returns the last block of the view.
func (v *View) Tip() evm.Head { return v.tip }

// First returns the height of the first block of the view.
func (v *View) First() uint64 { return v.from[partPure] }

// Summed reports whether the sums of token transfers are those of all blocks of the
// chain. Where they are not, what contracts say is the balance.
func (v *View) Summed() bool { return v.from[partBalances] == 0 }

// Block returns the block at a height.
func (v *View) Block(number uint64) (h Header, found bool, err error) {
	if number > v.tip.Number || number < v.First() {
		return h, false, nil
	}
	found, err = v.s.Get(v.at.key(store.TableBlocks).u64(number), func(b []byte) (err error) {
		h, err = decodeHeader(number, b)
		return err
	})
	return h, found && err == nil, err
}

// blockRef returns what transactions say of a block, which must be there.
func (v *View) blockRef(number uint64) (*BlockRef, error) {
	if v.block != nil && v.block.Number == number {
		return v.block, nil
	}
	found, err := v.s.Get(v.at.key(store.TableBlocks).u64(number), func(b []byte) error {
		h, err := decodeHeader(number, b)
		v.block = &h.BlockRef
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: block %d is missing", errCodec, number)
	}
	if err != nil {
		v.block = nil
	}
	return v.block, err
}

// BlockNumber returns the height of the block with the given hash.
func (v *View) BlockNumber(hash evm.Hash) (uint64, bool, error) {
	var number uint64
	found, err := v.s.Get(v.at.key(store.TableBlockHashes).hash(&hash), func(b []byte) error {
		if len(b) != heightLen {
			return fmt.Errorf("%w: block by hash", errCodec)
		}
		number = binary.BigEndian.Uint64(b)
		return nil
	})
	if err != nil || !found {
		return 0, false, err
	}
	h, found, err := v.Block(number)
	if err != nil || !found || h.Hash != hash {
		return 0, false, err
	}
	return number, true, nil
}

// Tx returns the transaction with the given hash.
func (v *View) Tx(hash evm.Hash) (*Tx, bool, error) {
	number, index, found, err := v.locate(&hash)
	if err != nil || !found {
		return nil, false, err
	}
	tx, err := v.txAt(number, index)
	if err != nil || tx.Hash != hash {
		return nil, false, err
	}
	return tx, true, nil
}

func (v *View) locate(hash *evm.Hash) (number uint64, index uint32, found bool, err error) {
	found, err = v.s.Get(v.at.key(store.TableTxHashes).hash(hash), func(b []byte) error {
		if len(b) != heightLen+4 {
			return fmt.Errorf("%w: transaction by hash", errCodec)
		}
		number, index = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[heightLen:])
		return nil
	})
	return number, index, found && number <= v.tip.Number && number >= v.First(), err
}

// txAt returns a transaction that must be there.
func (v *View) txAt(number uint64, index uint32) (tx *Tx, err error) {
	block, err := v.blockRef(number)
	if err != nil {
		return nil, err
	}
	err = v.readTx(number, index, func(b []byte) (err error) {
		tx, err = decodeTx(block, index, b)
		return err
	})
	return tx, err
}

// readTx hands the row of a transaction that must be there to read.
func (v *View) readTx(number uint64, index uint32, read func(b []byte) error) error {
	found, err := v.s.Get(v.at.key(store.TableTxs).u64(number).u32(index), read)
	if err == nil && !found {
		err = fmt.Errorf("%w: transaction %d of block %d is missing", errCodec, index, number)
	}
	return err
}

// WarpMessages returns the unsigned warp messages that a transaction sent.
func (v *View) WarpMessages(txHash evm.Hash) ([][]byte, error) {
	tx, found, err := v.Tx(txHash)
	if err != nil || !found {
		return nil, err
	}
	var list [][]byte
	err = v.each(v.at.key(store.TableWarp).u64(tx.Block.Number).u32(tx.Index), 4, func(_, b []byte) error {
		list = append(list, bytes.Clone(b))
		return nil
	})
	return list, err
}

// HasWarpIDs reports whether [View.WarpMessage] knows all messages.
func (v *View) HasWarpIDs() bool { return v.at.has(store.TableWarpIDs) }

// WarpMessage returns the unsigned warp message with an ID, nil if the chain sent none.
func (v *View) WarpMessage(id chain.ID) (msg []byte, err error) {
	prefix := v.at.key(store.TableWarpIDs).hash((*evm.Hash)(&id))
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(v.First()))
	if !rows.Valid() {
		return nil, nil
	}
	place := rows.Key()[len(prefix):]
	if len(place) != heightLen+4+4 {
		return nil, fmt.Errorf("%w: key of a warp message's ID", errCodec)
	}
	if binary.BigEndian.Uint64(place) > v.tip.Number {
		return nil, nil
	}
	_, err = v.s.Get(append(v.at.key(store.TableWarp), place...), func(b []byte) error {
		if sha256.Sum256(b) == id {
			msg = bytes.Clone(b)
		}
		return nil
	})
	return msg, err
}

// newest hands the value of the newest row of a history to read. The prefix is all of
// the key but the height.
func (v *View) newest(prefix key, read func(b []byte) error) (bool, error) {
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	rows.Seek(prefix.u64(^v.tip.Number))
	if !rows.Valid() || ^binary.BigEndian.Uint64(rows.Key()[len(prefix):]) < v.First() {
		return false, nil
	}
	return true, rows.Value(read)
}

// bounds returns the lowest and highest height of a page; ok is false if there is none.
func (v *View) bounds(p *Page) (lo, hi uint64, ok bool) {
	hi = v.tip.Number
	if p.To != math.MaxUint64 {
		if p.To == 0 {
			return 0, 0, false
		}
		hi = min(hi, p.To-1)
	}
	lo = max(p.From, v.First())
	return lo, hi, lo <= hi
}
