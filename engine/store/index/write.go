package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
)

// Badger's marks of rows in its log. A replay of the log takes those with markTxn when the
// entry with markFin comes behind them that has their version, and none of them otherwise:
// so it treats transactions. Badger has no names for them outside; TestWriteCut finds out
// when they mean something else.
const (
	markDelete = 1 << 0
	markTxn    = 1 << 6
	markFin    = 1 << 7
)

const finKey = badgerPrefix + "txn"

// requestBytes is from how many bytes on a loader of Badger's begins a new request, without
// a word; values count twice.
const requestBytes = 100 << 20

// errBetween is returned for what cannot be unless a commit does not take the lock.
var errBetween = errors.New("another commit came between the rows")

// writeSorted commits rows that come in the order of their keys, and each key once, which
// costs less than a transaction. They are written with the version that the next commit
// will have, which no snapshot sees yet; then a commit makes that version, whose own row
// says nothing. No other commit may come between: it would show a part of the rows.
func (d *DB) writeSorted(db *badger.DB, rows []change) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	tick := db.NewTransaction(true)
	defer tick.Discard()
	if err := tick.Set([]byte{tickKey}, nil); err != nil {
		return err
	}
	version := tick.ReadTs() + 1
	err := d.writeMarked(db, version, rows)
	// Also after an error: what may be there is seen now, and not with a later commit.
	if e := tick.Commit(); e != nil {
		return errors.Join(err, fmt.Errorf("make them visible: %w", e))
	}
	if err != nil {
		return err
	}
	after := db.NewTransaction(false)
	defer after.Discard()
	if after.ReadTs() != version {
		return errBetween
	}
	return nil
}

// writeMarked writes the rows of a batch as one request, whose marks are those of a
// transaction.
func (d *DB) writeMarked(db *badger.DB, version uint64, rows []change) error {
	l := db.NewKVLoader(1)
	set, remove, hide := []byte{markTxn}, []byte{markTxn | markDelete}, []byte{removed}
	kv := pb.KV{Version: version}
	for _, r := range rows {
		kv.Key, kv.Value = r.key, r.value
		switch kv.Meta, kv.UserMeta = set, nil; {
		case r.value != nil:
		case d.hides(r.key):
			kv.UserMeta = hide
		default:
			kv.Meta = remove
		}
		if err := l.Set(&kv); err != nil {
			return err
		}
	}
	kv.UserMeta = nil
	kv.Key, kv.Value, kv.Meta = []byte(finKey), strconv.AppendUint(nil, version, 10), []byte{markFin}
	if err := l.Set(&kv); err != nil {
		return err
	}
	return l.Finish()
}

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

// sortRows returns the rows in the order of their keys, of each key the last.
func sortRows(rows []change) []change {
	// Each table by itself: the rows of many are in order already.
	var counts [256]int
	for i := range rows {
		counts[rows[i].key[0]]++
	}
	tables := byTable(make([]place, len(rows)), &counts)
	for i := range rows {
		t := rows[i].key[0]
		tables[t] = append(tables[t], placeOf(rows[i].key, 1, i))
	}
	list := make([]change, 0, len(rows))
	for _, places := range tables {
		sortPlaces(places, func(at int) []byte { return rows[at].key })
		for i, p := range places {
			if r := rows[p.at]; i+1 == len(places) || !bytes.Equal(r.key, rows[places[i+1].at].key) {
				list = append(list, r)
			}
		}
	}
	return list
}
