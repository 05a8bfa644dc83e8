package view

import (
	"encoding/binary"

	"quorate/engine/chain"
)

// Texts are the CB58 forms of IDs that were written not long ago. The same few IDs fill
// the pages of the primary network: those of the coin, of the chains, of a transaction in
// each of its outputs. It is not safe for concurrent use.
type Texts struct{ slots [idSlots]idText }

const (
	idSlots = 128
	// maxIDText is the length of the longest form in quotes.
	maxIDText = 50 + 2
)

type idText struct {
	id   chain.ID
	len  uint8 // of the text; zero: none
	text [maxIDText]byte
}

// append appends the form in quotes. A nil t remembers nothing.
func (t *Texts) append(b []byte, id *chain.ID) []byte {
	if t == nil {
		return append(id.Append(append(b, '"')), '"')
	}
	s := &t.slots[binary.LittleEndian.Uint64(id[8:])%idSlots] // IDs are hashes
	if s.len == 0 || s.id != *id {
		s.id = *id
		s.len = uint8(len(append(id.Append(append(s.text[:0], '"')), '"')))
	}
	return append(b, s.text[:s.len]...)
}
