package operation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive/vfs"
	"quorate/engine/metric"
	"quorate/engine/store"
)

// mailbox bounds the requests that wait for their commit; further ones are refused.
const mailbox = 256

// Exports accepts, queues, writes and forgets exports. Start it with Run; all other
// methods may be called at any time.
type Exports struct {
	cfg    Config
	log    *slog.Logger
	orders *actor.Mailbox[order]
	ended  chan outcome // of workers

	mu  sync.Mutex
	ops map[string]*record // by ID; nil until they are read. A record in it never changes: it is replaced.

	// Of Run's goroutine.
	queue   []waiting
	working map[string]bool
	workers sync.WaitGroup

	finished func(Status) metric.Counter
	rows     metric.Counter

	chunk, commit int           // sizes, and
	retry         time.Duration // the time between two looks; see config.go
}

// order is a request on its way to the actor.
type order struct {
	rec   *record
	reply *actor.Reply[Operation]
}

// waiting is an operation that waits for a worker.
type waiting struct {
	id        string
	notBefore time.Time
	since     time.Time // when it began to wait for its chain; zero: it does not
	failures  int       // reads that failed, without progress
}

// New checks cfg and returns exports that do not run yet.
func New(cfg Config) (*Exports, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	e := &Exports{
		cfg: cfg, log: cfg.Logger, orders: actor.NewMailbox[order](mailbox, actor.Shed),
		ended: make(chan outcome, cfg.Workers), chunk: defaultChunk, commit: defaultCommit, retry: retryEvery,
		finished: func(s Status) metric.Counter {
			return cfg.Metrics.Counter("quorate_exports_finished_total", "Exports that have ended.", "state", string(s))
		},
		rows: cfg.Metrics.Counter("quorate_exports_rows_total", "Rows written to exports, those written again after a kill too."),
	}
	for _, s := range []Status{Completed, Warning, Failed} {
		e.finished(s)
	}
	cfg.Metrics.Gauges("quorate_exports", "Exports that are kept, by their state.", []string{"state"}, func(emit func(float64, ...string)) {
		count := e.count()
		for _, s := range []Status{Running, Completed, Warning, Failed} {
			emit(float64(count[s]), string(s))
		}
	})
	cfg.Metrics.GaugeFunc("quorate_exports_bytes", "Bytes of the files of exports.", func() float64 { return float64(e.bytes()) })
	return e, nil
}

// KeepIn says where operations are kept, before Run: until that has read them there are none.
func (e *Exports) KeepIn(s store.Records) { e.cfg.Store = s }

func (e *Exports) count() map[Status]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := make(map[Status]int)
	for _, r := range e.ops {
		count[r.Status]++
	}
	return count
}

// bytes returns the size of all files.
func (e *Exports) bytes() (n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.ops {
		n += r.At.Offset
	}
	return n
}

// Get returns an operation. The error is an [Error] of kind Stopping while it is not
// known which there are.
func (e *Exports) Get(id string) (Operation, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ops == nil {
		return Operation{}, false, refuse(Stopping, "operations are not there yet: the server is starting")
	}
	if r := e.ops[id]; r != nil {
		return r.Operation, true, nil
	}
	return Operation{}, false, nil
}

// Open opens the file of an operation that has one. The caller closes it.
func (e *Exports) Open(id string) (vfs.File, error) {
	op, found, err := e.Get(id)
	if err != nil || !found || !op.HasFile() {
		return nil, fs.ErrNotExist
	}
	return e.cfg.FS.Open(e.final(&op))
}

