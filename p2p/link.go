package p2p

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

const (
	// pingAfter of silence we ping; deadAfter of silence the link is given up.
	pingAfter = 15 * time.Second
	deadAfter = 30 * time.Second
	// handshakeTimeout is how long the remote may take to send its Handshake.
	handshakeTimeout = 10 * time.Second
	writeTimeout     = 10 * time.Second
	// maxWrite is how many bytes of frames are joined: one full TLS record.
	maxWrite = 16 << 10
	// controlRoom is what the mailbox takes besides the window of questions.
	controlRoom = 16
	// keptBuffer is how large the reader's buffers may stay between messages.
	keptBuffer = 16 << 10
	// maxInbound bounds the messages that are looked at, before and after
	// decompression. Larger ones are skipped, and are violations: all that we ask for
	// is smaller, and what a peer sends otherwise must not fill our memory.
	maxInbound = 256 << 10
	// inboundRate and inboundBurst bound what we read from one peer, answers that cost
	// it no tolerance included, in bytes after decompression: reading pauses when it is
	// more. A full window of answers at the rate that a validator serves needs a tenth of it.
	inboundRate  = 4 << 20
	inboundBurst = 8 << 20
	// maxSkew is by how much clocks may differ before peers refuse each other.
	maxSkew = time.Minute
)

// Why links end, besides errors of the connection.
var (
	errSilent       = errors.New("nothing received for 30 s")
	errNoPong       = errors.New("no pong for 30 s")
	errNoHandshake  = errors.New("no handshake in time")
	errTwice        = fmt.Errorf("%w: second handshake", errIntolerable)
	errWrongNetwork = errors.New("peer is of another network")
	errOverrun      = errors.New("peer does not read what we send")
)

// link is one connection to a peer whose certificate was checked.
type link struct {
	peer    *peer
	net     *Network
	conn    *tls.Conn
	raw     net.Conn
	started time.Time
	out     *actor.Mailbox[[]byte] // frames, shared with other links: read-only

	once sync.Once
	done chan struct{} // closed by fail
	err  error         // valid when done is closed

	lastFrame  atomic.Int64 // when the last frame came, from the network's epoch
	handshaken atomic.Bool
	pinged     atomic.Int64 // when our Ping was sent that has no Pong yet, likewise; 0 none

	// Owned by the reader, and read by run after its end.
	ready   bool
	taken   bool // the remote has answered our Handshake: with addresses
	frames  int  // received
	inbound bucket
	message wire.Message
}

func newLink(p *peer, conn *tls.Conn, raw net.Conn) *link {
	now := time.Now()
	l := &link{
		peer:    p,
		net:     p.net,
		conn:    conn,
		raw:     raw,
		started: now,
		out:     actor.NewMailbox[[]byte](p.net.cfg.Window+controlRoom, actor.Shed),
		done:    make(chan struct{}),
		inbound: newBucket(inboundRate, inboundBurst, now),
	}
	l.lastFrame.Store(int64(now.Sub(p.net.epoch)))
	return l
}

// fail ends the link; the first reason counts. Reader and writer notice.
func (l *link) fail(err error) {
	l.once.Do(func() {
		if closing := l.raw.Close(); closing != nil && !errors.Is(closing, net.ErrClosed) {
			err = errors.Join(err, closing)
		}
		l.err = err
		close(l.done)
	})
}

// control queues a frame of ours that is no question.
func (l *link) control(frame []byte) {
	if err := l.out.TrySend(frame); errors.Is(err, actor.ErrFull) {
		l.fail(errOverrun)
	}
}

// keep is called by the keeper.
func (l *link) keep(now time.Duration) {
	silence := now - time.Duration(l.lastFrame.Load())
	switch {
	case silence >= deadAfter:
		l.fail(errSilent)
	case !l.handshaken.Load() && now-l.started.Sub(l.net.epoch) >= handshakeTimeout:
		l.fail(errNoHandshake)
	case l.pinged.Load() > 0 && now-time.Duration(l.pinged.Load()) >= deadAfter:
		l.fail(errNoPong)
	case silence >= pingAfter:
		l.peer.mu.Lock()
		defer l.peer.mu.Unlock()
		l.ping(&l.peer.questions)
	}
}

