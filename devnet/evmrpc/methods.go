package evmrpc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-json"

	"quorate/devnet/evmchain"
	"quorate/devnet/form"
	"quorate/engine/chain/evm"
)

// method is one method: how many arguments it needs and takes.
type method struct {
	required, most int
	run            func(h *node, dst []byte, a args) ([]byte, error)
}

// methods never changes.
var methods = map[string]method{
	"eth_chainId":               {0, 0, (*node).chainID},
	"net_version":               {0, 0, (*node).netVersion},
	"net_listening":             {0, 0, fixedAnswer("true")},
	"net_peerCount":             {0, 0, fixedAnswer(`"0x0"`)},
	"web3_clientVersion":        {0, 0, (*node).clientVersion},
	"eth_syncing":               {0, 0, fixedAnswer("false")},
	"eth_accounts":              {0, 0, fixedAnswer("[]")},
	"eth_blockNumber":           {0, 0, (*node).blockNumber},
	"eth_gasPrice":              {0, 0, (*node).gasPrice},
	"eth_baseFee":               {0, 0, (*node).baseFee},
	"eth_maxPriorityFeePerGas":  {0, 0, fixedAnswer(`"0x3b9aca00"`)},
	"eth_getBlockByNumber":      {2, 2, (*node).blockByNumber},
	"eth_getBlockByHash":        {2, 2, (*node).blockByHash},
	"eth_getBlockReceipts":      {1, 1, (*node).blockReceipts},
	"eth_getTransactionReceipt": {1, 1, (*node).transactionReceipt},
	"eth_getTransactionByHash":  {1, 1, (*node).transactionByHash},
	"eth_getBalance":            {2, 2, (*node).balance},
	"eth_getTransactionCount":   {2, 2, (*node).transactionCount},
	"eth_getCode":               {2, 2, (*node).code},
	"eth_call":                  {1, 4, (*node).call},
	"eth_getProof":              {3, 3, (*node).proof},
	"eth_getLogs":               {1, 1, (*node).logs},
	"debug_traceBlockByNumber":  {1, 2, (*node).traceByNumber},
	"debug_traceBlockByHash":    {1, 2, (*node).traceByHash},
	"debug_traceTransaction":    {1, 2, (*node).traceTransaction},
}

func fixedAnswer(s string) func(*node, []byte, args) ([]byte, error) {
	return func(_ *node, dst []byte, _ args) ([]byte, error) { return append(dst, s...), nil }
}

func (h *node) chainID(dst []byte, _ args) ([]byte, error) {
	return form.AppendUint(dst, h.chain.Config().EVMChainID), nil
}

func (h *node) netVersion(dst []byte, _ args) ([]byte, error) {
	return append(strconv.AppendUint(append(dst, '"'), h.chain.Config().EVMChainID, 10), '"'), nil
}

func (h *node) clientVersion(dst []byte, _ args) ([]byte, error) {
	if h.late() {
		return append(dst, lateVersion...), nil
	}
	return strconv.AppendQuote(dst, h.host.version), nil
}

func (h *node) blockNumber(dst []byte, _ args) ([]byte, error) {
	return form.AppendUint(dst, h.latest), nil
}

func (h *node) gasPrice(dst []byte, _ args) ([]byte, error) {
	return form.AppendUint(dst, h.chain.NextFee(h.tip)+1_000_000_000), nil
}

func (h *node) baseFee(dst []byte, _ args) ([]byte, error) {
	return form.AppendUint(dst, h.chain.NextFee(h.tip)), nil
}

func (h *node) blockByNumber(dst []byte, a args) ([]byte, error) {
	full, err := a.flag(1)
	if err != nil {
		return dst, err
	}
	height, err := h.height(a, 0)
	if h.late() && errors.Is(err, errUnfinalized) {
		return append(dst, "null"...), nil
	}
	if err != nil {
		return dst, err
	}
	if !h.has(height) {
		return append(dst, "null"...), nil
	}
	start := len(dst)
	dst = h.chain.AppendBlock(dst, height, full, h.view())
	if h.late() && string(a[0]) == `"pending"` {
		for _, member := range []string{"hash", "miner", "nonce"} { // as of a block that nobody has made
			dst = append(dst[:start:start], Replace("", member, nothing)("", nil, dst[start:])...)
		}
	}
	return dst, nil
}

func nothing(any) any { return nil }

func (h *node) blockByHash(dst []byte, a args) ([]byte, error) {
	hash, err := a.hash(0)
	if err != nil {
		return dst, err
	}
	full, err := a.flag(1)
	if err != nil {
		return dst, err
	}
	height, ok := h.byHash(hash)
	if !ok {
		return append(dst, "null"...), nil
	}
	return h.chain.AppendBlock(dst, height, full, h.view()), nil
}

// blockReceipts returns null for a block that is not there, as the method's
// definition says.
func (h *node) blockReceipts(dst []byte, a args) ([]byte, error) {
	height, err := h.at(a, 0)
	switch {
	case errors.Is(err, errUnfinalized) || errors.Is(err, errNoHeader):
		return append(dst, "null"...), nil
	case err != nil:
		return dst, err
	case !h.has(height):
		return append(dst, "null"...), nil
	}
	if err := h.executed(height); err != nil {
		return dst, err
	}
	return h.chain.AppendReceipts(dst, height, h.view()), nil
}

