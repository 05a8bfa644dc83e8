package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	store "quorate/engine/store/index"
)

// setLast makes cur what readers see of the chain.
func (c *Chain) setLast(cur *cursor) {
	c.last.Store(cur)
	c.changed.Tell()
}

// Changed returns a channel that is closed when the last indexed block changes: it is
// another one, or the chain went back. Take it before looking at the chain, and no
// change is missed.
func (c *Chain) Changed() <-chan struct{} { return c.changed.Wait() }

// WholeTxs yields the transactions of a block in their order, each as [View.Tx]
// returns it. They may be kept.
func (v *View) WholeTxs(number uint64, take func(tx *Tx)) error {
	if number > v.tip.Number || number < v.First() {
		return nil
	}
	block, err := v.blockRef(number)
	if err != nil {
		return err
	}
	return v.each(v.at.key(store.TableTxs).u64(number), 4, func(suffix, b []byte) error {
		tx, err := decodeTx(block, binary.BigEndian.Uint32(suffix), b)
		if err == nil {
			take(tx)
		}
		return err
	})
}

// Warp is an unsigned warp message that a transaction of a block sent.
type Warp struct {
	TxIndex, LogIndex uint32
	Message           []byte
}

// Warps returns the warp messages of a block in their order.
func (v *View) Warps(number uint64) (list []Warp, err error) {
	if number > v.tip.Number || number < v.First() {
		return nil, nil
	}
	err = v.each(v.at.key(store.TableWarp).u64(number), 4+4, func(suffix, b []byte) error {
		list = append(list, Warp{binary.BigEndian.Uint32(suffix), binary.BigEndian.Uint32(suffix[4:]), bytes.Clone(b)})
		return nil
	})
	return list, err
}

// each yields the rows below a prefix, whose keys go on with suffix bytes.
func (v *View) each(prefix key, suffix int, take func(suffix, value []byte) error) error {
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		k := rows.Key()[len(prefix):]
		if len(k) != suffix {
			return fmt.Errorf("%w: key of %d bytes", errCodec, len(prefix)+len(k))
		}
		if err := rows.Value(func(b []byte) error { return take(k, b) }); err != nil {
			return err
		}
	}
	return nil
}

// NextWarp returns the height of the first block at or above from that sent a warp
// message.
func (v *View) NextWarp(from uint64) (height uint64, found bool, err error) {
	prefix := v.at.key(store.TableWarp)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(max(from, v.First())))
	if !rows.Valid() {
		return 0, false, nil
	}
	k := rows.Key()[len(prefix):]
	if len(k) < heightLen {
		return 0, false, fmt.Errorf("%w: key of a warp message", errCodec)
	}
	height = binary.BigEndian.Uint64(k)
	return height, height <= v.tip.Number, nil
}
