package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/primary"
	"quorate/engine/source"
	containersource "quorate/engine/source/container"
)

const (
	// PrimaryFetchers bounds the requests for blocks at one time, PrimarySpan the blocks
	// of each: nodes take a thousand containers.
	PrimaryFetchers = 3
	PrimarySpan     = 256
	// PrimaryGroup bounds the blocks of a commit. They are small, and a row that many of
	// them change is written once.
	PrimaryGroup = 2048
	// primaryTimeout bounds a call to a node, and maxPrimaryBody an answer in bytes.
	primaryTimeout = 15 * time.Second
	maxPrimaryBody = 32 << 20
	// primaryPause is the wait before nodes are asked again for a chain that none of
	// them has.
	primaryPause = 15 * time.Second
)

// PrimaryRows is the index of a chain of the primary network. What it has is served.
type PrimaryRows interface {
	Index[*primary.Block]
	// First returns the height of the first block.
	First() (height uint64, ok bool)
	// Stale reports whether the rows were made by older rules, and Rebuild makes them
	// again, beside those that are served, and removes what is of no use any more. Remake
	// does so to rows that are not stale too.
	Stale() bool
	Rebuild(ctx context.Context, from primary.Blocks, progress func(done, of uint64)) error
	Remake(ctx context.Context, from primary.Blocks, progress func(done, of uint64)) error
	// Deepen does so with the blocks from a height below the first one on.
	Deepen(ctx context.Context, from primary.Blocks, first uint64, progress func(done, of uint64)) error
	// GiveUp removes what an ended Deepen has left that is not gone on with.
	GiveUp(ctx context.Context) error
	// Complete adds to rows what headers say that came late, and calls then.
	Complete(ctx context.Context, blocks []*primary.Block, then func() error) error
}

// PrimaryConfig says which chain of the primary network to follow and with what. All
// fields but Genesis, Start, Rows, After, Inherited and OnProgress are required.
type PrimaryConfig struct {
	Chain primary.Kind
	ID    chain.ID // of the chain
	// Name is what the chain is called in health checks, logs and metrics.
	Name string
	// Genesis is the parent of the P-Chain's first block, zero if it is not known.
	Genesis chain.ID
	// Start is where the chain begins where nothing is kept of it yet.
	Start StartBlock
	// WindowBytes bounds the blocks that wait for their commit, in memory.
	WindowBytes int

	Host Host
	// Archive opens the archive of the chain, and closes it when all chains have stopped.
	Archive func(kind archive.Kind, log *slog.Logger, set *metric.Set) (*archive.Archive, error)
	// Rows opens the index; nil: blocks are only archived.
	Rows func() (PrimaryRows, error)
	// After is the chain of vertices whose last one the first block follows, nil
	// without. It must have been started.
	After *Primary
	// Inherited reports whether rows have what the vertices of After left; nil: they have.
	// It is asked when all vertices are there.
	Inherited func() (bool, error)
	// Room returns why nothing can be written to the data folder, or nil.
	Room func() error
	// OnProgress is called with how far the index is; it must not block.
	OnProgress func(ingest.Progress)
	// Log returns the logger of a name.
	Log func(name string) *slog.Logger
}

// errUnsettled: the first block of the X-Chain is the child of its last vertex.
var errUnsettled = errors.New("the vertices before the first block are not all here yet")

// Primary is a chain of the primary network that is followed: its blocks are archived
// and, where there are rules for them, indexed. Accepted blocks of these chains are
// final: it never goes back.
type Primary struct {
	cfg    PrimaryConfig
	log    *slog.Logger
	opened time.Time

	// Set by Start.
	client *containersource.Client
	rows   PrimaryRows // nil without
	keeper *keeper[*primary.Block]

	asked    atomic.Bool                                   // nodes were asked for blocks
	done     atomic.Bool                                   // the stop vertex is here
	bare     *bares                                        // blocks without a header; nil where there are none ever
	heir     atomic.Bool                                   // rows have what the vertices left
	looked   atomic.Bool                                   // it is known of all blocks whether they are bare
	headless atomic.Pointer[error]                         // why headers could not be had at last
	deeper   atomic.Bool                                   // the archive has all older blocks that are wanted
	followed atomic.Bool                                   // a node has its blocks, or some are here
	ingest   atomic.Pointer[ingest.Ingest[*primary.Block]] // nil until a node has answered
	trouble  atomic.Pointer[error]                         // why none has
}