func (h *node) transactionReceipt(dst []byte, a args) ([]byte, error) {
	hash, err := a.hash(0)
	if err != nil {
		return dst, err
	}
	height, ok := h.chain.Where(hash)
	if !ok || !h.has(height) {
		return append(dst, "null"...), nil
	}
	if err := h.executed(height); err != nil {
		return dst, err
	}
	return h.chain.AppendReceipt(dst, hash, h.view()), nil
}

func (h *node) transactionByHash(dst []byte, a args) ([]byte, error) {
	hash, err := a.hash(0)
	if err != nil {
		return dst, err
	}
	if !h.knows(hash) {
		return append(dst, "null"...), nil
	}
	return h.chain.AppendTx(dst, hash), nil
}

// accountAt reads an account and a block with its state.
func (h *node) accountAt(a args) (addr evm.Address, height uint64, err error) {
	if addr, err = a.address(0); err == nil {
		height, err = h.stateAt(a, 1)
	}
	return addr, height, err
}

// stateAt reads a block with its state.
func (h *node) stateAt(a args, i int) (uint64, error) {
	height, err := h.at(a, i)
	if err != nil {
		return 0, err
	}
	if err := h.state(height); err != nil {
		return 0, err
	}
	return height, h.executed(height)
}

func (h *node) balance(dst []byte, a args) ([]byte, error) {
	addr, height, err := h.accountAt(a)
	if err != nil {
		return dst, err
	}
	wei := h.chain.Balance(addr, height)
	return form.AppendWide(dst, &wei), nil
}

func (h *node) transactionCount(dst []byte, a args) ([]byte, error) {
	addr, height, err := h.accountAt(a)
	if err != nil {
		return dst, err
	}
	return form.AppendUint(dst, h.chain.Nonce(addr, height)), nil
}

func (h *node) code(dst []byte, a args) ([]byte, error) {
	addr, height, err := h.accountAt(a)
	if err != nil {
		return dst, err
	}
	return form.AppendHex(dst, h.chain.Code(addr, height)), nil
}

func (h *node) call(dst []byte, a args) ([]byte, error) {
	var object struct {
		To          *string
		Data, Input *string
	}
	if err := json.Unmarshal(a[0], &object); err != nil {
		return dst, invalid("invalid argument 0: %v", err)
	}
	height, err := h.stateAt(a, 1)
	if err != nil {
		return dst, err
	}
	var to evm.Address
	if object.To == nil {
		return dst, errors.New("this node runs no code that is sent to it")
	}
	if err := fixed(*object.To, to[:]); err != nil {
		return dst, invalid("invalid argument 0: json: cannot unmarshal %v into Go struct field TransactionArgs.to of type common.Address", err)
	}
	data := object.Input
	if data == nil {
		data = object.Data
	}
	var input []byte
	if data != nil {
		input = make([]byte, max(len(*data)-2, 0)/2)
		if err := fixed(*data, input); err != nil {
			return dst, invalid("invalid argument 0: json: cannot unmarshal %v into Go struct field TransactionArgs.data of type hexutil.Bytes", err)
		}
	}
	output, err := h.chain.Call(to, input, height)
	if revert := (*evmchain.RevertError)(nil); errors.As(err, &revert) && len(revert.Data) > 0 {
		return dst, &callError{code: codeRevert, text: revert.Error(), data: "0x" + hex.EncodeToString(revert.Data)}
	}
	if err != nil {
		return dst, err
	}
	return form.AppendHex(dst, output), nil
}

func (h *node) traceByNumber(dst []byte, a args) ([]byte, error) {
	height, err := h.height(a, 0)
	if err != nil {
		return dst, err
	}
	tc, err := a.tracing(1)
	if err != nil {
		return dst, err
	}
	return h.trace(dst, height, tc)
}

func (h *node) traceByHash(dst []byte, a args) ([]byte, error) {
	hash, err := a.hash(0)
	if err != nil {
		return dst, err
	}
	tc, err := a.tracing(1)
	if err != nil {
		return dst, err
	}
	height, ok := h.byHash(hash)
	if !ok {
		return dst, fmt.Errorf("block %s not found", hash)
	}
	return h.trace(dst, height, tc)
}

func (h *node) trace(dst []byte, height uint64, tc evmchain.TraceConfig) ([]byte, error) {
	if err := h.traceable(height); err != nil {
		return dst, err
	}
	start := len(dst)
	dst, err := h.chain.AppendTrace(dst, height, tc, h.view())
	if err != nil || len(h.traits.Untraceable) == 0 {
		return dst, err
	}
	return h.spoil(dst, start, h.chain.TxHashes(height)...)
}

func (h *node) traceTransaction(dst []byte, a args) ([]byte, error) {
	hash, err := a.hash(0)
	if err != nil {
		return dst, err
	}
	tc, err := a.tracing(1)
	if err != nil {
		return dst, err
	}
	height, ok := h.chain.Where(hash)
	if !ok || !h.has(height) {
		return dst, errors.New("transaction not found")
	}
	if err := h.traceable(height); err != nil {
		return dst, err
	}
	start := len(dst)
	if dst, ok = h.chain.AppendTxTrace(dst, hash, tc, h.view()); !ok {
		return dst, errors.New("transaction not found")
	}
	return h.spoil(dst, start, hash)
}
