package devnet

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"quorate/devnet/evmchain"
	"quorate/devnet/evmrpc"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// What EVM chains say of their software: that of nodes which know Helicon, or not.
const (
	clientVersion        = "v1.14.2"
	heliconClientVersion = "v1.15.0"
)

// quietBlocks is how many blocks' time before the others the histories of L1s
// with irregular times end.
const quietBlocks = 100

// EVMFault is a way in which an EVM chain of the node API misbehaves.
type EVMFault = evmrpc.Fault

// The ways to misbehave, for [Devnet.SetEVMFault].
const (
	EVMFaultNone            = evmrpc.FaultNone
	EVMFaultWrongParent     = evmrpc.FaultWrongParent
	EVMFaultTruncated       = evmrpc.FaultTruncated
	EVMFaultHuge            = evmrpc.FaultHuge
	EVMFaultMissingReceipts = evmrpc.FaultMissingReceipts
	EVMFaultOtherID         = evmrpc.FaultOtherID
	EVMFaultSilence         = evmrpc.FaultSilence
	EVMFaultBackwards       = evmrpc.FaultBackwards
	EVMFaultNoDebug         = evmrpc.FaultNoDebug
	EVMFaultBusy            = evmrpc.FaultBusy
)

// addChains makes the C-Chain and the L1s' chains.
func (d *Devnet) addChains() error {
	d.chains = make(map[chain.ID]*evmchain.Chain)
	number, err := strconv.ParseUint(world.EVMChainID, 10, 64)
	if err != nil {
		return fmt.Errorf("EVM chain ID: %w", err)
	}
	if err := d.addChain(0, number, d.world.Message); err != nil {
		return err
	}
	for i, l := range d.world.L1s() {
		message := func(i uint64) *warp.Unsigned { return d.world.L1Message(l, i) }
		if err := d.addChain(1+i, world.L1EVMChainID+uint64(i), message); err != nil { // not negative
			return err
		}
	}
	return nil
}

// addChain makes the chain with a place in the plan of interchain messages; the first
// is the C-Chain.
func (d *Devnet) addChain(place int, number uint64, message func(i uint64) *warp.Unsigned) error {
	id, c := d.world.Traffic().Chains[place], place == 0
	emitted := d.world.Emitted()
	end, interval := d.world.GenesisTime(), d.cfg.HistoryInterval
	if d.cfg.Helicon.IsZero() && !d.cfg.Start.IsZero() {
		end = end.Add(-interval) // such a chain has a gap there before it grows
	}
	if d.cfg.IrregularTimes && !c {
		interval = max(interval*4/5, time.Millisecond)
		end = end.Add(-quietBlocks * interval)
	}
	evmChain, err := evmchain.New(evmchain.Config{
		ID: id, EVMChainID: number, NetworkID: world.NetworkID, Atomic: c,
		PeerChain: d.world.XChainID(), AssetID: d.world.AssetID(), Seed: d.world.ChainSeed(id),
		Blocks: uint64(d.cfg.Blocks), TxsPerBlock: d.cfg.TxsPerBlock, // validated: not negative
		End: end, HistoryInterval: interval, IrregularTimes: d.cfg.IrregularTimes, BlockInterval: d.cfg.BlockInterval,
		StateProofs: d.cfg.StateProofs, Helicon: d.cfg.Helicon, ExecutionDelay: d.cfg.ExecutionDelay,
		Emitter: d.world.Emitter(), Message: message,
		// The upper half: those in the facts file stay unknown to whoever reads blocks.
		FirstMessage: emitted / 2, Messages: emitted,
		Traffic: d.world.Traffic(), TrafficIndex: place,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	d.chains[id] = evmChain
	return nil
}

// grow lets the EVM chains accept blocks until ctx ends.
func (d *Devnet) grow(ctx context.Context) {
	if d.cfg.BlockInterval == 0 {
		return
	}
	tick := time.NewTicker(d.cfg.BlockInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if d.decided() {
				d.growEVM()
				d.grew(Growth{Blocks: 1})
			}
		}
	}
}

// decided reports whether the validators accept the next block of the C-Chain, and with it
// those of the others.
func (d *Devnet) decided() bool {
	if !d.cfg.NoSybilProtection {
		return true
	}
	id, all := d.world.CChainID(), true
	height := d.chains[id].Tip() + 1
	for _, v := range d.validators {
		all = v.Poll(id, height) && all
	}
	return all
}

// growEVM has each EVM chain accept a block.
func (d *Devnet) growEVM() {
	for _, c := range d.chains {
		c.Advance()
	}
}

// goOn has the chains grow as often as they had before.
func (d *Devnet) goOn(from Growth) {
	for range from.Blocks {
		d.growEVM()
	}
	for range from.Heights {
		d.growPrimary()
	}
	d.grown = from
	d.grown.Helicon = d.cfg.Helicon
}

// grew adds to how far the chains have come, and says it.
func (d *Devnet) grew(by Growth) {
	if d.cfg.OnGrowth == nil {
		return
	}
	d.growing.Lock()
	defer d.growing.Unlock()
	d.grown.Blocks += by.Blocks
	d.grown.Heights += by.Heights
	d.cfg.OnGrowth(d.grown)
}

// EVMChain returns the model of an EVM chain, of the C-Chain or an L1's, or nil.
// [evmchain.Chain.Advance] makes it grow at once.
func (d *Devnet) EVMChain(id chain.ID) *evmchain.Chain { return d.chains[id] }

// SetEVMFault makes all node APIs misbehave for an EVM chain from now on, or
// behave again. It does nothing for a chain that does not exist. Single nodes are
// told by [Devnet.Node].
func (d *Devnet) SetEVMFault(id chain.ID, fault EVMFault) {
	for _, n := range d.nodes {
		if h := n.EVM(id); h != nil {
			h.SetFault(fault)
		}
	}
}

// SetEVMTraits changes what all node APIs can do for an EVM chain. It does nothing
// for a chain that does not exist.
func (d *Devnet) SetEVMTraits(id chain.ID, t evmrpc.Traits) {
	for _, n := range d.nodes {
		if h := n.EVM(id); h != nil {
			h.SetTraits(t)
		}
	}
}
