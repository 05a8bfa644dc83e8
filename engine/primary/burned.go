package primary

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// Balance adds up what a transaction takes and makes of each asset. What it takes and
// does not make is burned: of AVAX that is its fee.
type Balance struct{ list []assetBalance }

type assetBalance struct {
	asset    chain.ID
	in, made uint64
}

func (b *Balance) of(asset chain.ID) *assetBalance {
	for i := range b.list {
		if b.list[i].asset == asset {
			return &b.list[i]
		}
	}
	b.list = append(b.list, assetBalance{asset: asset})
	return &b.list[len(b.list)-1]
}

// Take adds an amount that the transaction takes, Make one that it makes.
func (b *Balance) Take(asset chain.ID, amount uint64) { b.of(asset).in += amount }

// Make adds an amount that the transaction makes.
func (b *Balance) Make(asset chain.ID, amount uint64) { b.of(asset).made += amount }

// TakeAll adds the amounts of inputs.
func (b *Balance) TakeAll(list []utxo.Input) {
	for i := range list {
		b.Take(list[i].Asset, list[i].Amount)
	}
}

// MakeAll adds the amounts of outputs.
func (b *Balance) MakeAll(list []utxo.Output) {
	for i := range list {
		b.Make(list[i].Asset, list[i].Amount)
	}
}

// Burn adds what a transaction of a time, in Unix seconds, burns to the rows. A day
// before the last one counts as that: nodes' clocks say when vertices came.
func (o *Overlay) Burn(b *Balance, time uint64) error {
	for i := range b.list {
		a := &b.list[i]
		if a.in <= a.made {
			continue
		}
		key := o.Key(store.PrimaryBurned).ID(a.asset)
		old, _, err := o.Get(key)
		if err != nil {
			return err
		}
		day, total, err := decodeBurned(old)
		if err != nil {
			return err
		}
		day, total = max(day, Day(time)), total+a.in-a.made
		o.Put(key, Key(nil).U64(day).U64(total))
		o.Put(o.Key(store.PrimaryBurnedDays).ID(a.asset).U64(day), Key(nil).U64(total))
	}
	return nil
}

// decodeBurned reads a row of what was burned; none is nothing.
func decodeBurned(b []byte) (day, total uint64, err error) {
	switch len(b) {
	case 0:
		return 0, 0, nil
	case 16:
		return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
	}
	return 0, 0, fmt.Errorf("%w: what was burned", ErrRow)
}

// BurnedDay is what a chain's transactions had burned after the last block of a day, in
// the asset's smallest unit. L1 validators' fees, which no transaction pays, are not
// among it.
type BurnedDay struct {
	Time  uint64 // of the day's begin, Unix seconds
	Total uint64 // since the first indexed block
	Today uint64 // of it on that day
}

// BurnedDays yields what was burned of an asset by days, the newest first, from the
// day before one until take returns false, back to the first day on which some was. Before,
// if it is zero, is after the last block. The day of the last block is not over. known is
// false if the rows are those of an older version, which are made again.
func (v *View) BurnedDays(asset chain.ID, before uint64, take func(*BurnedDay) bool) (known bool, err error) {
	return BurnedDays([]*View{v}, asset, before, take)
}

// BurnedDays does what [View.BurnedDays] does for the sums over several chains.
func BurnedDays(of []*View, asset chain.ID, before uint64, take func(*BurnedDay) bool) (known bool, err error) {
	now := uint64(0)
	for _, v := range of {
		if !v.burned {
			return false, nil
		}
		now = max(now, v.cur.head.TimeMilli/1000)
	}
	newest, ok := rollup.Day.Before(before, now)
	if !ok {
		return true, nil
	}
	s := burnedSums{}
	defer s.close()
	for _, v := range of {
		rows, err := v.DayRows(v.Key(store.PrimaryBurnedDays).ID(asset), newest)
		if err != nil {
			return true, err
		}
		s = append(s, rows)
	}
	return true, rollup.Back(newest, s.at, func(d uint32, now, before uint64) bool {
		return take(&BurnedDay{Time: DayTime(d), Total: now, Today: now - before})
	})
}

// burnedSums are the rows of days of several chains.
type burnedSums []*DayRows

// at returns the sum over what was burned up to a day; ok is false if nothing was.
func (s burnedSums) at(d uint32) (sum uint64, ok bool, err error) {
	for _, rows := range s {
		b, err := rows.At(d)
		if err == nil && b != nil && len(b) != 8 {
			err = fmt.Errorf("%w: what was burned", ErrRow)
		}
		if err != nil {
			return 0, false, err
		}
		if b != nil {
			sum, ok = sum+binary.BigEndian.Uint64(b), true
		}
	}
	return sum, ok, nil
}

func (s burnedSums) close() {
	for _, rows := range s {
		rows.Close()
	}
}
