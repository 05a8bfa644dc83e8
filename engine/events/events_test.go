package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

func openChain(t testing.TB, name string) *index.Chain {
	t.Helper()
	c, _ := openChainIn(t, name)
	return c
}

func openChainIn(t testing.TB, name string) (*index.Chain, *store.DB) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = db.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := db.CloseWithin(time.Minute); err != nil {
			t.Error(err)
		}
	})
	c, err := index.Open(db, chain.ID{1: name[0]}, index.Options{Remember: 100, NoRollup: true})
	if err != nil {
		t.Fatal(err)
	}
	return c, db
}

func commit(t testing.TB, c *index.Chain, blocks ...*evm.Block) {
	t.Helper()
	if err := c.Commit(t.Context(), blocks); err != nil {
		t.Fatal(err)
	}
}

// read is a source of blocks for rewinds.
type read []*evm.Block

func (r read) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, b := range r[from : to+1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// fork returns blocks that follow on those up to a height and are others than before.
func fork(blocks []*evm.Block, to uint64, n int, seed uint64) []*evm.Block {
	other := indextest.New(indextest.Config{Seed: seed, Txs: 4}).Blocks(n + 1)[1:]
	list := slices.Clone(blocks[:to+1])
	for i, b := range other {
		last := list[len(list)-1]
		b.Number, b.Parent, b.TimeMilli = last.Number+1, last.Hash, last.TimeMilli+uint64(i)
		list = append(list, b)
	}
	return list
}

// line is an event as a client notes it.
type line struct {
	height uint64
	text   string
}

func lineOf(e *Event) line {
	l := line{e.Block.Number, fmt.Sprintf("block %d %s", e.Block.Number, e.Block.Hash)}
	switch e.Kind {
	case OfBlock:
	case OfTx:
		l.text = fmt.Sprintf("tx %d %s", e.Block.Number, e.Tx.Hash)
	case OfTransfer:
		l.text = fmt.Sprintf("transfer %d %s %d.%d %s", e.Block.Number, e.Tx.Hash, e.Transfer.LogIndex, e.Transfer.Item, e.Transfer.Token)
	case OfMessage:
		l.text = fmt.Sprintf("message %d %s %d %x", e.Block.Number, e.Tx.Hash, e.Message.LogIndex, e.Message.Unsigned)
	}
	return l
}

// truth is what a client must have noted in the end, found in other ways than by events:
// in lists of the index.
func truth(t testing.TB, c *index.Chain, f Filter) map[string]int {
	t.Helper()
	v, err := c.At(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	want := map[string]int{}
	all := index.Page{Limit: math.MaxInt, Ascending: true, To: math.MaxUint64}
	fail := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for h := uint64(0); h <= v.Tip().Number && (f.Blocks || f.Messages); h++ {
		b, _, err := v.Block(h)
		fail(err)
		if f.Blocks {
			want[fmt.Sprintf("block %d %s", h, b.Hash)]++
		}
		var hashes []evm.Hash
		_, err = v.BlockTxs(h, all, func(tx *index.Tx) bool {
			hashes = append(hashes, tx.Hash)
			return true
		})
		fail(err)
		for _, hash := range hashes {
			list, err := v.WarpMessages(hash)
			fail(err)
			for _, m := range list {
				if f.Messages {
					want[fmt.Sprintf("message %d %s %x", h, hash, m)]++
				}
			}
		}
	}
	for a := range f.Addresses {
		_, err := v.AddressTxs(a, all, func(tx *index.Tx) bool {
			if f.Txs {
				want[fmt.Sprintf("tx %d %s", tx.Block.Number, tx.Hash)] = 1
			}
			for i := range tx.Transfers {
				if tr := &tx.Transfers[i]; f.Transfers && (tr.From == a || tr.To == a) && (len(f.Tokens) == 0 || f.Tokens[tr.Token]) {
					want[fmt.Sprintf("transfer %d %s %d.%d %s", tx.Block.Number, tx.Hash, tr.LogIndex, tr.Item, tr.Token)] = 1
				}
			}
			return true
		})
		fail(err)
	}
	if f.Transfers && len(f.Addresses) == 0 {
		for token := range f.Tokens {
			_, err := v.TokenTransfers(token, all, func(tr *index.AddressedTransfer) bool {
				want[fmt.Sprintf("transfer %d %s %d.%d %s", tr.Tx.Block.Number, tr.Tx.Hash, tr.LogIndex, tr.Item, tr.Token)]++
				return true
			})
			fail(err)
		}
	}
	return want
}

// client follows a chain, loses its connection now and then, and keeps a log.
type client struct {
	t      testing.TB
	rnd    *rand.Rand
	hub    *Hub
	filter Filter
	r      *Follower
	id     string // of the last event it has got
	log    []line
}

// take reads until there is no more, or until the connection is lost.
func (c *client) take() {
	for {
		if c.r == nil {
			at, err := ParsePosition(c.id)
			if err != nil {
				c.t.Fatalf("%q: %v", c.id, err)
			}
			c.r = c.hub.Follow(c.filter, at)
		}
		b, err := c.r.Next(1 + c.rnd.IntN(20))
		if err != nil {
			c.t.Fatalf("at %s: %v", c.id, err)
		}
		if b.Retracted {
			c.log = slices.DeleteFunc(c.log, func(l line) bool { return l.height > b.Stands.Number })
			c.id = b.After.String()
		}
		for i := range b.Events {
			if c.rnd.IntN(60) == 0 { // what was on its way is lost
				c.drop()
				return
			}
			at := b.Events[i].After()
			c.id = at.String()
			c.log = append(c.log, lineOf(&b.Events[i]))
		}
		if c.rnd.IntN(3) == 0 {
			c.id = b.After.String()
		}
		if !b.More {
			return
		}
	}
}

func (c *client) drop() {
	if c.r != nil {
		c.r.Close()
		c.r = nil
	}
}

// check compares the log with the truth.
func (c *client) check(ch *index.Chain) {
	c.t.Helper()
	for {
		before := c.id
		if c.take(); c.r != nil && c.id == before {
			break
		}
	}
	got, last := map[string]int{}, uint64(0)
	for _, l := range c.log {
		if l.height < last {
			c.t.Errorf("%s comes after block %d", l.text, last)
		}
		last = l.height
		text := l.text
		var h uint64
		var hash string
		var log int
		var data string
		if n, _ := fmt.Sscanf(text, "message %d %s %d %s", &h, &hash, &log, &data); n == 4 {
			text = fmt.Sprintf("message %d %s %s", h, hash, data)
		}
		got[text]++
	}
	want := truth(c.t, ch, c.filter)
	for k, n := range want {
		if got[k] != n {
			c.t.Errorf("%s was told %d times, not %d", k, got[k], n)
		}
	}
	for k := range got {
		if want[k] == 0 {
			c.t.Errorf("%s was told, and is not so", k)
		}
	}
	if c.t.Failed() {
		c.t.Fatalf("filter %+v", c.filter)
	}
}

func filters(of *indextest.Chain) []Filter {
	set := func(list ...evm.Address) map[evm.Address]bool {
		m := map[evm.Address]bool{}
		for _, a := range list {
			m[a] = true
		}
		return m
	}
	a := of.Accounts()
	return []Filter{
		{Blocks: true},
		{Blocks: true, Txs: true, Transfers: true, Messages: true, Addresses: set(a[0], a[20])},
		{Txs: true, Addresses: set(a[3], a[4], indextest.Router)},
		{Txs: true, Transfers: true, Addresses: set(a[1])},
		{Transfers: true, Tokens: set(indextest.Coins[0], indextest.Arts[1])},
		{Transfers: true, Tokens: set(indextest.Coins[1]), Addresses: set(a[0], a[1])},
		{Messages: true},
	}
}

// Clients that lose their connections, and whose server is restarted, have each
// event once and in order, though the chain goes back and goes on with other blocks.
func TestFollow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(torture.Pick(1, 60)) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		of := indextest.New(indextest.Config{Seed: seed, Txs: 6})
		blocks := of.Blocks(30)
		c := openChain(t, "follow")
		commit(t, c, blocks...)
		hub := NewHub(c)
		var clients []*client
		for i, f := range filters(of) {
			for j := range torture.Pick(1, 2) {
				start := Before(0)
				clients = append(clients, &client{t: t, rnd: rand.New(rand.NewPCG(seed, uint64(10*i+j))), hub: hub, filter: f, id: start.String()})
			}
		}
		for round := range torture.Pick(16, 60) {
			switch n := rnd.IntN(10); {
			case n < 6:
				next := fork(blocks, uint64(len(blocks)-1), 1+rnd.IntN(4), 1000*(seed+1)+uint64(round))
				commit(t, c, next[len(blocks):]...)
				blocks = next
			case n == 6: // behind all windows
				next := fork(blocks, uint64(len(blocks)-1), windowBlocks+20, 1000*(seed+1)+uint64(round))
				commit(t, c, next[len(blocks):]...)
				blocks = next
			case n == 7:
				hub = NewHub(c)
				for _, cl := range clients {
					cl.drop()
					cl.hub = hub
				}
			default:
				to := uint64(len(blocks)-1) - uint64(rnd.IntN(20))
				if err := c.Rewind(t.Context(), read(blocks), to); err != nil {
					t.Fatal(err)
				}
				blocks = blocks[:to+1]
				if rnd.IntN(2) == 0 {
					for _, cl := range clients {
						cl.take() // sees the chain that is short
					}
				}
				next := fork(blocks, to, 25, 1000*(seed+1)+uint64(round))
				commit(t, c, next[len(blocks):]...)
				blocks = next
			}
			for _, cl := range clients {
				if rnd.IntN(2) == 0 {
					cl.take()
				}
			}
		}
		for _, cl := range clients {
			cl.check(c)
			cl.drop()
		}
		if n := hub.Followers(); n != 0 || hub.blocks != nil {
			t.Errorf("%d followers are left", n)
		}
	}
}

