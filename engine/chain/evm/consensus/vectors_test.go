package consensus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// vectors are what libevm, coreth and subnet-evm encode: see e2e/vectors.
type vectors struct {
	Headers []struct {
		Name      string
		JSON      map[string]any
		RLP, Hash string
	}
	Txs []struct {
		Name              string
		JSON              map[string]any
		Raw, Hash, Sender string
	}
	Bodies []struct {
		Count                                     int
		TransactionsRoot, ReceiptsRoot, BloomHash string
		Receipts                                  []string
	}
	States []struct {
		Accounts int
		Root     string
		Proofs   []struct {
			Address, Balance string
			Nonce            uint64
			Nodes            []string
		}
	}
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/libevm.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Headers of each upgrade of coreth and of subnet-evm, also such that lack a
// member before the last, are encoded as there and read back.
func TestVectorHeaders(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	if len(v.Headers) < 40 {
		t.Fatalf("%d headers", len(v.Headers))
	}
	for _, c := range v.Headers {
		raw := data(c.RLP)
		h := (&answer{block: c.JSON}).header()
		if got := h.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("%s:\n got %x\nwant %x", c.Name, got, raw)
		}
		var parsed Header
		if err := parsed.Parse(raw); err != nil || !bytes.Equal(parsed.Append(nil), raw) || parsed.HasExtData != h.HasExtData || len(parsed.Further) > 0 {
			t.Errorf("%s: parsed %+v, %v", c.Name, parsed, err)
		}
		var b evm.Block
		if err := DecodeHeader(raw, &b); err != nil || b.Hash != hashOf(c.Hash) || b.Number != h.Number || b.GasUsed != h.GasUsed || b.TimeMilli != parsed.Milli() {
			t.Errorf("%s: %+v, %v", c.Name, b, err)
		}
		for n := 0; n < len(raw); n += 5 {
			if err := parsed.Parse(raw[:n]); err == nil {
				t.Errorf("%s: read when cut after %d bytes", c.Name, n)
			}
		}
	}
}

func TestVectorTxs(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors(t).Txs {
		raw := data(c.Raw)
		want, s := txOf(c.JSON)
		got, err := AppendTx(nil, &want, &s)
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s:\n got %x, %v\nwant %x", c.Name, got, err, raw)
			continue
		}
		var tx evm.Tx
		var parsed Signed
		if err := ParseTx(raw, &tx, &parsed); err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if again, err := AppendTx(nil, &tx, &parsed); err != nil || !bytes.Equal(again, raw) || !bytes.Equal(Input(raw), want.Input) {
			t.Errorf("%s: read back %+v, %v", c.Name, tx, err)
		}
		if err := DecodeTx(raw, &tx); err != nil || tx.Hash != hashOf(c.Hash) {
			t.Errorf("%s: hash %s, %v", c.Name, tx.Hash, err)
		}
		if from, err := Sender(raw); err != nil || from != addr(c.Sender) {
			t.Errorf("%s: sender %s, %v", c.Name, from, err)
		}
		if DecodeTx(append(raw[:len(raw):len(raw)], 0), &tx) == nil {
			t.Errorf("%s: a byte is left over", c.Name)
		}
		for n := 0; n < len(raw); n += 5 {
			if DecodeTx(raw[:n], &tx) == nil {
				t.Errorf("%s: read when cut after %d bytes", c.Name, n)
			}
			if _, err := Sender(raw[:n]); err == nil {
				t.Errorf("%s: a sender when cut after %d bytes", c.Name, n)
			}
		}
	}
}

// receiptLike fills the receipt of transaction i as e2e/vectors does.
func receiptLike(t *evm.Tx, i int) {
	t.GasUsed, t.Failed, t.Logs = 21_000+uint64(i)*1000, i%3 == 2, nil
	if t.Failed {
		return
	}
	for k := range i % 4 {
		l := evm.Log{Address: evm.Address{byte(i), byte(k)}, Data: make([]byte, i*10)}
		for topic := range k {
			l.Topics = append(l.Topics, evm.Hash{byte(i), byte(topic)})
		}
		t.Logs = append(t.Logs, l)
	}
}

func TestVectorRoots(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for _, c := range v.Bodies {
		txs := make([]evm.Tx, c.Count)
		gas := uint64(0)
		for i := range txs {
			if err := DecodeTx(data(v.Txs[i%len(v.Txs)].Raw), &txs[i]); err != nil {
				t.Fatal(err)
			}
			receiptLike(&txs[i], i)
			gas += txs[i].GasUsed
			if i < len(c.Receipts) && !bytes.Equal(AppendReceipt(nil, &txs[i], gas), data(c.Receipts[i])) {
				t.Errorf("%d transactions: receipt %d differs", c.Count, i)
			}
		}
		bloom := Bloom(txs)
		if TxRoot(txs) != hashOf(c.TransactionsRoot) || ReceiptsRoot(txs) != hashOf(c.ReceiptsRoot) || evm.Keccak(bloom[:]) != hashOf(c.BloomHash) {
			t.Errorf("%d transactions: roots %s and %s", c.Count, TxRoot(txs), ReceiptsRoot(txs))
		}
		seen := 0
		each := func(i int, f *[BloomLen]byte) {
			seen++
			if *f != Bloom(txs[i:i+1]) {
				t.Errorf("%d transactions: filter of receipt %d differs", c.Count, i)
			}
		}
		if root, f := Receipts(txs, each); root != hashOf(c.ReceiptsRoot) || f != bloom || seen != c.Count {
			t.Errorf("%d transactions: %d receipts", c.Count, seen)
		}
		if Blooms(txs, each); seen != 2*c.Count {
			t.Errorf("%d transactions: %d filters", c.Count, seen-c.Count)
		}
	}
}

