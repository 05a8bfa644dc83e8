package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/events"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// kept is a store in memory that can refuse.
type kept struct {
	mu    sync.Mutex
	rows  map[string][]byte
	fails func() error
	// removing is called while a webhook is being removed.
	removing func()
}

func (k *kept) Put(ctx context.Context, key, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails != nil {
		if err := k.fails(); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if k.rows == nil {
		k.rows = map[string][]byte{}
	}
	k.rows[string(key)] = bytes.Clone(value)
	return nil
}

func (k *kept) Remove(_ context.Context, key []byte) error {
	if k.removing != nil {
		k.removing()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, string(key))
	return nil
}

func (k *kept) Each(f func(key, value []byte)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, value := range k.rows {
		f([]byte(key), value)
	}
	return nil
}

// killed returns what a process finds that starts after this one was killed now.
func (k *kept) killed() *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &kept{rows: maps.Clone(k.rows)}
}

// world is a chain and a receiver.
type world struct {
	t      testing.TB
	chain  *index.Chain
	hub    *events.Hub
	blocks []*evm.Block
	seeds  uint64
	store  *kept
	cfg    Config
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	c, err := index.Open(db, chain.ID{1}, index.Options{Remember: 100, NoRollup: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, chain: c, store: &kept{}}
	w.blocks = indextest.New(indextest.Config{Seed: 1, Txs: 4}).Blocks(4)
	if err := c.Commit(t.Context(), w.blocks); err != nil {
		t.Fatal(err)
	}
	hub := events.NewHub(c)
	w.hub = hub
	w.cfg = Config{
		Private: true, Timeout: 20 * time.Second, Retry: time.Millisecond, MaxRetry: 4 * time.Millisecond,
		Chain: func(id chain.ID) (Chain, bool) {
			return Chain{Number: "43112", Hub: hub, View: func() (*index.View, error) { return c.At(nil) }}, id == chain.ID{1}
		},
	}
	return w
}

func (w *world) grow(n int) {
	w.t.Helper()
	w.seeds++
	next := indextest.New(indextest.Config{Seed: 1000 + w.seeds, Txs: 4}).Blocks(n + 1)[1:]
	for _, b := range next {
		last := w.blocks[len(w.blocks)-1]
		b.Number, b.Parent, b.TimeMilli = last.Number+1, last.Hash, last.TimeMilli+1
		w.blocks = append(w.blocks, b)
	}
	if err := w.chain.Commit(context.Background(), next); err != nil {
		w.t.Fatal(err)
	}
}

// Read is a source of blocks for rewinds.
func (w *world) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, b := range w.blocks[from : to+1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) back(n int) {
	w.t.Helper()
	to := len(w.blocks) - 1 - n
	if err := w.chain.Rewind(context.Background(), w, uint64(to)); err != nil {
		w.t.Fatal(err)
	}
	w.blocks = w.blocks[:to+1]
}

// correct has false results of the last blocks put right: the blocks stay what they are.
func (w *world) correct(n int) {
	w.t.Helper()
	from := len(w.blocks) - n
	if err := w.chain.Rewind(context.Background(), w, uint64(from-1)); err != nil {
		w.t.Fatal(err)
	}
	w.seeds++
	w.chain.Correct(append(slices.Clone(w.chain.Corrections()), index.Correction{Height: uint64(from), ID: [6]byte{byte(w.seeds), byte(w.seeds >> 8), 1}}))
	if err := w.chain.Commit(context.Background(), w.blocks[from:]); err != nil {
		w.t.Fatal(err)
	}
}

// run starts webhooks over what is kept; stop ends them.
func (w *world) run() (h *Hooks, stop func()) {
	w.t.Helper()
	cfg := w.cfg
	cfg.Store = w.store
	return runHooks(w.t, cfg)
}

func runHooks(t testing.TB, cfg Config) (h *Hooks, stop func()) {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.client.CloseIdleConnections()
	})
	t.Cleanup(stop)
	within(t, "it does not begin", func() bool {
		_, err := h.List("")
		return err == nil
	})
	return h, stop
}

// want returns the transactions of addresses from a block on, as lists have them.
func (w *world) want(from uint64, addresses ...evm.Address) []string {
	w.t.Helper()
	v, err := w.chain.At(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer v.Close()
	var list []string
	for _, a := range addresses {
		if _, err := v.AddressTxs(a, index.Page{Limit: math.MaxInt, Ascending: true, From: from, To: math.MaxUint64}, func(tx *index.Tx) bool {
			list = append(list, fmt.Sprintf("%06d %06d %s", tx.Block.Number, tx.Index, tx.Hash))
			return true
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// message is one that a receiver has got.
type message struct {
	WebhookID, EventType, MessageID string
	Event                           struct {
		BlockNumber string
		Transaction struct {
			BlockNumber, TxHash string
			TransactionIndex    int
		}
	}
}

// receiver takes messages as a client's server that forgets those that it has.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	log    []string
	ids    map[string]bool
	got    chan struct{} // room for one
	twice  int
	// treat answers instead, if it returns true.
	treat func(w http.ResponseWriter, r *http.Request) bool
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{ids: map[string]bool{}, got: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(t, w, req) }))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(t testing.TB, w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	treat := r.treat
	r.mu.Unlock()
	if treat != nil && treat(w, req) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if want, _ := sign(r.secret, body); r.secret != "" && req.Header.Get("X-Signature") != want {
		t.Error("the signature is wrong")
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	switch {
	case r.ids[m.MessageID]:
		r.twice++
	case m.EventType == typeRetraction:
		n, err := strconv.Atoi(m.Event.BlockNumber)
		if err != nil {
			t.Error(err)
		}
		stands := fmt.Sprintf("%06d", n)
		r.log = slices.DeleteFunc(r.log, func(s string) bool { return s[:6] > stands })
	default:
		tx := m.Event.Transaction
		n, err := strconv.Atoi(tx.BlockNumber)
		if err != nil {
			t.Error(err)
		}
		r.log = append(r.log, fmt.Sprintf("%06d %06d %s", n, tx.TransactionIndex, tx.TxHash))
	}
	r.ids[m.MessageID] = true
	w.WriteHeader(http.StatusNoContent)
	select {
	case r.got <- struct{}{}:
	default:
	}
}

// await waits until the receiver has what it must have, and nothing else.
func (r *receiver) await(t testing.TB, want []string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		r.mu.Lock()
		log := slices.Clone(r.log)
		r.mu.Unlock()
		if slices.Equal(log, want) {
			return
		}
		select {
		case <-r.got:
		case <-limit:
			t.Fatalf("the receiver has %d messages %v, not %d %v", len(log), log, len(want), want)
		}
	}
}

func (w *world) create(h *Hooks, r *receiver, addresses ...evm.Address) Hook {
	w.t.Helper()
	n, err := h.Create(w.t.Context(), Hook{Client: "me", URL: r.URL, Chain: chain.ID{1}, Addresses: addresses, Internal: true})
	if err != nil {
		w.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secret, err = h.Secret("me"); err != nil {
		w.t.Fatal(err)
	}
	return n
}

var accounts = indextest.New(indextest.Config{}).Accounts()

// A receiver gets what happens to its addresses in order, though it is down, fails, lies
