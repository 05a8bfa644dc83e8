package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/metric"
)

const (
	// Kept is how many blocks below the head are in the log at most.
	Kept = 4096
	// AwayAfter is for how long the log does not answer until chains go on without it.
	AwayAfter = 5 * time.Second
	// patience is how long who did not write the last record waits for who did; a share of
	// patienceSteps times patienceStep comes to it.
	patience      = 300 * time.Millisecond
	patienceStep  = 150 * time.Millisecond
	patienceSteps = 8
	// windowBytes bounds the newest blocks that are held in memory, encoded.
	windowBytes = 4 << 20
)

// Errors of a [Tail].
var (
	// ErrNotHere: the log does not have the block, or not what is in it.
	ErrNotHere = errors.New("the log does not have the block")
	// ErrForked: the log has another block at the height.
	ErrForked = errors.New("the log has another block")
	// ErrAway: the log does not answer.
	ErrAway = errors.New("the log does not answer")
)

// Config says which chain's log a [Tail] reads. All fields are required.
type Config[B any] struct {
	Log     Log
	Network uint32
	Chain   chain.ID
	Kind    archive.Kind
	// Parse reads a block, and checks it as far as its hash reaches.
	Parse func(archive.Block) (B, error)
	// Writer names the server, and no other one.
	Writer  string
	Logger  *slog.Logger
	Metrics *metric.Set
}

// Block is a block of the log.
type Block[B any] struct {
	Height     uint64
	ID, Parent [32]byte
	Absent     bool // the log does without what is in it
	Item       B
	size       int
}

// Tail is the end of a chain's log, as far as it was read. All methods may be called at once.
type Tail[B any] struct {
	cfg     Config[B]
	subject string
	codec   *archive.Codec
	heard   atomic.Int64 // when the log answered last, in Unix nanoseconds

	asking sync.Mutex // held while the log is read on or appended to
	at     uint64     // position of the last record that was read, 0 if there is none; guarded by asking
	sum    uint64     // of it; guarded by asking

	mu     sync.Mutex // guards what follows, which changes while asking is held
	next   uint64     // height of the first block that the log does not have
	last   [32]byte   // ID of the one before
	writer string     // of the last good record
	window []Block[B] // the newest blocks
	bytes  int

	appended, moved, refused, taken metric.Counter
}

// NewTail returns the end of a chain's log, of which nothing was read yet.
func NewTail[B any](cfg Config[B]) *Tail[B] {
	set := cfg.Metrics
	appends := func(result string) metric.Counter {
		return set.Counter("quorate_feed_appends_total", "Records that were appended to the log, and those that others were faster with.", "result", result)
	}
	t := &Tail[B]{
		cfg: cfg, subject: Subject(cfg.Network, cfg.Chain, SubjectBlocks), codec: archive.NewCodec(cfg.Kind),
		appended: appends("appended"), moved: appends("refused"),
		refused: set.Counter("quorate_feed_refused_total", "Records of the log that are not what they should be, and blocks that are too large for it."),
		taken:   set.Counter("quorate_feed_taken_total", "Blocks that were taken from the log."),
	}
	t.heard.Store(time.Now().UnixNano())
	set.GaugeFunc("quorate_feed_next_height", "Height of the first block that the log does not have.", func() float64 { return float64(t.Next()) })
	set.GaugeFunc("quorate_feed_away", "Whether the log has not answered for some seconds.", func() float64 {
		if t.Away() {
			return 1
		}
		return 0
	})
	return t
}

// Next returns the height of the first block that the log does not have, as far as it was
// read, 0 if it has none.
func (t *Tail[B]) Next() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// Last returns the last block of the log, as far as it was read; ok is false if there is none.
func (t *Tail[B]) Last() (b Block[B], ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.window); n > 0 {
		return t.window[n-1], true
	}
	return b, false
}

// Away reports whether the log has not answered for so long that chains go on without it.
func (t *Tail[B]) Away() bool { return time.Since(time.Unix(0, t.heard.Load())) > AwayAfter }

