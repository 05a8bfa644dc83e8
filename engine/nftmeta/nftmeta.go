package nftmeta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/outbound"
)

// Why a token is not fetched again now.
var (
	ErrBusy     = errors.New("too many tokens wait to be fetched again")
	ErrNoRoom   = errors.New("metadata are not fetched now: there is no room to keep them")
	ErrStopping = errors.New("metadata are not fetched now: the server is starting or stopping")
)

// TooSoonError says that a token was asked for not long ago.
type TooSoonError struct{ Wait time.Duration }

// Error implements error.
func (e *TooSoonError) Error() string {
	return fmt.Sprintf("the token was asked for not long ago: try again in %s", e.Wait.Round(time.Second))
}

// Token is what is known of a token's metadata.
type Token struct {
	Status    Status
	UpdatedAt int64 // Unix seconds, 0 if there is no document
	Document
}

// task is a token whose document is to be fetched.
type task struct {
	key   key
	uri   uint64
	place place
	// refused says why the URI leads nowhere.
	refused       Status
	multi, urgent bool
}

// client fetches, so many at one time.
type client struct {
	*http.Client
	slots chan struct{}
}

func newClient(rules outbound.Config) client {
	return client{outbound.New(rules), make(chan struct{}, fetches)}
}

// Metadata fetches. Start it with Run; all other methods may be called at any time.
type Metadata struct {
	cfg       Config
	log       *slog.Logger
	web, ipfs client
	stats     stats
	work      sync.WaitGroup // those who serve sites
	lost      atomic.Bool    // a pass is to begin soon: not all that was due could wait
	wrong     atomic.Pointer[error]
	cache     *lru.Cache[key, *Token]

	keeping sync.Mutex // locked while a record is made from the one before, or removed
	hand    []byte     // where the search for old records goes on

	mu      sync.Mutex
	asked   map[key]time.Time // when clients asked for them, zero: before the start; nil until Run has begun
	changed map[key]bool      // to be looked at soon
	busy    map[key]bool      // being fetched, or waiting for it
	total   int               // records
	sites   *lru.Cache[string, *site]
}

// New checks cfg and returns an actor that fetches nothing yet.
func New(cfg Config) (*Metadata, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	m := &Metadata{cfg: cfg, log: cfg.Logger, stats: newStats(cfg.Metrics), web: newClient(cfg.rules()), changed: map[key]bool{}, busy: map[key]bool{}}
	if cfg.ipfs != nil {
		r := cfg.rules() // for where it redirects to
		r.Trusted, r.PerHost = cfg.ipfs, fetches
		m.ipfs = newClient(r)
	}
	m.sites, _ = lru.New[string, *site](maxSites) // fails for a size of 0
	m.cache, _ = lru.New[key, *Token](cached)
	m.watch(cfg.Metrics)
	return m, nil
}

// Changed takes tokens whose URIs were read for the first time or have changed. What finds
// no room is found by the next pass.
func (m *Metadata) Changed(of chain.ID, nfts []index.NFT) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.changed)+len(nfts) > maxChanged {
		m.lost.Store(true)
		return
	}
	for i := range nfts {
		m.changed[key{of, nfts[i]}] = true
	}
}

// Run fetches what there is to fetch until ctx ends. It may be started again after an
// error.
func (m *Metadata) Run(ctx context.Context) error {
	if err := m.recall(ctx); err != nil {
		if ctx.Err() != nil { // it is to end
			return nil
		}
		return err
	}
	defer m.work.Wait()
	passes := make(chan struct{})
	go func() { defer close(passes); m.passes(ctx) }()
	m.hurry(ctx)
	<-passes
	return nil
}

// recall reads how many records there are and what clients have asked for.
func (m *Metadata) recall(ctx context.Context) (err error) {
	asked, total := map[key]time.Time{}, 0
	for next, more := []byte(nil), true; more && err == nil; more = next != nil {
		if next, err = m.cfg.Store.Page([]byte{keyRecord}, next, func(k, value []byte) {
			total++
			if !bytes.Contains(value, []byte(`"a":`)) {
				return
			}
			name, ok := readKey(k)
			if r, err := decodeRecord(value); ok && err == nil && r.isAsked() {
				asked[name] = time.Time{}
			}
		}); err == nil {
			err = context.Cause(ctx)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.total = asked, total
	return err
}

// due returns what is to be fetched of a token, nil for nothing: it is on its way, not due, or
// there is no room. What it returns is to be visited, or forgotten.
func (m *Metadata) due(k key, uri string, multi, urgent bool) *task {
	m.mu.Lock()
	_, asked := m.asked[k]
	busy := m.busy[k]
	m.busy[k] = true
	m.mu.Unlock()
	if busy {
		return nil
	}
	old, size, err := m.load(&k)
	if err != nil {
		m.log.Warn("the record of a token cannot be read, and is made again", "err", err)
	}
	t := &task{key: k, uri: digest(uri), multi: multi, urgent: urgent}
	if t.place, t.refused = m.cfg.place(uri, &k.ID, multi); uri == "" {
		t.refused = InvalidURI
	}
	if t.place.gateway { // so that no collection has others wait there
		t.place.site = string(k.chain[:]) + string(k.Token[:])
	}
	// Unindexed: there is no way there.
	if old.isDue(t.uri, time.Now()) && (asked || t.refused != Unindexed) && (size > 0 || urgent || m.hasRoom()) {
		return t
	}
	m.forget(t)
	return nil
}

// hasRoom reports whether a pass may make another record.
func (m *Metadata) hasRoom() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total+len(m.busy) <= m.cfg.target() {
		return true
	}
	m.stats.full.Inc()
	return false
}

// fail notes what is wrong with what is kept, or that nothing is.
func (m *Metadata) fail(err error) {
	switch {
	case err == nil:
		m.wrong.Store(nil)
	case m.wrong.Swap(&err) == nil:
		m.log.Warn("what was fetched of a token is not kept", "err", err)
	}
}

// Check says what is done, and what is wrong with the way records are kept. Servers that
// do not answer are no failure of this one.
func (m *Metadata) Check(context.Context) (any, error) {
	documents, asked := m.kept()
	state := struct {
		Documents int  `json:"documents"`
		Asked     int  `json:"askedFor"`
		Full      bool `json:"full"`
	}{documents, asked, documents >= m.cfg.target()}
	if err := m.wrong.Load(); err != nil {
		return state, *err
	}
	return state, nil
}

// kept returns how many records there are, and how many tokens clients wait for.
func (m *Metadata) kept() (records, asked int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total, len(m.asked)
}
