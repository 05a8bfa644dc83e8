package evm

import (
	"cmp"
	"encoding/binary"
	"math"

	"quorate/httpapi/door"
)

// Place is where a row stands among those of all chains: the newest come first, by the
// second of the block, then by the chain, then by the place on the chain.
type Place struct {
	Second, Chain, Height uint64
	Index                 uint32
}

const placeLen = 8 + 8 + 8 + 4

// Compare orders places.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(q.Second, p.Second), cmp.Compare(q.Chain, p.Chain), cmp.Compare(q.Height, p.Height),
		cmp.Compare(q.Index, p.Index))
}

// Append appends the place as the position of a page token.
func (p Place) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, p.Second)
	b = binary.BigEndian.AppendUint64(b, p.Chain)
	b = binary.BigEndian.AppendUint64(b, p.Height)
	return binary.BigEndian.AppendUint32(b, p.Index)
}

func readPlace(b []byte) (p Place, ok bool) {
	if len(b) != placeLen {
		return p, false
	}
	return Place{
		Second: binary.BigEndian.Uint64(b), Chain: binary.BigEndian.Uint64(b[8:]), Height: binary.BigEndian.Uint64(b[16:]),
		Index: binary.BigEndian.Uint32(b[24:]),
	}, true
}

// ReadPlace reads the page token, if there is one, of a list over all chains, which list
// stands for. It returns the place of the last row of the page before, nil on the first page.
func (r *Request) ReadPlace(list []byte) (*Place, *door.Failure) {
	if f := r.ReadToken(list); f != nil || r.After == nil {
		return nil, f
	}
	after, ok := readPlace(r.After)
	if !ok {
		return nil, door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	return &after, nil
}

// Behind returns the height that bounds the rows of the open chain which come after a
// row, and the index that bounds those at the height below it.
func (r *Request) Behind(after *Place, chain uint64) (height uint64, index uint32, err error) {
	switch {
	case after == nil:
		return math.MaxUint64, math.MaxUint32, nil
	case chain == after.Chain:
		return after.Height + 1, after.Index, nil
	case chain < after.Chain: // in the same second these come later
		height, err = r.V.BlocksBefore((after.Second + 1) * 1000)
	default:
		height, err = r.V.BlocksBefore(after.Second * 1000)
	}
	return height, math.MaxUint32, err
}
