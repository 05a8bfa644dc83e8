package primary

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
)

// purseKey is what an address has of an asset and can spend at any time alone.
type purseKey struct {
	address [20]byte
	asset   chain.ID
}

// coins are the unspent outputs of a chain.
type coins struct {
	UTXOs map[utxo.Ref]*utxo.UTXO
	// Exported are the outputs that wait on another chain to be imported, by that
	// chain.
	Exported map[chain.ID][]utxo.UTXO

	chain  chain.ID
	purse  map[purseKey][]utxo.Ref
	locked []utxo.Ref // can only be staked for a time
	rights []utxo.Ref // on the X-Chain: what no amount is
}

func newCoins(id chain.ID) coins {
	return coins{
		UTXOs: make(map[utxo.Ref]*utxo.UTXO), Exported: make(map[chain.ID][]utxo.UTXO),
		chain: id, purse: make(map[purseKey][]utxo.Ref),
	}
}

func (c *coins) addUTXO(u utxo.UTXO) {
	c.UTXOs[u.Ref] = &u
	switch {
	case u.StakeLock > 0:
		c.locked = append(c.locked, u.Ref)
	case u.Kind != utxo.TransferOutput:
		c.rights = append(c.rights, u.Ref)
	case u.Locktime == 0 && u.Threshold == 1 && len(u.Addresses) == 1:
		k := purseKey{u.Addresses[0], u.Asset}
		c.purse[k] = append(c.purse[k], u.Ref)
	}
}

// available returns what a purse holds, oldest first, and forgets what was spent.
func (c *coins) available(k purseKey) []utxo.Ref {
	c.purse[k] = c.unspent(c.purse[k])
	return c.purse[k]
}

func (c *coins) unspent(list []utxo.Ref) []utxo.Ref {
	return slices.DeleteFunc(list, func(r utxo.Ref) bool { return c.UTXOs[r] == nil })
}

// export hands an output to another chain.
func (c *coins) export(to chain.ID, u utxo.UTXO) { c.Exported[to] = append(c.Exported[to], u) }

// imports takes up to most outputs that wait for chain to of the owner of the first.
func (c *coins) imports(to chain.ID, most int) (taken []utxo.UTXO) {
	rest := c.Exported[to][:0:0]
	for _, u := range c.Exported[to] {
		if len(taken) < most && (len(taken) == 0 || u.Addresses[0] == taken[0].Addresses[0]) {
			taken = append(taken, u)
		} else {
			rest = append(rest, u)
		}
	}
	c.Exported[to] = rest
	return taken
}
