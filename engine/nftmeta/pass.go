package nftmeta

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// passes goes through the index again and again for what is due.
func (m *Metadata) passes(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		m.lost.Store(false)
		m.keeping.Lock()
		m.fail(m.makeRoom())
		m.keeping.Unlock()
		for _, c := range m.cfg.Chains() {
			if err := m.passChain(ctx, &c); err != nil && ctx.Err() == nil {
				m.log.Warn("the URIs of a chain cannot be read", "err", err)
			}
		}
		for pause(ctx, tick) == nil && time.Since(began) < passEvery && !(m.lost.Load() && time.Since(began) >= passSoon) {
		}
	}
}

// passChain goes through the collections of a chain from anywhere on, so that those of many
// tokens are not always the first.
func (m *Metadata) passChain(ctx context.Context, c *Chain) error {
	var first evm.Address
	rand.Read(first[:]) // never fails
	for _, after := range []*evm.Address{&first, nil} {
		for again := after == nil; !again || after == nil || bytes.Compare(after[:], first[:]) <= 0; {
			list, err := collections(c, after)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			for i := range list {
				if err := m.passCollection(ctx, c, list[i]); ctx.Err() != nil {
					return context.Cause(ctx)
				} else if err != nil {
					m.log.Warn("the URIs of a contract cannot be read", "contract", list[i], "err", err)
				}
			}
			after = &list[len(list)-1]
		}
	}
	return nil
}

func collections(c *Chain, after *evm.Address) ([]evm.Address, error) {
	v, err := c.View()
	if err != nil {
		return nil, nil // it has no block yet, or is being closed
	}
	defer v.Close()
	return v.URITokens(after, pageRows)
}

// passCollection fetches what is due of a collection.
func (m *Metadata) passCollection(ctx context.Context, c *Chain, token evm.Address) error {
	for next := []byte(nil); ; {
		nfts, uris, multi, after, err := readPage(c, token, next)
		if err != nil {
			return err
		}
		for i := range nfts {
			m.start(ctx, m.due(key{c.ID, nfts[i]}, uris[i], multi, false))
		}
		if err := pause(ctx, time.Duration(len(nfts)+1)*time.Second/rowRate); err != nil || after == nil {
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

// hurry has tokens looked at whose URIs are new or have changed, and those that clients ask
// for: these every minute until they were fetched, as their contracts are asked for the URI.
func (m *Metadata) hurry(ctx context.Context) {
	for n := 0; pause(ctx, tick) == nil; n++ {
		m.mu.Lock()
		asked := map[key]time.Time{}
		if n%askEvery == 0 {
			maps.Copy(asked, m.asked)
		}
		changed := slices.Collect(maps.Keys(m.changed))
		clear(m.changed)
		m.mu.Unlock()
		for k, at := range asked {
			if time.Since(at) > askEvery/2*tick {
				m.ask(&k)
			}
			m.urge(ctx, k)
		}
		for _, k := range changed {
			m.urge(ctx, k)
		}
	}
}

// ask has a contract asked for the URI of a token that a client has asked for.
func (m *Metadata) ask(k *key) {
	if c := m.followed(k); c != nil && c.Ask != nil {
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

// urge has a token fetched before others, if it is due.
func (m *Metadata) urge(ctx context.Context, k key) {
	t, err := m.urgentTask(k)
	if err != nil {
		m.log.Warn("the URI of a token cannot be read", "contract", k.Token, "err", err)
	}
	m.start(ctx, t)
	_ = pause(ctx, time.Second/rowRate) // a stop is seen by the loop
}

func (m *Metadata) urgentTask(k key) (*task, error) {
	c := m.followed(&k)
	if c == nil {
		return nil, nil
	}
	v, err := c.View()
	if err != nil {
		m.lost.Store(true) // it is being closed, or has no block
		return nil, nil
	}
	defer v.Close()
	uri, known, err := v.TokenURI(k.Token, k.ID)
	multi, wrong := isMulti(v, k.Token)
	_, asked := m.askedAt(&k)
	if err = cmp.Or(err, wrong); err != nil || !known && !asked {
		return nil, err
	}
	t := m.due(k, uri, multi, true)
	if t != nil && !known {
		t.refused = Unindexed
	}
	return t, nil
}
