package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	made "quorate/devnet/primary"
	devnet "quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	store "quorate/engine/store/index"
)

// history is a P- and an X-Chain of a simulated network.
type history struct {
	cfg                        pchain.Config
	genesis                    []byte // of the X-Chain
	blocks, exchange, vertices []*primary.Block
	world                      *devnet.World
}

// late is a height of the P-Chain not long before its last one.
func (h *history) late() int { return len(h.blocks) - 143 }

var histories = sync.OnceValues(func() (*history, error) {
	w, err := devnet.New(devnet.Params{Validators: 5, Seed: 1, L1s: 2, L1Inactive: 1, L1Underfunded: 1})
	if err != nil {
		return nil, err
	}
	m, err := made.Make(made.Config{World: w, Blocks: 700})
	if err != nil {
		return nil, err
	}
	g, err := platform.ParseGenesis(m.Genesis())
	if err != nil {
		return nil, err
	}
	if err := lockMore(g, m, w); err != nil {
		return nil, err
	}
	f := m.Forks()
	h := &history{world: w, genesis: m.XGenesis()}
	h.cfg = pchain.Config{Network: devnet.NetworkID, Genesis: g, Upgrades: &rules.Upgrades{Cortina: f.Cortina, Durango: f.Durango, Etna: f.Etna}}
	for kind, list := range map[primary.Kind][]*made.Container{primary.PChain: m.Platform(), primary.XChain: m.AVM(), primary.XVertices: m.Vertices()} {
		to := map[primary.Kind]*[]*primary.Block{primary.PChain: &h.blocks, primary.XChain: &h.exchange, primary.XVertices: &h.vertices}[kind]
		for i, c := range list {
			b, err := primary.Parse(kind, c.Bytes())
			if err != nil {
				return nil, err
			}
			if kind == primary.XVertices {
				b.Place = uint64(i)
				if i > 0 {
					b.Before = (*to)[i-1].Vertex.ID
				}
			}
			*to = append(*to, b)
		}
	}
	return h, nil
})

// lockMore gives accounts outputs from the genesis on that nobody spends, whose locks end
// in the last blocks.
func lockMore(g *platform.Genesis, m *made.Chain, w *devnet.World) error {
	list := m.Platform()
	for i := range devnet.Accounts {
		b, err := primary.Parse(primary.PChain, list[len(list)-1-20*(i%10)].Bytes())
		if err != nil {
			return err
		}
		out := utxo.Output{Asset: w.AssetID(), State: utxo.State{
			Kind: utxo.TransferOutput, Amount: uint64(1+i) * 1e9, Owners: devnet.Single(w.Account(i)),
		}}
		until := uint64(b.Platform.Time) - uint64(i%2)
		if i%3 == 0 {
			out.StakeLock = until
		} else {
			out.Locktime = until
		}
		g.UTXOs = append(g.UTXOs, platform.GenesisUTXO{UTXO: utxo.UTXO{Ref: utxo.Ref{Index: uint32(len(g.UTXOs))}, Output: out}})
	}
	return nil
}

// primaryWorld is a network whose blocks come one by one.
type primaryWorld struct {
	t        testing.TB
	h        *history
	platform *pchain.Chain
	exchange *primary.Chain
	vertices *primary.Chain
	done     map[primary.Kind]int // blocks that are there
	store    *kept
	cfg      Config
}

func newPrimaryWorld(t testing.TB) *primaryWorld {
	t.Helper()
	h, err := histories()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &primaryWorld{t: t, h: h, done: map[primary.Kind]int{}, store: &kept{}}
	if w.platform, err = pchain.Open(db, h.cfg); err != nil {
		t.Fatal(err)
	}
	if w.vertices, err = xchain.OpenVertices(db, h.cfg.Network, h.genesis); err != nil {
		t.Fatal(err)
	}
	if w.exchange, err = xchain.OpenBlocks(db, h.cfg.Network, h.genesis, w.vertices); err != nil {
		t.Fatal(err)
	}
	w.cfg = Config{
		Private: true, Timeout: 20 * time.Second, Retry: time.Millisecond, MaxRetry: 4 * time.Millisecond,
		Chain:   func(chain.ID) (Chain, bool) { return Chain{}, false },
		Network: w.network, Writer: parts{},
	}
	return w
}

func (w *primaryWorld) network(name string) (Network, bool) {
	asset := chain.ID{}
	if v, err := w.platform.View(); err == nil {
		asset = v.AVAX()
		v.Close()
	}
	return Network{
		ID: w.h.cfg.Network, AVAX: asset, Platform: w.platform.View,
		Exchange: func() (*xchain.View, error) { return xchain.Open(w.exchange, w.vertices) },
		Chain: func(on primary.Kind) (chain.ID, func() <-chan struct{}, bool) {
			if on == primary.XChain {
				return w.h.world.XChainID(), w.exchange.Changed, true
			}
			return chain.PlatformChainID, w.platform.Changed, true
		},
	}, name == "fuji"
}

// grow commits the next n blocks of a chain.
func (w *primaryWorld) grow(on primary.Kind, n int) {
	w.t.Helper()
	list, to := w.h.blocks, w.platform.Chain
	switch on {
	case primary.XChain:
		list, to = w.h.exchange, w.exchange
	case primary.XVertices:
		list, to = w.h.vertices, w.vertices
	case primary.PChain, primary.CChain:
	}
	for n = min(n, len(list)-w.done[on]); n > 0; {
		m := min(n, 200)
		if err := to.Commit(context.Background(), list[w.done[on]:w.done[on]+m]); err != nil {
			w.t.Fatal(err)
		}
		w.done[on] += m
		n -= m
	}
}

// open opens the rows of a chain.
func (w *primaryWorld) open(on primary.Kind) *Rows {
	w.t.Helper()
	n, _ := w.network("fuji")
	r, err := n.open("fuji", on, parts{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *primaryWorld) run() (h *Hooks, stop func()) {
	w.t.Helper()
	cfg := w.cfg
	cfg.Store = w.store
	return runHooks(w.t, cfg)
}

// parts writes what messages have in a form of its own.
type parts struct{}

// Tx implements Writer.
func (parts) Tx(r *Rows, row *primary.TxRow) (*Tx, error) {
	t := &Tx{}
	var err error
	if t.Consumed, _, err = row.Consumed(); err != nil {
		return nil, err
	}
	emitted := func(id chain.ID) (bool, error) {
		u, found, err := r.Output(id)
		if found && (u.Place == row.Place && !u.Reward || slices.Contains(row.Made, id)) {
			t.Emitted = append(t.Emitted, u)
		}
		return found, err
	}
	for i, found := uint32(0), true; found; i++ { // they are numbered without gaps
		if found, err = emitted(utxo.Ref{TxID: row.ID, Index: i}.ID()); err != nil {
			return nil, err
		}
	}
	for _, id := range row.Made {
		if _, err = emitted(id); err != nil {
			return nil, err
		}
	}
	t.Write = func() ([]byte, error) {
		return json.Marshal(map[string]any{"txHash": row.ID.String(), "blockNumber": decimal(row.Height)})
	}
	return t, nil
}

// Reward implements Writer.
func (parts) Reward(_ *Rows, p *primary.Reward) ([]byte, error) {
	return json.Marshal(map[string]any{"amount": decimal(p.Amount), "kind": p.Kind})
}

// Balances implements Writer.
func (parts) Balances(_ *Rows, list []Sum) ([]byte, error) {
	m := map[string]string{}
	for _, s := range list {
		m[s.Name+" "+s.Asset.String()] = fmt.Sprint(s.Amount, " in ", s.Count)
	}
	return json.Marshal(m)
}
