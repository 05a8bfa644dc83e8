package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// load collects the rows of tables that are made again, but for those of metrics, to
// be written in the order of their keys, which costs less than a transaction. They
// need none. Until the transaction behind them says that their blocks are made, nobody
// looks for them but the build itself, which passes over the heights that it has not
// made yet, and makes them again after a crash with the same rows. Stamps and buckets
// of metrics say what was before with a single row, which must not be ahead.
type load struct {
	tables [store.TablesEnd][]row
	rest   []row
}

// take keeps the rows that can be loaded, and returns the others with their bytes.
// Those stay good until the next call.
func (l *load) take(list []row) (rest []row, size int) {
	l.rest = l.rest[:0]
	for _, r := range list {
		if t := r.key[0]; tables[t].part != partMetrics {
			l.tables[t] = append(l.tables[t], r)
			continue
		}
		l.rest = append(l.rest, r)
		size += len(r.key) + len(r.value)
	}
	return l.rest, size
}

// end returns what was taken, and starts over.
func (l *load) end() sorter {
	s := sorter{l.tables}
	l.tables = [store.TablesEnd][]row{}
	return s
}

// sorter sorts rows and loads them.
type sorter struct{ tables [store.TablesEnd][]row }

// ranked is a row's place in its table: by the first bytes of its sort key, mostly.
type ranked struct {
	head uint64
	at   uint32
}

func (s *sorter) load(ctx context.Context, db *store.DB, worker *yield.Worker) error {
	n := 0
	for _, t := range s.tables {
		n += len(t)
	}
	rows := make([]row, 0, n)
	var order []ranked
	for _, t := range s.tables {
		order = order[:0]
		for i := range t {
			order = append(order, ranked{head(t[i].key), uint32(i)})
		}
		slices.SortFunc(order, func(a, b ranked) int {
			if a.head != b.head {
				return cmp.Compare(a.head, b.head)
			}
			return cmp.Or(bytes.Compare(t[a.at].key, t[b.at].key), cmp.Compare(a.at, b.at))
		})
		for i, o := range order {
			// Of a key with several rows the last one counts.
			if i+1 == len(order) || !bytes.Equal(t[o.at].key, t[order[i+1].at].key) {
				rows = append(rows, t[o.at])
			}
		}
		worker.Rest(ctx.Done())
	}
	err := db.Load(len(rows), func(i int) (key, value []byte) {
		if i%restRows == 0 {
			worker.Rest(ctx.Done())
		}
		return rows[i].key, rows[i].value
	})
	worker.Rest(ctx.Done())
	return err
}

// head returns the first eight bytes of a sort key as a number.
func head(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key[leadLen:])
	return binary.BigEndian.Uint64(b[:])
}
