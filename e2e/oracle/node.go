package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/rpc"
)

const (
	// blocksPerBatch and callsPerBatch bound one JSON-RPC batch.
	blocksPerBatch = 20
	callsPerBatch  = 200
	// codeNoMethod is JSON-RPC's code for a method that is not there.
	codeNoMethod = -32601
)

// A Node answers raw questions about one chain.
type Node struct{ rpc *rpc.Client }

// Dial connects to the JSON-RPC endpoint of a chain. The caller must call Close.
func Dial(ctx context.Context, url string) (*Node, error) {
	c, err := rpc.DialContext(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return &Node{c}, nil
}

// Close ends the connection.
func (n *Node) Close() { n.rpc.Close() }

// Tip returns the height of the last accepted block.
func (n *Node) Tip(ctx context.Context) (uint64, error) {
	var tip hexutil.Uint64
	err := n.rpc.CallContext(ctx, &tip, "eth_blockNumber")
	return uint64(tip), err
}

// ChainID returns the EVM chain number.
func (n *Node) ChainID(ctx context.Context) (string, error) {
	var id hexutil.Big
	err := n.rpc.CallContext(ctx, &id, "eth_chainId")
	return id.ToInt().String(), err
}

// batch makes calls in groups. The errors of single calls stay in them.
func (n *Node) batch(ctx context.Context, calls []rpc.BatchElem) error {
	for len(calls) > 0 {
		group := calls[:min(callsPerBatch, len(calls))]
		calls = calls[len(group):]
		if err := n.rpc.BatchCallContext(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// NativeAsk is an account at a height.
type NativeAsk struct {
	Account common.Address
	Height  uint64
}

// Balances returns what the node says of each account at each height, in wei.
func (n *Node) Balances(ctx context.Context, asks []NativeAsk) ([]*big.Int, error) {
	calls := make([]rpc.BatchElem, len(asks))
	for i, a := range asks {
		calls[i] = rpc.BatchElem{Method: "eth_getBalance", Args: []any{a.Account, hexutil.Uint64(a.Height)}, Result: new(hexutil.Big)}
	}
	if err := n.batch(ctx, calls); err != nil {
		return nil, err
	}
	out := make([]*big.Int, len(asks))
	for i, c := range calls {
		if c.Error != nil {
			return nil, fmt.Errorf("balance of %s at %d: %w", asks[i].Account, asks[i].Height, c.Error)
		}
		out[i] = c.Result.(*hexutil.Big).ToInt()
	}
	return out, nil
}

// contractCall is a read of a contract at a height.
type contractCall struct {
	to     common.Address
	input  []byte
	height uint64
}

// read makes the calls; what failed in a contract gives nil.
func (n *Node) read(ctx context.Context, asks []contractCall) ([][]byte, error) {
	calls := make([]rpc.BatchElem, len(asks))
	for i, a := range asks {
		calls[i] = rpc.BatchElem{Method: "eth_call", Result: new(hexutil.Bytes), Args: []any{
			map[string]any{"to": a.to, "data": hexutil.Bytes(a.input)}, hexutil.Uint64(a.height),
		}}
	}
	if err := n.batch(ctx, calls); err != nil {
		return nil, err
	}
	out := make([][]byte, len(asks))
	for i, c := range calls {
		if c.Error == nil {
			out[i] = *c.Result.(*hexutil.Bytes)
		}
	}
	return out, nil
}

// Fetch reads the chain from genesis up to a height.
func Fetch(ctx context.Context, n *Node, tip uint64) (*Chain, error) {
	c := &Chain{Traced: true, replays: make(map[uint64]*replay)}
	for from := uint64(0); from <= tip; from += blocksPerBatch {
		if err := c.fetch(ctx, n, from, min(tip, from+blocksPerBatch-1)); err != nil {
			return nil, err
		}
	}
	return c, c.describe(ctx, n)
}

// fetch reads the blocks from..to with all that is in them.
func (c *Chain) fetch(ctx context.Context, n *Node, from, to uint64) error {
	count := int(to - from + 1)
	blocks, receipts, traces := make([]*rawBlock, count), make([][]*rawReceipt, count), make([][]rawTrace, count)
	var calls []rpc.BatchElem
	for i := range count {
		number := hexutil.Uint64(from + uint64(i))
		calls = append(calls,
			rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{number, true}, Result: &blocks[i]},
			rpc.BatchElem{Method: "eth_getBlockReceipts", Args: []any{number}, Result: &receipts[i]})
		if number > 0 && c.Traced {
			calls = append(calls, rpc.BatchElem{Method: "debug_traceBlockByNumber",
				Args: []any{number, map[string]any{"tracer": "callTracer"}}, Result: &traces[i]})
		}
	}
	if err := n.batch(ctx, calls); err != nil {
		return fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	for _, call := range calls {
		var e rpc.Error
		switch {
		case call.Error == nil:
		case call.Method == "debug_traceBlockByNumber" && errors.As(call.Error, &e) && e.ErrorCode() == codeNoMethod:
			c.Traced = false
		default:
			return fmt.Errorf("%s of %v: %w", call.Method, call.Args[0], call.Error)
		}
	}
	for i, b := range blocks {
		if err := c.add(b, receipts[i], traces[i]); err != nil {
			return fmt.Errorf("block %d: %w", from+uint64(i), err)
		}
	}
	return nil
}

// add checks that the node has what the answers need of a block and adds it.
func (c *Chain) add(b *rawBlock, receipts []*rawReceipt, traces []rawTrace) error {
	if b == nil || len(receipts) != len(b.Transactions) {
		return fmt.Errorf("not there, or with %d receipts", len(receipts))
	}
	if n := len(c.Blocks); uint64(b.Number) != uint64(n) || n > 0 && c.Blocks[n-1].Hash != b.ParentHash {
		return errors.New("does not follow the block before")
	}
	block := &Block{rawBlock: b}
	for i, t := range b.Transactions {
		if receipts[i].TransactionHash != t.Hash {
			return fmt.Errorf("receipt %d is of another transaction", i)
		}
		tx := &Tx{Block: block, Index: i, rawTx: t, receipt: receipts[i]}
		if c.Traced {
			if len(traces) != len(b.Transactions) || traces[i].TxHash != t.Hash || traces[i].Result == nil {
				return fmt.Errorf("trace %d is of another transaction", i)
			}
			top := traces[i].Result
			tx.top = top
			for _, call := range top.Calls {
				tx.addCall(call, top.Error != "")
			}
		}
		for _, log := range tx.receipt.Logs {
			transfers, err := readLog(log)
			if err != nil {
				return fmt.Errorf("log %d: %w", log.LogIndex, err)
			}
			for _, tr := range transfers {
				tr.Tx = tx
				tx.Transfers = append(tx.Transfers, tr)
			}
		}
		block.Txs, c.Txs = append(block.Txs, tx), append(c.Txs, tx)
	}
	c.Blocks = append(c.Blocks, block)
	return nil
}
