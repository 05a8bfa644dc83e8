package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/engine/source"
)

// What a lying or broken node may change in block 3, and what must come of it.
var lies = map[string][3]string{
	"other number":        {"eth_getBlockByNumber", `"number":"0x3"`, `"number":"0x4"`},
	"no number":           {"eth_getBlockByNumber", `"number":"0x3"`, `"numb":"0x3"`},
	"wrong parent":        {"eth_getBlockByNumber", `"parentHash":"0x71`, `"parentHash":"0x72`},
	"short hash":          {"eth_getBlockByNumber", `"parentHash":"0x71`, `"parentHash":"0x7`},
	"other time":          {"eth_getBlockByNumber", `"timestamp":"0x6b00e0b9"`, `"timestamp":"0x6b00e0ba"`},
	"endless time":        {"eth_getBlockByNumber", `"timestamp":"0x6b00e0b9"`, `"timestamp":"0xffffffffffffffff"`},
	"long number":         {"eth_getBlockByNumber", `"gasLimit":"0x989680"`, `"gasLimit":"0x10000000000000000"`},
	"number for hex":      {"eth_getBlockByNumber", `"gasLimit":"0x989680"`, `"gasLimit":10000000`},
	"gas":                 {"eth_getBlockByNumber", `"gasUsed":"0x63399"`, `"gasUsed":"0x63398"`},
	"base fee":            {"eth_getBlockByNumber", `"baseFeePerGas":"0x1"`, `"baseFeePerGas":"0x1` + strings.Repeat("0", 64) + `"`},
	"hash of another":     {"eth_getBlockByNumber", `"hash":"0xf91b`, `"hash":"0xf91c`},
	"transaction's block": {"eth_getBlockByNumber", `"blockHash":"0xf91b`, `"blockHash":"0xf91c`},
	"transaction's index": {"eth_getBlockByNumber", `"transactionIndex":"0x0"`, `"transactionIndex":"0x1"`},
	"transaction's hash":  {"eth_getBlockByNumber", `"hash":"0x69e2`, `"hash":"0x69e3`},
	"transaction's type":  {"eth_getBlockByNumber", `"type":"0x2"`, `"type":"0x100"`},
	"input half a byte":   {"eth_getBlockByNumber", `"input":"0x61`, `"input":"0x6`},
	"input not hex":       {"eth_getBlockByNumber", `"input":"0x61`, `"input":"0xzz`},
	"value of 65 digits":  {"eth_getBlockByNumber", `"value":"0x64"`, `"value":"0x` + strings.Repeat("1", 65) + `"`},
	"value below zero":    {"eth_getBlockByNumber", `"value":"0x64"`, `"value":"-0x64"`},
	"creation or not":     {"eth_getBlockByNumber", `"to":null`, `"to":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"`},
	"nonce":               {"eth_getBlockByNumber", `"nonce":"0x1"`, `"nonce":"0x7"`}, // the contract is another then
	"no sender":           {"eth_getBlockByNumber", `"from":"0x8db9`, `"fromm":"0x8db9`},
	"hashes only":         {"eth_getBlockByNumber", `"transactions":[`, `"transactions":["0x69e2dbb88dbe644e90862277c44b6a4ab12e9aff22ac31ed191af16540a66213",`},
	"no transactions":     {"eth_getBlockByNumber", `"transactions":[`, `"transactions":[],"x":[`},
	"a list":              {"eth_getBlockByNumber", `{`, `[{`},
	"cut":                 {"eth_getBlockByNumber", `"timestamp":`, `"timestamp"`},

	"no receipts":        {"eth_getBlockReceipts", `[{`, `[],"x":[{`},
	"receipts null":      {"eth_getBlockReceipts", `[{`, `null,"x":[{`},
	"receipt's block":    {"eth_getBlockReceipts", `"blockHash":"0xf91b`, `"blockHash":"0xf91c`},
	"receipt's number":   {"eth_getBlockReceipts", `"blockNumber":"0x3"`, `"blockNumber":"0x2"`},
	"receipt's hash":     {"eth_getBlockReceipts", `"transactionHash":"0x69e2`, `"transactionHash":"0x69e3`},
	"receipt's index":    {"eth_getBlockReceipts", `"transactionIndex":"0x0"`, `"transactionIndex":"0x1"`},
	"receipt's sender":   {"eth_getBlockReceipts", `"from":"0x8db9`, `"from":"0x8db8`},
	"receipt's receiver": {"eth_getBlockReceipts", `"to":null`, `"to":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"`},
	"receipt's type":     {"eth_getBlockReceipts", `"type":"0x2"`, `"type":"0x1"`},
	"contract":           {"eth_getBlockReceipts", `"contractAddress":"0x17ab`, `"contractAddress":"0x17ac`},
	"status":             {"eth_getBlockReceipts", `"status":"0x1"`, `"status":"0x2"`},
	"no status":          {"eth_getBlockReceipts", `"status":"0x1",`, ``},
	"gas used":           {"eth_getBlockReceipts", `"gasUsed":"0x311e7"`, `"gasUsed":"0x311e6"`},
	"gas above limit":    {"eth_getBlockReceipts", `"gasUsed":"0x311e7"`, `"gasUsed":"0xffffffff"`},
	"cumulative gas":     {"eth_getBlockReceipts", `"cumulativeGasUsed":"0x311e7"`, `"cumulativeGasUsed":"0x311e8"`},
	"log index":          {"eth_getBlockReceipts", `"logIndex":"0x1"`, `"logIndex":"0x2"`},
	"log of another":     {"eth_getBlockReceipts", `"data":`, `"transactionHash":"0xf287d93bc890c22151ba7bccb77ba15076161e11381b97117cc8c794187c8868","data":`},
	"log removed":        {"eth_getBlockReceipts", `"removed":false`, `"removed":true`},
	"log without data":   {"eth_getBlockReceipts", `"data":`, `"date":`},
	"logs missing":       {"eth_getBlockReceipts", `"logs":[`, `"logs":[],"x":[`},
	"five topics":        {"eth_getBlockReceipts", `"topics":[`, `"topics":["` + strings.Repeat("0x"+strings.Repeat("0", 64)+`","`, 2) + "0x" + strings.Repeat("0", 64) + `",`},
	"topic short":        {"eth_getBlockReceipts", `"topics":["0xdd`, `"topics":["0xd`},
	"receipts an object": {"eth_getBlockReceipts", `[`, `{`},
}

