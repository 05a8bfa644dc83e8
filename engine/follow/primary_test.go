package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/primary"
	"quorate/engine/source"
	"quorate/engine/source/container/containertest"
)

// host is a network of one or more nodes.
type host struct {
	actor.Layer
	nodes []source.Endpoint
	set   *metric.Set

	mu      sync.Mutex
	clients []*source.Client
}

func (*host) Swap() (at time.Time) { return at }
func (*host) Needs() string        { return "avalanchego 9.0.0" }

func (h *host) ID() uint32                                 { return 9 }
func (h *host) Asset() (chain.ID, bool)                    { return chain.ID{}, false }
func (h *host) AskAsset(context.Context) (chain.ID, error) { return chain.ID{}, errNotAsked }
func (h *host) Accepted(chain.ID, *evm.Block, uint64)      {}
func (h *host) Metrics() *metric.Set                       { return h.set }
func (h *host) stop(t *testing.T) {
	t.Helper()
	if err := h.StopWithin(30 * time.Second); err != nil {
		t.Error(err)
	}
	for _, c := range h.clients {
		c.Close()
	}
}

func (h *host) Source(cfg source.Config, _ source.Endpoint) (*source.Client, source.Endpoint, error) {
	cfg.Nodes = h.nodes
	c, err := source.New(cfg)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients = append(h.clients, c)
	return c, h.nodes[0], err
}

// memoryRows are rows that keep the blocks' IDs in memory.
type memoryRows struct {
	mu       sync.Mutex
	heads    []chain.Head
	stale    bool
	refuse   bool // to commit while it is stale
	rebuilt  int
	headers  []uint64 // of blocks that were completed
	fail     error
	grew     chan struct{} // has room for one, as the next
	deepened chan struct{}
	gaveUp   chan struct{}
}

func newRows() *memoryRows {
	return &memoryRows{grew: make(chan struct{}, 1), deepened: make(chan struct{}, 1), gaveUp: make(chan struct{}, 1)}
}

func (m *memoryRows) Cursor() (head chain.Head, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.heads) == 0 {
		return head, false
	}
	return m.heads[len(m.heads)-1], true
}

// completed returns the blocks that got headers later, of which the chain may just add
// some again, too.
func (m *memoryRows) completed() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(m.headers)))
}

func (m *memoryRows) First() (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.heads) == 0 {
		return 0, false
	}
	return m.heads[0].Height, true
}

func (m *memoryRows) CommitAfter(ctx context.Context, blocks []*primary.Block, ready func() error) error {
	if err := ready(); err != nil {
		return err
	}
	return m.Commit(ctx, blocks)
}

func (m *memoryRows) Commit(_ context.Context, blocks []*primary.Block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.refuse && m.stale {
		return errors.New("refused by older rules")
	}
	for _, b := range blocks {
		m.heads = append(m.heads, b.Link().Head)
	}
	select {
	case m.grew <- struct{}{}:
	default:
	}
	return nil
}

func (m *memoryRows) Stale() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stale
}

func (m *memoryRows) Remake(ctx context.Context, from primary.Blocks, progress func(done, of uint64)) error {
	m.mu.Lock()
	m.stale = true
	m.mu.Unlock()
	return m.Rebuild(ctx, from, progress)
}

func (m *memoryRows) GiveUp(context.Context) error {
	select {
	case m.gaveUp <- struct{}{}:
	default:
	}
	return nil
}

