package nftmeta

import (
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

// landed is what came of a task.
type landed struct {
	task   *task
	in     *collection
	answer answer
}

// Metadata fetches. Start it with Run; all other methods may be called at any time.
type Metadata struct {
	cfg       Config
	log       *slog.Logger
	web, ipfs *http.Client
	hints     *actor.Mailbox[hint]
	stats     stats
	lost      atomic.Bool // a pass is to begin soon: a hint was dropped, or there is room
	wrong     atomic.Pointer[error]

	asking   sync.Mutex   // held while what clients asked for is committed or removed
	keeping  sync.RWMutex // held for reading while a record is made from the one before
	sweeping atomic.Bool

	mu    sync.Mutex
	asked map[key]request   // nil until Run has begun
	begun map[key]time.Time // the fetches under way
	cache *lru.Cache[key, *Token]
	gen   uint64 // changes with each record
	room  room

	// recent is when clients asked for tokens last, as far as it is remembered.
	recent *lru.Cache[key, time.Time]

	// What follows is Run's.
	queue  queue
	sites  sites
	flying map[key]bool // true: there was no record before
	done   chan landed
	// entering counts the new ones of flying. wanted is the size of the smallest collection
	// that there was no room for.
	entering int
	wanted   int
	swept    time.Time // when the last sweep began
	followed map[chain.ID]time.Time
	pass     pass
	again    bool // the next pass is to begin soon
	budget   float64
	spent    time.Time
}

// New checks cfg and returns an actor that fetches nothing yet.
func New(cfg Config) (*Metadata, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	m := &Metadata{
		cfg: cfg, log: cfg.Logger, hints: actor.NewMailbox[hint](maxHints, actor.Shed), stats: newStats(cfg.Metrics),
		queue: queue{known: map[contract]*collection{}}, flying: map[key]bool{}, done: make(chan landed, cfg.Fetches),
		room: room{level: unlimited},
	}
	m.sites = sites{cfg: &m.cfg, known: map[string]*siteState{}}
	m.web = outbound.New(cfg.rules())
	if cfg.ipfs != nil {
		r := cfg.rules() // for where it redirects to
		r.Trusted, r.PerHost = cfg.ipfs, cfg.Share
		m.ipfs = outbound.New(r)
	}
	var errs [2]error
	m.cache, errs[0] = lru.New[key, *Token](cached)
	m.recent, errs[1] = lru.New[key, time.Time](cached)
	cfg.Metrics.GaugeFunc("quorate_nft_documents", "Tokens of which a record is kept: their metadata, or why there are none.", func() float64 { n, _ := m.kept(); return float64(n) })
	return m, errors.Join(errs[:]...)
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
	clock := time.NewTicker(tick)
	defer clock.Stop()
	soon := time.NewTimer(0)
	defer soon.Stop()
	var batch []hint
	for ctx.Err() == nil {
		batch = m.hints.Drain(batch)
		for _, h := range batch {
			m.take(h)
		}
		clear(batch)
		if m.dispatch(ctx, &work) {
			soon.Reset(m.cfg.SitePause / 2)
		}
		select {
		case <-m.hints.Ready():
		case l := <-m.done:
			m.land(&l)
		case <-soon.C:
		case <-clock.C:
			m.remind()
			m.makeRoom(ctx, &work, time.Now())
		case <-ctx.Done():
		}
	}
	return nil
}

// recall reads what clients have asked for, and forgets a Run before.
func (m *Metadata) recall(ctx context.Context) error {
	asked := map[key]request{}
	if err := m.cfg.Store.EachOf([]byte{keyAsked}, func(k, value []byte) {
		at := time.Time{}
		name, ok := readKey(k)
		if !ok || at.UnmarshalBinary(value) != nil {
			m.log.Warn("a token that was asked for is left out")
			return
		}
		if now := time.Now(); at.After(now) {
			at = now // clocks may go back
		}
		asked[name] = request{at: at}
	}); err != nil {
		return fmt.Errorf("nftmeta: %w", err)
	}
	if err := m.recount(ctx); err != nil {
		return err
	}
	m.queue, m.pass = queue{known: map[contract]*collection{}}, pass{}
	m.sites = sites{cfg: &m.cfg, known: map[string]*siteState{}}
	m.flying, m.done = map[key]bool{}, make(chan landed, m.cfg.Fetches)
	m.entering, m.wanted, m.followed = 0, unlimited, map[chain.ID]time.Time{}
	m.mu.Lock()
	m.asked, m.begun = asked, map[key]time.Time{}
	m.mu.Unlock()
	return nil
}

// take has the tokens of a hint looked at before the rest of their collection.
func (m *Metadata) take(h hint) {
	for _, c := range m.cfg.Chains() {
		if c.ID != h.chain {
			continue
		}
		for i := range h.nfts {
			if !m.urge(&c, &h.nfts[i]) {
				m.again = true
			}
		}
		return
	}
}

// urge has a token looked at soon. It reports whether there was room.
func (m *Metadata) urge(c *Chain, nft *index.NFT) bool {
	in := m.queue.add(c, nft.Token)
	if in == nil || len(in.urgent) >= maxUrgent && !in.urgent[nft.ID] {
		return false
	}
	in.urgent[nft.ID] = true
	return true
}

// remind has what clients have asked for looked at, again and again until it was fetched.
func (m *Metadata) remind() {
	m.mu.Lock()
	list := make([]key, 0, len(m.asked))
	for k := range m.asked {
		if _, flying := m.flying[k]; !flying {
			list = append(list, k)
		}
	}
	m.mu.Unlock()
	told := 0
	for i := range list {
		if told < tellMost && m.tell(&list[i], tellEvery) {
			told++
		}
	}
	chains := m.cfg.Chains()
	for i := range list {
		for j := range chains {
			if chains[j].ID == list[i].chain {
				m.urge(&chains[j], &list[i].NFT)
			}
		}
	}
	now := time.Now()
	m.stats.waiting.Set(float64(len(m.queue.known)))
	m.stats.resting.Set(float64(m.sites.resting(now)))
}

// dispatch begins as many fetches as may be under way. It reports whether there is more to
// do soon.
func (m *Metadata) dispatch(ctx context.Context, work *sync.WaitGroup) (more bool) {
	if m.cfg.Room() != nil {
		return false
	}
	for len(m.flying) < m.cfg.Fetches {
		now := time.Now()
		m.walk(now)
		c, t := m.next(now)
		if t == nil {
			return len(m.queue.turn) > 0 || m.pass.on
		}
		m.flying[t.key] = t.fresh
		if t.fresh {
			m.entering++
		}
		c.flying++
		if t.place.site != "" {
			m.sites.begin(&t.place, now)
		}
		done := m.done
		work.Go(func() { done <- landed{t, c, m.do(ctx, t)} })
	}
	return false
}

// land notes that a task is over.
func (m *Metadata) land(l *landed) {
	delete(m.flying, l.task.key)
	if l.task.fresh {
		m.entering--
	}
	l.in.flying--
	if l.task.place.site != "" {
		m.sites.end(&l.task.place, &l.answer, time.Now())
	}
}

// do fetches a token's document and commits what came of it.
func (m *Metadata) do(ctx context.Context, t *task) answer {
	began := time.Now()
	m.mu.Lock()
	m.begun[t.key] = began
	m.mu.Unlock()
	defer m.over(&t.key)
	m.tell(&t.key, 0)
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
	m.mu.Lock()
	asked := len(m.asked)
	m.mu.Unlock()
	documents, level := m.kept()
	state := struct {
		Documents int  `json:"documents"`
		Asked     int  `json:"askedFor"`
		Full      bool `json:"full"`
		Share     int  `json:"documentsPerCollection,omitempty"` // when full
	}{Documents: documents, Asked: asked, Full: level != unlimited}
	if state.Full {
		state.Share = level
	}
	if err := m.wrong.Load(); err != nil {
		return state, *err
	}
	return state, nil
}

// kept returns how many records there are, and their level.
func (m *Metadata) kept() (n, level int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.room.total, m.room.level
}
