package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/metric"
	"quorate/engine/store"
)

// Hooks keeps webhooks and delivers. Start it with Run; all other methods may be called
// at any time.
type Hooks struct {
	cfg    Config
	log    *slog.Logger
	client *http.Client
	kicked chan struct{} // room for one: something is in kicks
	// reading has room for those who read rows of the primary network.
	reading chan struct{}

	mu      sync.Mutex
	hooks   map[string]*hook  // by ID; nil until they are read
	secrets map[string]string // by client
	kicks   map[string]bool   // IDs of those that have changed

	changes sync.Mutex // held while a client's webhooks change

	delivered, failed, disabled metric.Counter
}

// hook is a webhook in memory.
type hook struct {
	rec atomic.Pointer[record] // never changes in place: it is replaced

	mu      sync.Mutex // held while rec is being replaced, which takes as long as the disk does
	deleted bool

	// Of Run's goroutine.
	stop context.CancelFunc // nil: nothing is delivered
}

// secretKey is the key of a client's secret. IDs of webhooks have no slash.
func secretKey(client string) []byte { return []byte("secret/" + client) }

// New checks cfg and returns webhooks that do not deliver yet.
func New(cfg Config) (*Hooks, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	h := &Hooks{
		cfg: cfg, log: cfg.Logger, client: newClient(&cfg), kicked: make(chan struct{}, 1), kicks: make(map[string]bool),
		reading:   make(chan struct{}, readers()),
		delivered: cfg.Metrics.Counter("quorate_webhooks_delivered_total", "Messages that receivers of webhooks have taken."),
		failed:    cfg.Metrics.Counter("quorate_webhooks_failed_total", "Deliveries to receivers of webhooks that failed and are tried again."),
		disabled:  cfg.Metrics.Counter("quorate_webhooks_disabled_total", "Webhooks that were made inactive since deliveries to their receivers failed for too long."),
	}
	cfg.Metrics.Gauges("quorate_webhooks", "Webhooks by their state.", []string{"state"}, func(emit func(float64, ...string)) {
		count := map[Status]int{}
		h.mu.Lock()
		for _, k := range h.hooks {
			count[k.rec.Load().Status]++
		}
		h.mu.Unlock()
		emit(float64(count[Active]), string(Active))
		emit(float64(count[Inactive]), string(Inactive))
	})
	return h, nil
}

// KeepIn says where webhooks are kept, before Run: until that has read them there are none.
func (h *Hooks) KeepIn(s store.Records) { h.cfg.Store = s }

