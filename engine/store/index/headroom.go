package index

import (
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	// headroomAge is how old an answer of Headroom may be: it takes the locks of all
	// levels, and is asked for before each write.
	headroomAge = time.Second
	// overlap is about how many tables of the next level a compaction writes again
	// with one of a level, which is a tenth of the next: those that it covers, the
	// table itself, and one that is cut at each end.
	overlap = 10 + 1 + 2
)

// Headroom returns how many bytes of disk the database may need at the worst for
// what has been committed: the tables in memory and the largest compactions that
// can be under way at once. They are written through mapped memory, so a volume
// that cannot give a page then ends the process.
func (d *DB) Headroom() int64 {
	now := time.Now()
	if last := d.headroom.Load(); last != nil && now.Sub(last.at) < headroomAge {
		return last.bytes
	}
	db, err := d.use()
	if err != nil {
		return 0 // nothing is written any more
	}
	defer d.unuse()
	flush := d.closer.Flush()
	bytes := flush + compactions(db.Levels(), flush)
	d.headroom.Store(&headroom{now, bytes})
	return bytes
}

// headroom is what Headroom found at a time.
type headroom struct {
	at    time.Time
	bytes int64
}

// compactions returns the bytes that the two largest compactions write at most. One
// is that of level 0, to which flush will be added, with all of the base level; the
// other one that of a table with those that it overlaps.
func compactions(levels []badger.LevelInfo, flush int64) int64 {
	top, deep := flush, int64(0)
	for i, l := range levels {
		if i == 0 || l.IsBaseLevel {
			top += l.Size
		}
		if i > 1 {
			// A smaller one is written as a whole.
			deep = max(deep, min(overlap*l.TargetFileSize, levels[i-1].Size+l.Size))
		}
	}
	return top + deep
}
