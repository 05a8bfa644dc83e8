package httpapi

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/rollup"
)

// fakeRollup are the metrics of a fake chain.
type fakeRollup struct {
	roller  *rollup.Roller
	stamps  fakeStamps
	buckets [rollup.Intervals][]rollup.Bucket // the newest last
	edition uint32
	err     error // of the state
	broken  error // of the records
	updated time.Time
	walks   int    // how often records were read
	read    int    // how many
	hole    bool   // a record is left out
	before  uint64 // of the state
}

type fakeStamps map[rollup.Address]rollup.Stamp

func (s fakeStamps) Stamp(a *rollup.Address) (rollup.Stamp, error) { return s[*a], nil }
func (s fakeStamps) PutStamp(a *rollup.Address, t rollup.Stamp)    { s[*a] = t }

// mine adds a block with transactions to the metrics; the first one is the
// genesis block.
func (c *fakeChain) mine(t testing.TB, unix uint64, txs int) { c.mineTraced(t, unix, txs, true) }

func (c *fakeChain) mineTraced(t testing.TB, unix uint64, txs int, traced bool) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.metrics
	if m.roller == nil {
		m.stamps = fakeStamps{}
		var err error
		if m.roller, err = rollup.NewRoller(rollup.State{}, nil, m.stamps); err != nil {
			t.Fatal(err)
		}
	}
	m.roller.Begin(1000*unix, uint64(30_000*txs), traced)
	for i := range txs {
		from, to := rollup.Address{1, byte(unix >> 12), byte(i)}, rollup.Address{2, byte(unix >> 16)}
		m.roller.Tx(&from, &to, 21_000, uint256.NewInt(25_000_000_000+unix%1000))
		if i%3 == 0 {
			m.roller.Created(&from)
		}
	}
	if err := m.roller.End(); err != nil {
		t.Fatal(err)
	}
	m.roller.Changed(func(b *rollup.Bucket) {
		list := m.buckets[b.Interval]
		if n := len(list); n > 0 && list[n-1].Number == b.Number {
			list = list[:n-1]
		}
		m.buckets[b.Interval] = append(list, *b)
	})
}

// ID implements Chain.
func (c *fakeChain) ID() (id chain.ID) {
	copy(id[:], c.info.ChainID)
	return id
}

// Updated implements Chain.
func (c *fakeChain) Updated() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics.updated
}

// RollupState implements Chain.
func (c *fakeChain) RollupState() (s rollup.State, edition uint32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.metrics.err != nil:
		return s, 0, c.metrics.err
	case c.metrics.roller == nil:
		return s, 0, index.ErrEmpty
	}
	s = c.metrics.roller.State()
	s.Before = c.metrics.before
	return s, c.metrics.edition, nil
}

// Buckets implements Chain.
func (c *fakeChain) Buckets(i rollup.Interval, newest, oldest uint32, take func(uint32, *rollup.Record)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.metrics
	m.walks++
	if m.broken != nil {
		return m.broken
	}
	list := m.buckets[i]
	n, found := slices.BinarySearchFunc(list, newest, func(b rollup.Bucket, n uint32) int { return int(b.Number) - int(n) })
	if found {
		n++
	}
	list = list[:n]
	return rollup.Fill(newest, oldest, func() (*rollup.Bucket, error) {
		if len(list) == 0 {
			return nil, nil
		}
		b := list[len(list)-1]
		list = list[:len(list)-1]
		return &b, nil
	}, func(n uint32, r *rollup.Record) {
		if !m.hole || n != newest {
			m.read++
			take(n, r)
		}
	})
}

// Windows implements Chain. It reads all buckets and stamps.
func (c *fakeChain) Windows(hours []uint32, distinct bool) (list []rollup.Record, err error) {
	s, _, err := c.RollupState()
	if err != nil {
		return nil, err
	}
	for _, from := range hours {
		r, err := s.Window(from, func(i rollup.Interval, newest, oldest uint32, take func(*rollup.Record)) error {
			return c.Buckets(i, newest, oldest, func(_ uint32, r *rollup.Record) { take(r) })
		})
		if err != nil {
			return nil, err
		}
		if distinct {
			for _, stamp := range c.metrics.stamps {
				for _, n := range []struct {
					hour uint32
					sum  *uint64
				}{{stamp.Active, &r.Addresses}, {stamp.Sender, &r.Senders}, {stamp.Deployer, &r.Deployers}} {
					if n.hour > from {
						*n.sum++
					}
				}
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// reads returns how many records were read since the last call, in how many walks.
func (c *fakeChain) reads() (walks, read int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	walks, read = c.metrics.walks, c.metrics.read
	c.metrics.walks, c.metrics.read = 0, 0
	return walks, read
}

// metricPage is a page of points; numbers keep their text.
type metricPage struct {
	NextPageToken *string
	Results       []metricPoint
}

type metricPoint struct {
	Value     json.Number
	Timestamp int64
}

func (p metricPoint) String() string { return fmt.Sprint(p.Timestamp, "=", p.Value) }

// wantPoints returns the points of chains together, the newest first, made in one
// go from all records.
func wantPoints(t testing.TB, m rollup.Metric, i rollup.Interval, since, until uint64, chains ...*fakeChain) []metricPoint {
	t.Helper()
	return wantNewest(t, math.MaxUint32, m, i, since, until, chains...)
}

// wantNewest is the same of the newest buckets only.
func wantNewest(t testing.TB, most uint32, m rollup.Metric, i rollup.Interval, since, until uint64, chains ...*fakeChain) (want []metricPoint) {
	t.Helper()
	first, last, any := uint32(0), uint32(0), false
	for _, c := range chains {
		if s, _, err := c.RollupState(); err == nil && s.Begun && (!s.Untraced || !m.Traced()) {
			f, l, _ := s.Bounds(i)
			if !any {
				first, last = f, l
			}
			first, last, any = min(first, f), max(last, l), true
		}
	}
	if !any {
		return nil
	}
	if last-first >= most {
		first = last - most + 1
	}
	totals := make([]rollup.Total, last-first+1)
	for _, c := range chains {
		if s, _, err := c.RollupState(); err != nil || s.Untraced && m.Traced() {
			continue
		}
		if err := c.Buckets(i, last, first, func(n uint32, r *rollup.Record) { totals[n-first].Add(m, r) }); err != nil {
			t.Fatal(err)
		}
	}
	for n := int64(last); n >= int64(first); n-- {
		if at := i.Start(uint32(n)); at >= int64(since) && (at < 0 || uint64(at) < until) {
			want = append(want, metricPoint{json.Number(totals[uint32(n)-first].Append(m, nil)), at})
		}
	}
	return want
}
