package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quorate/engine/chain"
)

// recorder answers each body with a list or an object of its calls' methods, and
// remembers what it was sent.
type recorder struct {
	forwardFunc
	sent []string
}

func newRecorder() *recorder {
	r := &recorder{}
	r.forwardFunc = func(_ context.Context, _ chain.ID, path string, body []byte) (int, string, []byte, error) {
		r.sent = append(r.sent, path+" "+string(body))
		if !bytes.HasPrefix(body, []byte("[")) {
			return 200, contentJSON, []byte(`{"jsonrpc":"2.0","id":1,"result":"node"}`), nil
		}
		var calls []struct{ ID json.RawMessage }
		if err := json.Unmarshal(body, &calls); err != nil {
			return 0, "", nil, err
		}
		var answers []string
		for _, c := range calls {
			if c.ID != nil {
				answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"node"}`, c.ID))
			}
		}
		if len(answers) == 0 {
			return 200, contentJSON, nil, nil
		}
		return 200, contentJSON, []byte("[" + strings.Join(answers, ",") + "]\n"), nil
	}
	return r
}

func withMode(t testing.TB, mode Mode) (*Service, *recorder) {
	cfg, r := fullConfig(t), newRecorder()
	cfg.ChainRPC, cfg.Forward = mode, r
	return New(cfg), r
}

// The methods that each mode passes on, and for how much.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, method string
		safe         bool
		units        int // in mode Safe
	}{
		{"C/rpc", "eth_chainId", true, unitsCheap},
		{"C/rpc", "eth_blockNumber", true, unitsCheap},
		{"C/rpc", "eth_getBalance", true, unitsOrdinary},
		{"C/rpc", "eth_call", true, unitsHeavy},
		{"C/rpc", "eth_getLogs", true, unitsHeavy},
		{"C/rpc", "eth_estimateGas", true, unitsHeavy},
		{"C/rpc", "eth_sendRawTransaction", true, unitsHeavy},
		{"C/rpc", "net_version", true, unitsCheap},
		{"C/rpc", "web3_clientVersion", true, unitsCheap},
		{"C/rpc", "warp_getMessageSignature", true, unitsOrdinary},
		{"C/rpc", "txpool_status", true, unitsOrdinary},
		{"C/avax", "avax.getUTXOs", true, unitsHeavy},
		{"C/avax", "avax.issueTx", true, unitsHeavy},
		{"C/proposervm", "proposervm.getCurrentEpoch", true, unitsCheap},
		{"C/validators", "validators.getCurrentValidators", true, unitsDear},
		{"P", "platform.getHeight", true, unitsCheap},
		{"P", "platform.getTx", true, unitsOrdinary},
		{"P", "platform.issueTx", true, unitsHeavy},
		{"P", "platform.getValidatorsAt", true, unitsDear},
		{"platform", "avm.getTx", true, unitsOrdinary},
		{"P", "avm.issueTx", true, unitsHeavy},

		{"C/rpc", "debug_traceTransaction", false, 0},
		{"C/rpc", "debug_traceBlockByNumber", false, 0},
		{"C/rpc", "admin_exportChain", false, 0},
		{"C/rpc", "personal_unlockAccount", false, 0},
		{"C/rpc", "eth_sendTransaction", false, 0},
		{"C/rpc", "eth_sign", false, 0},
		{"C/rpc", "eth_accounts", false, 0},
		{"C/rpc", "eth_newFilter", false, 0},
		{"C/rpc", "eth_getFilterChanges", false, 0},
		{"C/rpc", "eth_subscribe", false, 0},
		{"C/rpc", "warp_getMessageAggregateSignature", false, 0},
		{"C/rpc", "txpool_content", false, 0},
		{"C/rpc", "ETH_chainId", false, 0},
		{"C/rpc", " eth_chainId", false, 0},
		{"C/rpc", "eth_chainId ", false, 0},
		{"C/rpc", "eth_chainid", false, 0},
		{"C/rpc", "", false, 0},
		{"C/avax", "admin.setLogLevel", false, 0},
		{"P", "platform.GetHeight", false, 0},
		{"P", "keystore.exportUser", false, 0},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":[1]}`, c.method)
		s, node := withMode(t, Safe)
		resp := do(s, "POST", "/ext/bc/"+c.path, body)
		_, sub, _ := strings.Cut(c.path, "/")
		if sub != "" {
			sub = "/" + sub
		}
		sent := fmt.Sprintf(`%s {"jsonrpc":"2.0","id":7,"method":%q,"params":[1]}`, sub, c.method)
		switch {
		case resp.StatusCode() != 200:
			t.Errorf("%s %s: status %d", c.path, c.method, resp.StatusCode())
		case c.safe && (len(node.sent) != 1 || node.sent[0] != sent || !strings.Contains(string(resp.Body()), `"node"`)):
			t.Errorf("%s %s: sent %q, answered %s", c.path, c.method, node.sent, resp.Body())
		case !c.safe && (len(node.sent) != 0 || !strings.Contains(string(resp.Body()), `"error":{"code":-32`) || !strings.HasSuffix(string(resp.Body()), `"id":7}`+"\n")):
			t.Errorf("%s %s: sent %q, answered %s", c.path, c.method, node.sent, resp.Body())
		}
		if got := costOf(s, "/ext/bc/"+c.path, body); c.safe && got != c.units || !c.safe && got != max(unitsLeast, s.prices[c.method]) {
			t.Errorf("%s costs %d", c.method, got)
		}
		all, node := withMode(t, All)
		do(all, "POST", "/ext/bc/"+c.path, body)
		if len(node.sent) != 1 || !strings.HasSuffix(node.sent[0], " "+body) {
			t.Errorf("mode all, %s: sent %q", c.method, node.sent)
		}
		if got := costOf(all, "/ext/bc/"+c.path, body); c.safe && got != c.units || !c.safe && s.prices[c.method] == 0 && got != unitsUnknown {
			t.Errorf("mode all: %s costs %d", c.method, got)
		}
		off, node := withMode(t, Off)
		if resp := do(off, "POST", "/ext/bc/"+c.path, body); resp.StatusCode() != 404 || len(node.sent) != 0 {
			t.Errorf("mode off, %s: status %d, sent %q", c.method, resp.StatusCode(), node.sent)
		}
	}
	for _, path := range []string{"C/admin", "C/foo", "C/rpc/x", "C/r.c", "C/RPC", "C/" + strings.Repeat("x", maxDoor+1)} {
		s, _ := withMode(t, Safe)
		if resp := do(s, "POST", "/ext/bc/"+path, "{}"); resp.StatusCode() != 404 {
			t.Errorf("%s: status %d", path, resp.StatusCode())
		}
		all, _ := withMode(t, All)
		want := 404
		if path == "C/admin" || path == "C/foo" || path == "C/RPC" {
			want = 200
		}
		if resp := do(all, "POST", "/ext/bc/"+path, "{}"); resp.StatusCode() != want {
			t.Errorf("mode all, %s: status %d", path, resp.StatusCode())
		}
	}
}

