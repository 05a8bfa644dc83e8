package devnet

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/devnet/evmrpc"
)

// TestNodes: nodes have the same chains and names of their own; what one cannot
// do the other can; one that was stopped comes back at its address.
func TestNodes(t *testing.T) {
	t.Parallel()
	d := runEVM(t, Config{Validators: 2, Nodes: 2, Blocks: 30})
	id := d.World().CChainID()
	path := "/ext/bc/" + id.String() + "/rpc"
	var clients []*rpcClient
	for i, url := range d.NodeURLs() {
		if url != d.Node(i).URL() {
			t.Errorf("node %d at %s and %s", i, url, d.Node(i).URL())
		}
		clients = append(clients, newRPCClient(t, url+path))
		var reply struct{ NodeID string }
		newRPCClient(t, url+"/ext/info").call(&reply, "info.getNodeID", `[{}]`)
		if want := d.World().Validators()[i].NodeID.String(); reply.NodeID != want {
			t.Errorf("node %d is %s, not %s", i, reply.NodeID, want)
		}
	}
	if got := d.Facts("").NodeURLs; len(got) != 2 || d.NodeURL() != got[0] {
		t.Errorf("facts name %v", got)
	}
	const block = `["0x14",false]`
	var a, b struct{ Hash string }
	clients[0].call(&a, "eth_getBlockByNumber", block)
	if clients[1].call(&b, "eth_getBlockByNumber", block); a != b {
		t.Errorf("block 20 is %s and %s", a.Hash, b.Hash)
	}
	d.Node(1).SetTraits(evmrpc.Traits{AtMost: 10})
	d.Node(0).SetFault(EVMFaultNoDebug)
	var tip string
	if clients[1].call(&tip, "eth_blockNumber", `[]`); tip != "0xa" {
		t.Errorf("node 1 stands at %s", tip)
	}
	if clients[0].call(&tip, "eth_blockNumber", `[]`); tip != "0x1e" {
		t.Errorf("node 0 stands at %s", tip)
	}
	if err := errors.Join(d.Node(1).Stop(), d.Node(1).Stop()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := clients[1].post(t.Context(), `{}`); err == nil {
		t.Error("a stopped node answers")
	}
	clients[0].call(&tip, "eth_blockNumber", `[]`)
	d.SetEVMTraits(id, evmrpc.Traits{})
	if err := errors.Join(d.Node(1).Start(), d.Node(1).Start()); err != nil {
		t.Fatal(err)
	}
	if clients[1].call(&tip, "eth_blockNumber", `[]`); tip != "0x1e" {
		t.Errorf("node 1 stands at %s after its restart", tip)
	}
}

func TestNodeConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"negative":        {Nodes: -1},
		"too many":        {Nodes: MaxNodes + 1, Validators: 100},
		"than validators": {Nodes: 3, Validators: 2},
		"ports":           {Nodes: 2, Validators: 2, HTTPPort: 65535},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Node(0).Start(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a node of a network that does not run: %v", err)
	}
}

// TestReplacedHeads: a subscriber hears of blocks that are never accepted, and
// then of those that take their place.
func TestReplacedHeads(t *testing.T) {
	t.Parallel()
	d := runEVM(t, Config{Validators: 1, Blocks: 20})
	id := d.World().CChainID()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	url := "ws" + strings.TrimPrefix(d.NodeURL(), "http") + "/ext/bc/C/ws"
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	next := func() (number, hash, parent string) {
		_, body, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var note struct {
			Params struct {
				Result struct{ Number, Hash, ParentHash string }
			}
		}
		if err := json.Unmarshal(body, &note); err != nil {
			t.Fatal(err)
		}
		r := note.Params.Result
		return r.Number, r.Hash, r.ParentHash
	}
	if err := ws.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)); err != nil {
		t.Fatal(err)
	}
	next() // the answer
	d.SetEVMTraits(id, evmrpc.Traits{Unaccepted: 1})
	number, fork, parent := next()
	if number != "0x15" {
		t.Fatalf("the first head is %s", number)
	}
	d.EVMChain(id).Advance()
	number, hash, parent2 := next()
	if number != "0x15" || hash == fork || parent2 != parent {
		t.Errorf("head %s %s on %s took the place of %s on %s", number, hash, parent2, fork, parent)
	}
	if number, _, parent := next(); number != "0x16" || parent != hash {
		t.Errorf("head %s on %s follows", number, parent)
	}
	d.SetEVMTraits(id, evmrpc.Traits{AtMost: 0x15, Repeats: true})
	for range 3 {
		if number, again, _ := next(); number != "0x15" || again != hash {
			t.Errorf("head %s %s, and the node stands still at %s", number, again, hash)
		}
		d.EVMChain(id).Advance()
	}
}
