// Package secp signs the transactions of simulated chains.
//
// Signatures are true ones of ECDSA over secp256k1, made in a way that is fit for
// nothing but a simulation: anybody can work out the keys, and the secret number
// of each signature is one of a table that all chains share. In return a signature
// costs two multiplications, so that none needs to be kept, and an address six.
// The table is so large that its numbers do not repeat within some megabytes of
// transactions: they would compress better than those of a real chain.
package secp

import (
	"encoding/binary"
	"sync"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

const (
	numSecrets = 64 // tables of tableLen
	// addressesAtOnce is how many accounts' addresses are worked out together.
	addressesAtOnce = 256
)

// secret is what a signature's secret number k makes of it.
type secret struct {
	inverse uint256.Int // of k
	r       uint256.Int // the first coordinate of kG
	odd     bool        // the second one
}

// secrets are those for all k above 2*tableLen, worked out when first needed.
var secrets [numSecrets]struct {
	once sync.Once
	list [tableLen]secret
}

func secretOf(i uint64) *secret {
	table, i := i/tableLen%numSecrets, i%tableLen
	s := &secrets[table]
	s.once.Do(func() {
		first := (table + 2) * tableLen
		inverses := make([]uint256.Int, tableLen)
		for j, p := range following(first, tableLen) {
			inverses[j].SetUint64(first + uint64(j) + 1) // not negative
			s.list[j].r.Mod(&p.x, &order.n)
			s.list[j].odd = p.y[0]&1 == 1
		}
		order.inverses(inverses)
		for j := range inverses {
			s.list[j].inverse = inverses[j]
		}
	})
	return &s.list[i]
}

// Signature is that of a transaction: Parity is of the point that R is of.
type Signature struct {
	R, S   uint256.Int
	Parity byte
}

// Sign signs a hash with a key and secret number i, s in the lower half (EIP-2).
func Sign(key *uint256.Int, hash evm.Hash, i uint64) (sig Signature) {
	k := secretOf(i)
	var z uint256.Int
	z.SetBytes32(hash[:])
	sig.R = k.r
	if k.odd {
		sig.Parity = 1
	}
	sum := order.mul(&k.r, key)
	sum.AddMod(&sum, &z, &order.n)
	sig.S = order.mul(&k.inverse, &sum)
	if sig.S.Gt(half) {
		sig.S.Sub(&order.n, &sig.S)
		sig.Parity ^= 1
	}
	return sig
}

// Keyring has the keys of a chain's accounts: each is one more than that of the
// account before.
type Keyring struct {
	first     uint64
	addresses []evm.Address // of the accounts from base on
	base      uint32
}

// NewKeyring returns the keys that follow from a seed.
func NewKeyring(seed []byte) Keyring {
	sum := evm.Keccak(seed, []byte("keys"))
	return Keyring{first: binary.BigEndian.Uint64(sum[:])>>2 | 1<<61}
}

// Clone returns the same keys, for use beside these.
func (k *Keyring) Clone() Keyring { return Keyring{first: k.first} }

// Key is the key of an account.
func (k *Keyring) Key(account uint32) uint256.Int {
	return *uint256.NewInt(k.first + uint64(account) + 1) // first is far below what fits
}

// Address is what follows from an account's key. Accounts are asked for in their order.
func (k *Keyring) Address(account uint32) evm.Address {
	if i := int(account) - int(k.base); i < 0 || i >= len(k.addresses) {
		k.base, k.addresses = account, k.addresses[:0]
		for _, p := range following(k.first+uint64(account), addressesAtOnce) {
			x, y := p.x.Bytes32(), p.y.Bytes32()
			sum := evm.Keccak(x[:], y[:])
			k.addresses = append(k.addresses, evm.Address(sum[12:]))
		}
	}
	return k.addresses[account-k.base]
}
