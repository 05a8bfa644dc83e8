package nftmeta

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// passes goes through the index again and again for what is due.
func (m *Metadata) passes(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		m.lost.Store(false)
		m.fail(m.makeRoom(ctx))
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
// tokens are not always the first. Some are gone through at one time.
func (m *Metadata) passChain(ctx context.Context, c *Chain) error {
	var first evm.Address
	rand.Read(first[:]) // never fails
	slots := make(chan struct{}, collections)
	var work sync.WaitGroup
	defer work.Wait()
	part := func(after, until *evm.Address) error {
		for {
			list, err := listed(c, after)
			if err != nil || len(list) == 0 {
				return err
			}
			for i := range list {
				if until != nil && bytes.Compare(list[i][:], until[:]) > 0 || !take(ctx, slots) {
					return nil
				}
				work.Go(func() {
					if err := m.passCollection(ctx, c, list[i]); err != nil && ctx.Err() == nil {
						m.log.Warn("the URIs of a contract cannot be read", "contract", list[i], "err", err)
					}
					<-slots
				})
			}
			after = &list[len(list)-1]
		}
	}
	if err := part(&first, nil); err != nil {
		return err
	}
	return part(nil, &first)
}

func listed(c *Chain, after *evm.Address) ([]evm.Address, error) {
	v, err := c.View()
	if err != nil {
		return nil, nil // it has no block yet, or is being closed
	}
	defer v.Close()
	return v.URITokens(after, collections)
}

// passCollection fetches what is due of a collection, as far as a pass may. A site without a
// turn in time keeps none waiting behind it.
func (m *Metadata) passCollection(ctx context.Context, c *Chain, token evm.Address) error {
	var work sync.WaitGroup
	defer work.Wait()
	var fetched atomic.Int32
	var slow sync.Map // sites
	slots := make(chan struct{}, perCollection)
	for next := []byte(nil); ; {
		nfts, uris, multi, after, err := readPage(c, token, next)
		if err != nil {
			return err
		}
		for i := range nfts {
			if fetched.Load() >= dueInPass {
				m.lost.Store(true)
				return nil
			}
			t := m.due(key{c.ID, nfts[i]}, uris[i], multi, false)
			if t == nil {
				continue
			}
			if _, rests := slow.Load(t.place.site); rests || !take(ctx, slots) {
				m.forget(t)
				continue
			}
			work.Go(func() {
				if m.visit(ctx, t) {
					fetched.Add(1)
				} else {
					slow.Store(t.place.site, true)
				}
				<-slots
			})
		}
		if err := m.pace(ctx, len(nfts)+1); err != nil || after == nil {
			return err
		}
		next = after
	}
}

// pace bounds the rows that are read.
func (m *Metadata) pace(ctx context.Context, rows int) error {
	if !take(ctx, m.reading) {
		return context.Cause(ctx)
	}
	defer func() { <-m.reading }()
	return pause(ctx, time.Duration(rows)*time.Second/rowRate)
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

// hurry has tokens looked at whose URIs are new or have changed, and those that clients ask for,
// again and again until they were fetched.
func (m *Metadata) hurry(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	for n := 0; pause(ctx, tick) == nil; n++ {
		m.mu.Lock()
		changed := slices.Collect(maps.Keys(m.changed))
		clear(m.changed)
		var asked map[key]time.Time
		if n%remindEvery == 0 {
			asked = maps.Clone(m.asked)
		}
		m.mu.Unlock()
		for _, k := range changed {
			m.urge(ctx, &work, k)
		}
		for k, at := range asked { // each time in another order
			if n%tellEvery == 0 && time.Since(at) > tellEvery/2*tick {
				m.tell(&k)
			}
			if len(m.urgent) < cap(m.urgent) {
				m.urge(ctx, &work, k)
			}
		}
	}
}

// tell has a contract asked for the URI of a token that a client has asked for.
func (m *Metadata) tell(k *key) {
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
func (m *Metadata) urge(ctx context.Context, work *sync.WaitGroup, k key) {
	if m.pace(ctx, 1) != nil {
		return
	}
	t, err := m.urgentTask(k)
	if err != nil {
		m.log.Warn("the URI of a token cannot be read", "contract", k.Token, "err", err)
	}
	if t == nil || !take(ctx, m.urgent) {
		m.forget(t)
		return
	}
	work.Go(func() {
		m.visit(ctx, t)
		<-m.urgent
	})
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