func (m *memoryRows) Deepen(ctx context.Context, from primary.Blocks, first uint64, _ func(done, of uint64)) error {
	last, _ := m.Cursor()
	var heads []chain.Head
	err := from.Read(ctx, first, last.Height, func(b *primary.Block) error {
		heads = append(heads, b.Link().Head)
		return nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.heads = append(heads, m.heads[slices.Index(m.heads, last)+1:]...)
	}
	select {
	case m.deepened <- struct{}{}:
	default:
	}
	return err
}

func (m *memoryRows) Rebuild(ctx context.Context, from primary.Blocks, _ func(done, of uint64)) error {
	m.mu.Lock()
	heads, stale := m.heads, m.stale
	m.mu.Unlock()
	if !stale {
		return nil
	}
	n := 0
	err := from.Read(ctx, heads[0].Height, heads[len(heads)-1].Height, func(b *primary.Block) error {
		if b.Link().ID != heads[n].ID {
			return errors.New("another block")
		}
		n++
		return nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rebuilt, m.stale = n, err != nil
	select {
	case m.grew <- struct{}{}:
	default:
	}
	return err
}

func (m *memoryRows) Complete(_ context.Context, blocks []*primary.Block, then func() error) error {
	m.mu.Lock()
	for _, b := range blocks {
		m.headers = append(m.headers, b.Link().Height)
	}
	m.mu.Unlock()
	return then()
}

// await waits until the rows have a block.
func (m *memoryRows) await(t *testing.T, height uint64) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		if head, ok := m.Cursor(); ok && head.Height >= height {
			return
		}
		select {
		case <-m.grew:
		case <-late:
			t.Fatalf("block %d is not indexed", height)
		}
	}
}

// followed starts a chain in a folder.
func followed(t *testing.T, dir string, kind primary.Kind, change func(*PrimaryConfig), nodes ...*containertest.Node) (*Primary, *memoryRows, *host) {
	t.Helper()
	h := &host{Layer: actor.NewLayer(context.Background(), slog.New(slog.DiscardHandler)), set: metric.NewSet()}
	for _, n := range nodes {
		h.nodes = append(h.nodes, n.At)
	}
	rows := newRows()
	var a *archive.Archive
	cfg := PrimaryConfig{
		Common: Common{
			Name: "P", WindowBytes: 8 << 20, Host: h, Room: func() error { return nil },
			Archive: func(kind archive.Kind, _ *slog.Logger, _ *metric.Set) (_ *archive.Archive, err error) {
				a, err = archive.Open(filepath.Join(dir, "archive"), archive.Options{Kind: kind})
				return a, err
			},
			Log: func(string) *slog.Logger { return slog.New(slog.DiscardHandler) },
		},
		Chain: kind,
		Rows:  func() (PrimaryRows, error) { return rows, nil },
	}
	if change != nil {
		change(&cfg)
	}
	p := NewPrimary(cfg)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.stop(t)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, rows, h
}

// A chain of the primary network is archived and indexed, goes on where it was, and is
// indexed again from the archive though no node answers.
func TestPrimary(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 600, 0)
	dir := t.TempDir()
	node := containertest.New(t, primary.PChain, containers[:500])
	node.Genesis = genesis
	t.Run("from the genesis block", func(t *testing.T) {
		p, rows, _ := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 500)
		node.Set(func(n *containertest.Node) { n.Containers = containers })
		rows.await(t, 600)
		if height, id, ok := p.Cursor(); !ok || height != 600 || id != rows.heads[600].ID || len(rows.heads) != 601 {
			t.Errorf("%d blocks up to %d", len(rows.heads), height)
		}
		if gaps := p.Gaps(); len(gaps) != 0 || p.Down() != nil {
			t.Errorf("gaps %v, %v", gaps, p.Down())
		}
	})
	node.Set(func(n *containertest.Node) { n.Status = 503 })
	t.Run("without a node", func(t *testing.T) {
		p, rows, _ := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 600)
		if len(rows.heads) != 601 {
			t.Errorf("%d blocks", len(rows.heads))
		}
		if s, ok, err := p.Check(); !ok || err == nil || s.Height != 600 {
			t.Errorf("%+v, %v, %v", s, ok, err)
		}
	})
	t.Run("rows of older rules", func(t *testing.T) {
		made := newRows()
		p, rows, _ := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 600)
		made.heads, made.stale = rows.heads, true
		p2 := NewPrimary(p.cfg)
		p2.rows = made
		p2.keeper.Store(p.keeper.Load())
		if err := p2.rebuild(t.Context(), nil); err != nil || made.rebuilt != 601 {
			t.Errorf("%d blocks, %v", made.rebuilt, err)
		}
	})
	t.Run("rows of older rules that refuse what is archived", func(t *testing.T) {
		_, rows, h := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 600)
		h.stop(t)
		made := newRows()
		made.heads, made.stale, made.refuse = rows.heads[:501:501], true, true
		followed(t, dir, primary.PChain, func(cfg *PrimaryConfig) {
			cfg.Rows = func() (PrimaryRows, error) { return made, nil }
		}, node)
		made.await(t, 600)
		if made.rebuilt != 501 || made.Stale() {
			t.Errorf("%d blocks were made again", made.rebuilt)
		}
	})
}

