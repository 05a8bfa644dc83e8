package evm

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

func word(n uint64) []byte {
	w := uint256.NewInt(n).Bytes32()
	return w[:]
}

// text is s as a contract returns a string.
func text(s string) []byte {
	b := append(append(word(32), word(uint64(len(s)))...), s...)
	return append(b, make([]byte, (32-len(s)%32)%32)...)
}

// contract makes the node answer eth_calls by their selector. What is not in it reverts.
func contract(n *node, returns map[string][]byte) {
	n.edit = func(q question, r recorded) recorded {
		var params []json.RawMessage
		var call struct{ To, Data, Gas string }
		if json.Unmarshal(q.Params, &params) != nil || json.Unmarshal(params[0], &call) != nil || call.Gas == "" {
			return r
		}
		data, err := hex.DecodeString(call.Data[2:])
		if err != nil {
			return r
		}
		for signature, b := range returns {
			name, argument, _ := strings.Cut(signature, " ")
			if name == "" || bytes.HasPrefix(data, append(selector(name), must(hex.DecodeString(argument))...)) {
				r.Error, r.Result = nil, fmt.Appendf(nil, `"0x%x"`, b)
				return r
			}
		}
		r.Error = json.RawMessage(`{"code":3,"message":"execution reverted: no","data":"0x"}`)
		return r
	}
}

// token asks a contract what token it is.
func (c *Client) token(ctx context.Context, token evm.Address) (TokenInfo, error) {
	calls := AppendTokenCalls(nil, token)
	if err := c.ReadContracts(ctx, nil, calls); err != nil {
		return TokenInfo{}, err
	}
	return ReadToken(calls), nil
}

func (c *Client) tokenURI(ctx context.Context, token evm.Address, id *uint256.Int, kind Kind) (string, error) {
	calls := []ContractCall{URICall(token, id, kind)}
	err := c.ReadContracts(ctx, nil, calls)
	return ReadURI(&calls[0]), err
}

// Reads go out in batches, all at the height that was asked for.
func TestReadContracts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	contract(n, map[string][]byte{"balanceOf(address) " + strings.Repeat("00", 12) + "01": word(77)})
	edit, heights := n.edit, map[string]int{}
	at := evm.Head{Number: 1234, Hash: evm.Hash{7}}
	n.edit = func(q question, r recorded) recorded {
		if q.Method == "eth_getBlockByNumber" {
			return n.headerOf(&at)
		}
		var params []json.RawMessage
		if json.Unmarshal(q.Params, &params) == nil {
			heights[string(params[1])]++
		}
		return edit(q, r)
	}
	calls := make([]ContractCall, 0, callBatch+1)
	for i := range callBatch + 1 {
		calls = append(calls, BalanceCall(beef, evm.Address{byte(1 + i%2), 9}))
	}
	if err := n.client(t, nil).ReadContracts(t.Context(), &at, calls); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		want := uint64(77 * ((i + 1) % 2))
		if v := ReadBalance(&calls[i]); v.Uint64() != want {
			t.Errorf("call %d: %s, want %d", i, v.Dec(), want)
		}
	}
	if len(n.batches) != 2 || heights[`"0x4d2"`] != len(calls) || len(heights) != 1 {
		t.Errorf("%d requests, heights %v", len(n.batches), heights)
	}
}

// headerOf answers with a header of that height and hash.
func (n *node) headerOf(h *evm.Head) recorded {
	var members map[string]any
	if err := json.Unmarshal(n.answers[key("eth_getBlockByNumber", []byte(`["0x3",true]`))].Result, &members); err != nil {
		n.t.Error(err)
	}
	members["number"], members["hash"], members["transactions"] = number(h.Number), h.Hash.String(), []string{}
	result, err := json.Marshal(members)
	if err != nil {
		n.t.Error(err)
	}
	return recorded{Result: result}
}