// NewPrimary returns a chain that is not followed yet.
func NewPrimary(cfg PrimaryConfig) *Primary {
	log := cfg.Log("primary").With("chain", cfg.Name)
	return &Primary{cfg: cfg, log: log, opened: time.Now()}
}

// Kind returns which chain it is.
func (p *Primary) Kind() primary.Kind { return p.cfg.Chain }

// ID returns the blockchain ID.
func (p *Primary) ID() chain.ID { return p.cfg.ID }

// Name is what the chain is called in health checks, logs and metrics.
func (p *Primary) Name() string { return p.cfg.Name }

// NetworkID returns the network of the chain.
func (p *Primary) NetworkID() uint32 { return p.cfg.Host.ID() }

// Rows returns the index, or nil if there is none.
func (p *Primary) Rows() PrimaryRows { return p.rows }

// Start opens what is kept of the chain and begins to follow it. It asks no node
// anything: that is done by actors, so that one that is down delays nothing.
func (p *Primary) Start() (err error) {
	set := p.cfg.Host.Metrics().With("chain", p.cfg.Name)
	node, _, err := p.cfg.Host.Source(source.Config{Timeout: primaryTimeout, MaxBody: maxPrimaryBody}, source.Endpoint{})
	if err != nil {
		return err
	}
	if p.client, err = containersource.New(containersource.Config{
		Chain: p.cfg.Chain, ID: p.cfg.ID, Node: node, Genesis: p.cfg.Genesis, Needs: p.cfg.Host.Needs, Logger: p.log, Metrics: set,
	}); err != nil {
		return err
	}
	a, err := p.cfg.Archive(container.KindOf(p.cfg.Chain), p.log, set)
	if err != nil {
		return err
	}
	var rows Index[*primary.Block] = archiveOnly{a}
	if p.cfg.Rows != nil {
		if p.rows, err = p.cfg.Rows(); err != nil {
			return err
		}
		rows = p.rows
	}
	s := NewSink(a, rows, primary.AppendArchived, container.NewReader(a, p.cfg.Chain), p.cfg.Room)
	p.keeper = newKeeper(s, p.log, set)
	p.keeper.fetch = p.refetch
	p.keeper.replay = func(context.Context) error { return nil }
	p.keeper.rebuild = p.rebuild
	p.keeper.outdated = func() bool { return p.rows != nil && p.rows.Stale() }
	_, started := s.Cursor()
	p.followed.Store(started)
	if _, err := p.disinherited(); err != nil { // so that nothing seems to lack
		return err
	}
	p.metrics(set)
	if p.takesBare() {
		p.openHeaders()
		err = p.cfg.Host.Go("headers of "+p.cfg.Name, p.completeHeaders)
	}
	return errors.Join(
		err,
		p.cfg.Host.Go("archive "+p.cfg.Name, p.keep),
		p.cfg.Host.Go("chain "+p.cfg.Name, p.follow),
	)
}

func (p *Primary) metrics(set *metric.Set) {
	set.Gauge("quorate_chain_info", "Always 1; the labels say which chain this is.",
		"blockchain_id", p.cfg.ID.String(), "subnet", chain.PrimaryNetworkID.String(), "evm_chain_id", "").Set(1)
	set.GaugeFunc("quorate_index_height", "Height of the last indexed block, also before the node has answered.", func() float64 {
		height, _, _ := p.Cursor()
		return float64(height)
	})
	set.GaugeFunc("quorate_index_first_block", "Height of the first block that lists show.", func() float64 {
		first, _ := p.first()
		return float64(first)
	})
}

// Cursor returns the last block that is indexed, or without an index archived.
func (p *Primary) Cursor() (height uint64, id chain.ID, ok bool) {
	head, ok := p.keeper.sink.index.Cursor()
	return head.Height, head.ID, ok
}

