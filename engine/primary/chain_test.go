package primary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	store "quorate/engine/store/index"
)

// tally is a machine whose rows depend on those before them, in memory and on disk.
type tally struct {
	sum  uint64
	wide int // rows of a block, of each kind
}

const (
	tallyTable = store.PlatformState
	listTable  = store.PlatformStakers
)

func (m *tally) Load(rows *Overlay) error {
	b, found, err := rows.Get(rows.Key(tallyTable))
	if found {
		m.sum = binary.BigEndian.Uint64(b)
	}
	return err
}

var errRefused = errors.New("refused")

func (m *tally) Apply(rows *Overlay, b *Block) error {
	height := b.Platform.Height
	m.sum += height * height
	rows.Put(rows.Key(tallyTable), Key(nil).U64(m.sum))
	for i := range m.wide {
		if height%7 == 3 {
			i *= 100
		}
		// A row that changes in place, one that goes, and one that stays.
		k := rows.Key(listTable).U8(1).U32(uint32(i % 10))
		old, _, err := rows.Get(k)
		if err != nil {
			return err
		}
		rows.Put(k, append(bytes.Clone(old[max(0, len(old)-20):]), byte(height)))
		rows.Delete(rows.Key(listTable).U8(2).U64(height - 1).U32(uint32(i)))
		rows.Put(rows.Key(listTable).U8(2).U64(height).U32(uint32(i)), nil)
		rows.Put(rows.Key(listTable).U8(3).U64(height).U32(uint32(i)), nil)
	}
	if b.Platform.Size == -1 {
		return errRefused
	}
	return nil
}

func tallyConfig(version uint16) Config {
	return Config{ID: RowsID(9, PChain), Version: version, Reads: 1, Machine: func() Machine { return &tally{wide: 5} }}
}

