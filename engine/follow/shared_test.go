package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/feed"
	"quorate/engine/feed/feedtest"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/primary"
	"quorate/engine/source/container/containertest"
	store "quorate/engine/store/index"
	"quorate/engine/tokens"
)

var sharedChain = chain.ID{1}

// counted is a node whose blocks are counted as they are asked for.
type counted struct {
	traced
	fetched atomic.Int64
	down    atomic.Bool
}

func newCounted(blocks []*evm.Block) *counted {
	return &counted{traced: traced{newServer(copies(blocks))}}
}

var errNodeDown = errors.New("the node is down")

func (n *counted) Tip(ctx context.Context) (chain.Head, error) {
	if n.down.Load() {
		return chain.Head{}, errNodeDown
	}
	return n.traced.Tip(ctx)
}

func (n *counted) Fetch(ctx context.Context, from, to uint64) ([]*evm.Block, error) {
	if n.down.Load() {
		return nil, errNodeDown
	}
	list, err := n.traced.Fetch(ctx, from, to)
	n.fetched.Add(int64(len(list)))
	return copies(list), err
}

// copies returns blocks that are nobody else's, as a node without traces has them.
func copies(blocks []*evm.Block) []*evm.Block {
	list := make([]*evm.Block, len(blocks))
	for i, b := range blocks {
		again := *b
		again.Unverified = "made for a test"
		list[i] = &again
	}
	return list
}

// follower is a server that follows one chain.
type follower struct {
	*EVM
	grown chan ingest.Progress
	stop  func()
}

// startShared starts a server that shares a log. Without nodes it is a replica.
func startShared(t *testing.T, log feed.Log, name string, nodes EVMBlocks) *follower {
	t.Helper()
	return startSharedAt(t, t.TempDir(), log, name, nodes)
}

func startSharedAt(t *testing.T, dir string, log feed.Log, name string, nodes EVMBlocks) *follower {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		quiet = slog.New(slog.NewTextHandler(t.Output(), nil)).With("server", name)
	}
	known := &records{kept: map[string][]byte{}}
	known.Remember(t.Context(), recordKey(sharedChain), record{Number: 7, Trace: true})
	h := &host{Layer: actor.NewLayer(context.Background(), slog.New(slog.DiscardHandler)), set: metric.NewSet()}
	db, err := store.Open(filepath.Join(dir, "db"), store.Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- db.Run(ctx) }()
	var a *archive.Archive
	f := &follower{grown: make(chan ingest.Progress, 1000)}
	f.EVM = New(Config{
		Common: Common{
			ID: sharedChain, Name: "L1", Host: h, WindowBytes: 8 << 20, Room: func() error { return nil },
			OnProgress: func(p ingest.Progress) { f.grown <- p },
			Archive: func(kind archive.Kind, _ *slog.Logger, _ *metric.Set) (_ *archive.Archive, err error) {
				a, err = archive.Open(filepath.Join(dir, "archive"), archive.Options{Kind: kind})
				return a, err
			},
			Feed: &Feed{Log: log, Writer: name}, Nodeless: nodes == nil,
			Log: func(string) *slog.Logger { return quiet },
		},
		Subnet: chain.ID{2}, Blocks: nodes, DB: db, Memory: known, BalancesBytes: 1 << 20,
	}, func(*EVM) {})
	f.stop = sync.OnceFunc(func() {
		h.stop(t)
		cancel()
		if err := errors.Join(<-ran, db.CloseWithin(time.Minute), a.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(f.stop)
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	return f
}

// reach waits until a block is indexed.
func (f *follower) reach(t *testing.T, height uint64) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		if head, _, ok := f.Index().Cursor(); ok && head >= height {
			return
		}
		select {
		case <-f.grown:
		case <-tick.C:
		case <-late:
			t.Fatalf("block %d is not indexed: %+v", height, f.status())
		}
	}
}