// Patience is how long this server leaves a new block to others: 0 if it has written the last
// record.
func (t *Tail[B]) Patience() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer == t.cfg.Writer {
		return 0
	}
	share := xxhash.Sum64String(t.cfg.Writer+t.subject) % patienceSteps
	return patience + time.Duration(share)*patienceStep //nolint:gosec // below 8
}

// Watch calls f when there may be a further record, until ctx ends or the log is away.
func (t *Tail[B]) Watch(ctx context.Context, f func()) error {
	return t.cfg.Log.Watch(ctx, t.subject, f)
}

// answered notes that the log has answered, unless err says that it did not.
func (t *Tail[B]) answered(err error) error {
	if err == nil || errors.Is(err, ErrEnd) || errors.Is(err, ErrMoved) {
		t.heard.Store(time.Now().UnixNano())
	}
	return err
}

// Sync reads the records that were appended since the last time. With sure it makes certain
// that the log is the one that was read before.
func (t *Tail[B]) Sync(ctx context.Context, sure bool) error {
	t.asking.Lock()
	defer t.asking.Unlock()
	return t.sync(ctx, sure)
}

// sync needs asking.
func (t *Tail[B]) sync(ctx context.Context, sure bool) error {
	if sure || t.at == 0 {
		first, last, err := t.cfg.Log.Ends(ctx, t.subject)
		if t.answered(err) != nil {
			return err
		}
		if t.at > 0 && (last < t.at || !t.same(ctx, first)) {
			t.forget()
		}
		if last > 0 && t.at == 0 {
			return t.begin(ctx, last)
		}
	}
	return t.readOn(ctx, t.at+1)
}

