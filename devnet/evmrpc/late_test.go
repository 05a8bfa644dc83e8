package evmrpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quorate/devnet/evmchain"
)

// nearHelicon is a small chain that comes to Helicon when it grows, with the blocks that
// are missing up to the last one before.
func nearHelicon(t *testing.T) (h *Handler, missing int) {
	t.Helper()
	cfg := testConfig()
	cfg.Blocks, cfg.TxsPerBlock, cfg.BlockInterval = 20, 3, time.Second
	cfg.Helicon = cfg.End.Add(13 * time.Second)
	h = newHandler(t, cfg)
	transition, at, ok := h.chain.Transition()
	if !ok || !at.IsZero() || transition <= cfg.Blocks || transition > cfg.Blocks+10 {
		t.Fatalf("the last block of the old kind is %d, accepted at %s, %v", transition, at, ok)
	}
	return h, int(transition - cfg.Blocks)
}

// advance has the chain accept blocks, without those that pass before Helicon.
func advance(h *Handler, blocks int) {
	for to := h.chain.Tip() + uint64(blocks); h.chain.Tip() < to; {
		h.chain.Advance()
	}
}

// TestLateTags: what tags, the newest block and what lies above it mean, before and after.
func TestLateTags(t *testing.T) {
	t.Parallel()
	h, missing := nearHelicon(t)
	version := get[string](t, h, "web3_clientVersion")
	if a := ask(t, h, "eth_getBlockByNumber", "0x400", false); a.Error == nil || !strings.Contains(a.Error.Message, "unfinalized") {
		t.Errorf("above the tip, before: %+v", a)
	}
	if accounts := get[[]string](t, h, "eth_accounts"); len(accounts) != 0 {
		t.Errorf("accounts %v", accounts)
	}
	advance(h, missing+12)
	h.chain.SetExecution(evmchain.Held)
	executed := h.chain.Tip()
	advance(h, 3)
	tip := h.chain.Tip()
	settled := number(t, get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(tip), true).SettledHeight)
	if settled >= executed {
		t.Fatalf("block %d is settled, %d executed", settled, executed)
	}
	for tag, want := range map[string]uint64{"latest": executed, "pending": executed, "safe": settled, "finalized": settled, "earliest": 0} {
		if got := number(t, get[jsonBlock](t, h, "eth_getBlockByNumber", tag, true).Number); got != want {
			t.Errorf("%s is block %d, want %d", tag, got, want)
		}
	}
	if got := number(t, get[string](t, h, "eth_blockNumber")); got != executed {
		t.Errorf("the number is %d, want %d", got, executed)
	}
	hash := get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(tip), true).Hash
	if b := get[jsonBlock](t, h, "eth_getBlockByHash", hash, true); number(t, b.Number) != tip {
		t.Errorf("block %s by its hash", b.Number)
	}
	for _, above := range []string{hexOf(tip + 1), hexOf(1 << 40)} {
		if a := ask(t, h, "eth_getBlockByNumber", above, false); a.Error != nil || string(a.Result) != "null" {
			t.Errorf("block %s: %s %+v", above, a.Result, a.Error)
		}
	}
	pending := get[map[string]any](t, h, "eth_getBlockByNumber", "pending", false)
	for _, member := range []string{"hash", "miner", "nonce"} {
		if v, ok := pending[member]; !ok || v != nil {
			t.Errorf("%s of the pending block is %v", member, v)
		}
	}
	if a := ask(t, h, "eth_accounts"); a.Error == nil || a.Error.Code != codeMethod {
		t.Errorf("eth_accounts is there: %+v", a)
	}
	if now := get[string](t, h, "web3_clientVersion"); now == version || !strings.HasPrefix(now, "avalanchego/1.15.0 ") {
		t.Errorf("version %q, before %q", now, version)
	}
}

// TestLateResults: results of a block that is not executed wait until it is.
func TestLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, missing := nearHelicon(t)
		advance(h, missing+3)
		h.chain.SetExecution(evmchain.Held)
		advance(h, 1)
		for len(h.chain.TxHashes(h.chain.Tip())) == 0 {
			advance(h, 1)
		}
		tip := h.chain.Tip()
		tx := h.chain.TxHashes(tip)[0].String()
		tracer := map[string]string{"tracer": "callTracer"}
		answers := make(chan string, 10)
		for method, params := range map[string][]any{
			"eth_getBlockReceipts": {hexOf(tip)}, "eth_getTransactionReceipt": {tx}, "eth_getBalance": {zeroAddr, hexOf(tip)},
			"debug_traceBlockByNumber": {hexOf(tip), tracer}, "debug_traceTransaction": {tx, tracer},
			"eth_getLogs": {map[string]string{"blockHash": h.chain.Hash(tip).String()}},
		} {
			go func() { answers <- method + string(answer(t, h, method, params)) }()
		}
		synctest.Wait()
		if len(answers) > 0 {
			t.Errorf("an answer about a block that is not executed: %s", <-answers)
		}
		// A delay begins with the next block; what waited is executed at once.
		h.chain.SetExecution(20 * time.Millisecond)
		for range 6 {
			if a := <-answers; strings.Contains(a, "error") || strings.Contains(a, `"result":null`) {
				t.Error(a)
			}
		}
		advance(h, 1)
		start := time.Now()
		get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(tip+1))
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("executed after %s", took)
		}
	})
}

// kept is a connection that the HTTP server closes once its handler has returned.
type kept struct{ net.Conn }

func (kept) Close() error { return nil }