func TestLies(t *testing.T) {
	t.Parallel()
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			changed := false
			n.edit = func(q question, r recorded) recorded {
				if q.Method == lie[0] && strings.HasPrefix(string(q.Params), `["0x3"`) {
					to := strings.Replace(string(r.Result), lie[1], lie[2], 1)
					changed = changed || to != string(r.Result)
					r.Result = json.RawMessage(to)
				}
				return r
			}
			got, err := n.client(t, nil).Fetch(t.Context(), 2, 3)
			n.mu.Lock()
			defer n.mu.Unlock()
			if !changed {
				t.Fatal("the answer has nothing of what was to be changed")
			}
			if !errors.Is(err, ErrBadAnswer) {
				t.Fatalf("error %v", err)
			}
			if len(got) > 1 {
				t.Errorf("the block was given in spite of: %v", err)
			}
			if n.asked["eth_getBlockByNumber"] > 4 {
				t.Errorf("asked again %d times in spite of: %v", n.asked["eth_getBlockByNumber"], err)
			}
		})
	}
}

// Whole answers that no client should fall for.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	write := func(format string, args ...any) func(http.ResponseWriter, []question) bool {
		return func(w http.ResponseWriter, _ []question) bool {
			fmt.Fprintf(w, format, args...)
			return true
		}
	}
	for name, c := range map[string]struct {
		whole func(http.ResponseWriter, []question) bool
		want  error
	}{
		"empty":      {write(""), ErrBadAnswer},
		"cut":        {write(`[{"jsonrpc":"2.0","id":1,"result":{"number":"0x3","ha`), ErrBadAnswer},
		"page":       {write("<html>"), ErrBadAnswer},
		"none":       {write("[]"), ErrBadAnswer},
		"other id":   {write(`[{"id":900,"result":null},{"id":901,"result":null}]`), ErrBadAnswer},
		"no id":      {write(`[{"result":null},{"result":null}]`), ErrBadAnswer},
		"one object": {write(`{"id":1,"result":null}`), ErrBadAnswer},
		"refused":    {write(`{"id":null,"error":{"code":-32700,"message":"parse error"}}`), ErrBadAnswer},
		"starting": {func(w http.ResponseWriter, _ []question) bool {
			http.Error(w, "not done bootstrapping", http.StatusServiceUnavailable)
			return true
		}, ErrUnreachable},
		"limited": {func(w http.ResponseWriter, qs []question) bool {
			fmt.Fprintf(w, `[{"id":%d,"error":{"code":-32005,"message":"limit exceeded"}},{"id":%d,"error":{"code":-32005,"message":"limit exceeded"}}]`, qs[0].ID, qs[1].ID)
			return true
		}, ErrUnreachable},
		"twice": {func(w http.ResponseWriter, qs []question) bool {
			fmt.Fprintf(w, `[{"id":%d,"result":null},{"id":%d,"result":null}]`, qs[0].ID, qs[0].ID)
			return true
		}, ErrBadAnswer},
		"huge": {func(w http.ResponseWriter, _ []question) bool {
			chunk := []byte(strings.Repeat(" ", 1<<16))
			for range 100 << 20 / len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			return true
		}, ErrBadAnswer},
		"nested": {func(w http.ResponseWriter, qs []question) bool {
			_, _ = io.WriteString(w, strings.Repeat("[", 1<<20))
			return true
		}, ErrBadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			n.whole = c.whole
			client := n.client(t, func(_ *Config, below *source.Config) { below.MaxBody = 1 << 20 })
			got, err := client.Fetch(t.Context(), 3, 3)
			if !errors.Is(err, c.want) || len(got) > 0 {
				t.Errorf("%d blocks, error %v", len(got), err)
			}
			if err := client.Trace(t.Context(), must(newNode(t).client(t, nil).Fetch(t.Context(), 3, 3))[0]); !errors.Is(err, c.want) {
				t.Errorf("trace: %v", err)
			}
		})
	}
}

