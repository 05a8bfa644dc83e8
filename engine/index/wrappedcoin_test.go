package index

import (
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// A router that wraps coins and forwards them, or receives and unwraps them, ends
// with what it had: deposits, transfers and withdrawals of one transaction count
// in the order of their logs.
func TestWrapAndForward(t *testing.T) {
	t.Parallel()
	user, router := evm.Address{1}, indextest.Router
	wrapping := func(name string, a evm.Address, wad byte) evm.Log {
		l := evm.Log{Address: indextest.Wrapped, Data: make([]byte, 32)}
		l.Topics = []evm.Hash{evm.Keccak([]byte(name + "(address,uint256)")), {}}
		copy(l.Topics[1][12:], a[:])
		l.Data[31] = wad
		return l
	}
	pass := func(from, to evm.Address, wad byte) evm.Log {
		l := wrapping("", from, wad)
		l.Topics = []evm.Hash{topic("Transfer(address,address,uint256)"), l.Topics[1], {}}
		copy(l.Topics[2][12:], to[:])
		return l
	}
	tx := evm.Tx{Hash: evm.Hash{9}, From: user, To: router, Logs: []evm.Log{
		wrapping("Deposit", router, 10), pass(router, user, 10), pass(user, router, 4), wrapping("Withdrawal", router, 4),
	}}
	for i := range tx.Logs {
		tx.Logs[i].Index = uint32(i)
	}
	c := openChain(t, Options{})
	commit(t, c, []*evm.Block{{Hash: evm.Hash{1}}, {Number: 1, Parent: evm.Hash{1}, Hash: evm.Hash{2}, Txs: []evm.Tx{tx}}}, 2)
	v := at(t, c, nil)
	for a, want := range map[evm.Address]uint64{user: 6, router: 0} {
		got, _, err := v.TokenBalances(a, nil, Page{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 && len(got) != 0 || want > 0 && (len(got) != 1 || got[0].Amount.Uint64() != want || got[0].Doubtful) {
			t.Errorf("%s: %+v, want %d", a, got, want)
		}
	}
}
