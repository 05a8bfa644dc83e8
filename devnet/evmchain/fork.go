package evmchain

import (
	"maps"
	"slices"

	"quorate/engine/chain/evm"
)

// leastForked is how many transactions a forked block has at least.
const leastForked = 3

// Fork returns a chain that is this one up to a height, which must exist, and has
// n blocks after it that this one never accepts. What happens in them is of the
// same kinds, and depends on the height and n. It costs about what the chain's
// state takes: it is for chains of tests.
func (c *Chain) Fork(height uint64, n int) *Chain {
	defer c.read()()
	f := &Chain{
		cfg: c.cfg, built: true, tip: make(chan struct{}),
		ledger:  c.ledger.at(uint32(height)),                                    // bounded
		records: c.records[: height+1 : height+1], executed: height + uint64(n), // not negative
		byHash: maps.Clone(c.byHash), txs: maps.Clone(c.txs),
	}
	if c.cfg.StateProofs {
		f.states = c.states[: height+1 : height+1]
	}
	maps.DeleteFunc(f.byHash, func(_ uint64, at uint32) bool { return uint64(at) > height })
	maps.DeleteFunc(f.txs, func(_, at uint64) bool { return at>>16 > height })
	f.plan, f.stream = newPlanner(&f.cfg, f.ledger), c.streamAt(height)
	f.plan.warps, f.plan.variant, f.plan.least = c.plan.warps, height+uint64(n), leastForked // not negative
	for range n {
		f.grow()
	}
	return f
}

// at is the ledger as it was after a block. It shares what never changes.
func (l *ledger) at(height uint32) *ledger {
	f := &ledger{
		keys:     l.keys.Clone(),
		accounts: slices.Clone(l.accounts), states: make([][]entry, len(l.states)), byAddr: maps.Clone(l.byAddr),
		tokens: make(map[tokenKey][]tokenEntry, len(l.tokens)), nfts: make(map[nftKey][]ownerEntry, len(l.nfts)),
		minted: l.minted, factors: before(l.factors, height, func(e numberEntry) uint32 { return e.height }),
	}
	if l.dirty != nil {
		f.dirty, f.touches = make(map[uint32]struct{}), make(map[uint32][]numberEntry, len(l.touches))
	}
	for i, list := range l.touches {
		f.touches[i] = before(list, height, func(e numberEntry) uint32 { return e.height })
	}
	for i, list := range l.revisions {
		f.revisions[i] = before(list, height, func(e numberEntry) uint32 { return e.height })
	}
	for i, list := range l.states {
		f.states[i] = before(list, height, func(e entry) uint32 { return e.height })
	}
	for key, list := range l.tokens {
		f.tokens[key] = before(list, height, func(e tokenEntry) uint32 { return e.height })
	}
	for key, list := range l.nfts {
		f.nfts[key] = before(list, height, func(e ownerEntry) uint32 { return e.height })
	}
	return f
}

// before is the part of a history up to a height. What is appended to it is
// appended to a copy.
func before[E any](list []E, height uint32, of func(E) uint32) []E {
	n := after(list, height, of)
	return list[:n:n]
}

// Where returns the height of the block that a transaction is in if it is there at
// all: another one's hash may begin in the same way.
func (c *Chain) Where(hash evm.Hash) (uint64, bool) {
	defer c.read()()
	at, ok := c.txs[short(hash)]
	return at >> 16, ok
}
