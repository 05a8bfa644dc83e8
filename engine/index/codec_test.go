package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// someTxs returns transactions of all sorts with their transfers.
func someTxs(n int) (txs []*Tx) {
	for _, b := range indextest.New(indextest.Config{Seed: 8, Txs: 30, Full: true}).Blocks(n) {
		for i := range b.Txs {
			tx := &Tx{
				Block: BlockRef{Number: b.Number, Hash: b.Hash, TimeMilli: b.TimeMilli, BaseFee: b.BaseFee},
				Tx:    b.Txs[i], Traced: b.Traced,
			}
			for j := range tx.Logs {
				tx.Transfers = AppendTransfers(tx.Transfers, &tx.Logs[j])
			}
			tx.Logs = nil
			txs = append(txs, tx)
		}
	}
	most := *new(uint256.Int).SetAllOne()
	a := evm.Address{1}
	return append(txs, &Tx{
		Block: BlockRef{Number: math.MaxUint64, TimeMilli: math.MaxUint64, BaseFee: &most},
		Tx: evm.Tx{
			Index: math.MaxUint32, Type: 255, Nonce: math.MaxUint64, From: a, To: a, Value: most, GasPrice: most, MaxFee: &most,
			GasLimit: math.MaxUint64, GasUsed: math.MaxUint64, Input: make([]byte, 200_000),
			Calls: []evm.Call{{Type: 255, Depth: math.MaxUint16, Value: most, Gas: math.MaxUint64, GasUsed: math.MaxUint64, Reverted: true}},
		},
		Transfers: []Transfer{
			{LogIndex: 5, Kind: ERC1155, Item: math.MaxUint16, ID: most, Value: most},
			{LogIndex: math.MaxUint32, Kind: ERC20, Value: most},
		},
	})
}

func encoded(tx *Tx) []byte {
	var e txEncoder
	return e.append(nil, &tx.Tx, tx.Transfers, tx.Traced)
}

// encodedOld is the row of a transaction in version 1 of the codec.
func encodedOld(tx *Tx) []byte {
	e, flags := txEncoder{}, encoded(tx)[txFlagsAt]&^txPacked
	e.all(&tx.Tx, tx.Transfers, tx.Input)
	if tx.Block.BaseFee != nil {
		flags |= txHasBaseFee
	}
	b := append(append([]byte{oldTxVersion, flags}, tx.Hash[:]...), tx.Block.Hash[:]...)
	b = binary.AppendUvarint(b, tx.Block.TimeMilli)
	if tx.Block.BaseFee != nil {
		b = appendU256(b, tx.Block.BaseFee)
	}
	return append(append(binary.AppendUvarint(b, uint64(len(e.places))), e.list...), e.body...)
}

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tx := range someTxs(10) {
		for _, b := range [][]byte{encoded(tx), encodedOld(tx)} {
			block := tx.Block
			if b[0] == oldTxVersion { // whose rows say it
				block = BlockRef{Number: tx.Block.Number}
			}
			got, err := decodeTx(&block, tx.Index, b)
			if err != nil {
				t.Fatal(err)
			}
			clear(b) // nothing may refer to it
			if !reflect.DeepEqual(got, tx) {
				t.Fatalf("got  %+v\nwant %+v", got, tx)
			}
		}
	}
}

// Whatever is cut off or changed is an error or another transaction, never a panic.
func TestCodecDamage(t *testing.T) {
	t.Parallel()
	for _, tx := range someTxs(2)[:20] {
		b := encoded(tx)
		for i := range b {
			if _, err := decodeTx(&tx.Block, 1, b[:i]); !errors.Is(err, errCodec) {
				t.Fatalf("cut at %d of %d: %v", i, len(b), err)
			}
		}
		if _, err := decodeTx(&tx.Block, 1, append(b, 0)); !errors.Is(err, errCodec) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
}

func FuzzDecodeTx(f *testing.F) {
	for _, tx := range someTxs(3) {
		for _, b := range [][]byte{encoded(tx), encodedOld(tx)} {
			if len(b) < 5000 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tx, err := decodeTx(&BlockRef{Number: 7}, 3, b)
		if err != nil {
			return
		}
		again, err := decodeTx(&tx.Block, 3, encoded(tx))
		if err != nil || !reflect.DeepEqual(tx, again) {
			t.Fatalf("%v: %+v\nwas %+v", err, again, tx)
		}
	})
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 3*maxZeros+1))
	f.Add([]byte{1, 0, 2, 0, 0, 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok := appendUnpacked([]byte{9}, appendPacked(nil, b), math.MaxInt-1); !ok || !bytes.Equal(got[1:], b) {
			t.Errorf("%x was %x", got, b)
		}
		all, ok := appendUnpacked(nil, b, math.MaxInt)
		if got, _ := appendUnpacked(nil, b, maxSelector); ok && !bytes.Equal(got[:min(len(got), maxSelector)], all[:min(len(all), maxSelector)]) {
			t.Errorf("%x begins with %x", all, got)
		}
	})
}

