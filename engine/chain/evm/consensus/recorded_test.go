package consensus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// answer is what a real node said of a block: see engine/source/evm/testdata.
type answer struct {
	block    map[string]any
	receipts []map[string]any
}

func recorded(t testing.TB) map[uint64]*answer {
	t.Helper()
	f, err := os.Open("../../../source/evm/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[uint64]*answer{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Method string
			Params []any
			Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Method != "eth_getBlockByNumber" && r.Method != "eth_getBlockReceipts" || r.Params[0] == "latest" || len(r.Result) < len("null0") && string(r.Result) != "[]" {
			continue
		}
		n := num(r.Params[0]).Uint64()
		if found[n] == nil {
			found[n] = &answer{}
		}
		if r.Method == "eth_getBlockByNumber" {
			err = json.Unmarshal(r.Result, &found[n].block)
		} else {
			err = json.Unmarshal(r.Result, &found[n].receipts)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func num(v any) *uint256.Int {
	if v == nil {
		return nil
	}
	b, ok := new(big.Int).SetString(v.(string), 0)
	if !ok {
		panic(v)
	}
	return uint256.MustFromBig(b)
}

func u64(v any) *uint64 {
	if v == nil {
		return nil
	}
	n := num(v).Uint64()
	return &n
}

func data(v any) []byte {
	var b []byte
	if _, err := fmt.Sscanf(strings.TrimPrefix(v.(string), "0x"), "%x", &b); err != nil && len(v.(string)) > 2 {
		panic(err)
	}
	return b
}

func hashOf(v any) evm.Hash  { return evm.Hash(data(v)) }
func addr(v any) evm.Address { return evm.Address(data(v)) }

func (a *answer) header() *Header {
	b := a.block
	h := &Header{
		Parent: hashOf(b["parentHash"]), Uncles: hashOf(b["sha3Uncles"]), Miner: addr(b["miner"]),
		StateRoot: hashOf(b["stateRoot"]), TxRoot: hashOf(b["transactionsRoot"]), ReceiptsRoot: hashOf(b["receiptsRoot"]),
		Bloom: [256]byte(data(b["logsBloom"])), Difficulty: *num(b["difficulty"]), Number: *u64(b["number"]),
		GasLimit: *u64(b["gasLimit"]), GasUsed: *u64(b["gasUsed"]), Time: *u64(b["timestamp"]), Extra: data(b["extraData"]),
		MixHash: hashOf(b["mixHash"]), Nonce: [8]byte(data(b["nonce"])),
		BaseFee: num(b["baseFeePerGas"]), ExtDataGasUsed: num(b["extDataGasUsed"]), BlockGasCost: num(b["blockGasCost"]),
		BlobGasUsed: u64(b["blobGasUsed"]), ExcessBlobGas: u64(b["excessBlobGas"]),
		TimeMilli: u64(b["timestampMilliseconds"]), MinDelayExcess: u64(b["minDelayExcess"]),
	}
	if v := b["parentBeaconBlockRoot"]; v != nil {
		root := hashOf(v)
		h.ParentBeaconRoot = &root
	}
	if v := b["extDataHash"]; v != nil {
		h.HasExtData, h.ExtDataHash = true, hashOf(v)
	}
	return h
}

// txOf makes a transaction and what belongs to its encoding of an object.
func txOf(m map[string]any) (tx evm.Tx, s Signed) {
	tx = evm.Tx{
		Hash: hashOf(m["hash"]), Type: uint8(*u64(m["type"])), Nonce: *u64(m["nonce"]),
		Value: *num(m["value"]), GasLimit: *u64(m["gas"]), Input: data(m["input"]),
		MaxFee: num(m["maxFeePerGas"]), MaxPriorityFee: num(m["maxPriorityFeePerGas"]), Creation: m["to"] == nil,
	}
	if m["from"] != nil {
		tx.From = addr(m["from"])
	}
	if m["gasPrice"] != nil {
		tx.GasPrice = *num(m["gasPrice"])
	}
	if !tx.Creation {
		tx.To = addr(m["to"])
	}
	s = Signed{V: *num(m["v"]), R: *num(m["r"]), S: *num(m["s"])}
	if m["chainId"] != nil {
		s.ChainID = *num(m["chainId"])
	}
	if m["maxFeePerBlobGas"] != nil {
		s.MaxBlobFee = *num(m["maxFeePerBlobGas"])
	}
	hashes, _ := m["blobVersionedHashes"].([]any)
	for _, h := range hashes {
		s.BlobHashes = append(s.BlobHashes, hashOf(h))
	}
	list, _ := m["accessList"].([]any)
	for _, v := range list {
		entry := v.(map[string]any)
		a := Access{Address: addr(entry["address"])}
		keys, _ := entry["storageKeys"].([]any)
		for _, key := range keys {
			a.Keys = append(a.Keys, hashOf(key))
		}
		s.Access = append(s.Access, a)
	}
	return tx, s
}

// blockOf makes a block of an answer.
func (a *answer) blockOf(t testing.TB) *evm.Block {
	t.Helper()
	h := a.header()
	b := &evm.Block{Hash: hashOf(a.block["hash"]), Header: h.Append(nil), ExtData: data(a.block["blockExtraData"])}
	h.Fill(b)
	for i, v := range a.block["transactions"].([]any) {
		m := v.(map[string]any)
		tx, s := txOf(m)
		raw, err := AppendTx(nil, &tx, &s)
		if err != nil {
			t.Fatal(err)
		}
		tx.Raw = raw
		r := a.receipts[i]
		tx.Failed, tx.GasUsed = r["status"] == "0x0", *u64(r["gasUsed"])
		for _, v := range r["logs"].([]any) {
			m := v.(map[string]any)
			l := evm.Log{Address: addr(m["address"]), Data: data(m["data"])}
			for _, topic := range m["topics"].([]any) {
				l.Topics = append(l.Topics, hashOf(topic))
			}
			tx.Logs = append(tx.Logs, l)
		}
		b.Txs = append(b.Txs, tx)
	}
	return b
}

// What a real node answered hashes to what it says.
func TestRecorded(t *testing.T) {
	t.Parallel()
	answers := recorded(t)
	if len(answers) != 4 {
		t.Fatalf("%d blocks", len(answers))
	}
	for n, a := range answers {
		b := a.blockOf(t)
		if err := Check(b); err != nil {
			t.Errorf("block %d: %v", n, err)
		}
		for i := range b.Txs {
			from, err := Sender(b.Txs[i].Raw)
			if err != nil || from != b.Txs[i].From {
				t.Errorf("block %d, transaction %d: sender %s, %v", n, i, from, err)
			}
			if price, want := EffectivePrice(&b.Txs[i], b.BaseFee), num(a.receipts[i]["effectiveGasPrice"]); !price.Eq(want) {
				t.Errorf("block %d, transaction %d: price %s, want %s", n, i, &price, want)
			}
		}
	}
}
