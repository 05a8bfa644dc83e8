package bench

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/devnet"
	made "quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	store "quorate/engine/store/index"
	"quorate/httpapi"
	"quorate/httpapi/view"
)

// primaryHistory is the P- and the X-Chain of a simulated network.
type primaryHistory struct {
	made     *made.Chain // nil: see forget
	genesis  *platform.Genesis
	exchange []byte // genesis of the X-Chain
	upgrades rules.Upgrades
	x, avax  chain.ID
}

// forget drops the blocks: a server has none of them in memory, and each collection of
// garbage would go through them at the cost of the pages.
func (h *primaryHistory) forget() { h.made = nil }

const (
	// primaryBlocks is about how many blocks the P-Chain has, and primaryGroup how many
	// of them share a commit.
	primaryBlocks = 8_000
	primaryGroup  = 256
)

// primaryConfig is that of the simulated network.
func primaryConfig(blocks int) devnet.Config {
	return devnet.Config{Blocks: 1, TxsPerBlock: 1, PrimaryBlocks: blocks}
}

func newPrimaryHistory(t testing.TB, blocks int) *primaryHistory {
	t.Helper()
	d, err := devnet.New(primaryConfig(blocks))
	if err != nil {
		t.Fatal(err)
	}
	h := &primaryHistory{made: d.Primary(), x: d.World().XChainID(), avax: d.World().AssetID()}
	f := h.made.Forks()
	h.exchange, h.upgrades = h.made.XGenesis(), rules.Upgrades{Cortina: f.Cortina, Durango: f.Durango, Etna: f.Etna}
	if h.genesis, err = platform.ParseGenesis(h.made.Genesis()); err != nil {
		t.Fatal(err)
	}
	return h
}

// open opens the rows of the history's chains.
func (h *primaryHistory) open(t testing.TB, db *store.DB) *primaryRows {
	t.Helper()
	r := &primaryRows{x: h.x, avax: h.avax}
	var err, verr, xerr error
	r.platform, err = pchain.Open(db, pchain.Config{
		Network: world.NetworkID, Genesis: h.genesis, Upgrades: &h.upgrades,
	})
	r.vertices, verr = xchain.OpenVertices(db, world.NetworkID, h.exchange)
	r.blocks, xerr = xchain.OpenBlocks(db, world.NetworkID, h.exchange, r.vertices)
	if err := errors.Join(err, verr, xerr); err != nil {
		t.Fatal(err)
	}
	return r
}

