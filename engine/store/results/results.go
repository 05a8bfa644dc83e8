package results

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"quorate/engine/actor"
	"quorate/engine/metric"

	"quorate/engine/store"
)

const (
	name    = "results"
	version = 1

	// MaxKey and MaxValue bound an entry in bytes. The longest signed
	// message there can be has 33 kB.
	MaxKey   = 256
	MaxValue = 64 << 10

	// defaultMailbox bounds the waiting entries by count, and with MaxValue
	// in bytes: 64 MiB at the very worst, about 0.5 MiB with usual results.
	defaultMailbox = 1024
)

// ErrTooLarge is returned for a key or value above its bound.
var ErrTooLarge = errors.New("entry too large for the database")

// Options tune [Open]. The zero value is good.
type Options struct {
	// TTL is how long a result is kept, in full seconds, rounded up; 0 is for ever.
	TTL time.Duration
	// MaxBytes bounds the results' keys and values together: beyond it the oldest
	// are deleted until a tenth of it is free. The files may be somewhat larger.
	// 0 is without bound.
	MaxBytes int64
	// Mailbox bounds the entries that wait for the writer. Default 1024.
	Mailbox int
	// GCEvery is the time between two collections of Badger's value log. Default 1 h.
	GCEvery time.Duration
	// Logger is told of Badger's news; nil discards them.
	Logger *slog.Logger
	// Metrics takes the database's metrics; nil keeps them private.
	Metrics *metric.Set
}

// DB keeps signed messages by key. All methods may be called at once.
//
// Life cycle: [Open], then Run in an actor of its own, then end those
// who call Put, then end Run, then Close. Reads work from open to Close. Put
// needs Run: it waits until the writer has committed.
type DB struct {
	opts Options
	log  *slog.Logger
	now  func() time.Time

	mailbox *actor.Mailbox[put]
	closing chan struct{}
	ending  sync.Once // of closing
	closer  *store.Closer

	bytes    atomic.Int64  // of results, about; exact after each count
	pruneNow chan struct{} // holds a token when there may be too many
	pruning  sync.Mutex    // held while the oldest are deleted
	writes   sync.Mutex    // held for each transaction that writes: they do not look for conflicts

	running sync.Mutex // held by Run from start to end
	prober  *store.Prober

	commits metric.Histogram
	failed  metric.Counter
	entries metric.Counter
	pruned  metric.Counter

	mu sync.RWMutex // held for reading while db is used, for writing while it is closed
	db *badger.DB   // nil once closed
}

// put is one entry on its way to the writer.
type put struct {
	key, value []byte
	expires    uint64
	reply      *actor.Reply[struct{}]
}

// Open opens the results database in dir, and makes it if need be.
func Open(dir string, opts Options) (*DB, error) {
	if opts.TTL < 0 {
		return nil, fmt.Errorf("results: negative time to live %s", opts.TTL)
	}
	if opts.MaxBytes < 0 {
		return nil, fmt.Errorf("results: negative size %d", opts.MaxBytes)
	}
	if opts.Mailbox <= 0 {
		opts.Mailbox = defaultMailbox
	}
	if opts.GCEvery <= 0 {
		opts.GCEvery = store.GCEvery
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Metrics == nil {
		opts.Metrics = metric.NewSet()
	}
	s, closing := settings(dir), make(chan struct{})
	db, log, err := store.Open(s, opts.Logger)
	if err != nil {
		return nil, err
	}
	if err := store.CheckFormat(db, name, version, version); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), db.Close())
	}
	d := &DB{
		opts: opts, log: opts.Logger, now: time.Now, db: db,
		mailbox:  actor.NewMailbox[put](opts.Mailbox, actor.Block),
		closing:  closing,
		pruneNow: make(chan struct{}, 1),
		closer:   store.NewCloser(s, log),
		prober:   store.NewProber(closing),
		commits:  opts.Metrics.Histogram("quorate_store_results_commit_seconds", "Time of a commit to the results."),
		failed:   opts.Metrics.Counter("quorate_store_results_commit_failures_total", "Commits to the results that failed."),
		entries:  opts.Metrics.Counter("quorate_store_results_written_total", "Results written."),
		pruned:   opts.Metrics.Counter("quorate_store_results_pruned_total", "Results deleted because there were too many."),
	}
	opts.Metrics.GaugeFunc("quorate_store_results_queued", "Results waiting to be written.", func() float64 { return float64(d.mailbox.Len()) })
	return d, nil
}

