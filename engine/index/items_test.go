package index

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// collected is what the moves of the oracle leave of tokens with IDs.
type collected struct {
	units  map[string]*big.Int    // holder, token, ID; the zero address has how many there are
	doubt  map[string]bool        // contracts of which a transfer cannot have been
	owners map[string]evm.Address // token, ID
	// single are the tokens of ERC-721, by token and ID.
	single map[string]bool
}

func idText(id *big.Int) string { return fmt.Sprintf("%064x", id) }

func (o *oracle) collect() *collected {
	c := &collected{map[string]*big.Int{}, map[string]bool{}, map[string]evm.Address{}, map[string]bool{}}
	for _, m := range o.moves {
		nft := string(m.token[:]) + idText(m.id)
		switch {
		case m.kind == 721:
			c.doubt[string(m.token[:])] = c.doubt[string(m.token[:])] || c.owners[nft] != m.from
			c.owners[nft], c.single[nft] = m.to, true
		case m.kind == 1155 && m.amount.Sign() > 0:
			add := func(who evm.Address, n *big.Int) {
				key := string(who[:]) + nft
				old := c.units[key]
				if old == nil {
					old = new(big.Int)
				}
				sum := new(big.Int).Add(old, n)
				if sum.Sign() < 0 {
					sum.SetInt64(0)
					c.doubt[string(m.token[:])] = true
				}
				c.units[key] = sum
			}
			less := new(big.Int).Neg(m.amount)
			if m.from == (evm.Address{}) {
				less.Set(m.amount) // minted
			}
			more := new(big.Int).Set(m.amount)
			if m.to == (evm.Address{}) {
				more.Neg(more) // burnt
			}
			add(m.from, less)
			add(m.to, more)
		}
	}
	return c
}

// items are the ERC-1155 balances of an address as texts, in their order. Nobody has what
// was burnt.
func (c *collected) items(a evm.Address, contract *evm.Address) []string {
	list := []string{}
	if a == (evm.Address{}) {
		return list
	}
	for key, n := range c.units {
		if key[:20] == string(a[:]) && n.Sign() > 0 && (contract == nil || key[20:40] == string(contract[:])) {
			list = append(list, fmt.Sprintf("%x %s %s %v", key[20:40], key[40:], n, c.doubt[key[20:40]]))
		}
	}
	slices.Sort(list)
	return list
}

// collection returns the tokens of a contract and its holders with the number of theirs.
func (c *collected) collection(token evm.Address) (tokens, holders []string) {
	held := map[string]int{}
	for nft, owner := range c.owners {
		if nft[:20] == string(token[:]) && owner != (evm.Address{}) {
			tokens = append(tokens, nft[20:]+" ERC-721")
			held[fmt.Sprintf("%x", owner[:])]++
		}
	}
	for key, n := range c.units {
		if key[20:40] != string(token[:]) || n.Sign() == 0 {
			continue
		}
		if key[:20] == string(make([]byte, 20)) {
			tokens = append(tokens, key[40:]+" ERC-1155")
		} else {
			held[fmt.Sprintf("%x", key[:20])]++
		}
	}
	for who, n := range held {
		holders = append(holders, fmt.Sprint(who, " ", n))
	}
	slices.Sort(tokens)
	slices.Sort(holders)
	return tokens, holders
}

func compareItems(t *testing.T, v *View, o *oracle, limit int) {
	t.Helper()
	if !v.at.has(store.TableItems) || v.from[partSums] > 0 {
		return
	}
	c, p := o.collect(), Page{Limit: limit}
	for a := range o.byAddr {
		for _, contract := range []*evm.Address{nil, &indextest.Items[0]} {
			got := texts(all(t, p, func(p Page) ([]ItemBalance, []byte, error) { return v.Items(a, contract, p) }), func(b *ItemBalance) string {
				return fmt.Sprintf("%x %s %s %v", b.Token[:], idText(b.ID.ToBig()), b.Amount.Dec(), b.Doubtful)
			})
			mustEqual(t, "items of "+a.String(), got, c.items(a, contract))
		}
	}
	for _, token := range append(append(slices.Clone(indextest.Arts[:]), indextest.Items[:]...), indextest.Odd, evm.Address{1}) {
		compareCollection(t, v, c, token, p)
	}
}

