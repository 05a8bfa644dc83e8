package evm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"

	"github.com/ethereum/go-ethereum/crypto/secp256k1"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// made is a block that a test makes, with true hashes, roots and signatures.
type made struct {
	header consensus.Header
	block  evm.Block
	signed []consensus.Signed
	// extra are members of the block's JSON beside those that are known.
	extra map[string]any
}

// newMade is a block of the C-Chain after its latest upgrade.
func newMade(parent evm.Hash, number uint64) *made {
	zero, milli := uint64(0), uint64(0x1a1fb6dd576)
	return &made{header: consensus.Header{
		Parent: parent, Number: number, Miner: evm.Address{1}, Uncles: consensus.EmptyUncles, StateRoot: evm.Hash{5},
		Difficulty: *uint256.NewInt(1), GasLimit: 1 << 30, Time: milli / 1000, Extra: []byte{0, 1, 2},
		HasExtData: true, BaseFee: uint256.NewInt(25e9), ExtDataGasUsed: new(uint256.Int), BlockGasCost: new(uint256.Int),
		BlobGasUsed: &zero, ExcessBlobGas: &zero, ParentBeaconRoot: &evm.Hash{}, TimeMilli: &milli, MinDelayExcess: &zero,
	}}
}

const madeChain = 43112

// add signs tx with the key of its number and adds it.
func (m *made) add(tx evm.Tx, s consensus.Signed) {
	i := len(m.block.Txs)
	tx.Index = uint32(i)
	if tx.Type != consensus.TypeLegacy {
		s.ChainID.SetUint64(madeChain)
	} else if !s.ChainID.IsZero() {
		s.V.SetUint64(35 + 2*madeChain)
	} else {
		s.V.SetUint64(27)
	}
	key := evm.Keccak(binary.BigEndian.AppendUint64(nil, uint64(i)))
	hash := must(consensus.SigningHash(must(consensus.AppendTx(nil, &tx, &s))))
	sig := must(secp256k1.Sign(hash[:], key[:]))
	s.R.SetBytes(sig[:32])
	s.S.SetBytes(sig[32:64])
	s.V.AddUint64(&s.V, uint64(sig[64]))
	tx.Raw = must(consensus.AppendTx(nil, &tx, &s))
	tx.Hash = evm.Keccak(tx.Raw)
	tx.From = must(consensus.Sender(tx.Raw))
	if tx.Creation {
		tx.Contract = evm.CreateAddress(tx.From, tx.Nonce)
	}
	tx.GasPrice = consensus.EffectivePrice(&tx, m.header.BaseFee)
	for k := range tx.Logs {
		tx.Logs[k].Index = uint32(m.logs() + k)
	}
	m.block.Txs = append(m.block.Txs, tx)
	m.signed = append(m.signed, s)
}

func (m *made) logs() (n int) {
	for i := range m.block.Txs {
		n += len(m.block.Txs[i].Logs)
	}
	return n
}

// seal works out what the header says of the block's parts.
func (m *made) seal() *made {
	h, b := &m.header, &m.block
	h.GasUsed = 0
	for i := range b.Txs {
		h.GasUsed += b.Txs[i].GasUsed
	}
	h.TxRoot = consensus.TxRoot(b.Txs)
	h.ReceiptsRoot, h.Bloom = consensus.Receipts(b.Txs, nil)
	if h.HasExtData {
		h.ExtDataHash = consensus.ExtDataHash(b.ExtData)
	}
	h.Fill(b)
	b.Header = h.Append(nil)
	b.Hash = evm.Keccak(b.Header)
	b.Size = consensus.BlockSize(b, h.HasExtData)
	return m
}

func hexData(b []byte) string { return fmt.Sprintf("0x%x", b) }

