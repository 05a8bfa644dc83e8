package index

import (
	"encoding/binary"
	"math"

	"quorate/engine/chain/evm"
)

// Topics of the events that move tokens.
var (
	topicTransfer       = evm.Keccak([]byte("Transfer(address,address,uint256)"))
	topicTransferSingle = evm.Keccak([]byte("TransferSingle(address,address,address,uint256,uint256)"))
	topicTransferBatch  = evm.Keccak([]byte("TransferBatch(address,address,address,uint256[],uint256[])"))
	// Of wrapped native coins, which do not log a Transfer when they wrap.
	topicDeposit    = evm.Keccak([]byte("Deposit(address,uint256)"))
	topicWithdrawal = evm.Keccak([]byte("Withdrawal(address,uint256)"))
	// Of the warp precompile: SendWarpMessage(address,bytes32,bytes).
	topicWarp = evm.Keccak([]byte("SendWarpMessage(address,bytes32,bytes)"))
)

// warpPrecompile sends warp messages.
var warpPrecompile = evm.Address{0: 0x02, 19: 0x05}

const (
	word = 32
	// maxItems bounds the transfers of one ERC-1155 batch: their numbers have 16 bits.
	maxItems = math.MaxUint16 + 1
)

// AppendTransfers appends the transfers that a log tells of to dst.
func AppendTransfers(dst []Transfer, log *evm.Log) []Transfer {
	if len(log.Topics) < 3 {
		return dst
	}
	t := Transfer{LogIndex: log.Index, Token: log.Address}
	switch {
	case log.Topics[0] == topicTransfer:
		if !topicAddress(&t.From, &log.Topics[1]) || !topicAddress(&t.To, &log.Topics[2]) {
			return dst
		}
		switch {
		case len(log.Topics) == 3 && len(log.Data) == word:
			t.Kind = ERC20
			t.Value.SetBytes32(log.Data)
		case len(log.Topics) == 4 && len(log.Data) == 0:
			t.Kind = ERC721
			t.ID.SetBytes32(log.Topics[3][:])
			t.Value.SetOne()
		default:
			return dst
		}
		return append(dst, t)
	case len(log.Topics) != 4:
		return dst
	case log.Topics[0] == topicTransferSingle && len(log.Data) == 2*word,
		log.Topics[0] == topicTransferBatch:
		if !topicAddress(&t.From, &log.Topics[2]) || !topicAddress(&t.To, &log.Topics[3]) {
			return dst
		}
		t.Kind = ERC1155
		if log.Topics[0] == topicTransferBatch {
			return appendBatch(dst, t, log.Data)
		}
		t.ID.SetBytes32(log.Data)
		t.Value.SetBytes32(log.Data[word:])
		return append(dst, t)
	}
	return dst
}

// appendBatch reads the two arrays of a TransferBatch: IDs and values.
func appendBatch(dst []Transfer, t Transfer, data []byte) []Transfer {
	ids, ok := abiArray(data, 0)
	values, ok2 := abiArray(data, word)
	if !ok || !ok2 || len(ids) != len(values) {
		return dst
	}
	for i := 0; i < len(ids)/word && i < maxItems; i++ {
		t.Item = uint16(i)
		t.ID.SetBytes32(ids[i*word:])
		t.Value.SetBytes32(values[i*word:])
		dst = append(dst, t)
	}
	return dst
}

// abiArray returns the words of the array whose offset is at data[at:].
func abiArray(data []byte, at int) ([]byte, bool) {
	offset, ok := abiInt(data, uint64(at))
	if !ok {
		return nil, false
	}
	n, ok := abiInt(data, offset)
	if !ok {
		return nil, false
	}
	rest := data[offset+word:]
	if n > uint64(len(rest)/word) {
		return nil, false
	}
	return rest[:n*word], true
}

// abiInt reads the number at data[at:], which must be below 2^32.
func abiInt(data []byte, at uint64) (uint64, bool) {
	if uint64(len(data)) < word || at > uint64(len(data)-word) {
		return 0, false
	}
	w := data[at : at+word]
	for _, c := range w[:word-4] {
		if c != 0 {
			return 0, false
		}
	}
	return uint64(binary.BigEndian.Uint32(w[word-4:])), true
}

// topicAddress reads an address that is padded to a topic.
func topicAddress(a *evm.Address, topic *evm.Hash) bool {
	const pad = evm.HashLen - evm.AddressLen
	if [pad]byte(topic[:pad]) != [pad]byte{} {
		return false
	}
	copy(a[:], topic[pad:])
	return true
}
