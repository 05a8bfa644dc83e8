package primary

import (
	"encoding/binary"
	"fmt"
	"math"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	store "quorate/engine/store/index"
)

// Add adds to an amount that a row has.
func (o *Overlay) Add(key Key, amount uint64) error {
	old, _, err := o.Get(key)
	if err != nil {
		return err
	}
	sum, err := decodeAmount(old)
	if err != nil {
		return err
	}
	o.Put(key, Key(nil).U64(sum+amount))
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
	list, end := o.Key(store.PrimaryLocked).ID(u.Asset), Key(nil).U64(until)
	b, _, err := o.GetLive(list, end)
	if err != nil {
		return err
	}
	sum, err := decodeAmount(b)
	if err != nil {
		return err
	}
	if was {
		sum -= u.Amount
	} else {
		sum += u.Amount
	}
	if sum == 0 {
		return o.DeleteLive(list, end)
	}
	return o.PutLive(list, end, Key(nil).U64(sum))
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
	if after == math.MaxUint64 {
		return 0, true, nil
	}
	l := &Lists{Live: []Key{v.Key(store.PrimaryLocked).ID(asset)}, From: Key(nil).U64(after + 1)}
	more, err := v.List(l, &Page{Limit: maxLocks, Asc: true}, func(_, value []byte) (Result, error) {
		amount, err := decodeAmount(value)
		sum += amount
		return Taken, err
	})
	if more != nil || err != nil {
		return 0, false, err
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
