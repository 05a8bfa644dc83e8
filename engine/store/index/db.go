package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"quorate/engine/metric"
	"quorate/engine/store"
	"quorate/engine/yield"
)

const (
	name = "index"
	// Version 3 has editions of tables. In version 2 all have edition 0 and no row
	// about it, which version 3 reads. Version 4 may have runs, beside what version 3
	// has, and so may version 5: see runsKey.
	// Version 5 has members in rows of blocks and transactions that are flagged where they are.
	oldest  = 2
	version = 5
	// level0 is how many tables of level 0 a compaction begins with. Each read looks
	// into each of them, where all versions lie of rows that are written again. Badger's
	// own 5 merge them later; 2 were seen to cost a sixth more CPU time when much is
	// indexed, 3 hardly any.
	level0 = 3
	// memTables is how many tables are in memory at most.
	memTables = 4
	// compactionTables is how many times the size of a table compactions take in memory.
	// Two run, each fills up to five tables and writes up to eight; a table takes twice
	// its size and, when that is used up, twice that in addition, and 3 MiB for its
	// index while it is written. All of that at once is rare.
	compactionTables = 20 * 6
	// maxTables is how many tables a database has at most when it is opened, but for
	// those that were made smaller: a quarter of what a process may map, usually, since
	// it grows until it is opened again.
	maxTables = 1 << 14
	// blockSize is the size of a block before it is compressed. Larger ones than Badger's own
	// 4 KiB compress better, by a tenth, and need fewer entries in the index of their table;
	// to read a row costs more the larger its block is.
	blockSize = 8 << 10
	// zstdLevel was seen to save a third of the disk; the next level hardly more.
	zstdLevel = 1
	// With hurry of them compactions do not rest: at 15 Badger has commits wait.
	hurry = 2 * level0
)

// Options tune [Open]. The zero value is good.
type Options struct {
	// MemTableMB is the size of a table in memory, in MiB, and bounds what one
	// transaction can hold to 15% of it. Up to four are held, with 30% more each for what
	// a full one takes yet. At least 8, default 64.
	MemTableMB int
	// BlockCacheMB and IndexCacheMB bound the memory for what was read, in MiB. Blocks
	// are kept only of compressed tables: others are mapped files. Defaults 256 and 128.
	BlockCacheMB, IndexCacheMB int
	// Uncompressed leaves blocks as they are, which takes 1.6 times the disk and reads
	// them faster. Tables that are there are written anew as they are merged.
	Uncompressed bool
	// Room, if not nil, returns why nothing must be written now, for example too
	// little space on the volume; see [DB.Headroom]. It is asked before each
	// transaction that writes.
	Room func() error
	// NoSync leaves a commit to the operating system: it survives the end of the
	// process, but not the loss of the host. For tests and benchmarks.
	NoSync bool
	// GCEvery is the time between two collections of Badger's value log. Default 1 h.
	GCEvery time.Duration
	// CompactionMB is about the memory that compactions may take, in MiB: it bounds the
	// size of tables on disk. Default 240, at least 60.
	CompactionMB int
	// Spare is the time for compactions while tables are made again; nil has them take
	// what they want.
	Spare *yield.Time
	// Remake is called with each edition of a chain that has rows in runs, and with what reads
	// a row, before anything is changed. It returns why they cannot be made again, which is the
	// error of Open, or nil: whoever reads the chain passes over it. Nil refuses to open.
	Remake func(id [32]byte, ordinal uint32, edition uint8, get func(key []byte) ([]byte, error)) error
	// Logger is told of Badger's news; nil discards them.
	Logger *slog.Logger
	// Metrics takes the database's metrics; nil keeps them private.
	Metrics *metric.Set
}

func (o *Options) fill() error {
	o.MemTableMB = cmp.Or(o.MemTableMB, 64)
	o.BlockCacheMB = cmp.Or(o.BlockCacheMB, 256)
	o.IndexCacheMB = cmp.Or(o.IndexCacheMB, 128)
	o.CompactionMB = max(cmp.Or(o.CompactionMB, 240), 60)
	if o.MemTableMB < 8 || o.BlockCacheMB < 1 || o.IndexCacheMB < 1 {
		return fmt.Errorf("index database: %d MiB for a table in memory, %d and %d for caches: too little",
			o.MemTableMB, o.BlockCacheMB, o.IndexCacheMB)
	}
	if o.GCEvery <= 0 {
		o.GCEvery = store.GCEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metric.NewSet()
	}
	return nil
}

// DB holds the index of chains: see the tables in this package. All methods may
// be called at once. Each table of a chain has one writer at a time, so
// transactions do not check for conflicts.
//
// Life cycle: [Open], then Run in an actor of its own, then Close, which waits
// until all snapshots and transactions have ended.
type DB struct {
	opts Options
	log  *slog.Logger

	headroom atomic.Pointer[headroom] // what was found last

	closing chan struct{}
	closer  *store.Closer
	prober  *store.Prober

	commits          metric.Histogram
	failed           metric.Counter
	entries, written metric.Counter

	mu     sync.Mutex // guards what follows
	db     *badger.DB // nil once closed
	users  int        // who use db now
	idle   *sync.Cond // users has become 0
	shut   bool       // no further users
	newest *moment    // sees all that is committed; nil: the next snapshot makes it
	ended  uint64     // commits that have ended
	chains sync.Mutex // held while an ordinal is given
}

