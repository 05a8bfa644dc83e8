package rpc

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/goccy/go-json"

	"quorate/internal/pull"
)

// fromClient passes on what the client may call, until it ends.
func (c *session) fromClient(ctx context.Context) closing {
	for {
		kind, body, err := c.client.Read(ctx)
		switch {
		case err != nil:
			return closing{} // gone, or told by the library what it did wrong
		case kind != websocket.MessageText:
			return closing{websocket.StatusUnsupportedData, "messages are text"}
		}
		if !c.meter.frame() {
			return c.meter.why
		}
		passed, answer, ok := c.screen(body)
		if !ok {
			return c.meter.why
		}
		if len(answer) > 0 && send(ctx, c.client, answer) != nil {
			return closing{}
		}
		if len(passed) > 0 && send(ctx, c.node, passed) != nil {
			return closing{websocket.StatusServiceRestart, "the node went away"}
		}
	}
}

func send(ctx context.Context, to *websocket.Conn, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, socketWriteTimeout)
	defer cancel()
	return to.Write(ctx, websocket.MessageText, body)
}

// screen charges a message for its calls and divides it into what the node gets and what the
// client is answered at once.
func (c *session) screen(body []byte) (passed, answer []byte, ok bool) {
	s := c.service
	calls := parseCalls(body)
	if units := s.cost(&calls, c.at) - 1; units > 0 && !c.meter.take(units) { // the frame has cost one
		return nil, nil, false
	}
	if len(calls.list) == 1 && !calls.batch && calls.list[0].fault == nil && isSubscription(calls.list[0].method) {
		passed, answer = c.subscription(&calls.list[0])
		return passed, answer, true
	}
	s.screen(&calls, c.at)
	if calls.allowed() > 0 {
		passed = calls.appendAllowed(nil)
	}
	// The members of a batch that are refused are answered in a message of their own.
	return passed, calls.answer(), true
}

// subscription passes a call of eth_subscribe or eth_unsubscribe on under an ID that
// no client knows, so that its answer can be told from all others.
func (c *session) subscription(call *chainCall) (passed, answer []byte) {
	known := false
	switch call.method {
	case "eth_subscribe":
		known = c.service.cfg.ChainRPC == All || allowedSubscription(call.params)
	case "eth_unsubscribe":
		known = true
	default:
		known = c.service.cfg.ChainRPC == All
	}
	if !known {
		fault := &rpcError{Code: codeNoMethod, Message: fmt.Sprintf("this subscription of %s is not available here", call.method)}
		return nil, appendFault(nil, fault, call.id)
	}
	id, ok := c.subs.begin(call)
	if !ok {
		fault := &rpcError{Code: codeLimited, Message: fmt.Sprintf("more than %d subscriptions", maxSubscriptions)}
		return nil, appendFault(nil, fault, call.id)
	}
	return call.append(nil, id), nil
}

// allowedSubscription reports whether params begin with a subscription that is
// passed on in mode Safe.
func allowedSubscription(params []byte) bool {
	var args []json.RawMessage
	if json.Unmarshal(params, &args) != nil || len(args) == 0 {
		return false
	}
	name, ok := plainText(args[0])
	for _, s := range subscriptions {
		if ok && name == s {
			return true
		}
	}
	return false
}

// fromNode passes on what the node says, until it ends.
func (c *session) fromNode(ctx context.Context) closing {
	for {
		kind, message, err := c.node.Reader(ctx)
		if err != nil {
			return closing{websocket.StatusServiceRestart, "the node went away"}
		}
		if err := c.passOn(ctx, kind, message); err != nil {
			return closing{websocket.StatusPolicyViolation, "messages are not taken"}
		}
	}
}

// passOn gives the client one message. Those that may be answers about
// subscriptions are read as a whole; others may be long and are not.
func (c *session) passOn(ctx context.Context, kind websocket.MessageType, message io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, socketWriteTimeout)
	defer cancel()
	if c.subs.awaited() {
		body, err := io.ReadAll(message)
		if err != nil {
			return err
		}
		return c.client.Write(ctx, kind, c.subs.answered(body))
	}
	to, err := c.client.Writer(ctx, kind)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, message); err != nil {
		return err
	}
	return to.Close()
}

// subscribed counts the subscriptions of a session. A call for one is counted from
// the time that it is sent.
type subscribed struct {
	secret string // of the IDs

	mu      sync.Mutex // guards what follows
	count   int
	next    uint64
	waiting map[string]waiting
}

// waiting is a call about a subscription that the node has not answered.
type waiting struct {
	id    []byte // the client's
	more  int    // subscriptions that it makes if it goes well
	wants bool   // an answer
}

func newSubscribed() subscribed {
	return subscribed{secret: rand.Text(), waiting: make(map[string]waiting)}
}

// begin notes a call and returns the ID that it is sent under.
func (t *subscribed) begin(call *chainCall) (id []byte, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := waiting{id: append([]byte(nil), call.id...), more: -1, wants: call.id != nil}
	if len(t.waiting) == 2*maxSubscriptions {
		return nil, false
	}
	if strings.HasSuffix(call.method, "_subscribe") {
		if t.count == maxSubscriptions {
			return nil, false
		}
		w.more = 1
		t.count++
	}
	t.next++
	id = strconv.AppendQuote(nil, t.secret+strconv.FormatUint(t.next, 10))
	t.waiting[string(id)] = w
	return id, true
}

// awaited reports whether an answer is still to come.
func (t *subscribed) awaited() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) > 0
}

// answered takes note of a message of the node and returns it as the client gets it.
func (t *subscribed) answered(body []byte) []byte {
	var id, result, fault []byte
	var p pull.Parser
	p.Reset(body)
	p.Members(func(name []byte) {
		switch string(name) {
		case "id":
			id = p.Raw()
		case "result":
			result = p.Raw()
		case "error":
			fault = p.Raw()
		default:
			p.Skip()
		}
	})
	if !p.End() {
		return body // a batch, for example
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.waiting[string(id)]
	if !ok {
		return body
	}
	delete(t.waiting, string(id))
	switch well := len(fault) == 0 && string(result) != "false"; {
	case w.more > 0 && !well, w.more < 0 && well:
		t.count--
	}
	if !w.wants {
		w.id = []byte("null")
	}
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), w.id...)
	if len(fault) > 0 {
		dst = append(append(dst, `,"error":`...), fault...)
	} else {
		dst = append(append(dst, `,"result":`...), result...)
	}
	return append(dst, '}')
}
