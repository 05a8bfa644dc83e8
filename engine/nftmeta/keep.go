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
func (m *Metadata) put(ctx context.Context, k *key, r *record, size int) error {
	if size == 0 {
		if err := m.makeRoom(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	raw := r.encode()
	if err := m.cfg.Store.Put(ctx, k.bytes(), raw); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.cache.Remove(*k)
	if len(raw) <= maxCached {
		m.cache.Add(*k, r.token())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if size == 0 {
		m.total++
	}
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
	r := old.next(&m.cfg, t.uri, doc, a.status, a.wait, began, time.Now())
	if r.Asked > 0 && !again {
		r.Tried = max(r.Tried, r.Asked+1)
	}
	if err := m.put(ctx, &t.key, r, size); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !again {
		delete(m.asked, t.key)
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
	if err := m.put(ctx, &k, r, size); err != nil {
		return err
	}
	m.mu.Lock()
	m.asked[k] = now
	m.mu.Unlock()
	if !joined {
		m.ask(&k)
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
	r, size, err := m.load(&k)
	if err != nil || r == nil {
		return nil, err
	}
	t := r.token()
	if size <= maxCached {
		m.cache.ContainsOrAdd(k, t) // a newer one stays
	}
	return t, nil
}

// makeRoom drops old records as long as there are too many: of some thousand, which are
// others each time, the oldest.
func (m *Metadata) makeRoom() error {
	for n, _ := m.kept(); n >= m.cfg.Most; n, _ = m.kept() {
		var list []aged
		next, err := m.cfg.Store.Page([]byte{keyRecord}, m.hand, func(k, value []byte) {
			r, _ := decodeRecord(value)
			if name, ok := readKey(k); ok && !r.isAsked() {
				list = append(list, aged{name, r.age()})
			}
		})
		if err != nil {
			return fmt.Errorf("nftmeta: %w", err)
		}
		m.hand = next
		slices.SortFunc(list, func(a, b aged) int { return cmp.Compare(a.age, b.age) })
		if err := m.drop(list[:min(len(list), 1+len(list)/8, m.cfg.Most-m.cfg.target())]); err != nil {
			return err
		}
	}
	return nil
}

// aged is a record with its age.
type aged struct {
	key
	age int64
}

func (m *Metadata) drop(list []aged) error {
	var keys [][]byte
	for i := range list {
		keys = append(keys, list[i].bytes())
		m.cache.Remove(list[i].key)
	}
	n, err := m.cfg.Store.RemoveAll(keys)
	m.stats.dropped.Add(float64(n))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total -= n
	switch {
	case err != nil:
		return fmt.Errorf("nftmeta: %w", err)
	case len(list) == 0:
		return ErrBusy // clients wait for all of them
	}
	return nil
}

// askedAt returns when a client asked for a token that was not fetched since.
func (m *Metadata) askedAt(k *key) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.asked[*k]
	return at, ok
}
