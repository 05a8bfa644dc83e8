package nftmeta

import (
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

// load returns the record of a token: nil if there is none, or none that can be read.
func (m *Metadata) load(k *key) (r *record, found bool, err error) {
	raw, found, err := m.cfg.Store.Get(k.bytes())
	if err != nil {
		return nil, false, fmt.Errorf("nftmeta: %w", err)
	}
	if found {
		r, _ = decodeRecord(raw) // nil: it is made again
	}
	return r, found, nil
}

// put commits a record.
func (m *Metadata) put(ctx context.Context, k *key, raw []byte, found bool) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Put(ctx, k.bytes(), raw); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !found {
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
	old, found, err := m.load(&t.key)
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
	if err := m.put(ctx, &t.key, raw, found); err != nil {
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
	r, found, err := m.load(&k)
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{Version: recordVersion, Status: Unindexed}
	}
	m.mu.Lock()
	running, waits, full := m.asked != nil, m.asked[k], len(m.asked) >= maxAsked || !found && m.total >= m.cfg.Most
	m.mu.Unlock()
	wait := time.Unix(r.Asked, 0).Add(m.cfg.ReindexEvery).Sub(now)
	switch joined := !waits.at.IsZero(); {
	case !running:
		return ErrStopping
	case !joined && wait > 0:
		return &TooSoonError{wait}
	case !joined && full:
		return ErrBusy
	}
	r.Asked = now.Unix()
	raw, _ := r.encode()
	if err := m.put(ctx, &k, raw, found); err != nil {
		return err
	}
	waits.at = now
	m.mu.Lock()
	m.asked[k] = waits
	m.mu.Unlock()
	m.tell(&k, now)
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
	r, _, err := m.load(&k)
	if err != nil || r == nil {
		return nil, err
	}
	t := &Token{Status: r.Status, UpdatedAt: r.At}
	if r.Doc != nil {
		t.Document = *r.Doc
	}
	if t.size() <= maxCached {
		m.mu.Lock()
		if m.gen == gen { // else a newer one may be there
			m.cache.Add(k, t)
		}
		m.mu.Unlock()
	}
	return t, nil
}

func (t *Token) size() int {
	return len(t.Name) + len(t.Symbol) + len(t.Description) + len(t.ImageURI) + len(t.AnimationURI) + len(t.ExternalURL) +
		len(t.Attributes) + len(t.Properties)
}

// makeRoom drops the oldest records when there are as many as may be.
func (m *Metadata) makeRoom(ctx context.Context) error {
	n, _ := m.kept()
	if n -= m.cfg.target(); n < m.cfg.Most-m.cfg.target() {
		return nil
	}
	pace := func(rows int) error { return m.pause(ctx, time.Duration(rows)*time.Second/sweepRate) }
	var ages []int64
	if err := m.each(func(_, value []byte) { ages = append(ages, ageOf(value)) }, pace); err != nil || len(ages) == 0 {
		return err
	}
	slices.Sort(ages)
	oldest := ages[min(n, len(ages))-1]
	var doomed []key
	return m.each(func(k, value []byte) {
		if name, ok := readKey(k); ok && len(doomed) < n && ageOf(value) <= oldest && !m.isAsked(&name) {
			doomed = append(doomed, name)
		}
	}, func(rows int) error {
		n -= len(doomed)
		err := m.drop(doomed, oldest)
		doomed = doomed[:0]
		if err != nil {
			return err
		}
		return pace(rows)
	})
}

func ageOf(raw []byte) int64 {
	r, err := decodeRecord(raw)
	if err != nil {
		return 0
	}
	return r.age()
}

// drop removes records that have not become younger since they were looked at.
func (m *Metadata) drop(doomed []key, oldest int64) error {
	for part := range slices.Chunk(doomed, dropMost) {
		if err := m.dropPart(part, oldest); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metadata) dropPart(doomed []key, oldest int64) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	var keys [][]byte
	for i := range doomed {
		if r, _, err := m.load(&doomed[i]); err == nil && (r == nil || r.age() <= oldest) {
			keys = append(keys, doomed[i].bytes())
			m.cache.Remove(doomed[i])
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
