package nftmeta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

const (
	// sweepEvery is how often records are dropped to make room. sweepRate is how many are
	// looked at each second for that, about a tenth of a processor; the beginning of a
	// page counts as pageRows of them.
	sweepEvery, sweepRate, pageRows = 10 * time.Minute, 10_000, 16
	// dropMost bounds the records that are dropped while commits wait.
	dropMost = 256
	// foreignAfter is how long a chain has not been followed when its records go first.
	// Chains come one after another when a server starts.
	foreignAfter = time.Hour
	// unlimited is the level before there were too many records.
	unlimited = math.MaxInt
	// anyRoom is less than the size of any collection.
	anyRoom = -1
)

// room says who may have a record.
type room struct {
	// level is how many records a collection has at least before only what clients ask for
	// adds to them. It never rises while Most and the chains stay the same: no collection
	// was ever cut to less, so what was dropped is not fetched again.
	level int
	sizes map[chain.ID]map[evm.Address]int // the records of each collection
	total int
}

// add notes that a collection has n records more.
func (r *room) add(c contract, n int) {
	of := r.sizes[c.chain]
	if of == nil {
		of = map[evm.Address]int{}
		r.sizes[c.chain] = of
	}
	r.total += n
	if of[c.token] += n; of[c.token] == 0 {
		delete(of, c.token)
	}
	if len(of) == 0 {
		delete(r.sizes, c.chain)
	}
}

// above returns the collections with more than n records, and how many more.
func (r *room) above(n int) map[contract]int {
	list := map[contract]int{}
	for id, of := range r.sizes {
		for token, size := range of {
			if size > n {
				list[contract{id, token}] = size - n
			}
		}
	}
	return list
}

// at returns how many records there are up to so many of each collection.
func (r *room) at(level int) (n int) {
	for _, of := range r.sizes {
		for _, size := range of {
			n += min(size, level)
		}
	}
	return n
}

// list returns the sizes of all collections.
func (r *room) list() (sizes []int) {
	for _, of := range r.sizes {
		sizes = slices.AppendSeq(sizes, maps.Values(of))
	}
	return sizes
}

// fair returns the greatest level at which collections of these sizes have at most so many
// records together. It sorts them.
func fair(sizes []int, most int) int {
	slices.Sort(sizes)
	for i, n := range sizes {
		if share := most / (len(sizes) - i); n > share {
			return share
		}
		most -= n
	}
	return unlimited
}

// spare is how many records are left to tokens that clients ask for.
func (c *Config) spare() int { return max(1, c.Most/100) }

// target is how many records a sweep leaves: what is free then is for tokens that come
// before the next one.
func (c *Config) target() int { return max(0, c.Most-c.spare()-max(1, c.Most/20)) }

// admits reports whether a task may begin, as seen now: since it was made its token may have
// been fetched, and its record dropped. It notes whether the record is a new one.
func (m *Metadata) admits(c *collection, t *task, now time.Time) bool {
	k, asked := &t.key, m.askedFor(&t.key)
	raw, has, err := m.cfg.Store.Get(k.bytes(keyRecord))
	if err != nil {
		m.fail(fmt.Errorf("nftmeta: %w", err))
		return false
	}
	if has {
		old, err := decodeHead(raw)
		return err != nil || old.isDue(t.uri, asked, now)
	}
	t.fresh = true
	return m.hasRoom(c, k, asked)
}

// hasRoom reports whether a token without a record may have one now. Others of its
// collection may be under way.
func (m *Metadata) hasRoom(c *collection, k *key, asked bool) bool {
	m.mu.Lock()
	level, size, total := m.room.level, m.room.sizes[k.chain][k.Token], m.room.total
	m.mu.Unlock()
	most, need := m.cfg.Most, anyRoom
	if !asked {
		most, need = most-m.cfg.spare(), size
	}
	switch {
	case !asked && level != unlimited && size+c.flying >= level:
		m.stats.full.Inc()
		return false
	case total+m.entering >= most:
		m.stats.full.Inc()
		m.wanted = min(m.wanted, need)
		return false
	}
	return true
}

// makeRoom begins a sweep if there are too many records and it is time for one.
func (m *Metadata) makeRoom(ctx context.Context, work *sync.WaitGroup, now time.Time) {
	foreign := m.foreign(now)
	if !m.swept.IsZero() && now.Sub(m.swept) < sweepEvery || m.sweeping.Load() {
		return
	}
	m.mu.Lock()
	total, level := m.room.total, m.room.level
	due := total > m.cfg.Most || len(foreign) > 0 && min(level, m.wanted) != unlimited
	if !due && m.wanted != unlimited && total > m.cfg.target() {
		due = m.room.at(m.wanted+1) <= m.cfg.target() // else all others are as small
	}
	m.mu.Unlock()
	m.wanted = unlimited
	if !due {
		return
	}
	m.swept = now
	m.sweeping.Store(true)
	work.Go(func() {
		defer m.sweeping.Store(false)
		if err := m.sweep(ctx, foreign); err != nil && ctx.Err() == nil {
			m.fail(err)
		}
		if left, _ := m.kept(); left < total {
			m.lost.Store(true) // a pass finds what there is room for now
		}
	})
}

