package e2e

import (
	"context"
	"encoding/json"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"

	"quorate/e2e/oracle"
	"quorate/e2e/quorate"
)

const (
	// oracleWait is longer than the first visits to a token take, which are up to 200 s apart.
	oracleWait = 5 * time.Minute
	cChainText = "Avalanche C-Chain"
	cChainNote = "The contract chain of the Avalanche primary network"
)

var avaxCoin = oracle.Coin{Name: "Avalanche", Symbol: "AVAX", Decimals: 18}

// evmFacts are the members of the facts file about an EVM chain.
type evmFacts struct {
	ChainID      string `json:"chainId"`
	BlockchainID string `json:"blockchainId"`
	SubnetID     string `json:"subnetId"`
	Name         string `json:"name"`
	RPCURL       string `json:"rpcUrl"`
	WSURL        string `json:"wsUrl"`
	Address      string `json:"address"`
	NFTOwner     string `json:"nftOwner"`
	ERC20Token   string `json:"erc20Token"`
	OddTokens    struct {
		Wrapped, Rebasing, Taxed, Phantom common.Address
	} `json:"oddTokens"`
}

// startEVMDevnet runs a simulated network with EVM chains; the C-Chain comes first.
func startEVMDevnet(t *testing.T, args ...string) (*server, []evmFacts) {
	t.Helper()
	dir := testDir(t)
	path := filepath.Join(dir, "facts.json")
	s := launch(t, quorate.Config{
		Args:    append([]string{"devnet", "--seed", "7", "--http-port", freePort(t), "--facts-file", path}, args...),
		Ready:   "devnet ready",
		LogPath: filepath.Join(dir, "devnet.log"),
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		EVMChains []evmFacts `json:"evmChains"`
	}
	if err := json.Unmarshal(b, &f); err != nil || len(f.EVMChains) == 0 {
		t.Fatalf("facts file: %v, %d EVM chains", err, len(f.EVMChains))
	}
	return s, f.EVMChains
}

// startIndexer runs a server that indexes the chains of a node.
func startIndexer(t *testing.T, nodeURL string, args ...string) *server {
	t.Helper()
	dir := testDir(t)
	return launch(t, quorate.Config{
		Args: append([]string{"serve", "--node-url", nodeURL, "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", filepath.Join(dir, "data")}, args...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
}

// judge is a chain of a node beside the server that indexes it.
type judge struct {
	node  *oracle.Node
	chain *oracle.Chain
	cfg   oracle.Config
}

// newJudge reads the chain up to its tip, and waits until the server has it. wrapped
// are contracts of the wrapped coin.
func newJudge(t *testing.T, s *server, rpcURL, name string, coin oracle.Coin, wrapped ...common.Address) *judge {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oracleWait)
	defer cancel()
	node, err := oracle.Dial(ctx, rpcURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	begin := time.Now()
	tip, err := node.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := oracle.Fetch(ctx, node, tip)
	if err != nil {
		t.Fatalf("%s: %v", rpcURL, err)
	}
	chain.Wrapped = make(map[common.Address]bool)
	for _, a := range wrapped {
		chain.Wrapped[a] = true
	}
	if err := chain.FindUneven(ctx, node); err != nil {
		t.Fatal(err)
	}
	id, err := node.ChainID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{node: node, chain: chain, cfg: oracle.Config{
		URL: s.URL, Name: name, Node: node, Chain: chain, ChainID: id, Coin: coin,
	}}
	k := j.checker(t, false)
	if err := k.WaitIndexed(ctx, tip); err != nil {
		t.Fatalf("%v\n%s", err, s.LogTail())
	}
	if err := k.WaitTokens(ctx); err != nil {
		t.Fatalf("%v\n%s", err, s.LogTail())
	}
	if err := k.WaitUneven(ctx); err != nil {
		t.Fatalf("%v\n%s", err, s.LogTail())
	}
	t.Logf("chain %s: %d blocks, %d transactions, %d tokens, %d of them uneven, read and indexed after %v: %v", id, tip+1, len(chain.Txs),
		len(chain.Tokens), len(chain.Uneven), time.Since(begin).Round(time.Millisecond), chain.Features())
	return j
}

func (j *judge) checker(t *testing.T, sdk bool) *oracle.Checker {
	cfg := j.cfg
	cfg.SDK = sdk
	k := oracle.NewChecker(cfg)
	t.Cleanup(k.Close)
	return k
}

// heights are some past ones, or all if there are few.
func (j *judge) heights() (list []uint64) {
	tip := j.chain.Tip()
	if tip < 20 {
		for h := range tip + 1 {
			list = append(list, h)
		}
		return list
	}
	return []uint64{0, 1, tip / 3, tip / 2, tip - 1, tip}
}

// uneven checks that these tokens are those whose events do not add up. On a short
// chain one of them may not have moved yet.
func (j *judge) uneven(t *testing.T, tokens ...common.Address) {
	t.Helper()
	for token := range j.chain.Uneven {
		if !slices.Contains(tokens, token) {
			t.Errorf("the events of %s do not add up", token)
		}
	}
	if n := len(j.chain.Uneven); n < len(tokens)-1 {
		t.Errorf("%d uneven tokens of %d", n, len(tokens))
	}
}

// want checks that the chain has what makes the comparison worth it.
func (j *judge) want(t *testing.T, features ...string) {
	t.Helper()
	got := j.chain.Features()
	for _, f := range features {
		if got[f] == 0 {
			t.Errorf("the chain has no %s, so nothing was compared about it", f)
		}
	}
}

// all compares every endpoint. The chain must not grow meanwhile.
func (j *judge) all(t *testing.T, rare int) {
	t.Helper()
	asked := 0
	for _, h := range j.heights() {
		n, err := j.chain.CheckTokens(t.Context(), j.node, h)
		if err != nil {
			t.Error(err)
		}
		asked += n
	}
	t.Logf("%d balances and owners of tokens are as the contracts say", asked)
	k := j.checker(t, false)
	part := func(name string, f func(ctx context.Context)) {
		begin, before := time.Now(), k.Tally()
		f(t.Context())
		after := k.Tally()
		t.Logf("%-12s %5d lists, %6d rows, %5d pages, %5d requests in %v", name, after.Lists-before.Lists, after.Rows-before.Rows,
			after.Pages-before.Pages, after.Requests-before.Requests, time.Since(begin).Round(time.Millisecond))
		if err := k.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	chosen, everyone := j.chain.Chosen(rare), j.chain.Addresses()
	part("latest", k.LatestTxs)
	part("blocks", func(ctx context.Context) { k.Blocks(ctx, 1+len(j.chain.Blocks)/60) })
	part("single", func(ctx context.Context) { k.SingleTxs(ctx, 1+len(j.chain.Txs)/400) })
	part("address", func(ctx context.Context) {
		for i, a := range chosen {
			k.AddressTxs(ctx, a, i%3 == 0)
		}
	})
	part("nft moves", func(ctx context.Context) {
		for _, a := range chosen {
			k.AddressNFTTransfers(ctx, a)
		}
	})
	part("tokens", func(ctx context.Context) {
		for token := range j.chain.Tokens {
			k.TokenTransfers(ctx, token)
		}
		k.TokenTransfers(ctx, common.Address{})
		k.TokenTransfers(ctx, everyone[0])
	})
	part("balances", func(ctx context.Context) {
		for _, a := range chosen {
			k.Balances(ctx, a, j.heights())
		}
		k.NativeBalances(ctx, everyone)
	})
	part("parts", func(ctx context.Context) {
		for _, a := range chosen {
			k.AddressParts(ctx, a)
		}
	})
	part("block list", func(ctx context.Context) { k.BlockList(ctx, 1+len(j.chain.Blocks)/60) })
	part("contracts", k.Contracts)
	part("items", func(ctx context.Context) {
		for _, a := range append(j.chain.Collectors(12), chosen...) {
			k.Items(ctx, a, j.heights())
		}
	})
	part("collections", func(ctx context.Context) { k.Collections(ctx, j.cfg.Name) })
	j.sdk(t, everyone[0])
}

// sdk compares the form for the SDKs for one address.
func (j *judge) sdk(t *testing.T, a common.Address) {
	t.Helper()
	k := j.checker(t, true)
	k.AddressTxs(t.Context(), a, false)
	k.AddressNFTTransfers(t.Context(), a)
	k.Balances(t.Context(), a, nil)
	k.SingleTxs(t.Context(), 1+len(j.chain.Txs)/10)
	if err := k.Err(); err != nil {
		t.Errorf("in the form for the SDKs: %v", err)
	}
}

// notices checks that the comparison is no formality: it finds what is wrong.
func (j *judge) notices(t *testing.T) {
	t.Helper()
	k := j.checker(t, false)
	txs := j.chain.Txs
	last := txs[len(txs)-1]
	find := func(what string, compare func(ctx context.Context)) {
		t.Helper()
		compare(t.Context())
		if k.Err() == nil {
			t.Errorf("%s is not noticed", what)
		}
	}
	value, gas := last.Value, last.Gas
	last.Value = (*hexutil.Big)(new(big.Int).Add(value.ToInt(), big.NewInt(1)))
	find("a wrong value", k.LatestTxs)
	find("a wrong value in a block", func(ctx context.Context) { k.Blocks(ctx, 1) })
	find("a wrong value of an address", func(ctx context.Context) { k.AddressTxs(ctx, last.From, true) })
	find("a wrong value of one who sent it", func(ctx context.Context) { k.AddressParts(ctx, last.From) })
	last.Value, last.Gas = value, gas+1
	find("a wrong gas limit", func(ctx context.Context) { k.SingleTxs(ctx, 1) })
	last.Gas = gas
	j.chain.Txs = txs[:len(txs)-1]
	find("a row too many", k.LatestTxs)
	j.chain.Txs = append(txs[:len(txs):len(txs)], last)
	find("a row too few", k.LatestTxs)
	j.chain.Txs = txs
	j.chain.Blocks[1].GasLimit++
	find("a wrong block", func(ctx context.Context) { k.BlockList(ctx, 1) })
	j.chain.Blocks[1].GasLimit--
	j.chain.Txs = txs[:len(txs)/2]
	find("a contract too many", k.Contracts)
	j.chain.Txs = txs
	j.noticesItems(t, k, find)
	for token, d := range j.chain.Tokens {
		if d.Kinds[oracle.ERC1155] {
			continue // its transfers do not tell the name
		}
		name := d.Name
		d.Name += "x"
		find("a wrong name", func(ctx context.Context) { k.TokenTransfers(ctx, token) })
		d.Name = name
	}
}

// noticesItems does the same of a token that was made.
func (j *judge) noticesItems(t *testing.T, k *oracle.Checker, find func(what string, compare func(ctx context.Context))) {
	t.Helper()
	for _, tx := range j.chain.Txs {
		for _, made := range tx.Transfers {
			if made.Kind != oracle.ERC1155 || made.From != (common.Address{}) {
				continue
			}
			value := made.Value
			made.Value = new(big.Int).Add(value, big.NewInt(1))
			find("a wrong balance of items", func(ctx context.Context) { k.Items(ctx, made.To, nil) })
			made.Value = value
			return
		}
	}
	t.Error("no items were made")
}

// everything is what a simulated chain of some hundred blocks has of each kind.
var everything = []string{
	"failed", "creation", "empty block", "atomic block", oracle.ERC20, oracle.ERC721, oracle.ERC1155,
	"internal CALL", "internal CALL reverted", "internal value", "internal CREATE", "internal CREATE2",
}

// TestOracleDevnet holds every endpoint against the raw answers of the simulated
// node, for the C-Chain and the chain of an L1.
func TestOracleDevnet(t *testing.T) {
	beside(t)
	d, chains := startEVMDevnet(t, "--blocks", "300", "--txs-per-block", "6", "--block-interval", "0", "--evm-chains", "1")
	if len(chains) != 2 {
		t.Fatalf("%d EVM chains", len(chains))
	}
	c, l1 := chains[0], chains[1]
	file := filepath.Join(testDir(t), "chains.json")
	const explorer = "https://explorer.example"
	b, err := json.Marshal(map[string]any{"chains": []any{map[string]any{
		"rpc": l1.RPCURL, "ws": l1.WSURL, "blockchain-id": l1.BlockchainID, "subnet-id": l1.SubnetID, "name": "First L1",
		"description": "A chain", "explorer-url": explorer, "vm-id": constants.SubnetEVMID.String(),
		"token": map[string]any{"name": "Coin", "symbol": "CN", "decimals": 9}, "wrapped-tokens": []string{l1.OddTokens.Wrapped.Hex()},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startIndexer(t, d.URL, "--chains-file", file)
	numbers := map[string]string{c.BlockchainID: c.ChainID, l1.BlockchainID: l1.ChainID}
	first := newJudge(t, s, c.RPCURL, c.ChainID, avaxCoin)
	first.cfg.Numbers = numbers
	first.uneven(t, c.OddTokens.Wrapped, c.OddTokens.Rebasing, c.OddTokens.Taxed, c.OddTokens.Phantom)
	first.want(t, everything...)
	first.all(t, 6)
	second := newJudge(t, s, l1.RPCURL, l1.BlockchainID, oracle.Coin{Name: "Coin", Symbol: "CN", Decimals: 9}, l1.OddTokens.Wrapped)
	second.cfg.Numbers = numbers
	second.uneven(t, l1.OddTokens.Rebasing, l1.OddTokens.Taxed, l1.OddTokens.Phantom)
	second.all(t, 1)
	second.notices(t)

	k := first.checker(t, false)
	other := second.checker(t, false)
	oracle.AllChains(t.Context(), k, other)
	oracle.ChainsOf(t.Context(), append(first.chain.Chosen(2), second.chain.Chosen(2)...), k, other)
	if err := k.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("over both chains: %+v", k.Tally())
	listed := map[string]oracle.Listed{
		c.ChainID: {Name: cChainText, Description: cChainNote, BlockchainID: c.BlockchainID, SubnetID: c.SubnetID,
			VMID: constants.EVMID.String(), RPCURL: s.URL + "/ext/bc/" + c.BlockchainID + "/rpc"},
		l1.ChainID: {Name: "First L1", Description: "A chain", BlockchainID: l1.BlockchainID, SubnetID: l1.SubnetID,
			VMID: constants.SubnetEVMID.String(), RPCURL: s.URL + "/ext/bc/" + l1.BlockchainID + "/rpc",
			More: map[string]any{"explorerUrl": explorer, "networkToken": map[string]any{
				"name": "Coin", "symbol": "CN", "decimals": json.Number("9")}}},
	}
	for query, want := range map[string]map[string]oracle.Listed{
		"": listed, "network=fuji": listed, "network=testnet&feature=nftIndexing": nil, "network=mainnet": nil, "feature=webhooks": nil,
	} {
		k.ChainList(t.Context(), want, mustQuery(t, query))
	}
	if err := k.Err(); err != nil {
		t.Error(err)
	}
}

func mustQuery(t *testing.T, text string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
