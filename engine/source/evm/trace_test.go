package evm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
)

// traced returns block 3 as a healthy node has it.
func traced(t testing.TB) *evm.Block {
	t.Helper()
	c := newNode(t).client(t, nil)
	b := must(c.Fetch(t.Context(), 3, 3))[0]
	if err := c.Trace(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

func refuse(n *node, method, refusal string) {
	n.edit = func(q question, r recorded) recorded {
		if q.Method == method {
			r.Result, r.Error = nil, json.RawMessage(refusal)
		}
		return r
	}
}

// When the node does not trace the block at once, it is asked for each transaction.
func TestTracePiecewise(t *testing.T) {
	t.Parallel()
	want := traced(t)
	for name, script := range map[string]func(n *node){
		"too large": func(n *node) {
			refuse(n, "debug_traceBlockByHash", `{"code":-32003,"message":"response too large"}`)
		},
		"timeout": func(n *node) {
			refuse(n, "debug_traceBlockByHash", `{"code":-32000,"message":"execution timeout"}`)
		},
		"crash": func(n *node) {
			refuse(n, "debug_traceBlockByHash", `{"code":-32603,"message":"method handler crashed"}`)
		},
		"one given up": func(n *node) {
			n.edit = func(q question, r recorded) recorded {
				if q.Method == "debug_traceBlockByHash" {
					text := string(r.Result)
					at := strings.LastIndex(text, `"result":`)
					r.Result = json.RawMessage(text[:at] + `"error":"execution timeout"}]`)
				}
				return r
			}
		},
		"only few at once": func(n *node) {
			n.whole = func(w http.ResponseWriter, qs []question) bool {
				if strings.HasPrefix(qs[0].Method, "eth_") || len(qs) == 2 && qs[0].Method == "debug_traceTransaction" {
					return false
				}
				fmt.Fprintf(w, `[{"id":%d,"error":{"code":-32600,"message":"batch too large"}}]`, qs[0].ID)
				return true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			c := n.client(t, nil)
			b := must(c.Fetch(t.Context(), 3, 3))[0]
			script(n)
			if err := c.Trace(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(b, want) {
				t.Errorf("\n got %+v\nwant %+v", b, want)
			}
			if metric.Value(c.fallbacks) != 1 || n.asked["debug_traceTransaction"] < 14 {
				t.Errorf("%v fallbacks, %d transactions traced", metric.Value(c.fallbacks), n.asked["debug_traceTransaction"])
			}
		})
	}
}

func TestNoTrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal string
		both    bool
		want    error
	}{
		"no debug API": {`{"code":-32601,"message":"the method debug_traceBlockByHash does not exist/is not available"}`, false, ErrNoTrace},
		"pruned":       {`{"code":-32000,"message":"required historical state unavailable (reexec=128)"}`, false, ErrNoTrace},
		"trie":         {`{"code":-32000,"message":"missing trie node 0123 (path ) state 0x is not available"}`, false, ErrNoTrace},
		"too slow":     {`{"code":-32000,"message":"execution timeout"}`, true, ErrNoTrace},
		"odd":          {`{"code":-32000,"message":"tracing failed: insufficient funds"}`, true, ErrNoTrace},
		"not there":    {`{"code":-32000,"message":"block 0x12 not found"}`, false, ErrNotFound},
		"limit":        {`{"code":-32005,"message":"daily request count exceeded"}`, false, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			client := n.client(t, nil)
			b := must(client.Fetch(t.Context(), 3, 3))[0]
			n.edit = func(q question, r recorded) recorded {
				if q.Method == "debug_traceBlockByHash" || c.both && q.Method == "debug_traceTransaction" {
					r.Result, r.Error = nil, json.RawMessage(c.refusal)
				}
				return r
			}
			if err := client.Trace(t.Context(), b); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if b.Traced || b.Balances != nil || b.Txs[0].Calls != nil || b.Txs[3].Failure != nil {
				t.Errorf("the block was changed: %+v", b)
			}
		})
	}
}