// A node that takes requests and is silent.
func TestSilence(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	n.whole = func(http.ResponseWriter, []question) bool { <-release; return false }
	c := n.client(t, func(cfg *Config, below *source.Config) { below.Timeout = time.Second })
	if _, err := c.Fetch(t.Context(), 0, 3); !errors.Is(err, ErrUnreachable) || !errors.Is(err, source.ErrTimeout) {
		t.Errorf("error %v", err)
	}
	why := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := c.Fetch(ctx, 0, 3); !errors.Is(err, why) {
		t.Errorf("after the end: %v", err)
	}
}

func TestMissingBlocks(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.client(t, nil)
	got, err := c.Fetch(t.Context(), 1, 6)
	if !errors.Is(err, ErrNotFound) || len(got) != 3 || got[2].Number != 3 {
		t.Errorf("%d blocks, error %v", len(got), err)
	}
	n.edit = func(q question, r recorded) recorded { // as geth says it
		if q.Method == "eth_getBlockByNumber" {
			r.Result, r.Error = []byte("null"), nil
		}
		return r
	}
	if got, err := c.Fetch(t.Context(), 1, 3); !errors.Is(err, ErrNotFound) || len(got) != 0 {
		t.Errorf("%d blocks, error %v", len(got), err)
	}
}

// A busy node is not asked again at once: waiting is the caller's.
func TestBusy(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	failures := 0
	n.whole = func(w http.ResponseWriter, qs []question) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if failures++; failures > 1 {
			return false
		}
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return true
	}
	c := n.client(t, nil)
	if got, err := c.Fetch(t.Context(), 3, 3); !errors.Is(err, ErrUnreachable) || len(got) != 0 || len(n.batches) != 1 {
		t.Errorf("%d blocks, error %v, %d requests", len(got), err, len(n.batches))
	}
	if got, err := c.Fetch(t.Context(), 3, 3); err != nil || len(got) != 1 {
		t.Errorf("%d blocks, error %v", len(got), err)
	}
}

