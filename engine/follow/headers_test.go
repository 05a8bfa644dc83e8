package follow

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/chain/proposer"
	"quorate/engine/primary"
	"quorate/engine/source/container/containertest"
)

// bareIn returns the heights of the blocks of an archive that are bare, and fails if the
// others are not the containers.
func bareIn(t *testing.T, p *Primary, containers [][]byte) (list []uint64) {
	t.Helper()
	a := p.keeper.Load().sink.archive
	first, _, _ := a.First()
	last, _, _ := a.Last()
	if err := container.NewReader(a, primary.PChain).Read(t.Context(), first, last, func(b *primary.Block) error {
		h := b.Link().Height
		if b.Bare {
			list = append(list, h)
		} else if h > 0 && string(b.Raw) != string(containers[h-1]) {
			t.Errorf("block %d is another one", h)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func upTo(from, to uint64) (list []uint64) {
	for h := from; h <= to; h++ {
		list = append(list, h)
	}
	return list
}

// Blocks that came without headers get them when a node has them: from an index that has
// some of them, and from one that has all. Damage and a lost list of them change nothing.
func TestHeaders(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 300, 0)
	dir := t.TempDir()
	var kept []chain.Head
	run := func(name string, do func(p *Primary, rows *memoryRows), change func(n *containertest.Node)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			node := containertest.New(t, primary.PChain, containers)
			node.Genesis = genesis
			change(node)
			p, rows, _ := followed(t, dir, primary.PChain, func(cfg *PrimaryConfig) {
				open := cfg.Rows
				cfg.Rows = func() (PrimaryRows, error) {
					r, err := open()
					r.(*memoryRows).heads = kept
					return r, err
				}
			}, node)
			rows.await(t, uint64(len(node.Containers)))
			kept = rows.heads
			<-p.keeper.Load().tended.done
			if err := errors.Join(p.lookForBare(t.Context()), p.headersOnce(t.Context())); err != nil {
				t.Fatal(err)
			}
			do(p, rows)
		})
	}
	want := func(bare []uint64, ranges ...heights) func(*Primary, *memoryRows) {
		return func(p *Primary, _ *memoryRows) {
			if got := bareIn(t, p, containers); !slices.Equal(got, bare) {
				t.Errorf("bare are %v, want %v", got, bare)
			}
			var told []heights
			for _, g := range p.Gaps() {
				told = append(told, heights{g.From, g.To})
				if g.Kind != GapHeader || !g.Rows {
					t.Errorf("%+v", g)
				}
			}
			if !slices.Equal(told, ranges) {
				t.Errorf("gaps are %v, want %v", told, ranges)
			}
		}
	}
	run("none", want(upTo(1, 200), heights{1, 200}), func(n *containertest.Node) {
		n.NoIndex, n.Containers = true, containers[:200]
	})
	run("new blocks alone", want(upTo(1, 200), heights{1, 200}), func(n *containertest.Node) {
		n.Drop = func(h uint64) bool { return h <= 200 }
	})
	run("some", want(append(upTo(1, 40), upTo(120, 139)...), heights{1, 40}, heights{120, 139}), func(n *containertest.Node) {
		n.Drop = func(h uint64) bool { return h <= 40 || h >= 120 && h < 140 }
	})
	if err := os.Remove(filepath.Join(dir, "archive", bareName)); err != nil {
		t.Fatal(err)
	}
	run("none again", want(append(upTo(1, 40), upTo(120, 139)...), heights{1, 40}, heights{120, 139}), func(n *containertest.Node) { n.NoIndex = true })
	if err := os.WriteFile(filepath.Join(dir, "archive", bareName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("all", func(p *Primary, rows *memoryRows) {
		want(nil)(p, rows)
		if got := rows.completed(); !slices.Equal(got, append(upTo(1, 40), upTo(120, 139)...)) {
			t.Errorf("rows of %v were completed", got)
		}
	}, func(*containertest.Node) {})
	run("once", func(p *Primary, rows *memoryRows) {
		want(nil)(p, rows)
		if got := rows.completed(); len(got) != 0 {
			t.Errorf("rows of %v were completed", got)
		}
		// What is mended without an index is bare again, and noted before it is there.
		fresh, err := p.refetchBare(t.Context(), 50, 60)
		if err == nil {
			err = p.keeper.Load().sink.archive.Replace(t.Context(), fresh)
		}
		if err != nil {
			t.Fatal(err)
		}
		want(upTo(50, 60), heights{50, 60})(p, rows)
	}, func(n *containertest.Node) { n.NoIndex = true })
	run("mended", want(nil), func(*containertest.Node) {})
}

// Headers that do not fit those of the blocks around them are refused, and so are other
// blocks.
func TestHeadersRefused(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 60, 0)
	node := containertest.New(t, primary.PChain, containers)
	node.Genesis, node.Drop = genesis, func(h uint64) bool { return h > 20 && h <= 40 }
	p, rows, _ := followed(t, t.TempDir(), primary.PChain, nil, node)
	rows.await(t, 60)
	<-p.keeper.Load().tended.done
	bare := upTo(21, 40)
	if got := bareIn(t, p, containers); !slices.Equal(got, bare) {
		t.Fatalf("bare are %v", got)
	}
	load := func(at int, change func(h *proposer.Header)) *primary.Block {
		t.Helper()
		b, err := primary.Parse(primary.PChain, containers[at-1])
		if err != nil {
			t.Fatal(err)
		}
		h := *b.Header
		change(&h)
		raw, err := h.Bytes()
		if err == nil {
			b, err = primary.Parse(primary.PChain, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	_, others := containertest.MakeChain(t, 60, 7)
	foreign, err := primary.Parse(primary.PChain, others[29])
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*primary.Block{
		"the parent of the first": load(21, func(h *proposer.Header) { h.Parent[0] ^= 1 }),
		"the time of the last":    load(40, func(h *proposer.Header) { h.Time++ }),
		"another block":           foreign,
	} {
		if err := p.complete(t.Context(), []*primary.Block{b}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := bareIn(t, p, containers); !slices.Equal(got, bare) {
		t.Errorf("bare are %v", got)
	}
	if err := p.complete(t.Context(), []*primary.Block{load(30, func(*proposer.Header) {})}); err != nil {
		t.Error(err)
	}
	if got := bareIn(t, p, containers); !slices.Equal(got, slices.DeleteFunc(bare, func(h uint64) bool { return h == 30 })) {
		t.Errorf("bare are %v", got)
	}
}

// The list of bare blocks says the same after ranges were added and removed in any order,
// and tells no more of them than it may.
func TestBares(t *testing.T) {
	t.Parallel()
	b, err := openBares(filepath.Join(t.TempDir(), bareName), 0)
	if err != nil {
		t.Fatal(err)
	}
	have := map[uint64]bool{}
	change := func(r heights, add bool) {
		if add {
			b.add(r)
		} else {
			b.remove(r)
		}
		for h := r.From; h <= r.To; h++ {
			have[h] = add
		}
		list := b.list()
		for h := range uint64(60) {
			if at := slices.IndexFunc(list, func(l heights) bool { return l.From <= h && h <= l.To }); have[h] != (at >= 0) {
				t.Fatalf("%v, %v: block %d is %v in %v", r, add, h, !have[h], list)
			}
		}
		for i := 1; i < len(list); i++ {
			if list[i-1].To+1 >= list[i].From {
				t.Fatalf("%v", list)
			}
		}
	}
	for i := range uint64(400) {
		from := i * 7919 % 50
		change(heights{from, from + i*31%9}, i%5 != 0 && i%3 != 1)
	}
	for h, n := uint64(100), len(b.list()); n < maxBare; h, n = h+3, n+1 {
		b.add(heights{h, h})
	}
	b.add(heights{1 << 40, 1 << 40})
	if list := b.list(); len(list) != maxBare || list[maxBare-1].To != 1<<40 {
		t.Errorf("%d ranges", len(list))
	}
	if err := b.save(&heights{5, 1 << 30}); err != nil {
		t.Fatal(err)
	}
	again, err := openBares(b.path, 1<<20)
	if err != nil || again.list()[0] != b.list()[0] || len(again.list()) != maxBare-1 || len(again.unlooked(5, 1<<20)) != 0 {
		t.Errorf("%v", err)
	}
	if got := again.unlooked(4, 9); !slices.Equal(got, []heights{{4, 9}}) {
		t.Errorf("%v", got)
	}
	if got := again.unlooked(5, 1<<20+1); !slices.Equal(got, []heights{{1<<20 + 1, 1<<20 + 1}}) {
		t.Errorf("%v", got)
	}
	if primary.ArchivedBare(nil) {
		t.Error("nothing is bare")
	}
}
