package history

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

const (
	// maxBlocks bounds the blocks of a search, maxLogs the logs of an answer, and maxLogBytes
	// its length.
	maxBlocks   = 10_000
	maxLogs     = 10_000
	maxLogBytes = 8 << 20
	// Bounds of a filter, as nodes have them.
	maxTopics    = 4
	maxAddresses = 1000
)

// ErrNode is the error of calls that a node has to answer, since they are not about what is archived.
var ErrNode = errors.New("a node has to answer")

// calls are the methods that are answered, with what their parameters name.
var calls = map[string]func(h *History, ctx context.Context, params []json.RawMessage) ([]byte, error){
	"eth_getBlockByHash":                      (*History).blockByName,
	"eth_getBlockByNumber":                    (*History).blockByName,
	"eth_getLogs":                             (*History).logs,
	"eth_getTransactionByHash":                (*History).txByHash,
	"eth_getTransactionReceipt":               (*History).receiptByHash,
	"eth_getBlockReceipts":                    (*History).blockReceipts,
	"eth_getTransactionByBlockHashAndIndex":   (*History).txByIndex,
	"eth_getTransactionByBlockNumberAndIndex": (*History).txByIndex,
	"eth_getBlockTransactionCountByHash":      (*History).txCount,
	"eth_getBlockTransactionCountByNumber":    (*History).txCount,
}

// Answers reports whether calls of a method may be answered.
func Answers(method string) bool { return calls[method] != nil }

// Call returns the result of a call. Of what a node has to answer the error is [ErrNode]:
// what is not archived, what is named by a word such as latest, and what is not well formed.
// Any other error is for the client.
func (h *History) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	run := calls[method]
	var list []json.RawMessage
	if run == nil || json.Unmarshal(params, &list) != nil {
		return nil, ErrNode
	}
	result, err := run(h, ctx, list)
	if errors.Is(err, ErrNotArchived) || errors.Is(err, ErrNoArchive) {
		err = ErrNode
	}
	return result, err
}

// fixed reads bytes of a certain length from a text in hex.
func fixed(raw json.RawMessage, to []byte) bool {
	if len(raw) != 2+2+2*len(to) || raw[0] != '"' || raw[1] != '0' || raw[2] != 'x' {
		return false
	}
	_, err := hex.Decode(to, raw[3:len(raw)-1])
	return err == nil
}

// number reads a number in hex.
func number(raw json.RawMessage) (n uint64, ok bool) {
	digits, ok := strings.CutPrefix(strings.Trim(string(raw), `"`), "0x")
	if !ok || len(raw) < 2 || raw[0] != '"' || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil && n <= math.MaxInt64
}

// height returns the height of a block that is named by its number or its hash.
func (h *History) height(raw json.RawMessage) (uint64, error) {
	var hash evm.Hash
	n, ok := number(raw)
	if !ok {
		if !fixed(raw, hash[:]) {
			return 0, ErrNode
		}
		var err error
		if n, ok, err = h.places.Block(hash); err != nil || !ok {
			return 0, ErrNode
		}
	}
	if tip, _, ok := h.places.Cursor(); !ok || n > tip {
		return 0, ErrNode
	}
	return n, nil
}

