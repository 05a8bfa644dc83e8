package evm

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/engine/source"
)

const fullHead = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xab","result":` +
	`{"number":"%#x","hash":"%s","transactionsRoot":"%s"}}}`

// announced is a client to which heads are announced.
type announced struct {
	*node
	client *Client
	heads  chan newest
	told   chan uint64
	traces chan string // the blocks whose traces were asked for
}

// announce starts to watch a chain of which all blocks up to a height were fetched,
// the last one with its trace.
func announce(t *testing.T, last uint64) *announced {
	a := &announced{heads: make(chan newest), told: make(chan uint64, 10), traces: make(chan string, 100)}
	a.node = newNode(t)
	a.edit = func(q question, r recorded) recorded {
		if q.Method == "debug_traceBlockByHash" {
			a.traces <- string(q.Params)
		}
		return r
	}
	s := newSocket(t, func(ctx context.Context, _ int, conn *websocket.Conn) {
		if say(ctx, conn, agreed) != nil {
			return
		}
		for h := range a.heads {
			if say(ctx, conn, fullHead, h.number, h.hash, h.txRoot) != nil {
				return
			}
		}
		_, _, _ = conn.Read(ctx) // until the client goes
	})
	a.client = a.node.client(t, func(cfg *Config, _ *source.Config) { cfg.WS, cfg.PollInterval = socketAt(t, s.url()), time.Hour })
	if last > 0 {
		a.must(t, a.fetch(t, last)) // it has no transactions, only transfers between chains
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.client.Watch(ctx, func(n uint64) { a.told <- n })
	}()
	t.Cleanup(func() {
		close(a.heads)
		cancel()
		<-ended
	})
	<-a.told // the present height
	return a
}

func (a *announced) fetch(t *testing.T, height uint64) *evm.Block {
	t.Helper()
	return must(a.client.Fetch(t.Context(), height, height))[0]
}

func (a *announced) must(t *testing.T, b *evm.Block) {
	t.Helper()
	if err := a.client.Trace(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// A block at the head is traced while it is fetched, with the same result.
func TestTraceAhead(t *testing.T) {
	t.Parallel()
	want := traced(t)
	a := announce(t, 2)
	a.heads <- newest{number: 3, hash: want.Hash, txRoot: evm.Hash{1}}
	for range 2 { // before the block is asked for
		if asked := <-a.traces; !strings.Contains(asked, want.Hash.String()) {
			t.Errorf("traced %s", asked)
		}
	}
	b := a.fetch(t, 3)
	a.must(t, b)
	if !reflect.DeepEqual(b, want) {
		t.Errorf("\n got %+v\nwant %+v", b, want)
	}
	if n := metric.Value(a.client.early); n != 1 || len(a.traces) > 0 {
		t.Errorf("%v blocks traced ahead, %d further traces", n, len(a.traces))
	}
	// Once it was used it is forgotten.
	again := a.fetch(t, 3)
	a.must(t, again)
	if !reflect.DeepEqual(again, want) || len(a.traces) != 2 {
		t.Errorf("%d further traces", len(a.traces))
	}
}

// A trace that was asked for ahead and is of no use does no harm.
func TestTraceAheadInVain(t *testing.T) {
	t.Parallel()
	want := traced(t)
	for name, change := range map[string]func(a *announced, h *newest){
		"another block": func(_ *announced, h *newest) { h.hash[0] ^= 1 },
		"refused": func(a *announced, _ *newest) {
			refused := 0
			a.edit = func(q question, r recorded) recorded {
				if q.Method == "debug_traceBlockByHash" {
					if refused++; refused <= 2 {
						r.Result, r.Error = nil, json.RawMessage(`{"code":-32000,"message":"block not found"}`)
					}
					a.traces <- string(q.Params)
				}
				return r
			}
		},
		"false": func(a *announced, _ *newest) {
			told := 0
			a.edit = func(q question, r recorded) recorded {
				if q.Method == "debug_traceBlockByHash" {
					if told++; told <= 2 {
						r.Result = json.RawMessage(`[{"txHash":"0x01","result":{}}]`)
					}
					a.traces <- string(q.Params)
				}
				return r
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := announce(t, 2)
			h := newest{number: 3, hash: want.Hash, txRoot: evm.Hash{1}}
			a.node.mu.Lock()
			change(a, &h)
			a.node.mu.Unlock()
			a.heads <- h
			for range 2 {
				<-a.traces
			}
			b := a.fetch(t, 3)
			a.must(t, b)
			if !reflect.DeepEqual(b, want) || metric.Value(a.client.early) != 0 {
				t.Errorf("\n got %+v\nwant %+v", b, want)
			}
		})
	}
}

// Nothing is traced ahead while the client catches up, without a hash, of a block
// without transactions, and of a chain that was not traced.
func TestNotTracedAhead(t *testing.T) {
	t.Parallel()
	hash := evm.Hash{7}
	for name, c := range map[string]struct {
		last uint64
		head newest
	}{
		"far ahead":    {2, newest{number: 30, hash: hash}},
		"known":        {2, newest{number: 2, hash: hash}},
		"no hash":      {2, newest{number: 3}},
		"empty":        {2, newest{number: 3, hash: hash, txRoot: evm.Keccak([]byte{0x80})}},
		"never traced": {0, newest{number: 1, hash: hash}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			client := n.client(t, nil)
			if c.last > 0 {
				must(0, client.Trace(t.Context(), must(client.Fetch(t.Context(), c.last, c.last))[0]))
			}
			var lanes sync.WaitGroup
			client.traceAhead(t.Context(), &lanes, &c.head)
			lanes.Wait()
			if len(client.ahead.list) > 0 || n.asked["debug_traceBlockByHash"] > 0 {
				t.Error("traced ahead")
			}
		})
	}
}

// Of blocks that nobody asks for only the last few are kept.
func TestAheadIsBounded(t *testing.T) {
	t.Parallel()
	a := ahead{traces: true}
	ended := map[int]bool{}
	for i := range 5 {
		a.fetching(uint64(i))
		if a.begin(&newest{number: uint64(i) + 1, hash: evm.Hash{byte(i + 1)}}, func() { ended[i] = true }) == nil {
			t.Fatalf("block %d is not traced", i+1)
		}
	}
	if len(a.list) != maxAhead || len(ended) != 5-maxAhead || ended[4] || ended[3] {
		t.Errorf("%d kept, ended %v", len(a.list), ended)
	}
	if a.take(&evm.Hash{1}) != nil || a.take(&evm.Hash{5}) == nil || len(a.list) != maxAhead-1 {
		t.Error("not the last ones are kept")
	}
}
