package index

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// ErrRollup means that the metrics of the chain are not made up to its last block.
var ErrRollup = errors.New("the metrics of the chain are not complete")

// The version of the rules that metrics are made by, and the oldest whose rows
// can be added to: version 1 had other rows.
const (
	rollupRules = 2
	rollupReads = 2
)

// loadRolled reads how far the metrics are made.
func loadRolled(s *store.Snapshot, at *places) (state rollup.State, err error) {
	if !at.has(store.TableRollup) {
		return state, nil
	}
	_, err = s.Get(at.key(store.TableRollup), state.Decode)
	return state, err
}

// roll makes the metrics of a group of blocks.
type roll struct {
	*rollup.Roller
	stamps *stamps
}

// newRoll goes on from a state. Nothing at or above its next height was made.
func (m *maker) newRoll(s *store.Snapshot, state *rollup.State) (*roll, error) {
	if err := m.loadHours(s); err != nil {
		return nil, err
	}
	if r := m.roll; r != nil {
		r.stamps.s, r.stamps.next = s, state.Next
		r.stamps.ahead, r.stamps.changed = r.stamps.changed, map[evm.Address]stampRow{}
		return r, nil
	}
	st := &stamps{
		cache: m.stamps, hours: m.hours, s: s, lead: m.at.key(store.TableStamps), next: state.Next,
		changed: map[evm.Address]stampRow{},
	}
	var open []rollup.Bucket
	if state.Begun {
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			_, number, _ := state.Bounds(i)
			b := rollup.Bucket{Interval: i, Number: number}
			found, err := s.Get(m.at.bucketKey(i, number), b.Decode)
			if err == nil && !found {
				err = fmt.Errorf("%w: no metrics of the last %s", errCodec, i)
			}
			if err != nil {
				return nil, err
			}
			open = append(open, b)
		}
	}
	roller, err := rollup.NewRoller(*state, open, st)
	if err != nil {
		return nil, err
	}
	return &roll{Roller: roller, stamps: st}, nil
}

// begin opens the next block, as [rollup.Roller.Begin] does.
func (r *roll) begin(milli, gas uint64, traced bool) {
	r.stamps.height = r.State().Next
	r.Begin(milli, gas, traced)
}

// tx takes a transaction with its transfers.
func (r *roll) tx(tx *evm.Tx, transfers []Transfer) {
	to := &tx.To
	if tx.Creation {
		to = nil
	}
	r.Tx((*rollup.Address)(&tx.From), (*rollup.Address)(to), tx.GasUsed, &tx.GasPrice)
	for i := range transfers {
		r.Transfer((*rollup.Address)(&transfers[i].From), (*rollup.Address)(&transfers[i].To))
	}
	creations(tx, func(_, by *evm.Address, _ evm.CallType) { r.Created((*rollup.Address)(by)) })
}

// end closes the block and appends the rows of the stamps that it has changed.
func (r *roll) end(to *rows) error {
	if err := r.End(); err != nil {
		return err
	}
	r.stamps.rows(to)
	return nil
}

// tail is what is rewritten with each cursor: the buckets that have changed
// since the last one, and how far the metrics are made.
type tail struct {
	buckets []rollup.Bucket
	open    int // so many at the end may change again
	hours   map[uint32]rollup.Seen
	state   rollup.State
}

// take goes on to the last block of r.
func (t *tail) take(r *roll) {
	t.buckets = t.buckets[:len(t.buckets)-t.open]
	t.open = 0
	r.Changed(func(b *rollup.Bucket) { t.buckets = append(t.buckets, *b) })
	if h := r.stamps.hours; h != nil && h.Changes() > 0 {
		if t.hours == nil {
			t.hours = map[uint32]rollup.Seen{}
		}
		h.Changed(func(hour uint32, s rollup.Seen) { t.hours[hour] = s })
	}
	t.state = r.State()
	if t.state.Begun {
		t.open = rollup.Intervals
	}
}

// written is called when the tail is committed.
func (t *tail) written() {
	t.buckets, t.open = t.buckets[:0], 0
	clear(t.hours)
}

// size bounds the rows of the tail and their bytes, and those of a further block, which r
// has taken already.
func (t *tail) size(r *roll) (rows, bytes int) {
	rows = len(t.buckets) + rollup.Intervals + 1
	bytes = rows * (leadLen + 1 + 4 + rollup.RecordLen)
	hours := len(t.hours)
	if r != nil && r.stamps.hours != nil {
		hours += r.stamps.hours.Changes()
	}
	return rows + hours, bytes + hours*(leadLen+4+rollup.MaxSeenLen)
}

// rows yields the rows.
func (t *tail) rows(at *places, set func(key, value []byte) error) error {
	for i := range t.buckets {
		b := &t.buckets[i]
		if err := set(at.bucketKey(b.Interval, b.Number), b.Append(nil)); err != nil {
			return err
		}
	}
	for hour, s := range t.hours {
		if err := set(at.key(store.TableHours).u32(^hour), s.Append(nil)); err != nil {
			return err
		}
	}
	return set(at.key(store.TableRollup), t.state.Append(nil))
}