// Run delivers until ctx ends. It may be started again after an error.
func (h *Hooks) Run(ctx context.Context) error {
	if err := h.recover(ctx); err != nil {
		return err
	}
	if text := h.warning(); text != "" {
		h.log.Warn(text)
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan string)
	running := make(map[string]*hook)
	begin := func(id string) {
		h.mu.Lock()
		k := h.hooks[id]
		h.mu.Unlock()
		if k == nil || k.rec.Load().Status != Active {
			return
		}
		work, stop := context.WithCancel(ctx)
		k.stop, running[id] = stop, k
		workers.Go(func() {
			defer stop()
			h.deliver(work, k)
			select {
			case ended <- id:
			case <-ctx.Done():
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.kicked:
			for _, id := range h.drain() {
				if k := running[id]; k != nil {
					k.stop() // it begins again when it has ended
				} else {
					begin(id)
				}
			}
		case id := <-ended:
			delete(running, id)
			begin(id)
		}
	}
}

// kick has Run look at a webhook.
func (h *Hooks) kick(id string) {
	h.mu.Lock()
	h.kicks[id] = true
	h.mu.Unlock()
	select {
	case h.kicked <- struct{}{}:
	default:
	}
}

func (h *Hooks) drain() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.kicks {
		list = append(list, id)
	}
	clear(h.kicks)
	return list
}

// recover reads what is kept.
func (h *Hooks) recover(ctx context.Context) error {
	hooks, secrets := make(map[string]*hook), make(map[string]string)
	if err := h.cfg.Store.Each(func(key, value []byte) {
		if client, ok := strings.CutPrefix(string(key), "secret/"); ok {
			secrets[client] = string(value)
			return
		}
		r, err := decodeRecord(value)
		if err != nil {
			h.log.Warn("a webhook is left out", "id", string(key), "err", err)
			return
		}
		k := &hook{}
		k.rec.Store(r)
		hooks[r.ID] = k
	}); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	if err := h.handOver(ctx, hooks, secrets); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	ids := slices.Collect(maps.Keys(hooks)) // once they are there others change the map
	h.mu.Lock()
	h.hooks, h.secrets = hooks, secrets
	h.mu.Unlock()
	for _, id := range ids {
		h.kick(id)
	}
	return nil
}

// commit writes a record and then shows it.
func (h *Hooks) commit(ctx context.Context, k *hook, r *record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := h.cfg.Store.Put(ctx, []byte(r.ID), raw); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	k.rec.Store(r)
	return nil
}

// change replaces a webhook's record by what edit makes of it.
func (h *Hooks) change(ctx context.Context, k *hook, edit func(r *record) error) (*record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deleted {
		return nil, ErrNotFound
	}
	r := k.rec.Load().clone()
	if err := edit(r); err != nil {
		return nil, err
	}
	return r, h.commit(ctx, k, r)
}

// find returns a client's webhook.
func (h *Hooks) find(client, id string) (*hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks == nil {
		return nil, ErrStopping
	}
	if k := h.hooks[id]; k != nil && k.rec.Load().Client == client {
		return k, nil
	}
	return nil, ErrNotFound
}

// List returns a client's webhooks, the oldest first.
func (h *Hooks) List(client string) ([]Hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks == nil {
		return nil, ErrStopping
	}
	var list []Hook
	for _, k := range h.hooks {
		if r := k.rec.Load(); r.Client == client {
			list = append(list, r.Hook)
		}
	}
	slices.SortFunc(list, func(a, b Hook) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Get returns a client's webhook.
func (h *Hooks) Get(client, id string) (Hook, error) {
	k, err := h.find(client, id)
	if err != nil {
		return Hook{}, err
	}
	return k.rec.Load().Hook, nil
}

// Create makes an active webhook, which begins behind the last block.
func (h *Hooks) Create(ctx context.Context, n Hook) (Hook, error) {
	if _, err := h.List(n.Client); err != nil { // they are not read yet
		return n, err
	}
	if err := resolveURL(ctx, n.URL, h.cfg.Private); err != nil {
		return n, err
	}
	n.ID, n.Created, n.Status = newID(), time.Now().UTC(), Active
	r := newRecord(&n)
	if err := h.begin(ctx, r); err != nil { // it reads rows: others need not wait for that
		return n, err
	}
	h.changes.Lock()
	defer h.changes.Unlock()
	list, err := h.List(n.Client)
	if err != nil {
		return n, err
	}
	h.mu.Lock()
	all := len(h.hooks)
	h.mu.Unlock()
	switch {
	case len(list) >= h.cfg.PerClient:
		return n, ErrQuota
	case all >= h.cfg.Most:
		return n, ErrFull
	}
	if _, err = h.secret(ctx, n.Client, false); err != nil {
		return n, err
	}
	k := &hook{}
	k.mu.Lock()
	err = h.commit(ctx, k, r)
	k.mu.Unlock()
	if err != nil {
		return n, err
	}
	h.mu.Lock()
	h.hooks[n.ID] = k
	h.mu.Unlock()
	h.kick(n.ID)
	return n, nil
}

// begin puts a webhook behind the last block of its chain.
func (h *Hooks) begin(ctx context.Context, r *record) error {
	if r.Kind() != AddressActivity {
		return h.beginPrimary(ctx, r)
	}
	c, ok := h.cfg.Chain(r.Chain)
	if !ok {
		return ErrChain
	}
	at, _, err := c.Hub.Tip()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChain, err)
	}
	r.Position = at.String()
	return nil
}

// newID returns a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Update changes a client's webhook. One that becomes active again begins behind the
// last block: what happened meanwhile is not delivered.
func (h *Hooks) Update(ctx context.Context, client, id string, edit func(n *Hook) error) (Hook, error) {
	k, err := h.find(client, id)
	if err != nil {
		return Hook{}, err
	}
	r, err := h.change(ctx, k, func(r *record) error {
		before, url := r.Status, r.URL
		if err := edit(&r.Hook); err != nil {
			return err
		}
		err := CheckURL(r.URL, h.cfg.Private)
		if err == nil && r.URL != url {
			err = resolveURL(ctx, r.URL, h.cfg.Private)
		}
		if err != nil {
			return err
		}
		r.Failing = time.Time{}
		if r.Status == Active && before != Active {
			r.Reason = ""
			return h.begin(ctx, r)
		}
		return nil
	})
	if err != nil {
		return Hook{}, err
	}
	h.kick(id)
	return r.Hook, nil
}

// Delete removes a client's webhook, and returns what it was.
func (h *Hooks) Delete(ctx context.Context, client, id string) (Hook, error) {
	k, err := h.find(client, id)
	if err != nil {
		return Hook{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deleted {
		return Hook{}, ErrNotFound
	}
	last := k.rec.Load().Hook
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := h.cfg.Store.Remove(ctx, []byte(id)); err != nil {
		return last, fmt.Errorf("webhook: %w", err)
	}
	gone := k.rec.Load().clone()
	gone.Status = Inactive
	k.rec.Store(gone) // what is on its way finds it
	k.deleted = true
	h.mu.Lock()
	delete(h.hooks, id)
	h.mu.Unlock()
	h.kick(id)
	last.Status = Inactive
	return last, nil
}

// Secret returns the secret that messages to a client are signed with, and ErrNotFound
// if there is none yet.
func (h *Hooks) Secret(client string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks == nil {
		return "", ErrStopping
	}
	if s := h.secrets[client]; s != "" {
		return s, nil
	}
	return "", ErrNotFound
}

// Rotate makes a new secret for a client.
func (h *Hooks) Rotate(ctx context.Context, client string) (string, error) {
	h.changes.Lock()
	defer h.changes.Unlock()
	return h.secret(ctx, client, true)
}

// secret returns a client's secret, which it makes if there is none, or another is
// wanted. It needs changes.
func (h *Hooks) secret(ctx context.Context, client string, another bool) (string, error) {
	s, err := h.Secret(client)
	if err == nil && !another || err != nil && !errors.Is(err, ErrNotFound) {
		return s, err
	}
	var b [32]byte
	rand.Read(b[:]) // never fails
	s = hex.EncodeToString(b[:])
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err != nil {
		if err := h.forgetSecrets(ctx, secretsPer*h.cfg.Most-1); err != nil {
			return "", fmt.Errorf("webhook: %w", err)
		}
	}
	if err := h.cfg.Store.Put(ctx, secretKey(client), []byte(s)); err != nil {
		return "", fmt.Errorf("webhook: %w", err)
	}
	h.mu.Lock()
	h.secrets[client] = s
	h.mu.Unlock()
	return s, nil
}

// forgetSecrets removes secrets until there are at most so many: those of clients without
// a webhook, of which one client can be many, as by addresses. It needs changes.
func (h *Hooks) forgetSecrets(ctx context.Context, most int) error {
	h.mu.Lock()
	used, unused := make(map[string]bool), []string(nil)
	for _, k := range h.hooks {
		used[k.rec.Load().Client] = true
	}
	for client := range h.secrets {
		if len(h.secrets)-len(unused) > most && !used[client] {
			unused = append(unused, client)
		}
	}
	h.mu.Unlock()
	for _, client := range unused {
		if err := h.cfg.Store.Remove(ctx, secretKey(client)); err != nil {
			return err
		}
		h.mu.Lock()
		delete(h.secrets, client)
		h.mu.Unlock()
	}
	return nil
}
