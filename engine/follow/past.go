package follow

import (
	"quorate/engine/chain/evm"
	"quorate/engine/history"
)

// Past answers what is asked of the chain's past, from its archive.
func (c *EVM) Past() *history.History { return c.past }

// places are those of the index of a chain, which is served.
type places struct{ c *EVM }

// Cursor implements [history.Places].
func (p places) Cursor() (uint64, evm.Hash, bool) { return p.c.rows.Cursor() }

// Block implements [history.Places].
func (p places) Block(hash evm.Hash) (number uint64, found bool, err error) {
	v, err := p.c.rows.At(nil)
	if err != nil {
		return 0, false, err
	}
	defer v.Close()
	return v.BlockNumber(hash)
}

// Later implements [history.Places].
func (p places) Later() (later, known bool) {
	_, later = p.c.Settled()
	_, behind := p.c.Syncing()
	return later, later || !behind
}

// Tx implements [history.Places].
func (p places) Tx(hash evm.Hash) (number uint64, index uint32, found bool, err error) {
	v, err := p.c.rows.At(nil)
	if err != nil {
		return 0, 0, false, err
	}
	defer v.Close()
	tx, found, err := v.Tx(hash)
	if found {
		number, index = tx.Block.Number, tx.Index
	}
	return number, index, found, err
}
