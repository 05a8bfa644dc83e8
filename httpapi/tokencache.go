package httpapi

import (
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

const (
	// metaSlots is the number of addresses of which is kept whether they are
	// tokens, a power of two; full they take about 2 MiB.
	metaSlots = 1 << 13
	// What tokens say of themselves hardly ever changes, but an address can become
	// a known token at any time.
	tokenKept   = 10 * time.Second
	noTokenKept = time.Second
)

// tokenCache keeps what tokens say of themselves: each row of a page asks for
// several, mostly the same ones.
type tokenCache struct{ slots []atomic.Pointer[tokenEntry] }

type tokenEntry struct {
	chain   string
	address evm.Address
	known   bool
	meta    index.TokenMeta
	expires time.Time
}

func newTokenCache() *tokenCache {
	return &tokenCache{slots: make([]atomic.Pointer[tokenEntry], metaSlots)}
}

func (t *tokenCache) slot(a *evm.Address) *atomic.Pointer[tokenEntry] {
	return &t.slots[view.Slot(a)&(metaSlots-1)]
}

// get gives nil if nothing fresh is kept.
func (t *tokenCache) get(chain string, a *evm.Address, now time.Time) *tokenEntry {
	e := t.slot(a).Load()
	if e == nil || e.address != *a || e.chain != chain || !now.Before(e.expires) {
		return nil
	}
	return e
}

func (t *tokenCache) put(chain string, a *evm.Address, meta index.TokenMeta, known bool, now time.Time) *tokenEntry {
	kept := noTokenKept
	if known {
		kept = tokenKept
	}
	e := &tokenEntry{chain: chain, address: *a, known: known, meta: meta, expires: now.Add(kept)}
	t.slot(a).Store(e)
	return e
}
