package oracle

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/crypto"
)

func topic(signature string) common.Hash { return crypto.Keccak256Hash([]byte(signature)) }

func address(t common.Hash) common.Address { return common.BytesToAddress(t[12:]) }

// readLog returns the transfers that a log tells of. A log of a known event in a
// form that no standard has is no transfer.
func readLog(l *rawLog) ([]*Transfer, error) {
	if len(l.Topics) == 0 {
		return nil, nil
	}
	t := Transfer{Token: l.Address, LogIndex: uint64(l.LogIndex), ID: new(big.Int), Value: new(big.Int)}
	switch event := l.Topics[0]; {
	case event == topic("Transfer(address,address,uint256)") && len(l.Topics) == 3 && len(l.Data) == 32:
		t.Kind, t.From, t.To = ERC20, address(l.Topics[1]), address(l.Topics[2])
		t.Value.SetBytes(l.Data)
	case event == topic("Transfer(address,address,uint256)") && len(l.Topics) == 4 && len(l.Data) == 0:
		t.Kind, t.From, t.To = ERC721, address(l.Topics[1]), address(l.Topics[2])
		t.ID.SetBytes(l.Topics[3][:])
	case event == topic("TransferSingle(address,address,address,uint256,uint256)") && len(l.Topics) == 4 && len(l.Data) == 64:
		t.Kind, t.From, t.To = ERC1155, address(l.Topics[2]), address(l.Topics[3])
		t.ID.SetBytes(l.Data[:32])
		t.Value.SetBytes(l.Data[32:])
	case event == topic("TransferBatch(address,address,address,uint256[],uint256[])") && len(l.Topics) == 4:
		t.Kind, t.From, t.To = ERC1155, address(l.Topics[2]), address(l.Topics[3])
		return readBatch(t, l.Data)
	default:
		return nil, nil
	}
	return []*Transfer{&t}, nil
}

func readBatch(t Transfer, data []byte) ([]*Transfer, error) {
	list, err := abiType("uint256[]")
	if err != nil {
		return nil, err
	}
	values, err := abi.Arguments{{Type: list}, {Type: list}}.Unpack(data)
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	ids, ok := values[0].([]*big.Int)
	amounts, ok2 := values[1].([]*big.Int)
	if !ok || !ok2 || len(ids) != len(amounts) {
		return nil, errors.New("batch of unequal lists")
	}
	var out []*Transfer
	for i := range ids {
		one := t
		one.ID, one.Value = ids[i], amounts[i]
		out = append(out, &one)
	}
	return out, nil
}

func abiType(name string) (abi.Type, error) { return abi.NewType(name, "", nil) }
