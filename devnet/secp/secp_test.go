package secp

import (
	"testing"

	"github.com/ethereum/go-ethereum/crypto/secp256k1"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// TestPoints: the points worked out together are those that the library gives.
func TestPoints(t *testing.T) {
	t.Parallel()
	for _, first := range []uint64{tableLen + 1, 1<<61 | 12345, 1<<63 - 1} {
		for i, p := range following(first, tableLen) {
			if i%100 != 0 && i != tableLen-1 {
				continue
			}
			k := uint256.NewInt(first)
			k.AddUint64(k, uint64(i)+1) // not negative
			x, y := secp256k1.S256().ScalarBaseMult(k.Bytes())
			if p.x.ToBig().Cmp(x) != 0 || p.y.ToBig().Cmp(y) != 0 {
				t.Fatalf("%d G is (%x, %x), want (%x, %x)", k, &p.x, &p.y, x, y)
			}
		}
	}
}

// TestSign: the library finds the key of a signature, with every secret number.
func TestSign(t *testing.T) {
	t.Parallel()
	keys := NewKeyring([]byte("seed"))
	seen := make(map[uint256.Int]bool)
	for i := range uint64(3000) {
		hash := evm.Keccak([]byte{byte(i), byte(i >> 8)})
		account := uint32(i % 600) // small
		key := keys.Key(account)
		sig := Sign(&key, hash, i)
		if seen[sig.R] {
			t.Fatalf("signature %d has another's r", i)
		}
		seen[sig.R] = true
		raw := make([]byte, 65)
		sig.R.WriteToSlice(raw[:32])
		sig.S.WriteToSlice(raw[32:64])
		raw[64] = sig.Parity
		public, err := secp256k1.RecoverPubkey(hash[:], raw)
		if err != nil {
			t.Fatal(err)
		}
		if sum := evm.Keccak(public[1:]); evm.Address(sum[12:]) != keys.Address(account) {
			t.Fatalf("signature %d is of %x, not of account %d", i, sum[12:], account)
		}
	}
}
