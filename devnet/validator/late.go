package validator

import (
	"time"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p/wire"
)

// Codes of the C-Chain once it executes blocks after their acceptance.
const (
	codeLateParse       = 2
	codeLateUnknown     = 3 // never sent, or its block is not executed yet
	codeLateNotAccepted = 4
)

// SwapTime is for how long requests to the C-Chain wait while a node that has nothing to
// wait for itself replaces its software at Helicon.
const SwapTime = 14 * time.Millisecond

// CChain is the C-Chain of a network in which Helicon activates.
type CChain interface {
	// Swapped reports whether the last block was accepted that is executed before its
	// acceptance, and when; the zero time if that was before the start.
	Swapped() (at time.Time, ok bool)
	// Activated reports whether Helicon is active by the time of the last block.
	Activated() bool
	// Waits reports whether a message is sent in a block that is accepted and not executed.
	Waits(message chain.ID) bool
	// Accepted reports whether a block is accepted.
	Accepted(block chain.ID) bool
}

// late reports whether a chain executes blocks after their acceptance.
func (s *signer) late(asked chain.ID) bool {
	if s.cChain == nil || asked != s.world.CChainID() {
		return false
	}
	_, ok := s.cChain.Swapped()
	return ok
}

// attests reports whether a message says that an accepted block is accepted.
func (s *signer) attests(u *warp.Unsigned) bool {
	block, ok := hashPayload(u.Payload)
	return ok && u.NetworkID == world.NetworkID && s.cChain.Accepted(block)
}

func refuseLate(u *warp.Unsigned) Reply {
	if _, err := warp.ParseAddressedCall(u.Payload); err == nil {
		return refuse(codeLateUnknown, "unknown *payload.AddressedCall message")
	}
	if _, ok := hashPayload(u.Payload); ok {
		return refuse(codeLateNotAccepted, "block not marked as accepted: getting block: not found")
	}
	return refuse(codeLateParse, "parsing payload: unknown codec version")
}

// parked returns for how long a request to a chain has to wait.
func (v *Validator) parked(asked chain.ID) time.Duration {
	if !v.signer.late(asked) {
		return 0
	}
	at, _ := v.cfg.CChain.Swapped()
	return time.Until(at.Add(v.cfg.SwapTime))
}

// release is the version that the validator runs, and when its last upgrade is or was.
func (v *Validator) release() (program wire.Version, upgrade uint64) {
	if v.cfg.CChain == nil {
		return Current(), upgradeUnix
	}
	return wire.Version{Name: "avalanchego", Major: 1, Minor: 15}, uint64(v.cfg.Helicon.Unix()) // after 1970
}

// compatible reports whether a client's version is new enough, and of no later major.
func (v *Validator) compatible(of wire.Version) bool {
	least := uint32(14) // the minimum is 1.14.0
	if v.cfg.CChain != nil && v.cfg.CChain.Activated() {
		least = 15
	}
	return of.Major == Current().Major && of.Minor >= least
}
