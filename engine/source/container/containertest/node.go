// Package containertest is a node with an Index API of one chain, for tests, and chains
// that it can have.
package containertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
	"quorate/engine/primary"
	"quorate/engine/source"
)

// Node is a node with an index of one chain.
type Node struct {
	t       testing.TB
	kind    primary.Kind
	Genesis []byte // the block at height 0

	mu         sync.Mutex // guards what follows; Set takes it
	Containers [][]byte   // by height, from the first on
	NoIndex    bool
	Drop       func(height uint64) bool // not in the index
	Spoil      func(method string, result map[string]any)
	Hang       bool
	Status     int // of all answers, if not 0
	calls      map[string]int
	stop       chan struct{}
	At         source.Endpoint
}

// New starts a node that has containers from the first accepted one on.
func New(t testing.TB, kind primary.Kind, containers [][]byte) *Node {
	t.Helper()
	f := &Node{t: t, kind: kind, Containers: containers, calls: map[string]int{}, stop: make(chan struct{})}
	s := httptest.NewServer(f)
	t.Cleanup(func() {
		close(f.stop)
		s.Close()
	})
	var err error
	if f.At, err = source.ParseEndpoint(s.URL); err != nil {
		t.Fatal(err)
	}
	return f
}

// Set changes the node.
func (f *Node) Set(change func(f *Node)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// Count returns how often a method was called.
func (f *Node) Count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// Hex returns bytes as nodes write them.
func Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return "0x" + hex.EncodeToString(append(b[:len(b):len(b)], sum[28:]...))
}

func (f *Node) first() uint64 {
	if f.kind == primary.XVertices {
		return 0
	}
	return 1
}

// ServeHTTP implements [http.Handler].
func (f *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if f.Hang {
		f.mu.Unlock()
		select {
		case <-f.stop:
		case <-r.Context().Done():
		}
		f.mu.Lock()
		return
	}
	if strings.HasPrefix(r.URL.Path, "/ext/index/") && f.NoIndex {
		http.NotFound(w, r)
		return
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
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
		if m, ok := result.(map[string]any); ok && f.Spoil != nil {
			f.Spoil(q.Method, m)
		}
		answer["result"] = result
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// index returns which containers the index has.
func (f *Node) index() []int {
	drop, first := f.Drop, f.first()
	list := make([]int, 0, len(f.Containers))
	for i := range f.Containers {
		if drop == nil || !drop(first+uint64(i)) {
			list = append(list, i)
		}
	}
	return list
}

// idOf returns the ID of container i, of which only the header must be known.
func (f *Node) idOf(i int) chain.ID {
	raw := f.Containers[i]
	if b, err := primary.Parse(f.kind, raw); err == nil {
		return b.Outer
	}
	if h, err := proposer.Parse(raw); err == nil {
		return h.ID
	}
	return sha256.Sum256(raw)
}

// entry returns what the index says of container i, which is its n-th.
func (f *Node) entry(i, n int) map[string]any {
	raw := f.Containers[i]
	return map[string]any{
		"id": f.idOf(i).String(), "bytes": Hex(raw), "index": strconv.Itoa(n), "encoding": "hex",
		"timestamp": time.Unix(1_600_000_000+int64(i), 5).UTC().Format(time.RFC3339Nano),
	}
}

func (f *Node) answer(method string, number func(string) uint64, start, n, index, height string) (any, error) {
	switch method {
	case "platform.getHeight", "avm.getHeight":
		return map[string]any{"height": strconv.Itoa(len(f.Containers))}, nil
	case "eth_blockNumber":
		return fmt.Sprintf("0x%x", len(f.Containers)), nil
	case "platform.getBlockByHeight", "avm.getBlockByHeight":
		h := number(height)
		if h > uint64(len(f.Containers)) {
			return nil, fmt.Errorf("couldn't get block at height %d: not found", h)
		}
		raw := f.Genesis
		if h > 0 {
			raw = f.Containers[h-1]
			if b, err := proposer.Parse(raw); err == nil && f.kind != primary.XVertices {
				raw = b.Block
			}
		}
		return map[string]any{"block": Hex(raw), "encoding": "hex"}, nil
	}
	list := f.index()
	switch method {
	case "index.getLastAccepted":
		if len(list) == 0 {
			return nil, fmt.Errorf("no containers have been accepted")
		}
		return f.entry(list[len(list)-1], len(list)-1), nil
	case "index.getContainerByIndex":
		if i := number(index); i < uint64(len(list)) {
			return f.entry(list[i], int(i)), nil
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
		to := min(from+size, uint64(len(list)))
		containers := make([]map[string]any, 0, to-from)
		for n := from; n < to; n++ {
			containers = append(containers, f.entry(list[n], int(n)))
		}
		return map[string]any{"containers": containers}, nil
	}
	return nil, fmt.Errorf("unknown method %s", method)
}

// MakeChain makes a P-Chain of n blocks with headers, and its genesis block.
func MakeChain(t testing.TB, n int, salt uint64) (genesis []byte, containers [][]byte) {
	t.Helper()
	return MakeFuture(t, n, salt)
}

// MakeFuture is [MakeChain] with blocks of a type that no release knows at some heights.
func MakeFuture(t testing.TB, n int, salt uint64, unknown ...int) (genesis []byte, containers [][]byte) {
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
		if slices.Contains(unknown, h) {
			b[5] = 99 // the last byte of the type, behind the codec's version
		}
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

// XChain is the ID of the chain that vertices are of.
var XChain = chain.ID{0x58}

// MakeVertices makes vertices that end with a stop vertex.
func MakeVertices(t testing.TB, n int) (containers [][]byte) {
	t.Helper()
	var parent []chain.ID
	for i := range n {
		v := &avm.Vertex{ChainID: XChain, Height: uint64(i), Parents: parent, Stop: i == n-1}
		raw, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		parent = []chain.ID{sha256.Sum256(raw)}
		containers = append(containers, raw)
	}
	return containers
}
