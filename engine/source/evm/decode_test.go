package evm

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gojson "github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/metric"
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
	w.u32(1, 1) // an export
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
		w.u32(7, 0, 5, 0, 0, 1, 2) // an output
		w.pad(0x33, 2*20)
	}
	w.u32(1, 9, 2) // a credential
	w.pad(0x44, 2*65)
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
		for n := 1; n < len(c.text); n++ { // without any there is nothing to read
			if _, err := decodeAtomic(c.text[:n], asset); err == nil {
				t.Errorf("%s: read when cut after %d bytes", name, n)
			}
		}
		if _, err := decodeAtomic(append(c.text[:len(c.text):len(c.text)], 0), asset); err == nil {
			t.Errorf("%s: a byte is left over", name)
		}
	}
	for _, s := range []string{"0x0", "00", "0x0000", "0x000000000000", "0x0001", "0x0000ffffffff", "0xzzzz"} {
		if _, got, err := decodeExtra([]byte(s), asset); err == nil {
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
		b, err := decodeBlock(block, 3, avaxID, nil)
		if err != nil {
			return
		}
		if b.Number != 3 {
			t.Errorf("block %d", b.Number)
		}
		if decodeReceipts(b, receipts, nil) != nil {
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
func big(n int) (block, receipts []byte) { return bigAfter(evm.Hash{3}, 3, n).json() }

// bigAfter is such a block at another height.
func bigAfter(parent evm.Hash, number uint64, n int) *made {
	m := newMade(parent, number)
	for i := range n {
		to := evm.Hash{12: 0xbe, 30: byte(i >> 8), 31: byte(i)}
		token := evm.Address{16: 0xde, 17: 0xad, 18: 0xbe, 19: 0xef}
		tx := evm.Tx{
			Type: 2, Nonce: uint64(i), To: token, GasLimit: 0xc350, GasUsed: 0xa000,
			MaxFee: uint256.NewInt(1e12), MaxPriorityFee: uint256.NewInt(1),
			Input: slices.Concat([]byte{0xa9, 0x05, 0x9c, 0xbb}, to[:], bytes.Repeat([]byte{7}, 32)),
		}
		tx.Logs = []evm.Log{{Address: token, Topics: []evm.Hash{evm.Keccak([]byte("Transfer(address,address,uint256)")), {12: 1}, to}, Data: bytes.Repeat([]byte{7}, 32)}}
		m.add(tx, consensus.Signed{})
	}
	return m.seal()
}

const benchTxs = 100

func TestBigBlock(t *testing.T) {
	block, receipts := big(benchTxs)
	b, err := decodeBlock(block, 3, avaxID, nil)
	if err == nil {
		err = decodeReceipts(b, receipts, nil)
	}
	if err != nil || len(b.Txs) != benchTxs || b.Txs[99].Logs[0].Index != 99 || len(b.Txs[99].Input) != 68 {
		t.Fatalf("%v", err)
	}
	allocs := testing.AllocsPerRun(20, func() {
		b, err := decodeBlock(block, 3, avaxID, nil)
		if err == nil {
			err = decodeReceipts(b, receipts, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocs > benchTxs/3 {
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
		blk, err := decodeBlock(block, 3, avaxID, nil)
		if err == nil {
			err = decodeReceipts(blk, receipts, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	perTx(b, len(block)+len(receipts))
}

// BenchmarkDecodeChecked is the same with all that the hash covers computed, and the
// senders of none.
func BenchmarkDecodeChecked(b *testing.B) {
	block, receipts := big(benchTxs)
	c := newChecker(VerifySample, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	b.ReportAllocs()
	for b.Loop() {
		c.last, c.saved = time.Now(), -time.Hour
		if _, err := decodeBoth(lie{"", block, receipts}, 3, c); err != nil {
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
