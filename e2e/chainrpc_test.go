package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/api/admin"
	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	ethereum "github.com/ava-labs/libevm"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/ethclient"
)

// cChainNumber is the EVM chain ID of the local network's C-Chain.
const cChainNumber = 43112

// TestChainRPC uses the C-Chain through the server by the Ethereum client, under
// every name of the chain, and after a restart under the one that was given.
func TestChainRPC(t *testing.T) {
	inTurn(t)
	w := useNetwork(t)
	s := serveRPC(t, filepath.Join(testDir(t), "data"), w.entry())
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	id, err := info.NewClient(w.entry()).GetBlockchainID(ctx, "C")
	if err != nil {
		t.Fatal(err)
	}
	const given = "münzen" // any printable character may be in a name
	if err := admin.NewClient(s.URL).AliasChain(ctx, "C", given); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"C", "evm", id.String(), given} {
		useChain(ctx, t, s.URL+"/ext/bc/"+name+"/rpc")
	}
	s.kill(t)
	s.restart(t)
	s.waitHealthy(t)
	useChain(ctx, t, s.URL+"/ext/bc/"+given+"/rpc")
	names, err := admin.NewClient(s.URL).GetChainAliases(ctx, given)
	if err != nil || len(names) != 4 || names[3] != given {
		t.Errorf("names after a restart: %q, %v", names, err)
	}
	// Names of endpoints, unlike names of chains, end with the process.
	if err := admin.NewClient(s.URL).AliasChain(ctx, "X", given); err == nil {
		t.Error("the name is given away again after a restart")
	}
}

// useChain sends a transaction and waits for its receipt.
func useChain(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	client, err := ethclient.DialContext(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	number, err := client.ChainID(ctx)
	if err != nil || number.Uint64() != cChainNumber {
		t.Fatalf("%s: chain ID %v, %v", url, number, err)
	}
	before, err := client.BlockNumber(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := transfer(ctx, client, number)
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "a receipt by "+url, func() (string, bool) {
		receipt, err := client.TransactionReceipt(ctx, tx.Hash())
		if errors.Is(err, ethereum.NotFound) {
			return "no receipt yet", false
		}
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Status != types.ReceiptStatusSuccessful || receipt.BlockNumber.Uint64() <= before {
			t.Errorf("receipt %+v, at height %d before", receipt, before)
		}
		return "", true
	})
}

// transfer sends one wei of the pre-funded account to nobody.
func transfer(ctx context.Context, client *ethclient.Client, chain *big.Int) (*types.Transaction, error) {
	key := genesis.EWOQKey.ToECDSA()
	nonce, err := client.PendingNonceAt(ctx, crypto.PubkeyToAddress(key.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("nonce: %w", err)
	}
	price, err := client.SuggestGasPrice(ctx)
	if err != nil {
		return nil, fmt.Errorf("gas price: %w", err)
	}
	const transferGas = 21_000
	to := common.Address{0xe2, 0xe2}
	tx, err := types.SignNewTx(key, types.NewLondonSigner(chain), &types.LegacyTx{
		Nonce: nonce, GasPrice: new(big.Int).Mul(price, big.NewInt(2)), Gas: transferGas, To: &to, Value: big.NewInt(1),
	})
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return tx, client.SendTransaction(ctx, tx)
}

// TestRefusedAliases returns names that must be refused: each leaves the names and
// the paths as they were.
func TestRefusedAliases(t *testing.T) {
	w := useNetwork(t)
	s := serveRPC(t, filepath.Join(testDir(t), "data"), w.entry())
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	client := admin.NewClient(s.URL)
	long := strings.Repeat("é", 512) // the bound is in characters
	if err := client.AliasChain(ctx, "C", long); err != nil {
		t.Errorf("a chain's name of 512 characters: %v", err)
	}
	if err := client.Alias(ctx, "health", long); err != nil {
		t.Errorf("an endpoint's name of 512 characters: %v", err)
	}
	if status, _, err := getBody(ctx, s.URL+"/ext/"+long+"/readiness"); status != 200 || err != nil {
		t.Errorf("by 512 characters: %d, %v", status, err)
	}
	before, err := client.GetChainAliases(ctx, "C")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		long + "é", "", ".", "..", "../x", "x/../y", "/x", "x/", "x//y", "{x:.*}", "{x:(a)}", "{any}", "x\x00", "x\r\ny", "\x1b[2J",
		"a b", "a%2fb", "a?b", "a#b", `a\b`, "\u202e",
	} {
		if err := client.Alias(ctx, "health", name); err == nil {
			t.Errorf("the endpoint's name %q is accepted", name)
		}
		if err := client.AliasChain(ctx, "C", name); err == nil {
			t.Errorf("the chain's name %q is accepted", name)
		}
	}
	for _, name := range []string{"a/b", "X", "platform", "2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm"} {
		if err := client.AliasChain(ctx, "C", name); err == nil {
			t.Errorf("the chain's name %q is accepted", name)
		}
	}
	for _, name := range []string{"health", "health/liveness", "admin", "metrics", "bc/X", "bc/C/rpc", "\ufffd"} {
		if err := client.Alias(ctx, "health", name); err == nil {
			t.Errorf("the endpoint's name %q is accepted", name)
		}
	}
	after, err := client.GetChainAliases(ctx, "C")
	if err != nil || strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("the chain's names are %q, %v; they were %q", after, err, before)
	}
	for _, path := range []string{"x", "x/y", "x/readiness", "anything/at/all", "a%20b", "a%2fb", "bc/x/rpc", "bc", ""} {
		if status, _, err := getBody(ctx, s.URL+"/ext/"+path); status != 404 || err != nil {
			t.Errorf("/ext/%s: %d, %v", path, status, err)
		}
	}
	// Nothing of it is in the way of names that are fine.
	for _, name := range []string{"x", "any", "a"} {
		if err := client.Alias(ctx, "health", name); err != nil {
			t.Error(err)
		}
		if err := client.AliasChain(ctx, "C", name); err != nil {
			t.Error(err)
		}
	}
}
