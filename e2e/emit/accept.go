package emit

import (
	"context"
	"errors"
	"fmt"

	"github.com/ava-labs/avalanchego/vms/evm/predicate"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
)

// acceptGas is enough for the check of a message's signature, whatever its signers.
const acceptGas = 2_000_000

// ErrNotValid is given by [Emitter.Accept] for a message that the chain refuses.
var ErrNotValid = errors.New("the chain does not accept the signed message")

// acceptor is a program that ends well exactly when the precompile says that the
// first signed message of the transaction is valid.
var acceptor = func() []byte {
	const (
		iszero, mload, mstore, jumpi, gas, jumpdest = 0x15, 0x51, 0x52, 0x57, 0x5a, 0x5b
		shl, push1, push4, push20, dup1             = 0x1b, 0x60, 0x63, 0x73, 0x80
		stop, staticcall, revert                    = 0x00, 0xfa, 0xfd
		fail                                        = 54 // where the program ends badly
	)
	var code []byte
	add := func(bytes ...byte) { code = append(code, bytes...) }
	selector := crypto.Keccak256([]byte("getVerifiedWarpMessage(uint32)"))[:4]
	add(push4)
	add(selector...)
	add(push1, 0xe0, shl, push1, 0, mstore) // the call's data: selector and index 0
	// The answer begins with the offset of the message and whether it is valid.
	add(push1, 2*word, push1, 2*word, push1, 4+word, push1, 0, push20)
	add(precompile.Bytes()...)
	add(gas, staticcall, iszero, push1, fail, jumpi)
	add(push1, 3*word, mload, iszero, push1, fail, jumpi, stop)
	if len(code) != fail {
		panic(fmt.Sprintf("the program fails at %d", len(code)))
	}
	add(jumpdest, push1, 0, dup1, revert)
	return code
}()

// Accept has the chain check a signed message by its precompile, in a block, and
// returns [ErrNotValid] when the chain refuses it.
func (e *Emitter) Accept(ctx context.Context, signed []byte) error {
	txs, err := e.send(ctx, []types.DynamicFeeTx{{
		Gas: acceptGas, Data: acceptor,
		AccessList: types.AccessList{{Address: precompile, StorageKeys: predicate.New(signed)}},
	}})
	if err != nil {
		return err
	}
	receipts, err := e.await(ctx, txs)
	if err != nil {
		return err
	}
	if r := receipts[0]; uint64(r.Status) != types.ReceiptStatusSuccessful {
		return fmt.Errorf("%w: transaction %s in block %d", ErrNotValid, r.TxHash, r.Block)
	}
	return nil
}

// Source is the sender's address, which messages carry as their source.
func (e *Emitter) Source() []byte { return e.from.Bytes() }