// Joined receipts are those of one list, in which the gas of each block adds up from 0.
func TestJoinedReceipts(t *testing.T) {
	t.Parallel()
	var blocks []*evm.Block
	var receipts [][]byte
	var all []evm.Tx
	for _, n := range []int{0, 3, 0, 0, 140, 1} {
		b, gas := &evm.Block{Txs: make([]evm.Tx, n)}, uint64(0)
		for i := range b.Txs {
			receiptLike(&b.Txs[i], i)
			gas += b.Txs[i].GasUsed
			receipts = append(receipts, AppendReceipt(nil, &b.Txs[i], gas))
		}
		blocks, all = append(blocks, b), append(all, b.Txs...)
		want := Root(len(receipts), func(dst []byte, i int) []byte { return append(dst, receipts[i]...) })
		if root, bloom := JoinedReceipts(blocks); root != want || bloom != Bloom(all) {
			t.Errorf("%d blocks, %d receipts: root %s, want %s", len(blocks), len(receipts), root, want)
		}
	}
}

// A transaction that sets code, as geth encodes and signs it; libevm has none.
func TestSetCode(t *testing.T) {
	t.Parallel()
	for raw, want := range setCodeTxs {
		var tx evm.Tx
		var s Signed
		if err := ParseTx(data(raw), &tx, &s); err != nil || tx.Type != TypeSetCode || len(s.Auths) != 2 || len(s.Access) != 1 {
			t.Errorf("%+v, %+v, %v", tx, s, err)
		}
		if got, err := AppendTx(nil, &tx, &s); err != nil || !bytes.Equal(got, data(raw)) || evm.Keccak(got) != hashOf(want[0]) {
			t.Errorf("%x, %v", got, err)
		}
		if from, err := Sender(data(raw)); err != nil || from != addr(want[1]) {
			t.Errorf("%s, %v", from, err)
		}
	}
}

func TestEffectivePrice(t *testing.T) {
	t.Parallel()
	n := uint256.NewInt
	huge := new(uint256.Int).SetAllOne()
	for _, c := range []struct{ price, fee, tip, base, want *uint256.Int }{
		{n(7), nil, nil, n(5), n(7)},
		{n(7), nil, nil, nil, n(7)},
		{n(0), n(10), n(2), n(5), n(7)},
		{n(0), n(10), n(9), n(5), n(10)},
		{n(0), n(10), n(9), nil, n(10)},
		{n(0), huge, huge, n(5), huge},
	} {
		if got := EffectivePrice(&evm.Tx{GasPrice: *c.price, MaxFee: c.fee, MaxPriorityFee: c.tip}, c.base); !got.Eq(c.want) {
			t.Errorf("%+v: got %s", c, got.Dec())
		}
	}
}

// Proofs by libevm's trie prove what it holds, and nothing when a bit is changed.
func TestVectorProofs(t *testing.T) {
	t.Parallel()
	proofs := 0
	for _, s := range readVectors(t).States {
		for _, c := range s.Proofs {
			proofs++
			var nodes [][]byte
			for _, n := range c.Nodes {
				nodes = append(nodes, data(n))
			}
			acc, err := ProveAccount(hashOf(s.Root), addr(c.Address), nodes)
			if err != nil || acc.Nonce != c.Nonce || !acc.Balance.Eq(num(c.Balance)) {
				t.Errorf("%d accounts: %s: %+v, %v", s.Accounts, c.Address, acc, err)
			}
			for i := range nodes {
				if acc, err := ProveAccount(hashOf(s.Root), addr(c.Address), append(nodes[:i:i], nodes[i+1:]...)); err == nil {
					t.Errorf("%d accounts: %s: without node %d: %+v", s.Accounts, c.Address, i, acc)
				}
				for _, at := range []int{0, len(nodes[i]) / 2, len(nodes[i]) - 1} {
					nodes[i][at] ^= 1
					if acc, err := ProveAccount(hashOf(s.Root), addr(c.Address), nodes); !errors.Is(err, ErrProof) {
						t.Errorf("%d accounts: %s: with a changed bit: %+v, %v", s.Accounts, c.Address, acc, err)
					}
					nodes[i][at] ^= 1
				}
			}
			if _, err := ProveAccount(hashOf(s.Root), addr(c.Address), append(nodes, nodes[0])); err == nil {
				t.Errorf("%d accounts: %s: a node is left over", s.Accounts, c.Address)
			}
		}
	}
	if proofs < 15 {
		t.Errorf("%d proofs", proofs)
	}
	for _, nodes := range [][][]byte{nil, {{0x80}}} {
		if acc, err := ProveAccount(EmptyRoot, evm.Address{1}, nodes); err != nil || acc != (Account{}) {
			t.Errorf("an empty state: %+v, %v", acc, err)
		}
	}
	if _, err := ProveAccount(evm.Hash{1}, evm.Address{1}, nil); err == nil {
		t.Error("no proof was taken for one")
	}
}
