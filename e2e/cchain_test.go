package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	walletcommon "github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
	"github.com/ava-labs/libevm/common"

	"quorate/e2e/contracts"
	"quorate/e2e/oracle"
)

const (
	people = 12
	rounds = 24
)

// traffic is what moves on the C-Chain.
type traffic struct {
	t       *testing.T
	s       *contracts.Session
	random  *rand.Rand
	people  []*contracts.Account
	coins   []common.Address // ERC-20
	art     common.Address   // ERC-721
	items   common.Address   // ERC-1155
	box     common.Address
	factory common.Address
	owners  map[int64]*contracts.Account // of art
	wrapped common.Address               // the wrapped coin
	router  common.Address
	odd     []common.Address // ERC-20 tokens whose events are not all; the last can be renamed
	salt    byte
	txs     []contracts.Tx
	count   int
}

// wei returns a part of a coin.
func wei(milli int64) *big.Int { return new(big.Int).Mul(big.NewInt(milli), big.NewInt(1e15)) }

func startTraffic(ctx context.Context, t *testing.T, url string) *traffic {
	t.Helper()
	s, err := contracts.NewSession(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	tr := &traffic{t: t, s: s, random: rand.New(rand.NewPCG(5, 5)), owners: make(map[int64]*contracts.Account)}
	for i := range people {
		a, err := s.Account(ctx, t.Name(), i)
		if err != nil {
			t.Fatal(err)
		}
		tr.people = append(tr.people, a)
		tr.txs = append(tr.txs, contracts.Tx{From: s.Rich, To: &a.Address, Value: wei(100_000), Gas: 21_000, Type: uint8(i % 3)})
	}
	tr.flush(ctx)
	tr.deploy(ctx)
	return tr
}

// must returns a contract's code, with the arguments of its constructor.
func (tr *traffic) must(code []byte, err error) []byte {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
	return code
}

func (tr *traffic) deploy(ctx context.Context) {
	tr.t.Helper()
	texts := []string{"string", "string", "uint8", "uint256"}
	coin := tr.must(contracts.Coin())
	coinWith := func(name, symbol string, decimals uint8) []byte {
		args := tr.must(contracts.Pack(texts, name, symbol, decimals, wei(1_000_000_000)))
		return append(coin[:len(coin):len(coin)], args...)
	}
	made, err := tr.s.Deploy(ctx, tr.people[0], coinWith("Gold", "GLD", 18), coinWith("Größe \u202eölG\n", "", 0), coinWith("", "DUST", 6),
		tr.must(contracts.Art()), tr.must(contracts.Items()), tr.must(contracts.Box()), tr.must(contracts.Factory()),
		tr.must(contracts.Wrapped()), tr.must(contracts.Router()))
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.coins, tr.art, tr.items, tr.box, tr.factory = made[:3], made[3], made[4], made[5], made[6]
	tr.wrapped, tr.router = made[7], made[8]
	for _, a := range tr.people[1:] {
		tr.coin(tr.people[0], 0, "transfer", a.Address, wei(1000))
		tr.coin(tr.people[0], 1, "transfer", a.Address, wei(5000))
	}
	tr.flush(ctx)
}

// deployOdd makes the tokens whose events are not all there is.
func (tr *traffic) deployOdd(ctx context.Context) {
	tr.t.Helper()
	var err error
	if tr.odd, err = tr.s.Deploy(ctx, tr.people[0], tr.must(contracts.Rebasing()), tr.must(contracts.Fee()),
		tr.must(contracts.Claims()), tr.must(contracts.Renamed())); err != nil {
		tr.t.Fatal(err)
	}
}

// wrap queues what is done with the wrapped coin: by itself, and by a router that
// wraps and forwards in one transaction.
func (tr *traffic) wrap(n int, a, b *contracts.Account) {
	amount := []string{"address", "uint256"}
	tr.call(a, tr.wrapped, wei(3), 100_000, "deposit", nil)
	tr.call(b, tr.router, wei(2), 200_000, "wrap", []string{"address", "address"}, tr.wrapped, a.Address)
	tr.call(a, tr.wrapped, nil, 100_000, "transfer", amount, b.Address, wei(int64(n%7)))
	tr.call(a, tr.wrapped, nil, 100_000, "withdraw", []string{"uint256"}, wei(1))
	for i, token := range tr.odd {
		from := tr.people[0]
		if i == 2 {
			from = a // anyone can claim anything
		}
		tr.call(from, token, nil, 120_000, "transfer", amount, b.Address, big.NewInt(int64(1000+n)))
	}
	if n == rounds/2 {
		tr.call(tr.people[0], tr.odd[3], nil, 200_000, "rename", []string{"string", "string", "uint8"}, "After", "NEW", uint8(6))
	}
}

// call queues a call of a contract.
func (tr *traffic) call(from *contracts.Account, to common.Address, value *big.Int, gas uint64, function string, kinds []string, values ...any) {
	tr.t.Helper()
	input := tr.must(contracts.Input(function, kinds, values...))
	tr.txs = append(tr.txs, contracts.Tx{From: from, To: &to, Value: value, Data: input, Gas: gas, Type: uint8(tr.random.IntN(3))})
}

func (tr *traffic) coin(from *contracts.Account, coin int, function string, to common.Address, amount *big.Int) {
	tr.t.Helper()
	tr.call(from, tr.coins[coin], nil, 120_000, function, []string{"address", "uint256"}, to, amount)
}

func (tr *traffic) someone() *contracts.Account { return tr.people[tr.random.IntN(len(tr.people))] }

// flush sends what is queued and waits for it.
func (tr *traffic) flush(ctx context.Context) {
	tr.t.Helper()
	if _, err := tr.s.Send(ctx, tr.txs...); err != nil {
		tr.t.Fatal(err)
	}
	tr.count += len(tr.txs)
	tr.txs = nil
}

// round queues some of everything.
func (tr *traffic) round(n int) {
	a, b := tr.someone(), tr.someone()
	id, fresh := big.NewInt(int64(n)), common.BytesToAddress([]byte{0xaa, byte(n), 0x55})
	tr.txs = append(tr.txs,
		contracts.Tx{From: a, To: &b.Address, Value: wei(int64(n)), Gas: 21_000, Type: 2},
		contracts.Tx{From: b, To: &a.Address, Value: nil, Data: []byte{1, 2, 3}, Gas: 30_000, Type: 1},
		contracts.Tx{From: a, To: &fresh, Value: big.NewInt(1), Gas: 21_000})
	coin := tr.random.IntN(len(tr.coins))
	tr.coin(a, coin, "mint", b.Address, wei(int64(n+1)))
	tr.coin(b, coin, "transfer", a.Address, big.NewInt(int64(n)))
	tr.coin(a, coin, "transfer", a.Address, big.NewInt(int64(n))) // to itself
	tr.coin(b, coin, "transfer", a.Address, wei(1<<40))           // more than there is
	tr.call(b, tr.coins[coin], nil, 300_000, "spread", []string{"address[]", "uint256"},
		[]common.Address{a.Address, tr.box, fresh}, big.NewInt(3))
	tr.call(b, tr.coins[coin], nil, 90_000, "burn", []string{"uint256"}, big.NewInt(7))

	tr.call(a, tr.art, nil, 200_000, "mint", []string{"address", "uint256"}, b.Address, id)
	tr.owners[id.Int64()] = b
	moved := int64(tr.random.IntN(n + 1))
	if owner := tr.owners[moved]; owner != nil {
		if n%5 == 4 {
			tr.call(owner, tr.art, nil, 120_000, "burn", []string{"uint256"}, big.NewInt(moved))
			delete(tr.owners, moved)
		} else {
			tr.call(owner, tr.art, nil, 120_000, "transferFrom", []string{"address", "address", "uint256"}, owner.Address, a.Address, big.NewInt(moved))
			tr.owners[moved] = a
		}
	}
	ids, amounts := []*big.Int{id, big.NewInt(1)}, []*big.Int{big.NewInt(10), big.NewInt(20)}
	tr.call(a, tr.items, nil, 120_000, "mint", []string{"address", "uint256", "uint256"}, b.Address, id, big.NewInt(5))
	tr.call(a, tr.items, nil, 200_000, "mintBatch", []string{"address", "uint256[]", "uint256[]"}, a.Address, ids, amounts)
	tr.call(a, tr.items, nil, 200_000, "safeBatchTransferFrom", []string{"address", "address", "uint256[]", "uint256[]", "bytes"},
		a.Address, b.Address, ids, []*big.Int{big.NewInt(1), big.NewInt(2)}, []byte{})
	tr.call(b, tr.items, nil, 200_000, "burn", []string{"address", "uint256", "uint256"}, b.Address, id, big.NewInt(1))
	if n%4 == 2 { // moved to oneself; minted again after being burnt; a batch of nothing
		tr.call(b, tr.items, nil, 100_000, "safeTransferFrom", []string{"address", "address", "uint256", "uint256", "bytes"},
			b.Address, b.Address, id, big.NewInt(1), []byte{})
		tr.call(b, tr.art, nil, 120_000, "transferFrom", []string{"address", "address", "uint256"}, b.Address, b.Address, id)
		tr.call(b, tr.items, nil, 100_000, "safeBatchTransferFrom", []string{"address", "address", "uint256[]", "uint256[]", "bytes"},
			b.Address, a.Address, []*big.Int{}, []*big.Int{}, []byte{})
		again := big.NewInt(int64(1000 + n))
		tr.call(a, tr.art, nil, 200_000, "mint", []string{"address", "uint256"}, a.Address, again)
		tr.call(a, tr.art, nil, 120_000, "burn", []string{"uint256"}, again)
		tr.call(a, tr.art, nil, 200_000, "mint", []string{"address", "uint256"}, b.Address, again)
	}
	tr.calls(n, a, b, fresh)
	tr.wrap(n, a, b)
}

// calls queues what contracts do among themselves.
func (tr *traffic) calls(n int, a, b *contracts.Account, fresh common.Address) {
	coin := tr.coins[0]
	tr.call(a, tr.box, wei(2), 100_000, "pass", []string{"address"}, b.Address)
	switch n % 6 {
	case 0:
		tr.call(a, tr.factory, wei(4), 500_000, "make", nil)
	case 1:
		tr.salt++
		tr.call(b, tr.factory, wei(8), 900_000, "make2", []string{"bytes32"}, [32]byte{tr.salt})
	case 2:
		tr.call(a, tr.factory, wei(1), 500_000, "flash", []string{"address"}, fresh)
	case 3:
		tr.call(b, tr.factory, wei(1), 700_000, "attempt", []string{"address", "address", "address"}, tr.box, coin, fresh)
	case 4:
		tr.call(a, tr.box, wei(1), 200_000, "undo", []string{"address", "address"}, coin, b.Address)
		tr.call(b, tr.factory, nil, 60_000, "burnGas", nil)
	case 5:
		tr.call(a, tr.box, nil, 100_000, "destroy", []string{"address"}, b.Address)
		tr.call(b, tr.box, nil, 100_000, "destroy", []string{"address"}, tr.box)
		stillborn := []byte{0x60, 0x00, 0x60, 0x00, 0xfd} // reverts
		tr.txs = append(tr.txs, contracts.Tx{From: a, Data: stillborn, Value: wei(1), Gas: 100_000, Type: 2})
	}
}

// atomic brings coins from the P-Chain and sends some to the X-Chain.
func (tr *traffic) atomic(ctx context.Context, url string) {
	tr.t.Helper()
	keys := secp256k1fx.NewKeychain(genesis.EWOQKey)
	w, err := primary.MakeWallet(ctx, url, keys, keys, primary.WalletConfig{})
	if err != nil {
		tr.t.Fatal(err)
	}
	owner := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.EWOQKey.Address()}}
	cID, xID := w.C().Builder().Context().BlockchainID, w.X().Builder().Context().BlockchainID
	out := []*avax.TransferableOutput{{
		Asset: avax.Asset{ID: w.P().Builder().Context().AVAXAssetID},
		Out:   &secp256k1fx.TransferOutput{Amt: 3 * units.Avax, OutputOwners: owner},
	}}
	opt := walletcommon.WithContext(ctx)
	if _, err := w.P().IssueExportTx(cID, out, opt); err != nil {
		tr.t.Fatalf("export from P: %v", err)
	}
	newcomer := common.Address{0: 0xaa, 1: 0x77, 19: 1}
	if _, err := w.C().IssueImportTx(constants.PlatformChainID, newcomer, opt); err != nil {
		tr.t.Fatalf("import to C: %v", err)
	}
	if _, err := w.C().IssueExportTx(xID, []*secp256k1fx.TransferOutput{{Amt: units.Avax, OutputOwners: owner}}, opt); err != nil {
		tr.t.Fatalf("export from C: %v", err)
	}
	if err := tr.s.Refresh(ctx, tr.s.Rich); err != nil {
		tr.t.Fatal(err)
	}
}

