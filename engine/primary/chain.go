package primary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// Machine makes the rows of the blocks of one kind of chain. What it does depends on
// the blocks and on nothing else: the same blocks have the same rows in whatever groups
// they are committed.
type Machine interface {
	// Load reads what the machine keeps in memory of the rows before the next block. It
	// is called before the first block, and again after a commit that failed.
	Load(rows *Overlay) error
	// Apply writes the rows of a block, which follows on the one before. After an error
	// none of them is kept, and Load is called before the next block.
	Apply(rows *Overlay, b *Block) error
}

// Errors of commits and views.
var (
	// ErrOrder means that a block does not follow on the last committed one.
	ErrOrder = errors.New("block does not follow on the last indexed one")
	// ErrEmpty means that no block is indexed yet.
	ErrEmpty = errors.New("no block of the chain is indexed yet")
)

// Config says what chain's rows are made, and how.
type Config struct {
	// ID is what the rows have their ordinal by: see [RowsID].
	ID chain.ID
	// Version counts the rules that rows are made by. Rows of another version are
	// served if it is at least Reads, and made again: see [Chain.Rebuild].
	Version, Reads uint16
	// Burned is the oldest version whose rows have what was burned, Supplied the oldest
	// one whose rows have what is locked and what was rewarded.
	Burned, Supplied uint16
	// Live is the oldest version whose live lists are trees.
	Live uint16
	// Given is what the rows follow from beside the blocks. Rows of another one are
	// served, and made again.
	Given Given
	// Machine returns a machine that has read nothing yet.
	Machine func() Machine
}

// Chain is the rows of a chain of the primary network: the end of an ingest, and what
// [Chain.View] reads. All methods may be called at once.
type Chain struct {
	db      *store.DB
	cfg     Config
	ordinal uint32

	// build: these are rows that are made beside those that are served, in an edition of
	// their own, which no other row says yet.
	build   bool
	edition uint8 // of a build

	rebuilding sync.Mutex // held while the rows are made again
	commit     sync.Mutex // guards what follows
	machine    Machine    // nil: to be loaded before the next block
	ahead      *writer    // of CommitAhead, nil if nothing is under way
	next       editions   // what the first commit says of editions, but for itself
	limit      limit

	// applying is held to write a block in several transactions: views wait for the last.
	applying sync.RWMutex
	at       atomic.Pointer[position]
	changed  actor.Signal // of at
}

// position is how far a chain is indexed, and where.
type position struct {
	space   Space
	version uint16  // of the rows
	given   *Given  // of the rows; nil: not kept
	cursor  *cursor // nil: no block yet
}

// limit is what a transaction can hold, and the bytes from which on one is written while
// further blocks are at hand: each one waits for the disk.
type limit struct{ rows, bytes, overhead, launch int }

// launchAfter is for how long rows wait for more of them while further blocks are at hand.
const launchAfter = 500 * time.Millisecond

func (l limit) fits(y *layer) bool {
	rows, bytes := 2+len(y.rows), 256+y.bytes // the cursor, and what is written with it
	return rows < l.rows && bytes+rows*l.overhead < l.bytes
}

// OpenChain returns the rows of a chain. What a crash left half-written it completes.
func OpenChain(db *store.DB, cfg Config) (*Chain, error) {
	ordinal, err := db.Ordinal(cfg.ID)
	if err != nil {
		return nil, err
	}
	c := &Chain{db: db, cfg: cfg, ordinal: ordinal}
	c.limit.rows, c.limit.bytes, c.limit.overhead = db.Limits()
	c.limit.launch = c.limit.bytes / 2
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("rows of the primary network: %w", err)
	}
	return c, nil
}

