// Package emit sends warp messages on EVM chains of a local network, signed by the
// account that their genesis pre-funds for tests, and has chains accept signed ones.
package emit

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"sync"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/rpc"
)

const (
	// cChain is the C-Chain's name in the path of its JSON-RPC endpoint.
	cChain = "C"
	// batchSize bounds the calls in one JSON-RPC batch.
	batchSize = 100
	// gasMargin is added to the estimate, in percent: payloads of one burst differ in zero bytes.
	gasMargin = 20
)

// maxFee is what the sender pays at most per unit of gas: 1,000 nAVAX, far above
// what a burst can drive the base fee to.
var maxFee = big.NewInt(1_000_000_000_000)

// A Message is a warp message that an accepted block carries.
type Message struct {
	Unsigned []byte // as validators sign it
	LogData  []byte // the log's data: the same, ABI-encoded as bytes
	Payload  []byte // what the sender gave
	TxHash   common.Hash
	Block    uint64
}

// An Emitter sends messages through one node. Its methods may be called at the same time.
type Emitter struct {
	rpc    *rpc.Client
	key    *ecdsa.PrivateKey
	from   common.Address
	signer types.Signer

	mu sync.Mutex // serializes bursts: they count nonces up from the node's
}

// Dial connects to the C-Chain of the node at nodeURL. The caller must call Close.
func Dial(ctx context.Context, nodeURL string) (*Emitter, error) {
	return DialChain(ctx, nodeURL, cChain)
}

// DialChain connects to a chain, by its ID or alias, of the node at nodeURL. The
// caller must call Close.
func DialChain(ctx context.Context, nodeURL, chain string) (*Emitter, error) {
	client, err := rpc.DialContext(ctx, nodeURL+"/ext/bc/"+chain+"/rpc")
	if err != nil {
		return nil, fmt.Errorf("connect to chain %s: %w", chain, err)
	}
	var chainID hexutil.Big
	if err := client.CallContext(ctx, &chainID, "eth_chainId"); err != nil {
		client.Close()
		return nil, fmt.Errorf("ask for the ID of chain %s: %w", chain, err)
	}
	key := genesis.EWOQKey.ToECDSA()
	return &Emitter{
		rpc:    client,
		key:    key,
		from:   crypto.PubkeyToAddress(key.PublicKey),
		signer: types.NewLondonSigner(chainID.ToInt()),
	}, nil
}

// Close ends the connection.
func (e *Emitter) Close() { e.rpc.Close() }

// Send emits one message per payload, all at once, and waits until the node has
// accepted them. The messages come back in the order of the payloads, which
// should differ: equal payloads of one sender are one and the same message.
func (e *Emitter) Send(ctx context.Context, payloads [][]byte) ([]Message, error) {
	if len(payloads) == 0 {
		return nil, errors.New("no payloads to send")
	}
	txs, err := e.submit(ctx, payloads)
	if err != nil {
		return nil, err
	}
	receipts, err := e.await(ctx, txs)
	if err != nil {
		return nil, err
	}
	messages := make([]Message, len(payloads))
	for i, r := range receipts {
		if messages[i], err = e.messageOf(r, payloads[i]); err != nil {
			return nil, fmt.Errorf("transaction %s: %w", r.TxHash, err)
		}
	}
	return messages, nil
}

// submit sends each payload in a transaction of its own.
func (e *Emitter) submit(ctx context.Context, payloads [][]byte) ([]*types.Transaction, error) {
	gas, err := e.estimate(ctx, payloads)
	if err != nil {
		return nil, err
	}
	calls := make([]types.DynamicFeeTx, len(payloads))
	for i, payload := range payloads {
		calls[i] = types.DynamicFeeTx{Gas: gas, To: &precompile, Data: packSend(payload)}
	}
	return e.send(ctx, calls)
}

// send completes, signs and sends the transactions with consecutive nonces.
func (e *Emitter) send(ctx context.Context, bare []types.DynamicFeeTx) ([]*types.Transaction, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var nonce hexutil.Uint64
	if err := e.rpc.CallContext(ctx, &nonce, "eth_getTransactionCount", e.from, "pending"); err != nil {
		return nil, fmt.Errorf("ask for the sender's nonce: %w", err)
	}
	txs := make([]*types.Transaction, len(bare))
	calls := make([]rpc.BatchElem, len(bare))
	for i := range bare {
		inner := &bare[i]
		inner.ChainID, inner.Nonce = e.signer.ChainID(), uint64(nonce)+uint64(i)
		inner.GasTipCap, inner.GasFeeCap = big.NewInt(1), maxFee
		tx, err := types.SignNewTx(e.key, e.signer, inner)
		if err != nil {
			return nil, fmt.Errorf("sign transaction %d: %w", i, err)
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("encode transaction %d: %w", i, err)
		}
		txs[i] = tx
		calls[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Bytes(raw)}, Result: new(common.Hash)}
	}
	if err := e.batch(ctx, calls); err != nil {
		return nil, fmt.Errorf("send transactions: %w", err)
	}
	return txs, nil
}

// estimate returns the gas limit for the longest payload.
func (e *Emitter) estimate(ctx context.Context, payloads [][]byte) (uint64, error) {
	longest := payloads[0]
	for _, p := range payloads {
		if len(p) > len(longest) {
			longest = p
		}
	}
	var gas hexutil.Uint64
	err := e.rpc.CallContext(ctx, &gas, "eth_estimateGas", map[string]any{
		"from": e.from, "to": precompile, "data": hexutil.Bytes(packSend(longest)),
	})
	if err != nil {
		return 0, fmt.Errorf("estimate the gas of sendWarpMessage: %w", err)
	}
	return uint64(gas) * (100 + gasMargin) / 100, nil
}

// batch makes the calls in groups and gives the first error of any.
func (e *Emitter) batch(ctx context.Context, calls []rpc.BatchElem) error {
	for len(calls) > 0 {
		group := calls[:min(batchSize, len(calls))]
		calls = calls[len(group):]
		if err := e.rpc.BatchCallContext(ctx, group); err != nil {
			return err
		}
		for _, c := range group {
			if c.Error != nil {
				return c.Error
			}
		}
	}
	return nil
}
