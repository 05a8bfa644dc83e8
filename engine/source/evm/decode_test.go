package evm

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	gojson "github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

func TestHex(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]uint64{"0x0": 0, "0x00": 0, "0xff": 255, "0XfF": 255, "0xffffffffffffffff": math.MaxUint64} {
		if got, err := hexUint([]byte(s)); err != nil || got != want {
			t.Errorf("%s: %d, %v", s, got, err)
		}
		var v uint256.Int
		if err := hexUint256(&v, []byte(s)); err != nil || !v.IsUint64() || v.Uint64() != want {
			t.Errorf("%s: %s, %v", s, &v, err)
		}
	}
	for _, s := range []string{"", "0", "0x", "x0", "0xg", "0x-1", "-0x1", " 0x1", "0x1 ", "0x10000000000000000", "1"} {
		if got, err := hexUint([]byte(s)); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
	var v uint256.Int
	for n := 1; n <= 64; n++ {
		digits := strings.Repeat("9abcdef012345678", 4)[:n]
		want, err := uint256.FromHex("0x" + digits)
		if err != nil {
			t.Fatal(err)
		}
		if err := hexUint256(&v, []byte("0x"+digits)); err != nil || !v.Eq(want) {
			t.Errorf("%s: %s, %v", digits, v.Hex(), err)
		}
	}
	if err := hexUint256(&v, []byte("0x"+strings.Repeat("0", 65))); err == nil {
		t.Error("65 digits were read")
	}
	var a arena
	for _, s := range []string{"0x0", "0xzz", "zz", "", "0x0g"} {
		if got, err := a.hexBytes([]byte(s)); err == nil {
			t.Errorf("%q: %x", s, got)
		}
	}
	first, second := must(a.hexBytes([]byte("0x0102"))), must(a.hexBytes([]byte("0x0304")))
	if longer := append(first, 9); second[0] != 3 || longer[2] != 9 {
		t.Error("pieces of memory overlap")
	}
}

// atomicTx writes a transaction in the codec.
type codecWriter []byte

