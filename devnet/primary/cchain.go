package primary

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"sync"

	"quorate/devnet/evmchain"
	"quorate/engine/chain"
)

// core makes the containers of the C-Chain, whose blocks others make.
type core struct {
	mu   sync.Mutex // guards line, before that of the chain
	evm  *evmchain.Chain
	line line
}

// Attach has [Chain.Core] return the containers of the C-Chain's blocks. It must come
// before everything else.
func (c *Chain) Attach(evm *evmchain.Chain) {
	c.core = &core{evm: evm, line: line{chain: c.w.CChainID()}}
}

// Core returns the C-Chain's containers up to the last block by now: that at index i
// has height i+1. There are none without [Chain.Attach]. The first call makes all.
// The slice must not be changed.
func (c *Chain) Core() []*Container {
	k := c.core
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.line.all) == 0 {
		first := k.evm.Hash(0)
		k.line.parent, k.line.outer = chain.ID(first), chain.ID(first)
		k.line.inner = k.evm.Time(0) / 1000
	}
	for height := uint64(len(k.line.all) + 1); height <= k.evm.Tip(); height++ {
		c.wrapCore(height)
	}
	all := k.line.all
	return all[:len(all):len(all)]
}

// wrapCore adds the container of a block. Who proposed it follows from its hash.
func (c *Chain) wrapCore(height uint64) {
	k := c.core
	raw := k.evm.AppendConsensus(nil, height)
	at := k.evm.Time(height) / 1000
	platform := c.Platform()
	known := sort.Search(len(platform), func(i int) bool { return platform[i].Time > at })
	pick := sha256.Sum256(raw)
	signer := c.w.Validators()[int(pick[0])%max(c.w.Params().Validators, 1)]
	if pick[1] < 8 {
		signer = nil
	}
	if err := k.line.wrap(c.forks, raw, at, at, k.line.lagging(uint64(known)), false, signer); err != nil {
		panic(fmt.Sprintf("primary: block %d of the C-Chain: %v", height, err)) // all lengths fit
	}
	last := k.line.all[len(k.line.all)-1]
	last.BlockID = chain.ID(k.evm.Hash(height))
	k.line.parent = last.BlockID
	if last.header != nil {
		last.header.Block = nil
	}
	last.Block, last.load = nil, func() []byte { return k.evm.AppendConsensus(nil, height) }
}
