package primary

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	store "quorate/engine/store/index"
)

// Given is what rows follow from beside the blocks. It is kept with them, so that they
// can be made again by who only has the data folder.
type Given struct {
	// Genesis is the ID of the network's genesis, zero where that is not known or makes
	// no rows.
	Genesis chain.ID
	// Upgrades are those of the P-Chain, zero on other chains.
	Upgrades rules.Upgrades
}

// replaces reports whether rows that follow from g are to take the place of those that
// follow from old. They are not if a genesis that was known is not any more.
func (g *Given) replaces(old *Given) bool {
	return !g.Genesis.IsZero() && g.Genesis != old.Genesis || g.Upgrades != old.Upgrades
}

// The given codec, version 2: u8 2 | ID of the genesis | times of the upgrades. Version 1
// had no time of Helicon, which is the last.
const (
	givenVersion  = 2
	givenVersion1 = 1
)

func (g *Given) encode() []byte {
	e := &Encoder{}
	e.U8(givenVersion)
	e.ID(g.Genesis)
	for _, t := range []uint64{g.Upgrades.Cortina, g.Upgrades.Durango, g.Upgrades.Etna, g.Upgrades.Helicon} {
		e.Uint(t)
	}
	return e.B
}

func decodeGiven(b []byte) (*Given, error) {
	d, g := NewDecoder(b), &Given{}
	version := d.U8()
	if version != givenVersion && version != givenVersion1 {
		return nil, fmt.Errorf("%w: what rows follow from", ErrRow)
	}
	g.Genesis = d.ID()
	for _, t := range []*uint64{&g.Upgrades.Cortina, &g.Upgrades.Durango, &g.Upgrades.Etna} {
		*t = d.Uint()
	}
	if version == givenVersion {
		g.Upgrades.Helicon = d.Uint()
	}
	return g, d.End("what rows follow from")
}

// Sort keys of [store.PrimaryEditions].
const (
	rowBuild = 1
	rowGiven = 2
)

func givenKey(s Space) Key {
	return Space{Ordinal: s.Ordinal}.Key(store.PrimaryEditions).U8(rowGiven).U8(s.Edition)
}

// readGiven returns what the rows of a space follow from, nil if that was not kept.
func (c *Chain) readGiven(space Space) (g *Given, err error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	_, err = s.Get(givenKey(space), func(b []byte) (err error) {
		g, err = decodeGiven(b)
		return err
	})
	return g, err
}

// GivenOf returns what the rows of a chain that are served follow from; ok is false if
// there are none, or none that say it. It only reads.
func GivenOf(db *store.DB, network uint32, kind Kind) (g Given, ok bool, err error) {
	ordinal, err := db.Ordinal(RowsID(network, kind))
	if err != nil {
		return g, false, err
	}
	c := &Chain{db: db, ordinal: ordinal}
	e, found, err := c.readEditions()
	if err != nil || !found {
		return g, false, err
	}
	have, err := c.readGiven(Space{Ordinal: ordinal, Edition: e.serving})
	if err != nil || have == nil {
		return g, false, err
	}
	return *have, true, nil
}