func costOf(s *Service, path, body string) int {
	ctx := request("POST", path, body)
	units, _ := s.Cost(ctx)
	return units
}

// Nothing in a body may be read by a node in another way than here.
func TestNothingIsSmuggled(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"debug_x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","METHOD":"debug_x"}`,
		`{"jsonrpc":"2.0","id":1,"Method":"debug_x"}`,
		`{"jsonrpc":"2.0","id":1,"m\u0065thod":"debug_x","method":"eth_chainId"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chain\u0049d"}`,
		`{"jsonrpc":"2.0","id":1,"method":["debug_x"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}{"jsonrpc":"2.0","id":1,"method":"debug_x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},"method":"debug_x"}`,
		`{"jsonrpc":"2.0","id":1,"params":[],"method":"eth_chainId","params":[1]}`,
		`{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}`, `{"id":1,"method":"eth_chainId"}`,
		`[[{"jsonrpc":"2.0","id":1,"method":"debug_x"}]]`, `[]`, ``, ` `, `null`, `7`, `"x"`, `{`, `[`, `{}`, "\x00",
		"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxEcho+1) + `","method":"eth_chainId"}`,
		"[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},`, maxBatch) + `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}]`,
	} {
		s, node := withMode(t, Safe)
		resp := do(s, "POST", "/ext/bc/C/rpc", body)
		for _, sent := range node.sent {
			if strings.Contains(sent, "debug") || strings.Contains(strings.ToLower(sent), `"method":"eth_chainid","`) && strings.Count(strings.ToLower(sent), "method") > 1 {
				t.Errorf("%.100s: sent %s", body, sent)
			}
		}
		if resp.StatusCode() != 200 || !json.Valid(resp.Body()) {
			t.Errorf("%.100s: status %d, %s", body, resp.StatusCode(), resp.Body())
		}
		all, _ := withMode(t, All)
		if got := costOf(all, "/ext/bc/C/rpc", body); got < unitsUnknown {
			t.Errorf("mode all: %.100s costs %d", body, got)
		}
	}
}