func FuzzDecodeHeader(f *testing.F) {
	for _, b := range indextest.New(indextest.Config{Seed: 8, Txs: 3}).Blocks(5) {
		f.Add(appendHeader(nil, b, nil, nil))
		f.Add(appendHeader(nil, b, uint256.NewInt(0), uint256.NewInt(7)))
		b.Reserved = &evm.Reserved{Gas: 8e6, BaseFee: *uint256.NewInt(9), Settled: 3}
		f.Add(appendHeader(nil, b, uint256.NewInt(0), uint256.NewInt(7)))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader(9, b)
		if err != nil {
			return
		}
		blk := evm.Block{
			Number: 9, Hash: h.Hash, Parent: h.Parent, Miner: h.Miner, TimeMilli: h.TimeMilli, GasLimit: h.GasLimit,
			GasUsed: h.GasUsed, Size: h.Size, BaseFee: h.BaseFee, Reserved: h.Reserved, Traced: h.Traced,
		}
		if h.TxCount > 1000 {
			return // the encoder counts transactions
		}
		blk.Txs = make([]evm.Tx, h.TxCount)
		again, err := decodeHeader(9, appendHeader(nil, &blk, h.Fees, h.GasCost))
		if err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("%v: %+v\nwas %+v", err, again, h)
		}
	})
}

func FuzzSmallRows(f *testing.F) {
	f.Add(appendToken(nil, &TokenMeta{Kind: ERC721, Name: "name", Symbol: "S", Decimals: 18, HasDecimals: true}))
	f.Add((&balance{amount: *uint256.NewInt(300), doubtful: true}).append(nil))
	f.Add((&balance{amount: *uint256.NewInt(300), peak: *uint256.NewInt(70_000)}).append(nil))
	f.Add((&cursor{gaps: []Gap{{3, 9}}, traced: true}).append(nil))
	f.Add(append([]byte{1}, make([]byte, oldCursorLen-1)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeToken(b); err == nil {
			if again, err := decodeToken(appendToken(nil, &m)); err != nil || again != m {
				t.Fatalf("token %+v, was %+v: %v", again, m, err)
			}
		}
		var bal, balAgain balance
		if bal.decode(b) == nil {
			if err := balAgain.decode(bal.append(nil)); err != nil || balAgain != bal {
				t.Fatalf("balance %+v, was %+v: %v", balAgain, bal, err)
			}
		}
		var c cursor
		if c.decode(b) == nil && b[0] == cursorVersion && !bytes.Equal(c.append(nil), b) {
			t.Fatal("cursor differs")
		}
	})
}

func TestBalanceCodec(t *testing.T) {
	t.Parallel()
	f := func(row []byte, amount, peak uint64, doubtful bool) {
		t.Helper()
		want := balance{amount: *uint256.NewInt(amount), peak: *uint256.NewInt(peak), doubtful: doubtful}
		if got := want.append(nil); !bytes.Equal(got, row) {
			t.Errorf("%+v is %x, want %x", want, got, row)
		}
		got := balance{amount: *uint256.NewInt(8), peak: *uint256.NewInt(9), doubtful: true} // of a row before
		if err := got.decode(row); err != nil || got != want {
			t.Errorf("%x is %+v, want %+v, %v", row, got, want, err)
		}
	}
	f([]byte{0}, 0, 0, false)
	f([]byte{1, 1, 0}, 256, 256, true)
	f([]byte{2, 1, 7}, 0, 7, false)
	f([]byte{3, 2, 1, 0, 255}, 255, 256, true)
	for _, row := range [][]byte{
		{}, {4}, {0xff, 1}, {2}, {2, 0}, {2, 2, 1}, {2, 1, 7, 7}, {2, 1, 7, 8}, {2, 2, 0, 7}, append([]byte{2, 33}, make([]byte, 40)...),
		append([]byte{0, 1}, make([]byte, 32)...),
	} {
		if err := new(balance).decode(row); !errors.Is(err, errCodec) {
			t.Errorf("%x: %v", row, err)
		}
	}
}

