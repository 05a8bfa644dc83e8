package evm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/source"
	"quorate/internal/pull"
)

const (
	// maxMessage bounds a message of the WebSocket in bytes: a header has under 2 KiB.
	maxMessage = 1 << 18
	// dialTimeout bounds the set-up of the WebSocket and of the subscription.
	dialTimeout = 5 * time.Second
	// firstPause is the pause before the WebSocket is set up again; it doubles up to
	// lastPause as long as no head comes.
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
	// silence is after how many poll intervals without a new head the node is polled,
	// though the WebSocket is up, and between two looks at all nodes if there are several.
	silence = 4
	// swapLead is how long before nodes replace the chain's API the WebSocket is closed,
	// and swapLook how often it is looked whether they will soon, and then whether they have.
	swapLead = 15 * time.Second
	swapLook = time.Second
	// pingInterval is how often an idle WebSocket is probed.
	pingInterval = 10 * time.Second
)

// Watch calls onHead with the height of the chain's tip, first with the present
// one and then each time that it rises, until ctx ends; it returns the cause of that
// end. Heights may be left out: only the latest counts. They are hints: the block
// may be asked for from another node that does not have it yet, and a tip that
// falls is not told. A node's WebSocket tells of heads; while it is down, silent or
// only repeats itself the nodes are polled, and from time to time in any case if there
// are several, since that one may lag. A call of onHead holds up the next.
func (c *Client) Watch(ctx context.Context, onHead func(number uint64)) error {
	heads := make(chan newest, 1) // the latest only
	live := make(chan bool, 1)    // whether the WebSocket is up, the latest only
	ctx, stop := context.WithCancelCause(ctx)
	var lanes sync.WaitGroup
	lanes.Go(func() { c.subscribe(ctx, heads, live) })
	lanes.Go(func() { c.keepProbing(ctx) })
	defer func() {
		stop(nil)
		lanes.Wait()
	}()
	var last uint64
	started := false
	tell := func(number uint64) (rose bool) {
		if rose = !started || number > last; rose {
			started, last = true, number
			onHead(number)
		}
		return rose
	}
	fresh := false // several nodes, and a head was news since they were polled
	failing := false
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		select {
		case head := <-heads:
			c.heads.Inc()
			c.traceAhead(ctx, &lanes, &head)
			if !tell(head.number) {
				continue
			}
			if fresh = len(c.cfg.Node.Nodes()) > 1; !fresh {
				poll.Reset(silence * c.cfg.PollInterval)
			}
		case up := <-live:
			if !up {
				poll.Reset(0)
			}
		case <-poll.C:
			c.polls.Inc()
			number, err := c.height(ctx)
			if err == nil {
				tell(number)
			} else if !failing && ctx.Err() == nil {
				c.cfg.Logger.Warn("chain's height cannot be had", "path", c.cfg.Name, "err", err)
			}
			failing = err != nil
			wait := c.cfg.PollInterval
			if fresh {
				wait *= silence
			}
			fresh = false
			poll.Reset(wait)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// height asks for the tip's height, once: of several nodes for the highest.
func (c *Client) height(ctx context.Context) (n uint64, err error) {
	if len(c.cfg.Node.Nodes()) > 1 {
		head, err := c.Tip(ctx)
		return head.Height, err
	}
	var s string
	if err := c.cfg.Node.Call(ctx, c.cfg.Path, "eth_blockNumber", []any{}, &s); err != nil {
		return 0, outward(err)
	}
	if n, err = hexUint([]byte(s)); err != nil {
		return 0, bad("height: %w", err)
	}
	return n, nil
}

// put leaves v as the only value in ch, which has room for one and one sender.
func put[T any](ch chan T, v T) {
	select {
	case <-ch:
	default:
	}
	ch <- v
}

// subscribe keeps a subscription of new heads until ctx ends.
func (c *Client) subscribe(ctx context.Context, heads chan newest, live chan bool) {
	if c.cfg.WS.Zero() {
		return
	}
	pause, told := firstPause, false
	for {
		for c.untilSwap() <= 0 {
			select {
			case <-time.After(swapLook):
			case <-ctx.Done():
				return
			}
		}
		got, err := c.listen(ctx, heads, live)
		put(live, false)
		if ctx.Err() != nil {
			return
		}
		if got {
			pause, told = firstPause, false
		}
		if !told {
			level := slog.LevelWarn
			if errors.Is(err, errSwap) { // all is well
				level = slog.LevelInfo
			}
			c.cfg.Logger.Log(ctx, level, "WebSocket is down: the node is polled", "path", c.cfg.Name, "err", err)
			told = true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// untilSwap returns the time until the WebSocket is to be closed: it is over while nodes
// may replace the chain's API.
func (c *Client) untilSwap() time.Duration {
	if c.cfg.Swap != nil && !c.pool.swapped.Load() {
		if at := c.cfg.Swap(); !at.IsZero() {
			return time.Until(at.Add(-swapLead))
		}
	}
	return math.MaxInt64
}

var errSwap = errors.New("nodes replace the chain's API soon")

// listen passes on heads of one subscription until it breaks, and reports whether
// there was any.
func (c *Client) listen(ctx context.Context, heads chan newest, live chan bool) (got bool, err error) {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := source.DialWebSocket(dialing, c.cfg.WS)
	if err != nil {
		return false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	const question = `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`
	if err := conn.Write(dialing, websocket.MessageText, []byte(question)); err != nil {
		return false, err
	}
	_, text, err := conn.Read(dialing)
	if err != nil {
		return false, err
	}
	subscription, err := subscribed(text)
	if err != nil {
		return false, err
	}
	put(live, true)
	alive, stop := context.WithCancelCause(ctx)
	probe := make(chan struct{})
	go func() {
		defer close(probe)
		c.attend(alive, conn, stop)
	}()
	defer func() {
		stop(nil)
		<-probe
	}()
	for {
		_, text, err := conn.Read(alive)
		if alive.Err() != nil { // then the error says nothing of the cause
			err = context.Cause(alive)
		}
		if err != nil {
			return got, err
		}
		head, ok, err := newHead(text, subscription)
		if err != nil {
			return got, err
		}
		if ok {
			got = true
			put(heads, head)
		}
	}
}

// attend ends a connection that is dead without having been closed, and any before nodes
// replace the chain's API.
func (c *Client) attend(ctx context.Context, conn *websocket.Conn, stop context.CancelCauseFunc) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		left := c.untilSwap()
		if left <= 0 {
			stop(errSwap)
			return
		}
		select {
		case <-time.After(min(left, swapLook)):
			continue
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		wait, cancel := context.WithTimeout(ctx, dialTimeout)
		err := conn.Ping(wait)
		cancel()
		if err != nil {
			stop(fmt.Errorf("no answer to a ping: %w", err))
			return
		}
	}
}

// subscribed reads the answer to eth_subscribe: the subscription's ID.
func subscribed(text []byte) (id string, err error) {
	var p pull.Parser
	p.Reset(text)
	var refusal []byte
	p.Members(func(name []byte) {
		switch {
		case string(name) == "result" && !p.Null():
			id = string(p.Text())
		case string(name) == "error":
			refusal = p.Raw()
		case string(name) != "result":
			p.Skip()
		}
	})
	switch {
	case !p.End():
		return "", p.Err()
	case len(refusal) > 0:
		return "", fmt.Errorf("no subscription: %.200s", refusal)
	case id == "":
		return "", errors.New("no subscription ID")
	}
	return id, nil
}

// newHead reads a message: a head of the subscription, if it is that.
func newHead(text []byte, subscription string) (head newest, ok bool, err error) {
	var f fields
	f.Reset(text)
	id := ""
	f.Members(func(name []byte) {
		if string(name) != "params" {
			f.Skip()
			return
		}
		f.Members(func(name []byte) {
			switch string(name) {
			case "subscription":
				id = string(f.Text())
			case "result":
				f.Members(func(name []byte) {
					switch string(name) {
					case "number":
						head.number, ok = f.uint("number"), true
					case "hash":
						head.hash = f.hash("hash")
					case "transactionsRoot":
						head.txRoot = f.hash("transactionsRoot")
					default:
						f.Skip()
					}
				})
			default:
				f.Skip()
			}
		})
	})
	if !f.End() {
		return newest{}, false, f.Err()
	}
	return head, ok && id == subscription, nil
}