// Members of a batch are screened one by one.
func TestBatch(t *testing.T) {
	t.Parallel()
	one := func(id, method string) string {
		if id != "" {
			id = `"id":` + id + ","
		}
		return `{"jsonrpc":"2.0",` + id + `"method":"` + method + `"}`
	}
	node := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":"node"}` }
	no := func(id string) string { return "no:" + id }
	for _, c := range []struct {
		calls, sent, answers []string
	}{
		{[]string{one("1", "eth_chainId"), one("2", "eth_call")}, []string{"1", "2"}, []string{node("1"), node("2")}},
		{[]string{one("1", "debug_a"), one(`"b"`, "eth_call"), one("3", "debug_c")}, []string{`"b"`}, []string{node(`"b"`), no("1"), no("3")}},
		{[]string{one("1", "debug_a"), one("2", "debug_b")}, nil, []string{no("1"), no("2")}},
		{[]string{one("1", "debug_a"), one("", "eth_call")}, []string{""}, []string{no("1")}},
		{[]string{one("", "debug_a"), one("2", "eth_call")}, []string{"2"}, []string{node("2")}},
		{[]string{one("", "debug_a")}, nil, nil},
		{[]string{one("1", "eth_call"), `{"id":9}`}, []string{"1"}, []string{node("1"), no("9")}},
		{[]string{one("1", "eth_call"), `{"id":{"a":[}}`}, nil, []string{no("null")}},
	} {
		s, rec := withMode(t, Safe)
		resp := do(s, "POST", "/ext/bc/C/rpc", " ["+strings.Join(c.calls, " , ")+"]\n")
		var want []string
		for _, id := range c.sent {
			want = append(want, one(id, "eth_call"))
		}
		sent := strings.ReplaceAll(strings.Join(rec.sent, ""), "eth_chainId", "eth_call")
		if (c.sent == nil) != (sent == "") || c.sent != nil && sent != "/rpc ["+strings.Join(want, ",")+"]" {
			t.Errorf("%v: sent %q", c.calls, sent)
		}
		if got := answers(t, resp.Body()); strings.Join(got, " ") != strings.Join(c.answers, " ") {
			t.Errorf("%v: got %v, want %v", c.calls, got, c.answers)
		}
	}
	// What a node says about the batch as a whole is the answer.
	cfg := fullConfig(t)
	const whole = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`
	cfg.ChainRPC, cfg.Forward = Safe, forwardFunc(func(context.Context, chain.ID, string, []byte) (int, string, []byte, error) {
		return 200, contentJSON, []byte(whole), nil
	})
	resp := do(New(cfg), "POST", "/ext/bc/C/rpc", "["+one("1", "eth_call")+","+one("2", "debug_x")+"]")
	if string(resp.Body()) != whole {
		t.Errorf("got %s", resp.Body())
	}
}

// answers lists the members of an answer; a refusal is "no:" and the ID.
func answers(t *testing.T, body []byte) (out []string) {
	t.Helper()
	if len(body) == 0 {
		return nil
	}
	var list []json.RawMessage
	if body[0] == '{' {
		list = []json.RawMessage{bytes.TrimSpace(body)}
	} else if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, raw := range list {
		var a struct {
			ID    json.RawMessage
			Error *rpcError
		}
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if a.Error != nil {
			text = "no:" + string(a.ID)
			if a.ID == nil {
				text = "no:null"
			}
		}
		out = append(out, text)
	}
	return out
}

// TestLaterChains: a chain that executes blocks after it accepted them lacks what a node of
// avalanchego v1.15.0 does not have there; all other chains have it.
func TestLaterChains(t *testing.T) {
	t.Parallel()
	cfg, r := fullConfig(t), newRecorder()
	later, ok := cfg.Chains.Lookup("C")
	if !ok {
		t.Fatal("no C-Chain")
	}
	cfg.ChainRPC, cfg.Forward, cfg.Later = Safe, r, func(id chain.ID) bool { return id == later }
	s := New(cfg)
	cfg.ChainRPC = All
	all := New(cfg)
	f := func(service *Service, path, method, want string, units int) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`
		if got := costOf(service, path, body); got != units {
			t.Errorf("%s %s costs %d, want %d", path, method, got, units)
		}
		ctx := request("POST", path, body)
		service.Handler(ctx)
		if got := string(ctx.Response.Body()); !strings.Contains(got, want) {
			t.Errorf("%s %s: %s, want %s", path, method, got, want)
		}
	}
	const node = `"result":"node"`
	for _, method := range []string{"eth_coinbase", "eth_etherbase", "eth_getActivePrecompilesAt", "warp_getMessage", "warp_getMessageSignature", "warp_getBlockSignature"} {
		f(s, "/ext/bc/C/rpc", method, `{"code":-32601,"message":"the method `+method+` is not available here: the chain executes blocks after it accepted them`, unitsLeast)
		f(s, "/ext/bc/P/rpc", method, node, s.prices[method])
		f(all, "/ext/bc/C/rpc", method, node, all.prices[method])
	}
	for _, method := range []string{"eth_chainId", "eth_baseFee", "eth_callDetailed", "eth_getChainConfig", "eth_suggestPriceOptions", "txpool_status"} {
		f(s, "/ext/bc/C/rpc", method, node, s.prices[method])
	}
	if _, served := s.prices["avax.version"]; served {
		t.Error("no node has avax.version")
	}
}

