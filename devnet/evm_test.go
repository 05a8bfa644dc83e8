package devnet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/engine/chain/warp"
)

// rpcClient asks one EVM chain of a running network.
type rpcClient struct {
	t    *testing.T
	http *http.Client
	url  string

	length int64 // of the last answer, of which at most 1 MiB is kept
}

// wholeAnswer is how much of an answer is read: of the huge one more than its 100 MiB.
const wholeAnswer = 200 << 20

func newRPCClient(t *testing.T, url string) *rpcClient {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &rpcClient{t: t, http: &http.Client{Transport: transport}, url: url}
}

func (c *rpcClient) post(ctx context.Context, body string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return answer.StatusCode, nil, err
	}
	more, err := io.CopyN(io.Discard, answer.Body, wholeAnswer)
	if c.length = int64(len(got)) + more; errors.Is(err, io.EOF) {
		err = nil
	}
	return answer.StatusCode, got, err
}

// call returns the result of a call.
func (c *rpcClient) call(result any, method, params string) {
	c.t.Helper()
	_, body, err := c.post(c.t.Context(), `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	if err != nil {
		c.t.Fatal(err)
	}
	var answer struct {
		ID     int
		Result json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID != 7 || answer.Result == nil {
		c.t.Fatalf("%s %s: %v in %.300s", method, params, err, body)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		c.t.Fatalf("%s %s: %v in %.300s", method, params, err, body)
	}
}

func runEVM(t *testing.T, cfg Config) *Devnet {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-d.Ready():
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return d
}

// TestEVMFacts: what the facts say of EVM chains is so.
func TestEVMFacts(t *testing.T) {
	t.Parallel()
	blocks := 200
	d := runEVM(t, Config{Validators: 2, EVMChains: 2, Blocks: blocks, TxsPerBlock: 8})
	facts := d.Facts("")
	if len(facts.EVMChains) != 3 || facts.EVMChains[0].BlockchainID != facts.BlockchainID || facts.EVMChains[0].ChainID != facts.ChainID {
		t.Fatalf("%+v", facts.EVMChains)
	}
	for k, f := range facts.EVMChains {
		c := newRPCClient(t, f.RPCURL)
		var number, owned string
		c.call(&number, "eth_chainId", `[]`)
		if want := map[string]string{"43112": "0xa868", "99001": "0x182b9", "99002": "0x182ba"}[f.ChainID]; number != want {
			t.Errorf("chain ID %s, want %s", number, want)
		}
		var block struct {
			Number, Hash string
			Transactions []string
		}
		c.call(&block, "eth_getBlockByHash", `["`+f.BlockHash+`",false]`)
		if !strings.Contains(strings.Join(block.Transactions, " "), f.TxHash) || f.BlockID != f.BlockNumber {
			t.Errorf("block %+v, facts %+v", block, f.ChainFacts)
		}
		c.call(&owned, "eth_call", `[{"to":"`+f.NFTContract+`","data":"0x70a08231`+strings.Repeat("0", 24)+f.NFTOwner[2:]+`"},"latest"]`)
		if strings.Trim(owned, "0x") == "" {
			t.Errorf("the NFT owner owns nothing: %s", owned)
		}
		var failed struct{ Status string }
		c.call(&failed, "eth_getTransactionReceipt", `["`+f.FailedTxHash+`"]`)
		if failed.Status != "0x0" {
			t.Errorf("the failed transaction has status %s", failed.Status)
		}
		var sent struct {
			Logs []struct{ Address, Data string }
		}
		c.call(&sent, "eth_getTransactionReceipt", `["`+f.WarpTxHash+`"]`)
		if len(sent.Logs) != 1 || sent.Logs[0].Address != "0x0200000000000000000000000000000000000005" {
			t.Fatalf("chain %d: logs %+v", k, sent.Logs)
		}
		data, err := hex.DecodeString(sent.Logs[0].Data[2:])
		if err != nil {
			t.Fatal(err)
		}
		inner, ok := warp.UnwrapABI(data)
		u, err := warp.Parse(inner)
		if !ok || err != nil || u.SourceChainID.String() != f.BlockchainID {
			t.Fatalf("chain %d: message %x: %v", k, data, err)
		}
		if _, emitted := d.World().MessageIndex(u); !emitted {
			t.Errorf("chain %d: validators do not sign %x", k, inner)
		}
		if f.FirstDate >= f.LastDate || f.EndBlock != uint64(blocks) || f.HolderThreshold == "0" {
			t.Errorf("%+v", f.ChainFacts)
		}
	}
}

// TestNewHeads: a subscriber is told every block, in order.
func TestNewHeads(t *testing.T) {
	t.Parallel()
	d := runEVM(t, Config{Validators: 1, Blocks: 20, BlockInterval: 20 * time.Millisecond})
	facts := d.Facts("")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ws, _, err := websocket.Dial(ctx, facts.EVMChains[0].WSURL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`,
		`{"jsonrpc":"2.0","id":2,"method":"eth_subscribe","params":["nothing"]}`,
		`{"jsonrpc":"2.0","id":3,"method":"eth_unsubscribe","params":["0x9"]}`,
	} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	last, heads, answers := "", 0, 0
	for heads < 5 || answers < 3 {
		_, body, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var note struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
			Params struct {
				Subscription string
				Result       struct{ ParentHash, Hash, Number string }
			}
		}
		if err := json.Unmarshal(body, &note); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		switch head := note.Params.Result; {
		case note.ID == 1:
			answers++
			if string(note.Result) != `"0x1"` {
				t.Errorf("subscription %s", body)
			}
		case note.ID == 2 || note.ID == 3:
			answers++
			if note.Error == nil {
				t.Errorf("no error: %s", body)
			}
		case last != "" && head.ParentHash != last || head.Hash == "" || note.Params.Subscription != "0x1":
			t.Errorf("head %s after %s", body, last)
		default:
			last = head.Hash
			heads++
		}
	}
}