// Logs come from contracts, which may log anything.
func FuzzTransfers(f *testing.F) {
	for _, b := range indextest.New(indextest.Config{Seed: 8, Txs: 30, Full: true}).Blocks(3) {
		for i := range b.Txs {
			for _, l := range b.Txs[i].Logs {
				if len(l.Topics) > 2 {
					f.Add(byte(len(l.Topics)), l.Topics[0][:], l.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, n byte, topic0, data []byte) {
		l := evm.Log{Index: 4, Data: data, Topics: make([]evm.Hash, n%5)}
		if len(l.Topics) > 0 {
			copy(l.Topics[0][:], topic0)
		}
		for i, tr := range AppendTransfers(nil, &l) {
			if tr.LogIndex != 4 || int(tr.Item) != i || i > len(data)/word {
				t.Fatalf("transfer %d: %+v of %d bytes", i, tr, len(data))
			}
		}
		WarpMessage(&l)
	})
}

func topicOf(a evm.Address) (h evm.Hash) {
	copy(h[12:], a[:])
	return h
}

func TestTransfers(t *testing.T) {
	t.Parallel()
	from, to := evm.Address{19: 1}, evm.Address{19: 2}
	wordsOf := func(values ...uint64) (b []byte) {
		for _, v := range values {
			w := uint256.NewInt(v).Bytes32()
			b = append(b, w[:]...)
		}
		return b
	}
	check := func(name string, topics []evm.Hash, data []byte, want ...Transfer) {
		t.Helper()
		got := AppendTransfers(nil, &evm.Log{Index: 9, Address: evm.Address{5}, Topics: topics, Data: data})
		for i := range want {
			want[i].LogIndex, want[i].Token, want[i].From, want[i].To = 9, evm.Address{5}, from, to
		}
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	f, o := topicOf(from), topicOf(to)
	u := func(v uint64) uint256.Int { return *uint256.NewInt(v) }
	check("ERC-20", []evm.Hash{topicTransfer, f, o}, wordsOf(7), Transfer{Kind: ERC20, Value: u(7)})
	check("ERC-721", []evm.Hash{topicTransfer, f, o, {31: 8}}, nil, Transfer{Kind: ERC721, ID: u(8), Value: u(1)})
	check("single", []evm.Hash{topicTransferSingle, {}, f, o}, wordsOf(3, 4), Transfer{Kind: ERC1155, ID: u(3), Value: u(4)})
	check("batch", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(64, 160, 2, 1, 2, 2, 10, 20),
		Transfer{Kind: ERC1155, ID: u(1), Value: u(10)}, Transfer{Kind: ERC1155, Item: 1, ID: u(2), Value: u(20)})
	check("batch in the other order", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(128, 64, 1, 10, 1, 3),
		Transfer{Kind: ERC1155, ID: u(3), Value: u(10)})
	check("empty batch", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(64, 96, 0, 0))
	check("offset behind the end", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(64, 4096, 0, 0))
	check("huge count", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(64, 96, 0, math.MaxUint32))
	check("huge offset", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(math.MaxUint32, 64, 0, 0))
	check("lengths differ", []evm.Hash{topicTransferBatch, {}, f, o}, wordsOf(64, 128, 1, 5, 0, 0))
	check("dirty address", []evm.Hash{topicTransfer, {1}, o}, wordsOf(7))
	check("short data", []evm.Hash{topicTransfer, f, o}, wordsOf(7)[1:])
	check("no topics", nil, wordsOf(7))
	many := wordsOf(64, 64, maxItems+5)
	many = append(many, make([]byte, (maxItems+5)*word)...)
	if got := AppendTransfers(nil, &evm.Log{Topics: []evm.Hash{topicTransferBatch, {}, f, o}, Data: many}); len(got) != maxItems || got[maxItems-1].Item != math.MaxUint16 {
		t.Errorf("%d items", len(got))
	}
}
