package index

import (
	"encoding/binary"
	"sync/atomic"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// tokenSet knows of most addresses that they are no tokens: each row of a page asks
// that of two or more, and a look into the database costs more than the row.
// It is a Bloom filter of two bits for each token, which has one in a thousand
// others wrong with 60,000 tokens and one in twenty with 500,000. Any number of
// goroutines may use it at once.
//
// Chains with few tokens are served by one of 4 KiB before it: it stays in the
// fastest cache, while each look into the other one is one into memory.
type tokenSet struct {
	words [1 << tokenSetBits / 64]atomic.Uint64
	small [1 << smallSetBits / 64]atomic.Uint64
	count atomic.Int64 // of bits in small
}

const (
	tokenSetBits = 22 // 512 KiB
	smallSetBits = 15
	// smallSetMax is how many bits of the small one may be set for it to be worth a look.
	smallSetMax = 1 << (smallSetBits - 4)
)

func tokenPlaces(a *evm.Address) (one, two uint64) {
	const odd = 0x9e3779b97f4a7c15
	h := binary.LittleEndian.Uint64(a[:]) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(a[8:])) * odd
	h = (h ^ h>>32 ^ uint64(binary.LittleEndian.Uint32(a[16:]))) * odd
	return h >> (64 - tokenSetBits), h << tokenSetBits >> (64 - tokenSetBits)
}

func (s *tokenSet) add(a *evm.Address) {
	one, two := tokenPlaces(a)
	s.words[one/64].Or(1 << (one % 64))
	s.words[two/64].Or(1 << (two % 64))
	at := smallPlace(one)
	if s.small[at/64].Or(1<<(at%64))&(1<<(at%64)) == 0 {
		s.count.Add(1)
	}
}

func smallPlace(one uint64) uint64 { return one >> (tokenSetBits - smallSetBits) }

// may reports false only for an address that was never added.
func (s *tokenSet) may(a *evm.Address) bool {
	one, two := tokenPlaces(a)
	if at := smallPlace(one); s.count.Load() <= smallSetMax && s.small[at/64].Load()&(1<<(at%64)) == 0 {
		return false
	}
	return s.words[one/64].Load()&(1<<(one%64)) != 0 && s.words[two/64].Load()&(1<<(two%64)) != 0
}

// loadTokens fills the set with the tokens whose contracts were asked, and finds out
// whether a URI of any NFT is known.
func (c *Chain) loadTokens() error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := c.meta().key(store.TableTokenMeta)
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		if k := rows.Key()[len(prefix):]; len(k) == evm.AddressLen {
			a := evm.Address(k)
			c.known.add(&a)
		}
	}
	uris := c.meta().key(store.TableTokenURIs)
	if rows, err = s.Rows(uris, false); err != nil {
		return err
	}
	rows.Seek(uris)
	c.uris.Store(rows.Valid())
	return nil
}

// MayBeToken reports false only for an address of which [View.Token] knows nothing.
func (v *View) MayBeToken(a *evm.Address) bool { return v.c.known.may(a) }
