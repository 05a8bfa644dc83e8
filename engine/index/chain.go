package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// Errors of chains and views.
var (
	// ErrEmpty: the chain has no block yet.
	ErrEmpty = errors.New("no block of the chain is indexed yet")
	// ErrAbove: the height is above the last indexed block.
	ErrAbove = errors.New("height is above the last indexed block")
	// ErrBelow: the height is below the first indexed block.
	ErrBelow = errors.New("height is below the first indexed block")
	// ErrOrder: blocks to commit do not follow on the last indexed block, or on each other.
	ErrOrder = errors.New("block does not follow on the one before")
	// ErrPosition: [Page.After] is no position of the list.
	ErrPosition = errors.New("not a position of this list")
	// ErrKind: transfers of this kind are not listed by address.
	ErrKind = errors.New("transfers of this kind are not listed by address")
)

// Options tune [Open]. The zero value is good.
type Options struct {
	// Wrapped are contracts of wrapped native coins, such as WAVAX: their Deposit
	// and Withdrawal events change balances without a transfer. They are kept: nil
	// are those of the last time. With others balances are stale, see [Chain.Stale].
	Wrapped []evm.Address
	// OnSeen is called after a commit with tokens that were moved and NFTs that were
	// minted, so that their metadata can be fetched. It may repeat tokens. It must
	// not block, and not keep the slices. OnOlder is called likewise after
	// [Chain.CommitBelow].
	OnSeen, OnOlder func(tokens []SeenToken, nfts []SeenNFT)
	// Remember is the number of balances to keep in memory, about [RememberBytes] each.
	// As many are kept while tables are made again. Default 200,000.
	Remember int
	// NoRollup makes no metrics of the chain.
	NoRollup bool
	// Spare is the time that tables are made again in; nil bounds it by nothing.
	Spare *yield.Time
	// Metrics takes the index's metrics; nil keeps them private.
	Metrics *metric.Set
}

// Chain is the index of one chain. One goroutine at a time may commit; all
// other methods may be called at once.
type Chain struct {
	db      *store.DB
	id      chain.ID
	ordinal uint32
	opts    Options
	wrapped map[evm.Address]bool

	start        atomic.Uint64          // height of the first block, see StartAt
	last         atomic.Pointer[cursor] // nil while the chain is empty; see setLast
	changed      actor.Signal           // of last
	tokenVersion atomic.Uint64
	named        atomic.Bool // all tokens are found by their names
	known        tokenSet    // of whose contracts something is known
	uris         atomic.Bool // whether a URI of any NFT may be known
	asked        tokenSet    // of which a contract stated a balance
	uneven       atomic.Pointer[unevenTokens]
	runs         heldRuns
	corrections  atomic.Pointer[[]Correction]

	commit sync.Mutex // guards what follows, and the order of commits
	doubt  bool       // last and the caches may not be what is on disk, since a commit failed
	maker  *maker     // of the tables that are served
	flying *flight    // the commit under way, see CommitAhead; nil if there is none

	// rewinds counts who wait for what is being made again to end; stopBuild ends it.
	rewinds   atomic.Int32
	stopBuild atomic.Pointer[context.CancelCauseFunc]

	// remembered and aside are about the bytes of what the makers remember: of the tables that
	// are served, and of those that are made again.
	remembered, aside atomic.Int64

	rebuilding sync.Mutex    // held while tables are made again
	rebuilt    atomic.Uint64 // how many blocks they have so far
	groupTxs   int           // rebuildTxs, or fewer in tests
	within     uint64        // switchWithin, or fewer in tests

	rowsMax, bytesMax, overhead int
}

// Open returns the index of the chain with the given blockchain ID.
func Open(db *store.DB, id chain.ID, opts Options) (*Chain, error) {
	if opts.Remember < 0 {
		return nil, errors.New("index: a negative number of balances to keep")
	}
	if opts.Remember == 0 {
		opts.Remember = 200_000
	}
	ordinal, err := db.Ordinal(id)
	if err != nil {
		return nil, err
	}
	c := &Chain{db: db, id: id, ordinal: ordinal, opts: opts, wrapped: map[evm.Address]bool{}, groupTxs: rebuildTxs, within: switchWithin}
	c.rowsMax, c.bytesMax, c.overhead = db.Limits()
	if err := errors.Join(c.loadCursor(), c.loadTokens(), c.loadNames(), c.loadAsked()); err != nil {
		return nil, err
	}
	if err := c.keepWrapped(); err != nil {
		return nil, fmt.Errorf("keep the wrapped coins of chain %s: %w", id, err)
	}
	return c, c.loadUneven()
}

// Remembered returns about how many bytes the balances take that are kept in memory.
func (c *Chain) Remembered() int64 { return c.remembered.Load() + c.aside.Load() }

// ID returns the blockchain ID.
func (c *Chain) ID() chain.ID { return c.id }

// StartAt makes height the first block of an empty chain whose older blocks no node
// has, or not yet; see [Chain.CommitBelow]. What adds up over all blocks of a chain is
// that of those from there on.
func (c *Chain) StartAt(height uint64) { c.start.Store(height) }

// Cursor returns the last indexed block; ok is false if there is none.
func (c *Chain) Cursor() (number uint64, hash evm.Hash, ok bool) {
	cur := c.last.Load()
	if cur == nil {
		return 0, hash, false
	}
	return cur.head.Number, cur.head.Hash, true
}

// places returns where the chain's tables lie.
func (c *Chain) places() *places {
	if cur := c.last.Load(); cur != nil {
		return cur.places
	}
	p := newPlaces(c.ordinal)
	if c.opts.NoRollup {
		p = p.without(partMetrics)
	}
	return p
}

// Digest hashes all rows that follow from blocks. Chains that have the same
// blocks have the same digest.
func (c *Chain) Digest(ctx context.Context) ([32]byte, error) {
	p := c.places()
	leads := [][]byte{p.key(store.TableCursor)}
	for _, t := range Tables() {
		leads = append(leads, p.key(byte(t)))
	}
	return c.db.Digest(ctx, leads...)
}

func (c *Chain) loadCursor() error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	cur := &cursor{places: &places{ordinal: c.ordinal}}
	found, err := s.Get(cur.places.key(store.TableCursor), cur.decode)
	if err != nil {
		return fmt.Errorf("read the cursor of chain %s: %w", c.id, err)
	}
	if !found {
		c.setLast(nil)
		c.maker = newMaker(c, c.places(), allTables)
		return nil
	}
	if found, err = s.Get(cur.places.rowKey(rowServing), cur.places.decode); err != nil {
		return fmt.Errorf("read the tables of chain %s: %w", c.id, err)
	} else if !found {
		cur.places = firstPlaces(c.ordinal)
	}
	if err := c.loadBegins(s, cur); err != nil {
		return fmt.Errorf("read where the tables of chain %s begin: %w", c.id, err)
	}
	if cur.rolled, err = loadRolled(s, cur.places); err != nil {
		return fmt.Errorf("read the metrics of chain %s: %w", c.id, err)
	}
	if c.opts.NoRollup || cur.rolled.Next != cur.head.Number+1 {
		cur.places = cur.places.without(partMetrics)
	}
	if cur.held, err = loadHeld(s, cur.places); err != nil {
		return fmt.Errorf("read which metrics of chain %s hold: %w", c.id, err)
	}
	c.setLast(cur)
	c.maker = newMaker(c, cur.places, allTables)
	return nil
}
