package index

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// A page that is full when the walk over newest balances gives up in favour of the
// one by lengths is not the last one.
func TestSparseHolders(t *testing.T) {
	t.Parallel()
	token := evm.Address{9}
	var tx evm.Tx
	holders := uint32(3*sparse + 10)
	for i := range holders {
		l := evm.Log{Index: i, Address: token, Topics: []evm.Hash{topic("Transfer(address,address,uint256)"), {}, {}}, Data: make([]byte, 32)}
		binary.BigEndian.PutUint32(l.Topics[2][12:], i+1)
		l.Data[31] = 1
		if i == 0 || i == holders-1 {
			l.Data[15] = 1
		}
		tx.Logs = append(tx.Logs, l)
	}
	c := openChain(t, Options{})
	commit(t, c, []*evm.Block{{Hash: evm.Hash{1}}, {Number: 1, Parent: evm.Hash{1}, Hash: evm.Hash{2}, Txs: []evm.Tx{tx}}}, 2)
	v := at(t, c, nil)
	found, after := 0, []byte(nil)
	for range holders {
		list, next, err := v.Holders(token, uint256.Int{0, 1}, Frame{End: math.MaxUint64}, Page{Limit: 1, After: after})
		if err != nil {
			t.Fatal(err)
		}
		found += len(list)
		if after = next; next == nil {
			break
		}
	}
	if found != 2 {
		t.Errorf("%d holders, want 2", found)
	}
}