// equal checks that a server has the rows of all blocks.
func (f *follower) equal(t *testing.T, blocks []*evm.Block) {
	t.Helper()
	rows, err := f.Index().Check(t.Context(), listed(blocks), nil, func(d index.Difference) { t.Errorf("%+v", d) })
	if err != nil || rows == 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// linkedLog checks that the log has each height once, linked, up to one.
func linkedLog(t *testing.T, log feed.Log, last uint64) {
	t.Helper()
	next, parent := uint64(0), [32]byte{}
	codec := archive.NewCodec(archive.KindEVM)
	for at := uint64(1); ; at++ {
		raw, found, err := log.Read(t.Context(), feed.Subject(9, sharedChain, feed.SubjectBlocks), at)
		if errors.Is(err, feed.ErrEnd) {
			break
		}
		var r feed.Record
		if err == nil {
			r, err = feed.Decode(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Next != next || r.Parent != parent {
			t.Fatalf("the record at %d, by %s, follows on block %d, and not on %d", found, r.Writer, r.Next, next)
		}
		for rest := r.Data; len(rest) > 0; {
			var unit []byte
			if unit, _, rest, err = archive.SplitUnit(rest); err == nil {
				err = codec.Unpack(unit, func(b archive.Block) error {
					next, parent = b.Height+1, b.ID
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		at = found
	}
	if next != last+1 {
		t.Errorf("the log has the blocks up to %d, and not %d", next-1, last)
	}
}

// TestSharedHead: of two servers with nodes and two without all have the same rows, and the
// nodes are asked for each block about once.
func TestSharedHead(t *testing.T) {
	t.Parallel()
	const begin, end = 50, 80
	blocks := indextest.New(indextest.Config{Seed: 11, Txs: 4}).Blocks(end + 40)
	log := feedtest.New()
	nodes := []*counted{newCounted(blocks[:begin]), newCounted(blocks[:begin])}
	first := startShared(t, log, "first", nodes[0])
	first.reach(t, begin-1)
	all := []*follower{
		first, startShared(t, log, "second", nodes[1]), startShared(t, log, "third", nil), startShared(t, log, "fourth", nil),
	}
	for _, f := range all {
		f.reach(t, begin-1)
	}
	for _, b := range blocks[begin:end] {
		for _, n := range nodes {
			n.add(copies([]*evm.Block{b})...)
		}
		for _, f := range all {
			f.reach(t, b.Number)
		}
	}
	if n := nodes[0].fetched.Load() + nodes[1].fetched.Load(); n > end+3 {
		t.Errorf("nodes were asked for %d blocks of %d", n, end)
	}
	linkedLog(t, log, end-1)

	// The one that writes is gone: the other one does.
	first.stop()
	for _, b := range blocks[end : end+10] {
		nodes[1].add(copies([]*evm.Block{b})...)
	}
	for _, f := range all[1:] {
		f.reach(t, end+9)
	}
	linkedLog(t, log, end+9)

	// The log is away: who has a node goes on, and appends what the log lacks when it is back.
	log.Cut(true)
	for _, b := range blocks[end+10 : end+20] {
		nodes[1].add(copies([]*evm.Block{b})...)
	}
	all[1].reach(t, end+19)
	if head, _, _ := all[2].Index().Cursor(); head != end+9 {
		t.Errorf("a replica is at block %d", head)
	}
	log.Cut(false)
	for _, f := range all[2:] {
		f.reach(t, end+19)
	}
	linkedLog(t, log, end+19)

	// The log is made again.
	log.Replace(feed.Subject(9, sharedChain, feed.SubjectBlocks))
	for _, b := range blocks[end+20 : end+30] {
		nodes[1].add(copies([]*evm.Block{b})...)
	}
	for _, f := range all[1:] {
		f.reach(t, end+29)
	}
	linkedLog(t, log, end+29)
	for _, f := range all[1:] {
		f.equal(t, blocks[:end+30])
		if s, ok, err := f.Check(); !ok || err != nil || s.Height != end+29 {
			t.Errorf("%+v, %v, %v", s, ok, err)
		}
	}
}

// TestSharedNotes: what one server learns of blocks later all others do, also after a restart,
// and nobody learns it twice.
func TestSharedNotes(t *testing.T) {
	t.Parallel()
	const n = 40
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 5, Full: true}).Blocks(n)
	log, dir := feedtest.New(), t.TempDir()
	told := copies(blocks)
	told[20].Txs = slices.Clone(told[20].Txs)
	told[20].Txs[0].GasUsed++ // which is false
	writer := startShared(t, log, "writer", &counted{traced: traced{newServer(told)}})
	writer.reach(t, n-1)
	member := startShared(t, log, "member", newCounted(blocks))
	replica := startSharedAt(t, dir, log, "replica", nil)
	member.reach(t, n-1)
	replica.reach(t, n-1)

	// A name of a token.
	token := indextest.Coins[0]
	facts := append(append([]byte{1}, token[:]...), 1, 1, 6, 4)
	facts = append(facts, "CoinCOI"...)
	note := archive.Note{Height: n - 1, Type: tokens.NoteFacts, Data: facts}
	if err := tokens.Apply(t.Context(), []archive.Note{note}, writer.rows); err != nil {
		t.Fatal(err)
	}
	if err := writer.addNotes(t.Context(), []archive.Note{note}); err != nil {
		t.Fatal(err)
	}
	named := func(f *follower) error {
		v, err := f.Index().At(nil)
		if err != nil {
			return err
		}
		defer v.Close()
		meta, ok, err := v.Token(token)
		if err == nil && (!ok || meta.Name != "Coin") {
			err = fmt.Errorf("the token is %+v", meta)
		}
		return err
	}
	for _, f := range []*follower{member, replica} {
		feedtest.Eventually(t, func() error { return named(f) })
	}

	// Something false is put right while the replica is down.
	replica.stop()
	right := copies(blocks[20:21])
	if err := member.correct(t.Context(), right); err != nil {
		t.Fatal(err)
	}
	replica = startSharedAt(t, dir, log, "replica", nil)
	fourth := startShared(t, log, "fourth", nil)
	fourth.reach(t, n-1)
	for _, f := range []*follower{writer, member, replica, fourth} {
		feedtest.Eventually(t, func() (err error) {
			_, checkErr := f.Index().Check(t.Context(), listed(blocks), nil, func(d index.Difference) { err = fmt.Errorf("%+v", d) })
			return errors.Join(err, checkErr)
		})
		feedtest.Eventually(t, func() error { return named(f) })
		notes := 0
		if err := f.keeper.Load().sink.archive.Notes(t.Context(), func(archive.Note) error { notes++; return nil }); err != nil || notes != 2 {
			t.Errorf("%d notes, %v", notes, err)
		}
	}
	if records := log.Records(feed.Subject(9, sharedChain, feed.SubjectNotes)); len(records) != 2 {
		t.Errorf("%d records of notes are in the log", len(records))
	}
}

// TestSharedPrimary: so do servers share a chain of the primary network. Its nodes are asked
// by one of them.
func TestSharedPrimary(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 300, 0)
	log := feedtest.New()
	server := func(name string, nodes ...*containertest.Node) *memoryRows {
		_, rows, _ := followed(t, t.TempDir(), primary.PChain, func(cfg *PrimaryConfig) {
			cfg.Feed, cfg.Nodeless = &Feed{log, name}, len(nodes) == 0
		}, nodes...)
		return rows
	}
	var nodes [2]*containertest.Node
	for i := range nodes {
		nodes[i] = containertest.New(t, primary.PChain, containers)
		nodes[i].Genesis = genesis
	}
	first := server("first", nodes[0])
	first.await(t, 299)
	second, third := server("second", nodes[1]), server("third")
	second.await(t, 299)
	third.await(t, 299)
	if n := nodes[1].Count("index.getContainerRange"); n > 0 {
		t.Errorf("the second node was asked %d times for what is in the log", n)
	}
	if second.heads[299] != first.heads[299] || third.heads[299] != first.heads[299] {
		t.Error("servers have other blocks")
	}
}
