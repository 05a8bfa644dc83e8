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

	"quorate/engine/actor"
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

// request is that a client asked for a token.
type request struct {
	at   time.Time
	told time.Time // when its contract was asked for the URI last; zero: not since the start
}

// hint names tokens whose URIs have changed.
type hint struct {
	chain chain.ID
	nfts  []index.NFT
}

// Metadata fetches. Start it with Run; all other methods may be called at any time.
type Metadata struct {
	cfg       Config
	log       *slog.Logger
	web, ipfs *http.Client
	hints     *actor.Mailbox[hint]
	stats     stats
	queue     *queue
	lost      atomic.Bool // a pass is to begin soon: not all that was due had room
	wrong     atomic.Pointer[error]

	keeping sync.Mutex // held while a record is made from the one before, or removed

	mu    sync.Mutex
	asked map[key]request // nil until Run has begun
	total int             // records
	cache *lru.Cache[key, *Token]
	gen   uint64 // changes with each record
}

// New checks cfg and returns an actor that fetches nothing yet.
func New(cfg Config) (*Metadata, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	m := &Metadata{cfg: cfg, log: cfg.Logger, hints: actor.NewMailbox[hint](maxHints, actor.Shed), stats: newStats(cfg.Metrics)}
	m.queue = newQueue(&m.cfg, &m.lost)
	m.web = outbound.New(cfg.rules())
	if cfg.ipfs != nil {
		r := cfg.rules() // for where it redirects to
		r.Trusted, r.PerHost = cfg.ipfs, cfg.gatewayShare()
		m.ipfs = outbound.New(r)
	}
	cfg.Metrics.GaugeFunc("quorate_nft_documents", "Tokens of which a record is kept: their metadata, or why there are none.", func() float64 { n, _ := m.kept(); return float64(n) })
	var err error
	m.cache, err = lru.New[key, *Token](cached)
	return m, err
}

// Changed takes tokens whose URIs were read for the first time or have changed. It never
// waits. What finds no room is found by the next pass.
func (m *Metadata) Changed(of chain.ID, nfts []index.NFT) {
	if len(nfts) > maxInHint || m.hints.TrySend(hint{of, nfts}) != nil {
		m.lost.Store(true)
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
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work.Go(func() { m.passes(ctx) })
	work.Go(func() { m.takeHints(ctx) })
	for ctx.Err() == nil {
		select {
		case <-time.After(m.dispatch(ctx, &work)):
		case <-m.queue.ready:
		case <-ctx.Done():
		}
	}
	return nil
}

// recall reads how many records there are and what clients have asked for, and forgets a Run
// before.
func (m *Metadata) recall(ctx context.Context) error {
	asked, total := map[key]request{}, 0
	now := time.Now()
	err := m.each(func(k, value []byte) {
		total++
		if !bytes.Contains(value, []byte(`"a":`)) {
			return
		}
		name, ok := readKey(k)
		if r, err := decodeRecord(value); ok && err == nil && r.isAsked() {
			asked[name] = request{at: now}
		}
	}, func(int) error { return context.Cause(ctx) })
	m.queue = newQueue(&m.cfg, &m.lost)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.total = asked, total
	return err
}

// dispatch begins as many fetches as may be under way. It returns after how long there may be
// more to do.
func (m *Metadata) dispatch(ctx context.Context, work *sync.WaitGroup) time.Duration {
	for m.cfg.Room() == nil {
		t, wait := m.queue.next(time.Now())
		if t == nil {
			return wait
		}
		work.Go(func() {
			a := m.do(ctx, t)
			m.queue.end(t, &a, time.Now())
		})
	}
	return tick
}

// do fetches a token's document and commits what came of it.
func (m *Metadata) do(ctx context.Context, t *task) answer {
	began := time.Now()
	a := answer{raw: t.place.inline, status: t.refused}
	if t.refused == "" && t.place.url != "" {
		a = m.fetch(ctx, &t.place)
		m.stats.seconds.Observe(time.Since(began).Seconds())
	}
	if ctx.Err() != nil {
		return answer{}
	}
	var doc *Document
	switch {
	case a.status != "":
	case int64(len(a.raw)) > m.cfg.MaxBytes:
		a.status = TooLarge
	default:
		doc, a.status = parseDocument(a.raw, &t.key.ID, t.multi)
	}
	a.raw = nil
	m.stats.fetched(a.status)
	m.fail(m.commit(ctx, t, doc, &a, began))
	return a
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