// settings returns the options of a small database with small entries that
// are mostly written: a few tens of MB of memory, whatever its size on disk.
func settings(dir string) badger.Options {
	opts := badger.DefaultOptions(dir).
		WithSyncWrites(false). // the log is mapped memory: it survives the process
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMetricsEnabled(false). // Badger's are process-wide
		WithMemTableSize(4 << 20). // soon full with a few results a second
		WithValueThreshold(2 * MaxValue).
		WithNumMemtables(3).
		WithNumCompactors(2).
		WithValueLogFileSize(16 << 20). // all values stay below the threshold, it is nearly unused
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(8 << 20).
		WithChecksumVerificationMode(options.OnBlockRead)
	opts.TableSizeMultiplier = 1 // else compactions take the more the larger it is
	return opts
}

// Get appends the value kept under key to dst. Without one it gives dst and false.
func (d *DB) Get(key, dst []byte) ([]byte, bool, error) {
	return d.get(prefixResult, key, dst)
}

func (d *DB) get(prefix byte, key, dst []byte) ([]byte, bool, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return dst, false, store.ErrClosed
	}
	txn := d.db.NewTransaction(false)
	defer txn.Discard()
	var room [1 + 96]byte
	item, err := txn.Get(append(append(room[:0], prefix), key...))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("read a result: %w", err)
	}
	found := false
	err = item.Value(func(b []byte) error {
		if len(b) < expiryLen {
			return fmt.Errorf("%w: a result of %d bytes", store.ErrFormat, len(b))
		}
		if end := binary.BigEndian.Uint64(b); end == 0 || uint64(d.now().Unix()) < end { // after 1970
			dst, found = append(dst, b[expiryLen:]...), true
		}
		return nil
	})
	if err != nil {
		return dst, false, fmt.Errorf("read a result: %w", err)
	}
	return dst, found, nil
}

// Put keeps value under key, in place of an earlier one, and returns when it is
// committed. While the writer is behind, it waits for room. An error by the
// end of ctx leaves open whether the entry is kept. It copies key and value.
func (d *DB) Put(ctx context.Context, key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	var expires uint64
	if d.opts.TTL > 0 {
		end := d.now().Add(d.opts.TTL)
		if end.Nanosecond() > 0 {
			end = end.Add(time.Second)
		}
		expires = uint64(end.Unix()) // after 1970
	}
	return d.put(ctx, prefixResult, key, value, expires)
}

func (d *DB) put(ctx context.Context, prefix byte, key, value []byte, expires uint64) error {
	p := put{expires: expires}
	buf := make([]byte, 0, 1+len(key)+expiryLen+len(value))
	buf = append(append(buf, prefix), key...)
	p.key = buf[:len(buf):len(buf)]
	rest := binary.BigEndian.AppendUint64(buf[len(buf):], p.expires)
	p.value = append(rest, value...)

	_, err := actor.Ask(ctx, d.mailbox, func(reply *actor.Reply[struct{}]) put {
		p.reply = reply
		return p
	})
	if errors.Is(err, actor.ErrClosed) {
		return store.ErrClosed
	}
	return err
}

// Close ends Run, fails those who still wait in Put with [store.ErrClosed], and
// closes the database. Further calls do nothing. It takes 8 s at most, see
// [DB.CloseWithin].
func (d *DB) Close() error { return d.CloseWithin(store.CloseLimit) }

// CloseWithin is Close with a limit of its own. The error wraps [store.ErrLeft] when the
// database could not be closed in that time, or not at all because its folder
// cannot be written.
func (d *DB) CloseWithin(limit time.Duration) error {
	d.ending.Do(func() { close(d.closing) })
	fail(d.mailbox.Close(), store.ErrClosed)
	if err := d.closer.Close(limit, d.end); err != nil {
		return fmt.Errorf("close the results database: %w", err)
	}
	return nil
}

// end closes the database when nobody uses it any more.
func (d *DB) end() error {
	d.running.Lock() // waits for the end of Run
	defer d.running.Unlock()
	defer d.prober.Wait()()
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.db.Close()
	d.db = nil
	return err
}

func fail(waiting []put, err error) {
	for i := range waiting {
		waiting[i].reply.Answer(struct{}{}, err)
	}
}
