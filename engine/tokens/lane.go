package tokens

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/holiman/uint256"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
	evmsource "quorate/engine/source/evm"
)

const (
	// maxNews bounds the messages that wait, maxInNews the tokens in one of them.
	maxNews, maxInNews = 256, 4096
	// pause is the wait after the node could not be asked.
	pause = 5 * time.Second
	// tick is how often the lane looks for what time has made due.
	tick = time.Second
	// askedTokens is how many tokens are remembered to have been asked.
	askedTokens = 8192
)

// Node asks contracts, as [evmsource.Client] does.
type Node interface {
	ReadContracts(ctx context.Context, at *evm.Head, calls []evmsource.ContractCall) error
}

// Config is what a [Lane] works with. Index and Node are required.
type Config struct {
	Index *index.Chain
	Node  Node
	// Keep keeps notes in the chain's archive before what they say is shown; nil
	// where there is no archive.
	Keep func(ctx context.Context, notes []archive.Note) error
	// URIs takes NFTs whose URIs were read for the first time or have changed, after they
	// were kept; nil where nobody wants them. It must not wait.
	URIs func(nfts []index.NFT)
	// Mine reports whether it is up to this lane to ask: several servers may share what one of
	// them has asked. Nil: it always is.
	Mine func() bool
	// Room returns why nothing can be written to the data folder; nil never does.
	Room func() error
	// Logger takes the log; nil discards it. Metrics takes the metrics; nil keeps
	// them private.
	Logger  *slog.Logger
	Metrics *metric.Set
}

// news are messages to the lane.
type news struct {
	// Of a commit: tokens that were moved and NFTs that were minted in blocks up to
	// a height.
	upto   uint64
	commit bool
	older  bool // of blocks below, instead
	tokens []index.SeenToken
	nfts   []index.SeenNFT
	// Of a block at the chain's head, or of a request.
	moved, changed []evm.Address
	tasks          []task
	said           []index.SaidBalance
}

// Lane asks the contracts of one chain. [Lane.Run] does the work; all other methods
// may be called at once.
type Lane struct {
	cfg   Config
	log   *slog.Logger
	news  *actor.Mailbox[*news]
	stats stats
	// mostURIs is [maxURIs]; tests know less.
	mostURIs int

	known  *lru.Cache[evm.Address, struct{}] // tokens whose facts are in the index
	paused atomic.Pointer[time.Time]         // until when no block waits for facts; by the clock that never jumps
	lost   atomic.Bool                       // a message was too large
	// research: what was not asked yet is to be looked for in the whole index.
	research atomic.Bool
	asks     *lru.Cache[ask, index.SaidBalance]

	// What follows is Run's.
	work    work
	saved   work
	next    uint64 // the block to look at next, unless live
	live    bool   // what commits tell is all that is new
	due     map[evm.Address]time.Time
	visited *lru.Cache[evm.Address, visited]
	counted *lru.Cache[countKey, int]
	queue   queue
	batch   []task // taken from the queue, not answered yet
	savedAt time.Time
	written time.Time
	credit  float64 // balances of requests that may be kept
	budget  float64 // tasks that may be done now
	spent   time.Time
}

