package container

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
	"quorate/engine/source/container/containertest"
)

// same checks that blocks are those of containers from a height on.
func same(t *testing.T, blocks []*primary.Block, from uint64, containers [][]byte) {
	t.Helper()
	for i, b := range blocks {
		h := from + uint64(i)
		if got := b.Link().Height; got != h {
			t.Fatalf("block %d in place of %d", got, h)
		}
		if !bytes.Equal(b.Raw, containers[h-1]) || b.Bare || b.Header == nil {
			t.Fatalf("block %d: bare %v, %x", h, b.Bare, b.Raw)
		}
	}
}

// Containers of a real network are read as it gave them, with and without an index.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for kind, path := range map[primary.Kind]string{primary.PChain: "platform", primary.XChain: "avm"} {
		file, err := os.ReadFile("../../chain/" + path + "/testdata/recorded.json")
		if err != nil {
			t.Fatal(err)
		}
		var id chain.ID
		var containers [][]byte
		chaintest.Recorded(t, file, func(of chain.ID, c *chaintest.Container) {
			id = of
			containers = append(containers, c.Bytes)
		})
		f := containertest.New(t, kind, containers)
		c := newClient(t, kind, func(cfg *Config) { cfg.ID = id }, f)
		last := uint64(len(containers))
		head, err := c.Tip(t.Context())
		if err != nil || head.Height != last {
			t.Fatalf("%s: last block %+v, %v", kind, head, err)
		}
		blocks, err := c.Fetch(t.Context(), 1, last)
		if err != nil || uint64(len(blocks)) != last || blocks[last-1].ID() != head.ID {
			t.Fatalf("%s: %d blocks, %v", kind, len(blocks), err)
		}
		same(t, blocks, 1, containers)
		f.Set(func(f *fake) { f.NoIndex = true })
		c = newClient(t, kind, func(cfg *Config) { cfg.ID = id }, f)
		bare, err := c.Fetch(t.Context(), 1, last)
		if err != nil || len(bare) != len(blocks) {
			t.Fatalf("%s without an index: %d blocks, %v", kind, len(bare), err)
		}
		for i := range bare {
			if !bare[i].Bare || bare[i].Header != nil || bare[i].Link() != blocks[i].Link() {
				t.Errorf("%s without an index: %+v", kind, bare[i].Link())
			}
		}
		if head, err = c.Tip(t.Context()); err != nil || head.ID != bare[last-1].ID() {
			t.Errorf("%s without an index: last block %+v, %v", kind, head, err)
		}
		// The signature of the last header of a range is checked.
		spoilt := newClient(t, kind, func(cfg *Config) { cfg.ID = chain.ID{9} }, containertest.New(t, kind, containers))
		if _, err := spoilt.Fetch(t.Context(), 1, last); !errors.Is(err, ErrBadAnswer) {
			t.Errorf("%s: headers that were signed for another chain: %v", kind, err)
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 1500, 0)
	f := containertest.New(t, primary.PChain, containers)
	f.Genesis = genesis
	c := newClient(t, primary.PChain, func(cfg *Config) { cfg.Genesis = primary.GenesisID([]byte("genesis")) }, f)
	blocks, err := c.Fetch(t.Context(), 0, 1500)
	if err != nil || len(blocks) != 1501 || blocks[0].Bare || !bytes.Equal(blocks[0].Raw, genesis) {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	same(t, blocks[1:], 1, containers)
	if n := f.Count("index.getContainerRange"); n != 2 {
		t.Errorf("%d calls for 1500 containers", n)
	}
	if blocks, err := c.Fetch(t.Context(), 1499, 1510); !errors.Is(err, ingest.ErrNotFound) || len(blocks) != 2 {
		t.Errorf("beyond the end: %d blocks, %v", len(blocks), err)
	}
	for _, r := range [][2]uint64{{5, 4}, {0, MaxRange}} {
		if _, err := c.Fetch(t.Context(), r[0], r[1]); err == nil {
			t.Errorf("range %v was fetched", r)
		}
	}
	other := newClient(t, primary.PChain, func(cfg *Config) { cfg.Genesis = chain.ID{1} }, f)
	if _, err := other.Fetch(t.Context(), 0, 0); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("another genesis: %v", err)
	}
}