func (p *Primary) first() (uint64, bool) {
	if p.rows != nil {
		return p.rows.First()
	}
	first, _, ok := p.keeper.sink.archive.First()
	return first, ok
}

// archiveOnly is the index of a chain that has none: it has what the archive has.
type archiveOnly struct{ archive *archive.Archive }

// Cursor implements [ingest.Sink].
func (a archiveOnly) Cursor() (chain.Head, bool) {
	last, id, ok := a.archive.Last()
	return chain.Head{Height: last, ID: id}, ok
}

// Commit implements [ingest.Sink].
func (archiveOnly) Commit(context.Context, []*primary.Block) error { return nil }

// CommitAfter implements [Index].
func (archiveOnly) CommitAfter(_ context.Context, _ []*primary.Block, ready func() error) error {
	return ready()
}

// rebuild makes rows of older rules again.
func (p *Primary) rebuild(ctx context.Context, progress func(done, of uint64)) error {
	if p.rows == nil {
		return nil
	}
	first, begun := p.rows.First()
	kept, _, ok := p.keeper.sink.archive.First()
	if ok && begun && kept < first && p.deeper.Load() {
		p.log.Info("the index is made again from the archive, which has older blocks now; reads go on", "first", kept)
		return p.rows.Deepen(ctx, p.keeper.sink.reader, kept, progress)
	}
	if late, err := p.disinherited(); err != nil {
		return err
	} else if late {
		p.log.Info("the index is made again from the archive, behind the vertices that are there now; reads go on")
		return p.rows.Remake(ctx, p.keeper.sink.reader, progress)
	}
	if p.rows.Stale() {
		if !ok || kept > first {
			p.log.Warn("the index is that of an older version: the archive lacks the blocks to make it again from", "below", kept)
			return nil
		}
		p.log.Info("the index is made again from the archive; reads go on")
	}
	return p.rows.Rebuild(ctx, p.keeper.sink.reader, progress)
}

// refetch returns blocks as a node has them now, for the archive.
func (p *Primary) refetch(ctx context.Context, from, to uint64) (list []archive.Block, err error) {
	for at := from; at <= to; {
		blocks, err := p.client.Fetch(ctx, at, min(to, at+mendBlocks-1))
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			return nil, fmt.Errorf("block %d: %w", at, ingest.ErrAnswer)
		}
		for _, b := range blocks {
			if p.bare != nil && b.Bare {
				p.bare.add(heights{b.Link().Height, b.Link().Height})
			}
			list = append(list, container.BlockOf(b))
		}
		at += uint64(len(blocks))
	}
	if p.bare != nil { // before they are in the place of others that may have had one
		return list, p.saveBare()
	}
	return list, nil
}

