package contracts

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/rpc"
)

const (
	// receiptEvery is how often receipts are asked for, batchSize how many at once.
	receiptEvery = 100 * time.Millisecond
	batchSize    = 100
)

// maxFee and tip are far above what a test can drive the base fee to.
var (
	maxFee = big.NewInt(1_000_000_000_000)
	tip    = big.NewInt(1_000_000_000)
)

// An Account can send transactions.
type Account struct {
	Address common.Address
	key     *ecdsa.PrivateKey
	nonce   uint64
}

// A Tx is what a transaction does. Without To it makes a contract.
type Tx struct {
	From  *Account
	To    *common.Address
	Value *big.Int
	Data  []byte
	Gas   uint64
	// Type is that of EIP-2718: 0, 1 or 2.
	Type uint8
	// Access is the access list of a transaction of type 2: it carries signed messages.
	Access types.AccessList
}

// A Session sends transactions to one node. It is for one goroutine, and nobody
// else may use its accounts meanwhile.
type Session struct {
	// Rich is the account that the genesis of a local network pre-funds.
	Rich *Account

	rpc    *rpc.Client
	signer types.Signer
}

// NewSession connects to the JSON-RPC endpoint of a chain. The caller must call Close.
func NewSession(ctx context.Context, url string) (*Session, error) {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &Session{rpc: client}
	var id hexutil.Big
	err = client.CallContext(ctx, &id, "eth_chainId")
	if err == nil {
		s.signer = types.NewLondonSigner(id.ToInt())
		s.Rich, err = s.account(ctx, genesis.EWOQKey.ToECDSA())
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the connection.
func (s *Session) Close() { s.rpc.Close() }

func (s *Session) account(ctx context.Context, key *ecdsa.PrivateKey) (*Account, error) {
	a := &Account{key: key, Address: crypto.PubkeyToAddress(key.PublicKey)}
	return a, s.Refresh(ctx, a)
}

// Refresh asks for the nonce of an account that others have used.
func (s *Session) Refresh(ctx context.Context, a *Account) error {
	var nonce hexutil.Uint64
	if err := s.rpc.CallContext(ctx, &nonce, "eth_getTransactionCount", a.Address, "pending"); err != nil {
		return fmt.Errorf("nonce of %s: %w", a.Address, err)
	}
	a.nonce = uint64(nonce)
	return nil
}

// Account makes the nth account of a seed. It has no coins.
func (s *Session) Account(ctx context.Context, seed string, n int) (*Account, error) {
	key, err := crypto.ToECDSA(crypto.Keccak256(binary.BigEndian.AppendUint64([]byte(seed), uint64(n)))) // n is not negative
	if err != nil {
		return nil, err
	}
	return s.account(ctx, key)
}

// Send sends transactions and waits until all are accepted, successful or not.
func (s *Session) Send(ctx context.Context, txs ...Tx) ([]*types.Receipt, error) {
	calls := make([]rpc.BatchElem, len(txs))
	hashes := make([]common.Hash, len(txs))
	for i := range txs {
		tx, err := types.SignNewTx(txs[i].From.key, s.signer, s.data(&txs[i]))
		if err != nil {
			return nil, err
		}
		txs[i].From.nonce++
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		hashes[i] = tx.Hash()
		calls[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Bytes(raw)}, Result: new(common.Hash)}
	}
	if err := s.batch(ctx, calls); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return s.await(ctx, hashes)
}

func (s *Session) data(t *Tx) types.TxData {
	value := t.Value
	if value == nil {
		value = new(big.Int)
	}
	switch t.Type {
	case types.LegacyTxType:
		return &types.LegacyTx{Nonce: t.From.nonce, GasPrice: maxFee, Gas: t.Gas, To: t.To, Value: value, Data: t.Data}
	case types.AccessListTxType:
		return &types.AccessListTx{ChainID: s.signer.ChainID(), Nonce: t.From.nonce, GasPrice: maxFee, Gas: t.Gas, To: t.To, Value: value, Data: t.Data}
	}
	return &types.DynamicFeeTx{
		ChainID: s.signer.ChainID(), Nonce: t.From.nonce, GasTipCap: tip, GasFeeCap: maxFee, Gas: t.Gas, To: t.To, Value: value, Data: t.Data,
		AccessList: t.Access,
	}
}

func (s *Session) batch(ctx context.Context, calls []rpc.BatchElem) error {
	for len(calls) > 0 {
		group := calls[:min(batchSize, len(calls))]
		calls = calls[len(group):]
		if err := s.rpc.BatchCallContext(ctx, group); err != nil {
			return err
		}
		for i, c := range group {
			if c.Error != nil {
				return fmt.Errorf("call %d: %w", i, c.Error)
			}
		}
	}
	return nil
}

func (s *Session) await(ctx context.Context, hashes []common.Hash) ([]*types.Receipt, error) {
	receipts := make([]*types.Receipt, len(hashes))
	tick := time.NewTicker(receiptEvery)
	defer tick.Stop()
	for {
		var calls []rpc.BatchElem
		for i := range receipts {
			if receipts[i] == nil {
				calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{hashes[i]}, Result: &receipts[i]})
			}
		}
		if len(calls) == 0 {
			return receipts, nil
		}
		if err := s.batch(ctx, calls); err != nil {
			return nil, fmt.Errorf("receipts: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("transactions are in no block: %w", ctx.Err())
		}
	}
}

// Deploy makes contracts, and gives their addresses.
func (s *Session) Deploy(ctx context.Context, from *Account, codes ...[]byte) ([]common.Address, error) {
	txs := make([]Tx, len(codes))
	for i, code := range codes {
		txs[i] = Tx{From: from, Data: code, Gas: 3_000_000, Type: types.DynamicFeeTxType}
	}
	receipts, err := s.Send(ctx, txs...)
	if err != nil {
		return nil, err
	}
	out := make([]common.Address, len(codes))
	for i, r := range receipts {
		if r.Status != types.ReceiptStatusSuccessful {
			return nil, fmt.Errorf("contract %d cannot be deployed", i)
		}
		out[i] = r.ContractAddress
	}
	return out, nil
}

var errArguments = errors.New("as many types as values are needed")

// Pack encodes arguments of the named types.
func Pack(kinds []string, values ...any) ([]byte, error) {
	if len(kinds) != len(values) {
		return nil, errArguments
	}
	var args abi.Arguments
	for _, kind := range kinds {
		t, err := abi.NewType(kind, "", nil)
		if err != nil {
			return nil, err
		}
		args = append(args, abi.Argument{Type: t})
	}
	return args.Pack(values...)
}

// Input encodes a call of a function, such as "mint", with arguments of the
// named types.
func Input(function string, kinds []string, values ...any) ([]byte, error) {
	packed, err := Pack(kinds, values...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", function, err)
	}
	signature := function + "("
	for i, kind := range kinds {
		if i > 0 {
			signature += ","
		}
		signature += kind
	}
	return append(crypto.Keccak256([]byte(signature + ")"))[:4:4], packed...), nil
}
