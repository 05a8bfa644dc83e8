package oracle

import (
	"fmt"
	"math/big"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/crypto"
)

// The members of the node's answers that are used here.
type (
	rawBlock struct {
		Number       hexutil.Uint64  `json:"number"`
		Hash         common.Hash     `json:"hash"`
		ParentHash   common.Hash     `json:"parentHash"`
		Time         hexutil.Uint64  `json:"timestamp"`
		TimeMilli    *hexutil.Uint64 `json:"timestampMilliseconds"`
		GasUsed      hexutil.Uint64  `json:"gasUsed"`
		GasLimit     hexutil.Uint64  `json:"gasLimit"`
		GasCost      *hexutil.Big    `json:"blockGasCost"`
		BaseFee      *hexutil.Big    `json:"baseFeePerGas"`
		Settled      *hexutil.Uint64 `json:"settledHeight"`
		ExtraData    hexutil.Bytes   `json:"blockExtraData"`
		Transactions []*rawTx        `json:"transactions"`
	}
	rawTx struct {
		Hash           common.Hash     `json:"hash"`
		Type           hexutil.Uint64  `json:"type"`
		From           common.Address  `json:"from"`
		To             *common.Address `json:"to"`
		Nonce          hexutil.Uint64  `json:"nonce"`
		Gas            hexutil.Uint64  `json:"gas"`
		Value          *hexutil.Big    `json:"value"`
		Input          hexutil.Bytes   `json:"input"`
		MaxFee         *hexutil.Big    `json:"maxFeePerGas"`
		MaxPriorityFee *hexutil.Big    `json:"maxPriorityFeePerGas"`
	}
	rawReceipt struct {
		TransactionHash common.Hash     `json:"transactionHash"`
		Status          hexutil.Uint64  `json:"status"`
		GasUsed         hexutil.Uint64  `json:"gasUsed"`
		GasPrice        *hexutil.Big    `json:"effectiveGasPrice"`
		Contract        *common.Address `json:"contractAddress"`
		Logs            []*rawLog       `json:"logs"`
	}
	rawLog struct {
		Address  common.Address `json:"address"`
		Topics   []common.Hash  `json:"topics"`
		Data     hexutil.Bytes  `json:"data"`
		LogIndex hexutil.Uint64 `json:"logIndex"`
	}
	rawTrace struct {
		TxHash common.Hash `json:"txHash"`
		Result *rawFrame   `json:"result"`
	}
	rawFrame struct {
		Type    string          `json:"type"`
		From    common.Address  `json:"from"`
		To      *common.Address `json:"to"`
		Value   *hexutil.Big    `json:"value"`
		Gas     hexutil.Uint64  `json:"gas"`
		GasUsed hexutil.Uint64  `json:"gasUsed"`
		Error   string          `json:"error"`
		Reason  string          `json:"revertReason"`
		Output  hexutil.Bytes   `json:"output"`
		Calls   []*rawFrame     `json:"calls"`
	}
)

// Chain is a chain from genesis up to a height.
type Chain struct {
	Blocks []*Block
	Txs    []*Tx // of all blocks, oldest first
	// Tokens are the contracts that logged a transfer.
	Tokens map[common.Address]*Token
	// Traced: the node has told the internal calls.
	Traced bool
	// Wrapped are contracts of the wrapped coin: their Deposit and Withdrawal events
	// move coins as transfers do. Set it before the first comparison.
	Wrapped map[common.Address]bool
	// Uneven are the ERC-20 tokens whose events do not add up to what their contracts
	// say; see FindUneven.
	Uneven map[common.Address]bool

	replays map[uint64]*replay
	said    map[saidAt]*big.Int
}

// Block is a block.
type Block struct {
	*rawBlock
	Txs []*Tx
}

// gasUsed is what the receipts say: since Helicon the header has an upper bound.
func (b *Block) gasUsed() uint64 {
	if b.Settled == nil {
		return uint64(b.GasUsed)
	}
	sum := uint64(0)
	for _, tx := range b.Txs {
		sum += uint64(tx.receipt.GasUsed)
	}
	return sum
}

// baseFee is what was paid: the header's, or since Helicon what a transaction shows that
// paid base fee and tip. Where none does it is not known here, and at most the header's.
func (b *Block) baseFee() any {
	if b.BaseFee == nil {
		return "0"
	}
	header := b.BaseFee.ToInt()
	if b.Settled == nil {
		return header.String()
	}
	for _, tx := range b.Txs {
		if price := tx.receipt.GasPrice.ToInt(); tx.MaxFee != nil && price.Cmp(tx.MaxFee.ToInt()) < 0 {
			return new(big.Int).Sub(price, tx.MaxPriorityFee.ToInt()).String()
		}
	}
	return rule(func(got any, _ bool) string {
		s, _ := got.(string)
		if fee, ok := new(big.Int).SetString(s, 10); ok && fee.Sign() > 0 && fee.Cmp(header) <= 0 {
			return ""
		}
		return fmt.Sprintf("server %s, node at most %s", show(got), header)
	})
}

// Tx is a transaction.
type Tx struct {
	Block *Block
	Index int
	*rawTx
	receipt   *rawReceipt
	Transfers []*Transfer
	moves     []*Transfer // of ERC-20 tokens and wrapped coins, in the order of their logs
	Calls     []*Call     // internal ones, each before those it makes
	top       *rawFrame   // its own call, nil if the node has not told it
}

// Call is an internal call.
type Call struct {
	Type     string
	From     common.Address
	To       *common.Address // nil: a creation that came to nothing
	Value    *big.Int
	Gas      uint64
	GasUsed  uint64
	Reverted bool
}

// The standards of tokens.
const (
	ERC20   = "ERC-20"
	ERC721  = "ERC-721"
	ERC1155 = "ERC-1155"
)

// Transfer is a movement of tokens.
type Transfer struct {
	Tx        *Tx
	Kind      string
	Token     common.Address
	From, To  common.Address
	ID, Value *big.Int
	LogIndex  uint64
}

// Tip returns the height of the last block.
func (c *Chain) Tip() uint64 { return uint64(len(c.Blocks) - 1) }

// Failed reports whether the transaction failed.
func (t *Tx) Failed() bool { return t.receipt.Status == 0 }

// receiver returns who it was sent to: of a creation, the contract made.
func (t *Tx) receiver() common.Address {
	if t.rawTx.To != nil {
		return *t.rawTx.To
	}
	if t.receipt.Contract != nil {
		return *t.receipt.Contract
	}
	return crypto.CreateAddress(t.From, uint64(t.Nonce))
}

func (t *Tx) addCall(f *rawFrame, reverted bool) {
	reverted = reverted || f.Error != ""
	value := new(big.Int)
	if f.Value != nil {
		value = f.Value.ToInt()
	}
	t.Calls = append(t.Calls, &Call{
		Type: f.Type, From: f.From, To: f.To, Value: value, Gas: uint64(f.Gas), GasUsed: uint64(f.GasUsed), Reverted: reverted,
	})
	for _, inner := range f.Calls {
		t.addCall(inner, reverted)
	}
}

// Concerns reports whether an address has part in the transaction.
func (t *Tx) Concerns(a common.Address) bool {
	if t.From == a || t.receiver() == a {
		return true
	}
	for _, tr := range t.Transfers {
		if tr.concerns(a) {
			return true
		}
	}
	for _, c := range t.Calls {
		if c.concerns(a) {
			return true
		}
	}
	return false
}

func (t *Transfer) concerns(a common.Address) bool { return t.From == a || t.To == a }

func (c *Call) concerns(a common.Address) bool { return c.From == a || c.To != nil && *c.To == a }