// json writes the block and its receipts as a node does.
func (m *made) json() (block, receipts []byte) {
	h, b := &m.header, &m.block
	o := map[string]any{
		"hash": b.Hash.String(), "parentHash": h.Parent.String(), "sha3Uncles": h.Uncles.String(), "miner": hexData(h.Miner[:]),
		"stateRoot": h.StateRoot.String(), "transactionsRoot": h.TxRoot.String(), "receiptsRoot": h.ReceiptsRoot.String(),
		"logsBloom": hexData(h.Bloom[:]), "difficulty": h.Difficulty.Hex(), "number": number(h.Number), "gasLimit": number(h.GasLimit),
		"gasUsed": number(h.GasUsed), "timestamp": number(h.Time), "extraData": hexData(h.Extra), "mixHash": h.MixHash.String(),
		"nonce": hexData(h.Nonce[:]), "size": number(b.Size), "totalDifficulty": number(h.Number), "uncles": []any{},
	}
	if h.HasExtData {
		o["extDataHash"], o["blockExtraData"] = h.ExtDataHash.String(), hexData(b.ExtData)
	}
	for name, v := range map[string]*uint256.Int{"baseFeePerGas": h.BaseFee, "extDataGasUsed": h.ExtDataGasUsed, "blockGasCost": h.BlockGasCost} {
		if v != nil {
			o[name] = v.Hex()
		}
	}
	for name, v := range map[string]*uint64{"blobGasUsed": h.BlobGasUsed, "excessBlobGas": h.ExcessBlobGas, "timestampMilliseconds": h.TimeMilli, "minDelayExcess": h.MinDelayExcess} {
		if v != nil {
			o[name] = number(*v)
		}
	}
	if h.ParentBeaconRoot != nil {
		o["parentBeaconBlockRoot"] = h.ParentBeaconRoot.String()
	}
	for name, v := range m.extra {
		o[name] = v
	}
	txs, rs, gas := []any{}, []any{}, uint64(0)
	for i := range b.Txs {
		gas += b.Txs[i].GasUsed
		txs, rs = append(txs, m.tx(i)), append(rs, m.receipt(i, gas))
	}
	o["transactions"] = txs
	return must(json.Marshal(o)), must(json.Marshal(rs))
}

// at are the members that say where transaction i is.
func (m *made) at(i int, o map[string]any) map[string]any {
	t := &m.block.Txs[i]
	o["blockHash"], o["blockNumber"], o["transactionIndex"] = m.block.Hash.String(), number(m.header.Number), number(uint64(i))
	o["from"], o["to"], o["type"] = hexData(t.From[:]), any(hexData(t.To[:])), number(uint64(t.Type))
	if t.Creation {
		o["to"] = nil
	}
	return o
}

func (m *made) tx(i int) map[string]any {
	t, s := &m.block.Txs[i], &m.signed[i]
	o := m.at(i, map[string]any{
		"hash": t.Hash.String(), "nonce": number(t.Nonce), "value": t.Value.Hex(), "gas": number(t.GasLimit), "gasPrice": t.GasPrice.Hex(),
		"input": hexData(t.Input), "v": s.V.Hex(), "r": s.R.Hex(), "s": s.S.Hex(),
	})
	if t.Type == consensus.TypeLegacy {
		if id := consensus.ChainID(&s.V); id != nil {
			o["chainId"] = id.Hex()
		}
		return o
	}
	o["chainId"], o["yParity"] = s.ChainID.Hex(), s.V.Hex()
	access := []any{}
	for _, a := range s.Access {
		keys := []any{}
		for _, k := range a.Keys {
			keys = append(keys, k.String())
		}
		access = append(access, map[string]any{"address": hexData(a.Address[:]), "storageKeys": keys})
	}
	o["accessList"] = access
	if t.MaxFee != nil {
		o["maxFeePerGas"], o["maxPriorityFeePerGas"] = t.MaxFee.Hex(), t.MaxPriorityFee.Hex()
	}
	switch t.Type {
	case consensus.TypeBlob:
		hashes := []any{}
		for _, h := range s.BlobHashes {
			hashes = append(hashes, h.String())
		}
		o["maxFeePerBlobGas"], o["blobVersionedHashes"] = s.MaxBlobFee.Hex(), hashes
	case consensus.TypeSetCode:
		auths := []any{}
		for i := range s.Auths {
			a := &s.Auths[i]
			auths = append(auths, map[string]any{"chainId": a.ChainID.Hex(), "address": hexData(a.Address[:]), "nonce": number(a.Nonce), "yParity": number(uint64(a.V)), "r": a.R.Hex(), "s": a.S.Hex()})
		}
		o["authorizationList"] = auths
	}
	return o
}