// ping asks for a Pong, unless one is due already. The peer's mu must be held:
// the Pong vouches for all questions that are queued so far.
func (l *link) ping(t *questions) {
	if !l.pinged.CompareAndSwap(0, max(1, int64(l.net.now()))) {
		return
	}
	if l.out.TrySend(l.net.frames.ping) != nil {
		l.pinged.Store(0) // the writer is stalled, and its deadline ends the link
		return
	}
	t.unread.ping = t.unread.sent
}

// ponged notes the answer to our Ping, and reports whether there was one.
func (l *link) ponged() bool {
	if l.pinged.Swap(0) == 0 {
		return false
	}
	l.peer.mu.Lock()
	defer l.peer.mu.Unlock()
	t := &l.peer.questions
	t.unread.upTo(t.unread.ping)
	return true
}

// write sends our half of the handshake and then the mailbox, until the link
// ends. Questions that wait already go out in the first write: the remote
// answers them as soon as it has read the handshake before them.
func (l *link) write() {
	hello := l.net.hello()
	var batch [][]byte
	for {
		batch = l.out.Drain(batch)
		if err := l.send(hello, batch); err != nil {
			l.fail(fmt.Errorf("write: %w", err))
			return
		}
		hello = nil
		if cap(batch) > tableKept {
			batch = nil
		}
		select {
		case <-l.out.Ready():
		case <-l.done:
			return
		}
	}
}

// send writes first and the frames, joined into as few records as they fill.
func (l *link) send(first []byte, frames [][]byte) error {
	if len(first) == 0 && len(frames) == 0 {
		return nil
	}
	pooled := l.net.buffers.Get().(*[]byte)
	defer l.net.buffers.Put(pooled)
	buf := append((*pooled)[:0], first...)
	written := 0 // frames that are on the wire
	flush := func(b []byte) error {
		if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := l.conn.Write(b); err != nil {
			return err
		}
		// TLS may have to write while it reads, at any later time.
		return l.conn.SetWriteDeadline(time.Time{})
	}
	var err error
	for i, f := range frames {
		if len(buf)+len(f) > cap(buf) {
			if len(buf) > 0 {
				if err = flush(buf); err != nil {
					break
				}
				buf, written = buf[:0], i
			}
			if len(f) > cap(buf) {
				if err = flush(f); err != nil {
					break
				}
				written = i + 1
				continue
			}
		}
		buf = append(buf, f...)
	}
	if err == nil && len(buf) > 0 {
		err = flush(buf)
	}
	if err == nil {
		written = len(frames)
	}
	t := &l.net.traffic
	t.lastSent.Store(time.Now().UnixNano())
	t.sent.Add(uint64(written))
	t.sendFailures.Add(uint64(len(frames) - written))
	return err
}

// read handles what the remote sends, until the link ends.
func (l *link) read() {
	var buf []byte
	pieces := pieces{from: l.conn, peer: l.peer}
	for {
		pieces.begin()
		frame, size, err := wire.ReadFrameUpTo(&pieces, buf, maxInbound)
		if err != nil {
			if errors.Is(err, wire.ErrTooLarge) {
				err = errors.Join(err, l.peer.violated(tooLarge, err))
			}
			l.fail(fmt.Errorf("read: %w", err))
			return
		}
		l.frames++
		l.lastFrame.Store(int64(l.net.now()))
		l.net.traffic.lastReceived.Store(time.Now().UnixNano())
		if size > maxInbound {
			err = l.oversized(size)
		} else {
			size, err = l.take(frame)
		}
		if units := size / unitBytes; err == nil && units > 0 {
			err = l.peer.charge(units)
		}
		if err != nil {
			l.fail(err)
			return
		}
		if wait := l.inbound.spend(size, time.Now()); wait > 0 && !l.pause(wait) {
			return
		}
		buf = frame
		if cap(buf) > keptBuffer {
			buf = nil
		}
		l.message.Trim(keptBuffer)
	}
}

// pieces reads frames and charges for those that come in more pieces than they
// need: TLS makes a record of a single byte as costly as one of thousands.
type pieces struct {
	from  io.Reader
	peer  *peer
	count int // reads since the frame began
	bytes int // that they returned
}

// pieceSize is how small the pieces of a frame may be on average; the first
// records of a connection hold about 1,400 bytes. The header may come alone.
const pieceSize = 512