// TestOtherBlock: what a node says after another block of the same height does not count,
// also if it has changed to it, or from it, meanwhile.
func TestOtherBlock(t *testing.T) {
	t.Parallel()
	at, other := evm.Head{Number: 1234, Hash: evm.Hash{7}}, evm.Head{Number: 1234, Hash: evm.Hash{8}}
	for name, c := range map[string]struct {
		before, after *evm.Head // nil: no block of that height
		want          error
	}{
		"the same": {&at, &at, nil}, "another": {&other, &other, ErrOtherBlock}, "gone": {&at, &other, ErrOtherBlock},
		"come": {&other, &at, ErrOtherBlock}, "none": {nil, nil, ErrNotFound}, "none any more": {&at, nil, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			contract(n, map[string][]byte{"": word(77)})
			edit, heads := n.edit, []*evm.Head{c.before, c.after}
			n.edit = func(q question, r recorded) recorded {
				if q.Method != "eth_getBlockByNumber" {
					return edit(q, r)
				}
				head := heads[0]
				if heads = heads[1:]; head == nil {
					return recorded{Result: json.RawMessage("null")}
				}
				return n.headerOf(head)
			}
			calls := []ContractCall{BalanceCall(beef, evm.Address{1})}
			if err := n.client(t, nil).ReadContracts(t.Context(), &at, calls); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	const supports721, supports1155, supportsAll = "supportsInterface(bytes4) 80ac58cd", "supportsInterface(bytes4) d9b67a26", "supportsInterface(bytes4)"
	for name, c := range map[string]struct {
		returns map[string][]byte
		want    TokenInfo
	}{
		"ERC-20":       {map[string][]byte{"name()": text("Gold"), "symbol()": text("GLD"), "decimals()": word(18), "totalSupply()": word(5)}, TokenInfo{"Gold", "GLD", 18, true, ERC20}},
		"no decimals":  {map[string][]byte{"name()": text("Gold"), "totalSupply()": word(0)}, TokenInfo{"Gold", "", 0, false, ERC20}},
		"ERC-721":      {map[string][]byte{"name()": text("Cats"), "symbol()": text("CAT"), "totalSupply()": word(9), supports721: word(1)}, TokenInfo{"Cats", "CAT", 0, false, ERC721}},
		"ERC-1155":     {map[string][]byte{supports1155: word(1)}, TokenInfo{Kind: ERC1155}},
		"yes-sayer":    {map[string][]byte{supportsAll: word(1), "decimals()": word(0)}, TokenInfo{"", "", 0, true, ERC20}},
		"nothing":      {map[string][]byte{}, TokenInfo{}},
		"no code":      {map[string][]byte{"": {}}, TokenInfo{}},
		"bytes32":      {map[string][]byte{"name()": append([]byte("Maker"), make([]byte, 27)...), "symbol()": make([]byte, 32)}, TokenInfo{Name: "Maker"}},
		"decimals 256": {map[string][]byte{"decimals()": word(256)}, TokenInfo{}},
		"decimals big": {map[string][]byte{"decimals()": bytes.Repeat([]byte{0xff}, 32)}, TokenInfo{}},
		"true is 2":    {map[string][]byte{supports721: word(2)}, TokenInfo{}},
		"hostile": {map[string][]byte{
			"name()":   append(append(bytes.Repeat([]byte{0xff}, 32), word(5)...), make([]byte, 32)...),
			"symbol()": append(append(word(32), bytes.Repeat([]byte{0xff}, 32)...), make([]byte, 32)...),
		}, TokenInfo{}},
		"offset at end":    {map[string][]byte{"name()": append(word(64), word(0)...), "symbol()": append(word(33), make([]byte, 32)...)}, TokenInfo{}},
		"longer than said": {map[string][]byte{"name()": append(word(32), word(33)...)}, TokenInfo{}},
		"unclean":          {map[string][]byte{"name()": text(" A\x00B\nC\u202eD\xff\u200b "), "symbol()": text("\t")}, TokenInfo{Name: "ABCD\ufffd\u200b"}},
		"long":             {map[string][]byte{"name()": text(strings.Repeat("é", 5000)), "symbol()": text(strings.Repeat("x", 1<<17))}, TokenInfo{Name: strings.Repeat("é", 512)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			contract(n, c.returns)
			if got, err := n.client(t, nil).token(t.Context(), beef); err != nil || got != c.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
			if len(n.batches) != 1 {
				t.Errorf("%d requests", len(n.batches))
			}
		})
	}
}

// What the node does not answer is not what the contract says.
func TestTokenNodeFails(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[string]error{
		`{"code":-32000,"message":"header not found"}`:                   ErrNotFound,
		`{"code":-32005,"message":"rate limit"}`:                         ErrUnreachable,
		`{"code":-32601,"message":"the method eth_call does not exist"}`: ErrBadAnswer,
	} {
		n := newNode(t)
		refuse(n, "eth_call", refusal)
		if got, err := n.client(t, nil).token(t.Context(), beef); !errors.Is(err, want) || got != (TokenInfo{}) {
			t.Errorf("%s: got %+v, %v", refusal, got, err)
		}
	}
	n := newNode(t)
	n.edit = func(q question, r recorded) recorded { r.Error, r.Result = nil, []byte(`{}`); return r }
	if _, err := n.client(t, nil).token(t.Context(), beef); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("an object: %v", err)
	}
	// As avalanchego says it.
	n = newNode(t)
	refuse(n, "eth_call", `{"code":-32000,"message":"execution reverted"}`)
	if got, err := n.client(t, nil).token(t.Context(), beef); err != nil || got != (TokenInfo{}) {
		t.Errorf("reverted: %+v, %v", got, err)
	}
}

func TestTokenURI(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	id := uint256.NewInt(0xabc)
	argument := fmt.Sprintf("%064x", 0xabc)
	contract(n, map[string][]byte{
		"tokenURI(uint256) " + argument: text("ipfs://cat/2748"),
		"uri(uint256) " + argument:      text("https://x/{id}.json\n"),
	})
	c := n.client(t, nil)
	for kind, want := range map[Kind]string{ERC721: "ipfs://cat/2748", ERC1155: "https://x/{id}.json"} {
		if got, err := c.tokenURI(t.Context(), beef, id, kind); err != nil || got != want {
			t.Errorf("%d: %q, %v", kind, got, err)
		}
	}
	if got, err := c.tokenURI(t.Context(), beef, uint256.NewInt(1), ERC721); err != nil || got != "" {
		t.Errorf("a token that is not there: %q, %v", got, err)
	}
	for _, c2 := range []struct {
		prefix       string
		length, want int
	}{{"", maxURI, maxURI}, {"", maxURI + 1, 0}, {"Data:", maxURI + 1, maxURI + 1}, {"data:", maxDataURI, maxDataURI}, {"data:", maxDataURI + 1, 0}, {"dat:", maxURI + 1, 0}} {
		contract(n, map[string][]byte{"tokenURI(uint256)": text(c2.prefix + strings.Repeat("x", c2.length-len(c2.prefix)))})
		if got, err := c.tokenURI(t.Context(), beef, id, ERC721); err != nil || len(got) != c2.want {
			t.Errorf("%+v: %d bytes, %v", c2, len(got), err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(text("Gold"))
	f.Add(word(32))
	f.Add(append(word(32), bytes.Repeat([]byte{0xff}, 40)...))
	f.Add(text("\u202e\xf0\x90"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := clean(abiText(b), 8)
		if len(got) > 8 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\n\u202e") {
			t.Errorf("%q", got)
		}
	})
}
