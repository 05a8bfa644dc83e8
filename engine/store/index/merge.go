package index

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// Runs of a space are merged when there are many of about the same size: a reader looks
// into each.
const (
	// alike is how many runs are merged at once while others come, none of them alike times
	// as large as another.
	alike = 16
	// restFor is for how long none has come when fewer are merged too: then a run stays
	// beside the younger ones only if it is restRatio times as large as all of them.
	restFor   = 5 * time.Second
	restRatio = 4
	// lookEvery is after how many rows a merge looks whether the database is closed.
	lookEvery = 1 << 12
)

// toMerge returns the range of runs to merge, which is empty if there are none. sizes are
// those of the runs, the oldest first.
func toMerge(sizes []int64, resting bool) (from, to int) {
	if resting {
		younger := int64(0)
		for i := len(sizes) - 1; i > 0; i-- {
			if younger += sizes[i]; sizes[i-1] < restRatio*younger {
				from, to = i-1, len(sizes)
			}
		}
		return from, to
	}
	for end := len(sizes); end >= alike; end-- {
		some := sizes[end-alike : end]
		if slices.Max(some) < alike*slices.Min(some) {
			return end - alike, end
		}
	}
	return 0, 0
}

// mergeSoon has runs merged in the background, if there are some to merge.
func (d *DB) mergeSoon() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return
	}
	select {
	case d.runs.wake <- struct{}{}:
	default:
	}
	if d.runs.merging {
		return
	}
	d.runs.merging = true
	d.runs.worker.Go(d.mergeAll)
}

// mergeAll merges runs while there are some to merge, and until none has come for a while.
func (d *DB) mergeAll() {
	for resting := false; ; {
		merged, err := d.mergeSome(resting)
		if err != nil {
			d.log.Warn("tables of the index were not merged; they will be with the next ones", "error", err)
		}
		if merged && err == nil {
			continue
		}
		d.mu.Lock()
		if d.shut || resting && len(d.runs.wake) == 0 {
			d.runs.merging = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		rest := time.NewTimer(restFor)
		select {
		case <-d.runs.wake:
			resting = false
		case <-rest.C:
			resting = true
		case <-d.closing:
		}
		rest.Stop()
	}
}

// mergeSome merges some runs of a space, if there are some to merge. After an error all is
// as before.
func (d *DB) mergeSome(resting bool) (merged bool, err error) {
	db, err := d.use()
	if err != nil {
		return false, nil // closed
	}
	defer d.unuse()
	d.mu.Lock()
	list := d.runs.list.hold()
	d.mu.Unlock()
	defer list.drop()
	for s, all := range list.of {
		var sizes []int64
		for _, r := range all {
			sizes = append(sizes, r.size)
		}
		if from, to := toMerge(sizes, resting); from < to {
			err := d.mergeThese(db, s, all[from:to], from == 0)
			if errors.Is(err, errOther) || errors.Is(err, errClosing) {
				err = nil
			}
			return true, err
		}
	}
	return false, nil
}

var errClosing = errors.New("the database closes")

// closes reports whether the database is being closed.
func (d *DB) closes() bool {
	select {
	case <-d.closing:
		return true
	default:
		return false
	}
}

// mergeThese makes one run of several that follow on each other; oldest says that there is
// none before them.
func (d *DB) mergeThese(db *badger.DB, s space, runs []*run, oldest bool) error {
	for _, r := range runs { // what is wrong must not get good checksums
		if err := r.verify(); err != nil {
			return err
		}
	}
	w := d.runs.writer(d.runs.size)
	err := d.mergeTo(db, w, runs, oldest)
	if err == nil {
		err = d.runs.sync()
	}
	if err != nil {
		d.runs.remove(w.files)
		return err
	}
	defer d.committed() // so that the old ones are let go
	return d.add(db, s, w.files, nil, func(list []*run, one *run) ([]*run, error) {
		at := slices.Index(list, runs[0])
		if at < 0 || at+len(runs) > len(list) || !slices.Equal(list[at:at+len(runs)], runs) {
			return nil, errOther
		}
		one.seq = runs[len(runs)-1].seq
		return slices.Concat(list[:at], []*run{one}, list[at+len(runs):]), nil
	})
}

// mergeTo writes the rows of runs. A row that hides older ones is left out when there are
// none, nor will be: whatever comes is younger.
func (d *DB) mergeTo(db *badger.DB, w *tableWriter, runs []*run, oldest bool) error {
	txn := db.NewTransaction(false)
	defer txn.Discard()
	files, rows, began := 0, 0, time.Now()
	err := merge(runs, func(key []byte, v y.ValueStruct, version uint64) error {
		if rows++; rows%lookEvery == 0 && d.closes() {
			return errClosing
		}
		if len(w.files) > files { // between two of them
			if files = len(w.files); d.opts.Room != nil {
				if err := d.opts.Room(); err != nil {
					return err
				}
			}
			d.opts.Spare.Follow(time.Since(began), d.closing)
			began = time.Now()
		}
		value := v.Value
		if v.Meta == removed {
			if value = nil; oldest {
				_, err := txn.Get(key)
				if errors.Is(err, badger.ErrKeyNotFound) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("read a row: %w", err)
				}
			}
		} else if value == nil {
			value = []byte{}
		}
		return w.add(key, value, version)
	})
	if err != nil {
		w.close()
		return err
	}
	return w.flush()
}
