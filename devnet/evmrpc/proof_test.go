package evmrpc

import (
	"errors"
	"strings"
	"testing"

	"quorate/devnet/evmchain"
	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
)

type jsonProof struct {
	Address, Balance, CodeHash, Nonce, StorageHash string
	AccountProof                                   []string
	StorageProof                                   []struct {
		Key, Value string
		Proof      []string
	}
}

func provenConfig() evmchain.Config {
	cfg := testConfig()
	cfg.Blocks, cfg.StateProofs = 34, true
	return cfg
}

// TestStateRoots: each block's state root is that of the trie of all accounts as
// eth_getBalance, eth_getTransactionCount and eth_getCode tell of them.
func TestStateRoots(t *testing.T) {
	t.Parallel()
	for _, atomic := range []bool{true, false} {
		cfg := provenConfig()
		cfg.Atomic = atomic
		h := newHandler(t, cfg)
		h.chain.Advance()
		tip := h.chain.Tip()
		all := accountsOf(t, h)
		for n := uint64(0); n <= tip; n += 1 + tip/uint64(torture.Pick(3, 7)) {
			at := hexOf(n)
			root := new(trie)
			for a := range all {
				p := get[jsonProof](t, h, "eth_getProof", a, []string{}, at)
				balance, nonce := get[string](t, h, "eth_getBalance", a, at), get[string](t, h, "eth_getTransactionCount", a, at)
				if p.Balance != balance || p.Nonce != nonce || p.Address != a {
					t.Fatalf("%s after block %d: %+v, but it has %s and nonce %s", a, n, p, balance, nonce)
				}
				if balance == "0x0" && nonce == "0x0" {
					continue
				}
				code := evm.Keccak(bytesOf(t, get[string](t, h, "eth_getCode", a, at)))
				if p.CodeHash != code.String() {
					t.Errorf("%s after block %d: code hash %s", a, n, p.CodeHash)
				}
				items := []string{"#" + nonce, "#" + balance, p.StorageHash, p.CodeHash}
				if atomic {
					items = append(items, "0x")
				}
				key := evm.Keccak(bytesOf(t, a))
				root.put(hexText(key[:]), list(t, items...))
			}
			want := evm.Keccak(root.encode(t, "")).String()
			if b := get[jsonBlock](t, h, "eth_getBlockByNumber", at, true); b.StateRoot != want || hashText(headerHash(t, &b, atomic)) != b.Hash {
				t.Errorf("block %d: state root %s, its accounts' is %s", n, b.StateRoot, want)
			}
		}
	}
}

// accountsOf are all accounts that a chain's blocks name, as sender, receiver,
// contract or in a call, and those that were there from the start.
func accountsOf(t *testing.T, h *Handler) map[string]bool {
	all := map[string]bool{}
	for _, a := range h.chain.Accounts() {
		all[strings.ToLower(a.String())] = true
	}
	if len(all) < 100 {
		t.Fatalf("%d accounts", len(all))
	}
	return all
}

// TestProofs: the nodes lead from the root to the account, or to where it would be.
func TestProofs(t *testing.T) {
	t.Parallel()
	h := newHandler(t, provenConfig())
	b := get[jsonBlock](t, h, "eth_getBlockByNumber", "0x20", true)
	token := strings.ToLower(h.chain.Sample().Token.String())
	zero := "0x" + strings.Repeat("0", 64)
	other := "0x" + strings.Repeat("0", 63) + "1"
	for _, a := range []string{b.Transactions[0].From, token, zeroAddr, "0x00000000000000000000000000000000000000aa"} {
		p := get[jsonProof](t, h, "eth_getProof", a, []string{zero, other}, "0x20")
		if got := evm.Keccak(bytesOf(t, p.AccountProof[0])).String(); got != b.StateRoot {
			t.Errorf("the first node of %s has the hash %s, the root is %s", a, got, b.StateRoot)
		}
		for i, node := range p.AccountProof[1:] {
			if hash := evm.Keccak(bytesOf(t, node)); !strings.Contains(p.AccountProof[i], hexText(hash[:])) {
				t.Errorf("node %d of %s is not in the one above", i+1, a)
			}
		}
		exists := p.Nonce != "0x0" || p.Balance != "0x0"
		if last := p.AccountProof[len(p.AccountProof)-1]; exists != strings.Contains(last, p.CodeHash[2:]) {
			t.Errorf("the last node of %s is %s", a, last)
		}
		if (p.StorageProof[0].Value != "0x0") != (a == token) || p.StorageProof[1].Value != "0x0" {
			t.Errorf("the storage of %s is %+v", a, p.StorageProof)
		}
		if a == token && evm.Keccak(bytesOf(t, p.StorageProof[0].Proof[0])).String() != p.StorageHash {
			t.Errorf("the storage root of the token is %s", p.StorageHash)
		}
	}
	h.SetTraits(Traits{Unaccepted: 2})
	forked := get[jsonBlock](t, h, "eth_getBlockByNumber", "latest", true)
	p := get[jsonProof](t, h, "eth_getProof", forked.Transactions[0].From, []string{}, "latest")
	if got := evm.Keccak(bytesOf(t, p.AccountProof[0])).String(); got != forked.StateRoot {
		t.Errorf("the root of a forked block is %s, not %s", got, forked.StateRoot)
	}
	for _, traits := range []Traits{{NoProofs: true}, {Keep: 2}} {
		h.SetTraits(traits)
		refused(t, h, "eth_getProof", zeroAddr, []string{}, "0x1")
	}
	if a := ask(t, newReader(t), "eth_getProof", zeroAddr, []string{}, "latest"); a.Error == nil || a.Error.Code != codeMethod {
		t.Errorf("a chain without proofs says %s", a.Result)
	}
	cfg := provenConfig()
	cfg.Blocks, cfg.TxsPerBlock = 1001, 50
	if _, err := evmchain.New(cfg); !errors.Is(err, evmchain.ErrConfig) || !strings.Contains(err.Error(), "state proofs") {
		t.Errorf("a chain too large for proofs: %v", err)
	}
}