func TestBatchCost(t *testing.T) {
	t.Parallel()
	s, _ := withMode(t, Safe)
	body := `[{"jsonrpc":"2.0","id":1,"method":"eth_call"},{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":1,"method":"debug_x"}]`
	if got := costOf(s, "/ext/bc/C/rpc", body); got != unitsHeavy+unitsCheap+unitsLeast {
		t.Errorf("costs %d", got)
	}
	// What goes by an alias to the operator's endpoints is for operators.
	if err := s.alias("health", "bc/pulse"); err != nil {
		t.Fatal(err)
	}
	if _, operator := s.Cost(request("GET", "/ext/bc/pulse", "")); !operator {
		t.Error("an alias of health is a chain's")
	}
	for path, want := range map[string]int{"/ext/bc/C/ws": unitsOrdinary, "/ext/bc/nope": unitsLeast, "/ext/bc/%zz": unitsLeast} {
		if units, operator := s.Cost(request("GET", path, "")); units != want || operator {
			t.Errorf("%s: %d, %v", path, units, operator)
		}
	}
}

// FuzzChainCalls: what is sent to a node has no method but those in the list, by the
// reading of the decoder that nodes use, and is what was there.
func FuzzChainCalls(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`, `[{"jsonrpc":"2.0","id":1,"method":"eth_call"},{"jsonrpc":"2.0","id":2,"method":"debug_x"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","METHOD":"debug_x"}`, `{"jsonrpc":"2.0","id":"\"}","method":"eth_chainId","params":{"method":"x"}}`,
		`{"jsonrpc":"2.0","id":[1}],"method":"eth_chainId"}`, `{"jsonrpc":"2.0","method":"eth_call","params":"\\"}`, "[", `[1,{}]`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1 2],"x":{"y":[tru]}}`, `{"jsonrpc":"2.0","method":"eth_chainId","":[A]}`,
	} {
		f.Add([]byte(seed))
	}
	s, _ := withMode(f, Safe)
	at := endpoint{kind: chainRPC, sub: "rpc"}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := parseCalls(body)
		if units := s.cost(&c, at); units < unitsLeast {
			t.Fatalf("costs %d", units)
		}
		s.screen(&c, at)
		if answer := c.answer(); len(answer) > 0 && !json.Valid(answer) {
			t.Fatalf("answered %q", answer)
		}
		if c.allowed() == 0 {
			return
		}
		sent := c.appendAllowed(nil)
		if !json.Valid(sent) {
			return // a node refuses it as a whole
		}
		if !json.Valid(body) {
			t.Fatalf("%q becomes %q", body, sent)
		}
		type call struct{ Method string }
		var calls []call
		if !c.batch {
			calls = make([]call, 1)
			if err := json.Unmarshal(sent, &calls[0]); err != nil {
				t.Fatal(err)
			}
		} else if err := json.Unmarshal(sent, &calls); err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			if _, ok := s.prices[call.Method]; !ok {
				t.Fatalf("%q becomes %q", body, sent)
			}
		}
	})
}
