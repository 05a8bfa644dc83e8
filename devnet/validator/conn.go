package validator

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// Times and bounds of a real node.
const (
	upgradeTimeout = 15 * time.Second
	pingEvery      = 22500 * time.Millisecond
	idleTimeout    = 30 * time.Second
	maxDeadline    = 10 * time.Second
	maxInFlight    = 1024 // requests of one peer that are not answered yet
	maxPeerIPs     = 15

	// keepBuffer is how much memory a connection keeps after a large message.
	keepBuffer = 16 << 10
)

// errClosing is why a connection ends without anybody's fault.
var errClosing = errors.New("the validator is closing")

// conn is one peer's connection. The goroutine that runs it reads; a second
// one writes what is put into the outbox.
type conn struct {
	v    *Validator
	tls  *tls.Conn
	peer chain.NodeID
	out  *actor.Mailbox[outgoing]
	// places has one entry for each request in work: a full one stops reading.
	places chan struct{}
	// version is what the peer's handshake says that it runs; nil before.
	version atomic.Pointer[wire.Version]
	// finished is set by the reader when both have said hello.
	finished atomic.Bool
	// pingSent is set while a Ping of ours has no Pong.
	pingSent atomic.Bool
	// unasked is the goroutine of the validator's [Unasked].
	unasked sync.WaitGroup

	// Owned by the reader.
	gotHandshake bool
	allowance    float64 // bytes that may be read at once, as of allowedAt
	allowedAt    time.Time
}

// serve speaks with one peer until either side closes.
func (v *Validator) serve(ctx context.Context, raw net.Conn) {
	defer func() { _ = raw.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	if v.cfg.Conduct.Tarpit {
		tarpit(raw)
		return
	}
	if !v.gate.pass(ctx) {
		return
	}
	secured := tls.Server(raw, v.tls)
	upgrade, cancel := context.WithTimeout(ctx, upgradeTimeout)
	err := secured.HandshakeContext(upgrade)
	cancel()
	if err != nil {
		v.log.Debug("peer refused", "node", v.cfg.Identity.NodeID, "error", err)
		return
	}
	peer := chain.NodeIDFromCert(secured.ConnectionState().PeerCertificates[0].Raw)
	c := &conn{
		v: v, tls: secured, peer: peer,
		out:       actor.NewMailbox[outgoing](maxInFlight+64, actor.Shed),
		places:    make(chan struct{}, maxInFlight),
		allowance: ReadBurst, allowedAt: time.Now(),
	}
	if !v.admit(c) {
		v.log.Debug("peer refused", "node", v.cfg.Identity.NodeID, "peer", peer, "error", "connected already")
		return
	}
	defer v.dismiss(peer)
	if err := c.run(ctx); !errors.Is(err, errClosing) {
		v.log.Debug("peer closed", "node", v.cfg.Identity.NodeID, "peer", peer, "error", err)
	}
}

func (c *conn) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	written := make(chan struct{})
	c.send(wire.AppendFrame(nil, c.handshake()))
	go func() {
		defer close(written)
		err := c.write(ctx)
		cancel(err)
		_ = c.tls.Close() // ends the reader
	}()
	err := c.read(ctx)
	cancel(err)
	_ = c.tls.Close() // ends a writer that waits for the peer to read
	<-written
	c.unasked.Wait()
	return context.Cause(ctx)
}

// read handles messages until the connection must end; the error says why.
func (c *conn) read(ctx context.Context) error {
	var buf []byte
	var msg wire.Message
	for {
		if err := c.tls.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
			return err
		}
		var err error
		if buf, err = wire.ReadFrame(c.tls, buf); err != nil {
			c.v.gate.pass(ctx) // who hangs closes nothing
			return err
		}
		if !c.v.gate.pass(ctx) {
			return errClosing
		}
		if !c.throttle(ctx, wire.FrameHeaderSize+len(buf)) {
			return errClosing
		}
		// What cannot be parsed is skipped, as a real node does.
		if c.v.cfg.Codec.Parse(buf, &msg) == nil {
			if err := c.handle(ctx, &msg); err != nil {
				return err
			}
		}
		msg.Trim(keepBuffer)
		if cap(buf) > keepBuffer {
			buf = nil
		}
	}
}