func TestTraceLies(t *testing.T) {
	t.Parallel()
	calls, diff := "callTracer", "prestateTracer"
	for name, lie := range map[string][3]string{
		"none":              {calls, `[{"txHash"`, `[],"x":[{"txHash"`},
		"not all":           {calls, `{"txHash":"0x69e2dbb88dbe644e90862277c44b6a4ab12e9aff22ac31ed191af16540a66213","result":`, `{"x":0},{"x":`},
		"other transaction": {calls, `"txHash":"0x69e2`, `"txHash":"0x69e3`},
		"other sender":      {calls, `"from":"0x8db9`, `"from":"0x8db8`},
		"other contract":    {calls, `"to":"0x17ab`, `"to":"0x17ac`},
		"failed or not":     {calls, `"output":"0x60",`, `"error":"out of gas",`},
		"no type":           {calls, `"type":"CREATE"`, `"kind":"CREATE"`},
		"other type":        {calls, `"value":"0x64","type":"CREATE"}}`, `"value":"0x64","type":"CALL"}}`},
		"gas":               {calls, `"gas":"0xaac13"`, `"gas":"aac13"`},
		"value":             {calls, `"value":"0x2"`, `"value":"0x"`},
		"null":              {calls, `"result":{`, `"result":null,"x":{`},
		"no post":           {diff, `"post":`, `"past":`},
		"no pre":            {diff, `"pre":`, `"per":`},
		"account":           {diff, `"0x00000000000000000000000000000000deadbeef"`, `"0xdeadbeef"`},
		"balance":           {diff, `"balance":"0x3"`, `"balance":"-0x3"`},
		"balance a number":  {diff, `"balance":"0x3"`, `"balance":3`},
		"diff not all":      {diff, `[{"txHash"`, `[{"txHash":null},{"txHash"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			c := n.client(t, nil)
			b := must(c.Fetch(t.Context(), 3, 3))[0]
			changed := false
			n.edit = func(q question, r recorded) recorded {
				if strings.Contains(string(q.Params), lie[0]) {
					to := strings.Replace(string(r.Result), lie[1], lie[2], 1)
					changed = changed || to != string(r.Result)
					r.Result = json.RawMessage(to)
				}
				return r
			}
			err := c.Trace(t.Context(), b)
			if !changed {
				t.Fatal("the answer has nothing of what was to be changed")
			}
			if !errors.Is(err, ErrBadAnswer) || b.Traced || b.Txs[0].Calls != nil || b.Txs[3].Failure != nil {
				t.Errorf("%+v, error %v", b, err)
			}
		})
	}
}

// deep is a trace of calls inside calls.
func deep(depth int) string {
	const frame = `{"type":"CALL","from":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc","to":"0x00000000000000000000000000000000deadbeef","gas":"0x1","gasUsed":"0x1"`
	return strings.Repeat(frame+`,"calls":[`, depth) + frame + "}" + strings.Repeat("]}", depth)
}

func TestDeepCalls(t *testing.T) {
	t.Parallel()
	tx := evm.Tx{From: sender, To: beef}
	var r callReader
	r.Reset([]byte(deep(1024)))
	if err := r.result(&tx); err != nil || len(tx.Calls) != 1024 || tx.Calls[1023].Depth != 1024 {
		t.Errorf("%d calls, %v", len(tx.Calls), err)
	}
	r.Reset([]byte(deep(2_000)))
	if err := r.result(&tx); err == nil {
		t.Error("calls without end were read")
	}
}

// What failed or is below such a call is reverted, wherever the error is told.
func TestReverted(t *testing.T) {
	t.Parallel()
	const text = `{"type":"CALL","from":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc","to":"0x00000000000000000000000000000000deadbeef","gas":"0x9","gasUsed":"0x9","calls":[
		{"type":"CALL","from":"0x00000000000000000000000000000000deadbeef","to":"0x0200000000000000000000000000000000000001","gas":"0x9","gasUsed":"0x9","input":"0x4f5aaaba00000000000000000000000017ab05351fc94a1a67bf3f56ddbb941ae6c63e25"},
		{"type":"CALL","from":"0x00000000000000000000000000000000deadbeef","to":"0x0100000000000000000000000000000000000002","gas":"0x9","gasUsed":"0x9","input":"0x7c883169ac8623708eda6e893e21d097230e5ba4ff"},
		{"type":"CALL","from":"0x00000000000000000000000000000000deadbeef","to":"0x0200000000000000000000000000000000000001","gas":"0x9","gasUsed":"0x9","input":"0x4f5a"},
		{"type":"CALL","from":"0x00000000000000000000000000000000deadbeef","gas":"0x9","gasUsed":"0x9","calls":[
			{"type":"NEW","from":"0x00000000000000000000000000000000deadbeef","gas":"0x9","gasUsed":"0x9","value":null,"to":null}],"error":"say \"no\""},
		{"type":"CALLCODE","from":"0x00000000000000000000000000000000deadbeef","gas":"0x9","gasUsed":"0x9"}]}`
	tx := evm.Tx{From: sender, To: beef}
	var r callReader
	r.Reset([]byte(text))
	if err := r.result(&tx); err != nil || !r.End() {
		t.Fatal(err, r.Err())
	}
	var got []string
	for _, c := range tx.Calls {
		got = append(got, fmt.Sprint(c.Type, c.Depth, c.Reverted))
	}
	if want := "[CALL 1 false CALL 1 false CALL 1 false CALL 1 true UNKNOWN 2 true CALLCODE 1 false]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	if want := []evm.Address{show, child}; !reflect.DeepEqual(r.unsure, want) {
		t.Errorf("unseen receivers: %v, want %v", r.unsure, want)
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	a, b, c, d, e := evm.Address{1}, evm.Address{2}, evm.Address{3}, evm.Address{4}, evm.Address{5}
	has := func(n uint64) amount { return amount{*uint256.NewInt(n), true} }
	l := newLedger()
	// a pays b, a new account; c is touched but not moved; d is gone.
	l.apply(map[evm.Address]amount{a: has(10), c: has(5), d: has(3)}, map[evm.Address]amount{a: has(7), b: has(3), c: {}})
	// b pays a back; e has been changed by what no diff shows, then again.
	l.apply(map[evm.Address]amount{a: has(7), b: has(3), e: has(1)}, map[evm.Address]amount{a: has(10), b: has(0), e: has(2)})
	l.apply(map[evm.Address]amount{e: has(9)}, map[evm.Address]amount{e: has(8)})
	if want := []evm.Address{d, e}; !reflect.DeepEqual(l.unsure(), want) {
		t.Errorf("unsure of %v, want %v", l.unsure(), want)
	}
	for _, u := range l.unsure() {
		x, _ := l.get(u)
		x.before, x.wei = *uint256.NewInt(1), *uint256.NewInt(8)
	}
	var got []string
	for _, x := range l.balances() {
		got = append(got, fmt.Sprintf("%d: %s %s", x.Address[0], x.Before.Dec(), x.Wei.Dec()))
	}
	if want := "[1: 10 10 2: 0 0 4: 1 8 5: 1 8]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func FuzzTrace(f *testing.F) {
	n := newNode(f)
	b := must(n.client(f, nil).Fetch(f.Context(), 3, 3))[0]
	for _, r := range n.answers {
		if strings.HasPrefix(r.Method, "debug_traceBlock") && r.Result != nil {
			f.Add([]byte(r.Result))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var calls callReader
		txs := append([]evm.Tx{}, b.Txs...)
		if calls.eachTrace(text, txs, func(i int) error { return calls.result(&txs[i]) }) == nil {
			for _, c := range calls.calls {
				if c.Depth == 0 {
					t.Error("a call without depth")
				}
			}
		}
		d := diffReader{ledger: newLedger(), pre: map[evm.Address]amount{}, post: map[evm.Address]amount{}}
		if d.eachTrace(text, b.Txs, func(int) error { return d.result() }) == nil {
			d.ledger.balances()
		}
	})
}