// Many follow a chain at once while it grows.
func TestManyFollow(t *testing.T) {
	t.Parallel()
	of := indextest.New(indextest.Config{Seed: 7, Txs: 3})
	blocks := of.Blocks(torture.Pick(40, 600))
	c := openChain(t, "many")
	commit(t, c, blocks[0])
	hub := NewHub(c)
	last := blocks[len(blocks)-1].Number
	var wg sync.WaitGroup
	for i := range torture.Pick(20, 1000) {
		wg.Go(func() {
			r := hub.Follow(Filter{Blocks: true, Messages: i%2 == 0}, Before(0))
			defer r.Close()
			for next := uint64(0); ; {
				changed := hub.Changed()
				b, err := r.Next(1 + i%7)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range b.Events {
					if e.Kind != OfBlock {
						continue
					}
					if e.Block.Number != next || e.Block.Hash != blocks[next].Hash {
						t.Errorf("block %d after %d", e.Block.Number, next)
						return
					}
					next++
				}
				if next > last {
					return
				}
				if !b.More {
					<-changed
				}
			}
		})
	}
	for _, b := range blocks[1:] {
		commit(t, c, b)
	}
	wg.Wait()
}

// Blocks that rows are read for come in batches that are bounded by what they have, too:
// a client that takes nothing keeps one.
func TestBatchWeight(t *testing.T) {
	t.Parallel()
	const txs = 300
	blocks := indextest.New(indextest.Config{Seed: 3, Txs: txs}).Blocks(40)
	c := openChain(t, "weight")
	commit(t, c, blocks...)
	r := NewHub(c).Follow(Filter{Blocks: true}, Before(0))
	defer r.Close()
	told := 0
	for more := true; more; {
		b, err := r.Next(1000)
		if err != nil {
			t.Fatal(err)
		}
		weight := 0
		for _, e := range b.Events[:max(len(b.Events), 1)-1] {
			if !slices.Contains(r.hub.blocks, e.Block) { // which all share
				weight += e.Block.weight()
			}
		}
		if weight > batchWeight {
			t.Errorf("a batch of %d blocks has %d before its last", len(b.Events), weight)
		}
		told, more = told+len(b.Events), b.More
	}
	if told != len(blocks) {
		t.Errorf("told of %d blocks of %d", told, len(blocks))
	}
}