// The first container is that of block 1, and no genesis block. Whoever fetched later
// blocks before need not look for it.
func TestFirstContainer(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 200, 0)
	begin := func(cfg *Config) { cfg.Genesis = primary.GenesisID([]byte("genesis")) }
	f := containertest.New(t, primary.PChain, containers[:1])
	f.Genesis = genesis
	c := newClient(t, primary.PChain, begin, f)
	if head, err := c.Tip(t.Context()); err != nil || head.Height != 1 {
		t.Errorf("last block %+v, %v", head, err)
	}
	f.Set(func(f *fake) { f.Containers = containers })
	if b, err := c.one(t.Context(), c.cfg.Node.Nodes()[0], 0); err != nil || b.Link().Height != 1 {
		t.Errorf("container 0: %+v, %v", b, err)
	}
	calls := f.Count("index.getContainerByIndex")
	for _, from := range []uint64{101, 51, 1, 151} {
		blocks, err := c.Fetch(t.Context(), from, from+49)
		if err != nil || len(blocks) != 50 {
			t.Fatalf("from %d: %d blocks, %v", from, len(blocks), err)
		}
		same(t, blocks, from, containers)
	}
	if n := f.Count("index.getContainerByIndex") - calls; n > 0 {
		t.Errorf("%d containers were looked for", n)
	}
}

// An index may begin above, and may lack what was accepted while the node kept none.
func TestIncompleteIndex(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 300, 0)
	f := containertest.New(t, primary.PChain, containers)
	f.Genesis, f.Drop = genesis, func(h uint64) bool { return h < 50 || h >= 120 && h < 140 }
	c := newClient(t, primary.PChain, nil, f)
	fetch := func(from, to uint64) []*primary.Block {
		t.Helper()
		blocks, err := c.Fetch(t.Context(), from, to)
		if err != nil || uint64(len(blocks)) != to-from+1 {
			t.Fatalf("%d to %d: %d blocks, %v", from, to, len(blocks), err)
		}
		return blocks
	}
	same(t, fetch(60, 119), 60, containers)
	same(t, fetch(200, 300), 200, containers)
	same(t, fetch(50, 51), 50, containers)
	// What no index has comes without a header, between what has one.
	for i, b := range fetch(100, 200) {
		if h := uint64(100 + i); b.Bare != (h >= 120 && h < 140) {
			t.Errorf("block %d: bare is %v", h, b.Bare)
		}
	}
	calls := f.Count("index.getContainerByIndex")
	fetch(1, 49)
	if n := f.Count("index.getContainerByIndex") - calls; n > 20 {
		t.Errorf("%d containers were asked for to find the end of a gap", n)
	}
	// Another node has what this one lacks.
	whole := containertest.New(t, primary.PChain, containers)
	whole.Genesis = genesis
	c = newClient(t, primary.PChain, nil, f, whole)
	same(t, fetch(1, 300), 1, containers)
}

