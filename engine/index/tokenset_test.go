package index

import (
	"testing"

	"quorate/engine/chain/evm"
)

// TestTokenSet: every token is in the set, also after the chain was opened again,
// and few others are.
func TestTokenSet(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	commit(t, c, []*evm.Block{{Hash: evm.Hash{1}}}, 1)
	tokens := map[evm.Address]TokenMeta{}
	for i := range 3000 {
		tokens[evm.CreateAddress(evm.Address{1}, uint64(i))] = TokenMeta{Name: "a"}
	}
	if err := c.PutTokens(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	again, err := Open(c.db, c.id, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Chain{c, again} {
		v := at(t, c, nil)
		for a := range tokens {
			if _, known, err := v.Token(a); !known || err != nil || !v.MayBeToken(&a) {
				t.Fatalf("%s: %v %v", a, known, err)
			}
		}
		wrong := 0
		for i := range 3000 {
			a := evm.CreateAddress(evm.Address{2}, uint64(i))
			if v.MayBeToken(&a) {
				wrong++
			}
		}
		if wrong > 10 {
			t.Errorf("%d of 3,000 may be tokens", wrong)
		}
	}
}

// TestTokenSetGrows: what was added is never denied, however much that is, and of few
// tokens nearly everything else is.
func TestTokenSetGrows(t *testing.T) {
	t.Parallel()
	var s tokenSet
	named := func(i int) evm.Address { return evm.Address{byte(i), byte(i >> 8), byte(i >> 16), 19: 7} }
	for _, c := range []struct{ n, wrong int }{{100, 100}, {4 * smallSetMax, 1000}} {
		for i := range c.n {
			a := named(i)
			s.add(&a)
		}
		for i := range c.n {
			if a := named(i); !s.may(&a) {
				t.Fatalf("%d of %d is denied", i, c.n)
			}
		}
		taken := 0
		for i := range 10_000 {
			if a := named(1<<20 + i); s.may(&a) {
				taken++
			}
		}
		if taken > c.wrong {
			t.Errorf("%d tokens: %d of 10,000 others are taken for one", c.n, taken)
		}
	}
}