// tx returns a transaction by its hash, with its block.
func (h *History) tx(ctx context.Context, params []json.RawMessage) (*evm.Block, *evm.Tx, error) {
	var hash evm.Hash
	if len(params) != 1 || !fixed(params[0], hash[:]) {
		return nil, nil, ErrNode
	}
	n, i, found, err := h.places.Tx(hash)
	if err != nil || !found {
		return nil, nil, ErrNode // it may be on its way
	}
	b, err := h.block(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	if int(i) >= len(b.Txs) || b.Txs[i].Hash != hash {
		return nil, nil, ErrNode
	}
	return b, &b.Txs[i], nil
}

func (h *History) txByHash(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, tx, err := h.tx(ctx, params)
	if err != nil {
		return nil, err
	}
	return txOf(b, tx)
}

// txOf writes a transaction, if it is of a type whose form is known.
func txOf(b *evm.Block, tx *evm.Tx) ([]byte, error) {
	var header consensus.Header
	if header.Parse(b.Header) != nil {
		return nil, ErrNode
	}
	var w writer
	err := w.tx(b, tx, header.BaseFee)
	return w, err
}

func (h *History) receiptByHash(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, tx, err := h.tx(ctx, params)
	if err != nil {
		return nil, err
	}
	return receiptsOf(nil, b, int(tx.Index), int(tx.Index)+1)
}

// receiptsOf appends the receipts of some transactions of a block, if they are of types
// whose form is known.
func receiptsOf(w writer, b *evm.Block, from, to int) ([]byte, error) {
	gas := uint64(0)
	for i := range b.Txs[:to] {
		tx := &b.Txs[i]
		if gas += tx.GasUsed; i < from {
			continue
		}
		if tx.Type == consensus.TypeBlob || tx.Type > consensus.LastType {
			return nil, ErrNode
		}
		w.receipt(b, tx, gas)
	}
	return w, nil
}

// named returns the block that the first parameter names.
func (h *History) named(ctx context.Context, params []json.RawMessage, want int) (*evm.Block, error) {
	if len(params) != want {
		return nil, ErrNode
	}
	n, err := h.height(params[0])
	if err != nil {
		return nil, err
	}
	return h.block(ctx, n)
}

func (h *History) blockReceipts(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, err := h.named(ctx, params, 1)
	if err != nil {
		return nil, err
	}
	list, err := receiptsOf(writer("["), b, 0, len(b.Txs))
	return append(list, ']'), err
}

func (h *History) txByIndex(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, err := h.named(ctx, params, 2)
	if err != nil {
		return nil, err
	}
	i, ok := number(params[1])
	switch {
	case !ok:
		return nil, ErrNode
	case i >= uint64(len(b.Txs)):
		return []byte("null"), nil
	}
	return txOf(b, &b.Txs[i])
}

func (h *History) txCount(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	b, err := h.named(ctx, params, 1)
	if err != nil {
		return nil, err
	}
	var w writer
	w.uint(uint64(len(b.Txs)))
	return w, nil
}

// logs answers eth_getLogs for blocks that are named by numbers or by a hash.
func (h *History) logs(ctx context.Context, params []json.RawMessage) ([]byte, error) {
	f, ok := h.filter(params)
	if !ok {
		return nil, ErrNode
	}
	w := writer("[")
	n := 0
	_, err := h.Logs(ctx, f, func(b *evm.Block, tx *evm.Tx, l *evm.Log) bool {
		if n++; n > maxLogs || len(w) > maxLogBytes {
			return false
		}
		w.log(b, tx, l)
		return true
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errors.New("the logs were not found in time: ask for fewer blocks")
	case err != nil:
		return nil, err
	case n > maxLogs:
		return nil, fmt.Errorf("query returned more than %d results", maxLogs)
	case len(w) > maxLogBytes:
		return nil, fmt.Errorf("query returned more than %d bytes", maxLogBytes)
	}
	return append(w, ']'), nil
}

// filter reads the parameter of eth_getLogs; false if a node has to answer.
func (h *History) filter(params []json.RawMessage) (*Filter, bool) {
	var args struct {
		BlockHash, FromBlock, ToBlock, Address json.RawMessage
		Topics                                 []json.RawMessage
	}
	if len(params) != 1 || json.Unmarshal(params[0], &args) != nil || len(args.Topics) > maxTopics {
		return nil, false
	}
	f := &Filter{}
	if given(args.BlockHash) {
		n, err := h.height(args.BlockHash)
		if err != nil || given(args.FromBlock) || given(args.ToBlock) || len(args.BlockHash) < 66 {
			return nil, false
		}
		f.From, f.To = n, n
	} else {
		var from, to bool
		f.From, from = number(args.FromBlock)
		if f.To, to = number(args.ToBlock); !from || !to || f.From > f.To || f.To-f.From >= maxBlocks {
			return nil, false
		}
	}
	ok := each(args.Address, func(raw json.RawMessage) bool {
		var a evm.Address
		f.Addresses = append(f.Addresses, a)
		return fixed(raw, f.Addresses[len(f.Addresses)-1][:])
	})
	for _, raw := range args.Topics {
		var any []evm.Hash
		ok = ok && each(raw, func(raw json.RawMessage) bool {
			any = append(any, evm.Hash{})
			return fixed(raw, any[len(any)-1][:])
		})
		f.Topics = append(f.Topics, any)
	}
	return f, ok && len(f.Addresses) <= maxAddresses
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// each calls take with a text, or with the texts of a list, until it returns false; with
// null not at all.
func each(raw json.RawMessage, take func(raw json.RawMessage) bool) bool {
	if !given(raw) {
		return true
	}
	if !bytes.HasPrefix(raw, []byte("[")) {
		return take(raw)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return false
	}
	for _, item := range list {
		if !take(item) {
			return false
		}
	}
	return true
}
