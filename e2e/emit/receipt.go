package emit

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/rpc"
)

// receiptEvery is how often the receipts of a burst are asked for.
const receiptEvery = 100 * time.Millisecond

// receipt holds the members of a transaction receipt that are needed here.
type receipt struct {
	TxHash common.Hash    `json:"transactionHash"`
	Block  hexutil.Uint64 `json:"blockNumber"`
	Status hexutil.Uint64 `json:"status"`
	Logs   []*types.Log   `json:"logs"`
}

// await waits until every transaction has a receipt. Blocks are final once they are accepted.
func (e *Emitter) await(ctx context.Context, txs []*types.Transaction) ([]*receipt, error) {
	receipts := make([]*receipt, len(txs))
	missing := make([]int, len(txs))
	for i := range missing {
		missing[i] = i
	}
	tick := time.NewTicker(receiptEvery)
	defer tick.Stop()
	for {
		calls := make([]rpc.BatchElem, len(missing))
		for j, i := range missing {
			calls[j] = rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{txs[i].Hash()}, Result: &receipts[i]}
		}
		if err := e.batch(ctx, calls); err != nil {
			return nil, fmt.Errorf("ask for receipts: %w", err)
		}
		left := missing[:0]
		for _, i := range missing {
			if receipts[i] == nil {
				left = append(left, i)
			}
		}
		if missing = left; len(missing) == 0 {
			return receipts, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d transactions are in no block: %w", len(missing), len(txs), ctx.Err())
		}
	}
}

// messageOf takes the message out of its transaction's only log and checks that
// it is the one that was sent.
func (e *Emitter) messageOf(r *receipt, sent []byte) (Message, error) {
	if uint64(r.Status) != types.ReceiptStatusSuccessful {
		return Message{}, fmt.Errorf("reverted in block %d", r.Block)
	}
	if len(r.Logs) != 1 {
		return Message{}, fmt.Errorf("%d logs instead of one", len(r.Logs))
	}
	log := r.Logs[0]
	if log.Address != precompile || len(log.Topics) == 0 || log.Topics[0] != sendTopic {
		return Message{}, fmt.Errorf("log of %s is no warp message", log.Address)
	}
	unsigned, err := unpackBytes(log.Data)
	if err != nil {
		return Message{}, fmt.Errorf("log data: %w", err)
	}
	if err := e.check(unsigned, sent); err != nil {
		return Message{}, err
	}
	return Message{Unsigned: unsigned, LogData: log.Data, Payload: sent, TxHash: r.TxHash, Block: uint64(r.Block)}, nil
}

// check reads the message with avalanchego's own code.
func (e *Emitter) check(unsigned, sent []byte) error {
	msg, err := warp.ParseUnsignedMessage(unsigned)
	if err != nil {
		return fmt.Errorf("parse the unsigned message: %w", err)
	}
	call, err := payload.ParseAddressedCall(msg.Payload)
	if err != nil {
		return fmt.Errorf("parse the payload: %w", err)
	}
	if !bytes.Equal(call.SourceAddress, e.from[:]) || !bytes.Equal(call.Payload, sent) {
		return fmt.Errorf("carries %x of %x, sent was %x", call.Payload, call.SourceAddress, sent)
	}
	return nil
}
