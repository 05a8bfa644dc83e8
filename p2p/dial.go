package p2p

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/p2p/wire"
)

const (
	// tcpTimeout and tlsTimeout bound the two parts of a dial. They are short,
	// as a node that does not answer holds one of the dial tokens meanwhile.
	tcpTimeout = 5 * time.Second
	tlsTimeout = 10 * time.Second
	// turnedAwayWithin is how soon a node closes a link that it does not want, and
	// turnedAwayOften how many times in a row make a pattern.
	turnedAwayWithin = 5 * time.Second
	turnedAwayOften  = 2
)

// ErrWrongNode is the end of a dial that reached another node than the wanted one.
var ErrWrongNode = errors.New("another node answers at the address")

// run is the peer's actor: it waits for its turn, dials, and serves the link.
func (p *peer) run() {
	defer close(p.ended)
	if before := p.before; before != nil {
		// Its link must have ended: the node would refuse a second one.
		<-before.ended
		p.backoff, p.proven, p.before = before.backoff, before.proven, nil
	}
	for {
		addr, ok := p.awaitTurn()
		if !ok {
			p.lose()
			return
		}
		p.connectAndServe(addr)
	}
}

// awaitTurn waits until there is an address that may be dialed; false when the peer is stopped.
func (p *peer) awaitTurn() (netip.AddrPort, bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for p.ctx.Err() == nil {
		var due <-chan time.Time
		if p.idle() {
			// It is left alone.
		} else if known := p.net.book.addresses(p.id); len(known) == 0 {
			p.net.wakePoller()
		} else {
			addr := known[p.dials%len(known)]
			p.backoff.eager = p.polls.Load() // or its questions would wait ten seconds each time
			wait := time.Until(p.backoff.next(addr.Addr(), p.wakes.Load() != 0))
			if wait <= 0 {
				return addr, true
			}
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-p.ctx.Done():
		case <-p.wakeup:
		case <-due:
		}
	}
	return netip.AddrPort{}, false
}

// connectAndServe makes one attempt and, when it succeeds, serves the link to its end.
func (p *peer) connectAndServe(addr netip.AddrPort) {
	n := p.net
	release, ok := n.tokens.take(p.ctx, p.proven || p.backoff.fails == 0)
	if !ok {
		return
	}
	p.wakes.Store(0)
	l, kind, err := p.dial(addr)
	release()
	p.dials++
	if err != nil {
		if p.ctx.Err() != nil {
			return
		}
		n.ins.dialFailures[kind].Inc()
		p.lose()
		p.backoff.end(addr.Addr(), false, time.Now())
		n.cfg.Logger.Debug("peer was not reached", "node", p.id, "address", addr, "kind", kind, "error", err)
		return
	}
	p.dials-- // the address is right: the next attempt goes there again
	p.serve(l)
	p.wakes.Store(0) // what was wanted of the link that has ended
	p.proven = p.proven || l.ready
	if l.refused() {
		p.refused.Add(1)
	}
	if l.turnedAway() {
		p.turnedAway.Add(1)
		n.suspectIdentity()
	}
	good := l.ready && time.Since(l.started) >= settled || errors.Is(l.err, errResting)
	p.backoff.end(addr.Addr(), good, time.Now())
	switch {
	case errors.Is(l.err, errWrongNetwork):
		p.backoff.ban(time.Now()) // it will be no other one soon
	case errors.Is(l.err, errIntolerable), errors.Is(l.err, errOverrun):
		n.ins.dropped.Inc()
		ban := p.backoff.ban(time.Now())
		p.name("peer was dropped", "address", addr, "error", l.err, "dialed again after", ban)
	}
	if errors.Is(l.err, ErrStopped) {
		return
	}
	n.ins.disconnects.Inc()
	if !l.ready {
		p.dials++
		n.ins.dialFailures[failHandshake].Inc()
	}
	n.cfg.Logger.Debug("link to peer ended", "node", p.id, "address", addr, "ready", l.ready, "error", l.err)
}

// turnedAway reports whether the remote closed the link right after TLS, with
// no reason told and no message sent. It is read after the link's end.
func (l *link) turnedAway() bool { return l.frames == 0 && l.refused() }

// refused reports whether the remote closed the link soon, with no reason told, and
// before it answered our Handshake. It is read after the link's end.
func (l *link) refused() bool {
	var told *net.OpError // an alert: the remote says what it dislikes
	return !l.taken && time.Since(l.started) < turnedAwayWithin && !errors.Is(l.err, errWrongNetwork) &&
		!errors.Is(l.err, errIntolerable) && !errors.Is(l.err, errOverrun) &&
		!errors.Is(l.err, ErrStopped) && !errors.Is(l.err, errResting) && !errors.Is(l.err, wire.ErrTooLarge) &&
		!(errors.As(l.err, &told) && told.Op == "remote error")
}

// dial sets up TCP and TLS and checks who is at the other end.
func (p *peer) dial(addr netip.AddrPort) (*link, dialFailure, error) {
	n := p.net
	n.ins.dials.Inc()
	p.backoff.dial(time.Now())
	ctx, cancel := context.WithTimeout(p.ctx, tcpTimeout)
	defer cancel()
	raw, err := n.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, failTCP, err
	}
	counted := &countedConn{Conn: raw, in: n.ins.bytesIn, out: n.ins.bytesOut}
	p.backoff.upgrade(addr.Addr(), time.Now())

	tlsCtx, cancelTLS := context.WithTimeout(p.ctx, tlsTimeout)
	defer cancelTLS()
	conn := tls.Client(counted, n.tls)
	if err := conn.HandshakeContext(tlsCtx); err != nil {
		return nil, closedAs(counted, tlsCtx), errors.Join(err, counted.Close())
	}
	id := chain.NodeIDFromCert(conn.ConnectionState().PeerCertificates[0].Raw)
	if id != p.id {
		err := fmt.Errorf("%w: %v", ErrWrongNode, id)
		return nil, failWrongNode, errors.Join(err, counted.Close())
	}
	return newLink(p, conn, counted), 0, nil
}

// closedAs distinguishes a remote that closed at once, because it limits new links,
// from one that failed at TLS or that does not answer.
func closedAs(c *countedConn, ctx context.Context) dialFailure {
	if c.gotAny || ctx.Err() != nil {
		return failTLS
	}
	return failBare
}

// serve runs the link's two halves to their end: the writer here, the reader beside it.
func (p *peer) serve(l *link) {
	if !p.attach(l) {
		l.fail(ErrStopped)
		return
	}
	var reader sync.WaitGroup
	reader.Go(l.read)
	l.write()
	reader.Wait()
	if !errors.Is(l.err, errResting) {
		p.lose()
	}
	p.net.traffic.sendFailures.Add(uint64(len(l.out.Close())))
}

// countedConn counts what goes over a connection.
type countedConn struct {
	net.Conn
	in, out metric.Counter
	gotAny  bool // owned by the one who reads
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(float64(n))
	c.gotAny = c.gotAny || n > 0
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(float64(n))
	return n, err
}
