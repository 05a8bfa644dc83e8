package index

// The tables of what adds up over the blocks of an EVM chain and is kept with its
// history: a row for each block that changed a value.
const (
	// TableTxCounts has how many transactions there are up to each block, from the first
	// block of the table on.
	//
	//	sort key: ^height
	//	value:    uv number
	TableTxCounts = 0x2b

	// TableItems has the balances of ERC-1155 tokens and their history. The zero address
	// has what there is of a token: of ERC-1155 how many, minted less burnt, of ERC-721
	// the owner as a number, zero if it was burnt.
	//
	//	sort key: addr | token | ID | ^height
	//	value:    u8 flags (2 ERC-721; 1 doubtful, until version 2) | amount, big-endian without leading zeros
	TableItems = 0x2c

	// TableNFTHolders has how many tokens of a contract an address holds, ERC-721 and
	// IDs of ERC-1155 together, and their history.
	//
	//	sort key: token | addr | ^height
	//	value:    uv number
	TableNFTHolders = 0x2d

	// TableCollections has how many hold tokens of such a contract, how many of its tokens
	// there are, and whether its transfers tell them, and their history.
	//
	//	sort key: token | ^height
	//	value:    uv holders | uv tokens | uv 1 if a transfer cannot have been (from version 2 on)
	TableCollections = 0x2e
)
