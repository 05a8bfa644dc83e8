package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	// CloseLimit bounds a Close when nothing else was set: Badger repeats a flush
	// that fails for ever.
	CloseLimit = 8 * time.Second
	// writableLimit bounds the look at a folder before a close.
	writableLimit = time.Second
	// closeSlack is what a close writes besides its tables in memory, in bytes.
	closeSlack = 8 << 20
	// RowOverhead is about what a table in memory takes for a row besides its key
	// and value, in bytes.
	RowOverhead = 64
)

// ErrLeft is wrapped by the error of a Close that could not write what was in
// memory. The files are as after a kill: what was committed is in their logs.
var ErrLeft = errors.New("the database was not closed; its files are as after a kill")

// Closer closes a database once, in bounded time.
type Closer struct {
	dir  string
	log  *Log
	once sync.Once
	// unflushed is about what was written since the database was opened, in bytes;
	// of it the tables in memory hold at most memory.
	unflushed atomic.Int64
	memory    int64
}

// NewCloser returns the closer of a database that was opened with opts.
func NewCloser(opts badger.Options, log *Log) *Closer {
	return &Closer{dir: opts.Dir, log: log, memory: int64(opts.NumMemtables+1) * opts.MemTableSize}
}

// Wrote notes that so many bytes were committed: see [RowOverhead].
func (c *Closer) Wrote(bytes int64) { c.unflushed.Add(bytes) }

// Flush returns how many bytes a flush of the tables in memory may write.
func (c *Closer) Flush() int64 { return min(2*c.unflushed.Load(), c.memory) }

// Close calls end, which is to close the database, once, and waits for it at
// most limit. Further calls wait for the first and return nil.
//
// Badger writes its tables in memory when it is closed. That repeats for ever
// in a folder that is gone or cannot be written, and on a full volume it ends
// the process with SIGBUS, since tables are written through mapped memory. So
// the folder is looked at first, and the close is left out if it cannot work.
func (c *Closer) Close(limit time.Duration, end func() error) (err error) {
	c.once.Do(func() {
		started := time.Now()
		flush := c.Flush() + closeSlack
		err = within(min(limit, writableLimit), func() error { return writable(c.dir, flush) })
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrLeft, err)
			return
		}
		err = within(limit-time.Since(started), end)
		if !errors.Is(err, errSlow) {
			return
		}
		err = fmt.Errorf("%w: %w", ErrLeft, err)
		if last := c.log.lastError(); last != "" {
			err = fmt.Errorf("%w; the last error was: %s", err, last)
		}
	})
	return err
}

var errSlow = errors.New("it did not end in time")

// within returns the error of f, or errSlow if f takes longer than limit. It
// goes on then, and nobody hears of its end: it is for the end of a process.
func within(limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%w (%s)", errSlow, limit.Round(time.Millisecond))
	}
}

// writable reports why no file of that many bytes could be made in dir.
func writable(dir string, size int64) error {
	f, err := os.CreateTemp(dir, "writable-*.tmp")
	if err != nil {
		return fmt.Errorf("its folder cannot be written: %w", err)
	}
	err = errors.Join(f.Truncate(size), f.Close(), os.Remove(f.Name()))
	if err != nil {
		return fmt.Errorf("its folder cannot be written: %w", err)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return fmt.Errorf("the space in its folder is not known: %w", err)
	}
	if free := int64(s.Bavail) * int64(s.Bsize); free < size {
		return fmt.Errorf("no space left on the volume of %s: %d bytes are free, a flush may need %d", dir, free, size)
	}
	return nil
}
