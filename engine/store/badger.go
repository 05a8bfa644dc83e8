package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
)

var (
	// ErrClosed is returned by a database that was closed.
	ErrClosed = errors.New("the database is closed")
	// ErrInUse is wrapped by the error of opening a database that another process holds.
	ErrInUse = errors.New("the database is in use by another process")
)

const (
	// GCEvery is the time between two collections of a value log when nothing else
	// was set, GCRatio the share of one of its files that must be garbage.
	GCEvery = time.Hour
	GCRatio = 0.5
)

// maxEmptyFiles bounds the empty files that are put up with at once: a kill
// leaves one of each kind at most.
const maxEmptyFiles = 4

// Open opens the Badger database of opts and explains the usual failures.
func Open(opts badger.Options, logger *slog.Logger) (*badger.DB, *Log, error) {
	log := &Log{log: logger}
	opts.Logger = log
	if size := tableOfLogs(opts.Dir, opts.MemTableSize); size > opts.MemTableSize {
		larger := opts
		larger.MemTableSize = size
		db, err := open(larger, logger)
		if err == nil {
			err = db.Close() // writes the tables, and deletes their logs
		}
		if err != nil {
			return nil, nil, err
		}
	}
	db, err := open(opts, logger)
	if err != nil {
		return nil, nil, err
	}
	return db, log, nil
}

const (
	// logTable is how many times the bytes of its log a table in memory takes at most:
	// a row has 20 bytes in a log and some 50 in memory at the least.
	logTable = 3
	// maxTable bounds the size of a table in memory: Badger's positions have 32 bits.
	maxTable = 1 << 30
)

// tableOfLogs returns which size of tables in memory the logs in a folder need that a
// killed process has left, or less if usual is enough. Badger reads each log back into
// a table of the size of today: what was written with larger ones does not fit, and
// that ends the process.
func tableOfLogs(dir string, usual int64) (size int64) {
	files, _ := os.ReadDir(dir) // a folder that is missing has none
	for _, f := range files {
		info, err := f.Info()
		if err != nil || filepath.Ext(f.Name()) != ".mem" || info.Size() == 2*usual {
			continue // made with the same size
		}
		bytes := info.Size() // as it was made, most of it a hole
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes = min(bytes, 512*st.Blocks)
		}
		size = max(size, min(logTable*bytes, maxTable))
	}
	return size
}

// open opens a database, though a kill may have left empty files.
func open(opts badger.Options, logger *slog.Logger) (*badger.DB, error) {
	db, err := openChecked(opts)
	// A process that was killed while it made a log leaves an empty file behind,
	// which Badger makes good but takes for a failure, under this text.
	for range maxEmptyFiles {
		if err == nil || !strings.Contains(err.Error(), "Create a new file") {
			break
		}
		logger.Warn("the database has an empty file, as after a kill", "err", err)
		db, err = openChecked(opts)
	}
	for waited := time.Duration(0); locked(err) && waited < LockWait; waited += LockWait / 20 {
		<-time.After(LockWait / 20)
		db, err = openChecked(opts)
	}
	if err == nil {
		return db, nil
	}
	if locked(err) {
		return nil, fmt.Errorf("open %s: %w: stop the other one, or give this one a data folder of its own",
			opts.Dir, ErrInUse)
	}
	return nil, fmt.Errorf("open %s: %w", opts.Dir, err)
}

// openChecked opens a database whose files do not end the process. While another process
// holds the folder its files come and go, and what matters is that it does.
func openChecked(opts badger.Options) (*badger.DB, error) {
	if err := CheckFiles(opts); err != nil && !held(opts.Dir) {
		return nil, err
	}
	return badger.Open(opts)
}

// held reports whether another process has locked a folder.
func held(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close() // lets the lock go, too
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// LockWait is for how long the lock of a folder is waited for. A process that has just
// closed it may have started a child meanwhile, which holds the lock until it runs its own
// program; and another server may be about to end.
const LockWait = time.Second

// locked reports whether another process holds the folder. Badger has no type for this
// failure and hides the errno in its text.
func locked(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Cannot acquire directory lock")
}

// Verify opens the database of opts, which no other process may use, checks the
// checksums of all its tables, and closes it.
func Verify(opts badger.Options) (err error) {
	db, _, err := Open(opts, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return verifyTables(db)
}

// verifyTables checks all tables. Badger's own check panics at a block that cannot even
// be unpacked, of which it wants to name the offset.
func verifyTables(db *badger.DB) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("a table has a block that cannot be unpacked")
		}
	}()
	return db.VerifyChecksum()
}

// Log hands Badger's log lines to slog, one step quieter: its news are our
// details. It remembers the last error, which some calls hide by trying again.
type Log struct {
	log     *slog.Logger
	last    atomic.Pointer[string]
	onTable atomic.Pointer[func(took time.Duration)]
}

// OnTable has f called by each goroutine of a compaction between two tables, with how
// long it took to make the last one. What f waits, the compaction waits. Badger has no
// way to slow compactions down, but it logs each table.
func (b *Log) OnTable(f func(took time.Duration)) { b.onTable.Store(&f) }

// tableMade begins the line about a table of a compaction; its argument tableTook is a duration.
const (
	tableMade = "[%d] LOG Compact. Added"
	tableTook = 3
)

func (b *Log) lastError() string {
	if s := b.last.Load(); s != nil {
		return *s
	}
	return ""
}

// levelVerbose is below slog's debug; engine/log shows it as VERBO.
const levelVerbose = slog.LevelDebug - 4

// Errorf logs an error, and remembers it.
func (b *Log) Errorf(format string, args ...any) {
	last := strings.TrimSpace(fmt.Sprintf(format, args...))
	b.last.Store(&last)
	b.line(slog.LevelError, format, args)
}

// Warningf logs a warning.
func (b *Log) Warningf(format string, args ...any) { b.line(slog.LevelWarn, format, args) }

// Infof logs a detail.
func (b *Log) Infof(format string, args ...any) { b.line(slog.LevelDebug, format, args) }

// Debugf logs a detail of the details.
func (b *Log) Debugf(format string, args ...any) {
	b.line(levelVerbose, format, args)
	if f := b.onTable.Load(); f != nil && strings.HasPrefix(format, tableMade) && len(args) > tableTook {
		if took, ok := args[tableTook].(time.Duration); ok {
			(*f)(took)
		}
	}
}

func (b *Log) line(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if b.log.Enabled(ctx, level) {
		b.log.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
