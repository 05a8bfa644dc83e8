package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
	"quorate/engine/store/oldruns"
)

// keptRate is about how many rows of runs are copied in a second on two cores.
const keptRate = 60_000

// Kept is what it takes to copy the rows of runs: see [KeepRows].
type Kept struct {
	Rows  uint64
	Bytes int64 // of the files, which is also about what is needed besides
	Time  time.Duration
}

// KeepRows copies the rows of runs into the database in a folder, which no other process may
// use, and removes the files then. begin is called first, with what it takes, and ends it with
// an error; so does step, which is called with how many rows are done. Whatever ends it, the
// next call goes on.
func KeepRows(ctx context.Context, dir string, o Options, begin func(Kept) error, step func(done, of uint64) error) (err error) {
	if err := o.fill(); err != nil {
		return err
	}
	db, _, err := store.Open(settings(dir, &o), o.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := store.CheckFormat(db, name, oldest, version); err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	list, err := readRuns(db, []byte{runsKey})
	if err != nil {
		return err
	}
	opened, kept, err := openRuns(list)
	defer func() {
		for _, r := range opened {
			r.Close()
		}
	}()
	if err == nil {
		err = begin(kept)
	}
	if err != nil {
		return err
	}
	done := uint64(0)
	for from := 0; from < len(list); {
		to := from + 1 // the runs of one edition of a chain
		for to < len(list) && list[to].beside(&list[from]) {
			to++
		}
		before := done
		for _, r := range opened[from:to] {
			n, _ := r.Rows()
			done += n
		}
		if err := keepEdition(ctx, db, list[from:to], opened[from:to], func(n uint64) error { return step(before+n, kept.Rows) }); err != nil {
			return err
		}
		from = to
	}
	return step(done, kept.Rows)
}

func openRuns(list []oldRun) (opened []*oldruns.Run, kept Kept, err error) {
	for _, r := range list {
		run, err := oldruns.Open(r.files)
		if err != nil {
			return opened, kept, err
		}
		opened = append(opened, run)
		n, bytes := run.Rows()
		kept.Rows, kept.Bytes = kept.Rows+n, kept.Bytes+bytes
	}
	kept.Time = time.Duration(float64(kept.Rows) / keptRate * float64(time.Second))
	return opened, kept, nil
}

// keepEdition copies the rows of an edition of a chain, and removes its runs.
func keepEdition(ctx context.Context, db *badger.DB, list []oldRun, opened []*oldruns.Run, step func(done uint64) error) error {
	for _, r := range opened { // what is wrong must not get good checksums
		if err := r.Verify(); err != nil {
			return err
		}
	}
	newest := slices.Clone(opened)
	slices.Reverse(newest)
	if err := oldruns.Copy(ctx, db, newest, step); err != nil {
		return err
	}
	return dropRuns(db, list)
}
