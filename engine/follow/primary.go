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
	"quorate/engine/feed/share"
	"quorate/engine/ingest"
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

// PrimaryBlocks is where the blocks of a chain of the primary network come from: nodes, or a
// server that has them.
type PrimaryBlocks interface {
	ingest.Source[*primary.Block]
	ingest.Blamer
}

// PrimaryConfig says which chain of the primary network to follow and with what. All
// fields but Blocks, Genesis, After and Inherited are required.
type PrimaryConfig struct {
	Common
	Chain primary.Kind
	// Blocks is where blocks come from. Nil: from the network's nodes, which are also asked
	// for headers that blocks lack.
	Blocks PrimaryBlocks
	// Genesis is the parent of the P-Chain's first block, zero if it is not known.
	Genesis chain.ID
	// Rows opens the index.
	Rows func() (PrimaryRows, error)
	// After is the chain of vertices whose last one the first block follows, nil
	// without. It must have been started.
	After *Primary
	// Inherited reports whether rows have what the vertices of After left; nil: they have.
	// It is asked when all vertices are there.
	Inherited func() (bool, error)
}

// errUnsettled: the first block of the X-Chain is the child of its last vertex.
var errUnsettled = errors.New("the vertices before the first block are not all here yet")

// Primary is a chain of the primary network that is followed: its blocks are archived
// and indexed. Accepted blocks of these chains are
// final: it never goes back.
type Primary struct {
	base[*primary.Block]
	cfg PrimaryConfig

	// Set by Start.
	from PrimaryBlocks
	node *containersource.Client // nil: there is none
	rows PrimaryRows

	done     atomic.Bool           // the stop vertex is here
	bare     *bares                // blocks without a header; nil where there are none ever
	heir     atomic.Bool           // rows have what the vertices left
	looked   atomic.Bool           // it is known of all blocks whether they are bare
	headless atomic.Pointer[error] // why headers could not be had at last
	deeper   atomic.Bool           // the archive has all older blocks that are wanted
	followed atomic.Bool           // a node has its blocks, or some are here
}

// NewPrimary returns a chain that is not followed yet.
func NewPrimary(cfg PrimaryConfig) *Primary {
	if cfg.Chain == primary.XVertices {
		cfg.Start = StartBlock{} // they are of use from the first one on alone
	}
	p := &Primary{base: newBase[*primary.Block](cfg.Common, "primary"), cfg: cfg}
	p.early = slog.LevelDebug // the block that is named is one of an EVM chain
	if cfg.Chain == primary.CChain {
		p.least = 1 // no node has a container of the genesis block
	}
	return p
}

// Kind returns which chain it is.
func (p *Primary) Kind() primary.Kind { return p.cfg.Chain }

// Rows returns the index.
func (p *Primary) Rows() PrimaryRows { return p.rows }

// Start opens what is kept of the chain and begins to follow it. It asks no node
// anything: that is done by actors, so that one that is down delays nothing.
func (p *Primary) Start() (err error) {
	if err := p.connect(); err != nil {
		return err
	}
	a, err := p.cfg.Archive(container.KindOf(p.cfg.Chain), p.log, p.metrics())
	if err != nil {
		return err
	}
	if p.rows, err = p.cfg.Rows(); err != nil {
		return err
	}
	p.index, p.begin = p.rows, p.rows.First
	s := NewSink(a, p.index, primary.AppendArchived, container.NewReader(a, p.cfg.Chain), p.cfg.Room)
	k := newKeeper(s, p.log, p.metrics())
	p.keeper.Store(k)
	k.fetch, k.rebuild = p.refetchBare, p.rebuild
	k.replay = func(context.Context) error { return nil }
	k.outdated = p.rows.Stale
	stored, err := p.store(k, p.Gaps)
	if err != nil {
		return err
	}
	p.joinLog(stored)
	_, started := s.Cursor()
	p.followed.Store(started)
	if _, err := p.disinherited(); err != nil { // so that nothing seems to lack
		return err
	}
	p.show(chain.PrimaryNetworkID, "")
	if p.takesBare() {
		p.openHeaders()
	}
	if p.bare != nil && p.node != nil {
		err = p.start("headers of", p.completeHeaders)
	}
	return errors.Join(
		err,
		p.start("archive", p.keep),
		p.start("chain", p.learn),
	)
}