func compareCollection(t *testing.T, v *View, c *collected, token evm.Address, p Page) {
	t.Helper()
	tokens, holders := c.collection(token)
	got := texts(all(t, p, func(p Page) ([]SeenNFT, []byte, error) { return v.Minted(token, p) }), func(n *SeenNFT) string {
		if kind, found, err := v.NFTKind(n.NFT); !found || err != nil || kind != n.Kind {
			t.Fatalf("%+v: %v, %v, %v", n, kind, found, err)
		}
		return idText(n.ID.ToBig()) + " " + n.Kind.String()
	})
	mustEqual(t, "tokens of "+token.String(), got, tokens)
	got = texts(all(t, p, func(p Page) ([]Holder, []byte, error) { return v.NFTHolders(token, p) }), func(h *Holder) string {
		return fmt.Sprintf("%x %s", h.Address[:], h.Balance.Dec())
	})
	mustEqual(t, "holders of "+token.String(), got, holders)
	sum, _, err := v.Collection(token)
	if err != nil || sum != (Collection{uint64(len(holders)), uint64(len(tokens)), c.doubt[string(token[:])]}) {
		t.Fatalf("collection %s: %+v, want %d holders of %d tokens, %v", token, sum, len(holders), len(tokens), err)
	}
}

// TestItems: balances, holders and tokens are those of the moves, at each height.
func TestItems(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 41, Txs: 14, Accounts: 9, Full: true}).Blocks(60)
	c := openChain(t, Options{Remember: 40})
	commit(t, c, blocks, 7)
	for _, height := range []uint64{0, 7, 31, 58, 59} {
		v := at(t, c, &height)
		o := recompute(blocks, height)
		for _, limit := range []int{1, 3, 1000} {
			compareItems(t, v, o, limit)
		}
		v.Close()
	}
	o := recompute(blocks, 59).collect()
	if tokens, holders := o.collection(indextest.Items[0]); len(tokens) < 3 || len(holders) < 5 || len(o.doubt) == 0 {
		t.Errorf("only %d tokens of %d holders, %d doubtful", len(tokens), len(holders), len(o.doubt))
	}
}

// itemLog is a log of a single ERC-1155 transfer.
func itemLog(token, from, to evm.Address, id uint64, amount *uint256.Int) evm.Log {
	data := uint256.NewInt(id).Bytes32()
	value := amount.Bytes32()
	return evm.Log{Address: token, Topics: []evm.Hash{topicTransferSingle, {}, padded(from), padded(to)}, Data: append(data[:], value[:]...)}
}

// artLog is the log of an ERC-721 transfer.
func artLog(token, from, to evm.Address, id uint64) evm.Log {
	return evm.Log{Address: token, Topics: []evm.Hash{topicTransfer, padded(from), padded(to), uint256.NewInt(id).Bytes32()}}
}

// TestItemsOdd: of contracts that do what none should, holders and tokens stay those
// that lists have, and balances are in doubt.
func TestItemsOdd(t *testing.T) {
	t.Parallel()
	token, a, b := evm.Address{9}, evm.Address{1}, evm.Address{2}
	most := new(uint256.Int).SetAllOne()
	one := uint256.NewInt(1)
	art := func(from, to evm.Address, id uint64) evm.Log { return artLog(token, from, to, id) }
	possible := []string{"nothing moved", "to oneself", "from nobody to nobody"}
	for name, logs := range map[string][]evm.Log{
		"more than there can be": {itemLog(token, evm.Address{}, a, 1, most), itemLog(token, evm.Address{}, a, 1, most), itemLog(token, a, b, 1, most)},
		"burnt before minted":    {itemLog(token, a, evm.Address{}, 1, one), itemLog(token, b, a, 2, one), itemLog(token, evm.Address{}, b, 1, one)},
		"nothing moved":          {itemLog(token, a, b, 1, new(uint256.Int)), itemLog(token, evm.Address{}, b, 2, new(uint256.Int))},
		"to oneself":             {itemLog(token, evm.Address{}, a, 1, one), itemLog(token, a, a, 1, one), art(evm.Address{}, b, 5), art(b, b, 5)},
		"from nobody to nobody":  {itemLog(token, evm.Address{}, evm.Address{}, 1, one), art(evm.Address{}, evm.Address{}, 2)},
		"minted twice":           {art(evm.Address{}, a, 1), art(evm.Address{}, b, 1), art(a, evm.Address{}, 1), art(evm.Address{}, a, 1)},
		"of another's":           {art(evm.Address{}, a, 1), art(b, evm.Address{7}, 1)},
		"both standards":         {art(evm.Address{}, a, 1), itemLog(token, evm.Address{}, b, 1, one), art(b, a, 1), itemLog(token, a, evm.Address{}, 1, one)},
		"last by the other":      {art(evm.Address{}, a, 1), itemLog(token, evm.Address{}, b, 1, one)},
	} {
		apart := make([][]evm.Log, len(logs))
		for i := range logs {
			apart[i] = []evm.Log{logs[i]}
		}
		for _, blocks := range [][]*evm.Block{moving(logs), moving(apart...)} {
			c := openChain(t, Options{})
			commit(t, c, blocks, 2)
			v := at(t, c, nil)
			sum, _, err := v.Collection(token)
			tokens, _, err2 := v.Minted(token, Page{Limit: 100})
			holders, _, err3 := v.NFTHolders(token, Page{Limit: 100})
			if err := errorsOf(err, err2, err3); err != nil || sum != (Collection{uint64(len(holders)), uint64(len(tokens)), !slices.Contains(possible, name)}) {
				t.Errorf("%s: %+v, but %d holders of %d tokens, %v", name, sum, len(holders), len(tokens), err)
			}
			v.Close()
		}
	}
}