// throttle waits until the peer may send size bytes more; false when ctx ends before.
func (c *conn) throttle(ctx context.Context, size int) bool {
	rate := c.v.cfg.Conduct.ReadRate
	if rate == 0 {
		return true
	}
	now := time.Now()
	c.allowance = min(ReadBurst, c.allowance+now.Sub(c.allowedAt).Seconds()*float64(rate)) - float64(size)
	c.allowedAt = now
	if c.allowance >= 0 {
		return true
	}
	select {
	case <-time.After(time.Duration(-c.allowance / float64(rate) * float64(time.Second))):
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *conn) handle(ctx context.Context, msg *wire.Message) error {
	switch msg.Kind {
	case wire.KindPing:
		if msg.Ping.Uptime > 100 {
			return fmt.Errorf("uptime of %d percent", msg.Ping.Uptime)
		}
		c.send(wire.AppendFrame(nil, wire.Pong{}.Append(nil)))
	case wire.KindPong:
		if !c.pingSent.Swap(false) {
			return errors.New("pong without a ping")
		}
	case wire.KindHandshake:
		return c.onHandshake(&msg.Handshake)
	case wire.KindPeerList:
		return c.onPeerList(ctx, &msg.PeerList)
	case wire.KindGetPeerList:
		return c.onGetPeerList(&msg.GetPeerList)
	case wire.KindAppRequest:
		if c.finished.Load() {
			c.onRequest(ctx, &msg.AppRequest)
		}
	}
	return nil
}

// onRequest answers an application request, or drops it without a word where
// a real node does.
func (c *conn) onRequest(ctx context.Context, req *wire.AppRequest) {
	w := c.v.cfg.World
	evm := w.Runs(c.v.cfg.Identity.Index, req.ChainID)
	platform := req.ChainID == chain.PlatformChainID
	switch {
	case !evm && !platform && req.ChainID != w.XChainID():
		return // a chain we do not run
	case req.Deadline == 0 || req.Deadline>>63 == 1:
		return // expired
	case evm && req.RequestID%2 == 0:
		return // EVM chains take it for a message of an older protocol
	}
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return
	}
	if wait := c.v.parked(req.ChainID); wait > 0 {
		later := *req
		later.Bytes = slices.Clone(req.Bytes)
		time.AfterFunc(wait, func() { c.answer(&later) })
		return
	}
	c.answer(req)
}

// answer answers a request that has a place.
func (c *conn) answer(req *wire.AppRequest) {
	evm, platform := c.v.cfg.World.Runs(c.v.cfg.Identity.Index, req.ChainID), req.ChainID == chain.PlatformChainID
	handler, n := binary.Uvarint(req.Bytes)
	if n <= 0 || handler != wire.SignatureHandler || (!evm && !platform) {
		c.reply(req, Reply{Outcome: Refused, Code: codeUnregistered, Text: "unregistered handler"})
		return
	}
	message, justification, err := wire.ParseSignatureRequest(req.Bytes)
	if err != nil {
		c.reply(req, refuse(codeUnexpected, "failed to unmarshal request: %v", err))
		return
	}
	c.v.requests.Add(1)
	c.v.cfg.Observer.Requested(message)
	r := &Request{From: c.peer, ChainID: req.ChainID, ID: req.RequestID, Message: message, Justification: justification, Late: c.v.signer.late(req.ChainID)}
	reply := (*c.v.behaviour.Load())(r, func() Reply { return c.v.signer.reply(r) })
	c.v.cfg.Observer.Replied(reply.Outcome)
	c.reply(req, reply)
}

// reply sends what an answered request gets, and gives its place back once sent.
func (c *conn) reply(req *wire.AppRequest, r Reply) {
	o := outgoing{place: true, after: r.After}
	switch r.Outcome {
	case Answered:
		o.frame = c.packed((&wire.AppResponse{
			ChainID: req.ChainID, RequestID: req.RequestID,
			Bytes: wire.AppendSignatureResponse(nil, r.Signature),
		}).Append(nil))
	case Refused:
		o.frame = c.packed((&wire.AppError{
			ChainID: req.ChainID, RequestID: req.RequestID, Code: r.Code, Message: r.Text,
		}).Append(nil))
	case Written:
		o.frame = r.Raw
	default:
		<-c.places
		return
	}
	delay := c.v.cfg.Latency + r.Delay
	if c.v.cfg.Jitter > 0 {
		delay += rand.N(c.v.cfg.Jitter)
	}
	if delay > 0 {
		o.due = time.Now().Add(delay)
	}
	if c.out.TrySend(o) != nil { // a real node drops answers when its queue is full
		<-c.places
	}
}

// packed returns the frame of a message of the kinds that nodes always compress.
func (c *conn) packed(msg []byte) []byte {
	return wire.AppendFrame(nil, c.v.cfg.Codec.Compress(nil, msg))
}

// send queues a frame; it is dropped when the peer takes none of them.
func (c *conn) send(frame []byte) { _ = c.out.TrySend(outgoing{frame: frame}) }

// finish ends the handshake: from now on requests are answered.
func (c *conn) finish(ctx context.Context) {
	if c.finished.Swap(true) {
		return
	}
	if unasked := c.v.cfg.Conduct.Unasked; unasked != nil {
		c.unasked.Go(func() { unasked(ctx, c.v.cfg.World.CChainID(), c) })
	}
}

// Send is for [Peer].
func (c *conn) Send(raw []byte) bool { return c.out.TrySend(outgoing{frame: raw}) == nil }

// Close is for [Peer].
func (c *conn) Close() { _ = c.tls.NetConn().Close() }

// tarpit takes what a peer sends, and answers nothing, until it goes.
func tarpit(raw net.Conn) {
	_, _ = io.Copy(io.Discard, raw)
}
