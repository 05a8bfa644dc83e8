package pchain

import (
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// What active validators of L1s pay follows from one number, which grows by the same
// amount for each of them: the fees that have accrued. Of n that pay, which began when it
// was a1..an, it is n x accrued - (a1 + .. + an); with what those have paid that pay no
// more, it is n x accrued + settled, in the arithmetic of 64 bits. So a row is only
// written where someone begins or ends to pay, and one for each day with what has accrued.

// Of whom there are fees in [store.PlatformFees] and [store.PlatformFeeDays].
const (
	feesAll = iota
	feesNode
	feesSubnet
	feesValidation
	feesAccrued // rows of days alone: what has accrued
)

// payers are the validators of L1s of one kind that pay.
type payers struct{ paying, settled uint64 }

// The payers codec: the two numbers; the second is not encoded shorter, for it is often
// negative.
func (p *payers) encode() []byte {
	e := &primary.Encoder{}
	e.Uint(p.paying)
	e.Fixed(primary.Key(nil).U64(p.settled))
	return e.B
}

func decodePayers(b []byte) (p payers, err error) {
	d := primary.NewDecoder(b)
	p.paying = d.Uint()
	if raw := d.Fixed(8); raw != nil {
		p.settled = binary.BigEndian.Uint64(raw)
	}
	return p, d.End("payers of an L1")
}

// settle notes that a validator begins to pay, or has ended to and has paid up to what
// had accrued then.
func (m *machine) settle(v *l1, begins bool, accrued uint64) error {
	if !m.head.Exact {
		return nil
	}
	for _, of := range [...]string{
		string([]byte{feesAll}), string(append([]byte{feesNode}, v.Node[:]...)), string(append([]byte{feesSubnet}, v.Subnet[:]...)),
		string(append([]byte{feesValidation}, v.ValidationID[:]...)),
	} {
		p := m.fees[of]
		if p == nil {
			b, found, err := m.rows.Get(m.rows.Key(store.PlatformFees).Bytes([]byte(of)))
			p = &payers{}
			if err == nil && found {
				*p, err = decodePayers(b)
			}
			if err != nil {
				return err
			}
			if m.fees == nil {
				m.fees = map[string]*payers{}
			}
			m.fees[of] = p
		}
		if begins {
			p.paying++
			p.settled -= accrued
		} else {
			p.paying--
			p.settled += accrued
		}
	}
	return nil
}

// flushFees writes what the block has changed of fees, as it is at the end of its day.
func (m *machine) flushFees() {
	today := primary.Day(m.head.Time)
	for of, p := range m.fees {
		b := p.encode()
		m.rows.Put(m.rows.Key(store.PlatformFees).Bytes([]byte(of)), b)
		m.rows.Put(m.rows.Key(store.PlatformFeeDays).Bytes([]byte(of)).U64(today), b)
	}
	m.fees = nil
	if m.head.Exact && m.head.Fees.Accrued > 0 {
		m.rows.Put(m.rows.Key(store.PlatformFeeDays).U8(feesAccrued).U64(today), primary.Key(nil).U64(m.head.Fees.Accrued))
	}
}

// FeeFilter says of whom fees are: of a node, a subnet or a validation, or if all are nil
// of all validators of L1s.
type FeeFilter struct {
	Node               *chain.NodeID
	Subnet, Validation *chain.ID
}

func (f *FeeFilter) key(k primary.Key) primary.Key {
	switch {
	case f.Node != nil:
		return k.U8(feesNode).Bytes(f.Node[:])
	case f.Subnet != nil:
		return k.U8(feesSubnet).ID(*f.Subnet)
	case f.Validation != nil:
		return k.U8(feesValidation).ID(*f.Validation)
	}
	return k.U8(feesAll)
}

// FeeDay is what validators of L1s had paid after the last block of a day, in nAVAX.
type FeeDay struct {
	Time   uint64 // of the day's begin, Unix seconds
	Paying uint64 // validators
	Paid   uint64 // since ever
	Today  uint64 // of it on that day
}

// FeeDays yields the fees of validators of L1s by days as [View.Days] does, back to
// the day on which the first of them began to pay.
func (v *View) FeeDays(f *FeeFilter, before uint64, take func(*FeeDay) bool) error {
	newest, ok := rollup.Day.Before(before, v.head.Time)
	if !v.head.Exact || !ok {
		return nil
	}
	own, err := v.DayRows(f.key(v.Key(store.PlatformFeeDays)), newest)
	if err != nil {
		return err
	}
	defer own.Close()
	accrued, err := v.DayRows(v.Key(store.PlatformFeeDays).U8(feesAccrued), newest)
	if err != nil {
		return err
	}
	defer accrued.Close()
	at := func(d uint32) (out FeeDay, ok bool, err error) {
		raw, err := own.At(d)
		if err != nil || raw == nil {
			return out, false, err
		}
		p, err := decodePayers(raw)
		if err != nil {
			return out, false, err
		}
		a, err := accrued.At(d)
		if err == nil && a != nil && len(a) != 8 {
			err = fmt.Errorf("%w: accrued fees of a day", primary.ErrRow)
		}
		if err != nil {
			return out, false, err
		}
		sum := uint64(0)
		if a != nil {
			sum = binary.BigEndian.Uint64(a)
		}
		return FeeDay{Time: primary.DayTime(d), Paying: p.paying, Paid: p.paying*sum + p.settled}, true, nil
	}
	return rollup.Back(newest, at, func(_ uint32, now, before FeeDay) bool {
		now.Today = now.Paid - before.Paid
		return take(&now)
	})
}