// load reads how far the chain is indexed.
func (c *Chain) load() (err error) {
	at := &position{space: Space{Ordinal: c.ordinal, Edition: c.edition}, version: c.cfg.Version}
	if !c.build {
		e, found, err := c.readEditions()
		if err != nil {
			return err
		}
		inRuns, err := c.db.InRuns(c.ordinal, e.serving)
		if err != nil {
			return err
		}
		at.space.Edition, c.next = e.serving, e
		switch {
		case found && (e.version < c.cfg.Reads || inRuns): // of no use: as if there were none
			// The next edition may have rows that were half made again, by whatever rules.
			at.space.Edition += 2
			c.next.dropping = append(c.next.dropping, e.serving, e.serving+1)
		case found:
			at.version = e.version
		}
		if at.given, err = c.readGiven(at.space); err != nil {
			return err
		}
	}
	if at.cursor, err = c.recover(at.space); err != nil {
		return err
	}
	c.machine = nil
	c.setAt(at)
	return nil
}

// Cursor returns the last indexed block; ok is false if there is none.
func (c *Chain) Cursor() (head chain.Head, ok bool) {
	if cur := c.at.Load().cursor; cur != nil {
		return cur.head, true
	}
	return head, false
}

// Space returns where the rows that are served lie.
func (c *Chain) Space() Space { return c.at.Load().space }

// Made says which rows are served: it changes when they are made again.
func (c *Chain) Made() string {
	at := c.at.Load()
	return fmt.Sprintf("%d.%d.%d", at.version, at.space.Ordinal, at.space.Edition)
}

// First returns the height of the first indexed block; ok is false if there is none.
func (c *Chain) First() (height uint64, ok bool) {
	if cur := c.at.Load().cursor; cur != nil {
		return cur.first, true
	}
	return 0, false
}

// Stale reports whether the rows were made by other rules than today's, or follow from
// something else than blocks have to be taken with now, such as a genesis that was not
// known.
func (c *Chain) Stale() bool {
	at := c.at.Load()
	return at.cursor != nil && (at.version != c.cfg.Version || at.given != nil && c.cfg.Given.replaces(at.given))
}

// Digest hashes all rows that follow from blocks. Chains that have the same blocks have
// the same digest.
func (c *Chain) Digest(ctx context.Context) ([32]byte, error) {
	space := c.at.Load().space
	var leads [][]byte
	for _, t := range rowTables() {
		leads = append(leads, space.Key(t))
	}
	return c.db.Digest(ctx, leads...)
}

// Commit indexes the blocks, which must follow on the last indexed one; the first of
// all may have any height. All rows of a block become visible at once, and are durable
// when Commit returns. As many blocks as fit share a transaction. After an error none,
// some or all blocks are indexed: Cursor returns how far. Blocks are not changed or kept.
func (c *Chain) Commit(ctx context.Context, blocks []*Block) error {
	return c.CommitAfter(ctx, blocks, func() error { return nil })
}

// CommitAfter is Commit that makes rows meanwhile, but writes none before ready has
// returned nil. It may call ready several times, and not where it fails before.
func (c *Chain) CommitAfter(ctx context.Context, blocks []*Block, ready func() error) error {
	if err := c.alone(); err != nil {
		return err
	}
	defer c.commit.Unlock()
	w := &writer{c: c, ctx: ctx, ready: ready, at: *c.at.Load()}
	defer w.close()
	for _, b := range blocks {
		err := w.block(b)
		if err != nil {
			c.machine = nil // it may have taken half a block
			return errors.Join(w.flush(), err)
		}
	}
	return w.flush()
}

// follows reports what is wrong with the place of a block behind a cursor.
func follows(cur *cursor, link *chain.Link) error {
	if cur == nil {
		return nil
	}
	if link.Height != cur.head.Height+1 {
		return fmt.Errorf("%w: block %d, the last is %d", ErrOrder, link.Height, cur.head.Height)
	}
	if !link.Orphan && link.Parent != cur.head.ID {
		return fmt.Errorf("%w: block %d has parent %s, want %s", ErrOrder, link.Height, link.Parent, cur.head.ID)
	}
	return nil
}