func (m *made) receipt(i int, cumulative uint64) map[string]any {
	t := &m.block.Txs[i]
	logs := []any{}
	for k := range t.Logs {
		l, topics := &t.Logs[k], []any{}
		for _, topic := range l.Topics {
			topics = append(topics, topic.String())
		}
		logs = append(logs, map[string]any{
			"address": hexData(l.Address[:]), "topics": topics, "data": hexData(l.Data), "logIndex": number(uint64(l.Index)), "removed": false,
			"blockHash": m.block.Hash.String(), "blockNumber": number(m.header.Number), "transactionHash": t.Hash.String(), "transactionIndex": number(uint64(i)),
		})
	}
	f := consensus.Bloom(m.block.Txs[i : i+1])
	o := m.at(i, map[string]any{
		"transactionHash": t.Hash.String(), "contractAddress": nil, "cumulativeGasUsed": number(cumulative), "gasUsed": number(t.GasUsed),
		"effectiveGasPrice": t.GasPrice.Hex(), "logs": logs, "logsBloom": hexData(f[:]), "status": "0x1",
	})
	if t.Failed {
		o["status"] = "0x0"
	}
	if t.Creation {
		o["contractAddress"] = hexData(t.Contract[:])
	}
	return o
}

// variety is a block with transactions of all types, failed ones and creations
// among them, with and without logs, and on the C-Chain with ExtData.
func variety(h consensus.Header) *made {
	m := &made{header: h}
	for kind := range uint8(consensus.LastType + 1) {
		for i := range 3 {
			if kind%2 == 1 && i != 2 { // what is particular to the type will do
				continue
			}
			tx := evm.Tx{
				Type: kind, Nonce: uint64(i * 200), To: evm.Address{1, 19: byte(i)}, GasLimit: 1 << (16 + i), GasUsed: 21_000 + uint64(i),
				Input: make([]byte, 30*i*i), Failed: i == 1, Value: *uint256.NewInt(uint64(i) << 40),
			}
			tx.GasPrice.SetUint64(30e9)
			if kind >= consensus.TypeDynamicFee {
				tx.MaxFee, tx.MaxPriorityFee = uint256.NewInt(40e9), uint256.NewInt(1e9)
			}
			for k := range i * 2 {
				tx.Logs = append(tx.Logs, evm.Log{Address: evm.Address{9}, Data: make([]byte, k*40), Topics: make([]evm.Hash, bits.Len(uint(k)))})
			}
			if tx.Creation = i == 2 && kind < consensus.TypeBlob; tx.Creation {
				tx.To = evm.Address{}
			}
			s := consensus.Signed{}
			if kind == consensus.TypeLegacy && i > 0 {
				s.ChainID.SetUint64(madeChain)
			}
			for k := range i {
				s.Access = append(s.Access, consensus.Access{Address: evm.Address{byte(k)}, Keys: make([]evm.Hash, 2*k)})
				s.BlobHashes = append(s.BlobHashes, evm.Hash{1, 2})
				s.Auths = append(s.Auths, consensus.Auth{ChainID: *uint256.NewInt(uint64(k)), Address: evm.Address{3}, Nonce: 7, V: uint8(k), R: *uint256.NewInt(8), S: *uint256.NewInt(9)})
			}
			s.MaxBlobFee.SetUint64(uint64(i))
			m.add(tx, s)
		}
	}
	if h.HasExtData {
		var w codecWriter
		w = append(w, 0, 0)
		w.u32(1)
		w.export(0xaa)
		m.block.ExtData = w
	}
	return m.seal()
}