// chainsFile says of the C-Chain which contract is its wrapped coin.
func (tr *traffic) chainsFile(ctx context.Context, nodeURL string) string {
	tr.t.Helper()
	id, err := info.NewClient(nodeURL).GetBlockchainID(ctx, "C")
	if err != nil {
		tr.t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"chains": []any{map[string]any{
		"rpc": nodeURL + "/ext/bc/C/rpc", "blockchain-id": id.String(), "subnet-id": constants.PrimaryNetworkID.String(),
		"ws": "ws" + strings.TrimPrefix(nodeURL, "http") + "/ext/bc/C/ws", "wrapped-tokens": []string{tr.wrapped.Hex()},
	}}})
	path := filepath.Join(testDir(tr.t), "chains.json")
	if err := errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
		tr.t.Fatal(err)
	}
	return path
}

// TestOracleCChain moves coins and tokens of real contracts on the C-Chain of a
// real network, and holds every endpoint against the node's raw answers.
func TestOracleCChain(t *testing.T) {
	inTurn(t)
	w := useNetwork(t)
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	rpcURL := w.entry() + "/ext/bc/C/rpc"
	begin := time.Now()
	tr := startTraffic(ctx, t, rpcURL)
	file := tr.chainsFile(ctx, w.entry())
	s := startIndexer(t, w.entry(), "--chains-file", file) // it follows the blocks as they come
	tr.deployOdd(ctx)
	for n := range rounds {
		tr.round(n)
		if n%6 == 5 {
			tr.flush(ctx)
		}
	}
	tr.atomic(ctx, w.entry())
	tr.round(rounds)
	tr.flush(ctx)
	t.Logf("%d transactions after %v", tr.count, time.Since(begin).Round(time.Millisecond))

	j := newJudge(t, s, rpcURL, "C", avaxCoin, tr.wrapped)
	j.uneven(t, tr.odd[:3]...)
	if renamed := j.chain.Tokens[tr.odd[3]]; renamed.Name != "After" {
		t.Errorf("the renamed token is %+v", renamed)
	}
	j.want(t, "failed", "creation", "atomic block", oracle.ERC20, oracle.ERC20+" burnt", oracle.ERC721, oracle.ERC721+" burnt",
		oracle.ERC1155, oracle.ERC1155+" burnt", "internal CALL", "internal CALL reverted", "internal CREATE", "internal CREATE2",
		"internal CREATE reverted", "internal CREATE2 reverted", "internal SELFDESTRUCT", "internal value")
	j.all(t, 8)
	j.metrics(t, oracle.AllPages)
	j.groups(t, j.chain)
	j.holders(t)
	checkListedC(ctx, t, s, j, w.entry())

	// A server that catches up says the same as the one that followed.
	checkVerified(t, s)
	late := startIndexer(t, w.entry(), "--chains-file", file, "--verify=full")
	j.cfg.URL = late.URL
	k := j.checker(t, false)
	if err := k.WaitIndexed(ctx, j.chain.Tip()); err != nil {
		t.Fatalf("%v\n%s", err, late.LogTail())
	}
	if err := errors.Join(k.WaitTokens(ctx), k.WaitUneven(ctx)); err != nil {
		t.Fatalf("%v\n%s", err, late.LogTail())
	}
	k.LatestTxs(ctx)
	for _, p := range tr.people[:4] {
		k.AddressTxs(ctx, p.Address, false)
		k.Balances(ctx, p.Address, j.heights())
	}
	k.Metrics(ctx, "C", oracle.NewMetrics(j.chain), oracle.Pages)
	if err := k.Err(); err != nil {
		t.Errorf("the server that caught up: %v", err)
	}
	checkVerified(t, late)
}

