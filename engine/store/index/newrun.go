package index

import (
	"errors"
	"sync"
	"sync/atomic"
)

// leastParted is from how many bytes on rows are written to two files at once.
const leastParted = 2 << 20

// newRun is rows of one space, in any order, that become a run.
type newRun struct {
	n      int
	row    func(i int) (key, value []byte) // a nil value hides older ones
	space  space
	alone  bool
	bytes  int      // of keys and values
	counts [256]int // rows of each table
}

// write writes rows to files, and returns when they are durable.
func (r *runs) write(rows *newRun, version uint64) (files []uint64, err error) {
	places := rows.sorted()
	parts := [][]place{places}
	if rows.alone && rows.bytes >= leastParted {
		half := rows.half(places)
		parts = [][]place{places[:half], places[half:]}
	}
	writers, errs := make([]*tableWriter, len(parts)), make([]error, len(parts))
	var wg sync.WaitGroup
	for i := range parts {
		w := r.writer(int64(rows.bytes+rows.n*rowOverhead) / int64(len(parts)))
		writers[i] = w
		wg.Go(func() { errs[i] = w.all(rows, parts[i], version) })
	}
	wg.Wait()
	if err = errors.Join(errs...); err == nil {
		err = r.sync()
	}
	for _, w := range writers {
		files = append(files, w.files...)
	}
	if err != nil {
		r.remove(files)
	}
	return files, err
}

// sorted returns the places of all rows in the order of their keys.
func (r *newRun) sorted() []place {
	places := make([]place, r.n)
	tables := byTable(places, &r.counts)
	for i := range r.n {
		key, _ := r.row(i)
		tables[key[0]] = append(tables[key[0]], placeOf(key, leadLen, i))
	}
	var next atomic.Int32
	work := func() {
		for t := next.Add(1) - 1; int(t) < len(tables); t = next.Add(1) - 1 {
			sortPlaces(tables[t], r.key)
		}
	}
	var other sync.WaitGroup
	if r.alone {
		other.Go(work)
	}
	work()
	other.Wait()
	return places
}

func (r *newRun) key(at int) []byte {
	key, _ := r.row(at)
	return key
}

// half returns how many of the first rows have half of the bytes.
func (r *newRun) half(places []place) int {
	bytes := 0
	for i, p := range places {
		key, value := r.row(p.at)
		if bytes += len(key) + len(value); bytes >= r.bytes/2 {
			return i
		}
	}
	return len(places)
}

// all writes rows in the order of their places.
func (w *tableWriter) all(rows *newRun, places []place, version uint64) error {
	for _, p := range places {
		key, value := rows.row(p.at)
		if err := w.add(key, value, version); err != nil {
			w.close()
			return err
		}
	}
	return w.flush()
}