// New returns a lane that does nothing yet.
func New(cfg Config) (*Lane, error) {
	if cfg.Index == nil || cfg.Node == nil {
		return nil, errors.New("tokens: no index or no node")
	}
	if cfg.Room == nil {
		cfg.Room = func() error { return nil }
	}
	if cfg.Mine == nil {
		cfg.Mine = func() bool { return true }
	}
	if cfg.URIs == nil {
		cfg.URIs = func([]index.NFT) {}
	}
	if cfg.Keep == nil {
		cfg.Keep = func(context.Context, []archive.Note) error { return nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metric.NewSet()
	}
	l := &Lane{
		cfg: cfg, log: cfg.Logger, mostURIs: maxURIs, news: actor.NewMailbox[*news](maxNews, actor.Shed),
		due: map[evm.Address]time.Time{}, stats: newStats(cfg.Metrics, cfg.Index),
	}
	var errs [4]error
	l.known, errs[0] = lru.New[evm.Address, struct{}](askedTokens)
	l.visited, errs[1] = lru.New[evm.Address, visited](askedTokens)
	l.counted, errs[2] = lru.New[countKey, int](askedTokens)
	l.asks, errs[3] = lru.New[ask, index.SaidBalance](askedTokens)
	return l, errors.Join(errs[:]...)
}

// Seen takes tokens that were moved and NFTs that were minted, of blocks that were
// indexed just now. It does not keep the slices. What finds no room is found in the
// blocks later.
func (l *Lane) Seen(tokens []index.SeenToken, nfts []index.SeenNFT) {
	if len(tokens)+len(nfts) > maxInNews {
		l.lost.Store(true)
		return
	}
	upto, _, _ := l.cfg.Index.Cursor()
	l.send(&news{
		upto: upto, commit: true,
		tokens: append([]index.SeenToken(nil), tokens...), nfts: append([]index.SeenNFT(nil), nfts...),
	})
}

// Older takes the same of blocks below those that were indexed before. What finds no
// room is found by [Lane.Search].
func (l *Lane) Older(tokens []index.SeenToken, nfts []index.SeenNFT) {
	if len(tokens)+len(nfts) <= maxInNews {
		l.send(&news{older: true, tokens: slices.Clone(tokens), nfts: slices.Clone(nfts)})
	}
}

// Search has all tokens and NFTs of the index asked that were not asked yet.
func (l *Lane) Search() { l.research.Store(true) }

// AskURI has the URI of an NFT read again, if it was read before: others are read anyway.
func (l *Lane) AskURI(token evm.Address, id uint256.Int) {
	l.send(&news{tasks: []task{{token: token, id: id, again: true}}})
}

func (l *Lane) send(n *news) {
	if l.news.TrySend(n) != nil && n.commit {
		l.lost.Store(true)
	}
}

// Run asks what there is to ask until ctx ends.
func (l *Lane) Run(ctx context.Context) error {
	if !l.until(ctx, func() error { return l.begin(ctx) }) {
		return nil
	}
	clock := time.NewTicker(tick)
	defer clock.Stop()
	var batch []*news
	for ctx.Err() == nil {
		batch = l.news.Drain(batch)
		for _, n := range batch {
			l.take(ctx, n)
		}
		clear(batch)
		idle := false
		if !l.until(ctx, func() (err error) { idle, err = l.step(ctx); return err }) {
			break
		}
		if !idle {
			continue
		}
		select {
		case <-l.news.Ready():
		case <-clock.C:
			l.sweep()
		case <-ctx.Done():
		}
	}
	return nil
}

// until does f until it succeeds; false means that ctx has ended.
func (l *Lane) until(ctx context.Context, f func() error) bool {
	for failures := 0; ; failures++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		if failures == 0 {
			l.log.Warn("tokens cannot be asked what they are for now", "err", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// step does a bounded part of the work and reports whether there was none.
func (l *Lane) step(ctx context.Context) (idle bool, err error) {
	if err := l.cfg.Room(); err != nil {
		return false, err
	}
	if !l.cfg.Mine() {
		return true, nil
	}
	if l.lost.Swap(false) {
		l.live, l.next = false, l.work.next
	}
	if l.research.Load() {
		if err := l.search(ctx); err != nil {
			return false, err
		}
		l.research.Store(false)
	}
	read, err := l.pull()
	if err != nil {
		return false, err
	}
	visits, err := l.visit(ctx, l.takeDue(visitBatch))
	if err != nil {
		return false, err
	}
	asked, err := l.answer(ctx)
	if err != nil {
		return false, err
	}
	if read || visits || asked {
		return false, nil
	}
	return true, l.save(ctx)
}

// take sorts a message into what is to be done.
func (l *Lane) take(ctx context.Context, n *news) {
	now := time.Now()
	if n.older {
		for _, t := range n.tokens {
			l.first(t.Token, now)
		}
		for _, m := range n.nfts {
			l.mint(m)
		}
	}
	if n.commit && l.live && n.upto >= l.next {
		for _, t := range n.tokens {
			l.first(t.Token, now)
		}
		for _, m := range n.nfts {
			l.mint(m)
		}
		l.next = n.upto + 1
	}
	for _, t := range n.moved {
		l.schedule(t, now, l.interval(t))
	}
	for _, t := range n.changed {
		if l.isToken(t) {
			l.schedule(t, now, l.signEvery(t))
		}
	}
	for i := range n.tasks {
		l.announced(&n.tasks[i])
	}
	l.keepSaid(ctx, n.said, now)
}

// announced takes a task of a block. URIs are read again only of known tokens: what
// is minted just now comes anyway.
func (l *Lane) announced(t *task) {
	if t.kind == index.ERC20 {
		l.push(t)
		return
	}
	err := l.view(func(v *index.View) error {
		meta, known, err := v.Token(t.token)
		if err != nil || !known || meta.Kind == index.ERC20 {
			return err
		}
		t.kind = meta.Kind
		if t.to != nil {
			return l.askURIs(t.token, t.kind, &t.id, t.to)
		}
		_, known, err = v.TokenURI(t.token, t.id)
		if known {
			l.push(t)
		}
		return err
	})
	if err != nil {
		l.log.Warn("a changed URI is not read again", "token", t.token, "err", err)
	}
}

// push queues a task. If there is no room the blocks are looked at again.
func (l *Lane) push(t *task) {
	if !l.queue.push(t) {
		l.lost.Store(true)
	}
}

// keep keeps what was said: in the archive first, so that the index never shows
// what could not be told again.
func (l *Lane) keep(ctx context.Context, a *answers) error {
	if a.empty() {
		return nil
	}
	if err := l.cfg.Keep(ctx, a.notes()); err != nil {
		return err
	}
	for token := range a.facts {
		l.known.Add(token, struct{}{})
	}
	if err := a.put(ctx, l.cfg.Index); err != nil {
		return err
	}
	if len(a.uris) > 0 {
		l.cfg.URIs(slices.Collect(maps.Keys(a.uris)))
	}
	return nil
}
