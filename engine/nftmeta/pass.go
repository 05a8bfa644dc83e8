package nftmeta

import (
	"bytes"
	"context"
	"crypto/rand"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// passes goes through the index again and again for what is due.
func (m *Metadata) passes(ctx context.Context) {
	var began time.Time
	for ctx.Err() == nil {
		wait := passEvery
		if m.lost.Load() {
			wait = passSoon
		}
		if now := time.Now(); now.Sub(began) < wait {
			if m.pause(ctx, tick) != nil {
				return
			}
			continue
		}
		began = time.Now()
		m.lost.Store(false)
		m.fail(m.makeRoom(ctx))
		for _, c := range m.cfg.Chains() {
			if err := m.passChain(ctx, &c); err != nil && ctx.Err() == nil {
				m.log.Warn("the URIs of a chain cannot be read", "err", err)
			}
		}
	}
}

// passChain goes through the collections of a chain from anywhere on, so that those of many
// tokens are not always the first.
func (m *Metadata) passChain(ctx context.Context, c *Chain) error {
	var first evm.Address
	rand.Read(first[:]) // never fails
	after, again := &first, false
	for {
		list, err := collections(c, after)
		if err != nil {
			return err
		}
		for i := range list {
			if again && bytes.Compare(list[i][:], first[:]) > 0 {
				return nil
			}
			if err := m.passCollection(ctx, c, list[i]); err != nil {
				return err
			}
			after = &list[i]
		}
		switch {
		case len(list) > 0:
		case again:
			return nil
		default:
			after, again = nil, true
		}
	}
}

func collections(c *Chain, after *evm.Address) ([]evm.Address, error) {
	v, err := c.View()
	if err != nil {
		return nil, nil // it has no block yet, or is being closed
	}
	defer v.Close()
	return v.URITokens(after, listed)
}

// passCollection puts what is due of a collection into the queue, as far as a pass may.
func (m *Metadata) passCollection(ctx context.Context, c *Chain, token evm.Address) error {
	var next []byte
	for due := 0; ; {
		nfts, uris, multi, after, err := readPage(c, token, next)
		if err != nil {
			return err
		}
		for i := range nfts {
			if due >= dueInPass {
				m.lost.Store(true)
				return nil
			}
			if m.offer(key{c.ID, nfts[i]}, uris[i], multi, false) {
				due++
			}
		}
		if err := m.pause(ctx, time.Duration(len(nfts)+1)*time.Second/rowRate); err != nil || after == nil {
			return err
		}
		next = after
	}
}

func readPage(c *Chain, token evm.Address, from []byte) (nfts []index.NFT, uris []string, multi bool, next []byte, err error) {
	v, err := c.View()
	if err != nil {
		return nil, nil, false, nil, nil // it is being closed
	}
	defer v.Close()
	if multi, err = isMulti(v, token); err != nil {
		return nil, nil, false, nil, err
	}
	nfts, uris, next, err = v.TokenURIs(token, index.Page{After: from, Limit: pageRows})
	return nfts, uris, multi, next, err
}

// isMulti reports whether a contract is of ERC-1155.
func isMulti(v View, token evm.Address) (bool, error) {
	meta, _, err := v.Token(token)
	return meta.Kind == index.ERC1155, err
}

// pause waits, and returns why it is to end.
func (m *Metadata) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeHints has tokens looked at whose URIs are new or have changed, and those that clients ask
// for, again and again until they were fetched.
func (m *Metadata) takeHints(ctx context.Context) {
	var batch []hint
	m.remind()
	clock := time.NewTicker(passSoon)
	defer clock.Stop()
	for {
		select {
		case <-m.hints.Ready():
			batch = m.hints.Drain(batch)
			for i := range batch {
				m.urge(&batch[i])
				if m.pause(ctx, time.Duration(len(batch[i].nfts))*time.Second/rowRate) != nil {
					return
				}
			}
			clear(batch)
		case <-clock.C:
			m.remind()
		case <-ctx.Done():
			return
		}
	}
}

// remind has the contracts of tokens that clients ask for asked for their URIs, once a minute,
// and the tokens looked at.
func (m *Metadata) remind() {
	now := time.Now()
	var list []key
	m.mu.Lock()
	for k := range m.asked {
		list = append(list, k)
	}
	m.mu.Unlock()
	for _, k := range list {
		m.tell(&k, now)
		if !m.queue.has(&k) {
			m.urge(&hint{k.chain, []index.NFT{k.NFT}})
		}
	}
	waiting, _, resting := m.queue.size(now)
	m.stats.waiting.Set(float64(waiting))
	m.stats.resting.Set(float64(resting))
}

// tell has a contract asked for the URI of a token that a client has asked for, if it was not
// for a time.
func (m *Metadata) tell(k *key, now time.Time) {
	m.mu.Lock()
	r, ok := m.asked[*k]
	due := ok && (r.told.IsZero() || now.Sub(r.told) >= tellEvery)
	if r.told = now; due {
		m.asked[*k] = r
	}
	m.mu.Unlock()
	if c := m.followed(k); due && c != nil && c.Ask != nil {
		c.Ask(k.Token, k.ID)
	}
}

// followed returns the chain of a token, nil if it is not followed.
func (m *Metadata) followed(k *key) *Chain {
	for _, c := range m.cfg.Chains() {
		if c.ID == k.chain {
			return &c
		}
	}
	return nil
}

// urge puts the tokens of a hint into the queue before others, as far as they are due.
func (m *Metadata) urge(h *hint) {
	c := m.followed(&key{chain: h.chain})
	if c == nil {
		return
	}
	v, err := c.View()
	if err != nil {
		m.lost.Store(true) // it is being closed, or has no block
		return
	}
	defer v.Close()
	for _, nft := range h.nfts {
		uri, known, err := v.TokenURI(nft.Token, nft.ID)
		multi, wrong := isMulti(v, nft.Token)
		if err != nil || wrong != nil {
			m.log.Warn("the URI of a token cannot be read", "contract", nft.Token, "err", err)
			return
		}
		k := key{h.chain, nft}
		if known {
			m.offer(k, uri, multi, true)
		} else if m.isAsked(&k) {
			m.queue.push(&task{key: k, refused: Unindexed}, true, time.Now())
		}
	}
}

// offer puts a token into the queue if it is due. It reports whether it waits there.
func (m *Metadata) offer(k key, uri string, multi, urgent bool) bool {
	now := time.Now()
	if m.queue.has(&k) {
		return true
	}
	old, found, err := m.load(&k)
	if err != nil {
		m.log.Warn("the record of a token cannot be read, and is made again", "err", err)
	}
	t := &task{key: k, uri: digest(uri), multi: multi, fresh: !found}
	if !old.isDue(t.uri, now) || t.fresh && !m.hasRoom(urgent) {
		return false
	}
	if t.place, t.refused = m.cfg.place(uri, &k.ID, multi); uri == "" {
		t.refused = InvalidURI
	}
	if t.refused == Unindexed && !m.isAsked(&k) {
		return false // there is no way there
	}
	return m.queue.push(t, urgent, now)
}

// hasRoom reports whether a token without a record may have one: passes leave room to others.
func (m *Metadata) hasRoom(urgent bool) bool {
	records, _ := m.kept()
	_, fresh, _ := m.queue.size(time.Time{})
	most := m.cfg.Most
	if !urgent {
		most = m.cfg.target()
	}
	if records+fresh < most {
		return true
	}
	m.stats.full.Inc()
	return false
}

func (m *Metadata) isAsked(k *key) bool {
	_, ok := m.askedAt(k)
	return ok
}

// askedAt returns when a client asked for a token that was not fetched since.
func (m *Metadata) askedAt(k *key) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.asked[*k]
	return r.at, ok
}
