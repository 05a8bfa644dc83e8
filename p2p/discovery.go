package p2p

import (
	"cmp"
	"context"
	"slices"
	"time"

	"quorate/p2p/wire"
)

const (
	// pollTimeout bounds one call of Config.Discover; pollPause is the least
	// time between two.
	pollTimeout = 10 * time.Second
	pollPause   = 5 * time.Second
	// gossipFast is the time between rounds of questions for addresses while
	// wanted nodes have none and each round brings news; else it doubles up to gossipSlow.
	gossipFast = 2 * time.Second
	gossipSlow = time.Minute
	// gossipPeers is how many peers are asked in a round while addresses are
	// missing, else one. A peer answers with at most 15 addresses.
	gossipPeers = 3
	// maxClaims is how many addresses of one message are looked at.
	maxClaims = 64
)

// poll asks Config.Discover, at the set times and when addresses are missing.
func (n *Network) poll(ctx context.Context) {
	if n.cfg.Discover == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.pollOnce(ctx)
		pause := min(pollPause, n.cfg.DiscoverEvery)
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(n.cfg.DiscoverEvery - pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-n.search:
		}
	}
}

func (n *Network) pollOnce(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	list, err := n.cfg.Discover(bounded)
	if err != nil {
		if ctx.Err() == nil {
			n.ins.discoverFailures.Inc()
			n.cfg.Logger.Warn("no peer addresses from the followed nodes", "error", err)
		}
		return
	}
	n.AddAddresses(list)
}

// gossip asks peers for the addresses that they know.
func (n *Network) gossip(ctx context.Context) {
	ticker := time.NewTicker(gossipFast)
	defer ticker.Stop()
	interval, progress := gossipFast, n.book.progress()
	wanted := n.peers.Load()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// A moved mark means that the last questions brought something.
		if p, w := n.book.progress(), n.peers.Load(); p != progress || w != wanted {
			interval, progress, wanted = gossipFast, p, w
		}
		ask := gossipPeers
		if n.missing() == 0 {
			ask, interval = 1, gossipSlow
		}
		if time.Since(last) < interval {
			continue
		}
		last = time.Now()
		if n.gossipRound(ask) > 0 {
			interval = min(2*interval, gossipSlow)
		}
	}
}

// missing counts wanted nodes without an address.
func (n *Network) missing() int {
	count := 0
	for _, p := range *n.peers.Load() {
		if !p.hasAddress.Load() {
			count++
		}
	}
	return count
}

// gossipRound asks up to count ready peers and returns how many were asked.
func (n *Network) gossipRound(count int) int {
	var ready []*peer
	for _, p := range *n.peers.Load() { // in random order
		if p.state.Load() == stateReady {
			ready = append(ready, p)
		}
	}
	if len(ready) == 0 {
		return 0
	}
	// Those who were not asked for longest, so that each one's turn comes.
	slices.SortStableFunc(ready, func(a, b *peer) int { return cmp.Compare(a.gossiped, b.gossiped) })
	ready = ready[:min(count, len(ready))]
	k := n.book.filter(time.Now())
	n.known.Store(k)
	m := wire.GetPeerList{Filter: k.filter, Salt: k.salt, AllSubnets: true}
	frame := wire.AppendFrame(nil, m.Append(nil))
	asked := 0
	for _, p := range ready {
		p.gossiped = n.now()
		if p.tell(frame) {
			asked++
		}
	}
	return asked
}

// tell queues a frame that expects no answer, if the budget allows it.
func (p *peer) tell(frame []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil || !p.budget.take(len(frame), time.Now()) {
		return false
	}
	return p.link.out.TrySend(frame) == nil
}

// learn takes signed addresses that the peer sent. Only those of wanted nodes
// are verified and kept. A claim's signature does not cover the certificate
// that the node ID is the hash of, so that anybody can invent any number of
// "nodes" with one signature: of nodes that nobody wants, nothing is kept but
// some bits of the filter that keeps peers from sending the same once more.
func (p *peer) learn(claims []wire.ClaimedIP) error {
	n := p.net
	if err := p.charge(claimCost * len(claims)); err != nil {
		return err
	}
	latest := uint64(time.Now().Add(maxSkew).Unix())
	for i := range claims[:min(len(claims), maxClaims)] {
		c := &claims[i]
		if len(c.Certificate) > wire.MaxCertificateLen || c.Timestamp > latest || !n.cfg.dialable(c.Addr) {
			n.ins.badClaims.Inc()
			continue
		}
		id := c.NodeID()
		if n.peer(id) == nil {
			n.book.heard(id, c.Timestamp)
			continue
		}
		if !n.book.newer(id, c.Timestamp) {
			continue
		}
		if err := p.charge(verifyCost); err != nil {
			return err
		}
		if err := c.Verify(); err != nil {
			n.ins.badClaims.Inc()
			if err := p.violated(forgedClaim, id); err != nil {
				return err
			}
			continue
		}
		n.ins.claims.Inc()
		if n.book.claim(id, c.Addr, c.Timestamp) {
			n.learned(id)
		}
	}
	return nil
}

// ownFrames are the messages that are always the same.
type ownFrames struct{ ping, pong, emptyPeerList []byte }

func newOwnFrames() ownFrames {
	return ownFrames{
		ping:          wire.AppendFrame(nil, wire.Ping{}.Append(nil)),
		pong:          wire.AppendFrame(nil, wire.Pong{}.Append(nil)),
		emptyPeerList: wire.AppendFrame(nil, (&wire.PeerList{}).Append(nil)),
	}
}

// hello returns our half of the handshake: Handshake and an empty PeerList.
func (n *Network) hello() []byte {
	h := wire.Handshake{
		NetworkID:     n.cfg.NetworkID,
		MyTime:        uint64(time.Now().Unix()),
		Addr:          claimedAddr,
		IPSigningTime: n.claim.time,
		IPNodeIDSig:   n.claim.sig,
		Client:        *n.version.Load(),
		IPBLSSig:      n.cfg.IPProof,
		AllSubnets:    true,
	}
	if k := n.known.Load(); k != nil {
		h.Filter, h.Salt = k.filter, k.salt
	}
	return append(wire.AppendFrame(nil, h.Append(nil)), n.frames.emptyPeerList...)
}