// connect makes what blocks come from: a client of nodes, if nothing else is configured.
func (p *Primary) connect() error {
	if p.cfg.Blocks != nil || p.cfg.Nodeless {
		p.share(p.cfg.Blocks)
		return nil
	}
	node, _, err := p.cfg.Host.Source(source.Config{Timeout: primaryTimeout, MaxBody: maxPrimaryBody}, source.Endpoint{})
	if err != nil {
		return err
	}
	p.node, err = containersource.New(containersource.Config{
		Chain: p.cfg.Chain, ID: p.cfg.ID, Node: node, Genesis: p.cfg.Genesis, Needs: p.cfg.Host.Needs, Logger: p.log, Metrics: p.metrics(),
	})
	p.share(p.node)
	return err
}

// share has blocks come from nodes, and from the log that servers share if there is one.
// Vertices name no parents that would link them there: who has no node has those of a depot.
func (p *Primary) share(nodes PrimaryBlocks) {
	p.from, p.blocks = nodes, nodes
	if p.cfg.Feed == nil || p.cfg.Chain == primary.XVertices && nodes != nil {
		return
	}
	parse := func(b archive.Block) (*primary.Block, error) {
		is, err := primary.ParseArchived(p.cfg.Chain, b.Height, b.Parent, b.Data)
		if err == nil && is.Link().ID != b.ID {
			err = fmt.Errorf("it is %s", is.Link().ID)
		}
		return is, err
	}
	p.shared = share.New(share.Config[*primary.Block]{
		Config: p.logConfig(container.KindOf(p.cfg.Chain), parse), Nodes: nodes, Encode: primary.AppendArchived,
	})
	p.from, p.blocks = p.shared, p.shared
}

// Cursor returns the last block that is indexed.
func (p *Primary) Cursor() (height uint64, id chain.ID, ok bool) {
	head, ok := p.index.Cursor()
	return head.Height, head.ID, ok
}

// rebuild makes rows of older rules again.
func (p *Primary) rebuild(ctx context.Context, progress func(done, of uint64)) error {
	first, begun := p.rows.First()
	kept, _, ok := p.keeper.Load().sink.archive.First()
	if ok && begun && kept < first && p.deeper.Load() {
		p.log.Info("the index is made again from the archive, which has older blocks now; reads go on", "first", kept)
		return p.rows.Deepen(ctx, p.keeper.Load().sink.reader, kept, progress)
	}
	if late, err := p.disinherited(); err != nil {
		return err
	} else if late {
		p.log.Info("the index is made again from the archive, behind the vertices that are there now; reads go on")
		return p.rows.Remake(ctx, p.keeper.Load().sink.reader, progress)
	}
	if p.rows.Stale() {
		if !ok || kept > first {
			p.log.Warn("the index is that of an older version: the archive lacks the blocks to make it again from", "below", kept)
			return nil
		}
		p.log.Info("the index is made again from the archive; reads go on")
	}
	return p.rows.Rebuild(ctx, p.keeper.Load().sink.reader, progress)
}

// refetchBare returns blocks as a node has them now, some perhaps without a header.
func (p *Primary) refetchBare(ctx context.Context, from, to uint64) ([]archive.Block, error) {
	list, err := p.refetch(ctx, from, to, nil)
	if err == nil && p.bare != nil { // before they are in the place of others that may have had one
		err = p.saveBare()
	}
	return list, err
}

// learn has the chain's blocks fetched as soon as some node has them.
func (p *Primary) learn(ctx context.Context) error {
	say := func(err error) { p.log.Info("the chain is not followed: no node has its blocks yet", "err", err) }
	if !p.until(ctx, primaryPause, say, p.ready) {
		return nil
	}
	p.followed.Store(true)
	return p.start("ingest", func(ctx context.Context) error { return p.follow(ctx, p.how, p.fetchOlder) })
}

// how says how blocks are fetched.
func (p *Primary) how(cfg *ingest.Config[*primary.Block]) error {
	cfg.Sink, cfg.Fetchers, cfg.Span, cfg.Group = p.keeper.Load().sink.Final(), PrimaryFetchers, PrimarySpan, PrimaryGroup
	return nil
}

