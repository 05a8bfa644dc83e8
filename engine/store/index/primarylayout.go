package index

// The tables of the primary network's chains: P, X, the vertices of X and C. Each has
// an ordinal of its own, given to an ID that stands for the chain's rows. All tables
// of a chain have one edition, which PrimaryEditions says; the rows of a further one
// are made beside it when the rules have changed.
//
// Accepted blocks are final, so rows may change in place: those of a commit become
// visible with its cursor, all at once.
//
// A place (place) is where a transaction stands: u64 height | u32 index in its block.
// Times are u64 Unix seconds. Values marked with a codec are in engine/primary and,
// those of the P- and the X-Chain's own tables, in engine/primary/pchain and xchain. What finds a row by an
// ID has its first 16 bytes, and readers compare the whole.
const (
	// PrimaryCursor has one row: how far the chain is indexed.
	//
	//	sort key: none
	//	value:    cursor codec
	PrimaryCursor = 0x40

	// PrimaryEditions has rows of edition 0: which edition is served, what edition is
	// being made beside it and by what rules, and what the rows of an edition follow from
	// beside blocks.
	//
	//	sort key: none | u8 1 | u8 2, u8 edition
	//	value:    editions codec | build codec | given codec
	PrimaryEditions = 0x41

	// PrimaryJournal has the rows of a block that is larger than a transaction, until
	// all are written.
	//
	//	sort key: u32 number
	//	value:    u32 length of the row's key | key | u8 1 = removed | value
	PrimaryJournal = 0x42

	// PrimaryBlocks has the blocks.
	//
	//	sort key: height
	//	value:    block codec
	PrimaryBlocks = 0x43

	// PrimaryBlockIDs finds blocks by their own ID and by that of the proposer's header.
	//
	//	sort key: first 16 bytes of the ID
	//	value:    height
	PrimaryBlockIDs = 0x44

	// XChainVertexTimes finds vertices by time. Blocks had rows of it before version 9 of
	// the P-Chain's rows, 6 of the X-Chain's and 4 of the C-Chain's.
	//
	//	sort key: time | u64 index + 1
	//	value:    none
	XChainVertexTimes = 0x45

	// PrimaryProposed lists the blocks that a node proposed.
	//
	//	sort key: node | height
	//	value:    none
	PrimaryProposed = 0x46

	// PrimaryTxs has the transactions.
	//
	//	sort key: place
	//	value:    transaction codec
	PrimaryTxs = 0x47

	// PrimaryTxIDs finds transactions by ID.
	//
	//	sort key: first 16 bytes of the ID
	//	value:    place
	PrimaryTxIDs = 0x48

	// PrimaryAddressTxs lists the transactions that spend from an address or pay to it.
	//
	//	sort key: address | place
	//	value:    none
	PrimaryAddressTxs = 0x49

	// PrimaryUTXOs has all outputs, those that are spent too.
	//
	//	sort key: ID of the UTXO
	//	value:    output codec
	PrimaryUTXOs = 0x4a

	// PrimaryAddressUTXOs lists the outputs of an address. Lists of those that are unspent
	// or staked are live: see PrimaryTrees.
	//
	//	sort key: address | u8 state (0 unspent, 1 staked, 2 spent) | place | u32 index
	//	value:    ID of the UTXO
	PrimaryAddressUTXOs = 0x4b

	// PlatformState has what the P-Chain's state has once.
	//
	//	sort key: u8 row
	//	value:    codec of that row
	PlatformState = 0x50

	// PlatformStakers has validators and delegators of limited time, also ended ones.
	//
	//	sort key: ID of the transaction that added it
	//	value:    staker codec
	PlatformStakers = 0x51

	// PlatformQueue has the pending and the current stakers in the order in which they
	// are moved next.
	//
	//	sort key: u8 queue (0 pending, 1 current) | time | u8 priority | ID of the transaction
	//	value:    none
	PlatformQueue = 0x52

	// PlatformNodes finds the pending and the current validator by node.
	//
	//	sort key: subnet | node | u8 queue
	//	value:    ID of the transaction
	PlatformNodes = 0x53

	// PlatformStakerLists lists stakers by the time of their start.
	// Lists of those that are pending or active are live, and that of the validators of a
	// subnet of any status, whose rows change: see PrimaryTrees.
	//
	//	sort key: list | u8 1 = delegator | u8 status, 0 of any | time | place
	//	          list: u8 0, or 1 | node, or 2 | address, or 3 | subnet
	//	value:    ID of the transaction; of any status in a list of a subnet behind it the
	//	          row of PlatformStakers
	PlatformStakerLists = 0x54

	// PlatformStakerEnds lists active stakers that expect rewards by the time of their
	// end. Its lists are live: see PrimaryTrees.
	//
	//	sort key: list (as before, 1 and 2 only) | time | place | u8 1 = share of delegators' rewards
	//	value:    ID of the transaction
	PlatformStakerEnds = 0x55

	// PlatformRewards lists paid rewards.
	//
	//	sort key: list (as before, 1 and 2 only) | time | place of the transaction that paid | u32 output
	//	value:    reward codec
	PlatformRewards = 0x56

	// PlatformSubnets has the subnets.
	//
	//	sort key: ID
	//	value:    subnet codec
	PlatformSubnets = 0x57

	// PlatformSubnetList lists them in the order of their creation. The supply of a row is
	// that of when it was written.
	//
	//	sort key: time | place
	//	value:    ID | row of PlatformSubnets
	PlatformSubnetList = 0x58

	// PlatformChains has the blockchains. The transaction has their genesis data.
	//
	//	sort key: ID
	//	value:    blockchain codec
	PlatformChains = 0x59

	// PlatformChainList lists them in the order of their creation.
	//
	//	sort key: u8 0, or 3 | subnet | time | place
	//	value:    ID | row of PlatformChains
	PlatformChainList = 0x5a

	// PlatformL1 has the validators of L1s, also removed ones.
	//
	//	sort key: validation ID
	//	value:    L1 validator codec
	PlatformL1 = 0x5b

	// PlatformL1Queue has the active ones in the order in which their funds end.
	//
	//	sort key: u64 fees that have accrued then | validation ID
	//	value:    none
	PlatformL1Queue = 0x5c

	// PlatformL1Lists lists the validators of L1s by the time of their creation. Its lists
	// are live: see PrimaryTrees.
	//
	//	sort key: list (u8 0, or 1 | node, or 3 | subnet) | u8 1 = removed or inactive | time | place | u32 number
	//	value:    validation ID
	PlatformL1Lists = 0x5d

	// PlatformSets has the members of validator sets as they are after the last block. The
	// list of a subnet is live: see PrimaryTrees.
	//
	//	sort key: subnet | node or validation ID
	//	value:    member codec
	PlatformSets = 0x5e

	// PlatformSetChanges has how they were changed.
	//
	//	sort key: subnet | height
	//	value:    for each member that the block changed: what it was before
	PlatformSetChanges = 0x5f

	// XChainState has one row: whether the stop vertex is behind.
	//
	//	sort key: none
	//	value:    state codec of engine/primary/xchain
	XChainState = 0x60

	// XChainAssets has the assets of the X-Chain.
	//
	//	sort key: ID
	//	value:    asset codec of engine/primary/xchain
	XChainAssets = 0x61

	// XChainAssetTxs lists the transactions that create or move an asset.
	//
	//	sort key: ID of the asset | place
	//	value:    none
	XChainAssetTxs = 0x62

	// XChainVertices has the vertices, by their index in the order of acceptance.
	//
	//	sort key: u64 index
	//	value:    vertex codec of engine/primary/xchain
	XChainVertices = 0x63

	// XChainVertexHeights finds vertices by height, of which many may have the same.
	//
	//	sort key: height | u64 index
	//	value:    none
	XChainVertexHeights = 0x64

	// XChainVertexIDs finds vertices by ID.
	//
	//	sort key: first 16 bytes of the ID
	//	value:    u64 index
	XChainVertexIDs = 0x65

	// PlatformSums has sums over the active stakers of a subnet, or the validators of an
	// L1 that pay, after the last block.
	//
	//	sort key: subnet
	//	value:    sums codec
	PlatformSums = 0x70

	// PlatformDays has them as they were after the last block of a day that changed them.
	//
	//	sort key: subnet | u64 day, counted from 1970
	//	value:    sums codec
	PlatformDays = 0x71

	// PlatformSetPoints has validator sets whole, so that none is far from one.
	//
	//	sort key: u8 0 | subnet, or u8 1 | subnet | height | u16 number
	//	value:    the subnet's mark, or members as they were after the block
	PlatformSetPoints = 0x72

	// PlatformFees has who pays the fees of validators of L1s, after the last block.
	//
	//	sort key: of all u8 0, or u8 1 | node, or 2 | subnet, or 3 | validation ID
	//	value:    payers codec
	PlatformFees = 0x73

	// PlatformFeeDays has them as they were after the last block of a day that changed
	// them, and what one validator would have paid so far.
	//
	//	sort key: as in PlatformFees | u64 day, or u8 4 | u64 day
	//	value:    payers codec, or u64 nAVAX
	PlatformFeeDays = 0x74

	// PrimarySpent has outputs that were spent a second time, by the place of the
	// transaction that made them: a page of transactions shows what became of all of
	// theirs. Those of a genesis and of before the first block are not in it.
	//
	//	sort key: place | u32 index | first 4 bytes of the transaction's ID in the reference
	//	value:    output codec
	PrimarySpent = 0x66

	// PrimaryTrees has the nodes of live lists: those of the tables before whose rows come,
	// go or change. Nobody iterates over it, so what was removed there costs nothing.
	// Before version 8 of the P-Chain's rows and version 5 of the X-Chain's those lists were
	// rows of their tables.
	//
	//	sort key: u8 table | what sort keys of the list begin with there | u32 number
	//	value:    node codec
	PrimaryTrees = 0x67

	// PrimaryEnd is above all tables of the primary network, of which those from 0x68 and
	// from 0x79 on are free.
	PrimaryEnd = 0x80
)