// follow has the chain's blocks fetched as soon as some node has them.
func (p *Primary) follow(ctx context.Context) error {
	said := ""
	for wait := pauseMost / 20; ; {
		err := p.ready(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			break
		}
		p.trouble.Store(&err)
		if text := err.Error(); text != said { // one line for each new reason
			said = text
			p.log.Info("the chain is not followed: no node has its blocks yet", "err", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, primaryPause)
	}
	p.trouble.Store(nil)
	p.followed.Store(true)
	return p.cfg.Host.Go("ingest "+p.cfg.Name, p.fetchBlocks)
}

// keep brings archive and index together. Blocks that are archived came after all
// vertices that are archived, and so do their rows.
func (p *Primary) keep(ctx context.Context) error {
	if p.cfg.After != nil {
		select {
		case <-p.cfg.After.keeper.caught.done:
		case <-ctx.Done():
			return nil
		}
	}
	return p.keeper.Run(ctx)
}

// ready returns why no block can be fetched yet, or nil.
func (p *Primary) ready(ctx context.Context) error {
	if p.cfg.After != nil && !p.cfg.After.Settled() {
		return errUnsettled
	}
	_, err := p.client.Tip(ctx)
	p.asked.Store(true)
	return err
}

// Settled reports whether it is known which vertices there are: all of them are here, or
// no node that answers has any.
func (p *Primary) Settled() bool {
	if p.followed.Load() {
		return p.ended()
	}
	err := p.trouble.Load()
	return p.asked.Load() && err != nil && !errors.Is(*err, source.ErrUnreachable) &&
		(errors.Is(*err, containersource.ErrNoIndex) || errors.Is(*err, ingest.ErrNotFound))
}

// ended reports whether the last vertex that is here is the stop vertex.
func (p *Primary) ended() bool {
	if p.done.Load() {
		return true
	}
	head, ok := p.keeper.sink.index.Cursor()
	if !ok {
		return false
	}
	err := p.keeper.sink.reader.Read(context.Background(), head.Height, head.Height, func(b *primary.Block) error {
		p.done.Store(b.Vertex != nil && b.Vertex.Stop)
		return nil
	})
	return err == nil && p.done.Load()
}

// fetchBlocks follows the chain, once the index has what the archive has, until ctx ends.
func (p *Primary) fetchBlocks(ctx context.Context) error {
	select {
	case <-p.keeper.caught.done:
	case <-ctx.Done():
		return nil
	}
	i := p.ingest.Load()
	if i == nil { // not the second time, after a failure
		cfg := ingest.Config[*primary.Block]{
			Name: p.cfg.Name, Source: p.client, Sink: p.keeper.sink.Final(),
			Fetchers: PrimaryFetchers, Span: PrimarySpan, Group: PrimaryGroup, WindowBytes: p.cfg.WindowBytes, GroupBytes: p.cfg.WindowBytes / 4,
			OnProgress: p.cfg.OnProgress, Logger: p.cfg.Log("primary"), Metrics: p.cfg.Host.Metrics().With("chain", p.cfg.Name),
		}
		var err error
		if cfg.From, err = p.chooseStart(ctx); err != nil {
			return err
		}
		if i, err = ingest.New(cfg); err != nil {
			return err
		}
		p.ingest.Store(i)
		if err := errors.Join(fillBehind(p.cfg.Host, p.cfg.Name, p.log, cfg, p.keeper), p.fetchOlder(cfg)); err != nil {
			return err
		}
	}
	return i.Run(ctx)
}

// status says how the chain is followed. Before a node has answered that is what is
// kept of it.
func (p *Primary) status() ingest.Status {
	if i := p.ingest.Load(); i != nil {
		return i.Status()
	}
	s := ingest.Status{Since: p.opened, Err: errNotAsked}
	if err := p.trouble.Load(); err != nil {
		s.Err = *err
	}
	s.Head, s.Started = p.keeper.sink.index.Cursor()
	last, _ := p.keeper.sink.Cursor()
	s.Target = max(s.Height, last.Height)
	return s
}

// Followed reports whether a node has the chain's blocks, or some are kept.
func (p *Primary) Followed() bool { return p.followed.Load() }

// Down says why no node answers, or nil.
func (p *Primary) Down() error {
	if s := p.status(); s.Err != nil && time.Since(s.Since) > downAfter {
		return s.Err
	}
	return nil
}

// Syncing returns the highest block that is known of, and reports whether the index is
// far behind it, or empty.
func (p *Primary) Syncing() (target uint64, behind bool) {
	s := p.status()
	return s.Target, s.Syncing()
}

// Updated reports when a block was indexed last, or when it turned out that there is
// none to index; the zero time if not since the start.
func (p *Primary) Updated() time.Time { return p.status().Progress }

// Work returns what is done beside following the chain.
func (p *Primary) Work() []Work { return p.keeper.Work() }

// Held returns the bytes of blocks that wait for their commit.
func (p *Primary) Held() int64 {
	if i := p.ingest.Load(); i != nil {
		return i.Held()
	}
	return 0
}

// Check returns how far the chain is and what is wrong with the way it is followed. ok
// is false as long as it is not followed.
func (p *Primary) Check() (s ingest.Status, ok bool, err error) {
	if !p.followed.Load() {
		return s, false, nil
	}
	s = p.status()
	if err := standing(&s); err != nil {
		return s, true, err
	}
	return s, true, unhealthy(&s, p.keeper.stuckFor(maxWaiting))
}