// Open opens the index database in dir, and makes it if need be.
func Open(dir string, opts Options) (*DB, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	s, closing := settings(dir, &opts), make(chan struct{})
	bdb, log, err := store.Open(s, opts.Logger)
	if err != nil {
		return nil, err
	}
	if err = checkRuns(bdb, &opts); err == nil {
		err = store.CheckFormat(bdb, name, oldest, version)
	}
	if err == nil {
		err = os.RemoveAll(dir + compressing) // what a kill has left of Compress
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), bdb.Close())
	}
	d := &DB{
		opts: opts, log: opts.Logger, db: bdb,
		closing: closing, prober: store.NewProber(closing),
		commits: opts.Metrics.Histogram("quorate_store_index_commit_seconds", "Time of a commit to the index."),
		failed:  opts.Metrics.Counter("quorate_store_index_commit_failures_total", "Commits to the index that failed."),
		entries: opts.Metrics.Counter("quorate_store_index_rows_total", "Rows written to the index."),
		written: opts.Metrics.Counter("quorate_store_index_row_bytes_total", "Bytes of rows written to the index."),
		closer:  store.NewCloser(s, log),
	}
	d.idle = sync.NewCond(&d.mu)
	log.OnTable(func(took time.Duration) {
		// Asked of Badger itself: its close waits for compactions, with the lock of d.
		if bdb.Levels()[0].NumTables < hurry {
			opts.Spare.Follow(took, closing)
		}
	})
	d.gauges()
	return d, nil
}

// settings returns the options of the large database: many small rows, half of
// them in random order, written for days and then read for years.
func settings(dir string, o *Options) badger.Options {
	opts := badger.DefaultOptions(dir).
		WithSyncWrites(!o.NoSync).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMetricsEnabled(false). // Badger's are process-wide
		WithMemTableSize(int64(o.MemTableMB) << 20).
		WithNumCompactors(2). // as fast as four on two cores
		WithNumGoroutines(2).
		WithNumLevelZeroTables(level0).
		WithBaseTableSize(tableSize(o.CompactionMB, diskBytes(dir))).
		WithNumMemtables(memTables - 1).
		WithCompression(options.ZSTD).
		WithZSTDCompressionLevel(zstdLevel).
		WithBlockSize(blockSize).
		WithBlockCacheSize(int64(o.BlockCacheMB) << 20).
		WithIndexCacheSize(int64(o.IndexCacheMB) << 20).
		WithValueThreshold(largeValue).
		WithValueLogFileSize(256 << 20) // holds the few values above 1 MiB
	opts.TableSizeMultiplier = 1
	if o.Uncompressed {
		// To look a block up in a cache costs more than to read it where it lies.
		opts = opts.WithCompression(options.None)
		if compressed, _, err := tablesOf(dir); err == nil && compressed == 0 {
			opts.BlockCacheSize = 0
		}
	}
	return opts
}

// tableSize returns the size of tables on disk, on all levels, that keeps compactions
// within so many MiB, unless the database had too many of them then for what a process
// may map: Linux allows 65,530. With Badger's own sizes, which double from level to
// level, what compactions take grows with the database: it was seen to reach 500 MB with
// half a gigabyte.
func tableSize(compactionMB int, disk int64) int64 {
	fits := uint64(compactionMB) << 20 / compactionTables
	// What a table takes while it is made is rounded up to a power of two.
	return max(1<<(bits.Len64(fits)-1), disk/maxTables)
}

// diskBytes returns the bytes of the tables in a folder.
func diskBytes(dir string) (size int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".sst" {
			continue
		}
		if info, err := f.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

// Held returns about how many bytes of memory the blocks that were read take, and the
// tables that are not written yet.
func (d *DB) Held() (blocks, tables int64) {
	db, err := d.use()
	if err != nil {
		return 0, 0
	}
	defer d.unuse()
	if m := db.BlockCacheMetrics(); m != nil {
		blocks = max(int64(m.CostAdded()-m.CostEvicted()), 0)
	}
	logs, _ := filepath.Glob(filepath.Join(db.Opts().Dir, "*.mem")) // one for each
	return blocks, int64(min(len(logs), memTables)) * (db.Opts().MemTableSize + 2*db.MaxBatchSize())
}

func (d *DB) gauges() {
	gauge := func(name, help string, value func(db *badger.DB) float64) {
		d.opts.Metrics.GaugeFunc(name, help, func() float64 {
			db, err := d.use()
			if err != nil {
				return 0
			}
			defer d.unuse()
			return value(db)
		})
	}
	gauge("quorate_store_index_level0_tables", "Tables of the index that are not merged yet.", func(db *badger.DB) float64 { return float64(db.Levels()[0].NumTables) })
	// Badger's own figures of sizes are those of up to a minute ago, 0 until then.
	gauge("quorate_store_index_bytes", "Disk space of the index, logs included.", func(db *badger.DB) float64 {
		size := logBytes(db.Opts().Dir)
		for _, level := range db.Levels() {
			size += float64(level.Size)
		}
		return size
	})
	gauge("quorate_store_index_log_bytes", "Disk space of the logs of the index: rows not yet in tables, and large values.", func(db *badger.DB) float64 {
		return logBytes(db.Opts().Dir)
	})
}

// logBytes returns what the logs in a database's folder take on disk. They are made
// at their full length and filled later.
func logBytes(dir string) (size float64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		info, err := f.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			size += 512 * float64(st.Blocks) // whatever the block size, see stat(2)
		}
	}
	return size
}

