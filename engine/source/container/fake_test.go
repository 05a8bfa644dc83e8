package container

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
	"quorate/engine/primary"
	"quorate/engine/source"
)

// fake is a node with an index of one chain.
type fake struct {
	t       testing.TB
	kind    primary.Kind
	genesis []byte // the block at height 0

	mu         sync.Mutex
	containers [][]byte // by height, from the first on
	noIndex    bool
	drop       func(height uint64) bool // not in the index
	spoil      func(method string, result map[string]any)
	hang       bool
	status     int // of all answers, if not 0
	calls      map[string]int
	stop       chan struct{}
	at         source.Endpoint
}

func newFake(t testing.TB, kind primary.Kind, containers [][]byte) *fake {
	t.Helper()
	f := &fake{t: t, kind: kind, containers: containers, calls: map[string]int{}, stop: make(chan struct{})}
	s := httptest.NewServer(f)
	t.Cleanup(func() {
		close(f.stop)
		s.Close()
	})
	var err error
	if f.at, err = source.ParseEndpoint(s.URL); err != nil {
		t.Fatal(err)
	}
	return f
}

// set changes the node.
func (f *fake) set(change func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "0x" + hex.EncodeToString(append(b[:len(b):len(b)], sum[28:]...))
}

func (f *fake) first() uint64 {
	if f.kind == primary.XVertices {
		return 0
	}
	return 1
}

// ServeHTTP implements [http.Handler].
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		f.t.Errorf("request: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[q.Method]++
	if f.hang {
		f.mu.Unlock()
		select {
		case <-f.stop:
		case <-r.Context().Done():
		}
		f.mu.Lock()
		return
	}
	if strings.HasPrefix(r.URL.Path, "/ext/index/") && f.noIndex {
		http.NotFound(w, r)
		return
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	var p struct{ StartIndex, NumToFetch, Index, Height string }
	if q.Method != "eth_blockNumber" {
		if err := json.Unmarshal(q.Params, &p); err != nil {
			f.t.Errorf("parameters: %v", err)
		}
	}
	result, err := f.answer(q.Method, func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			f.t.Errorf("number %q", s)
		}
		return n
	}, p.StartIndex, p.NumToFetch, p.Index, p.Height)
	if err != nil {
		answer["error"] = map[string]any{"code": -32000, "message": err.Error()}
	} else {
		if m, ok := result.(map[string]any); ok && f.spoil != nil {
			f.spoil(q.Method, m)
		}
		answer["result"] = result
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// index returns what the index has.
func (f *fake) index() (list []map[string]any) {
	for i, raw := range f.containers {
		if f.drop != nil && f.drop(f.first()+uint64(i)) {
			continue
		}
		b, err := primary.Parse(f.kind, raw)
		if err != nil {
			f.t.Errorf("container %d: %v", i, err)
			continue
		}
		list = append(list, map[string]any{
			"id": b.Outer.String(), "bytes": hexOf(raw), "index": strconv.Itoa(len(list)), "encoding": "hex",
			"timestamp": time.Unix(1_600_000_000+int64(i), 5).UTC().Format(time.RFC3339Nano),
		})
	}
	return list
}

func (f *fake) answer(method string, number func(string) uint64, start, n, index, height string) (any, error) {
	switch method {
	case "platform.getHeight", "avm.getHeight":
		return map[string]any{"height": strconv.Itoa(len(f.containers))}, nil
	case "eth_blockNumber":
		return fmt.Sprintf("0x%x", len(f.containers)), nil
	case "platform.getBlockByHeight", "avm.getBlockByHeight":
		h := number(height)
		if h > uint64(len(f.containers)) {
			return nil, fmt.Errorf("couldn't get block at height %d: not found", h)
		}
		raw := f.genesis
		if h > 0 {
			raw = f.containers[h-1]
			if b, err := primary.Parse(f.kind, raw); err == nil && b.Header != nil {
				raw = b.Header.Block
			}
		}
		return map[string]any{"block": hexOf(raw), "encoding": "hex"}, nil
	}
	list := f.index()
	switch method {
	case "index.getLastAccepted":
		if len(list) == 0 {
			return nil, fmt.Errorf("no containers have been accepted")
		}
		return list[len(list)-1], nil
	case "index.getContainerByIndex":
		if i := number(index); i < uint64(len(list)) {
			return list[i], nil
		}
		return nil, fmt.Errorf("no container at index %s", index)
	case "index.getContainerRange":
		from, size := number(start), number(n)
		if size == 0 || size > 1024 {
			return nil, fmt.Errorf("numToFetch must be in [1,1024] but is %d", size)
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("no containers have been accepted")
		}
		if from >= uint64(len(list)) {
			return nil, fmt.Errorf("start index (%d) > last accepted index (%d)", from, len(list)-1)
		}
		return map[string]any{"containers": list[from:min(from+size, uint64(len(list)))]}, nil
	}
	return nil, fmt.Errorf("unknown method %s", method)
}

// makeChain makes a P-Chain of n blocks with headers, and its genesis block.
func makeChain(t testing.TB, n int, salt uint64) (genesis []byte, containers [][]byte) {
	t.Helper()
	must := func(b []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	genesis = must((&platform.Block{Kind: platform.ApricotCommit, Parent: primary.GenesisID([]byte("genesis"))}).Bytes())
	inner, outer := chain.ID(sha256.Sum256(genesis)), chain.ID(sha256.Sum256(genesis))
	for h := 1; h <= n; h++ {
		b := must((&platform.Block{Kind: platform.BanffStandard, Time: uint64(h) + salt, Height: uint64(h), Parent: inner}).Bytes())
		inner = sha256.Sum256(b)
		raw := must((&proposer.Header{Kind: proposer.Plain, Parent: outer, Time: int64(h), PChainHeight: uint64(h - 1), Block: b}).Bytes())
		p, err := proposer.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		outer = p.ID
		containers = append(containers, raw)
	}
	return genesis, containers
}

var xChain = chain.ID{0x58}

// makeVertices makes vertices that end with a stop vertex.
func makeVertices(t testing.TB, n int) (containers [][]byte) {
	t.Helper()
	var parent []chain.ID
	for i := range n {
		v := &avm.Vertex{ChainID: xChain, Height: uint64(i), Parents: parent, Stop: i == n-1}
		raw, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		parent = []chain.ID{sha256.Sum256(raw)}
		containers = append(containers, raw)
	}
	return containers
}

// newClient returns a client of nodes that asks each once.
func newClient(t testing.TB, kind primary.Kind, change func(*Config), nodes ...*fake) *Client {
	t.Helper()
	list := make([]source.Endpoint, len(nodes))
	for i, f := range nodes {
		list[i] = f.at
	}
	node, err := source.New(source.Config{Nodes: list, MaxBody: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	cfg := Config{Chain: kind, Node: node}
	if kind == primary.XVertices {
		cfg.ID = xChain
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
