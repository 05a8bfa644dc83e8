package pchain

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// Validator sets are kept as they are now, with what each block changed. Going back from
// now by the changes would cost as much as there were since. So each set is also written
// whole now and then: at a point, which is after as many changes as it has members. A set
// of any height is then no more than that far from the next point above it, and points
// take about as much room as the changes do.

// Kinds of rows of [store.PlatformSetPoints].
const (
	pointMark = iota
	pointMembers
)

const (
	// pointLeast is the least number of changes between two points of a set.
	pointLeast = 64
	// pointMost bounds the members in a row of a point.
	pointMost = 256
)

// mark is where a set stands: how many changes there were since its last point, how many
// members it has, and which block changed it last.
type mark struct{ changes, members, last uint64 }

// The mark codec: the three numbers.
func (k *mark) encode(b []byte) []byte {
	e := &primary.Encoder{B: b}
	for _, v := range [...]uint64{k.changes, k.members, k.last} {
		e.Uint(v)
	}
	return e.B
}

func decodeMark(b []byte) (k mark, err error) {
	d := primary.NewDecoder(b)
	k.changes, k.members, k.last = d.Uint(), d.Uint(), d.Uint()
	return k, d.End("mark of a validator set")
}

// markSet notes that the block changed members of a set, which has more than before, and
// writes a point if it is time.
func (m *machine) markSet(subnet chain.ID, changed uint64, more int) error {
	key := m.rows.Key(store.PlatformSetPoints).U8(pointMark).ID(subnet)
	b, found, err := m.rows.Get(key)
	if err != nil {
		return err
	}
	var k mark
	if found {
		if k, err = decodeMark(b); err != nil {
			return err
		}
	}
	k.changes += changed
	k.members += uint64(more) // also where it is negative
	k.last = m.height
	if k.changes >= max(pointLeast, k.members) {
		k.changes = 0
		if err := m.point(subnet); err != nil {
			return err
		}
	}
	m.rows.Put(key, k.encode(make([]byte, 0, 30)))
	return nil
}

// point writes a set whole: rows of u8 length of its ID | ID | member behind its length,
// for each member in the order of the IDs. A set without members has one row.
func (m *machine) point(subnet chain.ID) error {
	e, number, n := &primary.Encoder{}, uint16(0), 0
	flush := func() {
		k := m.rows.Key(store.PlatformSetPoints).U8(pointMembers).ID(subnet).U64(m.height)
		m.rows.Put(binary.BigEndian.AppendUint16(k, number), e.B)
		e, number, n = &primary.Encoder{}, number+1, 0
	}
	type row struct{ id, member []byte }
	var rows []row // to be written after the scan
	err := m.rows.ScanLive(m.rows.Key(store.PlatformSets).ID(subnet), func(id, value []byte) error {
		rows = append(rows, row{bytes.Clone(id), bytes.Clone(value)})
		return nil
	})
	for _, r := range rows {
		if n == pointMost {
			flush()
		}
		e.Bytes(r.id)
		e.Bytes(r.member)
		n++
	}
	flush()
	return err
}

// setAt returns the members as they were after a block.
func (v *View) setAt(subnet chain.ID, height uint64) (map[string]*member, error) {
	set, at, err := v.pointFrom(subnet, height)
	if err == nil && set == nil {
		set, err = v.setNow(subnet)
	}
	if err != nil {
		return nil, err
	}
	since := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformSetChanges).ID(subnet)}, From: primary.Key(nil).U64(height + 1), To: at}
	_, err = v.List(since, &primary.Page{Limit: maxMembers}, func(_, value []byte) (primary.Result, error) {
		return primary.Taken, eachChange(value, func(id string, before *member) {
			if before == nil {
				delete(set, id)
			} else {
				set[id] = before
			}
		})
	})
	return set, err
}

// pointFrom returns the members at the first point of a set at or above a height, and
// what is behind its height in the order of changes; nil if there is none.
func (v *View) pointFrom(subnet chain.ID, height uint64) (set map[string]*member, behind []byte, err error) {
	l := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformSetPoints).U8(pointMembers).ID(subnet)}, From: primary.Key(nil).U64(height)}
	at := uint64(0)
	_, err = v.List(l, &primary.Page{Limit: maxMembers, Asc: true}, func(order, value []byte) (primary.Result, error) {
		if len(order) != 8+2 {
			return primary.Passed, fmt.Errorf("%w: point of a validator set", primary.ErrRow)
		}
		of := binary.BigEndian.Uint64(order)
		if set != nil && of != at {
			return primary.Full, nil
		}
		if set == nil {
			set, at = map[string]*member{}, of
		}
		d := primary.NewDecoder(bytes.Clone(value))
		for d.Len() > 0 {
			id := string(d.Bytes())
			m, err := decodeMember(d.Bytes())
			if err != nil {
				return primary.Passed, err
			}
			set[id] = m
		}
		return primary.Taken, d.End("point of a validator set")
	})
	if set == nil || err != nil {
		return nil, nil, err
	}
	return set, primary.Key(nil).U64(at + 1), nil
}

// setNow returns the members as they are after the last block.
func (v *View) setNow(subnet chain.ID) (map[string]*member, error) {
	set := map[string]*member{}
	l := &primary.Lists{Live: []primary.Key{v.Key(store.PlatformSets).ID(subnet)}}
	_, err := v.List(l, &primary.Page{Limit: maxMembers, Asc: true}, func(id, value []byte) (primary.Result, error) {
		m, err := decodeMember(bytes.Clone(value))
		set[string(id)] = m
		return primary.Taken, err
	})
	return set, err
}

// setsAt returns the members of all sets as they were after a block; those of sets that
// were empty then may be there without members.
func (v *View) setsAt(height uint64) (map[chain.ID]map[string]*member, error) {
	sets := map[chain.ID]map[string]*member{}
	var now, changed []chain.ID // as they are, and since
	marks := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformSetPoints).U8(pointMark)}}
	if _, err := v.List(marks, &primary.Page{Limit: maxMembers, Asc: true}, func(order, value []byte) (primary.Result, error) {
		k, err := decodeMark(value)
		if err == nil && len(order) != chain.IDLen {
			err = fmt.Errorf("%w: mark of a validator set", primary.ErrRow)
		}
		switch {
		case err != nil:
			return primary.Passed, err
		case k.last > height:
			changed = append(changed, chain.ID(order))
		case k.members > 0:
			now = append(now, chain.ID(order))
		}
		return primary.Taken, nil
	}); err != nil {
		return nil, err
	}
	for _, id := range now {
		set, err := v.setNow(id)
		if err != nil {
			return nil, err
		}
		sets[id] = set
	}
	for _, id := range changed {
		set, err := v.setAt(id, height)
		if err != nil {
			return nil, err
		}
		sets[id] = set
	}
	return sets, nil
}
