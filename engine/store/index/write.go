package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// place is where a row stands among those to be written, with the bytes of its key that
// follow on those which all keys of its table have: most differ in them, so that few keys
// are looked up.
type place struct {
	first, next uint64
	at          int
}

// placeOf returns the place of a row, whose key has lead bytes in common with others.
func placeOf(key []byte, lead, at int) place {
	if len(key) >= lead+16 {
		return place{binary.BigEndian.Uint64(key[lead:]), binary.BigEndian.Uint64(key[lead+8:]), at}
	}
	var b [16]byte
	copy(b[:], key[min(lead, len(key)):])
	return place{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), at}
}

// sortPlaces puts places in the order of their keys, and of equal ones in that of at.
func sortPlaces(places []place, key func(at int) []byte) {
	order := func(a, b place) int {
		switch {
		case a.first != b.first:
			return cmp.Compare(a.first, b.first)
		case a.next != b.next:
			return cmp.Compare(a.next, b.next)
		}
		return cmp.Or(bytes.Compare(key(a.at), key(b.at)), cmp.Compare(a.at, b.at))
	}
	if len(places) < manyPlaces || slices.IsSortedFunc(places, order) {
		slices.SortFunc(places, order)
		return
	}
	// Keys that begin with hashes lie anywhere: they are parted before, which takes two steps
	// for each and saves half of those of sorting.
	from := 0
	for _, to := range partPlaces(places) {
		slices.SortFunc(places[from:to], order)
		from = to
	}
}

const (
	// manyPlaces is from how many places on they are parted.
	manyPlaces = 256
	partBits   = 8
)

// partPlaces puts places with lower bytes before those with higher ones, in parts whose ends
// it returns.
func partPlaces(places []place) (ends [1 << partBits]int) {
	low, high := uint64(math.MaxUint64), uint64(0)
	for i := range places {
		low, high = min(low, places[i].first), max(high, places[i].first)
	}
	shift := max(0, bits.Len64(high-low)-partBits)
	part := func(p *place) uint64 { return (p.first - low) >> shift % uint64(len(ends)) }
	for i := range places {
		ends[part(&places[i])]++
	}
	var next [len(ends)]int
	for i := 1; i < len(ends); i++ {
		next[i] = ends[i-1]
		ends[i] += ends[i-1]
	}
	for i := range ends {
		for at := &next[i]; *at < ends[i]; {
			p := &places[*at]
			to := &next[part(p)]
			*p, places[*to] = places[*to], *p
			*to++
		}
	}
	return ends
}

// byTable parts room for places among tables that have so many rows.
func byTable(room []place, counts *[256]int) (tables [256][]place) {
	for t, n := range counts {
		tables[t], room = room[:0:n], room[n:]
	}
	return tables
}
