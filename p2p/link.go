package p2p

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
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
	// maxMalformed is how many messages of a link may be unreadable. Peers skip
	// such a message; a stream of them is an attack on our processor.
	maxMalformed = 16
	// inboundRate and inboundBurst bound what we read from one peer, in bytes
	// after decompression. A full window of answers at the rate that a
	// validator serves needs a tenth of it.
	inboundRate  = 4 << 20
	inboundBurst = 8 << 20
	// maxSkew is by how much clocks may differ before peers refuse each other.
	maxSkew = time.Minute
)

// Why links end, besides errors of the connection.
var (
	errSilent       = errors.New("nothing received for 30 s")
	errNoHandshake  = errors.New("no handshake in time")
	errTwice        = errors.New("second handshake")
	errWrongNetwork = errors.New("peer is of another network")
	errOverrun      = errors.New("peer does not read what we send")
	errMalformed    = errors.New("too many malformed messages")
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
	pinged     atomic.Bool // a Ping of ours has no Pong yet

	// Owned by the reader, and read by run after its end.
	ready     bool
	malformed int
	inbound   bucket
	message   wire.Message
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
	case silence >= pingAfter && !l.pinged.Swap(true):
		l.control(l.net.frames.ping)
	}
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
	for {
		frame, err := wire.ReadFrame(l.conn, buf)
		if err != nil {
			if errors.Is(err, wire.ErrTooLarge) {
				l.peer.violated(tooLarge, err)
			}
			l.fail(fmt.Errorf("read: %w", err))
			return
		}
		l.lastFrame.Store(int64(l.net.now()))
		l.net.traffic.lastReceived.Store(time.Now().UnixNano())
		size, err := l.take(frame)
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

// take parses and handles one message and gives its size in bytes.
func (l *link) take(frame []byte) (int, error) {
	m := &l.message
	if err := l.net.codec.Parse(frame, m); err != nil {
		l.net.ins.malformed.Inc()
		l.peer.violated(unreadable(err), err)
		l.malformed++
		if l.malformed > maxMalformed {
			return 0, fmt.Errorf("%w, the last: %w", errMalformed, err)
		}
		return len(frame), nil
	}
	return len(frame) + m.Size, l.handle(m)
}

func (l *link) handle(m *wire.Message) error {
	switch m.Kind {
	case wire.KindAppResponse:
		a := &m.AppResponse
		l.peer.answered(a.RequestID, a.ChainID, Answer{Bytes: a.Bytes})
	case wire.KindAppError:
		e := &m.AppError
		l.net.ins.refusals.Inc()
		l.peer.answered(e.RequestID, e.ChainID, Answer{Code: e.Code, Err: ErrRefused})
	case wire.KindPing:
		l.control(l.net.frames.pong)
	case wire.KindPong:
		l.pinged.Store(false)
	case wire.KindHandshake:
		return l.greeted(&m.Handshake)
	case wire.KindPeerList:
		if l.ready {
			l.net.learn(m.PeerList.Peers)
		}
	}
	return nil
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
	l.peer.state.Store(stateReady)
	l.peer.awaySince.Store(-1)
	return nil
}
