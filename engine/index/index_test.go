package index

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

func commit(t testing.TB, c *Chain, blocks []*evm.Block, group int) {
	t.Helper()
	for len(blocks) > 0 {
		n := min(group, len(blocks))
		if err := c.Commit(t.Context(), blocks[:n]); err != nil {
			t.Fatal(err)
		}
		blocks = blocks[n:]
	}
}

func at(t testing.TB, c *Chain, tip *uint64) *View {
	t.Helper()
	v, err := c.At(tip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// The index says what a plain recomputation says, now and as of any height,
// for any group size and with hardly any cache.
func TestOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	for seed, cfg := range []struct {
		group, remember, limit int
	}{{7, 4, 3}, {300, 4, 1}, {1, 0, 7}, {64, 20, 100}} {
		n := uint64(torture.Pick(60, 100))
		blocks := indextest.New(indextest.Config{Seed: uint64(seed), Txs: torture.Pick(4, 6)}).Blocks(int(n))
		c := openChain(t, Options{Remember: cfg.remember})
		commit(t, c, blocks, cfg.group)
		if last, hash, ok := c.Cursor(); !ok || last != n-1 || hash != blocks[n-1].Hash {
			t.Fatalf("cursor %d %s %v", last, hash, ok)
		}
		for _, height := range []uint64{0, 1, n * 2 / 5, n - 3, n - 1} {
			v := at(t, c, &height)
			if v.Tip() != (evm.Head{Number: height, Hash: blocks[height].Hash, TimeMilli: blocks[height].TimeMilli}) {
				t.Fatalf("tip %+v", v.Tip())
			}
			compare(t, v, recompute(blocks, height), cfg.limit)
			v.Close()
		}
	}
}

// How blocks are grouped leaves no trace in the database, nor does a restart.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 9, Txs: torture.Pick(7, 20)}).Blocks(120)
	var want [32]byte
	for i, group := range []int{1, 50, 7, 120} {
		c := openChain(t, Options{Remember: 10 * i})
		half := blocks[:60]
		commit(t, c, half, group)
		again, err := Open(c.db, c.id, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, again, blocks[60:], group)
		got, err := again.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = got
		}
		if got != want {
			t.Errorf("groups of %d give another database", group)
		}
	}
}

// A view does not change while blocks are committed, and its pages give each
// row of its tip once, also when each page is read in a new view of that tip.
func TestPinned(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 3, Txs: 8}).Blocks(70)
	c := openChain(t, Options{})
	commit(t, c, blocks[:45], 10)
	height := uint64(40)
	old := at(t, c, &height)
	done := make(chan error)
	go func() { done <- c.Commit(context.Background(), blocks[45:]) }()
	want := recompute(blocks[:45], 40) // old knows of no later ones
	a := want.txs[len(want.txs)-1].tx.From
	for _, asc := range []bool{false, true} {
		p := Page{Limit: 3, Ascending: asc, To: ^uint64(0)}
		got := all(t, p, func(p Page) ([]string, []byte, error) {
			v := at(t, c, &height)
			defer v.Close()
			return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.AddressTxs(a, p, take) },
				func(tx *Tx) string { return gotPart(tx, a) })
		})
		mustEqual(t, "pinned", got, wantedAs(want.byAddr[a], !asc, func(tx *oracleTx) string { return tx.part(a) }))
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	compare(t, old, want, 50)
	compare(t, at(t, c, nil), recompute(blocks, 69), 50)
}

// A block whose rows do not fit one transaction is written in several.
func TestLargeBlock(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	gen := indextest.New(indextest.Config{Seed: 5, Txs: 3})
	blocks := gen.Blocks(4)
	txs := 1700
	big := indextest.New(indextest.Config{Seed: 6, Txs: txs, Full: true, Accounts: 800})
	big.Block() // the empty one
	giant := big.Block()
	giant.Number, giant.Parent = 4, blocks[3].Hash
	next := &evm.Block{Number: 5, Parent: giant.Hash, Hash: evm.Hash{5}}
	blocks = append(blocks, giant, next)
	c, one := openAlone(t, Options{Remember: 100}), openAlone(t, Options{})
	commit(t, c, blocks, 6)
	if n, most := countRows(t, c), c.rowsMax; n <= most {
		t.Fatalf("%d rows may fit a transaction, which takes %d", n, most)
	}
	v := at(t, c, nil)
	if got := len(all(t, Page{Limit: 500, To: 5}, func(p Page) ([]string, []byte, error) {
		return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.LatestTxs(p, nil, take) }, gotHead)
	})); got < txs {
		t.Errorf("%d transactions", got)
	}
	commit(t, one, blocks, 1)
	a, errA := c.Digest(t.Context())
	b, errB := one.Digest(t.Context())
	if errA != nil || errB != nil || a != b {
		t.Errorf("digests differ: %v %v", errA, errB)
	}
}

