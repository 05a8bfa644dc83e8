package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/engine/archive/vfs"
	"quorate/engine/metric"
)

// defaultSegmentBytes is where a segment ends: small enough to be rewritten in a
// second or two, large enough that the C-Chain of mainnet needs some thousand.
const defaultSegmentBytes = 64 << 20

// maxIndexes bounds the indexes of sealed segments that are kept in memory: about
// 20 kB each.
const maxIndexes = 64

// Errors of an archive.
var (
	// ErrRange is wrapped when a block is asked for that the archive does not have,
	// and never had or has pruned.
	ErrRange = errors.New("not in the archive")
	// ErrOrder is wrapped when blocks do not follow the archive's last.
	ErrOrder = errors.New("the blocks do not follow each other")
	// ErrFork is wrapped when a block has another parent than the block before it.
	ErrFork = errors.New("the block has another parent")
	// ErrClosed is returned after [Archive.Close].
	ErrClosed = errors.New("the archive is closed")
	// ErrReadOnly is returned by what writes in an archive opened to be read.
	ErrReadOnly = errors.New("the archive was opened to be read")
)

// Damage is a range of blocks that cannot be read as it was written.
type Damage struct {
	// From and To are the first and the last block concerned.
	From, To uint64
	// File is the name of the file in the archive's folder; empty if it is missing.
	File string
	// Structure reports that all blocks can be read: the file's head, index or end is
	// damaged. [Archive.Mend] writes the file again, without a node.
	Structure bool
	// Notes reports that notes are damaged, and no blocks. [Archive.Mend] keeps those
	// that can be read.
	Notes bool
	Err   error
}

func (d *Damage) Error() string {
	if d.Notes {
		return fmt.Sprintf("archive: %s, notes: %v", d.File, d.Err)
	}
	if d.File == "" {
		return fmt.Sprintf("archive: blocks %d to %d: %v", d.From, d.To, d.Err)
	}
	return fmt.Sprintf("archive: %s, blocks %d to %d: %v", d.File, d.From, d.To, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Keep says how much of the newest blocks an archive keeps. The zero value keeps all.
type Keep struct {
	Blocks uint64 // at least so many blocks; 0: not limited by blocks
	Bytes  int64  // at least so many bytes of segments; 0: not limited by size
}

// Options are the options of an archive.
type Options struct {
	// Kind is the kind of blocks; required.
	Kind Kind
	// FS is the file system. Default [vfs.OS].
	FS vfs.FS
	// SegmentBytes is the size at which a segment is sealed. Default 64 MiB.
	SegmentBytes int64
	// Keep says what is pruned: whole segments, when a further one has been sealed.
	Keep Keep
	// ReadOnly opens an archive that another process may be writing.
	ReadOnly bool
	// Logger gets what is repaired and pruned. Default: nothing is logged.
	Logger *slog.Logger
	// Metrics gets the archive's size and rates. Default: they are not kept.
	Metrics *metric.Set

	byHand bool // tests seal and prune themselves, so that each run does the same
	bundle int  // size of bundles in tests
}

func (o *Options) fill() error {
	if o.Kind == 0 {
		return errors.New("archive: the kind of block is required")
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metric.NewSet()
	}
	return nil
}

// segment is a file of blocks. Its fields never change, but for those of the live
// one, which change under [Archive.mu].
type segment struct {
	ends
	name    string
	size    int64
	journal bool
	// places is nil for a sealed segment whose index has not been read.
	places []place
	hurt   error // what is wrong with the file beside its blocks
}

// Archive keeps the blocks of one chain. All methods may be called at once.
type Archive struct {
	dir   string
	opts  Options
	codec *Codec
	stats stats

	// rewriting is held by the goroutine that replaces, removes or seals files of blocks, and
	// taken before appending.
	rewriting sync.Mutex
	// moving is held while a file takes the place of another of its name, until segs says
	// so: a reader that has read one file for the other waits for it, see [Archive.changed].
	moving sync.RWMutex
	// appending is held by the goroutine that writes the live segment; it guards live.
	appending sync.Mutex
	live      *journal // of the last segment, nil if that is sealed or there is none
	packed    []byte   // kept from one call of Append to the next

	mu     sync.RWMutex // guards what follows
	segs   []*segment   // in order of height, none overlaps another
	closed bool

	notes   notes
	indexes *lru.Cache[*segment, []place]

	full   chan struct{} // there may be a segment to seal
	stop   chan struct{}
	sealer sync.WaitGroup
}

// Open opens the archive in a folder, and makes it if need be. What a crash left is
// put in order: see the package's documentation.
func Open(dir string, opts Options) (*Archive, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	a := &Archive{
		dir: dir, opts: opts, codec: NewCodec(opts.Kind),
		full: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	if opts.bundle > 0 {
		a.codec.size = opts.bundle
	}
	a.indexes, _ = lru.New[*segment, []place](maxIndexes) // only fails for sizes below 1
	if !opts.ReadOnly {
		if err := opts.FS.MkdirAll(dir); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
	}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("archive: %w", errors.Join(err, a.closeFiles()))
	}
	a.stats = newStats(a)
	if !opts.ReadOnly && !opts.byHand {
		a.sealer.Go(a.sealAll)
		a.wake()
	}
	return a, nil
}

// Close waits for work in the background and closes the archive's files.
func (a *Archive) Close() error {
	a.mu.Lock()
	was := a.closed
	a.closed = true
	a.mu.Unlock()
	if was {
		return nil
	}
	close(a.stop)
	a.sealer.Wait()
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	a.appending.Lock()
	defer a.appending.Unlock()
	return a.closeFiles()
}

func (a *Archive) closeFiles() error {
	var errs []error
	if a.live != nil {
		errs = append(errs, a.closeLive())
	}
	return errors.Join(append(errs, a.notes.close())...)
}

// Kind returns the kind of the archive's blocks.
func (a *Archive) Kind() Kind { return a.opts.Kind }

// Codec returns the codec of the archive's units.
func (a *Archive) Codec() *Codec { return a.codec }

// Dir returns the archive's folder.
func (a *Archive) Dir() string { return a.dir }

// writable returns an error if the archive cannot be written.
func (a *Archive) writable(ctx context.Context) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	switch {
	case a.closed:
		return ErrClosed
	case a.opts.ReadOnly:
		return ErrReadOnly
	}
	return ctx.Err()
}

// First returns the first block.
func (a *Archive) First() (height uint64, id [32]byte, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.segs) == 0 {
		return 0, id, false
	}
	return a.segs[0].first, a.segs[0].firstID, true
}

