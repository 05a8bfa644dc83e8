package evmchain

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
)

// Chain is an EVM chain. Its methods may be called from any goroutine.
type Chain struct {
	cfg   Config
	ended atomic.Bool

	mu      sync.RWMutex // guards what follows
	built   bool
	waiting uint64 // blocks accepted before it was built
	ledger  *ledger
	plan    *planner
	stream  stream
	records []record     // by height
	states  []*stateNode // likewise, with StateProofs
	byHash  map[uint64]uint32
	txs     map[uint64]uint64 // first 8 bytes of the hash -> height, index
	tip     chan struct{}     // closed when there is a new block, or one is executed
	grown   bool              // since it was built
	paused  uint64            // calls of Advance that passed after the last block of the old kind
	// executed is the last block that is executed, delay how long after its acceptance
	// that is; swapped is when the last block of the old kind was accepted.
	executed uint64
	delay    time.Duration
	swapped  time.Time

	// newest is the last block, once one was accepted after the chain was built: all who
	// follow the chain ask for it, for its receipts and for its traces at that moment,
	// and nodes have it in memory. It is not changed.
	newest atomic.Pointer[block]
}

// record is what is kept of a block: with the hashes over all of it, so that they
// are worked out once.
type record struct {
	roots
	late *late  // nil for blocks that are executed before their acceptance
	data []byte // ops and atomic transfers
}

// New describes a chain. It costs nothing until the chain is asked for something.
func New(cfg Config) (*Chain, error) {
	if cfg.BlockInterval == 0 {
		cfg.BlockInterval = 1e9
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.settleTimes()
	return &Chain{cfg: cfg, tip: make(chan struct{}), delay: cfg.ExecutionDelay}, nil
}

// Config returns the chain's configuration, defaults filled in.
func (c *Chain) Config() Config { return c.cfg }

// End stops the making of blocks that is under way: a chain of a million
// transactions takes many seconds, and no request for it can be answered before.
// What was made by then stays readable. Whoever waits for the execution of a block
// waits no longer.
func (c *Chain) End() {
	c.ended.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news()
}

// Advance accepts one more block. Between the last block before Helicon and the first one
// after it nothing happens for as many calls as fit into the time between them.
func (c *Chain) Advance() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.built {
		c.waiting++
		return
	}
	last := uint64(len(c.records) - 1) // not negative
	if last == c.cfg.transition && c.paused < c.cfg.pause {
		c.paused++
		return
	}
	c.grow()
	c.grown = true
	c.accepted(last + 1)
	c.news()
}

// news wakes those who wait for something new. The caller holds the lock.
func (c *Chain) news() {
	close(c.tip)
	c.tip = make(chan struct{})
}

// read locks the chain for reading, and builds it if need be.
func (c *Chain) read() (unlock func()) {
	c.mu.RLock()
	if !c.built {
		c.mu.RUnlock()
		c.mu.Lock()
		if !c.built {
			c.build()
		}
		c.mu.Unlock()
		c.mu.RLock()
	}
	return c.mu.RUnlock
}

func (c *Chain) build() {
	c.ledger = newLedger(c.cfg.Seed[:])
	if c.cfg.StateProofs {
		c.ledger.dirty, c.ledger.touches = make(map[uint32]struct{}), make(map[uint32][]numberEntry)
	}
	c.byHash = make(map[uint64]uint32, c.cfg.Blocks)
	c.txs = make(map[uint64]uint64, c.cfg.Blocks*uint64(c.cfg.TxsPerBlock)) // not negative
	c.records = make([]record, 0, c.cfg.Blocks+1)
	c.plan = newPlanner(&c.cfg, c.ledger)
	height, paused := c.cfg.ticked(c.waiting)
	c.growAll(height + 1)
	c.paused, c.executed = paused, uint64(len(c.records)-1) // not negative
	c.built = true
}

// made is a block on its way into the chain.
type made struct {
	*block
	data   []byte        // its record
	state  *evm.Hash     // the state root, if it is known
	hashed chan struct{} // closed when its lists are
}

