package evmrpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"quorate/devnet/evmchain"
)

func digest(h *Handler) [32]byte {
	sum := sha256.New()
	for n := range h.chain.Tip() + 1 {
		for _, request := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x%x",true]}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["0x%x"]}`,
			`{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x%x",{"tracer":"callTracer"}]}`,
			`{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x%x",{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}]}`,
		} {
			sum.Write(h.Answer(fmt.Appendf(nil, request, n)))
		}
	}
	return [32]byte(sum.Sum(nil))
}

// TestSameSeedSameBytes: two chains of one seed are equal, live blocks too, and
// blocks do not change once they are there.
func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	grown := func(seed byte, c bool, early int) [32]byte {
		cfg := testConfig()
		cfg.Blocks, cfg.Seed, cfg.Atomic = 60, [32]byte{seed}, c
		h := newHandler(t, cfg)
		for range early { // before the chain is built
			h.chain.Advance()
		}
		before := h.chain.AppendReceipts(nil, cfg.Blocks/2, evmchain.View{})
		for range 9 - early {
			h.chain.Advance()
		}
		if h.chain.Tip() != cfg.Blocks+9 {
			t.Errorf("height %d", h.chain.Tip())
		}
		if !slices.Equal(before, h.chain.AppendReceipts(nil, cfg.Blocks/2, evmchain.View{})) {
			t.Error("a block has changed")
		}
		return digest(h)
	}
	one := grown(1, true, 0)
	if grown(1, true, 4) != one {
		t.Error("the same seed gives other bytes")
	}
	if grown(2, true, 0) == one || grown(1, false, 0) == one {
		t.Error("another seed or another kind of chain gives the same bytes")
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	token := h.chain.Sample().Token.String()
	unknown := "0x" + strings.Repeat("ab", 32)
	for _, c := range []struct{ body, want string }{
		{`{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty batch"}}`},
		{`{"id":3,"method":"eth_chainId"}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid request"}}`},
		{`null`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`},
		{`[1,{"jsonrpc":"2.0","id":"x","method":"eth_chainId"}]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}},{"jsonrpc":"2.0","id":"x","result":"0xa868"}]`},
		{`{"jsonrpc":"2.0","method":"eth_chainId"}`, ``},
		{`[{"jsonrpc":"2.0","method":"eth_chainId"}]`, ``},
		{call("eth_nothing"), fail(-32601, "the method eth_nothing does not exist/is not available")},
		{call("eth_subscribe", `"newHeads"`), fail(-32601, "notifications not supported")},
		{call("eth_getBlockByNumber"), fail(-32602, "missing value for required argument 0")},
		{call("eth_getBlockByNumber", `"latest"`), fail(-32602, "missing value for required argument 1")},
		{call("eth_getBlockByNumber", `"0x1"`, `true`, `1`), fail(-32602, "too many arguments, want at most 2")},
		{call("eth_getBlockByNumber", `"1"`, `true`), fail(-32602, "invalid argument 0: hex string without 0x prefix")},
		{call("eth_getBlockByNumber", `"0x01"`, `true`), fail(-32602, "invalid argument 0: hex number with leading zero digits")},
		{call("eth_getBlockByNumber", `"0xffff"`, `true`), fail(-32000, "cannot query unfinalized data")},
		{call("eth_getBlockByHash", `"`+unknown+`"`, `true`), `{"jsonrpc":"2.0","id":1,"result":null}`},
		{call("eth_getBlockReceipts", `"0xffff"`), `{"jsonrpc":"2.0","id":1,"result":null}`},
		{call("eth_getBlockReceipts", `"0x0"`), `{"jsonrpc":"2.0","id":1,"result":[]}`},
		{call("eth_getTransactionByHash", `"`+unknown+`"`), `{"jsonrpc":"2.0","id":1,"result":null}`},
		{call("eth_getTransactionReceipt", `"`+unknown+`"`), `{"jsonrpc":"2.0","id":1,"result":null}`},
		{call("eth_getBalance", `"`+zeroAddr+`"`, `"0xffff"`), fail(-32000, "cannot query unfinalized data")},
		{call("eth_getBalance", `"`+zeroAddr+`"`, `{"blockHash":"`+unknown+`"}`), fail(-32000, "header for hash not found")},
		{call("eth_getBalance", `"`+zeroAddr+`"`, `{"blockNumber":"0x2"}`), `{"jsonrpc":"2.0","id":1,"result":"0x0"}`},
		{call("debug_traceBlockByNumber", `"0x0"`, `{"tracer":"callTracer"}`), fail(-32000, "genesis is not traceable")},
		{call("debug_traceTransaction", `"`+unknown+`"`, `{"tracer":"callTracer"}`), fail(-32000, "transaction not found")},
		{call("eth_call", `{"to":"`+zeroAddr+`"}`), `{"jsonrpc":"2.0","id":1,"result":"0x"}`},
		{call("eth_call", `{"to":"`+token+`","data":"0x12345678"}`, `"latest"`), fail(-32000, "execution reverted")},
		{call("eth_call", `{"to":"`+token+`","data":"0x313ce567"}`, `"latest"`), `{"jsonrpc":"2.0","id":1,"result":"0x` + strings.Repeat("0", 62) + `12"}`},
		{call("eth_call", `{"to":"`+token+`","data":"0x313ce567"}`, `"0x0"`), `{"jsonrpc":"2.0","id":1,"result":"0x"}`},
		{call("eth_getLogs", `{"fromBlock":"0x5","toBlock":"0x2"}`), fail(-32000, "begin block 5 is greater than end block 2")},
		{call("eth_getLogs", `{"fromBlock":"0xfff"}`), fail(-32000, "requested from block 4095 after last accepted block 100")},
		{call("net_version"), `{"jsonrpc":"2.0","id":1,"result":"43112"}`},
		{call("web3_clientVersion"), `{"jsonrpc":"2.0","id":1,"result":"v1.14.2"}`},
	} {
		if got := string(h.Answer([]byte(c.body))); got != c.want {
			t.Errorf("%s\n got %.300s\nwant %s", c.body, got, c.want)
		}
	}
}

func call(method string, params ...string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[` + strings.Join(params, ",") + `]}`
}