// keep brings archive and index together. Blocks that are archived came after all
// vertices that are archived, and so do their rows.
func (p *Primary) keep(ctx context.Context) error {
	if p.cfg.After != nil && !await(ctx, &p.cfg.After.keeper.Load().caught) {
		return nil
	}
	return p.keeper.Load().Run(ctx)
}

// ready returns why no block can be fetched yet, or nil.
func (p *Primary) ready(ctx context.Context) error {
	if p.cfg.After != nil && !p.cfg.After.Settled() {
		return errUnsettled
	}
	_, err := p.blocks.Tip(ctx)
	return err
}

// Settled reports whether it is known which vertices there are: all of them are here, or
// no node that answers has any.
func (p *Primary) Settled() bool {
	if p.followed.Load() {
		return p.ended()
	}
	err := p.trouble.Load()
	return err != nil && !errors.Is(*err, source.ErrUnreachable) &&
		(errors.Is(*err, containersource.ErrNoIndex) || errors.Is(*err, ingest.ErrNotFound))
}

// ended reports whether the last vertex that is here is the stop vertex.
func (p *Primary) ended() bool {
	if p.done.Load() {
		return true
	}
	head, ok := p.index.Cursor()
	if !ok {
		return false
	}
	err := p.keeper.Load().sink.reader.Read(context.Background(), head.Height, head.Height, func(b *primary.Block) error {
		p.done.Store(b.Vertex != nil && b.Vertex.Stop)
		return nil
	})
	return err == nil && p.done.Load()
}

// Followed reports whether a node has the chain's blocks, or some are kept.
func (p *Primary) Followed() bool { return p.followed.Load() }

// Check returns how far the chain is and what is wrong with the way it is followed. ok
// is false as long as it is not followed.
func (p *Primary) Check() (s ingest.Status, ok bool, err error) {
	if !p.followed.Load() {
		return s, false, nil
	}
	s, err = p.check()
	return s, true, err
}

// archived is the index of older blocks of a chain whose rows are made again from the
// first block on when all of them are there: those of one block follow from all before.
type archived struct{ archive *archive.Archive }

// First implements [olderIndex].
func (a archived) First() uint64 {
	first, _, _ := a.archive.First()
	return first
}

// CommitBelow implements [olderIndex].
func (archived) CommitBelow(context.Context, []*primary.Block) error { return nil }

// certain are nodes that need not be asked whether they have a block: each is known by
// the one above it, whoever gave it.
type certain struct{ PrimaryBlocks }

// Witness implements [ingest.Witness].
func (certain) Witness(context.Context, uint64, chain.ID) (with, against int, err error) {
	return 1, 0, nil
}

// fetchOlder fetches blocks below the archive's first one if the operator wants the chain
// to begin there, and then has the rows made again.
func (p *Primary) fetchOlder(cfg ingest.Config[*primary.Block]) error {
	a := p.keeper.Load().sink.archive
	o := &older[*primary.Block]{keeper: p.keeper.Load(), index: archived{a}, nodes: certain{p.from}, fetch: beside(cfg, " older"), log: p.log}
	return p.startOlder(o, func(ctx context.Context) (wanted bool, err error) {
		if o.down, err = p.wantedStart(ctx); err != nil {
			return false, err
		}
		begun, _ := p.begin()
		first, _, ok := a.First()
		switch {
		case !ok || begun <= o.down:
			return false, p.giveUp(ctx)
		case first > o.down && a.Keep() != (archive.Keep{}):
			p.log.Warn("older blocks are not fetched: the archive keeps only the newest ones", "first", first, "wanted", o.down)
			return false, p.giveUp(ctx)
		}
		p.log.Info("older blocks are fetched, downwards; the index is made again when all of them are there", "first", first, "down to", o.down)
		return true, nil
	}, func() { p.deeper.Store(true) })
}

// giveUp removes rows that were half made for older blocks, which are not wanted any more.
func (p *Primary) giveUp(ctx context.Context) error {
	return p.rows.GiveUp(ctx)
}
