package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
)

const (
	maxRequest = 16 << 20
	// Codes of JSON-RPC.
	codeServer    = -32000
	codeNoMethod  = -32601
	codeBadParams = -32602
)

// A Lie is one receipt of a block that says what is false; the zero value is the truth.
type Lie struct {
	Block  int
	Member string // gasUsed, log or status
}

// A Node answers as of the block of the C-Chain that it has come to, and of the time of
// that block for all else. It is safe for concurrent use.
type Node struct {
	w     *World
	tip   atomic.Int64
	lying []Members // the false receipts of block lie.Block
	lie   Lie
}

// NewNode returns a node of the world at a height of the C-Chain.
func NewNode(w *World, tip int, lie Lie) (*Node, error) {
	n := &Node{w: w, lie: lie}
	n.Advance(tip)
	if lie.Member == "" {
		return n, nil
	}
	var err error
	n.lying, err = falsify(w.Blocks[lie.Block].Receipts, lie.Member)
	return n, err
}

// Advance moves the node to a height of the C-Chain.
func (n *Node) Advance(tip int) { n.tip.Store(int64(min(tip, len(n.w.Blocks)-1))) }

func (n *Node) height() int { return int(n.tip.Load()) }

// clock is the time up to which the P- and X-Chain and all else are answered.
func (n *Node) clock() int64 {
	if n.height() == len(n.w.Blocks)-1 {
		return math.MaxInt64
	}
	return n.w.Blocks[n.height()].time
}

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// A recordedError is the error that the recorded node answered.
type recordedError struct{ json json.RawMessage }

func (e *recordedError) Error() string { return string(e.json) }

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ServeHTTP implements [http.Handler].
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := n.w.path(r.URL.Path)
	if r.Method != http.MethodPost || !n.serves(path) {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var (
		list []request
		one  request
		out  any
	)
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) && decode(body, &list):
		answers := make([]any, len(list))
		for i, q := range list {
			answers[i] = n.answer(path, q)
		}
		out = answers
	case decode(body, &one):
		out = n.answer(path, one)
	default:
		http.Error(w, "bad JSON", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone needs no answer.
	_ = json.NewEncoder(w).Encode(out)
}

// serves reports whether a node has something at a path.
func (n *Node) serves(path string) bool {
	if path == "/ext/P" {
		return true
	}
	for key := range n.w.methods {
		if strings.HasPrefix(key, path+" ") {
			return true
		}
	}
	return false
}

func (n *Node) answer(path string, q request) map[string]any {
	m := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	v, err := n.call(path, q.Method, q.Params)
	var (
		own *recordedError
		rpc *rpcError
	)
	switch {
	case errors.As(err, &own):
		m["error"] = own.json
	case errors.As(err, &rpc):
		m["error"] = rpc
	case err != nil:
		m["error"] = &rpcError{Code: codeServer, Message: err.Error()}
	default:
		m["result"] = v
	}
	return m
}

// call returns what the JSON of the answer's result is made from.
func (n *Node) call(path, method string, params json.RawMessage) (any, error) {
	service, name, _ := strings.Cut(method, ".")
	a := named(params)
	now := n.clock()
	switch {
	case path == "/ext/P" || path == "/ext/bc/P" && service == "platform":
		if v, err := n.platform(name, a, now); v != nil || err != nil {
			return v, err
		}
		path = "/ext/bc/P"
	case path == "/ext/bc/X" && service == "avm":
		if v, err := n.w.X.answer(name, a, now); v != nil || err != nil {
			return v, err
		}
	case path == evmPath:
		return n.evm(method, params)
	case service == "index" && strings.HasSuffix(path, "/block"):
		return n.index(path, name, a)
	case method == "info.peers":
		return json.RawMessage(`{"numPeers":"0","peers":[]}`), nil
	}
	return n.recorded(path, method, params)
}

// recorded returns the answer of the last time that it was asked by now, or of the first.
func (n *Node) recorded(path, method string, params json.RawMessage) (json.RawMessage, error) {
	key, p := path+" "+method, canonical(params)
	list := n.w.calls[key+" "+p]
	for _, none := range []string{"{}", "[]", "null", "[{}]"} {
		if len(list) == 0 && strings.Contains(" {} [] null [{}] ", " "+p+" ") {
			list = n.w.calls[key+" "+none]
		}
	}
	switch {
	case len(list) == 0 && !n.w.methods[key]:
		return nil, &rpcError{codeNoMethod, "the method " + method + " does not exist/is not available"}
	case len(list) == 0:
		return nil, missing(method, params)
	}
	c, now := list[0], float64(n.clock())
	for _, other := range list {
		if other.At <= now {
			c = other
		}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return nil, &recordedError{c.Error}
	}
	return c.Result, nil
}

func missing(method string, params json.RawMessage) error {
	return &rpcError{codeServer, fmt.Sprintf("not recorded: %s %.300s", method, params)}
}

// canonical is JSON with its members in order and without spaces.
func canonical(r json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(r))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "null"
	}
	return string(encode(v))
}

// named reads parameters by name: an object, or an array with one.
func named(params json.RawMessage) map[string]any {
	var (
		m    map[string]any
		list []map[string]any
	)
	if !decode(params, &m) && decode(params, &list) && len(list) == 1 {
		m = list[0]
	}
	return m
}
