package devnet

import (
	"math/rand/v2"
	"slices"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// directory lets validators know each other's addresses.
type directory struct{ d *Devnet }

// Sample returns up to n claims of running validators, beginning at a random one.
func (r directory) Sample(n int, filter *wire.Bloom, salt []byte, except ...chain.NodeID) []wire.ClaimedIP {
	all := r.d.validators
	claims := make([]wire.ClaimedIP, 0, min(n, len(all)))
	first := rand.IntN(len(all)) // spreads addresses, hides nothing
	for k := range all {
		if len(claims) == n {
			break
		}
		i := (first + k) % len(all)
		id := r.d.world.Validators()[i].NodeID
		if !all[i].Running() || slices.Contains(except, id) {
			continue
		}
		claim, ok := all[i].Claim()
		if !ok || filter != nil && filter.Contains(wire.ClaimHash(id, claim.Timestamp, salt)) {
			continue
		}
		claims = append(claims, claim)
	}
	return claims
}