// Rows of a block that was written in part, before a crash, show nowhere and
// change nothing.
func TestHalfABlock(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 11, Txs: 7, Full: true}).Blocks(40)
	c := openChain(t, Options{})
	commit(t, c, blocks[:30], 10)
	// Write all rows of the following blocks, but no cursor.
	s, err := c.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newStored(c.maker, s, 30)
	if err != nil {
		t.Fatal(err)
	}
	b := c.maker.builder
	b.begin(p)
	for _, blk := range blocks[30:33] {
		if err := b.apply(blk); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if err := c.putMeta(t.Context(), b.rows.list); err != nil {
		t.Fatal(err)
	}
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, at(t, again, nil), recompute(blocks[:33], 29), 20)
	commit(t, again, blocks[30:], 4)
	compare(t, at(t, again, nil), recompute(blocks, 39), 20)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 40)
	x, errX := again.Digest(t.Context())
	y, errY := clean.Digest(t.Context())
	if errX != nil || errY != nil || x != y {
		t.Errorf("digests differ: %v %v", errX, errY)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	gen := indextest.New(indextest.Config{Seed: 1, Txs: 3, Full: true})
	blocks := gen.Blocks(10)
	c := openChain(t, Options{})
	if _, err := c.At(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("view of an empty chain: %v", err)
	}
	commit(t, c, blocks[:5], 5)
	before, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad := func(name string, change func(list []*evm.Block)) {
		list := []*evm.Block{}
		for _, b := range blocks[5:8] {
			cp := *b
			cp.Txs = append([]evm.Tx(nil), b.Txs...)
			list = append(list, &cp)
		}
		change(list)
		if err := c.Commit(t.Context(), list); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad("gap", func(l []*evm.Block) { l[0].Number++ })
	bad("gap inside", func(l []*evm.Block) { l[1].Number++ })
	bad("wrong parent", func(l []*evm.Block) { l[0].Parent[3]++ })
	bad("wrong parent inside", func(l []*evm.Block) { l[2].Parent[3]++ })
	bad("transaction index", func(l []*evm.Block) { l[2].Txs[1].Index = 7 })
	bad("log index", func(l []*evm.Block) { l[1].Txs[0].Logs = []evm.Log{{Index: 3}, {Index: 3}} })
	if after, err := c.Digest(t.Context()); err != nil || after != before {
		t.Errorf("a refused commit left traces: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Commit(ended, blocks[5:]); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	commit(t, c, blocks[5:], 2)
	if err := c.Commit(t.Context(), nil); err != nil {
		t.Errorf("nothing to commit: %v", err)
	}
	high := uint64(10)
	if _, err := c.At(&high); !errors.Is(err, ErrAbove) {
		t.Errorf("view above the tip: %v", err)
	}
	v := at(t, c, nil)
	for name, err := range map[string]error{
		"position": last(v.LatestTxs(Page{After: []byte{1}, Limit: 1, To: 9}, nil, nil)),
		"balances": second(v.TokenBalances(evm.Address{}, nil, Page{After: []byte{1}, Limit: 1})),
		"nfts":     second(v.NFTs(evm.Address{}, nil, Page{After: []byte{1}, Limit: 1})),
	} {
		if !errors.Is(err, ErrPosition) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := last(v.AddressTransfers(evm.Address{}, ERC20, Page{Limit: 1}, nil)); !errors.Is(err, ErrKind) {
		t.Errorf("kind: %v", err)
	}
}

func second[T any](_ []T, _ []byte, err error) error { return err }
func last(_ []byte, err error) error                 { return err }

// Where a block was not traced native balances are not known until the account
// changes again, and what it had before that tells of the time since the gap.
func TestUntraced(t *testing.T) {
	t.Parallel()
	gen := indextest.New(indextest.Config{Seed: 2, Txs: 5, Full: true})
	blocks := gen.Blocks(20)
	for _, b := range blocks[12:14] {
		b.Traced, b.Balances = false, nil
		for i := range b.Txs {
			b.Txs[i].Calls, b.Txs[i].Failure = nil, nil
		}
	}
	c := openChain(t, Options{})
	commit(t, c, blocks, 3)
	miner := blocks[1].Miner
	for height, want := range map[uint64]bool{5: true, 11: true, 12: false, 13: true, 19: true} {
		if _, known, err := at(t, c, &height).NativeBalance(miner); err != nil || known != want {
			t.Errorf("height %d: %v, %v", height, known, err)
		}
	}
	if got := c.Gaps(); !slices.Equal(got, []Gap{{12, 13}}) {
		t.Errorf("gaps: %v", got)
	}
	tx := blocks[12].Txs[0]
	if got, found, err := at(t, c, nil).Tx(tx.Hash); err != nil || !found || got.Traced {
		t.Errorf("untraced transaction: %+v, %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 4, Txs: 20, Full: true}).Blocks(60)
	var told int
	c := openChain(t, Options{OnSeen: func(tokens []SeenToken, nfts []SeenNFT) { told += len(tokens) + len(nfts) }})
	commit(t, c, blocks, 10)
	o := recompute(blocks, 59)
	want := map[evm.Address]bool{}
	minted := map[string]bool{}
	for _, m := range o.moves {
		want[m.token] = true
		if m.kind != 20 && m.from == (evm.Address{}) {
			minted[m.token.String()+m.id.String()] = true
		}
	}
	v := at(t, c, nil)
	tokens := all(t, Page{Limit: 2}, v.TokensWithoutMeta)
	nfts := all(t, Page{Limit: 2}, v.NFTsWithoutURI)
	if len(tokens) != len(want) || len(nfts) != len(minted) || told < len(want)+len(minted) {
		t.Fatalf("%d tokens of %d, %d NFTs of %d, told of %d", len(tokens), len(want), len(nfts), len(minted), told)
	}
	meta := TokenMeta{Kind: ERC20, Name: "Ünit", Symbol: "U", Decimals: 6, HasDecimals: true}
	version := c.TokenVersion()
	if err := c.PutTokens(t.Context(), map[evm.Address]TokenMeta{tokens[0].Token: meta}); err != nil || c.TokenVersion() == version {
		t.Fatal(err)
	}
	if uri, known, err := v.TokenURI(nfts[0].Token, nfts[0].ID); err != nil || known {
		t.Errorf("URI %q, %v, %v before any is known", uri, known, err)
	}
	if err := c.PutTokenURIs(t.Context(), map[NFT]string{nfts[0].NFT: "ipfs://1"}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(c.db, c.id, Options{}) // as after a restart
	if err != nil {
		t.Fatal(err)
	}
	if uri, known, err := at(t, again, nil).TokenURI(nfts[0].Token, nfts[0].ID); err != nil || !known || uri != "ipfs://1" {
		t.Errorf("URI %q, %v, %v when opened again", uri, known, err)
	}
	v = at(t, c, nil)
	if got, known, err := v.Token(tokens[0].Token); err != nil || !known || got != meta {
		t.Errorf("token %+v, %v, %v", got, known, err)
	}
	if got, known, err := v.TokenURI(nfts[0].Token, nfts[0].ID); err != nil || !known || got != "ipfs://1" {
		t.Errorf("URI %q, %v, %v", got, known, err)
	}
	if _, known, err := v.TokenURI(nfts[0].Token, *uint256.NewInt(1 << 60)); err != nil || known {
		t.Errorf("unknown URI: %v, %v", known, err)
	}
	if n, m := len(all(t, Page{Limit: 50}, v.TokensWithoutMeta)), len(all(t, Page{Limit: 50}, v.NFTsWithoutURI)); n != len(tokens)-1 || m != len(nfts)-1 {
		t.Errorf("%d tokens and %d NFTs are left", n, m)
	}
}

// Two chains in one database know nothing of each other.
func TestTwoChains(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	var chains []*Chain
	var lists [][]*evm.Block
	for i := range 2 {
		c, err := Open(db, chain.ID{byte(i)}, Options{Wrapped: []evm.Address{indextest.Wrapped}})
		if err != nil {
			t.Fatal(err)
		}
		chains = append(chains, c)
		lists = append(lists, indextest.New(indextest.Config{Seed: uint64(i), Txs: 5}).Blocks(50))
	}
	for n := 0; n < 50; n += 10 {
		commit(t, chains[0], lists[0][n:n+10], 5)
		commit(t, chains[1], lists[1][n:n+10], 10)
	}
	for i, c := range chains {
		compare(t, at(t, c, nil), recompute(lists[i], 49), 11)
	}
}
