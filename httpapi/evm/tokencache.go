package evm

import (
	"sync/atomic"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// metaSlots is the number of addresses of which is kept whether they are tokens,
// a power of two; full they take about 16 MiB.
const metaSlots = 1 << 16

// tokenCache keeps what tokens say of themselves: each row of a page asks for
// several, mostly the same ones, and most addresses are no tokens.
type tokenCache struct{ slots []atomic.Pointer[tokenEntry] }

type tokenEntry struct {
	chain   string
	version uint64 // of the chain's tokens
	address evm.Address
	known   bool
	meta    index.TokenMeta
}

func newTokenCache() *tokenCache {
	return &tokenCache{slots: make([]atomic.Pointer[tokenEntry], metaSlots)}
}

func (t *tokenCache) slot(a *evm.Address) *atomic.Pointer[tokenEntry] {
	return &t.slots[view.Slot(a)&(metaSlots-1)]
}

// get returns nil if nothing is kept of this version.
func (t *tokenCache) get(chain string, version uint64, a *evm.Address) *tokenEntry {
	e := t.slot(a).Load()
	if e == nil || e.address != *a || e.version != version || e.chain != chain {
		return nil
	}
	return e
}

func (t *tokenCache) put(e *tokenEntry) { t.slot(&e.address).Store(e) }
