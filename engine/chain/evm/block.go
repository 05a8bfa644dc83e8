package evm

import (
	"unsafe"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
)

// Head names an accepted block.
type Head struct {
	Number    uint64
	Hash      Hash
	TimeMilli uint64 // Unix milliseconds
}

// Block is an accepted block with all that happened in it.
type Block struct {
	Number       uint64
	Hash, Parent Hash
	// TimeMilli is the block's time in Unix milliseconds. Chains without
	// milliseconds have whole seconds. It never falls from block to block.
	TimeMilli uint64
	GasLimit  uint64
	// GasUsed is the gas of the block's receipts, and BaseFee what it paid for each, in
	// wei; nil before EIP-1559.
	GasUsed uint64
	BaseFee *uint256.Int
	// Reserved is what the header sets aside for a block that was accepted before it was
	// executed; nil where the header has what was executed.
	Reserved *Reserved
	Miner    Address
	Size     uint64 // bytes of the encoded block
	Txs      []Tx
	// Atomic are the imports and exports of the C-Chain: they move AVAX outside
	// all transactions.
	Atomic []Atomic
	// Traced reports whether the calls of all transactions are known. Without the
	// node's debug API they are not.
	Traced bool
	// Balances are the native balances after the block of all accounts whose
	// balance may have changed in it, each account once. Nil if not known: without
	// the debug API, and of the genesis block.
	Balances []Balance

	// Header is the header in its consensus encoding, RLP: Hash is its Keccak-256.
	// Nil only if Foreign is not.
	Header []byte
	// ExtData are the C-Chain's atomic transactions as its block holds them. Nil
	// on other chains, and where there are none.
	ExtData []byte
	// Foreign is what the node answered, JSON, for a block with members or
	// transactions of types that are not known here: such a block cannot be checked.
	Foreign []byte
	// Unverified says why the block was not checked against its hash; empty if it was.
	Unverified string
}

// Head names the block.
func (b *Block) Head() Head { return Head{Number: b.Number, Hash: b.Hash, TimeMilli: b.TimeMilli} }

// Link returns what is common to the blocks of all kinds of chains.
func (b *Block) Link() chain.Link {
	return chain.Link{
		Head:   chain.Head{Height: b.Number, ID: chain.ID(b.Hash), TimeMilli: b.TimeMilli},
		Parent: chain.ID(b.Parent), Orphan: b.Number == 0, Txs: len(b.Txs),
	}
}

// Memory estimates the bytes that the block takes in memory.
func (b *Block) Memory() int {
	n := int(unsafe.Sizeof(*b)) + len(b.Balances)*int(unsafe.Sizeof(Balance{})) + len(b.Header) + len(b.ExtData) + len(b.Foreign)
	for i := range b.Txs {
		tx := &b.Txs[i]
		n += int(unsafe.Sizeof(*tx)) + len(tx.Input) + len(tx.Raw) + len(tx.Calls)*int(unsafe.Sizeof(Call{}))
		for j := range tx.Logs {
			n += int(unsafe.Sizeof(Log{})) + len(tx.Logs[j].Data) + len(tx.Logs[j].Topics)*HashLen
		}
		if f := tx.Failure; f != nil {
			n += int(unsafe.Sizeof(*f)) + len(f.Error) + len(f.Revert)
		}
	}
	return n
}

// Time is the block's time in Unix seconds.
func (b *Block) Time() uint64 { return b.TimeMilli / 1000 }

// Reserved is what a header says of a block that was accepted before it was executed
// (ACP-194): the worst case of its execution, and how far results are settled by it.
type Reserved struct {
	Gas     uint64      // the transactions' limits, and what imports and exports use
	BaseFee uint256.Int // in wei
	Settled uint64      // height of the last block whose results are
}

// Tx is a transaction of a block with its receipt.
type Tx struct {
	Hash  Hash
	Index uint32 // in the block
	Type  uint8  // 0 legacy, 1 access list, 2 dynamic fee, ...
	Nonce uint64
	From  Address
	// To is the receiver; of a creation it is the zero address.
	To       Address
	Creation bool
	// Contract is the contract made by a creation, also by one that failed.
	Contract Address
	Value    uint256.Int
	GasLimit uint64
	GasUsed  uint64
	// GasPrice is what each gas cost, the receipt's effectiveGasPrice, in wei.
	GasPrice uint256.Int
	// MaxFee and MaxPriorityFee are those of dynamic fee transactions, else nil.
	MaxFee, MaxPriorityFee *uint256.Int
	Input                  []byte
	Failed                 bool
	// Failure says why it failed, if that was traced: nil in blocks that were archived
	// before this was kept.
	Failure *Failure
	Logs    []Log
	// Raw is the signed transaction in its consensus encoding (EIP-2718): RLP, for
	// types above 0 behind the type's byte. Hash is its Keccak-256.
	Raw []byte
	// Calls are the calls below the transaction's own, in the order in which they
	// began, reverted ones included. Empty if the block is not traced.
	Calls []Call
}

// Log is an event of a contract.
type Log struct {
	Index   uint32 // in the block
	Address Address
	Topics  []Hash // at most 4
	Data    []byte
}

// CallType is the kind of a [Call].
type CallType uint8

// The kinds of calls. Values are stored: do not change them.
const (
	CallUnknown CallType = iota
	CallPlain
	CallCode
	CallDelegate
	CallStatic
	CallCreate
	CallCreate2
	CallSelfDestruct
)

// Creates reports whether a call of this kind makes a contract.
func (t CallType) Creates() bool { return t == CallCreate || t == CallCreate2 }

// String returns the name that the opcode has.
func (t CallType) String() string {
	names := [...]string{"UNKNOWN", "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"}
	if int(t) >= len(names) {
		return names[0]
	}
	return names[t]
}

// Call is one call inside a transaction.
type Call struct {
	Type CallType
	// Depth is the number of calls around it: 1 is made by the transaction's own.
	Depth uint16
	From  Address
	// To is the account called; of a creation the contract made, zero if it failed.
	To           Address
	Value        uint256.Int
	Gas, GasUsed uint64
	// Reverted: the call or one around it failed, so it left no trace in the state.
	Reverted bool
}

// Concerns reports whether the call is from or to an address. A creation that came
// to nothing has no receiver, and so none that is the zero address.
func (c *Call) Concerns(a *Address) bool {
	nobody := c.Type.Creates() && c.To.IsZero()
	return c.From == *a || !nobody && c.To == *a
}

// Balance is the native balance of an account, in wei.
type Balance struct {
	Address Address
	Before  uint256.Int // before the block
	Wei     uint256.Int // after it
}

// Atomic is an import to an account of the C-Chain or an export from it.
type Atomic struct {
	Address Address
	Wei     uint256.Int // of AVAX; amounts of other assets are left out
	Export  bool
}
