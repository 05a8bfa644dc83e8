package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
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
	err := writeMarked(db, version, rows)
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
func writeMarked(db *badger.DB, version uint64, rows []change) error {
	l := db.NewKVLoader(1)
	set, remove := []byte{markTxn}, []byte{markTxn | markDelete}
	kv := pb.KV{Version: version}
	for _, r := range rows {
		kv.Key, kv.Value = r.key, r.value
		if kv.Meta = set; r.value == nil {
			kv.Meta = remove
		}
		if err := l.Set(&kv); err != nil {
			return err
		}
	}
	kv.Key, kv.Value, kv.Meta = []byte(finKey), strconv.AppendUint(nil, version, 10), []byte{markFin}
	if err := l.Set(&kv); err != nil {
		return err
	}
	return l.Finish()
}

// place is where a row stands in a batch, with the first bytes of its key: most keys differ
// in them, so that few are looked up.
type place struct {
	first, next uint64
	at          int
}

// sortRows returns the rows in the order of their keys, of each key the last.
func sortRows(rows []change) []change {
	// Each table by itself: the rows of many are in order already.
	var tables [256][]place
	var counts [256]int
	for i := range rows {
		counts[rows[i].key[0]]++
	}
	places := make([]place, len(rows))
	for t, rest := 0, places; t < len(tables); t++ {
		tables[t], rest = rest[:0:counts[t]], rest[counts[t]:]
	}
	for i := range rows {
		var b [16]byte
		copy(b[:], rows[i].key[1:])
		t := rows[i].key[0]
		tables[t] = append(tables[t], place{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), i})
	}
	list := make([]change, 0, len(rows))
	for _, places := range tables {
		slices.SortFunc(places, func(a, b place) int {
			switch {
			case a.first != b.first:
				return cmp.Compare(a.first, b.first)
			case a.next != b.next:
				return cmp.Compare(a.next, b.next)
			}
			return cmp.Or(bytes.Compare(rows[a.at].key, rows[b.at].key), cmp.Compare(a.at, b.at))
		})
		for i, p := range places {
			if r := rows[p.at]; i+1 == len(places) || !bytes.Equal(r.key, rows[places[i+1].at].key) {
				list = append(list, r)
			}
		}
	}
	return list
}
