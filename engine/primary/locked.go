package primary

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	store "quorate/engine/store/index"
)

// Add adds to an amount that a row has, or takes from it in the arithmetic of 64 bits. A
// row of nothing is removed.
func (o *Overlay) Add(key Key, amount uint64) error {
	old, _, err := o.Get(key)
	if err != nil {
		return err
	}
	sum, err := decodeAmount(old)
	if err != nil {
		return err
	}
	if sum += amount; sum == 0 {
		o.Delete(key)
		return nil
	}
	o.Put(key, Key(nil).U64(sum))
	return nil
}

// decodeAmount reads a row of an amount; none is nothing.
func decodeAmount(b []byte) (uint64, error) {
	switch len(b) {
	case 0:
		return 0, nil
	case 8:
		return binary.BigEndian.Uint64(b), nil
	}
	return 0, fmt.Errorf("%w: an amount", ErrRow)
}

// here reports whether an output in a state is among what the chain's addresses have.
func (s OutputState) here() bool { return s == Unspent || s == Staked }

// lock notes that a locked output is new, or in another state than before.
func (o *Overlay) lock(u *Output, before *OutputState) error {
	until := max(u.Locktime, u.StakeLock)
	was := before != nil && before.here()
	if until == 0 || u.Kind != utxo.TransferOutput || was == u.State.here() {
		return nil
	}
	amount := u.Amount
	if was {
		amount = -amount
	}
	return o.Add(o.Key(store.PrimaryLocked).ID(u.Asset).U64(until), amount)
}

// maxLocks bounds how many times of the future are looked at.
const maxLocks = 1_000_000

// Locked returns the amount of an asset in outputs whose lock ends after a time, in Unix
// seconds, staked ones among them. What was exported is on no chain before it is imported,
// and not among them. known is false where the rows do not have it: they are of an older
// version and made again, or the locks end at too many times.
func (v *View) Locked(asset chain.ID, after uint64) (sum uint64, known bool, err error) {
	if !v.supplied {
		return 0, false, nil
	}
	prefix := v.Key(store.PrimaryLocked).ID(asset)
	rows, err := v.Rows(prefix, false)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	n := 0
	for rows.Seek(prefix.Clone().U64(after + 1)); rows.Valid() && after+1 > 0; rows.Next() {
		if n++; n > maxLocks {
			return 0, false, nil
		}
		v.read++
		if err := rows.Value(func(b []byte) error {
			amount, err := decodeAmount(b)
			sum += amount
			return err
		}); err != nil {
			return 0, false, err
		}
	}
	return sum, true, nil
}

// Amount returns the amount that a row has; known is as for [View.Locked].
func (v *View) Amount(key Key) (amount uint64, known bool, err error) {
	if !v.supplied {
		return 0, false, nil
	}
	b, _, err := v.Get(key)
	if err == nil {
		amount, err = decodeAmount(b)
	}
	return amount, err == nil, err
}
