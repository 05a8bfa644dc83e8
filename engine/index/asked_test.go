package index

import (
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// TestSaidAfterRestart: what contracts said is found whether it was put by this
// process or by one before it, and is not looked for of other tokens.
func TestSaidAfterRestart(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	gen := indextest.New(indextest.Config{Seed: 5, Txs: 4})
	commit(t, c, gen.Blocks(4), 2)
	holders := gen.Accounts()[:3]
	tokens := []evm.Address{{0xff}, {1}, {0xff, 0xff, 19: 0xff}}
	var list []SaidBalance
	for i, token := range tokens {
		for k, h := range holders {
			for height := range uint64(3) {
				list = append(list, SaidBalance{Token: token, Holder: h, Height: height, Amount: *uint256.NewInt(uint64(100*i+10*k) + height)})
			}
		}
	}
	if err := c.PutSaid(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v := at(t, c, nil)
		for i := range list {
			s := &list[i]
			if got, known, err := v.Said(s.Token, s.Holder, s.Height); err != nil || !known || got != *s {
				t.Errorf("%v, %v, %v, want %v", got, known, err, *s)
			}
		}
		if _, known, err := v.Said(evm.Address{2}, holders[0], 3); known || err != nil {
			t.Errorf("known %v, %v", known, err)
		}
		c = reopen(t, c)
	}
}
