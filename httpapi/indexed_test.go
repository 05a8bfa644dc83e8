package httpapi

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// indexed returns a server over an index of n blocks of ten transactions.
func indexed(t testing.TB, n uint64) (*Server, *testChain) {
	t.Helper()
	c := emptyOf(sampleInfo())
	c.alias = "C"
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{c}, TokenKey: []byte("the key of all tests")})
	if err != nil {
		t.Fatal(err)
	}
	if resp := get(s, base+"/transactions"); resp.StatusCode() != 503 {
		t.Errorf("before the first block: %d %s", resp.StatusCode(), resp.Body())
	}
	c.commit(t, n)
	return s, c
}

// commit adds n blocks of ten transactions.
func (c *testChain) commit(t testing.TB, n uint64) {
	t.Helper()
	first := uint64(len(c.blocks))
	for i := range n {
		c.blocks = append(c.blocks, busyBlock(first+i))
	}
	if err := c.x.Commit(t.Context(), c.blocks[first:]); err != nil {
		t.Fatal(err)
	}
}

// busyBlock has ten transactions of alice, each with an ERC-20 transfer and an
// ERC-721 mint, every third failed.
func busyBlock(number uint64) *evm.Block {
	b := &evm.Block{Number: number, Hash: numbered(number, 0xb), TimeMilli: number * 1000, Traced: true}
	if number > 0 {
		b.Parent = numbered(number-1, 0xb)
	}
	word := func(a evm.Address) (h evm.Hash) { copy(h[12:], a[:]); return h }
	transfer := evm.Keccak([]byte("Transfer(address,address,uint256)"))
	for i := range uint32(10) {
		tx := evm.Tx{Index: i, Hash: txHash(number, byte(i)), From: alice, To: gold, Input: make([]byte, 68), GasLimit: 60000,
			GasUsed: 51234, GasPrice: *uint256.NewInt(25_000_000_000), Failed: i%3 == 2}
		if !tx.Failed {
			data := numbered(0, 7)
			nft := evm.Hash{}
			binary.BigEndian.PutUint64(nft[24:], number*10+uint64(i))
			tx.Logs = []evm.Log{
				{Index: 2 * i, Address: gold, Topics: []evm.Hash{transfer, word(bob), word(alice)}, Data: data[:]},
				{Index: 2*i + 1, Address: art, Topics: []evm.Hash{transfer, word(evm.Address{}), word(alice), nft}},
			}
		}
		b.Txs = append(b.Txs, tx)
	}
	b.Balances = []evm.Balance{{Address: alice, Wei: *uint256.NewInt(1_000_000 + number)}}
	return b
}

// txHash differs in its first bytes, as real hashes do: the index looks for those.
func txHash(number uint64, i byte) evm.Hash {
	h := numbered(number, i)
	return evm.Keccak(h[:])
}

// TestBalancesAt: balances are those after the block that is asked for.
func TestBalancesAt(t *testing.T) {
	t.Parallel()
	const tip = 11
	s, _ := indexed(t, tip+1)
	for _, at := range []uint64{0, 1, 5, tip} {
		var body struct {
			NativeTokenBalance struct{ Balance string }
			Erc20TokenBalances []struct{ Balance string }
		}
		getJSON(t, s, fmt.Sprintf("%s/balances:listErc20?blockNumber=%d", asAlice, at), &body)
		if got, want := body.NativeTokenBalance.Balance, fmt.Sprint(1_000_000+at); got != want {
			t.Errorf("block %d: native balance %s, want %s", at, got, want)
		}
		want := new(big.Int).Mul(new(big.Int).SetUint64(7*7), new(big.Int).SetUint64(at+1))
		if len(body.Erc20TokenBalances) != 1 || body.Erc20TokenBalances[0].Balance != want.String() {
			t.Errorf("block %d: balances %v, want %s", at, body.Erc20TokenBalances, want)
		}
	}
	expect(t, s, fmt.Sprintf("%s/balances:getNative?blockNumber=%d", asAlice, tip+1), 404, "does not exist")
	expect(t, s, base+"/transactions/"+txHash(5, 77).String(), 404, "does not exist")
}

// TestAnswersOutliveBlocks: a kept page stays good over blocks that bring nothing
// to it, and goes with the first one that does.
func TestAnswersOutliveBlocks(t *testing.T) {
	t.Parallel()
	s, c := indexed(t, 3)
	outlives := func(path string, quietly bool) {
		t.Helper()
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetRequestURI(path)
		k := s.desk.Answers.Key(ctx, view.Contract)
		kept := func() bool { return s.desk.Answers.Find(&k, time.Time{}) != nil } // no time passes in tests
		before := string(get(s, path).Body())
		if get(s, path); !kept() {
			t.Fatalf("%s is not kept", path)
		}
		c.grow()
		if kept() != quietly {
			t.Errorf("%s is kept over a block without rows of it: %v", path, kept())
		}
		if got := string(get(s, path).Body()); quietly && got != before {
			t.Errorf("%s is another answer", path)
		}
		c.commit(t, 1)
		if kept() && quietly && string(get(s, path).Body()) != before {
			t.Errorf("%s changed and is kept", path)
		}
	}
	outlives(base+"/tokens/"+gold.String()+"/transfers", true)
	outlives(base+"/blocks/1/transactions", true)
	outlives(base+"/transactions", false)
	outlives(asAlice+"/transactions", false) // it shows who owns NFTs
	path := base + "/tokens/" + gold.String() + "/transfers"
	get(s, path)
	old := string(get(s, path).Body())
	c.commit(t, 1)
	if string(get(s, path).Body()) == old {
		t.Error("a new transfer does not show")
	}
}
