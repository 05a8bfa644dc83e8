package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"quorate/internal/pull"
)

// Codes of errors that EVM clients know.
const (
	codeNoMethod = -32601
	codeLimited  = -32005 // too many requests
)

// maxBatch bounds the members of a batch. It is what the chains' own servers accept.
const maxBatch = 1000

// chainCalls is the body of a request to a chain's RPC.
type chainCalls struct {
	list  []chainCall
	batch bool
	// exact: nothing in the body can be read in another way than it was read here.
	// A node takes names of members in any case and the last of several.
	exact bool
	fault *rpcError // the body as a whole cannot be answered
}

// chainCall is one call. What it holds aliases the body.
type chainCall struct {
	id, params []byte // as written; nil if it has none
	method     string
	fault      *rpcError
	result     []byte // of a call that is answered here; nil if it is not
}

var errTwice = errors.New("a member is there twice")

// parseCalls reads a body, which may be a batch.
func parseCalls(body []byte) chainCalls {
	c := chainCalls{exact: true}
	var p pull.Parser
	p.Reset(body)
	c.batch = bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	if !c.batch {
		c.list = append(c.list, c.parseCall(&p))
	} else {
		p.Elements(func(i int) {
			if i == maxBatch {
				p.Fail(fmt.Errorf("more than %d calls in a batch", maxBatch))
				return
			}
			c.list = append(c.list, c.parseCall(&p))
		})
	}
	switch {
	case !p.End():
		c.exact, c.list = false, nil
		c.fault = &rpcError{Code: codeParse, Message: clip(p.Err().Error(), maxMessage)}
	case !c.exact && !json.Valid(body): // what is dropped was not looked into
		c.list, c.fault = nil, &rpcError{Code: codeParse, Message: "malformed JSON"}
	case len(c.list) == 0:
		c.fault = &rpcError{Code: codeRequest, Message: "empty batch"}
	}
	return c
}

// parseCall reads one call, strictly: a node is more lenient, so whatever it could
// take in another way is refused.
func (c *chainCalls) parseCall(p *pull.Parser) (call chainCall) {
	var version, method []byte
	once := func(dst *[]byte) {
		if *dst != nil {
			p.Fail(errTwice)
		}
		*dst = p.Raw()
	}
	p.Members(func(name []byte) {
		switch string(name) {
		case "jsonrpc":
			once(&version)
		case "id":
			once(&call.id)
		case "method":
			once(&method)
		case "params":
			once(&call.params)
		default:
			c.exact = false
			p.Skip()
		}
	})
	if p.Err() != nil {
		return call
	}
	name, isText := plainText(method)
	call.method = name
	switch {
	case len(call.id) > maxEcho:
		call.id = nil
		call.fault = &rpcError{Code: codeRequest, Message: fmt.Sprintf("the id has more than %d bytes", maxEcho)}
	case string(version) != `"2.0"`:
		call.fault = &rpcError{Code: codeRequest, Message: `jsonrpc must be "2.0"`}
	case !isText:
		call.fault = &rpcError{Code: codeRequest, Message: "method is not a plain text"}
	}
	if call.fault != nil {
		c.exact = false
	}
	return call
}

// plainText returns a text without escapes. False means that raw is something else.
func plainText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

// cost is the price of the body, for calls to the chain at e.
func (s *Service) cost(c *chainCalls, e endpoint) int {
	if len(c.list) == 0 {
		return unitsUnknown // mode All passes it on all the same
	}
	units := 0
	for i := range c.list {
		units += s.price(&c.list[i], e)
	}
	if s.cfg.ChainRPC == All && !c.exact {
		return max(units, unitsUnknown)
	}
	return units
}

func (s *Service) price(call *chainCall, e endpoint) int {
	units, known := s.prices[call.method]
	if call.method == methodLogs && call.fault == nil {
		units += s.logRange(call, e.chain).units()
	}
	switch {
	case known && call.fault == nil && !s.lacks(e, call.method):
		return units
	case s.cfg.ChainRPC == All:
		return unitsUnknown
	}
	return unitsLeast
}

// lacks reports whether the chain at e does not have a method that others have. In mode
// All the node says so itself.
func (s *Service) lacks(e endpoint, method string) bool {
	return s.cfg.ChainRPC != All && s.cfg.Later != nil && s.sync[method] && s.cfg.Later(e.chain)
}

