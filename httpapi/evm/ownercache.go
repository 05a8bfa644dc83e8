package evm

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// ownerSlots is the number of NFTs whose owner is kept, a power of two; full they
// take about 1 MiB.
const ownerSlots = 1 << 12

// ownerCache keeps the owners of NFTs at a chain's block: pages of one block show
// the same NFTs again, each of which is a seek.
type ownerCache struct {
	slots [ownerSlots]atomic.Pointer[ownerEntry]
}

type ownerEntry struct {
	chain string
	block evm.Hash
	token evm.Address
	id    uint256.Int
	owner evm.Address
}

func (o *ownerCache) slot(token *evm.Address, id *uint256.Int) *atomic.Pointer[ownerEntry] {
	mixed := *token
	binary.LittleEndian.PutUint64(mixed[:], binary.LittleEndian.Uint64(mixed[:])^id[0]^id[1]^id[2]^id[3])
	return &o.slots[view.Slot(&mixed)&(ownerSlots-1)]
}

// get returns nil if nothing is kept of this block.
func (o *ownerCache) get(chain string, block *evm.Hash, token *evm.Address, id *uint256.Int) *ownerEntry {
	e := o.slot(token, id).Load()
	if e == nil || e.token != *token || e.id != *id || e.block != *block || e.chain != chain {
		return nil
	}
	return e
}

func (o *ownerCache) put(e *ownerEntry) { o.slot(&e.token, &e.id).Store(e) }
