package primary

import (
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	"quorate/httpapi/view"
)

// Networks returns the networks whose P-, X- and C-Chain are followed as those
// of the primary network. It is called for each request.
type Networks interface {
	// Primary returns that of the network called mainnet, fuji or testnet.
	Primary(name string) (Network, bool)
}

// Network is the primary network of one of the networks.
type Network interface {
	NetworkID() uint32
	// AVAX returns the ID of the network's coin as an asset.
	AVAX() chain.ID
	// Told returns what nodes answer about the network that is in no block.
	Told() *primary.Told
	// Chain returns one of its chains; false if that one is not followed.
	Chain(k primary.Kind) (Chain, bool)
}

// Chain is one chain of the primary network. All of it but View costs next to
// nothing.
type Chain interface {
	// ID returns the blockchain ID.
	ID() chain.ID
	// View returns what is known after the last indexed block. The caller closes it. That
	// of the P-Chain is a [PlatformView], that of the X-Chain's vertices a [VertexView]
	// and that of the X-Chain an [AssetView]. The error wraps primary.ErrEmpty when no
	// block is indexed yet.
	View() (View, error)
	// Cursor returns the last block that is indexed, ok false if there is none yet.
	Cursor() (height uint64, id chain.ID, ok bool)
	// Down, Syncing and Gaps are as those of [quorate/httpapi/evm.Chain].
	Down() error
	Syncing() (height uint64, behind bool)
	Gaps() (gaps []view.Gap, header string)
}

// View reads the rows of a chain of the primary network as they were after its
// block Tip, as *primary.View does. Lists yield their rows one by one, at most Limit
// of them and until take returns false, which leaves that row for the next page. They
// return the position to go on from, nil after the last row. It is used by one
// goroutine.
type View interface {
	Tip() chain.Head
	// First returns the height of the first block that is indexed.
	First() uint64
	// Block returns a block by its own ID, or that of its proposer's header.
	Block(id chain.ID) (*primary.BlockInfo, bool, error)
	BlockAt(height uint64) (*primary.BlockInfo, bool, error)
	Blocks(f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error)
	Tx(id chain.ID) (*primary.TxRow, bool, error)
	// Txs lists the transactions that any of the addresses has part in, or all if there
	// are none.
	Txs(addresses []address.Address, f primary.TimeRange, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error)
	// Output returns an output by its ID, also one that was spent.
	Output(id chain.ID) (*primary.Output, bool, error)
	// SpentOf returns outputs that a transaction made and that are spent: what it does not
	// return is found by its ID. asc is the order in which transactions are asked for.
	SpentOf(tx *primary.TxRow, asc bool) ([]*primary.Output, error)
	// BurnedDays yields what transactions have burned of an asset by days, as Days
	// does sums over stakers; known is false where the rows do not have it.
	BurnedDays(asset chain.ID, before uint64, take func(*primary.BurnedDay) bool) (known bool, err error)
	// Locked returns the amount of an asset in outputs that are locked beyond a time, in Unix
	// seconds; known is as for BurnedDays.
	Locked(asset chain.ID, after uint64) (amount uint64, known bool, err error)
	Outputs(addresses []address.Address, states []primary.OutputState, p primary.Page, take func(*primary.Output) (primary.Result, error)) (primary.Position, error)
	Close()
}

// PlatformView reads the P-Chain.
type PlatformView interface {
	View
	Subnets(p primary.Page, take func(*primary.Subnet) bool) (primary.Position, error)
	Subnet(id chain.ID) (*primary.Subnet, bool, error)
	Blockchains(p primary.Page, take func(*primary.Blockchain) bool) (primary.Position, error)
	Blockchain(id chain.ID) (*primary.Blockchain, bool, error)
	// Genesis returns the genesis bytes of a blockchain, which lists leave out.
	Genesis(blockchain chain.ID) ([]byte, error)
	Stakers(f *primary.StakerFilter, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error)
	// Staker returns a staker by its transaction.
	Staker(tx chain.ID) (*primary.Staker, bool, error)
	Rewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error)
	// PendingRewards lists those that stakers expect.
	PendingRewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error)
	L1Validators(f *primary.L1Filter, p primary.Page, take func(*primary.L1Validator) bool) (primary.Position, error)
	// L1Price returns what an active validator of an L1 pays after the last block, in nAVAX
	// a second; 0 if it is not known.
	L1Price() uint64
	// Totals returns the sums over the active stakers.
	Totals() (primary.Totals, error)
	// Time returns the chain's time in Unix seconds.
	Time() uint64
	// Exact reports whether all is known from the genesis on.
	Exact() bool
	// Days yields sums over the stakers of a subnet at the end of each day, the newest
	// first, from the day before a time on; zero is now.
	Days(subnet chain.ID, before uint64, take func(time uint64, s pchain.Sums) bool) error
	// Rewarded returns what was paid as rewards in an asset; known is as for BurnedDays.
	Rewarded(asset chain.ID) (amount uint64, known bool, err error)
	// GenesisSupply returns the AVAX that the network started with, and the part of it
	// that is not locked at the chain's time; known is false without the genesis.
	GenesisSupply() (all, unlocked uint64, known bool)
	// FeeDays yields what validators of L1s have paid, in the same way.
	FeeDays(f *pchain.FeeFilter, before uint64, take func(*pchain.FeeDay) bool) error
}

// VertexView reads the vertices of the X-Chain.
type VertexView interface {
	View
	// Vertices lists those of a height, or all if it is nil.
	Vertices(height *uint64, p primary.Page, take func(*primary.Vertex) bool) (primary.Position, error)
	Vertex(id chain.ID) (*primary.Vertex, bool, error)
}

// AssetView reads the blocks of the X-Chain and the vertices before them as one.
type AssetView interface {
	VertexView
	VertexAt(index uint64) (*primary.Vertex, bool, error)
	Asset(id chain.ID) (*xchain.Asset, bool, error)
	AssetTxs(asset chain.ID, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error)
}