// growAll makes the first n blocks: what happens in them one after the other,
// meanwhile the roots of those before on all cores.
func (c *Chain) growAll(n uint64) {
	const ahead = 64 // blocks
	work, order := make(chan *made, ahead), make(chan *made, ahead)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for m := range work {
				m.hashLists()
				close(m.hashed)
			}
		})
	}
	workers.Go(func() {
		for height := range n {
			if height > 0 && c.ended.Load() {
				break
			}
			m := c.next(height)
			work <- m
			order <- m
		}
		close(work)
		close(order)
	})
	for m := range order {
		<-m.hashed
		c.accept(m)
	}
	workers.Wait()
}

// grow plans, applies and records the next block.
func (c *Chain) grow() {
	m := c.next(uint64(len(c.records)))
	m.hashLists()
	c.accept(m)
}

// next plans the next block, and applies it.
func (c *Chain) next(height uint64) *made {
	m := &made{block: &block{ledger: c.ledger, header: header{number: height}}, hashed: make(chan struct{})}
	if c.cfg.late(height) {
		c.open(m.block)
	}
	if height == 0 {
		c.plan.genesis()
	} else {
		m.data = c.plan.block(m.block)
	}
	m.seal(&c.cfg)
	if m.late != nil {
		c.close(m.block)
	}
	m.state = c.grownState(height)
	return m
}

// accept records a block whose lists are hashed.
func (c *Chain) accept(m *made) {
	height := uint64(len(c.records))
	if height > 0 {
		m.parent = c.records[height-1].hash
	}
	var settled evm.Hash
	if m.late != nil {
		settled = c.records[m.late.settled].post()
	}
	m.hashHeader(m.state, settled)
	c.records = append(c.records, record{m.roots, m.late, slices.Clip(m.data)})
	c.byHash[short(m.hash)] = uint32(height) // bounded
	for i, t := range m.txs {
		c.txs[short(t.hash)] = height<<16 | uint64(i) // bounded
	}
}

// grownState is the root of the state after the block that is being made; nil
// without proofs.
func (c *Chain) grownState(height uint64) *evm.Hash {
	if !c.cfg.StateProofs {
		return nil
	}
	var last *stateNode
	if height > 0 {
		last = c.states[height-1]
	}
	now := c.ledger.prove(last, uint32(height), c.cfg.Atomic) // bounded
	c.states = append(c.states, now)
	return &now.hash
}

// short is the part of a hash that tables are keyed by.
func short(h evm.Hash) uint64 { return binary.BigEndian.Uint64(h[:]) }

// block returns a block, which must not be changed. The caller holds the lock.
func (c *Chain) block(height uint64) *block {
	if b := c.newest.Load(); b != nil && b.number == height {
		return b
	}
	b := c.workOut(height)
	if c.grown && height == uint64(len(c.records)-1) { // not negative
		c.newest.Store(b)
	}
	return b
}

// workOut works a block out from its record. The caller holds the lock.
func (c *Chain) workOut(height uint64) *block {
	b := &block{ledger: c.ledger, header: header{number: height, late: c.records[height].late}}
	build := builder{cfg: &c.cfg, keys: &c.ledger.keys, accounts: c.ledger.accounts, height: height, late: b.late}
	data := c.records[height].data
	for len(data) > 0 && data[0] != atomicMark {
		var o op
		rest, err := o.take(data)
		if err != nil { // the records are our own
			panic(err)
		}
		data, build.index = rest, len(b.txs)
		b.txs = append(b.txs, build.build(&o))
	}
	for len(data) > 0 {
		var a transfer
		a, data = takeTransfer(data[1:])
		b.atomic = append(b.atomic, a)
	}
	if height > 0 {
		b.parent = c.records[height-1].hash
	}
	b.seal(&c.cfg)
	b.roots = c.records[height].roots
	return b
}

// atomicMark starts a transfer in a block's record; no kind of op has it.
const atomicMark = 0xff

func (a *transfer) append(dst []byte) []byte {
	flag := byte(0)
	if a.export {
		flag = 1
	}
	dst = append(dst, atomicMark, flag)
	for _, v := range [...]uint64{uint64(a.account), a.nAVAX, a.nonce} {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

func takeTransfer(b []byte) (a transfer, rest []byte) {
	a.export = b[0] == 1
	b = b[1:]
	var account uint64
	for _, p := range [...]*uint64{&account, &a.nAVAX, &a.nonce} {
		v, n := binary.Uvarint(b)
		*p, b = v, b[n:]
	}
	a.account = uint32(account) // it was one
	return a, b
}