func (w *codecWriter) u32(v ...uint32) {
	for _, v := range v {
		*w = append(*w, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
}

func (w *codecWriter) pad(b byte, n int) {
	*w = append(*w, []byte(strings.Repeat(string([]byte{b}), n))...)
}

// export writes an export of amounts of assets by accounts, with two outputs and
// two signatures.
func (w *codecWriter) export(asset ...byte) {
	w.u32(typeExport, 1)
	w.pad(0x11, 64)
	w.u32(uint32(len(asset)))
	for i, a := range asset {
		w.pad(byte(i+1), evm.AddressLen)
		w.u32(0, uint32(i+1))
		w.pad(a, evm.HashLen)
		w.u32(0, 7)
	}
	w.u32(2)
	for range 2 {
		w.pad(0xaa, 32)
		w.u32(typeOutput, 0, 5, 0, 0, 1, 2)
		w.pad(0x33, 2*addressesLen)
	}
	w.u32(1, typeCredential, 2)
	w.pad(0x44, 2*signatureLen)
}

func TestAtomic(t *testing.T) {
	t.Parallel()
	asset := evm.Hash{}
	for i := range asset {
		asset[i] = 0xaa
	}
	var single, list codecWriter
	single = append(single, 0, 0)
	single.export(0xaa, 0xbb, 0xaa)
	list = append(list, 0, 0)
	list.u32(2)
	list.export(0xaa)
	list.export(0xbb, 0xaa)
	for name, c := range map[string]struct {
		text codecWriter
		want string
	}{
		"single": {single, "[1 3]"},
		"list":   {list, "[1 2]"},
	} {
		found, err := decodeAtomic(c.text, asset)
		var got []uint64
		for _, a := range found {
			n := new(uint256.Int).Div(&a.Wei, uint256.NewInt(weiPerNano)).Uint64()
			got = append(got, n)
			if !a.Export || a.Address[0] != byte(n) && name == "single" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, c.want)
		}
		for n := range c.text {
			if _, err := decodeAtomic(c.text[:n], asset); err == nil {
				t.Errorf("%s: read when cut after %d bytes", name, n)
			}
		}
		if _, err := decodeAtomic(append(c.text[:len(c.text):len(c.text)], 0), asset); err == nil {
			t.Errorf("%s: a byte is left over", name)
		}
	}
	for _, s := range []string{"0x0", "00", "0x0000", "0x000000000000", "0x0001", "0x0000ffffffff", "0xzzzz"} {
		if got, err := decodeExtra([]byte(s), asset); err == nil {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func FuzzAtomic(f *testing.F) {
	var w codecWriter
	w = append(w, 0, 0)
	w.export(0xaa, 0xbb)
	f.Add([]byte(w))
	for _, r := range newNode(f).answers {
		if _, h, err := decodeHeader(r.Result); err == nil && len(h.extra) > 2 {
			f.Add(must(hex.DecodeString(string(h.extra[2:]))))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := decodeAtomic(b, avaxID)
		if err != nil && found != nil {
			t.Error("an error and amounts")
		}
		if len(found) > len(b)/evm.AddressLen {
			t.Errorf("%d accounts in %d bytes", len(found), len(b))
		}
	})
}

func FuzzBlock(f *testing.F) {
	n := newNode(f)
	block := n.answers[key("eth_getBlockByNumber", []byte(`["0x3",true]`))].Result
	receipts := n.answers[key("eth_getBlockReceipts", []byte(`["0x3"]`))].Result
	f.Add([]byte(block), []byte(receipts))
	f.Add([]byte(n.answers[key("eth_getBlockByNumber", []byte(`["0x1",true]`))].Result), []byte("[]"))
	f.Add([]byte(`{"number":"0x3","transactions":[{}]}`), []byte(`[{"logs":[{"topics":[]}]}]`))
	f.Fuzz(func(t *testing.T, block, receipts []byte) {
		b, err := decodeBlock(block, 3, avaxID)
		if err != nil {
			return
		}
		if b.Number != 3 {
			t.Errorf("block %d", b.Number)
		}
		if decodeReceipts(b, receipts) != nil {
			return
		}
		var gas uint64
		index := uint32(0)
		for i, tx := range b.Txs {
			gas += tx.GasUsed
			if tx.Index != uint32(i) {
				t.Errorf("transaction %d has index %d", i, tx.Index)
			}
			for _, l := range tx.Logs {
				if l.Index != index || len(l.Topics) > 4 {
					t.Errorf("log %d: %+v", index, l)
				}
				index++
			}
		}
		if gas != b.GasUsed {
			t.Errorf("%d gas of %d", gas, b.GasUsed)
		}
	})
}

// big is block 3 with n transactions that each move a token, as a node writes it.
func big(n int) (block, receipts []byte) { return bigAt(3, n) }

func bigAt(number uint64, n int) (block, receipts []byte) {
	hash, parent := fmt.Sprintf("0x%064x", number+1), fmt.Sprintf("0x%064x", number)
	const sender, token = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc", "0x00000000000000000000000000000000deadbeef"
	bloom := "0x" + strings.Repeat("00", 256)
	var txs, rs []string
	for i := range n {
		id := fmt.Sprintf("0x%064x", i+1)
		txs = append(txs, fmt.Sprintf(`{"blockHash":%q,"blockNumber":"%#x","from":%q,"gas":"0xc350","gasPrice":"0x5d21dba00","maxFeePerGas":"0xe8d4a51000","maxPriorityFeePerGas":"0x1","hash":%q,"input":"0xa9059cbb000000000000000000000000%s00000000000000000000000000000000000000000000000000000000000f4240","nonce":"%#x","to":%q,"transactionIndex":"%#x","value":"0x0","type":"0x2","accessList":[],"chainId":"0xa868","v":"0x0","r":"0x52c67608700b688c226da65d3b58db0f9b2c92f1ec59ee4f39c9dd313aa31a45","s":"0x4a0f0f0a625eef558d134923b05333212e86015a15476c806deba737a264cb62","yParity":"0x0"}`,
			hash, number, sender, id, sender[2:], i, token, i))
		rs = append(rs, fmt.Sprintf(`{"blockHash":%q,"blockNumber":"%#x","contractAddress":null,"cumulativeGasUsed":"%#x","effectiveGasPrice":"0x5d21dba00","from":%q,"gasUsed":"0xa000","logs":[{"address":%q,"topics":["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef","0x0000000000000000000000008db97c7cece249c2b98bdc0226cc4c2a57bf52fc","0x%064x"],"data":"0x00000000000000000000000000000000000000000000000000000000000f4240","blockNumber":"%#x","transactionHash":%q,"transactionIndex":"%#x","blockHash":%q,"logIndex":"%#x","removed":false}],"logsBloom":%q,"status":"0x1","to":%q,"transactionHash":%q,"transactionIndex":"%#x","type":"0x2"}`,
			hash, number, 0xa000*(i+1), sender, token, i, number, id, i, hash, i, bloom, token, id, i))
	}
	block = fmt.Appendf(nil, `{"baseFeePerGas":"0x5d21dba00","blobGasUsed":"0x0","blockExtraData":"0x","blockGasCost":"0x0","difficulty":"0x1","extDataHash":"0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421","extraData":"0x","gasLimit":"0x989680","gasUsed":"%#x","hash":%q,"logsBloom":%q,"miner":"0x0100000000000000000000000000000000000000","mixHash":%q,"nonce":"0x0000000000000000","number":"%#x","parentHash":%q,"receiptsRoot":%q,"sha3Uncles":%q,"size":"0x701","stateRoot":%q,"timestamp":"0x6b00e0b9","timestampMilliseconds":"0x1a1fb6dd576","totalDifficulty":"0x3","transactions":[%s],"transactionsRoot":%q,"uncles":[]}`,
		0xa000*n, hash, bloom, hash, number, parent, hash, hash, hash, strings.Join(txs, ","), hash)
	return block, []byte("[" + strings.Join(rs, ",") + "]")
}

const benchTxs = 100

func TestBigBlock(t *testing.T) {
	block, receipts := big(benchTxs)
	b, err := decodeBlock(block, 3, avaxID)
	if err == nil {
		err = decodeReceipts(b, receipts)
	}
	if err != nil || len(b.Txs) != benchTxs || b.Txs[99].Logs[0].Index != 99 || len(b.Txs[99].Input) != 68 {
		t.Fatalf("%v", err)
	}
	allocs := testing.AllocsPerRun(20, func() {
		b, err := decodeBlock(block, 3, avaxID)
		if err == nil {
			err = decodeReceipts(b, receipts)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocs > benchTxs/4 {
		t.Errorf("%v allocations for %d transactions", allocs, benchTxs)
	}
	t.Logf("%v allocations for %d transactions, %d bytes each", allocs, benchTxs, (len(block)+len(receipts))/benchTxs)
}

func perTx(b *testing.B, bytes int) {
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(b.N)*benchTxs/b.Elapsed().Seconds(), "txs/s")
}

func BenchmarkDecode(b *testing.B) {
	block, receipts := big(benchTxs)
	b.ReportAllocs()
	for b.Loop() {
		blk, err := decodeBlock(block, 3, avaxID)
		if err == nil {
			err = decodeReceipts(blk, receipts)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	perTx(b, len(block)+len(receipts))
}

// The floor: the same texts into plain structs of strings, nothing checked.
func BenchmarkDecodeFloor(b *testing.B) {
	block, receipts := big(benchTxs)
	b.ReportAllocs()
	for b.Loop() {
		var x struct {
			BaseFeePerGas, GasLimit, GasUsed, Hash, Miner, Number, ParentHash, Size, Timestamp, TimestampMilliseconds, BlockExtraData string
			Transactions                                                                                                              []struct {
				BlockHash, BlockNumber, From, Gas, GasPrice, MaxFeePerGas, MaxPriorityFeePerGas, Hash, Input, Nonce, To, TransactionIndex, Value, Type string
			}
		}
		var y []struct {
			BlockHash, BlockNumber, ContractAddress, CumulativeGasUsed, EffectiveGasPrice, From, GasUsed, Status, To, TransactionHash, TransactionIndex, Type string
			Logs                                                                                                                                              []struct {
				Address, Data, TransactionHash, BlockHash, LogIndex string
				Topics                                              []string
				Removed                                             bool
			}
		}
		if err := gojson.Unmarshal(block, &x); err != nil {
			b.Fatal(err)
		}
		if err := gojson.Unmarshal(receipts, &y); err != nil || len(x.Transactions) != len(y) {
			b.Fatal(err)
		}
	}
	perTx(b, len(block)+len(receipts))
}
