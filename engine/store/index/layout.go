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
	// 0x03 is the whole key of a row without a value that former versions wrote.

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

	// TableAddressTxs lists the transactions that an address has part in, those of a
	// block whose indexes divided by 256 are the same in one row. It says by itself what
	// a list shows of a small transaction, so that a page is one stretch of rows; a
	// large one is read from TableTxs.
	//
	//	sort key: addr | ^height | ^tx index of the first
	//	value:    parts codec
	//
	// Until version 3 of the table each row had one transaction.
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

	// TableWarpIDs finds warp messages by ID. A reader compares the whole ID.
	//
	//	sort key: first 16 bytes of the message's ID | height | tx index | log index
	//	value:    none
	TableWarpIDs = 0x3e

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
	// rewritten when it changes; the stamp before the height is kept beside the
	// one after it, for the case that the height is indexed again.
	//
	//	sort key: u8 edition | addr
	//	value:    u48 height | stamp | stamp before (codec of rollup, 9 bytes each)
	TableStamps = 0x25

	// TableBuckets has the metrics of the chain, the newest first. That of an open
	// bucket is rewritten together with the cursor.
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

	// TableHours says how many addresses were last seen in an hour, by their stamps. A
	// row is rewritten together with the cursor. At hour 0 are those ever seen.
	//
	//	sort key: ^u32 hour, as stamps have it
	//	value:    counts codec of rollup
	TableHours = 0x3c

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

	// TableTokenNames finds tokens by what TableTokenMeta has: by their names and by their
	// symbols, in lower case and cut to 32 bytes. Readers look the token up, as a row may
	// be of an older name. The row 0xff, which begins no text, says that all tokens are
	// there; without it they are added when the chain is opened.
	//
	//	sort key: name or symbol | 0x00 | token, or 0xff
	//	value:    none; of the row 0xff: u8 1
	TableTokenNames = 0x3d

	// TableEditions says where the rows of a chain's tables lie.
	//
	//	sort key: u8 row
	//	value:    editions codec
	TableEditions = 0x3f

	// TablesEnd is above all tables of EVM chains.
	TablesEnd = 0x40
)