// dial opens a WebSocket to a handler over a pipe.
func dial(ctx context.Context, t *testing.T, h *Handler) *websocket.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		r, err := http.ReadRequest(bufio.NewReader(theirs))
		if err != nil {
			t.Error(err)
			return
		}
		h.socket(ctx, kept{theirs}, r)
		_ = theirs.Close()
	}()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}}
	ws, _, err := websocket.Dial(ctx, "ws://node/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	synctest.Wait() // the handler counts it
	return ws
}

// TestSwap: when the software is replaced, requests wait for as long as WebSockets keep the
// old one, and these end; later ones are as before.
func TestSwap(t *testing.T) {
	for name, c := range map[string]struct {
		socket bool
		wait   time.Duration
	}{"alone": {false, 14 * time.Millisecond}, "with a WebSocket": {true, 15 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				h, missing := nearHelicon(t)
				var old *websocket.Conn
				if c.socket {
					old = dial(ctx, t, h)
				}
				parked := func() time.Duration {
					start := time.Now()
					if !h.park(ctx) {
						t.Error("not answered")
					}
					return time.Since(start)
				}
				advance(h, missing-1)
				if took := parked(); took != 0 {
					t.Errorf("waited %s before", took)
				}
				advance(h, 1)
				synctest.Wait()
				if took := parked(); took != c.wait {
					t.Errorf("waited %s, want %s", took, c.wait)
				}
				if took := parked(); took != 0 {
					t.Errorf("waited %s after", took)
				}
				if c.socket {
					if _, _, err := old.Read(ctx); err == nil || ctx.Err() != nil {
						t.Errorf("the WebSocket of before: %v", err)
					}
				}
				again := dial(ctx, t, h)
				if err := again.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)); err != nil {
					t.Fatal(err)
				}
				if _, body, err := again.Read(ctx); err != nil || !bytes.Contains(body, []byte(`"0x1"`)) {
					t.Errorf("%s %v", body, err)
				}
				advance(h, 1)
				if _, body, err := again.Read(ctx); err != nil || !bytes.Contains(body, []byte(`"settledHeight":"0x`)) {
					t.Errorf("%s %v", body, err)
				}
			})
		})
	}
}

// TestLateHeads: heads have the new members with nothing in them before Helicon, and come
// when their block is executed; of accepted transactions one is told at once.
func TestLateHeads(t *testing.T) {
	t.Parallel()
	h, missing := nearHelicon(t)
	s := &session{handler: h, wake: make(chan struct{}, 1)}
	subscribe := func(params string) {
		if _, err := s.subscribe(nil, &request{Method: "eth_subscribe", Params: json.RawMessage(params)}); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(`["newHeads"]`)
	subscribe(`["newAcceptedTransactions"]`)
	subscribe(`["logs",{"address":[]}]`)
	heads := func() (numbers []uint64, new int, txs, logs int) {
		for _, note := range s.due(h.now()) {
			var n struct {
				Params struct {
					Subscription string
					Result       json.RawMessage
				}
			}
			if err := json.Unmarshal(note, &n); err != nil {
				t.Fatal(err)
			}
			switch n.Params.Subscription {
			case "0x2":
				txs++
				continue
			case "0x3":
				logs++
				continue
			}
			var head struct {
				Number                                                                                              string
				TargetExponent, MinPriceExponent, SettledHeight, SettledGasUnix, SettledGasNumerator, SettledExcess any
			}
			if err := json.Unmarshal(n.Params.Result, &head); err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, number(t, head.Number))
			members := 0
			for _, v := range []any{head.TargetExponent, head.MinPriceExponent, head.SettledHeight, head.SettledGasUnix, head.SettledGasNumerator, head.SettledExcess} {
				if v != nil {
					members++
				}
			}
			if members != 0 && members != 6 || strings.Count(string(n.Params.Result), "settled") != 4 {
				t.Errorf("%s", n.Params.Result)
			}
			new += members / 6
		}
		return numbers, new, txs, logs
	}
	advance(h, missing)
	if numbers, new, _, _ := heads(); len(numbers) != missing || new != 0 {
		t.Errorf("heads %v, %d of the new kind", numbers, new)
	}
	h.chain.SetExecution(evmchain.Held)
	advance(h, 8)
	if numbers, _, txs, logs := heads(); len(numbers) != 0 || txs == 0 || logs != 0 {
		t.Errorf("heads %v, %d transactions and %d logs before the execution", numbers, txs, logs)
	}
	h.chain.SetExecution(0)
	if numbers, new, txs, logs := heads(); len(numbers) != 8 || new != 8 || txs != 0 || logs == 0 {
		t.Errorf("heads %v, %d of the new kind, %d transactions and %d logs", numbers, new, txs, logs)
	}
}

// TestPause: between the last block of the old kind and Helicon there is none, and a chain
// that grew before it was made is the same as one that is made at once.
func TestPause(t *testing.T) {
	t.Parallel()
	h, missing := nearHelicon(t)
	cfg := h.chain.Config()
	later := newHandler(t, cfg)
	tip := h.chain.Tip()
	for range 30 {
		h.chain.Advance()
		later.chain.Advance()
	}
	last, helicon := tip+uint64(missing), uint64(cfg.Helicon.UnixMilli())
	if before, after := h.chain.Time(last), h.chain.Time(last+1); before >= helicon || before+10_000 < helicon || after < helicon {
		t.Errorf("blocks at %d and %d, Helicon at %d", before, after, helicon)
	}
	if a, b := h.chain.Tip(), later.chain.Tip(); a != b || a == tip+30 || h.chain.Hash(a) != later.chain.Hash(b) {
		t.Errorf("the chains are at %d and %d, or differ", a, b)
	}
}