// Vertices are archived as they came, each with its place and when it was accepted.
func TestVerticesArchived(t *testing.T) {
	t.Parallel()
	containers := containertest.MakeVertices(t, 40)
	node := containertest.New(t, primary.XVertices, containers)
	seen := make(chan ingest.Progress, 100)
	dir := t.TempDir()
	p, _, _ := followed(t, dir, primary.XVertices, func(cfg *PrimaryConfig) {
		cfg.ID = containertest.XChain
		cfg.OnProgress = func(p ingest.Progress) { seen <- p }
	}, node)
	for at := range seen {
		if at.Height == 39 {
			break
		}
	}
	n := 0
	if err := container.NewReader(p.keeper.Load().sink.archive, primary.XVertices).Read(t.Context(), 0, 39, func(b *primary.Block) error {
		if string(b.Raw) != string(containers[n]) || b.Place != uint64(n) || b.Accepted == 0 {
			t.Errorf("vertex %d: %+v", n, b.Link())
		}
		n++
		return nil
	}); err != nil || n != 40 {
		t.Errorf("%d vertices, %v", n, err)
	}
}

// A chain may begin above its first block, and a node without an index is enough.
func TestPrimaryStart(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 90, 0)
	node := containertest.New(t, primary.PChain, containers)
	node.Genesis, node.NoIndex = genesis, true
	p, rows, _ := followed(t, t.TempDir(), primary.PChain, func(cfg *PrimaryConfig) { cfg.Start = StartBlock{Height: 10, Below: true} }, node)
	rows.await(t, 90)
	if gaps := p.Gaps(); len(rows.heads) != 11 || len(gaps) != 2 || gaps[0].To != 79 || gaps[1].Kind != GapHeader || gaps[1].From != 80 || gaps[1].To != 90 {
		t.Errorf("%d blocks, gaps %v", len(rows.heads), gaps)
	}
}

// Older blocks are fetched when the chain is to begin lower, in as many goes as it takes,
// and the rows are made again from the lowest on. A node that has others is not believed.
func TestPrimaryOlder(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 300, 0)
	_, others := containertest.MakeChain(t, 300, 7)
	liar, node := containertest.New(t, primary.PChain, others), containertest.New(t, primary.PChain, containers)
	node.Genesis = genesis
	dir := t.TempDir()
	var kept []chain.Head
	run := func(start StartBlock, first uint64, nodes ...*containertest.Node) {
		t.Helper()
		t.Run(fmt.Sprintf("from %d", first), func(t *testing.T) {
			p, rows, _ := followed(t, dir, primary.PChain, func(cfg *PrimaryConfig) {
				cfg.Start = start
				open := cfg.Rows
				cfg.Rows = func() (PrimaryRows, error) {
					r, err := open()
					r.(*memoryRows).heads = kept
					return r, err
				}
			}, nodes...)
			rows.await(t, 300)
			if at, _ := rows.First(); at != first {
				select {
				case <-rows.deepened:
				case <-time.After(time.Minute):
					t.Fatalf("no older blocks: %v", p.keeper.Load().Work())
				}
			} else if len(kept) > 0 {
				select {
				case <-rows.gaveUp:
				case <-time.After(time.Minute):
					t.Fatal("what was half made for older blocks stays")
				}
			}
			rows.mu.Lock()
			defer rows.mu.Unlock()
			kept = rows.heads
			if kept[0].Height != first || len(kept) != int(301-first) {
				t.Errorf("%d blocks from %d on", len(kept), kept[0].Height)
			}
		})
	}
	run(StartBlock{Height: 290}, 290, node)
	run(StartBlock{Height: 295}, 290, node) // higher than it began
	run(StartBlock{Height: 200}, 200, liar, node)
	run(StartBlock{}, 0, node)
	run(StartBlock{}, 0, node)
	want, err := primary.Parse(primary.PChain, containers[0])
	if err != nil || kept[1] != want.Link().Head {
		t.Errorf("block 1 is %v, %v", kept[1], err)
	}
}

// A dead node, a failing index and a full disk leave no trace.
func TestPrimaryTrouble(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 60, 0)
	dead, node := containertest.New(t, primary.PChain, containers), containertest.New(t, primary.PChain, containers)
	dead.Status, node.Genesis = 503, genesis
	full := make(chan struct{})
	_, rows, _ := followed(t, t.TempDir(), primary.PChain, func(cfg *PrimaryConfig) {
		cfg.Room = func() error {
			select {
			case <-full:
				return nil
			default:
				return errors.New("the disk is full")
			}
		}
	}, dead, node)
	if _, ok := rows.Cursor(); ok {
		t.Error("blocks without room")
	}
	rows.mu.Lock()
	rows.fail = errors.New("the database is closed")
	rows.mu.Unlock()
	close(full)
	rows.mu.Lock()
	rows.fail = nil
	rows.mu.Unlock()
	rows.await(t, 60)
	if len(rows.heads) != 61 {
		t.Errorf("%d blocks", len(rows.heads))
	}
}