func (p *pieces) begin() { p.count, p.bytes = 0, 0 }

func (p *pieces) Read(b []byte) (int, error) {
	if p.count > 2+p.bytes/pieceSize {
		if err := p.peer.charge(frameCost); err != nil {
			return 0, err
		}
	}
	n, err := p.from.Read(b)
	p.count++
	p.bytes += n
	return n, err
}

// pause lets the remote wait; false when the link has ended.
func (l *link) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// take parses and handles one message and returns its size in bytes, before or after
// decompression, whichever is more.
func (l *link) take(frame []byte) (int, error) {
	m := &l.message
	err := l.net.codec.Parse(frame, m)
	switch {
	case errors.Is(err, wire.ErrAboveLimit):
		return len(frame), l.oversized(len(frame))
	case err != nil:
		l.net.ins.malformed.Inc()
		return len(frame), l.peer.violated(unreadable(err), err)
	case m.Size == 0:
		return len(frame), l.peer.violated(empty, "a frame without a message")
	}
	return max(len(frame), m.Size), l.handle(m)
}

// oversized charges for a message above maxInbound that was skipped. Before the
// handshake it can be nothing that a node sends.
func (l *link) oversized(size int) error {
	if !l.ready {
		return fmt.Errorf("%w: a first message of more than %d bytes", errIntolerable, maxInbound)
	}
	return l.peer.violated(tooLarge, fmt.Sprintf("%d bytes on the wire", size))
}

func (l *link) handle(m *wire.Message) error {
	switch m.Kind {
	case wire.KindAppResponse:
		a := &m.AppResponse
		return l.answer(a.RequestID, a.ChainID, Answer{Bytes: a.Bytes})
	case wire.KindAppError:
		e := &m.AppError
		l.net.ins.refusals.Inc()
		return l.answer(e.RequestID, e.ChainID, Answer{Code: e.Code, Err: ErrRefused})
	case wire.KindPong:
		if !l.ponged() {
			return l.peer.violated(unaskedPong, "a pong without a ping")
		}
		return nil
	}
	cost := frameCost
	if m.Kind == wire.KindPing {
		cost = pingCost
	}
	if err := l.peer.charge(cost); err != nil {
		return err
	}
	switch m.Kind {
	case wire.KindPing:
		l.control(l.net.frames.pong)
	case wire.KindQuery:
		l.peer.polled()
	case wire.KindHandshake:
		return l.greeted(&m.Handshake)
	case wire.KindPeerList:
		if l.ready {
			l.taken = true
			l.peer.refused.Store(0)
			return l.peer.learn(m.PeerList.Peers)
		}
	}
	return nil
}

// answer handles what came for a request.
func (l *link) answer(id uint32, chainID chain.ID, a Answer) error {
	if l.peer.answered(id, chainID, a) {
		return nil
	}
	if !l.net.requests.issued(id) {
		return l.peer.violated(unknownID, id)
	}
	return l.peer.charge(frameCost) // once more, or what another peer was asked
}

// greeted handles the remote's Handshake.
func (l *link) greeted(h *wire.Handshake) error {
	if l.ready {
		return errTwice
	}
	if h.NetworkID != l.net.cfg.NetworkID {
		return fmt.Errorf("%w: %d", errWrongNetwork, h.NetworkID)
	}
	skew := time.Since(time.Unix(int64(h.MyTime), 0))
	if skew.Abs() > maxSkew {
		l.net.cfg.Logger.Warn("a peer's clock differs from ours: peers close such links, check this machine's clock",
			"node", l.peer.id, "ours is ahead by", skew.Round(time.Second))
	}
	l.ready = true
	l.handshaken.Store(true)
	l.peer.record.reconnected()
	l.peer.turnedAway.Store(0)
	l.peer.greeting.Store(l.greeting(h))
	l.peer.state.Store(stateReady)
	l.peer.awaySince.Store(-1)
	l.peer.mu.Lock()
	defer l.peer.mu.Unlock()
	l.peer.rest()
	return nil
}

func (l *link) greeting(h *wire.Handshake) *Greeting {
	g := &Greeting{Since: l.started, Version: plainVersion(h.Client)}
	if at, err := netip.ParseAddrPort(l.raw.RemoteAddr().String()); err == nil {
		g.Address = unmapped(at)
	}
	return g
}
