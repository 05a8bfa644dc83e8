package evmrpc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// refused asks for something that the node refuses, and returns why.
func refused(t *testing.T, h *Handler, method string, params ...any) string {
	t.Helper()
	a := ask(t, h, method, params...)
	if a.Error == nil {
		t.Fatalf("%s %v: %.100s", method, params, a.Result)
	}
	return a.Error.Message
}

var callTracer = map[string]any{"tracer": "callTracer"}

func TestNoDebug(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	h.SetTraits(Traits{NoDebug: true})
	if a := ask(t, h, "debug_traceBlockByNumber", "0x5", callTracer); a.Error == nil || a.Error.Code != codeMethod {
		t.Errorf("a node without the debug API answers %s", a.Result)
	}
	h.SetTraits(Traits{})
	get[[]traced[jsonCall]](t, h, "debug_traceBlockByNumber", "0x5", callTracer)
}

// TestPruned: a node with the last states only refuses what needs others, with
// the words that nodes have for it.
func TestPruned(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	h.SetTraits(Traits{Keep: 10}) // of blocks 91 to 100
	at := func(n uint64) string { return hexOf(n) }
	busy := h.chain.Sample().Busy.String()
	for _, method := range []string{"eth_getBalance", "eth_getCode", "eth_getTransactionCount"} {
		get[string](t, h, method, busy, at(91))
		if text := refused(t, h, method, busy, at(90)); !strings.HasPrefix(text, "missing trie node ") {
			t.Errorf("%s: %s", method, text)
		}
	}
	token := map[string]string{"to": h.chain.Sample().Token.String(), "data": callData("decimals()")}
	get[string](t, h, "eth_call", token, at(91))
	refused(t, h, "eth_call", token, at(90))
	get[[]traced[jsonCall]](t, h, "debug_traceBlockByNumber", at(92), callTracer)
	if text := refused(t, h, "debug_traceBlockByNumber", at(91), callTracer); text != "required historical state unavailable (reexec=128)" {
		t.Error(text)
	}
	get[jsonBlock](t, h, "eth_getBlockByNumber", at(5), true)
}

// TestFrom: a node that began late has no blocks from before, but the first one.
func TestFrom(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	old := get[jsonBlock](t, h, "eth_getBlockByNumber", "0x8", true)
	tx := get[struct{ Transactions []string }](t, h, "eth_getBlockByNumber", "0x1", false).Transactions[0]
	h.SetTraits(Traits{From: 50})
	for _, c := range [][]any{
		{"eth_getBlockByNumber", "0x31", true},
		{"eth_getBlockByHash", old.Hash, true},
		{"eth_getBlockReceipts", "0x8"},
		{"eth_getTransactionByHash", tx},
		{"eth_getTransactionReceipt", tx},
	} {
		if a := ask(t, h, c[0].(string), c[1:]...); a.Error != nil || string(a.Result) != "null" {
			t.Errorf("%v: %.100s %v", c, a.Result, a.Error)
		}
	}
	refused(t, h, "debug_traceBlockByNumber", "0x31", callTracer)
	refused(t, h, "debug_traceBlockByNumber", "0x32", callTracer) // the state before it is gone
	refused(t, h, "eth_getBalance", zeroAddr, "0x31")
	refused(t, h, "eth_getLogs", map[string]string{"fromBlock": "0x1", "toBlock": "0x40"})
	get[jsonBlock](t, h, "eth_getBlockByNumber", "0x0", true)
	get[jsonBlock](t, h, "eth_getBlockByNumber", "0x32", true)
	get[[]traced[jsonCall]](t, h, "debug_traceBlockByNumber", "0x33", callTracer)
}

func TestLag(t *testing.T) {
	t.Parallel()
	h := newHandler(t, testConfig())
	last := get[jsonBlock](t, h, "eth_getBlockByNumber", "latest", true)
	tip := func() uint64 { return number(t, get[string](t, h, "eth_blockNumber")) }
	h.SetTraits(Traits{Lag: 7})
	if got := tip(); got != 93 {
		t.Errorf("7 blocks behind at %d", got)
	}
	if a := ask(t, h, "eth_getTransactionReceipt", last.Transactions[0].Hash); string(a.Result) != "null" {
		t.Errorf("a receipt above the tip: %s", a.Result)
	}
	refused(t, h, "eth_getBlockByNumber", "0x64", true)
	h.SetTraits(Traits{AtMost: 40})
	h.chain.Advance()
	if got := tip(); got != 40 {
		t.Errorf("stands at %d, not 40", got)
	}
	h.SetTraits(Traits{})
	if got := tip(); got != 101 {
		t.Errorf("at %d, not 101", got)
	}
}

