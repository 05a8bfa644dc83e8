package primary

import (
	"encoding/binary"

	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// Space is where the rows of a chain lie.
type Space struct {
	Ordinal uint32
	Edition uint8
}

// Key begins the key of a row in a table.
func (s Space) Key(table byte) Key {
	return store.TableKey(make([]byte, 0, 80), table, s.Ordinal, s.Edition)
}

// LeadLen is the length of a key before its sort key.
const LeadLen = 1 + 4

// Key builds a key, or a position in a list, piece by piece. A key that was extended
// twice from the same point would share its bytes: see [Key.Clone].
type Key []byte

// U8 appends a byte.
func (k Key) U8(v uint8) Key { return append(k, v) }

// U32 appends 32 bits, big-endian.
func (k Key) U32(v uint32) Key { return binary.BigEndian.AppendUint32(k, v) }

// U64 appends 64 bits, big-endian.
func (k Key) U64(v uint64) Key { return binary.BigEndian.AppendUint64(k, v) }

// ID appends a whole ID.
func (k Key) ID(id chain.ID) Key { return append(k, id[:]...) }

// Short appends what tables that find by ID have of one.
func (k Key) Short(id chain.ID) Key { return append(k, id[:shortLen]...) }

// Bytes appends b.
func (k Key) Bytes(b []byte) Key { return append(k, b...) }

// Place appends a place.
func (k Key) Place(p Place) Key { return k.U64(p.Height).U32(p.Index) }

// Clone returns a copy with room for more.
func (k Key) Clone() Key { return append(make(Key, 0, len(k)+32), k...) }

// shortLen is how much of an ID is in tables that find by ID.
const shortLen = 16

// Place is where a transaction stands in its chain.
type Place struct {
	Height uint64
	Index  uint32
}

// placeLen is the length of a place in a key.
const placeLen = 8 + 4

// PlaceAt reads the place that b begins with, which must be long enough.
func PlaceAt(b []byte) Place {
	return Place{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}
}

// Before reports whether p comes before o.
func (p Place) Before(o Place) bool {
	return p.Height < o.Height || p.Height == o.Height && p.Index < o.Index
}

// RowsID returns the ID that a chain's rows have their ordinal by. The blockchain's own
// ID will not do: the P-Chains of all networks have the same one, and that of a C-Chain
// is the ordinal of what happens in its EVM.
func RowsID(network uint32, kind Kind) (id chain.ID) {
	copy(id[:], rowsName)
	binary.BigEndian.PutUint32(id[24:], network)
	id[31] = byte(kind)
	return id
}

const rowsName = "primary network rows"

// IsRowsID returns the network and the chain that an ID was made of by [RowsID]; ok is
// false for other IDs.
func IsRowsID(id chain.ID) (network uint32, kind Kind, ok bool) {
	network, kind = binary.BigEndian.Uint32(id[24:]), Kind(id[31])
	return network, kind, id == RowsID(network, kind)
}