// use hands the database to one more user, who ends with unuse.
func (d *DB) use() (*badger.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, store.ErrClosed
	}
	d.users++
	return d.db, nil
}

func (d *DB) unuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users == 0 {
		d.idle.Broadcast()
	}
}

// Close refuses further use, waits until those who use the database have ended,
// and closes it. Further calls do nothing. It takes 8 s at most, see [DB.CloseWithin].
func (d *DB) Close() error { return d.CloseWithin(store.CloseLimit) }

// CloseWithin is Close with a limit of its own. The error wraps [store.ErrLeft] when the
// database could not be closed in that time, or not at all because its folder
// cannot be written. Whoever uses it still must not outlive the process.
func (d *DB) CloseWithin(limit time.Duration) error {
	d.mu.Lock()
	if !d.shut {
		close(d.closing)
	}
	d.shut = true
	d.mu.Unlock()
	if err := d.closer.Close(limit, d.end); err != nil {
		return fmt.Errorf("close the index database: %w", err)
	}
	return nil
}

// end closes the database when nobody uses it any more.
func (d *DB) end() error {
	defer d.prober.Wait()()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.users > 0 {
		d.idle.Wait()
	}
	if d.newest != nil {
		d.newest.end()
		d.newest = nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}

// Ordinal returns the number of the chain in keys; a new chain gets the next one.
func (d *DB) Ordinal(blockchain [32]byte) (uint32, error) {
	d.chains.Lock()
	defer d.chains.Unlock()
	db, err := d.use()
	if err != nil {
		return 0, err
	}
	defer d.unuse()
	var ordinal uint32
	err = db.Update(func(txn *badger.Txn) error {
		last := uint32(0)
		if err := eachChain(txn, func(id [32]byte, n uint32) {
			if id == blockchain {
				ordinal = n
			}
			last = max(last, n)
		}); err != nil || ordinal > 0 {
			return err
		}
		if ordinal = last + 1; ordinal > maxOrdinal {
			return fmt.Errorf("there are %d chains already", last)
		}
		return txn.Set(append([]byte{TableChains}, blockchain[:]...), binary.BigEndian.AppendUint32(nil, ordinal))
	})
	d.committed()
	if err != nil {
		return 0, fmt.Errorf("give the chain an ordinal: %w", err)
	}
	return ordinal, nil
}

// Chains returns the blockchain IDs of all chains that have an ordinal.
func (d *DB) Chains() (list [][32]byte, err error) {
	db, err := d.use()
	if err != nil {
		return nil, err
	}
	defer d.unuse()
	err = db.View(func(txn *badger.Txn) error {
		return eachChain(txn, func(id [32]byte, _ uint32) { list = append(list, id) })
	})
	if err != nil {
		return nil, fmt.Errorf("list the chains: %w", err)
	}
	return list, nil
}

// eachChain hands over all chains with their ordinals.
func eachChain(txn *badger.Txn, take func(id [32]byte, ordinal uint32)) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{TableChains}})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if err := it.Item().Value(func(b []byte) error {
			if len(key) != 1+32 || len(b) != 4 {
				return fmt.Errorf("%w: chain with an ordinal of %d bytes", store.ErrFormat, len(b))
			}
			take([32]byte(key[1:]), binary.BigEndian.Uint32(b))
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes all rows whose keys begin with one of the prefixes. Commits wait
// for it: it is for a database that serves nobody.
func (d *DB) Drop(prefixes ...[]byte) error {
	db, err := d.use()
	if err != nil {
		return err
	}
	defer d.unuse()
	defer d.committed()
	if err := db.DropPrefix(prefixes...); err != nil {
		return fmt.Errorf("drop rows: %w", err)
	}
	return nil
}

// maxOrdinal is the highest ordinal of a chain: in keys it has 24 bits.
const maxOrdinal = 1<<24 - 1

// TableKey starts a key: the table, its edition and the chain's ordinal.
func TableKey(dst []byte, table byte, ordinal uint32, edition uint8) []byte {
	return binary.BigEndian.AppendUint32(append(dst, table), uint32(edition)<<24|ordinal)
}