// checkVerified fails unless all that real nodes answered was what the hashes of its
// blocks say, senders and the sample of balances among it.
func checkVerified(t *testing.T, s *server) {
	t.Helper()
	for _, name := range []string{"quorate_evm_source_mismatches_total", "quorate_evm_source_unverified_total", "quorate_balances_refuted_total"} {
		if v := s.metric(t, name); v != 0 {
			t.Errorf("%s is %v\n%s", name, v, s.LogTail())
		}
	}
	if txs, senders := s.metric(t, "quorate_evm_source_transactions_total"), s.metric(t, "quorate_evm_source_senders_total"); senders == 0 || senders < txs/2 {
		t.Errorf("%v senders of %v transactions were recovered", senders, txs)
	}
	t.Logf("%v senders, %v balances proven", s.metric(t, "quorate_evm_source_senders_total"), s.metric(t, "quorate_balances_proven_total"))
}

// checkListedC compares the only item of the list of chains.
func checkListedC(ctx context.Context, t *testing.T, s *server, j *judge, nodeURL string) {
	t.Helper()
	id, err := info.NewClient(nodeURL).GetBlockchainID(ctx, "C")
	if err != nil {
		t.Fatal(err)
	}
	k := j.checker(t, false)
	k.ChainList(ctx, map[string]oracle.Listed{j.cfg.ChainID: {
		Name: cChainText, Description: cChainNote, BlockchainID: id.String(), SubnetID: constants.PrimaryNetworkID.String(),
		VMID: constants.EVMID.String(), RPCURL: s.URL + "/ext/bc/" + id.String() + "/rpc",
		More: map[string]any{"networkToken": map[string]any{"name": avaxCoin.Name, "symbol": avaxCoin.Symbol, "decimals": json.Number("18")}},
	}}, nil)
	if err := k.Err(); err != nil {
		t.Error(err)
	}
}
