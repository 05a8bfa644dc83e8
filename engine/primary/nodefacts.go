package primary

import "quorate/engine/chain"

// Told is what nodes answer about their network that is in no block, as far as they do. Its
// zero value knows nothing. It does not change.
type Told struct {
	// Uptimes are for which part of its time a validator of the primary network was seen
	// by the node that was asked, of 1,000,000.
	Uptimes map[chain.NodeID]uint32
	// Versions are the programs that nodes run, such as avalanchego/1.14.2.
	Versions map[chain.NodeID]string
	// Shares are the stakes of validators of the primary network by version, the largest
	// first. Those whose version is not known are not among them.
	Shares []VersionShare
	// Supply is that of AVAX, and Staked the part of it that validators and delegators
	// had staked at that time; both are zero where they are not known.
	Supply, Staked uint64
}

// VersionShare is the stake of who runs a version, without delegations.
type VersionShare struct {
	Version    string
	Validators int
	Staked     uint64 // nAVAX
}