// Create accepts an export, and returns when it is committed. The request must be valid;
// an error is an [Error] or the end of ctx.
func (e *Exports) Create(ctx context.Context, req Request) (Operation, error) {
	if _, _, err := e.Get(""); err != nil {
		return Operation{}, err
	}
	rec := &record{Version: recordVersion, Operation: Operation{ID: newID(), Request: req, Status: Running}}
	if rec.Request.Compression == "" {
		rec.Request.Compression = Gzip
	}
	for _, id := range req.Chains {
		c, ok := e.cfg.Chain(id)
		if !ok {
			return Operation{}, refuse(Unknown, "chain %s is not served here", id)
		}
		p, err := pinned(c, pin{Chain: id, Number: fmt.Sprint(c.Number)}, req.First, req.Last)
		if err != nil {
			return Operation{}, refuse(NotIndexed, "chain %d cannot be exported now: %v", c.Number, err)
		}
		rec.Pins = append(rec.Pins, p)
	}
	op, err := actor.Ask(ctx, e.orders, func(r *actor.Reply[Operation]) order { return order{rec, r} })
	switch {
	case errors.Is(err, actor.ErrFull):
		err = refuse(Busy, "too many exports are being accepted")
	case errors.Is(err, actor.ErrClosed):
		err = refuse(Stopping, "the server is stopping")
	}
	return op, err
}

// newID returns a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// isID reports whether a name is that of an operation.
func isID(s string) bool {
	return len(s) == 36 && strings.Trim(s, "0123456789abcdef-") == ""
}

// Run works until ctx ends, and then lets the workers stop where they are: what they have
// committed is continued by the next Run. It may be started again after an error.
func (e *Exports) Run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer e.workers.Wait()
	defer stop()
	if err := e.recover(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(e.retry)
	defer tick.Stop()
	for {
		e.start(work)
		select {
		case <-ctx.Done():
			for _, o := range e.orders.Close() {
				o.reply.Answer(Operation{}, actor.ErrClosed)
			}
			return nil
		case <-e.orders.Ready():
			for _, o := range e.orders.Drain(nil) {
				o.reply.Answer(e.accept(ctx, o.rec))
			}
		case o := <-e.ended:
			delete(e.working, o.id)
			if o.again {
				e.queue = append(e.queue, o.waiting)
			}
		case <-tick.C:
			e.forget(ctx)
		}
	}
}

// recover reads the operations, continues those that are not over, and removes
// files that belong to none.
func (e *Exports) recover(ctx context.Context) error {
	if err := e.cfg.FS.MkdirAll(e.cfg.Dir); err != nil {
		return fmt.Errorf("operation: the folder of exports: %w", err)
	}
	ops := make(map[string]*record)
	if err := e.cfg.Store.Each(func(key, value []byte) {
		r, err := decodeRecord(value)
		if err != nil {
			e.log.Warn("an operation is left out", "id", string(key), "err", err)
			return
		}
		ops[r.ID] = r
	}); err != nil {
		return fmt.Errorf("operation: %w", err)
	}
	if err := e.tidy(ctx, ops); err != nil {
		return err
	}
	e.queue, e.working = nil, make(map[string]bool)
	for id, r := range ops {
		if !r.Over() {
			e.queue = append(e.queue, waiting{id: id})
		}
	}
	slices.SortFunc(e.queue, func(a, b waiting) int { return ops[a.id].Created.Compare(ops[b.id].Created) })
	e.mu.Lock()
	e.ops = ops
	e.mu.Unlock()
	return nil
}

// tidy removes files that belong to no operation, or to one that does not need them, and
// operations that have lost their file: a backup has the records alone.
func (e *Exports) tidy(ctx context.Context, ops map[string]*record) error {
	files, err := e.cfg.FS.List(e.cfg.Dir)
	if err != nil {
		return fmt.Errorf("operation: the folder of exports: %w", err)
	}
	there := make(map[string]bool)
	for _, f := range files {
		there[f.Name] = true
	}
	for id, r := range ops {
		if r.HasFile() && !there[filepath.Base(e.final(&r.Operation))] {
			delete(ops, id)
			e.drop(ctx, id)
		}
	}
	for _, f := range files {
		id, rest, _ := strings.Cut(f.Name, ".")
		if !isID(id) {
			continue // not ours
		}
		r := ops[id]
		if r != nil && (!r.Over() || r.HasFile() && "."+rest == r.Request.Compression.extension()) {
			continue
		}
		e.remove(filepath.Join(e.cfg.Dir, f.Name))
	}
	return nil
}

