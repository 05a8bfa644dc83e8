package nftmeta

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

const (
	// sweepRate is how many records are looked at each second to drop the oldest, about a tenth
	// of a processor.
	sweepRate = 10_000
	// dropMost bounds the records that are dropped while commits wait.
	dropMost = 256
)

// load returns the record of a token and its size in bytes, 0 if there is none. A record that
// cannot be read is nil: it is made again.
func (m *Metadata) load(k *key) (r *record, size int, err error) {
	raw, found, err := m.cfg.Store.Get(k.bytes())
	if err != nil {
		return nil, 0, fmt.Errorf("nftmeta: %w", err)
	}
	if found {
		r, _ = decodeRecord(raw)
	}
	return r, len(raw), nil
}

// put commits a record in the place of one of a size.
func (m *Metadata) put(ctx context.Context, k *key, raw []byte, size int) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Put(ctx, k.bytes(), raw); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if size == 0 {
		m.total++
	}
	m.gen++
	m.cache.Remove(*k)
	return nil
}

// commit writes what came of a task, and forgets that a client has asked for it before it began.
func (m *Metadata) commit(ctx context.Context, t *task, doc *Document, a *answer, began time.Time) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	old, size, err := m.load(&t.key)
	if err != nil {
		return err
	}
	at, asked := m.askedAt(&t.key)
	again := asked && at.After(began)
	next := func(doc *Document, s Status) *record {
		r := old.next(&m.cfg, t.uri, doc, s, a.wait, began, time.Now())
		if r.Asked > 0 && !again {
			r.Tried = max(r.Tried, r.Asked+1)
		}
		return r
	}
	raw, fits := next(doc, a.status).encode()
	if !fits {
		raw, _ = next(nil, TooLarge).encode()
	}
	if err := m.put(ctx, &t.key, raw, size); err != nil {
		return err
	}
	if !again {
		m.mu.Lock()
		delete(m.asked, t.key)
		m.mu.Unlock()
	}
	return nil
}

// Reindex has a token's URI asked for and its document fetched again, soon. When it
// returns without an error that is committed. Asking again before it was done joins; while
// the document is on its way it is fetched once more, as it may have changed since.
func (m *Metadata) Reindex(ctx context.Context, of chain.ID, token evm.Address, id uint256.Int) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	k, now := key{of, index.NFT{Token: token, ID: id}}, time.Now()
	if err := m.cfg.Room(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	r, size, err := m.load(&k)
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{Version: recordVersion, Status: Unindexed}
	}
	m.mu.Lock()
	_, joined := m.asked[k]
	running, full := m.asked != nil, len(m.asked) >= maxAsked || size == 0 && m.total >= m.cfg.Most
	m.mu.Unlock()
	wait := time.Unix(r.Asked, 0).Add(reindexEvery).Sub(now)
	switch {
	case !running:
		return ErrStopping
	case !joined && wait > 0:
		return &TooSoonError{wait}
	case !joined && full:
		return ErrBusy
	}
	r.Asked = now.Unix()
	raw, _ := r.encode()
	if err := m.put(ctx, &k, raw, size); err != nil {
		return err
	}
	m.mu.Lock()
	m.asked[k] = now
	m.mu.Unlock()
	if !joined {
		m.tell(&k)
	}
	m.Changed(k.chain, []index.NFT{k.NFT})
	return nil
}

// Token returns what is known of a token's metadata, nil if it was never looked at. Do not
// change it.
func (m *Metadata) Token(of chain.ID, token *evm.Address, id *uint256.Int) (*Token, error) {
	k := key{of, index.NFT{Token: *token, ID: *id}}
	if t, ok := m.cache.Get(k); ok {
		return t, nil
	}
	m.mu.Lock()
	gen := m.gen
	m.mu.Unlock()
	r, size, err := m.load(&k)
	if err != nil || r == nil {
		return nil, err
	}
	t := &Token{Status: r.Status, UpdatedAt: r.At}
	if r.Doc != nil {
		t.Document = *r.Doc
	}
	if size <= maxCached {
		m.mu.Lock()
		if m.gen == gen { // else a newer one may be there
			m.cache.Add(k, t)
		}
		m.mu.Unlock()
	}
	return t, nil
}

// aged is a record with its age.
type aged struct {
	key
	age int64
}

// makeRoom drops the oldest records when there are as many as may be.
func (m *Metadata) makeRoom(ctx context.Context) error {
	n, _ := m.kept()
	if n -= m.cfg.target(); n < m.cfg.Most-m.cfg.target() {
		return nil
	}
	var oldest []aged
	trim := func() {
		slices.SortFunc(oldest, func(a, b aged) int { return cmp.Compare(a.age, b.age) })
		oldest = oldest[:min(n, len(oldest))]
	}
	err := m.each(func(k, value []byte) {
		r, _ := decodeRecord(value)
		if name, ok := readKey(k); ok && !r.isAsked() {
			oldest = append(oldest, aged{name, r.age()})
		}
	}, func(rows int) error {
		if len(oldest) >= 2*n {
			trim()
		}
		return pause(ctx, time.Duration(rows)*time.Second/sweepRate)
	})
	trim()
	for part := range slices.Chunk(oldest, dropMost) {
		if err == nil {
			err = m.drop(part)
		}
	}
	return err
}

// drop removes records that have not become younger since they were looked at.
func (m *Metadata) drop(doomed []aged) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	var keys [][]byte
	for i := range doomed {
		if r, _, err := m.load(&doomed[i].key); err == nil && r.age() <= doomed[i].age {
			keys = append(keys, doomed[i].bytes())
			m.cache.Remove(doomed[i].key)
		}
	}
	n, err := m.cfg.Store.RemoveAll(keys)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total -= n
	m.gen++
	m.stats.dropped.Add(float64(n))
	if err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	return nil
}

// each calls f with all records, and after each page then, with the number of its rows.
func (m *Metadata) each(f func(k, value []byte), then func(rows int) error) error {
	var next []byte
	for {
		rows := 0
		var err error
		next, err = m.cfg.Store.Page([]byte{keyRecord}, next, func(k, value []byte) { rows++; f(k, value) })
		if err != nil {
			return fmt.Errorf("nftmeta: %w", err)
		}
		if err := then(rows); err != nil || next == nil {
			return err
		}
	}
}

// askedAt returns when a client asked for a token that was not fetched since.
func (m *Metadata) askedAt(k *key) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.asked[*k]
	return at, ok
}