// Parent returns the ID of the block before the first one.
func (a *Archive) Parent() (id [32]byte, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.segs) == 0 {
		return id, false
	}
	return a.segs[0].parent, true
}

// Keep returns how much of the newest blocks is kept.
func (a *Archive) Keep() Keep { return a.opts.Keep }

// Last returns the last block.
func (a *Archive) Last() (height uint64, id [32]byte, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.segs) == 0 {
		return 0, id, false
	}
	s := a.segs[len(a.segs)-1]
	return s.last, s.lastID, true
}

// Segment is a file of blocks.
type Segment struct {
	Name        string
	First, Last uint64
	Parent      [32]byte // of the first block
	LastID      [32]byte
	Size        int64 // bytes that are on disk for good; of a live one the file may be longer
	Sealed      bool  // it never changes; it may only be replaced as a whole
}

// Segments returns all files of blocks, in order of height.
func (a *Archive) Segments() []Segment {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := make([]Segment, 0, len(a.segs))
	for _, s := range a.segs {
		all = append(all, Segment{s.name, s.first, s.last, s.parent, s.lastID, s.size, !s.journal})
	}
	return all
}

// Size returns the bytes of all files.
func (a *Archive) Size() (bytes int64) {
	a.mu.RLock()
	for _, s := range a.segs {
		bytes += s.size
	}
	a.mu.RUnlock()
	return bytes + a.notes.size()
}

// find returns the segment that has a block, as it is now.
func (a *Archive) find(height uint64) (now segment, ref *segment, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	i, exact := slices.BinarySearchFunc(a.segs, height, func(s *segment, h uint64) int { return cmp.Compare(s.first, h) })
	if !exact {
		i--
	}
	if i < 0 || a.segs[i].last < height {
		return now, nil, false
	}
	return *a.segs[i], a.segs[i], true
}

// above returns the first height above one that a segment begins with.
func (a *Archive) above(height uint64) (first uint64, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, s := range a.segs {
		if s.first > height {
			return s.first, true
		}
	}
	return 0, false
}

// swap puts segments in the place of others.
func (a *Archive) swap(old []*segment, with ...*segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	segs := slices.DeleteFunc(slices.Clone(a.segs), func(s *segment) bool { return slices.Contains(old, s) })
	segs = append(segs, with...)
	slices.SortFunc(segs, func(x, y *segment) int { return cmp.Compare(x.first, y.first) })
	a.segs = segs
	for _, s := range old {
		a.indexes.Remove(s)
	}
}

// changed reports whether the segment with a block is another than it was, when what a
// reader found was not what it had to be.
func (a *Archive) changed(height uint64, was *segment) bool {
	a.moving.RLock()
	defer a.moving.RUnlock()
	_, now, _ := a.find(height)
	return now != was
}

// FileState is a file of an archive.
type FileState struct {
	Name string
	// Size is how much of it is on disk for good; a file that grows may be longer.
	Size  int64
	Grows bool // what is there stays, more may follow; else it may only be replaced as a whole
}

// Files returns all files of the archive, those with notes last.
func (a *Archive) Files() (list []FileState) {
	for _, s := range a.Segments() {
		list = append(list, FileState{s.Name, s.Size, !s.Sealed})
	}
	for _, nf := range a.notes.all() {
		list = append(list, FileState{nf.name, nf.size, true})
	}
	return list
}
