package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	gojson "github.com/goccy/go-json"
	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// The addresses of the test's chain.
var (
	alice, bob, carol = evm.Address{0xa1, 19: 0xcc}, evm.Address{0xb0, 19: 0xb0}, evm.Address{0xca, 19: 0x01}
	gold, spam, bare  = evm.Address{0x20, 19: 0x01}, evm.Address{0x20, 19: 0x02}, evm.Address{0x20, 19: 0x03}
	art, items        = evm.Address{0x72, 19: 0x01}, evm.Address{0x11, 19: 0x55}
)

func wei(n uint64) uint256.Int { return *uint256.NewInt(n) }

// sampleInfo is what is told about the sample chain.
func sampleInfo() view.ChainInfo {
	return view.ChainInfo{
		ChainID: "43112", BlockchainID: "2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU", Name: "C-Chain", Description: "The \"C\" chain",
		SubnetID: "11111111111111111111111111111111LpoYY", VMID: "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6", RPCURL: "http://127.0.0.1:9750/ext/bc/C/rpc",
		WSURL: "ws://127.0.0.1:9650/ext/bc/C/ws", IsTestnet: true, Features: []string{view.FeatureNFT, view.FeatureTeleporter},
		Token: view.NetworkToken{Name: "Avalanche", Symbol: "AVAX", Decimals: 18},
	}
}

// sampleTx is the hash of a transaction of the sample chain.
func sampleTx(n byte) evm.Hash { return evm.Hash{n, 31: n} }

// sampleChain has a transaction of each kind, in blocks that all tests share.
func sampleChain() *testChain { return asSample(sharedSample()) }

var sharedSample = sync.OnceValue(func() *growing { return &sampleIn(growIn(sharedDB(), chain.ID{0xc}), nil).growing })

// asSample returns the sample chain in blocks that are there.
func asSample(g *growing) *testChain {
	c := &testChain{Chain: g.x, growing: *g, info: sampleInfo(), alias: "C"}
	return c
}

// ownSample has the same in an index of its own, which a test may change.
func ownSample() *testChain { return sampleIn(newGrowing(), nil) }

// sampleIn makes the sample chain in an empty index, with further transactions by their
// heights, from 1 to 9.
func sampleIn(g *growing, also map[uint64]*index.Tx) *testChain {
	transfer := func(kind index.TransferKind, token, from, to evm.Address, of, value uint64) index.Transfer {
		return index.Transfer{Kind: kind, Token: token, From: from, To: to, ID: wei(of), Value: wei(value)}
	}
	tx := func(n byte, t index.Tx) *index.Tx {
		t.Hash = sampleTx(n)
		t.Block.TimeMilli, t.Block.BaseFee = 1_700_000_000_123+uint64(n)*1000, uint256.NewInt(25_000_000_000)
		t.GasLimit, t.GasUsed, t.GasPrice, t.Nonce = 21000*uint64(n), 20000*uint64(n), wei(26_000_000_000), uint64(n)
		return &t
	}
	genesis := tx(100, index.Tx{Tx: evm.Tx{From: gold, To: gold}, Transfers: []index.Transfer{
		transfer(index.ERC20, gold, evm.Address{}, alice, 0, 2_734_567), transfer(index.ERC20, spam, evm.Address{}, alice, 0, 999),
		transfer(index.ERC20, bare, evm.Address{}, alice, 0, 7), transfer(index.ERC721, art, evm.Address{}, alice, 2, 1),
		transfer(index.ERC1155, items, evm.Address{}, alice, 11, 20), transfer(index.ERC1155, items, evm.Address{}, alice, 12, 30),
		transfer(index.ERC1155, items, evm.Address{}, bob, 11, 1),
		transfer(index.ERC721, items, carol, alice, 9, 1), // what nobody had: the contract does not add up
	}})
	genesis.Block = index.BlockRef{}
	g.grow(genesis)
	for g.tip() < 9 {
		if tx := also[g.tip()+1]; tx != nil {
			g.grow(tx)
		} else {
			g.grow()
		}
	}
	g.grow(
		tx(1, index.Tx{Tx: evm.Tx{From: alice, To: bob, Value: wei(1_000_000_000_000_000_000)}}),
		tx(2, index.Tx{Tx: evm.Tx{Type: 2, From: alice, To: gold, Input: []byte{0xa9, 0x05, 0x9c, 0xbb, 0x01},
			MaxFee: uint256.NewInt(50_000_000_000), MaxPriorityFee: uint256.NewInt(1_000_000_000)},
			Transfers: []index.Transfer{transfer(index.ERC20, gold, alice, bob, 0, 1_500_000), transfer(index.ERC20, gold, bob, carol, 0, 10)}}))
	g.grow() // an empty block
	g.grow(
		tx(3, index.Tx{Tx: evm.Tx{From: bob, Creation: true, Contract: art, Input: []byte{0x60, 0x80, 0x60, 0x40, 0x52},
			Calls: []evm.Call{
				{Type: evm.CallCreate2, Depth: 1, From: art, To: items, Value: wei(3), Gas: 1000, GasUsed: 900},
				{Type: evm.CallPlain, Depth: 1, From: art, To: alice, Value: wei(4), Gas: 500, GasUsed: 500, Reverted: true},
				{Type: evm.CallSelfDestruct, Depth: 2, From: items, To: alice, Gas: 1, GasUsed: 1}}}}),
		tx(4, index.Tx{Tx: evm.Tx{From: carol, To: alice, Input: []byte{1, 2, 3}, Failed: true,
			Failure: &evm.Failure{Error: "out of \"gas\" \xff<b>", Revert: []byte{0, 1, 2, 0xab}}}}))
	untraced := g.next(tx(5, index.Tx{Tx: evm.Tx{From: alice, To: carol}}))
	untraced.Traced, untraced.BaseFee, untraced.Balances = false, nil, nil
	g.add(untraced)
	last := transfer(index.ERC721, art, evm.Address{}, alice, 0, 1)
	last.ID.SetAllOne()
	second := transfer(index.ERC1155, items, alice, bob, 10, 30)
	second.Item = 1
	g.grow(tx(6, index.Tx{Tx: evm.Tx{Type: 1, From: alice, To: art, Input: []byte{1, 2, 3, 4}},
		Transfers: []index.Transfer{transfer(index.ERC721, art, evm.Address{}, alice, 1, 1), last, transfer(index.ERC1155, items, alice, bob, 9, 20), second}}))
	must(g.x.PutTokens(context.Background(), map[evm.Address]index.TokenMeta{
		gold:  {Kind: index.ERC20, Name: "Gold", Symbol: "GLD", Decimals: 6, HasDecimals: true},
		spam:  {Kind: index.ERC20, Name: "Visit \"spam\".example\x00", Symbol: "💰", Decimals: 18, HasDecimals: true},
		art:   {Kind: index.ERC721, Name: "Art", Symbol: "ART"},
		items: {Kind: index.ERC1155},
	}))
	must(g.x.PutTokenURIs(context.Background(), map[index.NFT]string{
		{Token: art, ID: wei(1)}: "ipfs://art/1", {Token: items, ID: wei(9)}: "https://items.example/{id}.json",
	}))
	return asSample(g)
}