// remove removes a file that may not be there.
func (e *Exports) remove(name string) {
	if err := e.cfg.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("a file of an export was not removed", "file", name, "err", err)
	}
}

// part is the name of a file that is being written, final that of one that is whole.
func (e *Exports) part(op *Operation) string { return filepath.Join(e.cfg.Dir, op.ID+".part") }

func (e *Exports) final(op *Operation) string {
	return filepath.Join(e.cfg.Dir, op.ID+op.Request.Compression.extension())
}

// accept commits a new operation and puts it into the queue.
func (e *Exports) accept(ctx context.Context, r *record) (Operation, error) {
	if err := e.refusal(r.Request.Client); err != nil {
		return Operation{}, err
	}
	r.Created = time.Now()
	if err := e.save(ctx, r); err != nil {
		e.log.Warn("an export was not accepted", "err", err)
		return Operation{}, refuse(NoRoom, "the export cannot be accepted now: the database does not take it")
	}
	e.queue = append(e.queue, waiting{id: r.ID})
	return r.Operation, nil
}

// refusal says why nothing can be accepted of a client, nil if it can.
func (e *Exports) refusal(client string) error {
	if err := e.cfg.Room(); err != nil {
		e.log.Warn("an export was refused", "err", err)
		return refuse(NoRoom, "there is no room for an export now")
	}
	if e.bytes() >= e.cfg.MaxFiles {
		return refuse(NoRoom, "the room for exports is used up; it becomes free when older ones are removed")
	}
	unfinished, kept, all := 0, 0, 0
	e.mu.Lock()
	for _, r := range e.ops {
		all++
		if r.Request.Client == client {
			kept++
			if !r.Over() {
				unfinished++
			}
		}
	}
	e.mu.Unlock()
	switch {
	case unfinished >= e.cfg.PerClient:
		return refuse(Quota, "%d of your exports are not finished, which is the maximum", unfinished)
	case kept >= keptPerClient:
		return refuse(Quota, "%d of your exports are kept, which is the maximum", kept)
	case len(e.queue) >= e.cfg.Queue, all >= maxKept:
		return refuse(Busy, "too many exports wait")
	}
	return nil
}

// save commits a record and shows it. What it is given must not change any more.
func (e *Exports) save(ctx context.Context, r *record) error {
	r.Updated, r.Progress, r.Rows, r.Size = time.Now(), r.progress(), r.At.Rows, r.At.Offset
	if r.HasFile() {
		r.Progress = 1
	}
	b, err := r.encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), commitTime, fmt.Errorf("not committed within %s", commitTime))
	defer cancel()
	if err := e.cfg.Store.Put(ctx, []byte(r.ID), b); err != nil {
		return fmt.Errorf("commit of an operation: %w", err)
	}
	e.show(r)
	return nil
}

func (e *Exports) show(r *record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ops[r.ID] = r
}

// forget removes operations that are over for long, with their files.
func (e *Exports) forget(ctx context.Context) {
	limit := time.Now().Add(-e.cfg.Keep)
	var old []*record
	e.mu.Lock()
	for _, r := range e.ops {
		if r.Over() && r.Updated.Before(limit) {
			old = append(old, r)
		}
	}
	e.mu.Unlock()
	for _, r := range old {
		if !e.drop(ctx, r.ID) {
			return
		}
		e.mu.Lock()
		delete(e.ops, r.ID)
		e.mu.Unlock()
		e.remove(e.final(&r.Operation))
	}
}

// drop removes the record of an operation, and reports whether it is gone.
func (e *Exports) drop(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := e.cfg.Store.Remove(ctx, []byte(id)); err != nil {
		e.log.Warn("the record of an export was not removed", "id", id, "err", err)
		return false
	}
	return true
}