// foreign returns the chains with records that have not been followed for a while.
func (m *Metadata) foreign(now time.Time) (list []chain.ID) {
	for _, c := range m.cfg.Chains() {
		m.followed[c.ID] = now
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.room.sizes {
		last, ok := m.followed[id]
		if !ok {
			m.followed[id] = now
		} else if now.Sub(last) >= foreignAfter {
			list = append(list, id)
		}
	}
	return list
}

// sweep drops records until there is room: those of foreign chains, then those of the
// largest collections, each of which keeps the same number. That may be more than the level
// where clients have asked for many. The level is committed first: after a kill nothing is
// fetched again, and the next sweep goes on.
func (m *Metadata) sweep(ctx context.Context, foreign []chain.ID) error {
	for i := range foreign {
		if err := m.cut(ctx, append([]byte{keyRecord}, foreign[i][:]...), math.MaxInt); err != nil {
			return err
		}
	}
	m.mu.Lock()
	sizes, total, level := m.room.list(), m.room.total, m.room.level
	m.mu.Unlock()
	most := m.cfg.target()
	share := fair(sizes, most)
	if level = min(level, share); len(foreign) > 0 {
		level = share
	}
	if err := m.keepLevel(ctx, level); err != nil {
		return err
	}
	if share == 0 { // more collections than records: only what clients ask for has new ones
		return m.cut(ctx, []byte{keyRecord}, total-most)
	}
	m.mu.Lock()
	above := m.room.above(share)
	m.mu.Unlock()
	for c, n := range above {
		if err := m.cut(ctx, slices.Concat([]byte{keyRecord}, c.chain[:], c.token[:]), n); err != nil {
			return err
		}
	}
	return nil
}

// cut drops n of the records whose key begins with prefix, those that rank lowest.
func (m *Metadata) cut(ctx context.Context, prefix []byte, n int) error {
	if n <= 0 {
		return nil
	}
	var ranks []uint64
	err := m.each(prefix, func(k, value []byte) { ranks = append(ranks, m.rank(k, value)) }, func(rows int) error { return pace(ctx, rows) })
	if err != nil || len(ranks) == 0 {
		return err
	}
	slices.Sort(ranks)
	n = min(n, len(ranks))
	highest := ranks[n-1]
	below, _ := slices.BinarySearch(ranks, highest)
	ties := n - below // as many of those that rank the same as the last one go
	var doomed [][]byte
	return m.each(prefix, func(k, value []byte) {
		r := m.rank(k, value)
		if r == highest {
			ties--
		}
		if r < highest || r == highest && ties >= 0 {
			doomed = append(doomed, slices.Clone(k))
		}
	}, func(rows int) error {
		for part := range slices.Chunk(doomed, dropMost) {
			if err := m.drop(part, highest); err != nil {
				return err
			}
		}
		doomed = doomed[:0]
		return pace(ctx, rows)
	})
}

// pace waits for as long as a sweep may take for so many records.
func pace(ctx context.Context, rows int) error {
	select {
	case <-time.After(time.Duration(rows+pageRows) * time.Second / sweepRate):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rank orders records by what is lost with them: failures by their last try, then documents
// by their age, then what clients asked for, the latest last.
func (m *Metadata) rank(k, value []byte) uint64 {
	name, ok := readKey(k)
	r, err := decodeHead(value)
	if !ok || err != nil {
		return 0
	}
	class, at := uint64(0), r.tried
	switch {
	case m.askedFor(&name):
		return math.MaxUint64
	case r.asked > 0:
		class, at = 2, r.asked
	case r.doc:
		class, at = 1, r.at
	}
	return class<<62 | uint64(max(0, at))
}

// drop removes records but those that rank higher than when they were looked at.
func (m *Metadata) drop(doomed [][]byte, highest uint64) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	var errs []error
	doomed = slices.DeleteFunc(slices.Clone(doomed), func(k []byte) bool {
		value, found, err := m.cfg.Store.Get(k)
		errs = append(errs, err)
		return err != nil || !found || m.rank(k, value) > highest
	})
	n, err := m.cfg.Store.RemoveAll(doomed)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range doomed[:n] {
		if name, ok := readKey(k); ok {
			m.room.add(contract{name.chain, name.Token}, -1)
			m.cache.Remove(name)
		}
	}
	m.gen++
	m.stats.dropped.Add(float64(n))
	if err = errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	return nil
}

// levelRow is what is committed of a level: with another bound there is none.
type levelRow struct {
	Version int `json:"v"`
	Most    int `json:"most"`
	Level   int `json:"level"`
}

// keepLevel commits a level, from when on it counts.
func (m *Metadata) keepLevel(ctx context.Context, level int) error {
	value := []byte(encode(levelRow{recordVersion, m.cfg.Most, level}))
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Put(ctx, []byte{keyLevel}, value); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room.level = level
	return nil
}

// recount reads who has how many records.
func (m *Metadata) recount(ctx context.Context) error {
	r := room{level: unlimited, sizes: map[chain.ID]map[evm.Address]int{}}
	raw, found, err := m.cfg.Store.Get([]byte{keyLevel})
	if err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	var row levelRow
	if found && json.Unmarshal(raw, &row) == nil && row.Version == recordVersion && row.Most == m.cfg.Most {
		r.level = max(0, row.Level)
	}
	err = m.each([]byte{keyRecord}, func(k, _ []byte) {
		if name, ok := readKey(k); ok {
			r.add(contract{name.chain, name.Token}, 1)
		}
	}, func(int) error { return context.Cause(ctx) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = r
	return err
}

// each calls f with all rows whose key begins with prefix, and after each page then, with
// the number of its rows.
func (m *Metadata) each(prefix []byte, f func(k, value []byte), then func(rows int) error) error {
	var next []byte
	for {
		rows := 0
		var err error
		next, err = m.cfg.Store.Page(prefix, next, func(k, value []byte) { rows++; f(k, value) })
		if err != nil {
			return fmt.Errorf("nftmeta: %w", err)
		}
		if err := then(rows); err != nil || next == nil {
			return err
		}
	}
}