// readOn takes all records from a position on. It needs asking.
func (t *Tail[B]) readOn(ctx context.Context, from uint64) error {
	for {
		raw, at, err := t.cfg.Log.Read(ctx, t.subject, from)
		if t.answered(err); errors.Is(err, ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		t.take(raw, at)
		from = at + 1
	}
}

// same reports whether the last record that was read is where it was. It needs asking.
func (t *Tail[B]) same(ctx context.Context, first uint64) bool {
	if t.at < first {
		return false
	}
	raw, at, err := t.cfg.Log.Read(ctx, t.subject, t.at)
	return err != nil && !errors.Is(err, ErrEnd) || err == nil && at == t.at && xxhash.Sum64(raw) == t.sum
}

// forget begins again with a log of which nothing was read. It needs asking.
func (t *Tail[B]) forget() {
	t.cfg.Logger.Warn("the log is not the one that was read before, or has lost what was: it is read again", "at", t.at)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.sum, t.next, t.last, t.writer, t.window, t.bytes = 0, 0, 0, [32]byte{}, "", nil, 0
}

// begin reads the last record, and if it is refused some before it. It needs asking.
func (t *Tail[B]) begin(ctx context.Context, last uint64) error {
	from := last
	for back := uint64(1); ; back *= 2 {
		if err := t.readOn(ctx, from); err != nil || t.Next() > 0 || from == 1 {
			return err
		}
		from = last - min(last-1, back)
	}
}

// take takes a record that was read. One that is refused is passed over. It needs asking.
func (t *Tail[B]) take(raw []byte, at uint64) {
	t.at, t.sum = at, xxhash.Sum64(raw)
	r, blocks, err := t.parse(raw)
	if next := t.Next(); err == nil && next > 0 && (r.Next < next || r.Next == next && r.Parent != t.last) {
		err = fmt.Errorf("%w: block %d follows on %x, where block %d follows on %x", ErrRefused, r.Next, r.Parent, next, t.last)
	}
	if err != nil {
		t.refused.Inc()
		t.cfg.Logger.Error("a record of the log is refused", "at", at, "writer", r.Writer, "err", err)
		return
	}
	t.grow(r.Writer, blocks)
}

// parse reads a record of blocks.
func (t *Tail[B]) parse(raw []byte) (r Record, list []Block[B], err error) {
	if r, err = Decode(raw); err == nil {
		err = r.is(t.cfg.Network, t.cfg.Chain, t.cfg.Kind)
	}
	if err != nil {
		return r, nil, err
	}
	blocks, err := r.blocks(t.codec)
	if err != nil {
		return r, nil, err
	}
	list = make([]Block[B], len(blocks))
	for i, b := range blocks {
		list[i] = Block[B]{Height: b.Height, ID: b.ID, Parent: b.Parent, Absent: r.Kind == Absent, size: len(b.Data)}
		if r.Kind == Absent {
			continue
		}
		if list[i].Item, err = t.cfg.Parse(b); err != nil {
			return r, nil, fmt.Errorf("%w: block %d: %w", ErrRefused, b.Height, err)
		}
	}
	return r, list, nil
}

// grow adds blocks to the window, which begins again behind a hole. It needs asking.
func (t *Tail[B]) grow(writer string, blocks []Block[B]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if blocks[0].Height != t.next {
		t.window, t.bytes = nil, 0
	}
	for i := range blocks {
		t.bytes += blocks[i].size
	}
	window := append(t.window, blocks...)
	drop := 0
	for ; (t.bytes > windowBytes || len(window)-drop > Kept) && drop < len(window)-1; drop++ {
		t.bytes -= window[drop].size
	}
	clear(window[:drop])
	end := &blocks[len(blocks)-1]
	t.window, t.writer, t.last, t.next = window[drop:], writer, end.ID, end.Height+1
}

// held returns what the window has of a range from its begin on.
func (t *Tail[B]) held(from, to uint64) []Block[B] {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := uint64(len(t.window))
	if n == 0 || from < t.window[0].Height || from >= t.next {
		return nil
	}
	first := t.window[0].Height
	return slices.Clone(t.window[from-first : min(n, to-first+1)])
}

// Blocks returns the blocks of a range that the log has, from its begin up to a hole, if it has
// any. Without any the error is [ErrNotHere].
func (t *Tail[B]) Blocks(ctx context.Context, from, to uint64) (list []B, err error) {
	if from >= t.Next() {
		return nil, ErrNotHere
	}
	blocks := t.held(from, to)
	if len(blocks) == 0 {
		if blocks, err = t.older(ctx, from, to); err != nil {
			return nil, err
		}
	}
	for i := range blocks {
		if blocks[i].Absent {
			break
		}
		list = append(list, blocks[i].Item)
	}
	if t.taken.Add(float64(len(list))); len(list) == 0 {
		return nil, ErrNotHere
	}
	return list, nil
}

// older reads blocks that are not in the window.
func (t *Tail[B]) older(ctx context.Context, from, to uint64) (list []Block[B], err error) {
	at, err := t.find(ctx, from)
	for err == nil && at > 0 && (len(list) == 0 || list[len(list)-1].Height < to) {
		var raw []byte
		if raw, at, err = t.cfg.Log.Read(ctx, t.subject, at); errors.Is(err, ErrEnd) {
			break
		} else if err != nil {
			return nil, err
		}
		_, blocks, refused := t.parse(raw)
		if len(blocks) > 0 && (blocks[0].Height > from || blocks[len(blocks)-1].Height < from) || refused != nil {
			break // a hole
		}
		for i := range blocks {
			if b := &blocks[i]; b.Height == from && b.Height <= to {
				list, from = append(list, *b), from+1
			}
		}
		at++
	}
	if err == nil || errors.Is(err, ErrEnd) {
		err = nil
		if len(list) == 0 {
			err = ErrNotHere
		}
	}
	return list, err
}

// find returns the position of the last record that does not begin above a height, by what
// records say; it is that of the first one if there is none, and 0 without any.
func (t *Tail[B]) find(ctx context.Context, height uint64) (at uint64, err error) {
	low, high, err := t.cfg.Log.Ends(ctx, t.subject)
	if t.answered(err) != nil {
		return 0, err
	}
	for low < high {
		middle := low + (high-low+1)/2
		raw, at, err := t.cfg.Log.Read(ctx, t.subject, middle)
		if err != nil && !errors.Is(err, ErrEnd) {
			return 0, err
		}
		if r, bad := Decode(raw); err == nil && at <= high && bad == nil && r.Next <= height {
			low = at
		} else {
			high = middle - 1
		}
	}
	return low, nil
}
