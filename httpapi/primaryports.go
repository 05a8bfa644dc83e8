package httpapi

import (
	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/view"
)

// PrimaryNetworks returns the networks whose P-, X- and C-Chain are followed as those
// of the primary network. It is called for each request.
type PrimaryNetworks interface {
	// Primary returns that of the network called mainnet, fuji or testnet.
	Primary(name string) (PrimaryNetwork, bool)
}

// PrimaryNetwork is the primary network of one of the networks.
type PrimaryNetwork interface {
	NetworkID() uint32
	// AVAX returns the ID of the network's coin as an asset.
	AVAX() chain.ID
	// Chain returns one of its chains; false if that one is not followed.
	Chain(k primary.Kind) (PrimaryChain, bool)
	// View returns what is known after the last indexed blocks. The caller closes it.
	View() (PrimaryView, error)
}

// PrimaryChain is one chain of the primary network. All of it costs next to nothing.
type PrimaryChain interface {
	// ID returns the blockchain ID.
	ID() chain.ID
	// Cursor returns the last block that is indexed, ok false if there is none yet.
	Cursor() (height uint64, id chain.ID, ok bool)
	// Down, Syncing and Gaps are as those of [Chain].
	Down() error
	Syncing() (height uint64, behind bool)
	Gaps() (gaps []view.Gap, header string)
}

// PrimaryView reads the rows of the primary network as they are after the blocks that
// Tip returns. Lists hand over their rows one by one, at most Limit of them and until
// take returns false, and return the position to go on from, nil after the last row of
// the list. Rows are good until take returns. It is used by one goroutine.
type PrimaryView interface {
	// Tip returns the last indexed block of a chain, ok false if there is none.
	Tip(k primary.Kind) (height uint64, id chain.ID, ok bool)
	Subnets(p primary.Page, take func(*primary.Subnet) bool) (primary.Position, error)
	// Genesis returns the genesis bytes of a blockchain, which lists leave out.
	Genesis(blockchain chain.ID) ([]byte, error)
	Stakers(f *primary.StakerFilter, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error)
	Rewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error)
	Blocks(k primary.Kind, f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error)
	// Vertices lists those of a height, or all if it is nil.
	Vertices(height *uint64, p primary.Page, take func(*primary.Vertex) bool) (primary.Position, error)
	Close()
}
