package store

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
)

const (
	resultsName    = "results"
	resultsVersion = 1

	// MaxResultKey and MaxResultValue bound an entry in bytes. The longest signed
	// message there can be has 33 kB.
	MaxResultKey   = 256
	MaxResultValue = 64 << 10

	// defaultMailbox bounds the waiting entries by count, and with MaxResultValue
	// in bytes: 64 MiB at the very worst, about 0.5 MiB with usual results.
	defaultMailbox = 1024
	defaultGCEvery = time.Hour
)

var (
	// ErrClosed is returned by a database that was closed.
	ErrClosed = errors.New("the database is closed")
	// ErrTooLarge is returned for a key or value above its bound.
	ErrTooLarge = errors.New("entry too large for the database")
)

// ResultsOptions tune [OpenResults]. The zero value is good.
type ResultsOptions struct {
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

// Results keeps signed messages by key. All methods may be called at once.
//
// Life cycle: [OpenResults], then Run in an actor of its own, then end those
// who call Put, then end Run, then Close. Reads work from open to Close. Put
// needs Run: it waits until the writer has committed.
type Results struct {
	opts ResultsOptions
	log  *slog.Logger
	now  func() time.Time

	mailbox *actor.Mailbox[put]
	closing chan struct{}
	ending  sync.Once // of closing
	closer  closer

	bytes    atomic.Int64  // of results, about; exact after each count
	pruneNow chan struct{} // holds a token when there may be too many

	running sync.Mutex    // held by Run from start to end
	probing chan struct{} // one token, held by the check that is under way

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

// OpenResults opens the results database in dir, and makes it if need be.
func OpenResults(dir string, opts ResultsOptions) (*Results, error) {
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
		opts.GCEvery = defaultGCEvery
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Metrics == nil {
		opts.Metrics = metric.NewSet()
	}
	settings := resultsBadger(dir)
	db, log, err := open(settings, opts.Logger)
	if err != nil {
		return nil, err
	}
	if err := checkFormat(db, resultsName, resultsVersion, resultsVersion); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), db.Close())
	}
	r := &Results{
		opts: opts, log: opts.Logger, now: time.Now, db: db,
		mailbox:  actor.NewMailbox[put](opts.Mailbox, actor.Block),
		closing:  make(chan struct{}),
		pruneNow: make(chan struct{}, 1),
		closer:   closer{dir: dir, log: log, memory: int64(settings.NumMemtables+1) * settings.MemTableSize},
		probing:  make(chan struct{}, 1),
		commits:  opts.Metrics.Histogram("quorate_store_results_commit_seconds", "Time of a commit to the results."),
		failed:   opts.Metrics.Counter("quorate_store_results_commit_failures_total", "Commits to the results that failed."),
		entries:  opts.Metrics.Counter("quorate_store_results_written_total", "Results written."),
		pruned:   opts.Metrics.Counter("quorate_store_results_pruned_total", "Results deleted because there were too many."),
	}
	opts.Metrics.GaugeFunc("quorate_store_results_queued", "Results waiting to be written.", func() float64 { return float64(r.mailbox.Len()) })
	return r, nil
}

// resultsBadger gives the options of a small database with small entries that
// are mostly written: a few tens of MB of memory, whatever its size on disk.
func resultsBadger(dir string) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(false). // the log is mapped memory: it survives the process
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMetricsEnabled(false). // Badger's are process-wide
		WithMemTableSize(8 << 20).
		WithNumMemtables(3).
		WithNumCompactors(2).
		WithValueLogFileSize(16 << 20). // all values stay below the threshold, it is nearly unused
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(8 << 20).
		WithChecksumVerificationMode(options.OnBlockRead)
}

// Get appends the value kept under key to dst. Without one it gives dst and false.
func (r *Results) Get(key, dst []byte) ([]byte, bool, error) {
	return r.get(prefixResult, key, dst)
}

func (r *Results) get(prefix byte, key, dst []byte) ([]byte, bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return dst, false, ErrClosed
	}
	txn := r.db.NewTransaction(false)
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
			return fmt.Errorf("%w: a result of %d bytes", ErrFormat, len(b))
		}
		if end := binary.BigEndian.Uint64(b); end == 0 || uint64(r.now().Unix()) < end { // after 1970
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
func (r *Results) Put(ctx context.Context, key, value []byte) error {
	if len(key) > MaxResultKey || len(value) > MaxResultValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	var expires uint64
	if r.opts.TTL > 0 {
		end := r.now().Add(r.opts.TTL)
		if end.Nanosecond() > 0 {
			end = end.Add(time.Second)
		}
		expires = uint64(end.Unix()) // after 1970
	}
	return r.put(ctx, prefixResult, key, value, expires)
}

func (r *Results) put(ctx context.Context, prefix byte, key, value []byte, expires uint64) error {
	p := put{expires: expires}
	buf := make([]byte, 0, 1+len(key)+expiryLen+len(value))
	buf = append(append(buf, prefix), key...)
	p.key = buf[:len(buf):len(buf)]
	rest := binary.BigEndian.AppendUint64(buf[len(buf):], p.expires)
	p.value = append(rest, value...)

	_, err := actor.Ask(ctx, r.mailbox, func(reply *actor.Reply[struct{}]) put {
		p.reply = reply
		return p
	})
	if errors.Is(err, actor.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Close ends Run, fails those who still wait in Put with [ErrClosed], and
// closes the database. Further calls do nothing. It takes 8 s at most, see
// [Results.CloseWithin].
func (r *Results) Close() error { return r.CloseWithin(closeLimit) }

// CloseWithin is Close with a limit of its own. The error wraps [ErrLeft] when the
// database could not be closed in that time, or not at all because its folder
// cannot be written.
func (r *Results) CloseWithin(limit time.Duration) error {
	r.ending.Do(func() { close(r.closing) })
	fail(r.mailbox.Close(), ErrClosed)
	if err := r.closer.close(limit, r.end); err != nil {
		return fmt.Errorf("close the results database: %w", err)
	}
	return nil
}

// end closes the database when nobody uses it any more.
func (r *Results) end() error {
	r.running.Lock() // waits for the end of Run
	defer r.running.Unlock()
	r.probing <- struct{}{} // waits for the end of a check
	defer func() { <-r.probing }()
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.db.Close()
	r.db = nil
	return err
}

func fail(waiting []put, err error) {
	for i := range waiting {
		waiting[i].reply.Answer(struct{}{}, err)
	}
}
