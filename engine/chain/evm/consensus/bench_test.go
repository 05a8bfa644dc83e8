package consensus

import (
	"encoding/binary"
	"testing"

	"github.com/ethereum/go-ethereum/crypto/secp256k1"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// signedTx makes a dynamic fee transaction that moves a token, with two logs, as
// most are, truly signed.
func signedTx(tb testing.TB, i int) evm.Tx {
	tb.Helper()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(i))
	key := evm.Keccak([]byte("key"), n[:])
	to := evm.Address{0: 0xee, 19: byte(i % 5)}
	account := evm.Keccak([]byte("account"), n[:])
	tx := evm.Tx{
		Type: TypeDynamicFee, Nonce: uint64(i), To: to, GasLimit: 90_000, GasUsed: 51_000, Index: uint32(i),
		MaxFee: uint256.NewInt(60e9), MaxPriorityFee: uint256.NewInt(1e9),
		Input: append([]byte{0xa9, 0x05, 0x9c, 0xbb}, make([]byte, 64)...),
	}
	for range 2 {
		tx.Logs = append(tx.Logs, evm.Log{Address: to, Topics: []evm.Hash{evm.Keccak([]byte("Transfer")), {31: 7}, account}, Data: make([]byte, 32)})
	}
	sign(tb, &tx, &Signed{ChainID: *uint256.NewInt(43114)}, key[:])
	return tx
}

// sign signs t, whose members and s are given, with a key and sets Raw, Hash and From.
func sign(tb testing.TB, t *evm.Tx, s *Signed, key []byte) {
	tb.Helper()
	if t.Type == TypeLegacy && !s.ChainID.IsZero() { // EIP-155
		s.V.Mul(&s.ChainID, uint256.NewInt(2))
		s.V.AddUint64(&s.V, 35)
	} else if t.Type == TypeLegacy {
		s.V.SetUint64(27)
	}
	raw, err := AppendTx(nil, t, s)
	if err != nil {
		tb.Fatal(err)
	}
	hash, err := SigningHash(raw)
	if err != nil {
		tb.Fatal(err)
	}
	sig, err := secp256k1.Sign(hash[:], key)
	if err != nil {
		tb.Fatal(err)
	}
	s.R.SetBytes(sig[:32])
	s.S.SetBytes(sig[32:64])
	s.V.AddUint64(&s.V, uint64(sig[64]))
	if t.Raw, err = AppendTx(nil, t, s); err != nil {
		tb.Fatal(err)
	}
	t.Hash = evm.Keccak(t.Raw)
	x, y := secp256k1.S256().ScalarBaseMult(key)
	public := append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)
	sum := evm.Keccak(public)
	t.From = evm.Address(sum[12:])
}

const benchTxs = 100

func benchBlock(tb testing.TB) []evm.Tx {
	txs := make([]evm.Tx, benchTxs)
	for i := range txs {
		txs[i] = signedTx(tb, i)
	}
	return txs
}

func perTx(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchTxs, "ns/tx")
}

func BenchmarkTxRoot(b *testing.B) {
	txs := benchBlock(b)
	b.ReportAllocs()
	for b.Loop() {
		TxRoot(txs)
	}
	perTx(b)
}

func BenchmarkReceipts(b *testing.B) {
	txs := benchBlock(b)
	b.ReportAllocs()
	for b.Loop() {
		Receipts(txs, nil)
	}
	perTx(b)
}

func BenchmarkTxHash(b *testing.B) {
	txs := benchBlock(b)
	b.ReportAllocs()
	for b.Loop() {
		for i := range txs {
			if evm.Keccak(txs[i].Raw) != txs[i].Hash {
				b.Fatal(i)
			}
		}
	}
	perTx(b)
}

func BenchmarkDecodeTx(b *testing.B) {
	txs := benchBlock(b)
	b.ReportAllocs()
	var t evm.Tx
	for b.Loop() {
		for i := range txs {
			if err := DecodeTx(txs[i].Raw, &t); err != nil {
				b.Fatal(err)
			}
		}
	}
	perTx(b)
}

func BenchmarkSender(b *testing.B) {
	txs := benchBlock(b)
	b.ReportAllocs()
	for b.Loop() {
		for i := range txs {
			if from, err := Sender(txs[i].Raw); err != nil || from != txs[i].From {
				b.Fatal(from, err)
			}
		}
	}
	perTx(b)
}

func BenchmarkHeader(b *testing.B) {
	h := recorded(b)[3].header()
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = h.Append(dst[:0])
		evm.Keccak(dst)
	}
}
