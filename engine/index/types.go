package index

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// TransferKind is the standard that a token follows. Values are stored.
type TransferKind uint8

// The standards.
const (
	ERC20   TransferKind = 1
	ERC721  TransferKind = 2
	ERC1155 TransferKind = 3
)

// String returns the standard's name.
func (k TransferKind) String() string {
	switch k {
	case ERC20:
		return "ERC-20"
	case ERC721:
		return "ERC-721"
	case ERC1155:
		return "ERC-1155"
	}
	return "unknown"
}

// Transfer is a movement of tokens.
type Transfer struct {
	LogIndex uint32 // in the block
	Item     uint16 // in an ERC-1155 batch, else 0
	Kind     TransferKind
	Token    evm.Address
	From, To evm.Address // zero: minted or burnt
	ID       uint256.Int // of ERC-721 and ERC-1155
	Value    uint256.Int // of ERC-20 and ERC-1155; 1 for ERC-721
}

// BlockRef is what a transaction tells of its block.
type BlockRef struct {
	Number    uint64
	Hash      evm.Hash
	TimeMilli uint64       // Unix milliseconds
	BaseFee   *uint256.Int // nil before EIP-1559
}

// Header is a block without its transactions.
type Header struct {
	BlockRef
	Parent            evm.Hash
	GasLimit, GasUsed uint64
	Miner             evm.Address
	Size              uint64 // bytes of the encoded block
	TxCount           uint32
	Traced            bool // the calls of its transactions are known
	// Fees are what was paid for the gas of its transactions. Nil in rows of old.
	Fees *uint256.Int
	// GasCost is the block gas cost of its header, zero where headers have none. Nil
	// in rows of old, and of a block whose header is not known.
	GasCost *uint256.Int
	// Reserved is that of [evm.Block].
	Reserved *evm.Reserved
}

// Tx is a stored transaction. It has no logs; transfers are what they tell.
type Tx struct {
	Block BlockRef
	evm.Tx
	Transfers []Transfer
	Traced    bool // its calls are known

	// Checked: the capitals of the text of the sender and of the receiver, or the
	// contract that was made, are known.
	Checked                bool
	SenderText, OthersText evm.Capitals
}

// TxRef names a transaction.
type TxRef struct {
	Block BlockRef
	Hash  evm.Hash
	Index uint32 // in the block
}

// AddressedTransfer is a transfer with its transaction.
type AddressedTransfer struct {
	Tx TxRef
	Transfer
}

// TokenBalance is what an address holds of an ERC-20 token.
type TokenBalance struct {
	Token  evm.Address
	Amount uint256.Int
	// Doubtful: the token's transfers do not tell the balance. The token has moved
	// more than there was, or is one of [Chain.Uneven].
	Doubtful bool
	// Said: the amount is what the contract stated after the block at SaidAt, the
	// last time that it was asked.
	Said   bool
	SaidAt uint64
}

// NFT is an ERC-721 or ERC-1155 token.
type NFT struct {
	Token evm.Address
	ID    uint256.Int
}

// Position returns the position behind a token in a list of [View.NFTs].
func (n *NFT) Position() []byte { return key(nil).addr(&n.Token).word(n.ID.Bytes32()) }

// SeenToken is a token that was moved.
type SeenToken struct {
	Token evm.Address
	Kind  TransferKind
}

// TokenMeta is what a token's contract says of itself.
type TokenMeta struct {
	Kind         TransferKind // 0: it does not say
	Name, Symbol string
	Decimals     uint8
	HasDecimals  bool
}

// Page says which part of a list to read.
type Page struct {
	// After is the position that the page before ended with; nil is the beginning.
	// It is good for the same list and direction only.
	After []byte
	Limit int // rows at most; below 1 gives none
	// Ascending lists are oldest first.
	Ascending bool
	// From and To bound the heights, To is exclusive; MaxUint64 is no bound.
	From, To uint64
}

// Role is the part that an address has in a transaction: a set of the bits below.
type Role uint8

// Parts. Values are stored.
const (
	RoleSender Role = 1 << iota
	RoleReceiver
	RoleCreated
	RoleERC20
	RoleERC721
	RoleERC1155
	RoleInternal
)