// A node that answers only so much at once is asked for less, down to each receipt.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	want := must(newNode(t).client(t, nil).Fetch(t.Context(), 0, 3))
	for _, limit := range []int{1, 2, 3, 5} {
		for _, form := range []string{
			`{"id":%d,"error":{"code":-32003,"message":"response too large"}}`,
			`{"id":%d,"error":{"code":-32600,"message":"batch too large"}}`,
		} {
			n := newNode(t)
			n.whole = func(w http.ResponseWriter, qs []question) bool {
				if len(qs) <= limit {
					return false
				}
				fmt.Fprintf(w, "["+form+"]", qs[0].ID)
				return true
			}
			if strings.Contains(form, "-32003") { // geth answers what fits, and refuses the others
				n.whole = nil
				n.edit = func(q question, r recorded) recorded {
					if n.batches[len(n.batches)-1] > limit && q.Method == "eth_getBlockReceipts" {
						r.Result, r.Error = nil, []byte(`{"code":-32003,"message":"response too large"}`)
					}
					return r
				}
			}
			got, err := n.client(t, nil).Fetch(t.Context(), 0, 3)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("limit %d, %s: %d blocks, %v", limit, form, len(got), err)
			}
		}
	}
}

func TestNoBlockReceipts(t *testing.T) {
	t.Parallel()
	want := must(newNode(t).client(t, nil).Fetch(t.Context(), 0, 3))
	n := newNode(t)
	n.edit = func(q question, r recorded) recorded {
		if q.Method == "eth_getBlockReceipts" {
			r.Error = []byte(`{"code":-32601,"message":"the method eth_getBlockReceipts does not exist/is not available"}`)
		}
		return r
	}
	c := n.client(t, nil)
	for range 2 {
		if got, err := c.Fetch(t.Context(), 0, 3); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d blocks, %v", len(got), err)
		}
	}
	if asked := n.asked["eth_getBlockReceipts"]; asked == 0 || asked > 4 {
		t.Errorf("asked %d times for what the node does not have", asked)
	}
	n.replace("eth_getTransactionReceipt", `"transactionIndex":"0x1"`, `"transactionIndex":"0x2"`)
	if _, err := c.Fetch(t.Context(), 3, 3); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("a wrong receipt: %v", err)
	}
	n.replace("eth_getTransactionReceipt", `{`, `null`)
	n.edit = func(q question, r recorded) recorded {
		if q.Method == "eth_getTransactionReceipt" {
			r.Result = []byte("null")
		}
		return r
	}
	if _, err := c.Fetch(t.Context(), 3, 3); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("no receipt: %v", err)
	}
}

// The second node is asked when the first one's answer does not hold together.
func TestFailover(t *testing.T) {
	t.Parallel()
	liar, honest := newNode(t), newNode(t)
	liar.replace("eth_getBlockReceipts", `"status":"0x1"`, `"status":"0x2"`)
	c := liar.client(t, func(_ *Config, below *source.Config) { below.Nodes = append(below.Nodes, nodeAt(t, honest.URL)) })
	if got, err := c.Fetch(t.Context(), 0, 3); err != nil || len(got) != 4 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
}

// Blocks and their receipts come in one request for many blocks.
func TestBatches(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.client(t, nil)
	if got, err := c.Fetch(t.Context(), 0, 3); err != nil || len(got) != 4 {
		t.Fatalf("%d blocks, %v", len(got), err)
	}
	if !slices.Equal(n.batches, []int{8}) {
		t.Errorf("requests of %d calls, want one of 8", n.batches)
	}
}

func TestAssetNotConfigured(t *testing.T) {
	t.Parallel()
	c := newNode(t).client(t, func(cfg *Config, _ *source.Config) { cfg.AVAXAssetID = [32]byte{} })
	if got, err := c.Fetch(t.Context(), 0, 3); err == nil || len(got) > 1 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
}
