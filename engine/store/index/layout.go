package index

// The tables of the index database: the first byte of each key. After it come
// four bytes, the edition of the table and the ordinal of the chain, and then the
// sort key:
//
//	key: u8 table | u8 edition | u24 chain | sort key
//
// A table that is made again, by other rules or since it was damaged, is made
// beside the old one, as its next edition; TableEditions says which one is served.
// The cursor, the editions and what contracts say of themselves have edition 0.
//
// Heights (u64), transaction and log indexes (u32) and items (u16) are
// big-endian. One with a ^ before it is stored inverted, so that a forward scan
// meets the newest row first. An address (addr, token, owner) has 20 bytes, a
// token's ID 32. Values marked with a codec are described in engine/index.
//
// But for the cursor, and what is written with it, every row says from which height
// on it is true, and is written once with the same bytes whenever its block is
// applied. Rows above the cursor are no part of the index yet, nor are those below its
// first block (TableEditions): readers pass them over. Rows are removed in two cases: those of an edition that was replaced, and
// those of blocks that were never accepted.
const (
	// TableChains has the ordinals of chains, which are counted from 1.
	//
	//	key:   0x10 | blockchain ID, 32 bytes (no ordinal before it)
	//	value: u32 ordinal
	TableChains = 0x10

	// TableCursor has one row: how far the chain is indexed.
	//
	//	sort key: none
	//	value:    cursor codec
	TableCursor = 0x11

	// TableBlocks has the headers of blocks.
	//
	//	sort key: height
	//	value:    header codec
	TableBlocks = 0x12

	// TableBlockHashes finds blocks by hash. A reader compares the whole hash.
	//
	//	sort key: first 16 bytes of the block's hash
	//	value:    height
	TableBlockHashes = 0x13

	// TableTxs has the transactions, each with its transfers and calls.
	//
	//	sort key: height | tx index
	//	value:    transaction codec
	TableTxs = 0x14

	// TableTxHashes finds transactions by hash. A reader compares the whole hash.
	//
	//	sort key: first 16 bytes of the transaction's hash
	//	value:    height | tx index
	TableTxHashes = 0x15

	// TableFailed lists the transactions that failed.
	//
	//	sort key: ^height | ^tx index
	//	value:    none
	TableFailed = 0x16

	// TableAddressTxs lists the transactions that an address has part in. A row says
	// by itself what a list shows of a small transaction, so that a page is one
	// stretch of rows; for a large one it is read from TableTxs.
	//
	//	sort key: addr | ^height | ^tx index
	//	value:    u8 roles | [part codec]
	TableAddressTxs = 0x17

	// TableAddressNFTs lists the ERC-721 transfers from or to an address.
	//
	//	sort key: addr | ^height | ^log index | ^item
	//	value:    u32 tx index
	TableAddressNFTs = 0x18

	// TableTokenTransfers lists the transfers of a token of any kind.
	//
	//	sort key: token | ^height | ^log index | ^item
	//	value:    u32 tx index
	TableTokenTransfers = 0x19

	// TableTokenBalances has the ERC-20 balances and their history: the first row
	// at or below a height tells the balance after that block.
	//
	//	sort key: addr | token | ^height
	//	value:    balance codec
	TableTokenBalances = 0x1a

	// TableOldNative had native balances until format 2, and is read where
	// TableNativeBalances was not made from all blocks yet. The balance before an
	// account's first change is at height 0.
	//
	//	sort key: addr | ^height
	//	value:    wei, big-endian without leading zeros
	TableOldNative = 0x1b

	// TableNFTOwners has the owners of ERC-721 tokens and their history.
	//
	//	sort key: token | ID | ^height
	//	value:    addr, 20 zero bytes = burnt
	TableNFTOwners = 0x1c

	// TableOwnedNFTs lists what an address may own, also what it owned once:
	// TableNFTOwners knows.
	//
	//	sort key: owner | token | ID
	//	value:    none
	TableOwnedNFTs = 0x1d

	// TableOldContracts had the creations of contracts, which nobody read. It is
	// removed when tables are made again.
	TableOldContracts = 0x1e

	// TableWarp has the unsigned warp messages that were sent.
	//
	//	sort key: height | tx index | log index
	//	value:    the message's bytes
	TableWarp = 0x1f

	// TableSeenTokens has the tokens that were ever moved.
	//
	//	sort key: token | u8 transfer kind
	//	value:    none
	TableSeenTokens = 0x20

	// TableSeenNFTs has the tokens with an ID, ERC-721 and ERC-1155, that were minted.
	//
	//	sort key: token | ID
	//	value:    u8 transfer kind
	TableSeenNFTs = 0x21

	// TableTokenMeta has what contracts say of themselves.
	//
	//	sort key: token
	//	value:    token codec
	TableTokenMeta = 0x22

	// TableTokenURIs has what contracts say of their tokens' IDs.
	//
	//	sort key: token | ID
	//	value:    the URI
	TableTokenURIs = 0x23

	// TableTokenHolders lists who held an ERC-20 token, by how much it was at most:
	// a row each time that an address' highest balance after a block gets longer.
	//
	//	sort key: token | u8 length of that balance in bytes, 1 to 32 | addr
	//	value:    height of the block
	TableTokenHolders = 0x24

	// TableStamps says when addresses were last seen. The row of an address is
	// written anew when it changes; the stamp before the height is kept beside the
	// one after it, for the case that the height is indexed again.
	//
	//	sort key: u8 edition | addr
	//	value:    u48 height | stamp | stamp before (codec of rollup, 9 bytes each)
	TableStamps = 0x25

	// TableBuckets has the metrics of the chain, the newest first. That of an open
	// bucket is written anew together with the cursor.
	//
	//	sort key: u8 edition | u8 interval | ^u32 number of the bucket
	//	value:    record codec of rollup
	TableBuckets = 0x26

	// TableRollup has one row: how far the metrics are made, and from which
	// edition of their tables on.
	//
	//	sort key: none
	//	value:    u8 version of the metrics' rules | u8 edition | state codec of rollup
	TableRollup = 0x27

	// TableTxHeads has what lists show of transactions, up to 16 of a block in a row:
	// their indexes divided by 16 are the same.
	//
	//	sort key: height | tx index of the first
	//	value:    heads codec
	TableTxHeads = 0x28

	// TableHoldings has the newest ERC-20 balances, each in the place of the one
	// before; TableTokenBalances has them all.
	//
	//	sort key: addr | token
	//	value:    u64 height | balance codec
	TableHoldings = 0x29

	// TableHolders is the same in the order of tokens.
	//
	//	sort key: token | addr
	//	value:    as TableHoldings
	TableHolders = 0x2a

	// TableNativeBalances has the native balances and their history: a row for each
	// block that may have changed the balance of an account.
	//
	//	sort key: addr | ^height
	//	value:    u8 length of wei | wei after the block | wei before it, both
	//	          big-endian without leading zeros
	TableNativeBalances = 0x38

	// TableUnevenTokens has the ERC-20 tokens whose events do not add up to what
	// their contracts say.
	//
	//	sort key: token
	//	value:    u64 height at which that turned out
	TableUnevenTokens = 0x30

	// TableSaidBalances has what contracts said of ERC-20 balances at a height.
	//
	//	sort key: token | addr | ^height
	//	value:    amount, big-endian without leading zeros
	TableSaidBalances = 0x31

	// TableTokenWork has one row: how far the contracts of tokens were asked.
	//
	//	sort key: none
	//	value:    work codec of engine/tokens
	TableTokenWork = 0x32

	// TableEditions says where the rows of a chain's tables lie.
	//
	//	sort key: u8 row
	//	value:    editions codec
	TableEditions = 0x3f

	// TablesEnd is above all tables of EVM chains.
	TablesEnd = 0x40
)

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

	// PrimaryBlockTimes finds blocks by time.
	//
	//	sort key: time | height
	//	value:    none
	PrimaryBlockTimes = 0x45

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

	// PrimaryAddressUTXOs lists the outputs of an address.
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
	//
	//	sort key: list | u8 1 = delegator | u8 status | time | place
	//	          list: u8 0, or 1 | node, or 2 | address, or 3 | subnet
	//	value:    ID of the transaction
	PlatformStakerLists = 0x54

	// PlatformStakerEnds lists active stakers that expect rewards by the time of their
	// end.
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

	// PlatformSubnetList lists them in the order of their creation.
	//
	//	sort key: time | place
	//	value:    ID
	PlatformSubnetList = 0x58

	// PlatformChains has the blockchains. The transaction has their genesis data.
	//
	//	sort key: ID
	//	value:    blockchain codec
	PlatformChains = 0x59

	// PlatformChainList lists them in the order of their creation.
	//
	//	sort key: u8 0, or 3 | subnet | time | place
	//	value:    ID
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

	// PlatformL1Lists lists the validators of L1s by the time of their creation.
	//
	//	sort key: list (u8 0, or 1 | node, or 3 | subnet) | u8 1 = removed or inactive | time | place | u32 number
	//	value:    validation ID
	PlatformL1Lists = 0x5d

	// PlatformSets has the members of validator sets as they are after the last block.
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

	// PrimaryEnd is above all tables of the primary network, of which those from 0x66 and
	// from 0x75 on are free.
	PrimaryEnd = 0x80
)
