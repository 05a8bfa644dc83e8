package index

import (
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// NativeBalance returns the native balance of an address in wei. It is what the
// account had after the last block that may have changed it or, before the first
// one, what it had before that. It is not known if no traced block has changed the
// account, nor where a block that was not traced may have done so in between.
func (v *View) NativeBalance(a evm.Address) (wei uint256.Int, known bool, err error) {
	prefix := v.at.key(store.TableNativeBalances).addr(&a)
	after, _, height, found, err := v.nativeRow(prefix, v.tip.Number, false)
	if err != nil || found && !untraced(v.gaps, height, v.tip.Number) {
		return after, err == nil, err
	}
	if v.at.of[store.TableOldNative].version > 0 {
		return v.oldNative(&a)
	}
	if v.tip.Number == v.head {
		return wei, false, nil
	}
	_, before, height, found, err := v.nativeRow(prefix, v.tip.Number+1, true)
	if err != nil || !found || height > v.head || untraced(v.gaps, v.tip.Number, height-1) {
		return wei, false, err
	}
	return before, true, nil
}

// nativeRow reads the row of the last height up to number, or of the first from
// number on if up.
func (v *View) nativeRow(prefix key, number uint64, up bool) (after, before uint256.Int, height uint64, found bool, err error) {
	rows, err := v.s.Rows(prefix, up)
	if err != nil {
		return after, before, 0, false, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(^number))
	if !rows.Valid() {
		return after, before, 0, false, nil
	}
	height = ^binary.BigEndian.Uint64(rows.Key()[len(prefix):])
	if height < v.First() {
		return after, before, 0, false, nil
	}
	return after, before, height, true, rows.Value(func(b []byte) (err error) {
		d := decoder{b: b}
		d.u256(&after)
		if d.err != nil {
			return d.err
		}
		before, err = decodeAmount(d.b)
		return err
	})
}

// oldNative reads the balance from the rows of a program before this one, which end
// where this one's begin.
func (v *View) oldNative(a *evm.Address) (wei uint256.Int, known bool, err error) {
	prefix := v.at.key(store.TableOldNative).addr(a)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return wei, false, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(^v.tip.Number))
	if !rows.Valid() {
		return wei, false, nil
	}
	k := rows.Key()
	if len(k) != len(prefix)+heightLen {
		return wei, false, fmt.Errorf("%w: native balance", errCodec)
	}
	if untraced(v.gaps, ^binary.BigEndian.Uint64(k[len(prefix):]), v.tip.Number) {
		return wei, false, nil
	}
	err = rows.Value(func(b []byte) (err error) {
		wei, err = decodeAmount(b)
		return err
	})
	return wei, err == nil, err
}