func openDB(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openTally(t *testing.T, db *store.DB, version uint16) *Chain {
	t.Helper()
	c, err := OpenChain(db, tallyConfig(version))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func blocks(from, to uint64) (list []*Block) {
	id := func(h uint64) (id chain.ID) {
		binary.BigEndian.PutUint64(id[:], h+1)
		return id
	}
	for h := from; h <= to; h++ {
		list = append(list, &Block{Chain: PChain, Platform: &platform.Block{ID: id(h), Parent: id(h - 1), Height: h, Kind: platform.BanffStandard, Time: h}})
	}
	return list
}

func digest(t *testing.T, c *Chain) [32]byte {
	t.Helper()
	sum, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func commit(t *testing.T, c *Chain, list []*Block) {
	t.Helper()
	if err := c.Commit(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// The rows are the same in whatever groups blocks come, with whatever room there is in
// a transaction, and with restarts in between.
func TestGroups(t *testing.T) {
	t.Parallel()
	list := blocks(1, 60)
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	want := digest(t, one)
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		db := openDB(t, t.TempDir())
		c := openTally(t, db, 1)
		for rest := list; len(rest) > 0; {
			c.limit.rows = []int{12, 40, 1000}[rnd.IntN(3)] // 12: each block is larger
			c.limit.launch = []int{1, 500, 1 << 20}[rnd.IntN(3)]
			n := 1 + rnd.IntN(min(len(rest), 9))
			commit(t, c, rest[:n])
			if rest = rest[n:]; rnd.IntN(3) == 0 {
				c = openTally(t, db, 1)
			}
		}
		if got := digest(t, c); got != want {
			t.Errorf("seed %d: another digest", seed)
		}
		if n := count(t, c, store.PrimaryJournal); n > 0 {
			t.Errorf("seed %d: %d rows in the journal", seed, n)
		}
	}
}

func count(t *testing.T, c *Chain, table byte) (n int) {
	t.Helper()
	s, err := c.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	prefix := c.at.Load().space.Key(table)
	it, err := s.Rows(prefix, false)
	if err != nil {
		t.Fatal(err)
	}
	for it.Seek(prefix); it.Valid(); it.Next() {
		n++
	}
	return n
}

// However many transactions of a large block were written when the process ended, the
// block is there as a whole or not at all, and what follows is as without the end.
func TestLargeBlockCut(t *testing.T) {
	t.Parallel()
	list := blocks(1, 12)
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	want := digest(t, one)
	whole, none := 0, 0
	for cut := 1; ; cut++ {
		dir, left := t.TempDir(), 1<<30
		room := func() error { // what is asked before each transaction
			if left--; left < 0 {
				return errors.New("the process has ended")
			}
			return nil
		}
		db, err := store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true, Room: room})
		if err != nil {
			t.Fatal(err)
		}
		c := openTally(t, db, 1)
		commit(t, c, list[:6])
		before := digest(t, c)
		c.limit.rows, left = 8, cut
		err = c.Commit(t.Context(), list[6:7])
		left = 1 << 30
		again := openTally(t, db, 1)
		again.limit.rows = 8
		switch head, _ := again.Cursor(); {
		case head.Height == 6 && digest(t, again) == before:
			none++
		case head.Height == 7:
			whole++
		default:
			t.Fatalf("cut %d: at block %d, or half of it", cut, head.Height)
		}
		if n := count(t, again, store.PrimaryJournal); n > 0 {
			t.Errorf("cut %d: %d rows in the journal", cut, n)
		}
		head, _ := again.Cursor()
		commit(t, again, list[head.Height:])
		if digest(t, again) != want {
			t.Fatalf("cut %d: another digest", cut)
		}
		_ = db.Close()
		if err == nil {
			break
		}
	}
	if whole < 3 || none < 3 {
		t.Errorf("%d whole and %d not at all", whole, none)
	}
}

// Whichever transaction of a commit cannot be written while the rows of the next ones are
// made, all blocks up to the cursor are there as a whole, and what follows is as without.
func TestCommitAfter(t *testing.T) {
	t.Parallel()
	list := blocks(1, 40)
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	want, broken := digest(t, one), errors.New("not now")
	heights := make(map[uint64][32]byte) // what blocks up to there lead to
	for fail := 0; ; fail++ {
		var left atomic.Int64 // asked before each transaction, by whoever writes
		left.Store(1 << 30)
		room := func() error {
			if left.Add(-1) == 0 {
				return broken
			}
			return nil
		}
		db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true, Room: room})
		if err != nil {
			t.Fatal(err)
		}
		c := openTally(t, db, 1)
		c.limit.launch, c.limit.rows = 1, []int{1000, 30}[fail%2]
		commit(t, c, list[:3])
		if err := c.CommitAfter(t.Context(), list[3:], func() error { return broken }); !errors.Is(err, broken) {
			t.Fatalf("what was not ready: %v", err)
		}
		if head, _ := c.Cursor(); head.Height != 3 {
			t.Fatalf("block %d is there, and nothing was ready", head.Height)
		}
		left.Store(int64(fail/2 + 1))
		err = c.Commit(t.Context(), list[3:])
		left.Store(1 << 30)
		if err != nil && !errors.Is(err, broken) {
			t.Fatal(err)
		}
		head, _ := c.Cursor()
		if _, ok := heights[head.Height]; !ok {
			upTo := openTally(t, openDB(t, t.TempDir()), 1)
			commit(t, upTo, list[:head.Height])
			heights[head.Height] = digest(t, upTo)
		}
		if digest(t, c) != heights[head.Height] {
			t.Fatalf("failure %d: not what block %d leads to", fail, head.Height)
		}
		commit(t, c, list[head.Height:])
		if digest(t, c) != want {
			t.Fatalf("failure %d: another digest", fail)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil && head.Height == 40 && fail > 10 {
			break
		}
	}
	if len(heights) < 4 {
		t.Errorf("all ended at one of %v", heights)
	}
}

// heavy is a machine whose rows are as large as a block can make them.
type heavy struct{ sizes []int }

func (heavy) Load(*Overlay) error { return nil }

func (m heavy) Apply(rows *Overlay, b *Block) error {
	for i, n := range m.sizes {
		rows.Put(rows.Key(listTable).U64(b.Platform.Height).U32(uint32(i)), bytes.Repeat([]byte{byte(i)}, n))
	}
	return nil
}

// Rows as large as a block of the network fit the smallest database, alone and together.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	cfg := tallyConfig(1)
	cfg.Machine = func() Machine { return heavy{[]int{2 << 20, 1<<20 - 1, 1 << 20, 900_000, 10}} }
	db := openDB(t, t.TempDir())
	c, err := OpenChain(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(3)
	commit(t, c, blocks(1, last))
	v, err := c.View(PChain)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for h := uint64(1); h <= last; h++ {
		for i, n := range []int{2 << 20, 1<<20 - 1, 1 << 20, 900_000, 10} {
			if b, found, err := v.Get(v.Key(listTable).U64(h).U32(uint32(i))); err != nil || !found || len(b) != n {
				t.Errorf("block %d, row %d: %d bytes, %v, %v", h, i, len(b), found, err)
			}
		}
	}
}

// A block that the machine refuses leaves those before it, and itself no row.
func TestRefused(t *testing.T) {
	t.Parallel()
	list := blocks(5, 30)
	c := openTally(t, openDB(t, t.TempDir()), 1)
	bad := *list[10].Platform
	bad.Size = -1
	with := slices.Clone(list)
	with[10] = &Block{Chain: PChain, Platform: &bad}
	if err := c.Commit(t.Context(), with); !errors.Is(err, errRefused) {
		t.Fatalf("got %v", err)
	}
	if head, _ := c.Cursor(); head.Height != 14 {
		t.Fatalf("at block %d", head.Height)
	}
	if err := c.Commit(t.Context(), list[11:]); !errors.Is(err, ErrOrder) {
		t.Errorf("a gap: got %v", err)
	}
	other := *list[10].Platform
	other.Parent[0]++
	if err := c.Commit(t.Context(), []*Block{{Chain: PChain, Platform: &other}}); !errors.Is(err, ErrOrder) {
		t.Errorf("another parent: got %v", err)
	}
	commit(t, c, list[10:])
	one := openTally(t, openDB(t, t.TempDir()), 1)
	commit(t, one, list)
	if digest(t, one) != digest(t, c) {
		t.Error("another digest")
	}
	if first, ok := c.First(); !ok || first != 5 {
		t.Errorf("begins at %d", first)
	}
}

type inArchive []*Block

func (a inArchive) Read(ctx context.Context, from, to uint64, f func(*Block) error) error {
	for _, b := range a {
		if h := b.Platform.Height; h >= from && h <= to {
			if err := f(b); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Rows of older rules are served until new ones are made beside them, which goes on
// where it was, and takes blocks that come meanwhile.
func TestRebuild(t *testing.T) {
	t.Parallel()
	most := 1000
	list := blocks(1, uint64(most+300))
	db := openDB(t, t.TempDir())
	commit(t, openTally(t, db, 1), list[:most])
	c := openTally(t, db, 2)
	if !c.Stale() {
		t.Fatal("not stale")
	}
	old, err := c.View(PChain)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Rebuild(ctx, inArchive(list), func(done, of uint64) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	c = openTally(t, db, 2)
	began, came := uint64(0), false
	err = c.Rebuild(t.Context(), inArchive(list), func(done, of uint64) {
		if began == 0 {
			began = done
		}
		if !came {
			came = true
			commit(t, c, list[most:])
		}
	})
	if err != nil || began < 600 || c.Stale() {
		t.Fatalf("began to report at %d: %v", began, err)
	}
	one := openTally(t, openDB(t, t.TempDir()), 2)
	commit(t, one, list)
	if digest(t, one) != digest(t, c) || digest(t, one) != digest(t, openTally(t, db, 2)) {
		t.Error("another digest")
	}
	if _, found, err := old.Get(old.Key(tallyTable)); err != nil || !found {
		t.Errorf("the old view: %v, %v", found, err)
	}
	c.at.Load().space.Edition = 0
	for table := byte(store.PrimaryBlocks); table < store.PrimaryEnd; table++ {
		if n := count(t, c, table); n > 0 {
			t.Errorf("%d rows of the old edition in table %#x", n, table)
		}
	}
}

// Pages of merged lists have every row once and in order, also while rows come.
func TestLists(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	c := openTally(t, db, 1)
	commit(t, c, blocks(1, 1))
	space := c.at.Load().space
	rnd := rand.New(rand.NewPCG(1, 2))
	put := func(list byte, at uint64) {
		b, err := db.Batch()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.Set(space.Key(listTable).U8(list).U64(at), nil), b.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	in := map[uint64]bool{}
	for range 60 {
		at := rnd.Uint64N(100)
		in[at] = true
		put(byte(10+rnd.IntN(3)), at)
		if rnd.IntN(4) == 0 {
			put(byte(10+rnd.IntN(3)), at) // perhaps in two lists
		}
	}
	for range 200 {
		from, to := rnd.Uint64N(110), rnd.Uint64N(110)
		l := &Lists{}
		bounds := TimeRange{From: from, To: to}
		l.From, l.To = bounds.Bounds()
		p := Page{Limit: 1 + rnd.IntN(9), Asc: rnd.IntN(2) == 0}
		var got, want []uint64
		for at := range in {
			if at >= from && (to == 0 || at < to) && at%5 != 1 {
				want = append(want, at)
			}
		}
		slices.Sort(want)
		if !p.Asc {
			slices.Reverse(want)
		}
		for {
			v, err := c.View(PChain)
			if err != nil {
				t.Fatal(err)
			}
			l.Prefixes = []Key{v.Key(listTable).U8(10), v.Key(listTable).U8(11), v.Key(listTable).U8(12)}
			n := 0
			p.After, err = v.List(l, &p, func(order, _ []byte) (Result, error) {
				at := binary.BigEndian.Uint64(order)
				switch {
				case at%5 == 1:
					return Passed, nil
				case n == 4:
					return Full, nil
				}
				n++
				got = append(got, at)
				return Taken, nil
			})
			v.Close()
			if err != nil || n > p.Limit {
				t.Fatal(n, err)
			}
			if p.After == nil {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("from %d to %d: got %v, want %v", from, to, got, want)
		}
	}
}