// screen finds the calls that are not passed on to the chain at e and sets their faults.
// In mode All these are only what cannot be read for certain, and subscriptions that are
// not by themselves.
func (s *Service) screen(c *chainCalls, e endpoint) {
	for i := range c.list {
		call := &c.list[i]
		if call.fault != nil {
			continue
		}
		if _, known := s.prices[call.method]; !known && s.cfg.ChainRPC != All || isSubscription(call.method) {
			call.fault = notServed(call.method, e)
		} else if s.lacks(e, call.method) {
			call.fault = &rpcError{Code: codeNoMethod, Message: fmt.Sprintf("the method %s is not available here: the chain executes blocks after it accepted them, and no node of it has the method", call.method)}
		} else if call.method == methodLogs && s.cfg.ChainRPC != All {
			call.fault = s.logRange(call, e.chain).fault()
		}
	}
}

// notServed says that a method is not passed on, in the code of the chain's kind.
func notServed(method string, e endpoint) *rpcError {
	code := codeServer
	if e.sub == "rpc" || e.sub == socketDoor {
		code = codeNoMethod
	}
	does := "what reads the chain and what sends signed transactions"
	if e.kind == nodeInfo {
		does = "what tells of the network, not what names the node behind it"
	}
	text := fmt.Sprintf("the method %s is not available here: this server passes on %s", excerpt(method), does)
	if isSubscription(method) {
		text = fmt.Sprintf("%s needs a WebSocket, and a message of its own", method)
	}
	return &rpcError{Code: code, Message: text}
}

func isSubscription(method string) bool {
	return strings.HasSuffix(method, "_subscribe") || strings.HasSuffix(method, "_unsubscribe")
}

// allowed counts the calls that are passed on.
func (c *chainCalls) allowed() (n int) {
	for i := range c.list {
		if c.list[i].fault == nil && c.list[i].result == nil {
			n++
		}
	}
	return n
}

// appendAllowed appends the calls that are passed on, written again, so that the
// node can read nothing but what was checked.
func (c *chainCalls) appendAllowed(dst []byte) []byte {
	if !c.batch {
		return c.list[0].append(dst, c.list[0].id)
	}
	dst = append(dst, '[')
	first := true
	for i := range c.list {
		if c.list[i].fault != nil || c.list[i].result != nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = c.list[i].append(dst, c.list[i].id)
	}
	return append(dst, ']')
}

func (c *chainCall) append(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id != nil {
		dst = append(append(dst, `,"id":`...), id...)
	}
	// It has no escapes and needs none: it was read as it stood.
	dst = append(append(append(dst, `,"method":"`...), c.method...), '"')
	if c.params != nil {
		dst = append(append(dst, `,"params":`...), c.params...)
	}
	return append(dst, '}')
}

// appendOwn appends the answers to the calls that are not passed on, separated
// by commas. Nobody waits for one to a call without an id.
func (c *chainCalls) appendOwn(dst []byte) []byte {
	first := true
	for i := range c.list {
		call := &c.list[i]
		switch {
		case call.fault == nil && (call.result == nil || call.id == nil):
			continue
		case call.fault != nil && call.id == nil && call.fault.Code != codeRequest:
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if call.fault != nil {
			dst = appendFault(dst, call.fault, call.id)
			continue
		}
		dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), call.id...)
		dst = append(append(append(dst, `,"result":`...), call.result...), '}')
	}
	return dst
}

// appendFault appends an answer without the line's end. It needs to be valid JSON
// whatever the id is: a parser before the node's has only looked at its nesting.
func appendFault(dst []byte, fault *rpcError, id []byte) []byte {
	var raw *json.RawMessage
	if json.Valid(id) {
		raw = (*json.RawMessage)(&id)
	}
	return bytes.TrimSuffix(appendError(dst, fault, raw), []byte("\n"))
}

// answer returns what the client gets when the node was asked nothing.
func (c *chainCalls) answer() []byte {
	if c.fault != nil {
		return append(appendFault(nil, c.fault, nil), '\n')
	}
	own := c.appendOwn(nil)
	switch {
	case len(own) == 0:
		return nil
	case c.batch:
		return slices.Concat([]byte{'['}, own, []byte("]\n"))
	}
	return append(own, '\n')
}

// merge adds the answers to calls that were not passed on to the node's list.
// What is no list, such as an error about the batch as a whole, stays as it is.
func (c *chainCalls) merge(answer []byte) []byte {
	own := c.appendOwn(nil)
	if !c.batch || len(own) == 0 {
		return answer
	}
	head, ok := bytes.CutSuffix(bytes.TrimSpace(answer), []byte("]"))
	switch {
	case len(bytes.TrimSpace(answer)) == 0: // notifications alone
		return slices.Concat([]byte{'['}, own, []byte{']'})
	case !ok || !bytes.HasPrefix(head, []byte("[")):
		return answer
	case len(bytes.TrimSpace(head)) == 1:
		return slices.Concat(head, own, []byte{']'})
	}
	return slices.Concat(head, []byte{','}, own, []byte{']'})
}