// A position that the chain has nothing of is lost; one that is ahead of the index
// waits.
func TestLost(t *testing.T) {
	t.Parallel()
	c, other := openChain(t, "lost"), openChain(t, "other")
	blocks := indextest.New(indextest.Config{Seed: 1, Txs: 2}).Blocks(40)
	commit(t, c, blocks...)
	commit(t, other, indextest.New(indextest.Config{Seed: 2, Txs: 2}).Blocks(40)...)
	at, _, err := NewHub(c).Tip()
	if err != nil {
		t.Fatal(err)
	}
	r := NewHub(other).Follow(Filter{Blocks: true}, at)
	defer r.Close()
	if b, err := r.Next(10); !errors.Is(err, ErrLost) {
		t.Errorf("of another chain: %+v, %v", b, err)
	}
	if err := c.Rewind(t.Context(), read(blocks), 20); err != nil {
		t.Fatal(err)
	}
	ahead := NewHub(c).Follow(Filter{Blocks: true}, at)
	defer ahead.Close()
	if b, err := ahead.Next(10); err != nil || b.Retracted || b.More || len(b.Events) > 0 {
		t.Errorf("ahead of the index: %+v, %v", b, err)
	}
	commit(t, c, blocks[21:]...)
	if b, err := ahead.Next(10); err != nil || b.Retracted || len(b.Events) > 0 {
		t.Errorf("the same blocks came again: %+v, %v", b, err)
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("12.3.AAAAAAAAAAAA")
	f.Add("0.0.")
	f.Add("5..AAAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePosition(s)
		if err != nil {
			return
		}
		if q, err := ParsePosition(p.String()); err != nil || q != p {
			t.Errorf("%q became %q: %v", s, p.String(), err)
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()
	now := map[string][]byte{"a": []byte("1"), "b": []byte("2")}
	fail := error(nil)
	s := NewState(0, func() (map[string][]byte, error) { return now, fail })
	first, _ := s.Now()
	if changed, removed := first.Since(nil); len(changed) != 2 || len(removed) != 0 {
		t.Errorf("at first %v, %v", changed, removed)
	}
	if same, _ := s.Now(); same != first {
		t.Error("other values though nothing changed")
	}
	now = map[string][]byte{"a": []byte("3")}
	second, _ := s.Now()
	if changed, removed := second.Since(first); !slices.Equal(changed, []string{"a"}) || !slices.Equal(removed, []string{"b"}) {
		t.Errorf("then %v, %v", changed, removed)
	}
	now = map[string][]byte{"a": []byte("1"), "c": []byte("2")}
	third, _ := s.Now()
	if changed, removed := third.Since(first); !slices.Equal(changed, []string{"c"}) || !slices.Equal(removed, []string{"b"}) {
		t.Errorf("two changes later %v, %v", changed, removed)
	}
	fail = errors.New("away")
	if v, err := s.Now(); v != third || err == nil {
		t.Errorf("while it cannot be read: %v, %v", v, err)
	}
}