func TestEVMFaults(t *testing.T) {
	t.Parallel()
	d := runEVM(t, Config{Validators: 1, Blocks: 40, TxsPerBlock: 6})
	facts := d.Facts("")
	c, id := newRPCClient(t, facts.EVMChains[0].RPCURL), d.World().CChainID()
	block := `["` + "0x" + "14" + `",false]`
	var good, bad struct{ Hash, ParentHash string }
	c.call(&good, "eth_getBlockByNumber", block)
	d.SetEVMFault(id, EVMFaultWrongParent)
	if c.call(&bad, "eth_getBlockByNumber", block); bad.Hash != good.Hash || bad.ParentHash == good.ParentHash {
		t.Errorf("wrong parent: %+v, else %+v", bad, good)
	}
	d.SetEVMFault(id, EVMFaultMissingReceipts)
	var receipts, txs []json.RawMessage
	c.call(&receipts, "eth_getBlockReceipts", `["`+facts.BlockHash+`"]`)
	d.SetEVMFault(id, EVMFaultNone)
	if c.call(&txs, "eth_getBlockReceipts", `["`+facts.BlockHash+`"]`); len(receipts) != len(txs)-1 {
		t.Errorf("%d receipts of %d", len(receipts), len(txs))
	}
	d.SetEVMFault(id, EVMFaultBackwards)
	var tip string
	if c.call(&tip, "eth_blockNumber", `[]`); tip != "0x1e" {
		t.Errorf("tip %s, want 10 less than 40", tip)
	}
	ask := `{"jsonrpc":"2.0","id":7,"method":"debug_traceBlockByNumber","params":["0x14",{"tracer":"callTracer"}]}`
	for fault, fits := range map[EVMFault]func(status int, body string) bool{
		EVMFaultTruncated: func(_ int, body string) bool { return !json.Valid([]byte(body)) },
		EVMFaultOtherID:   func(_ int, body string) bool { return strings.Contains(body, `"id":987654321`) },
		EVMFaultNoDebug: func(_ int, body string) bool {
			return strings.Contains(body, "the method debug_traceBlockByNumber does not exist/is not available")
		},
		EVMFaultBusy: func(status int, _ string) bool { return status == http.StatusTooManyRequests },
		EVMFaultHuge: func(int, string) bool { return c.length > 100<<20 },
		EVMFaultNone: func(_ int, body string) bool { return strings.Contains(body, `"result":[`) },
	} {
		d.SetEVMFault(id, fault)
		if status, body, err := c.post(t.Context(), ask); err != nil || !fits(status, string(body)) {
			t.Errorf("fault %d: %d %.200s %v", fault, status, body, err)
		}
	}
	d.SetEVMFault(id, EVMFaultSilence) // the network's end must not wait for it
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.post(ctx, ask); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent node: %v", err)
	}
}

// TestStopWhileMaking: a network ends in order while it still makes the history of a
// chain, which nobody can be answered from before.
func TestStopWhileMaking(t *testing.T) {
	t.Parallel()
	d, stop := start(t, Config{Validators: 1, Blocks: 1_000_000, TxsPerBlock: 1})
	sent, answered := make(chan struct{}), make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.NodeURL()+"/ext/bc/C/rpc",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	go func() {
		defer close(answered)
		if resp, err := client.Do(req); err == nil { // the server may be gone first
			_ = resp.Body.Close()
		}
	}()
	<-sent
	stop()
	<-answered
}