// An index that lacks more blocks than it has begins at no place where a block could be
// thought to lie.
func TestShortIndex(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 300, 0)
	for name, drop := range map[string]func(h uint64) bool{
		"begun late":    func(h uint64) bool { return h <= 200 },
		"with a gap":    func(h uint64) bool { return h > 60 && h <= 250 },
		"only the last": func(h uint64) bool { return h < 300 },
	} {
		f := containertest.New(t, primary.PChain, containers)
		f.Genesis, f.Drop = genesis, drop
		c := newClient(t, primary.PChain, nil, f)
		for _, from := range []uint64{1, 230, 300} {
			blocks, err := c.Fetch(t.Context(), from, 300)
			if err != nil || uint64(len(blocks)) != 301-from {
				t.Errorf("%s, from %d: %d blocks, %v", name, from, len(blocks), err)
				continue
			}
			for i, b := range blocks {
				if b.Bare != drop(from+uint64(i)) {
					t.Errorf("%s, from %d: block %d: bare is %v", name, from, from+uint64(i), b.Bare)
				}
			}
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 40, 0)
	node := func(change func(f *fake)) *fake {
		f := containertest.New(t, primary.PChain, containers)
		f.Genesis = genesis
		if change != nil {
			change(f)
		}
		return f
	}
	none := node(func(f *fake) { f.NoIndex = true })
	t.Run("an index goes first", func(t *testing.T) {
		c := newClient(t, primary.PChain, nil, none, node(nil))
		for range 3 {
			blocks, err := c.Fetch(t.Context(), 1, 40)
			if err != nil {
				t.Fatal(err)
			}
			same(t, blocks, 1, containers)
		}
		if n := none.Count("index.getContainerRange"); n > 1 {
			t.Errorf("the node without an index was asked %d times", n)
		}
		if n := none.Count("platform.getBlockByHeight"); n != 0 {
			t.Errorf("the node without an index was asked for %d blocks", n)
		}
	})
	t.Run("an index that is behind is waited for", func(t *testing.T) {
		behind := containertest.New(t, primary.PChain, containers[:30])
		behind.Genesis = genesis
		c := newClient(t, primary.PChain, nil, none, behind)
		blocks, err := c.Fetch(t.Context(), 20, 40)
		if !errors.Is(err, ingest.ErrNotFound) || len(blocks) != 11 {
			t.Errorf("%d blocks, %v", len(blocks), err)
		}
	})
	t.Run("an index that is silent is waited for, and then not", func(t *testing.T) {
		down := node(func(f *fake) { f.Status = 503 })
		c := newClient(t, primary.PChain, nil, none, down)
		if _, err := c.Fetch(t.Context(), 1, 40); !errors.Is(err, source.ErrUnreachable) {
			t.Fatalf("at first: %v", err)
		}
		c = newClient(t, primary.PChain, func(cfg *Config) { cfg.Patience = 1 }, none, down)
		blocks, err := c.Fetch(t.Context(), 1, 40)
		if err != nil || len(blocks) != 40 || !blocks[0].Bare {
			t.Fatalf("%d blocks, %v", len(blocks), err)
		}
		if n := down.Count("index.getContainerRange"); n > 2 {
			t.Errorf("the silent node was asked %d times", n)
		}
	})
	t.Run("chains without single blocks need an index", func(t *testing.T) {
		for _, kind := range []primary.Kind{primary.CChain, primary.XVertices} {
			f := containertest.New(t, kind, nil)
			f.NoIndex = true
			c := newClient(t, kind, nil, f)
			if _, err := c.Fetch(t.Context(), 1, 1); !errors.Is(err, ErrNoIndex) {
				t.Errorf("%s: %v", kind, err)
			}
			if _, err := c.Tip(t.Context()); !errors.Is(err, ErrNoIndex) {
				t.Errorf("%s: last block: %v", kind, err)
			}
		}
	})
	t.Run("a new network has an empty index", func(t *testing.T) {
		f := containertest.New(t, primary.PChain, nil)
		f.Genesis = genesis
		c := newClient(t, primary.PChain, nil, f)
		head, err := c.Tip(t.Context())
		if err != nil || head.Height != 0 {
			t.Fatalf("%+v, %v", head, err)
		}
		if blocks, err := c.Fetch(t.Context(), 0, 1); !errors.Is(err, ingest.ErrNotFound) || len(blocks) != 1 {
			t.Errorf("%d blocks, %v", len(blocks), err)
		}
	})
}