// index makes the rows of the first blocks of the P- and the X-Chain, or of all if share
// is 1, and of all vertices.
func (h *primaryHistory) index(t testing.TB, r *primaryRows, share float64) {
	t.Helper()
	commit := func(kind primary.Kind, to *primary.Chain, all []*made.Container) {
		t.Helper()
		place, before := uint64(0), chain.ID{}
		for group := range slices.Chunk(all, primaryGroup) {
			var blocks []*primary.Block
			for _, c := range group {
				b, err := primary.Parse(kind, c.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				b.Accepted = c.Time
				if kind == primary.XVertices {
					b.Place, b.Before = place, before
					place, before = place+1, b.ID()
				}
				blocks = append(blocks, b)
			}
			if err := to.Commit(t.Context(), blocks); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, x := h.made.Platform(), h.made.AVM()
	commit(primary.PChain, r.platform.Chain, p[:int(float64(len(p))*share)])
	commit(primary.XVertices, r.vertices, h.made.Vertices())
	commit(primary.XChain, r.blocks, x[:int(float64(len(x))*share)])
}

// primaryRows serves rows as the primary network of the test network; no node is ever
// asked.
type primaryRows struct {
	platform         *pchain.Chain
	vertices, blocks *primary.Chain
	x, avax          chain.ID
}

func (r *primaryRows) Primary(name string) (httpapi.PrimaryNetwork, bool) { return r, name == "fuji" }
func (r *primaryRows) NetworkID() uint32                                  { return world.NetworkID }
func (r *primaryRows) AVAX() chain.ID                                     { return r.avax }
func (r *primaryRows) Told() *primary.Told                                { return &primary.Told{} }

func (r *primaryRows) Chain(k primary.Kind) (httpapi.PrimaryChain, bool) {
	return primaryChain{r, k}, k != primary.CChain
}

type primaryChain struct {
	*primaryRows
	kind primary.Kind
}

func (c primaryChain) rows() *primary.Chain {
	switch c.kind {
	case primary.XChain:
		return c.blocks
	case primary.XVertices:
		return c.vertices
	case primary.PChain, primary.CChain:
	}
	return c.platform.Chain
}

func (c primaryChain) ID() chain.ID {
	if c.kind == primary.PChain {
		return chain.PlatformChainID
	}
	return c.x
}

func (c primaryChain) Cursor() (uint64, chain.ID, bool) {
	head, ok := c.rows().Cursor()
	return head.Height, head.ID, ok
}

func (c primaryChain) View() (httpapi.PrimaryView, error) {
	if c.kind == primary.PChain {
		return c.platform.View()
	}
	v, err := xchain.Open(c.blocks, c.vertices)
	if err != nil {
		return nil, err
	}
	blocks, ok := v.Blocks()
	if !ok {
		return nil, primary.ErrEmpty
	}
	tip := v.Tip()
	if c.kind == primary.XVertices { // whose pages change with the vertices alone
		tip, _ = c.vertices.Cursor()
	}
	return exchangeView{v, blocks, tip}, nil
}

func (primaryChain) Gaps() ([]view.Gap, string) { return nil, "" }
func (primaryChain) Syncing() (uint64, bool)    { return 0, false }
func (primaryChain) Down() error                { return nil }

// exchangeView is what the command makes of the X-Chain's rows.
type exchangeView struct {
	*xchain.View
	blocks *primary.View
	tip    chain.Head
}

func (v exchangeView) Tip() chain.Head { return v.tip }

func (v exchangeView) First() uint64 { return v.blocks.First() }
func (v exchangeView) Block(id chain.ID) (*primary.BlockInfo, bool, error) {
	return v.blocks.Block(id)
}

func (v exchangeView) BlockAt(height uint64) (*primary.BlockInfo, bool, error) {
	return v.blocks.BlockAt(height)
}

func (v exchangeView) Blocks(f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error) {
	return v.blocks.Blocks(f, p, take)
}

// unsigned is a network for which nothing is ever signed.
type unsigned struct{ httpapi.Aggregator }

func (u unsigned) ByName(name string) (httpapi.Aggregator, bool) { return u, name == "fuji" }
func (unsigned) ByID(uint32) (httpapi.Aggregator, bool)          { return nil, false }

// Paths of the primary network.
const (
	primaryPath  = "/v1/networks/fuji"
	platformPath = primaryPath + "/blockchains/p-chain"
	exchangePath = primaryPath + "/blockchains/x-chain"
)

// newPrimaryRig serves the primary network as the command does, with about so many
// blocks of the P-Chain.
func newPrimaryRig(t testing.TB, blocks int) *answerRig {
	t.Helper()
	h := newPrimaryHistory(t, blocks)
	r := h.rig(t, 1)
	r.primaryKinds(t, h)
	h.forget()
	return r
}

// rig serves the first blocks of a history, or all if share is 1.
func (h *primaryHistory) rig(t testing.TB, share float64) *answerRig {
	t.Helper()
	r := &answerRig{dir: t.TempDir()}
	r.serve = func(t testing.TB, encoding string) clients {
		db := openStore(t, r.dir)
		return shipped(t, httpapi.Config{Networks: unsigned{}, Primary: h.open(t, db)}, encoding).closing(t, db)
	}
	db := openStore(t, r.dir)
	h.index(t, h.open(t, db), share)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r.merge(t)
	return r
}

func openStore(t testing.TB, dir string) *store.DB {
	return openWith(t, dir, store.Options{NoSync: true})
}

func openWith(t testing.TB, dir string, opts store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// primaryKinds finds distinct pages of each kind.
func (r *answerRig) primaryKinds(t testing.TB, h *primaryHistory) {
	t.Helper()
	api := r.serve(t, "")
	defer api.end()
	walk := func(path string, most int) (list []string) {
		t.Helper()
		for next := path; next != "" && len(list) < most; {
			status, body := api.get(t, next)
			if status != fasthttp.StatusOK {
				t.Fatalf("%s: status %d, %s", next, status, body)
			}
			list = append(list, next)
			token := between(body, `"nextPageToken":"`, `"`)
			if next = ""; token != "" {
				next = path + "&pageToken=" + token
			}
		}
		return list
	}
	walks := func(path string, from, to int) (list []string) {
		for size := from; size <= to; size++ {
			list = append(list, walk(fmt.Sprint(path, "?sortOrder=desc&pageSize=", size), answerPages)...)
			list = append(list, walk(fmt.Sprint(path, "?sortOrder=asc&pageSize=", size), answerPages)...)
		}
		return list
	}
	var nodes, owners []string
	h.made.Read(func(s *made.State) {
		for _, x := range s.Stakers {
			nodes = append(nodes, primaryPath+"/rewards?nodeIds="+x.NodeID.String())
		}
		for _, u := range s.UTXOs {
			for _, a := range u.Addresses {
				owners = append(owners, "?addresses="+a.Text(address.Prefix(world.NetworkID)))
			}
		}
	})
	slices.Sort(nodes)
	slices.Sort(owners)
	nodes, owners = slices.Compact(nodes), slices.Compact(owners)
	of := func(path string, list []string, tail string) (all []string) {
		for _, x := range list {
			all = append(all, path+x+tail)
		}
		return all
	}
	for _, k := range []struct {
		name  string
		pages []string
	}{
		{"subnets", walks(primaryPath+"/subnets", 10, 40)},
		{"blockchains", walks(primaryPath+"/blockchains", 10, 40)},
		{"delegators", walks(primaryPath+"/delegators", 10, 10)},
		{"rewards", append(of("", nodes, ""), of("", nodes, "&sortOrder=asc")...)},
		{"validators", walks(primaryPath+"/validators", 10, 14)},
		{"P-Chain blocks", walk(platformPath+"/blocks?pageSize=10", answerPages)},
		{"P-Chain transactions", walk(platformPath+"/transactions?pageSize=10", answerPages)},
		{"X-Chain transactions", walk(exchangePath+"/transactions?pageSize=10", answerPages)},
		{"vertices", walk(exchangePath+"/vertices?pageSize=10", answerPages)},
		{"UTXOs", append(of(platformPath+"/utxos", owners, ""), of(platformPath+"/utxos", owners, "&includeSpent=true")...)},
		{"balances", of(platformPath+"/balances", owners, "")},
	} {
		if len(k.pages) < 10 {
			t.Fatalf("%s: only %d pages", k.name, len(k.pages))
		}
		r.kinds = append(r.kinds, answerKind{k.name, 0.5, k.pages[0], func(i int) string { return k.pages[1+i] }, len(k.pages) - 1})
	}
}

// primaryFigures are those of pages about the primary network. Nothing is promised of
// pages that nobody read before: their rows lie where the hash of a transaction or an
// output has them, one by one.
func primaryFigures(t *testing.T, each func(figure)) {
	r := newPrimaryRig(t, primaryBlocks)
	settle()
	for i := range r.kinds {
		k := &r.kinds[i]
		r.kindFigures(t, k, "", k.again, 0, each)
	}
}

// TestPrimaryPages: the figures above stand on it.
func TestPrimaryPages(t *testing.T) {
	t.Parallel()
	r := newPrimaryRig(t, 500)
	api := r.serve(t, "")
	defer api.end()
	for i := range r.kinds {
		k := &r.kinds[i]
		for _, path := range []string{k.path, k.others(0), k.others(k.pages - 1)} {
			if status, body := api.get(t, path); status != fasthttp.StatusOK || len(body) < 20 {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
}

// moreHistory is how many times the history of another chain one has.
const moreHistory = 100

// primaryHistoryFigures compare pages of the same rows in a history and in its first
// hundredth, none of which is answered from what is kept.
func primaryHistoryFigures(t *testing.T, each func(figure)) {
	h := newPrimaryHistory(t, moreHistory*200)
	long, short := h.rig(t, 1), h.rig(t, 1./moreHistory)
	settle()
	paths := historyPaths(h)
	h.forget()
	for _, p := range paths {
		cost := func(r *answerRig) func() float64 {
			bytes := 0 // outputs that were spent in the longer history say by what
			for _, b := range r.bodies(t, "", p.paths) {
				bytes += len(b)
			}
			return func() float64 {
				api := r.serve(t, "")
				defer api.end()
				requests := api.requests(p.paths)
				api.once(t, requests) // what was asked for once is in the database's caches, and not kept yet
				return api.once(t, requests) / float64(bytes)
			}
		}
		name := fmt.Sprintf("%s of %d times the history, CPU of a byte / of one", p.name, moreHistory)
		each(figure{name, flatRatio.atMost(1.2), func() float64 { return costRatio(1, perGroup, cost(long), cost(short)) }})
	}
}

// pathsOf are pages of one kind.
type pathsOf struct {
	name  string
	paths []string
}

// historyPaths returns pages of the P- and the X-Chain that end in the first hundredth of
// the history.
func historyPaths(h *primaryHistory) (all []pathsOf) {
	for _, c := range []struct {
		name, path string
		blocks     []*made.Container
	}{{"P-Chain", platformPath, h.made.Platform()}, {"X-Chain", exchangePath, h.made.AVM()}} {
		for _, k := range []string{"blocks", "transactions"} {
			var paths []string
			last := len(c.blocks) / moreHistory
			for size := 8; size < 13; size++ {
				for _, b := range c.blocks[min(size, last/2):last] {
					paths = append(paths, fmt.Sprintf("%s/%s?pageSize=%d&endTimestamp=%d", c.path, k, size, b.Time))
				}
			}
			slices.Sort(paths)
			all = append(all, pathsOf{c.name + " " + k, slices.Compact(paths)})
		}
	}
	return all
}

// TestHistoryPages: the figures above stand on it.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	h := newPrimaryHistory(t, moreHistory*20)
	short := h.rig(t, 1./moreHistory)
	for _, p := range historyPaths(h) {
		if len(p.paths) == 0 {
			t.Errorf("%s: no pages of %d and %d blocks", p.name, len(h.made.Platform()), len(h.made.AVM()))
		}
		short.bodies(t, "", p.paths)
	}
}