// TestItemsDoubtful: once a transfer cannot have been, what its contract's transfers
// say of balances is in doubt, whoever's and of whichever ID, and not before. That
// something is minted again is nothing that a multi token may not do.
func TestItemsDoubtful(t *testing.T) {
	t.Parallel()
	none, a, b, n := evm.Address{}, evm.Address{1}, evm.Address{2}, uint256.NewInt
	items, art, arts := evm.Address{8}, evm.Address{9}, evm.Address{10}
	blocks := moving(
		[]evm.Log{itemLog(items, none, a, 4, n(1)), itemLog(items, none, a, 4, n(1)), itemLog(items, none, a, 4, n(1)),
			artLog(art, none, a, 1), artLog(arts, none, a, 1)},
		[]evm.Log{artLog(art, a, b, 1), artLog(arts, a, b, 1)},
		[]evm.Log{itemLog(items, a, b, 99, n(1)), artLog(art, a, b, 2)},
		[]evm.Log{itemLog(items, none, a, 5, n(1)), artLog(art, none, a, 3), artLog(arts, b, a, 1)},
	)
	c := openChain(t, Options{})
	commit(t, c, blocks, 2)
	text := func(b *ItemBalance) string {
		return fmt.Sprintf("%d/%s:%s %v", b.Token[0], b.ID.Dec(), b.Amount.Dec(), b.Doubtful)
	}
	for height, want := range [][]string{
		{"8/4:3 false", "9/1:1 false", "10/1:1 false"},
		{"8/4:3 false", "9/1:1 false", "10/1:1 false"},
		{"8/4:3 true", "8/99:1 true", "9/1:1 true", "9/2:1 true", "10/1:1 false"},
		{"8/4:3 true", "8/5:1 true", "8/99:1 true", "9/1:1 true", "9/2:1 true", "9/3:1 true", "10/1:1 false"},
	} {
		number := uint64(height)
		v := at(t, c, &number)
		var got []string
		for _, who := range []evm.Address{a, b} {
			for _, list := range []func(evm.Address, *evm.Address, Page) ([]ItemBalance, []byte, error){v.Items, v.NFTs} {
				got = append(got, texts(all(t, Page{Limit: 1}, func(p Page) ([]ItemBalance, []byte, error) { return list(who, nil, p) }), text)...)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		mustEqual(t, fmt.Sprint("balances at ", height), got, want)
		v.Close()
	}
}

// TestItemsBefore: rows of version 1, whose balances had doubts each and collections
// none, are read and added to until they are made again.
func TestItemsBefore(t *testing.T) {
	t.Parallel()
	token, a := evm.Address{8}, evm.Address{1}
	c := openChain(t, Options{})
	blocks := moving([]evm.Log{itemLog(token, evm.Address{}, a, 1, uint256.NewInt(2))}, []evm.Log{itemLog(token, a, evm.Address{2}, 7, uint256.NewInt(1))})
	commit(t, c, blocks[:1], 1)
	at0 := func(table byte) key { return c.last.Load().places.key(table) }
	if err := c.putRows(row{at0(store.TableItems).addr(&a).addr(&token).word(uint256.NewInt(1).Bytes32()).u64(^uint64(0)), []byte{itemDoubtful, 2}},
		row{at0(store.TableCollections).addr(&token).u64(^uint64(0)), []byte{1, 1}}); err != nil {
		t.Fatal(err)
	}
	c = reopen(t, c) // it remembers what it wrote
	for height, want := range []Collection{{1, 1, false}, {2, 1, true}} {
		if height > 0 {
			commit(t, c, blocks[height:height+1], 1)
		}
		v := at(t, c, nil)
		sum, _, err := v.Collection(token)
		list, _, err2 := v.Items(a, nil, Page{Limit: 2})
		if err := errorsOf(err, err2); err != nil || sum != want || len(list) != 1 || !list[0].Doubtful {
			t.Errorf("at %d: %+v, %+v, %v", height, sum, list, err)
		}
		v.Close()
	}
}

// TestItemsFilled: a folder without these tables says so, and is filled.
func TestItemsFilled(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 42, Txs: 8}).Blocks(40)
	c, clean := begun(t, blocks[:30], 0), begun(t, blocks, 0)
	c = younger(t, c, blocks[:30])
	if at(t, c, nil).SumsNFTs() {
		t.Error("balances are known that were never made")
	}
	commit(t, c, blocks[30:35], 2)
	rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
	commit(t, c, blocks[35:], 2)
	v := at(t, c, nil)
	if !v.SumsNFTs() {
		t.Error("balances are not known")
	}
	compareItems(t, v, recompute(blocks, 39), 5)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}