// A node that gives blocks of another chain is asked after the others, once it is found out.
func TestBlame(t *testing.T) {
	t.Parallel()
	genesis, good := containertest.MakeChain(t, 30, 0)
	_, other := containertest.MakeChain(t, 30, 7)
	liar, honest := containertest.New(t, primary.PChain, other), containertest.New(t, primary.PChain, good)
	liar.Genesis, honest.Genesis = genesis, genesis
	c := newClient(t, primary.PChain, nil, liar)
	blocks, err := c.Fetch(t.Context(), 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.Node.SetNodes([]source.Endpoint{liar.At, honest.At})
	c.Blame(blocks[2].Link().Height)
	blocks, err = c.Fetch(t.Context(), 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	same(t, blocks, 5, good)
	c.Blame(1000) // nobody gave it
}

func TestVertices(t *testing.T) {
	t.Parallel()
	containers := containertest.MakeVertices(t, 1100)
	f := containertest.New(t, primary.XVertices, containers)
	c := newClient(t, primary.XVertices, nil, f)
	var all []*primary.Block
	for _, r := range [][2]uint64{{0, 0}, {1, 9}, {10, 1099}} {
		blocks, err := c.Fetch(t.Context(), r[0], r[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blocks...)
	}
	var before chain.ID
	for i, b := range all {
		l := b.Link()
		if b.Place != uint64(i) || b.Before != before || l.Orphan != (i == 0) || b.Accepted != 1_600_000_000+uint64(i) || !bytes.Equal(b.Raw, containers[i]) {
			t.Fatalf("%d: %+v", i, l)
		}
		before = b.ID()
	}
	head, err := c.Tip(t.Context())
	if err != nil || head.Height != 1099 || head.ID != before {
		t.Errorf("last vertex %+v, %v", head, err)
	}
	if _, err := c.latest(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("behind the stop vertex: %v", err)
	}
	wrong := newClient(t, primary.XVertices, func(cfg *Config) { cfg.ID = chain.ID{1} }, f)
	if _, err := wrong.Fetch(t.Context(), 0, 1); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("vertices of another chain: %v", err)
	}
}

// What no honest node answers is refused, whatever it is.
func TestHostile(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 20, 0)
	_, other := containertest.MakeChain(t, 20, 9)
	list := func(m map[string]any) []map[string]any { return m["containers"].([]map[string]any) }
	bytesOf := func(raw []byte) (map[string]any, string) {
		b, err := primary.Parse(primary.PChain, raw)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"bytes": containertest.Hex(raw), "id": b.Outer.String()}, b.Outer.String()
	}
	// Entries are shared between answers: a spoilt one is a copy.
	with := func(m map[string]any, i int, members map[string]any) {
		entries := slices.Clone(list(m))
		if i >= len(entries) {
			return
		}
		e := map[string]any{}
		for k, v := range entries[i] {
			e[k] = v
		}
		for k, v := range members {
			e[k] = v
		}
		entries[i], m["containers"] = e, entries
	}
	for name, spoil := range map[string]func(m map[string]any){
		"another ID":    func(m map[string]any) { with(m, 3, map[string]any{"id": chain.ID{1}.String()}) },
		"another index": func(m map[string]any) { with(m, 3, map[string]any{"index": "4"}) },
		"no index":      func(m map[string]any) { with(m, 3, map[string]any{"index": ""}) },
		"no bytes":      func(m map[string]any) { with(m, 3, map[string]any{"bytes": ""}) },
		"no checksum":   func(m map[string]any) { with(m, 3, map[string]any{"bytes": "0x0000"}) },
		"cut bytes":     func(m map[string]any) { with(m, 3, map[string]any{"bytes": containertest.Hex(containers[3][:30])}) },
		"bytes too many": func(m map[string]any) {
			with(m, 3, map[string]any{"bytes": containertest.Hex(append(bytes.Clone(containers[3]), 0))})
		},
		"other bytes":    func(m map[string]any) { e, _ := bytesOf(other[3]); with(m, 3, e) },
		"an older block": func(m map[string]any) { e, _ := bytesOf(containers[1]); with(m, 3, e) },
		"a block unwrapped": func(m map[string]any) {
			b, _ := primary.Parse(primary.PChain, containers[3])
			e, _ := bytesOf(b.Header.Block)
			with(m, 3, e)
		},
		"more than asked":    func(m map[string]any) { m["containers"] = append(slices.Clone(list(m)), list(m)...) },
		"no list":            func(m map[string]any) { m["containers"] = "none" },
		"a timestamp of air": func(m map[string]any) { with(m, 3, map[string]any{"timestamp": "soon"}) },
	} {
		f := containertest.New(t, primary.PChain, containers)
		f.Genesis = genesis
		f.Spoil = func(method string, m map[string]any) {
			if method == "index.getContainerRange" {
				spoil(m)
			}
		}
		c := newClient(t, primary.PChain, nil, f)
		blocks, err := c.Fetch(t.Context(), 1, 12)
		if name == "an older block" {
			// It may be a gap of the index: what is behind it is asked for again.
			if err != nil || len(blocks) != 12 {
				t.Errorf("%s: %d blocks, %v", name, len(blocks), err)
			}
			same(t, blocks, 1, containers)
			continue
		}
		if !errors.Is(err, ErrBadAnswer) || len(blocks) != 0 {
			t.Errorf("%s: %d blocks, %v", name, len(blocks), err)
		}
	}
	for name, spoil := range map[string]func(m map[string]any){
		"another block":    func(m map[string]any) { m["block"] = containertest.Hex(other[3]) },
		"a header":         func(m map[string]any) { m["block"] = containertest.Hex(containers[0]) },
		"nothing":          func(m map[string]any) { delete(m, "block") },
		"no text":          func(m map[string]any) { m["block"] = 7 },
		"a list":           func(m map[string]any) { m["block"] = []int{1} },
		"the block before": func(m map[string]any) { m["block"] = containertest.Hex(genesis) },
	} {
		f := containertest.New(t, primary.PChain, containers)
		f.Genesis, f.NoIndex = genesis, true
		f.Spoil = func(method string, m map[string]any) {
			if method == "platform.getBlockByHeight" {
				spoil(m)
			}
		}
		c := newClient(t, primary.PChain, nil, f)
		if blocks, err := c.Fetch(t.Context(), 1, 2); !errors.Is(err, ErrBadAnswer) || len(blocks) != 0 {
			t.Errorf("without an index, %s: %d blocks, %v", name, len(blocks), err)
		}
	}
}

