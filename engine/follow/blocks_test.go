package follow

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/primary"
	"quorate/engine/source/container/containertest"
	store "quorate/engine/store/index"
)

// server is where blocks come from that is no node.
type server[B ingest.Item] struct {
	mu     sync.Mutex // guards blocks
	blocks []B        // by height
	tell   chan uint64
}

func newServer[B ingest.Item](blocks []B) *server[B] {
	return &server[B]{blocks: blocks, tell: make(chan uint64, 1)}
}

// add makes further blocks known.
func (s *server[B]) add(blocks ...B) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = append(s.blocks, blocks...)
	s.tell <- uint64(len(s.blocks) - 1)
}

func (s *server[B]) Tip(context.Context) (chain.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks[len(s.blocks)-1].Link().Head, nil
}

func (s *server[B]) Fetch(_ context.Context, from, to uint64) ([]B, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to >= uint64(len(s.blocks)) {
		return nil, ingest.ErrNotFound
	}
	return s.blocks[from : to+1], nil
}

func (s *server[B]) Watch(ctx context.Context, onHead func(uint64)) error {
	for {
		select {
		case height := <-s.tell:
			onHead(height)
		case <-ctx.Done():
			return nil
		}
	}
}

func (*server[B]) Blame(uint64) {}

func (s *server[B]) Witness(_ context.Context, height uint64, id chain.ID) (with, against int, err error) {
	return 1, 0, nil
}

// traced is a server whose blocks have what nodes compute.
type traced struct{ *server[*evm.Block] }

func (traced) Needs(b *evm.Block) bool                    { return !b.Traced && len(b.Txs) > 0 }
func (traced) Complete(context.Context, *evm.Block) error { return ingest.ErrUnable }

// records are what is remembered.
type records struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (r *records) Recall(key []byte, to any) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, ok := r.kept[string(key)]
	return ok && json.Unmarshal(raw, to) == nil
}

func (r *records) Remember(_ context.Context, key []byte, record any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, err := json.Marshal(record); err == nil {
		r.kept[string(key)] = raw
	}
}

// TestEVMWithoutNode: the blocks of a chain may come from a server that has them. The rows
// are those of the blocks, no node is asked anything, and who wants to know what only a node
// knows is told so.
func TestEVMWithoutNode(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 11, Txs: 4}).Blocks(60)
	from := traced{newServer(blocks[:40])}
	known := &records{kept: map[string][]byte{}}
	h := &host{Layer: actor.NewLayer(context.Background(), slog.New(slog.DiscardHandler)), set: metric.NewSet()} // it has no nodes
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- db.Run(ctx) }()
	var a *archive.Archive
	grown := make(chan ingest.Progress, 100)
	c := New(Config{
		Common: Common{
			ID: chain.ID{1}, Name: "L1", Host: h, WindowBytes: 8 << 20, Room: func() error { return nil },
			OnProgress: func(p ingest.Progress) { grown <- p },
			Archive: func(kind archive.Kind, _ *slog.Logger, _ *metric.Set) (_ *archive.Archive, err error) {
				a, err = archive.Open(filepath.Join(t.TempDir(), "archive"), archive.Options{Kind: kind})
				return a, err
			},
			Log: func(string) *slog.Logger { return slog.New(slog.DiscardHandler) },
		},
		Subnet: chain.ID{2}, Blocks: from, DB: db, Memory: known, BalancesBytes: 1 << 20,
	}, func(*EVM) {})
	t.Cleanup(func() {
		h.stop(t)
		cancel()
		if err := errors.Join(<-ran, db.CloseWithin(time.Minute), a.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := c.try(t.Context()); !errors.Is(err, errNoFacts) {
		t.Fatalf("followed though nobody has said what it is: %v", err)
	}
	known.Remember(t.Context(), recordKey(chain.ID{1}), record{Number: 7, Trace: true})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	reach := func(height uint64) {
		t.Helper()
		for late := time.After(time.Minute); ; {
			select {
			case p := <-grown:
				if p.Height >= height {
					return
				}
			case <-late:
				t.Fatalf("block %d is not indexed: %+v", height, c.status())
			}
		}
	}
	reach(39)
	from.add(blocks[40:]...)
	reach(59)
	if rows, err := c.Index().Check(t.Context(), listed(blocks), nil, func(d index.Difference) { t.Errorf("%+v", d) }); err != nil || rows == 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if s, ok, err := c.Check(); !ok || err != nil || s.Height != 59 || c.Number() != 7 || len(c.Gaps()) != 0 {
		t.Errorf("%+v, %v, %v, %v", s, ok, err, c.Gaps())
	}
	if _, err := c.Balance(t.Context(), evm.Address{1}, nil); !errors.Is(err, ErrNoNode) {
		t.Errorf("a balance of now: %v", err)
	}
}

// TestPrimaryWithoutNode: so may those of a chain of the primary network.
func TestPrimaryWithoutNode(t *testing.T) {
	t.Parallel()
	containers := containertest.MakeVertices(t, 40)
	node := containertest.New(t, primary.XVertices, containers)
	read, rows, _ := followed(t, t.TempDir(), primary.XVertices, func(cfg *PrimaryConfig) { cfg.ID = containertest.XChain }, node)
	rows.await(t, 39)
	var blocks []*primary.Block
	if err := read.keeper.Load().sink.reader.Read(t.Context(), 0, 39, func(b *primary.Block) error {
		blocks = append(blocks, b)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p, made, _ := followed(t, t.TempDir(), primary.XVertices, func(cfg *PrimaryConfig) {
		cfg.ID, cfg.Blocks = containertest.XChain, newServer(blocks)
	})
	made.await(t, 39)
	if s, ok, err := p.Check(); !ok || err != nil || s.Height != 39 || made.heads[39] != rows.heads[39] {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
}