// loadHours reads the counts of all hours, if they are made: all of them are kept, some 1 MiB
// for each three years of a chain.
func (m *maker) loadHours(s *store.Snapshot) error {
	if m.hours != nil || !m.writes(store.TableHours) {
		return nil
	}
	hours := rollup.NewHours()
	err := m.at.eachHour(s, func(hour uint32, seen rollup.Seen) bool {
		hours.Put(hour, seen)
		return true
	})
	if err == nil {
		m.hours = hours
	}
	return err
}

// eachHour yields the counts of the hours, the newest first and [rollup.Ever] last,
// until take returns false.
func (p *places) eachHour(s *store.Snapshot, take func(hour uint32, seen rollup.Seen) bool) error {
	prefix := p.key(store.TableHours)
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		k := rows.Key()[len(prefix):]
		if len(k) != 4 {
			return fmt.Errorf("%w: key of an hour", errCodec)
		}
		hour := ^binary.BigEndian.Uint32(k)
		var seen rollup.Seen
		if err := rows.Value(seen.Decode); err != nil {
			return fmt.Errorf("addresses of hour %d: %w", hour, err)
		}
		if !take(hour, seen) {
			return nil
		}
	}
	return nil
}

func (p *places) bucketKey(i rollup.Interval, number uint32) key {
	return append(p.key(store.TableBuckets), byte(i)).u32(^number)
}

// stampRow is the row of an address: its stamp after a height, and before it.
type stampRow struct {
	height      uint64
	now, before rollup.Stamp
}

// The height has 48 bits: a chain with a block each millisecond has it for 8,900 years.
const (
	stampHeightLen = 6
	stampRowLen    = stampHeightLen + 2*rollup.StampLen
)

func (r *stampRow) append(dst []byte) []byte {
	var h [8]byte
	binary.BigEndian.PutUint64(h[:], r.height)
	return r.before.Append(r.now.Append(append(dst, h[8-stampHeightLen:]...)))
}

func (r *stampRow) decode(b []byte) error {
	if len(b) != stampRowLen {
		return fmt.Errorf("%w: stamp", errCodec)
	}
	var h [8]byte
	copy(h[8-stampHeightLen:], b)
	r.height = binary.BigEndian.Uint64(h[:])
	b = b[stampHeightLen:]
	return errors.Join(r.now.Decode(b[:rollup.StampLen]), r.before.Decode(b[rollup.StampLen:]))
}

// stamps answers from the maker's cache, the changes of the group so far, those of
// the group that is being committed, and the database. The cache has the changes
// too: it is emptied when a commit fails.
type stamps struct {
	cache  *cache[evm.Address, rollup.Stamp]
	hours  *rollup.Hours // nil if they are not made
	s      *store.Snapshot
	lead   key
	next   uint64 // rows from here on are not committed, or were made again
	height uint64 // of the block being made

	changed map[evm.Address]stampRow
	ahead   map[evm.Address]stampRow // of the group before, which may not be committed yet
	dirty   []evm.Address            // changed in the block being made
	key     key
}

// Stamp implements [rollup.Stamps].
func (p *stamps) Stamp(a *rollup.Address) (rollup.Stamp, error) {
	if s, ok := p.cache.get(*a); ok {
		return s, nil
	}
	if row, ok := p.changed[*a]; ok || p.next == 0 {
		return row.now, nil
	}
	if row, ok := p.ahead[*a]; ok {
		p.cache.put(*a, row.now)
		return row.now, nil
	}
	var row stampRow
	p.key = append(append(p.key[:0], p.lead...), a[:]...)
	if _, err := p.s.Get(p.key, row.decode); err != nil {
		return rollup.Stamp{}, err
	}
	if row.height >= p.next {
		row.now = row.before
	}
	p.cache.put(*a, row.now)
	return row.now, nil
}

// PutStamp implements [rollup.Stamps].
func (p *stamps) PutStamp(a *rollup.Address, s rollup.Stamp) {
	row, ok := p.changed[*a]
	if !ok {
		row.now, _ = p.cache.get(*a) // Stamp was asked before
	}
	if !ok || row.height != p.height {
		row.height, row.before = p.height, row.now
		p.dirty = append(p.dirty, *a)
	}
	if p.hours != nil {
		p.hours.Move(row.now, s)
	}
	row.now = s
	p.changed[*a] = row
	p.cache.put(*a, s)
}

// rows appends the rows that the block being made has changed.
func (p *stamps) rows(to *rows) {
	for i := range p.dirty {
		row := p.changed[p.dirty[i]]
		k := append(append(to.room(len(p.lead)+evm.AddressLen+stampRowLen), p.lead...), p.dirty[i][:]...)
		to.add(row.append(k), len(k))
	}
	p.dirty = p.dirty[:0]
}
