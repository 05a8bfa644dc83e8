package nftmeta

import (
	"context"
	"fmt"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// load returns the head of a token's record, nil if there is none.
func (m *Metadata) load(k *key) (*head, error) {
	raw, found, err := m.cfg.Store.Get(k.bytes(keyRecord))
	if err != nil || !found {
		return nil, err
	}
	return decodeHead(raw)
}

// commit writes what came of a task, and then forgets that a client has asked for it.
func (m *Metadata) commit(ctx context.Context, t *task, doc *Document, a *answer, began time.Time) error {
	now := time.Now()
	m.keeping.RLock()
	defer m.keeping.RUnlock()
	before, known, err := m.cfg.Store.Get(t.key.bytes(keyRecord))
	if err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	if !known && !t.fresh {
		return nil // it was dropped meanwhile, and there may be no room for it
	}
	var old *record
	if known {
		old, _ = decodeRecord(before) // nil: it is made again
	}
	r := old.next(&m.cfg, t.uri, doc, a.status, a.wait, now)
	at, asked := m.askedAt(&t.key)
	if asked = asked && !at.After(began); asked {
		r.Asked = at.Unix()
	}
	raw, fits := r.encode()
	if !fits {
		asked := r.Asked
		r = old.next(&m.cfg, t.uri, nil, TooLarge, 0, now)
		r.Asked = asked
		raw, _ = r.encode()
	}
	commit, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Put(commit, t.key.bytes(keyRecord), raw); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.mu.Lock()
	if !known {
		m.room.add(contract{t.key.chain, t.key.Token}, 1)
	}
	m.gen++
	m.cache.Remove(t.key)
	m.mu.Unlock()
	if asked {
		return m.settle(ctx, &t.key, began)
	}
	return nil
}

// askedAt returns when a client asked for a token that was not fetched since.
func (m *Metadata) askedAt(k *key) (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.asked[*k]
	return r.at, ok
}

// over notes that a token is not being fetched any more.
func (m *Metadata) over(k *key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.begun, *k)
}

// tell has a contract asked for the URI of a token that a client has asked for, if it was
// not since the start or, unless that is 0, for a time. It reports whether it was now.
func (m *Metadata) tell(k *key, every time.Duration) bool {
	now := time.Now()
	m.mu.Lock()
	r, ok := m.asked[*k]
	m.mu.Unlock()
	if !ok || !r.told.IsZero() && (every == 0 || now.Sub(r.told) < every) {
		return false
	}
	for _, c := range m.cfg.Chains() {
		if c.ID != k.chain || c.Ask == nil {
			continue
		}
		m.mu.Lock()
		if r, ok := m.asked[*k]; ok {
			r.told = now
			m.asked[*k] = r
		}
		m.mu.Unlock()
		c.Ask(k.Token, k.ID)
		return true
	}
	return false
}

func (m *Metadata) askedFor(k *key) bool {
	_, ok := m.askedAt(k)
	return ok
}

// settle forgets that a client has asked for a token, unless it did so after a time.
func (m *Metadata) settle(ctx context.Context, k *key, upto time.Time) error {
	m.asking.Lock()
	defer m.asking.Unlock()
	if at, ok := m.askedAt(k); !ok || at.After(upto) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Remove(ctx, k.bytes(keyAsked)); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.mu.Lock()
	delete(m.asked, *k)
	m.mu.Unlock()
	return nil
}

// settleUnable forgets a token that a client has asked for and that cannot be fetched. If
// that fails it is tried again in a while.
func (m *Metadata) settleUnable(k key, now time.Time) {
	if m.askedFor(&k) {
		m.fail(m.settle(context.Background(), &k, now))
	}
}

// Reindex has a token's URI asked for and its document fetched again, soon. When it
// returns without an error that is committed. Asking again before it was done joins; while
// the document is on its way it is fetched once more, as it may have changed since.
func (m *Metadata) Reindex(ctx context.Context, of chain.ID, token evm.Address, id uint256.Int) error {
	m.asking.Lock()
	defer m.asking.Unlock()
	k, now := key{of, index.NFT{Token: token, ID: id}}, time.Now()
	m.mu.Lock()
	_, joined := m.asked[k]
	began, begun := m.begun[k]
	running, full := m.asked != nil, len(m.asked) >= maxAsked
	m.mu.Unlock()
	switch {
	case !running:
		return ErrStopping
	case joined && !(begun && now.After(began)):
		return nil
	}
	if err := m.cfg.Room(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	if !joined {
		if err := m.admit(&k, now, full); err != nil {
			return err
		}
	}
	return m.note(ctx, &k, now)
}

// admit returns why a client may not ask for a token now.
func (m *Metadata) admit(k *key, now time.Time, full bool) error {
	last, _ := m.recent.Get(*k)
	if r, err := m.load(k); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	} else if r != nil && r.asked > last.Unix() {
		last = time.Unix(r.asked, 0)
	}
	if wait := last.Add(m.cfg.ReindexEvery).Sub(now); wait > 0 {
		return &TooSoonError{wait}
	}
	if full {
		return ErrBusy
	}
	return nil
}

// note commits that a client asks for a token, and has it done.
func (m *Metadata) note(ctx context.Context, k *key, now time.Time) error {
	value, err := now.MarshalBinary()
	if err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := m.cfg.Store.Put(ctx, k.bytes(keyAsked), value); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	m.recent.Add(*k, now)
	m.mu.Lock()
	m.asked[*k] = request{at: now}
	m.mu.Unlock()
	m.tell(k, 0)
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
	raw, found, err := m.cfg.Store.Get(k.bytes(keyRecord))
	if err != nil || !found {
		return nil, err
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return nil, nil // it is made again
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
