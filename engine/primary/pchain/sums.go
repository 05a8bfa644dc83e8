package pchain

import (
	"math"
	"math/bits"

	"quorate/engine/chain"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// Sums are sums over the active stakers of a subnet, or over the validators of an L1
// that pay: their number and weight.
type Sums struct {
	Validators, ValidatorWeight uint64
	Delegators, DelegatorWeight uint64

	// over are the high words of the two weights: the owner of a subnet chooses them.
	over [2]uint64
}

// The sums codec: the four numbers, and the high words of the weights where there is one.
func (s *Sums) encode(b []byte) []byte {
	e := &primary.Encoder{B: b}
	for _, v := range [...]uint64{s.Validators, s.ValidatorWeight, s.Delegators, s.DelegatorWeight} {
		e.Uint(v)
	}
	if s.over != [2]uint64{} {
		e.Uint(s.over[0])
		e.Uint(s.over[1])
	}
	return e.B
}

func decodeSums(b []byte) (s Sums, err error) {
	d := primary.NewDecoder(b)
	s.Validators, s.ValidatorWeight, s.Delegators, s.DelegatorWeight = d.Uint(), d.Uint(), d.Uint(), d.Uint()
	if d.Len() > 0 {
		s.over = [2]uint64{d.Uint(), d.Uint()}
	}
	return s, d.End("sums of a subnet")
}

// shownSums decodes sums for readers: a weight above 64 bits is the highest number.
func shownSums(b []byte) (Sums, error) {
	s, err := decodeSums(b)
	for i, weight := range [...]*uint64{&s.ValidatorWeight, &s.DelegatorWeight} {
		if int64(s.over[i]) > 0 { // below 0 where rows of older versions wrapped
			*weight = math.MaxUint64
		}
	}
	s.over = [2]uint64{}
	return s, err
}

// fewer is minus one, in the arithmetic of 64 bits.
const fewer = ^uint64(0)

// subnetSums are the sums of a subnet.
type subnetSums struct {
	subnet chain.ID
	Sums
}

// sumsOf returns the sums of a subnet as the block has changed them so far. There are few
// of them.
func (m *machine) sumsOf(subnet chain.ID) (*Sums, error) {
	for i := range m.sums {
		if m.sums[i].subnet == subnet {
			return &m.sums[i].Sums, nil
		}
	}
	s := subnetSums{subnet: subnet}
	b, found, err := m.rows.Get(m.rows.Key(store.PlatformSums).ID(subnet))
	if err == nil && found {
		s.Sums, err = decodeSums(b)
	}
	m.sums = append(m.sums, s)
	return &m.sums[len(m.sums)-1].Sums, err
}

// count adds one to the sums of a subnet, or takes it off them if by is fewer.
func (m *machine) count(subnet chain.ID, delegator bool, weight, by uint64) error {
	s, err := m.sumsOf(subnet)
	if err != nil {
		return err
	}
	count, sum, over := &s.Validators, &s.ValidatorWeight, &s.over[0]
	if delegator {
		count, sum, over = &s.Delegators, &s.DelegatorWeight, &s.over[1]
	}
	*count += by
	var carry uint64
	if by == fewer {
		*sum, carry = bits.Sub64(*sum, weight, 0)
		*over -= carry
	} else {
		*sum, carry = bits.Add64(*sum, weight, 0)
		*over += carry
	}
	return nil
}

// flushSums writes the sums that the block has changed. Those of days are only kept where
// all stakers are known.
func (m *machine) flushSums() {
	for i := range m.sums {
		s := &m.sums[i]
		b := s.encode(m.value[:0])
		m.rows.Put(m.rows.Key(store.PlatformSums).ID(s.subnet), b)
		if m.head.Exact {
			m.rows.Put(m.rows.Key(store.PlatformDays).ID(s.subnet).U64(primary.Day(m.head.Time)), b)
		}
		m.value = b
	}
	m.sums = m.sums[:0]
}

// Totals returns sums over the active stakers of the primary network: those that are
// known.
func (v *View) Totals() (t primary.Totals, err error) {
	s, err := v.Sums(chain.PrimaryNetworkID)
	if err != nil {
		return t, err
	}
	t.Validators, t.Staked, t.Delegators, t.Delegated = int(s.Validators), s.ValidatorWeight, int(s.Delegators), s.DelegatorWeight
	if supply, ok := v.Supply(); ok {
		t.Supply = &supply
	}
	return t, nil
}

// Sums returns the sums of a subnet after the last block.
func (v *View) Sums(subnet chain.ID) (s Sums, err error) {
	b, found, err := v.Get(v.Key(store.PlatformSums).ID(subnet))
	if err != nil || !found {
		return s, err
	}
	return shownSums(b)
}

// Days yields the sums of a subnet as they were after the last block of each day,
// the newest first, from the day before one until take returns false: days are Unix
// seconds at their begin. Before, if it is zero, is after the chain's time. There are
// none where stakers of before are not known. The day of the chain's time is not over,
// and is the first.
func (v *View) Days(subnet chain.ID, before uint64, take func(time uint64, s Sums) bool) error {
	newest, ok := rollup.Day.Before(before, v.head.Time)
	if !v.head.Exact || !ok {
		return nil
	}
	rows, err := v.DayRows(v.Key(store.PlatformDays).ID(subnet), newest)
	if err != nil {
		return err
	}
	defer rows.Close()
	at := func(d uint32) (s Sums, ok bool, err error) {
		b, err := rows.At(d)
		if err != nil || b == nil {
			return s, false, err
		}
		s, err = shownSums(b)
		return s, err == nil, err
	}
	return rollup.Back(newest, at, func(d uint32, now, _ Sums) bool { return take(primary.DayTime(d), now) })
}
