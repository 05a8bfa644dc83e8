package httpapi

import (
	"encoding/json"
	"errors"
	"testing"

	gojson "github.com/goccy/go-json"
	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

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

// sampleChain has a transaction of each kind.
func sampleChain() *fakeChain {
	c := &fakeChain{
		alias: "C",
		info: view.ChainInfo{
			ChainID: "43112", BlockchainID: "2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU", Name: "C-Chain", Description: "The \"C\" chain",
			SubnetID: "11111111111111111111111111111111LpoYY", VMID: "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6", RPCURL: "http://127.0.0.1:9750/ext/bc/C/rpc",
			WSURL: "ws://127.0.0.1:9650/ext/bc/C/ws", IsTestnet: true, Features: []string{view.FeatureNFT, view.FeatureTeleporter},
			Token: view.NetworkToken{Name: "Avalanche", Symbol: "AVAX", Decimals: 18},
		},
		wei: map[evm.Address]uint64{alice: 5_000_000_000_000_000_000, gold: 0},
		tokens: map[evm.Address]index.TokenMeta{
			gold:  {Kind: index.ERC20, Name: "Gold", Symbol: "GLD", Decimals: 6, HasDecimals: true},
			spam:  {Kind: index.ERC20, Name: "Visit \"spam\".example\x00", Symbol: "💰", Decimals: 18, HasDecimals: true},
			art:   {Kind: index.ERC721, Name: "Art", Symbol: "ART"},
			items: {Kind: index.ERC1155},
		},
		erc20: map[evm.Address][]index.TokenBalance{alice: {
			{Token: gold, Amount: wei(1_234_567)}, {Token: spam, Amount: wei(999)}, {Token: bare, Amount: wei(7)}}},
		nfts: map[evm.Address][]index.NFT{alice: {{Token: art, ID: wei(1)}, {Token: art, ID: wei(2)}, {Token: items, ID: wei(9)}}},
		items: map[evm.Address][]index.ItemBalance{
			alice: {{NFT: index.NFT{Token: items, ID: wei(11)}, Amount: wei(20), Doubtful: true}, {NFT: index.NFT{Token: items, ID: wei(12)}, Amount: wei(30), Doubtful: true}},
			bob:   {{NFT: index.NFT{Token: items, ID: wei(11)}, Amount: wei(1), Doubtful: true}},
		},
		uris: map[index.NFT]string{{Token: art, ID: wei(1)}: "ipfs://art/1", {Token: items, ID: wei(9)}: "https://items.example/{id}.json"},
		warp: map[evm.Hash][][]byte{},
	}
	tx := func(n byte, t index.Tx) *index.Tx {
		t.Hash = evm.Hash{31: n}
		t.Block.TimeMilli, t.Block.BaseFee = 1_700_000_000_123+uint64(n)*1000, uint256.NewInt(25_000_000_000)
		t.GasLimit, t.GasUsed, t.GasPrice, t.Nonce = 21000*uint64(n), 20000*uint64(n), wei(26_000_000_000), uint64(n)
		t.Traced = true
		return &t
	}
	c.tip = 9
	c.grow(
		tx(1, index.Tx{Tx: evm.Tx{From: alice, To: bob, Value: wei(1_000_000_000_000_000_000)}}),
		tx(2, index.Tx{Tx: evm.Tx{Type: 2, From: alice, To: gold, Input: []byte{0xa9, 0x05, 0x9c, 0xbb, 0x01},
			MaxFee: uint256.NewInt(50_000_000_000), MaxPriorityFee: uint256.NewInt(1_000_000_000)},
			Transfers: []index.Transfer{
				{LogIndex: 0, Kind: index.ERC20, Token: gold, From: alice, To: bob, Value: wei(1_500_000)},
				{LogIndex: 1, Kind: index.ERC20, Token: gold, From: bob, To: carol, Value: wei(10)}}}))
	c.grow() // an empty block
	c.grow(
		tx(3, index.Tx{Tx: evm.Tx{From: bob, Creation: true, Contract: art, Input: []byte{0x60, 0x80, 0x60, 0x40, 0x52},
			Calls: []evm.Call{
				{Type: evm.CallCreate2, Depth: 1, From: art, To: items, Value: wei(3), Gas: 1000, GasUsed: 900},
				{Type: evm.CallPlain, Depth: 1, From: art, To: alice, Value: wei(4), Gas: 500, GasUsed: 500, Reverted: true},
				{Type: evm.CallSelfDestruct, Depth: 2, From: items, To: alice, Gas: 1, GasUsed: 1}}}}),
		tx(4, index.Tx{Tx: evm.Tx{From: carol, To: alice, Input: []byte{1, 2, 3}, Failed: true,
			Failure: &evm.Failure{Error: "out of \"gas\" \xff<b>", Revert: []byte{0, 1, 2, 0xab}}}}))
	c.grow(tx(5, index.Tx{Tx: evm.Tx{Type: 1, From: bob, To: art, Input: []byte{1, 2, 3, 4}},
		Transfers: []index.Transfer{
			{LogIndex: 0, Kind: index.ERC721, Token: art, From: evm.Address{}, To: alice, ID: wei(1), Value: wei(1)},
			{LogIndex: 1, Kind: index.ERC721, Token: art, From: evm.Address{}, To: alice, ID: *new(uint256.Int).SetAllOne(), Value: wei(1)},
			{LogIndex: 2, Kind: index.ERC1155, Token: items, From: alice, To: bob, ID: wei(9), Value: wei(20)},
			{LogIndex: 2, Item: 1, Kind: index.ERC1155, Token: items, From: alice, To: bob, ID: wei(10), Value: wei(30)}}}))
	untraced := tx(6, index.Tx{Tx: evm.Tx{From: alice, To: carol}})
	untraced.Traced, untraced.Block.BaseFee = false, nil
	c.grow(untraced)
	return c
}

// secondChain is of the main network and has no block yet.
func secondChain() *fakeChain {
	return &fakeChain{empty: true, alias: "second", info: view.ChainInfo{
		ChainID: "777", BlockchainID: "second-id", Name: "Second", VMName: "ETHEREUM", RPCURL: "http://x/rpc", ExplorerURL: "http://e/",
		Multicall: "0xcA11bde05977b3631167028862bE2a173976CA11", LogoURI: "http://l/", Private: true, SubnetID: "s", VMID: "v",
		Token: view.NetworkToken{Name: "Two", Symbol: "TWO", Decimals: 9, LogoURI: "http://t/", Description: "The second"},
	}}
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
func dataServer(t testing.TB, cfg Config, chains ...*fakeChain) *Server {
	t.Helper()
	if cfg.Networks == nil {
		cfg.Networks = networks{signs("signed")}
	}
	cfg.Chains = fakeChains(chains)
	cfg.Prices, cfg.Reputation, cfg.NFTMetadata, cfg.Logos, cfg.Methods = knows{}, knows{}, knows{}, knows{}, knows{}
	if cfg.TokenKey == nil {
		cfg.TokenKey = []byte("the key of all tests")
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range chains {
			if c.open != 0 {
				t.Errorf("chain %s: %d views are still open", c.info.ChainID, c.open)
			}
		}
	})
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