// Answers that are too long or too slow are asked for in parts.
func TestPace(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 900, 0)
	f := containertest.New(t, primary.PChain, containers)
	f.Genesis = genesis
	node, err := source.New(source.Config{Nodes: []source.Endpoint{f.At}, MaxBody: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	c, err := New(Config{Chain: primary.PChain, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := c.Fetch(t.Context(), 1, 900)
	if err != nil || len(blocks) != 900 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	same(t, blocks, 1, containers)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 9, 0)
	for _, kind := range []primary.Kind{primary.PChain, primary.CChain} {
		f := containertest.New(t, kind, nil)
		f.Genesis = genesis
		c := newClient(t, kind, func(cfg *Config) { cfg.Poll = time.Millisecond }, f)
		ctx, stop := context.WithCancel(t.Context())
		heights, ended := make(chan uint64, 1), make(chan error, 1)
		go func() { ended <- c.Watch(ctx, func(h uint64) { heights <- h }) }()
		for n := 1; n <= 9; n += 4 {
			f.Set(func(f *fake) { f.Containers = containers[:n] })
			if got := <-heights; got != uint64(n) {
				t.Errorf("%s: height %d, want %d", kind, got, n)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A node that hangs ends with its context.
func TestHang(t *testing.T) {
	t.Parallel()
	f := containertest.New(t, primary.PChain, nil)
	f.Hang = true
	c := newClient(t, primary.PChain, nil, f)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Fetch(ctx, 1, 5)
		ended <- err
	}()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