// secondChain is of the main network and has no block yet.
func secondChain() *testChain {
	c := emptyOf(view.ChainInfo{
		ChainID: "777", BlockchainID: "second-id", Name: "Second", VMName: "ETHEREUM", RPCURL: "http://x/rpc", ExplorerURL: "http://e/",
		Multicall: "0xcA11bde05977b3631167028862bE2a173976CA11", LogoURI: "http://l/", Private: true, SubnetID: "s", VMID: "v",
		Token: view.NetworkToken{Name: "Two", Symbol: "TWO", Decimals: 9, LogoURI: "http://t/", Description: "The second"},
	})
	c.alias = "second"
	return c
}

// knows is what tests know besides the chain.
type knows struct{}

func (knows) Price(chainID string, token *evm.Address, currency string) string {
	switch {
	case chainID != "43112" || currency != "usd" && currency != "jpy":
		return ""
	case token == nil:
		return "25.31"
	case *token == gold:
		return "0.5"
	}
	return ""
}

func (knows) Reputation(_ string, token *evm.Address) view.Reputation {
	switch *token {
	case gold:
		return view.Benign
	case spam:
		return view.Malicious
	}
	return view.Unknown
}

func (knows) Metadata(_ string, token *evm.Address, id *uint256.Int) *view.Metadata {
	zero := 0
	switch {
	case *token == art && id.Eq(uint256.NewInt(1)):
		return &view.Metadata{UpdatedAt: 1_700_000_000, Name: "One", Symbol: "S", ImageURI: "ipfs://i", Description: "d\n",
			AnimationURI: "a", ExternalURL: "e", Background: "b", Attributes: `[{"x":1}]`, Properties: "no", Decimals: &zero}
	case *token == items && id.Eq(uint256.NewInt(9)):
		return &view.Metadata{Status: "INVALID_METADATA", Decimals: &zero, Properties: `{}`, Attributes: "no"}
	}
	return nil
}

func (knows) Logo(_ string, token *evm.Address) string {
	if token != nil && *token == gold {
		return "https://logos/gold.png"
	}
	return ""
}

func (knows) MethodName(s [4]byte) string {
	if s == [4]byte{0xa9, 0x05, 0x9c, 0xbb} {
		return "transfer(address,uint256)"
	}
	return ""
}

// dataServer serves chains without a socket.
func dataServer(t testing.TB, cfg Config, chains ...*testChain) *Server {
	t.Helper()
	if cfg.Networks == nil {
		cfg.Networks = networks{signs("signed")}
	}
	cfg.Chains = testChains(chains)
	cfg.Prices, cfg.Reputation, cfg.NFTMetadata, cfg.Logos, cfg.Methods = knows{}, knows{}, knows{}, knows{}, knows{}
	if cfg.TokenKey == nil {
		cfg.TokenKey = []byte("the key of all tests")
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get asks for a path, with headers in pairs of name and value.
func get(s *Server, path string, headers ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	req.Header.Set(headerRequestID, "test") // answers can be compared
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	verify(s, ctx)
	return &ctx.Response
}

// getJSON asks for a path that must answer with 200.
func getJSON(t testing.TB, s *Server, path string, to any, headers ...string) {
	t.Helper()
	resp := get(s, path, headers...)
	if resp.StatusCode() != 200 {
		t.Fatalf("%s: %d %s", path, resp.StatusCode(), resp.Body())
	}
	if err := decode(resp.Body(), to); err != nil {
		t.Fatalf("%s: %v in %s", path, err, resp.Body())
	}
}

// decode is json.Unmarshal in a third of the time under the race detector: the syntax is
// checked as strictly, and what is valid is decoded by the faster library.
func decode(body []byte, to any) error {
	if !json.Valid(body) {
		return errors.New("not JSON")
	}
	return gojson.Unmarshal(body, to)
}

var errDown = errors.New("dial tcp 10.1.2.3: refused")
