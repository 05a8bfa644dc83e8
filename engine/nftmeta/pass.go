package nftmeta

import (
	"bytes"
	"slices"
	"time"

	"quorate/engine/chain/evm"
)

// pass goes through the collections of all chains.
type pass struct {
	on     bool
	began  time.Time
	chains []Chain
	after  *evm.Address // of the first of chains; nil: from the beginning
}

// admitted is how many collections a pass keeps in turn: there is room left for others.
const admitted = maxActive / 2

// walk has further collections take turns, and begins a pass when it is time for one.
func (m *Metadata) walk(now time.Time) {
	p := &m.pass
	if !p.on {
		wait := passEvery
		if m.again = m.lost.Swap(false) || m.again; m.again {
			wait = passSoon
		}
		if now.Sub(p.began) < wait {
			return
		}
		m.again = false
		*p = pass{on: true, began: now, chains: slices.Clone(m.cfg.Chains())}
		slices.SortFunc(p.chains, func(a, b Chain) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	for p.on && len(m.queue.known) < admitted && m.afford(now) {
		if len(p.chains) == 0 {
			p.on = false
			return
		}
		c := &p.chains[0]
		list, err := m.collections(c, p.after)
		if err != nil {
			m.log.Warn("the collections of a chain cannot be listed", "err", err)
		}
		if len(list) == 0 {
			p.chains, p.after = p.chains[1:], nil
			continue
		}
		m.budget -= float64(len(list))
		for i := range list {
			p.after = &list[i]
			if in := m.queue.add(c, list[i]); in != nil && !in.walking {
				in.walking, in.after = true, nil
			}
		}
	}
}

// listed is how many collections are read at once.
const listed = 32

func (m *Metadata) collections(c *Chain, after *evm.Address) ([]evm.Address, error) {
	v, err := c.View()
	if err != nil {
		return nil, nil // it has no block yet, or is being closed
	}
	defer v.Close()
	return v.URITokens(after, listed)
}