func fail(code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%q}}`, code, text)
}

// TestMembers: blocks, transactions, receipts and logs have just the members
// that coreth and subnet-evm give them.
func TestMembers(t *testing.T) {
	t.Parallel()
	const (
		block = "baseFeePerGas blobGasUsed blockGasCost difficulty excessBlobGas extraData gasLimit gasUsed hash logsBloom minDelayExcess miner mixHash " +
			"nonce number parentBeaconBlockRoot parentHash receiptsRoot sha3Uncles size stateRoot timestamp timestampMilliseconds totalDifficulty " +
			"transactions transactionsRoot uncles"
		receipt = "blockHash blockNumber contractAddress cumulativeGasUsed effectiveGasPrice from gasUsed logs logsBloom status to transactionHash transactionIndex type"
		any     = "blockHash blockNumber from gas gasPrice hash input nonce to transactionIndex value type v r s"
		tx      = any + " chainId"
		typed   = tx + " accessList yParity"
		dynamic = typed + " maxFeePerGas maxPriorityFeePerGas"
		logOf   = "address topics data blockNumber transactionHash transactionIndex blockHash logIndex removed"
	)
	for _, c := range []struct {
		cChain bool
		block  string
	}{{true, block + " blockExtraData extDataGasUsed extDataHash"}, {false, block}} {
		cfg := testConfig()
		cfg.Atomic, cfg.Blocks, cfg.TxsPerBlock = c.cChain, 20, 5
		h := newHandler(t, cfg)
		for n := range uint64(21) {
			b := get[map[string]json.RawMessage](t, h, "eth_getBlockByNumber", hexOf(n), true)
			members(t, b, c.block)
			var txs []map[string]json.RawMessage
			if err := json.Unmarshal(b["transactions"], &txs); err != nil {
				t.Fatal(err)
			}
			for _, x := range txs {
				if v := string(x["v"]); v == `"0x1b"` || v == `"0x1c"` { // signed for any chain
					members(t, x, any)
					continue
				}
				members(t, x, map[string]string{`"0x0"`: tx, `"0x1"`: typed, `"0x2"`: dynamic}[string(x["type"])])
			}
			for _, r := range get[[]map[string]json.RawMessage](t, h, "eth_getBlockReceipts", hexOf(n)) {
				members(t, r, receipt)
				var logs []map[string]json.RawMessage
				if err := json.Unmarshal(r["logs"], &logs); err != nil {
					t.Fatal(err)
				}
				for _, l := range logs {
					members(t, l, logOf)
				}
				single := get[map[string]json.RawMessage](t, h, "eth_getTransactionReceipt", r["transactionHash"])
				if !same(single, r) {
					t.Error("eth_getTransactionReceipt gives another receipt")
				}
			}
			hashes := get[struct{ Transactions []string }](t, h, "eth_getBlockByHash", b["hash"], false)
			for i, x := range txs {
				if string(x["hash"]) != `"`+hashes.Transactions[i]+`"` {
					t.Error("other hashes")
				}
				if single := get[map[string]json.RawMessage](t, h, "eth_getTransactionByHash", x["hash"]); !same(single, x) {
					t.Error("eth_getTransactionByHash gives another transaction")
				}
			}
			if full := get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(n), true); hashText(headerHash(t, &full, c.cChain)) != full.Hash {
				t.Errorf("block %d: hash", n)
			}
		}
	}
}

func same(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

func members(t *testing.T, got map[string]json.RawMessage, want string) {
	t.Helper()
	names := strings.Fields(want)
	for _, name := range names {
		if _, ok := got[name]; !ok {
			t.Fatalf("no %s in %v", name, got)
		}
	}
	if len(got) != len(names) {
		t.Fatalf("%d members, want %d: %v", len(got), len(names), got)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	s := h.chain.Sample()
	text := func(to, data string) string {
		b := bytesOf(t, get[string](t, h, "eth_call", map[string]string{"to": to, "data": data}, "latest"))
		if len(b) < 64 {
			return string(b)
		}
		n := int(b[62])<<8 | int(b[63])
		return string(b[64 : 64+n])
	}
	const name, symbol = "0x06fdde03", "0x95d89b41"
	if text(s.Token.String(), name) != "Quorum Token" || text(s.NFT.String(), symbol) != "DAPE" {
		t.Error("names")
	}
	if hostile := text(s.Hostile.String(), name); len(hostile) < 4000 || !strings.Contains(hostile, "\xff\xfe") {
		t.Errorf("the hostile name is %.100q", hostile)
	}
	if a := ask2(t, h, s.Token.String(), callData("supportsInterface(bytes4)"), "latest"); a.Error == nil {
		t.Error("an ERC-20 token knows ERC-165")
	}
	for contract, id := range map[string]string{s.NFT.String(): "80ac58cd", s.Items.String(): "d9b67a26"} {
		got := get[string](t, h, "eth_call", map[string]string{"to": contract, "data": "0x01ffc9a7" + id + strings.Repeat("0", 56)}, "latest")
		if number(t, got) != 1 {
			t.Errorf("%s does not support %s", contract, id)
		}
	}
}

func TestLogsAndTxTraces(t *testing.T) {
	t.Parallel()
	h := newReader(t)
	s := h.chain.Sample()
	want, to := 0, uint64(40)
	for n := uint64(10); n <= to; n++ {
		traces := get[[]traced[json.RawMessage]](t, h, "debug_traceBlockByNumber", hexOf(n), prestate())
		for i, r := range get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(n)) {
			for _, l := range r.Logs {
				if l.Address == strings.ToLower(s.Token.String()) && l.Topics[0] == keccak("Transfer(address,address,uint256)") {
					want++
				}
			}
			if single := get[json.RawMessage](t, h, "debug_traceTransaction", r.TransactionHash, prestate()); string(single) != string(traces[i].Result) {
				t.Errorf("trace of %s:\n%s\n%s", r.TransactionHash, single, traces[i].Result)
			}
		}
	}
	got := get[[]jsonLog](t, h, "eth_getLogs", map[string]any{
		"fromBlock": "0xa", "toBlock": hexOf(to), "address": s.Token.String(), "topics": []any{[]string{keccak("Transfer(address,address,uint256)")}, nil},
	})
	if len(got) != want || want == 0 {
		t.Errorf("%d logs, want %d", len(got), want)
	}
}

func prestate() map[string]any {
	return map[string]any{"tracer": "prestateTracer", "tracerConfig": map[string]bool{"diffMode": true}}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",true]}`, `[{"id":1},2,null]`, `[[]]`,
		call("eth_getLogs", `{"fromBlock":"0x1","toBlock":"0x3","address":["0x00"],"topics":[null,["0x00"]]}`),
		call("eth_call", `{"to":"0x0100000000000000000000000000000000000000","data":"0x313ce567"}`, `{"blockNumber":"0x1"}`),
		call("debug_traceBlockByNumber", `"0x2"`, `{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}`),
		call("eth_getBalance", `"0x"`, `"0x8000000000000000"`),
	} {
		f.Add([]byte(seed))
	}
	cfg := testConfig()
	cfg.Blocks = 5
	h := newHandler(f, cfg)
	f.Fuzz(func(t *testing.T, body []byte) {
		if answer := h.Answer(body); answer != nil && !json.Valid(answer) {
			t.Errorf("%q is answered with %.300q", body, answer)
		}
	})
}

func BenchmarkBlocks(b *testing.B) {
	cfg := testConfig()
	cfg.TxsPerBlock, cfg.Blocks = 100, 200
	h := newHandler(b, cfg)
	var request []byte
	var bytes int64
	requestOf := func(n uint64) []byte {
		return fmt.Appendf(request[:0], `[{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x%x",true]},{"jsonrpc":"2.0","id":2,"method":"eth_getBlockReceipts","params":["0x%x"]}]`, n, n)
	}
	h.chain.Tip()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		bytes += int64(len(h.Answer(requestOf(uint64(i%200 + 1)))))
	}
	b.SetBytes(bytes / int64(b.N))
}

func BenchmarkHistory(b *testing.B) {
	cfg := testConfig()
	cfg.TxsPerBlock, cfg.Blocks = 10, 1000
	for b.Loop() {
		newHandler(b, cfg).chain.Tip()
	}
}