// TestUnaccepted: what is above the last accepted block is consistent, but goes
// when the chain grows, while finalized names what stays.
func TestUnaccepted(t *testing.T) {
	t.Parallel()
	h := newHandler(t, testConfig())
	h.SetTraits(Traits{Unaccepted: 2})
	block := func(tag string) jsonBlock { return get[jsonBlock](t, h, "eth_getBlockByNumber", tag, true) }
	if n := number(t, get[string](t, h, "eth_blockNumber")); n != 102 {
		t.Fatalf("the tip is %d", n)
	}
	accepted := block("finalized")
	for n, parent := uint64(101), accepted.Hash; n <= 102; n++ {
		b := block(hexOf(n))
		if b.ParentHash != parent || len(b.Transactions) < 3 || hashText(headerHash(t, &b, true)) != b.Hash {
			t.Errorf("block %d: %+v", n, b)
		}
		roots(t, &b, get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(n)))
		if traces := get[[]traced[jsonCall]](t, h, "debug_traceBlockByHash", b.Hash, callTracer); len(traces) != len(b.Transactions) {
			t.Errorf("block %d: %d traces", n, len(traces))
		}
		parent = b.Hash
	}
	shown := block("latest")
	from := shown.Transactions[0].From
	if a, b := get[string](t, h, "eth_getTransactionCount", from, "latest"), get[string](t, h, "eth_getTransactionCount", from, "finalized"); number(t, a) <= number(t, b) {
		t.Errorf("%s has the nonce %s after its transaction, %s before", from, a, b)
	}
	gone := block("0x65")
	h.chain.Advance()
	now := block("0x65")
	if now.Hash == gone.Hash || now.ParentHash != accepted.Hash || block("finalized").Hash != now.Hash {
		t.Errorf("block 101 was %s, is %s", gone.Hash, now.Hash)
	}
	if b := block("latest"); number(t, b.Number) != 103 || b.Hash == shown.Hash {
		t.Errorf("the latest block is %s %s", b.Number, b.Hash)
	}
	if a := ask(t, h, "eth_getBlockByHash", gone.Hash, false); string(a.Result) != "null" {
		t.Errorf("a block that is gone: %s", a.Result)
	}
	h.SetTraits(Traits{})
	if b := block("latest"); b.Hash != now.Hash {
		t.Errorf("an honest node shows %s, accepted is %s", b.Hash, now.Hash)
	}
	whole := newHandler(t, testConfig())
	whole.chain.Advance()
	if b := get[jsonBlock](t, whole, "eth_getBlockByNumber", "latest", true); b.Hash != now.Hash {
		t.Error("a fork changes what the chain accepts")
	}
}

func TestNoFinalized(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	for _, tag := range []string{"finalized", "safe", "accepted"} {
		if b := get[jsonBlock](t, h, "eth_getBlockByNumber", tag, true); b.Number != "0x64" {
			t.Errorf("%s is %s", tag, b.Number)
		}
	}
	h.SetTraits(Traits{NoFinalized: true})
	if a := ask(t, h, "eth_getBlockByNumber", "finalized", false); a.Error == nil || a.Error.Code != codeParams {
		t.Errorf("finalized is %s", a.Result)
	}
}

func TestUntraceable(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	var b jsonBlock
	for n := h.chain.Tip(); len(b.Transactions) < 3; n-- {
		b = get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(n), true)
	}
	bad, good := b.Transactions[1].Hash, b.Transactions[0].Hash
	with := func(f TraceFault) {
		hash, err := hex.DecodeString(bad[2:])
		if err != nil {
			t.Fatal(err)
		}
		h.SetTraits(Traits{Untraceable: map[evm.Hash]TraceFault{evm.Hash(hash): f}})
		get[jsonCall](t, h, "debug_traceTransaction", good, callTracer)
	}
	with(TraceTimeout)
	for _, tracer := range []string{"callTracer", "prestateTracer"} {
		if text := refused(t, h, "debug_traceBlockByNumber", b.Number, map[string]any{"tracer": tracer}); text != "execution timeout" {
			t.Error(text)
		}
	}
	refused(t, h, "debug_traceTransaction", bad, callTracer)
	with(TraceTooBig)
	body := h.Answer([]byte(`{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["` + b.Number + `",{"tracer":"callTracer"}]}`))
	from, to := bytes.Index(body, []byte("        ")), bytes.LastIndexByte(body, ' ')+1
	if len(body) < bigTrace || from < 0 || bytes.Count(body[from:to], []byte(" ")) != to-from || !json.Valid(append(body[:from:from], body[to:]...)) {
		t.Errorf("%d bytes", len(body))
	}
	with(TraceErrorInside)
	refused(t, h, "debug_traceTransaction", bad, callTracer)
	traces := get[[]struct{ TxHash, Error string }](t, h, "debug_traceBlockByNumber", b.Number, callTracer)
	for i, x := range traces {
		if (x.Error == "execution timeout") != (i == 1) || x.TxHash != b.Transactions[i].Hash {
			t.Errorf("trace %d: %+v", i, x)
		}
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	edited := func(path string, v any) map[string]any {
		h.SetTraits(Traits{Edit: Replace("eth_getBlockByNumber", path, func(any) any { return v })})
		return get[map[string]any](t, h, "eth_getBlockByNumber", "0x1", true)
	}
	first := func(b map[string]any) map[string]any { return b["transactions"].([]any)[0].(map[string]any) }
	if b := edited("hash", "0x1"); b["hash"] != "0x1" {
		t.Errorf("hash %v", b["hash"])
	}
	if b := edited("transactions/0/value", Drop); first(b)["value"] != nil || first(b)["nonce"] == nil {
		t.Errorf("transaction %v", first(b))
	}
	if b := edited("transactions/*", Drop); len(b["transactions"].([]any)) != 0 {
		t.Errorf("transactions %v", b["transactions"])
	}
	if b := edited("feeState", "0x7"); b["feeState"] != "0x7" {
		t.Error("no new member")
	}
	if b := edited("transactions/0/no/such", "0x7"); first(b)["no"] != nil {
		t.Error("a path that leads nowhere changes something")
	}
	h.SetTraits(Traits{Edit: func(string, json.RawMessage, []byte) []byte { return []byte("7") }})
	if n := get[int](t, h, "eth_blockNumber"); n != 7 {
		t.Error(n)
	}
}
