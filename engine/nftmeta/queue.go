package nftmeta

import (
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// contract names a collection.
type contract struct {
	chain chain.ID
	token evm.Address
}

// task is a token that is to be fetched.
type task struct {
	key   key
	uri   uint64
	place place
	// refused says why the URI leads nowhere.
	refused Status
	multi   bool
	fresh   bool // there is no record of it
}

// collection is a contract that takes turns.
type collection struct {
	contract
	chain   *Chain
	multi   bool
	known   bool                 // multi is
	after   []byte               // the place in the pass
	walking bool                 // there may be more behind it
	urgent  map[uint256.Int]bool // asked for apart from the pass
	tasks   []*task              // read, not begun
	flying  int                  // under way
	waits   bool                 // for the budget, at its last turn
}

// patience is how long a token waits for a site; with a longer rest it waits for the next
// pass.
const patience = 10 * time.Second

// queue holds the collections that take turns. All is Run's.
type queue struct {
	turn  []*collection
	known map[contract]*collection
}

// add returns a collection, which takes turns from now on; nil if there are too many.
func (q *queue) add(c *Chain, token evm.Address) *collection {
	k := contract{c.ID, token}
	if found := q.known[k]; found != nil {
		return found
	}
	if len(q.known) >= maxActive {
		return nil
	}
	n := &collection{contract: k, chain: c, urgent: map[uint256.Int]bool{}}
	q.known[k] = n
	q.turn = append(q.turn, n)
	return n
}

// next returns a task whose time has come, and the collection whose turn it was. Without
// one, the first collection that there was no budget for has the next turn.
func (m *Metadata) next(now time.Time) (*collection, *task) {
	q := &m.queue
	var first *collection
	for range len(q.turn) {
		c := q.turn[0]
		q.turn = q.turn[1:]
		c.waits = false
		t := m.ready(c, now)
		if c.waits && first == nil {
			first = c
		}
		if t == nil && len(c.tasks)+len(c.urgent)+c.flying == 0 && !c.walking {
			delete(q.known, c.contract)
			continue
		}
		q.turn = append(q.turn, c)
		if t != nil {
			return c, t
		}
	}
	if i := slices.Index(q.turn, first); i > 0 {
		q.turn = slices.Concat(q.turn[i:], q.turn[:i])
	}
	return nil, nil
}

// ready takes the next task of a collection that may begin now.
func (m *Metadata) ready(c *collection, now time.Time) *task {
	if c.flying >= m.cfg.PerCollection {
		return nil
	}
	if len(c.tasks) == 0 || len(c.urgent) > 0 && len(c.tasks) < 2*maxTasks {
		m.refill(c, now)
	}
	resting := "" // the site of the one before
	for i := 0; i < len(c.tasks); {
		t := c.tasks[i]
		wait := time.Duration(0)
		if t.place.site != "" {
			if t.place.site == resting {
				i++
				continue
			}
			wait = m.sites.wait(&t.place, now)
		}
		if wait > 0 && wait <= patience {
			resting = t.place.site
			i++ // those behind it may be of other sites
			continue
		}
		c.tasks = slices.Delete(c.tasks, i, i+1)
		if wait > patience {
			continue
		}
		if _, flying := m.flying[t.key]; flying {
			continue
		}
		if m.admits(c, t, now) {
			return t
		} // else a pass finds it again, or who asked for it does
	}
	return nil
}

// refill reads what is due of a collection: what was asked for, then the next rows of the
// pass, as far as there is budget for them.
func (m *Metadata) refill(c *collection, now time.Time) {
	if len(c.urgent) == 0 && !c.walking {
		return
	}
	if c.waits = !m.afford(now); c.waits {
		return
	}
	v, err := c.chain.View()
	if err != nil { // it is being closed, or has no block
		c.walking = false
		clear(c.urgent)
		m.again = true
		return
	}
	defer v.Close()
	if err := m.readDue(c, v, now); err != nil {
		m.log.Warn("the URIs of a collection cannot be read", "contract", c.token, "err", err)
		c.walking = false
		clear(c.urgent)
	}
}

func (m *Metadata) readDue(c *collection, v View, now time.Time) error {
	if !c.known {
		meta, known, err := v.Token(c.token)
		if err != nil {
			return err
		}
		c.multi, c.known = meta.Kind == index.ERC1155, known
	}
	for id := range c.urgent {
		delete(c.urgent, id)
		nft := index.NFT{Token: c.token, ID: id}
		uri, known, err := v.TokenURI(c.token, id)
		if err != nil {
			return err
		}
		m.budget--
		if !known || !m.offer(c, nft, uri, now) {
			m.settleUnable(key{c.contract.chain, nft}, now)
		}
	}
	if !c.walking || len(c.tasks) > 0 {
		return nil
	}
	nfts, uris, next, err := v.TokenURIs(c.token, index.Page{After: c.after, Limit: maxTasks})
	if err != nil {
		return err
	}
	m.budget -= float64(len(nfts) + 1)
	for i := range nfts {
		m.offer(c, nfts[i], uris[i], now)
	}
	c.after, c.walking = next, next != nil
	return nil
}

// offer adds a token to the tasks of its collection if it is due. It reports false if
// there is no way to fetch it.
func (m *Metadata) offer(c *collection, nft index.NFT, uri string, now time.Time) bool {
	t := &task{key: key{c.contract.chain, nft}, uri: digest(uri), multi: c.multi}
	if slices.ContainsFunc(c.tasks, func(in *task) bool { return in.uri == t.uri && in.key == t.key }) {
		return true
	}
	asked := m.askedFor(&t.key)
	old, err := m.load(&t.key)
	if err != nil {
		m.log.Warn("the record of a token cannot be read, and is made again", "err", err)
	}
	if !old.isDue(t.uri, asked, now) {
		return true
	}
	if old == nil && err == nil && !asked && !m.hasRoom(c, &t.key, asked) {
		return true // as long as all is full, most rows of a pass end here
	}
	if uri == "" {
		t.refused = InvalidURI
	} else if t.place, t.refused = m.cfg.place(uri, &nft.ID, c.multi); t.refused == Unindexed {
		return false
	}
	c.tasks = append(c.tasks, t)
	return true
}

// afford reports whether rows may be read now.
func (m *Metadata) afford(now time.Time) bool {
	m.budget = min(rowRate, m.budget+rowRate*now.Sub(m.spent).Seconds())
	m.spent = now
	return m.budget > 0
}
