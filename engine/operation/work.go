package operation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"quorate/engine/archive/vfs"
)

const (
	// maxRestarts bounds how often an export starts again because a chain went back.
	maxRestarts = 5
	// maxFailures bounds the reads that fail one after the other.
	maxFailures = 5
)

// outcome says what becomes of an operation whose worker has ended.
type outcome struct {
	waiting
	again bool // it goes back to the queue
}

// fault is why an operation fails.
type fault struct {
	code Code
	msg  string
	err  error // for the log, may be nil
}

func (f *fault) Error() string {
	if f.err == nil {
		return f.msg
	}
	return f.msg + ": " + f.err.Error()
}

// start has workers that are free begin what waits longest and may.
func (e *Exports) start(ctx context.Context) {
	now := time.Now()
	for i := 0; i < len(e.queue) && len(e.working) < e.cfg.Workers; {
		w := e.queue[i]
		if w.notBefore.After(now) {
			i++
			continue
		}
		e.mu.Lock()
		r := e.ops[w.id].clone()
		e.mu.Unlock()
		e.queue = slices.Delete(e.queue, i, i+1)
		e.working[w.id] = true
		e.workers.Go(func() {
			o := e.work(ctx, w, r)
			select {
			case e.ended <- o:
			case <-ctx.Done():
			}
		})
	}
}

// work writes an operation as far as it gets.
func (e *Exports) work(ctx context.Context, w waiting, r *record) (o outcome) {
	o.waiting = w
	o.notBefore = time.Now().Add(e.retry)
	begun := r.At.Offset
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("an export failed by a defect", "id", r.ID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			e.fail(ctx, r, &fault{code: CodeInternal, msg: "internal error"})
		}
	}()
	err := e.export(ctx, r)
	if r.At.Offset > begun {
		o.failures, o.since = 0, time.Time{}
	}
	var f *fault
	switch {
	case err == nil || ctx.Err() != nil:
		return o
	case errors.As(err, &f):
	case errors.Is(err, errMoved):
		if r.Restarts++; r.Restarts <= maxRestarts {
			o.again = true
			err = e.startAgain(ctx, r)
		}
		if o.again && err == nil {
			return o
		}
		f = &fault{CodeInternal, "a chain went back while it was exported", err}
	case errors.Is(err, errAway):
		if o.since.IsZero() {
			o.since = time.Now()
		}
		if o.again = time.Since(o.since) < e.cfg.Patience; o.again {
			return o
		}
		f = &fault{CodeRequest, "a chain of the request is not followed any more, or has lost the blocks", err}
	default:
		e.log.Warn("an export could not go on", "id", r.ID, "err", err)
		if o.failures++; o.failures < maxFailures {
			o.again = true
			return o
		}
		f = &fault{CodeInternal, "the rows could not be read or written", err}
	}
	o.again = false
	e.fail(ctx, r, f)
	return o
}

// startAgain has an export begin with its chains as they are now.
func (e *Exports) startAgain(ctx context.Context, r *record) error {
	e.log.Warn("an export starts again: a chain went back", "id", r.ID, "restarts", r.Restarts)
	r.restart()
	for i := range r.Pins {
		c, ok := e.cfg.Chain(r.Pins[i].Chain)
		if !ok {
			return errAway
		}
		var err error
		if r.Pins[i], err = pinned(c, r.Pins[i], r.Request.First, r.Request.Last); err != nil {
			return err
		}
	}
	return e.save(ctx, r.clone())
}

// fail ends an operation without a file, whose room is freed first: it may be what was
// missing.
func (e *Exports) fail(ctx context.Context, r *record, f *fault) {
	e.remove(e.part(&r.Operation))
	e.remove(e.final(&r.Operation))
	r.restart()
	r.Status, r.Code, r.Message = Failed, f.code, f.msg
	e.log.Warn("an export failed", "id", r.ID, "reason", f)
	e.finished(Failed).Inc()
	last := r.clone()
	if err := e.save(ctx, last); err != nil {
		// It is tried again after a restart, and then fails or not.
		e.log.Warn("the failure of an export could not be committed", "id", r.ID, "err", err)
		e.show(last)
	}
}

// export writes what is missing of a file and gives it its name.
func (e *Exports) export(ctx context.Context, r *record) error {
	f, err := e.open(r)
	if err != nil {
		return unwritten(err)
	}
	if f != nil {
		if !r.At.Whole {
			err = e.write(ctx, r, f)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		err = e.cfg.FS.Rename(e.part(&r.Operation), e.final(&r.Operation))
	}
	if err = errors.Join(err, e.cfg.FS.SyncDir(e.cfg.Dir)); err != nil {
		return unwritten(err)
	}
	done := r.clone()
	done.Status, done.Next = Completed, r.At.Next
	if done.Next > 0 {
		done.Status, done.Code = Warning, CodeTruncated
		done.Message = fmt.Sprintf("the export ended at its size limit of %d bytes; go on with firstDate %s", e.cfg.MaxSize, FormatTime(done.Next))
	}
	if err := e.save(ctx, done); err != nil {
		return err
	}
	e.finished(done.Status).Inc()
	e.log.Info("an export is complete", "id", r.ID, "rows", done.Rows, "bytes", done.Size, "status", string(done.Status))
	return nil
}

// open opens the file of an operation to go on with at its position, or a new one. It
// returns nil if the file is whole and has its name.
func (e *Exports) open(r *record) (vfs.File, error) {
	if r.At.Whole {
		f, err := e.cfg.FS.Open(e.final(&r.Operation))
		if err == nil {
			size, err := f.Size()
			if err = errors.Join(err, f.Close()); err == nil && size == r.At.Offset {
				return nil, nil
			}
		}
	}
	if r.At.Offset > 0 {
		f, err := e.cfg.FS.OpenWrite(e.part(&r.Operation))
		if err == nil {
			var size int64
			if size, err = f.Size(); err == nil && size >= r.At.Offset {
				if err = f.Truncate(r.At.Offset); err == nil {
					return f, nil
				}
			}
			err = errors.Join(err, f.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		e.log.Warn("the file of an export is gone; it is written again", "id", r.ID)
		r.restart()
	}
	return e.cfg.FS.Create(e.part(&r.Operation))
}

// write appends all rows that are missing, and leaves the file synced and committed as
// whole.
func (e *Exports) write(ctx context.Context, r *record, f vfs.File) error {
	sources, err := e.sources(r)
	if err != nil {
		return err
	}
	pack, err := newPacker(r.Request.Compression)
	if err != nil {
		return &fault{CodeInternal, "internal error", err}
	}
	o := &output{e: e, r: r, f: f, pack: pack, committed: r.At.Raw}
	if r.At.Offset == 0 {
		o.raw = append(o.raw, Head...)
	}
	rest := e.cfg.Spare.Worker()
	for ctx.Err() == nil {
		next, milli, err := earliest(sources)
		if err != nil {
			return err
		}
		if next == nil {
			return o.end(ctx)
		}
		if r.At.Raw+int64(len(o.raw)) >= e.cfg.MaxSize && milli > r.At.Time && r.At.Rows > 0 {
			r.At.Next = milli
			return o.end(ctx)
		}
		var rows int
		if o.raw, rows, err = next.take(o.raw); err != nil {
			return err
		}
		r.At.Rows += int64(rows)
		r.At.Time = milli
		e.rows.Add(float64(rows))
		if len(o.raw) >= e.chunk {
			if err := o.flush(ctx); err != nil {
				return err
			}
		}
		rest.Rest(ctx.Done())
	}
	return context.Cause(ctx)
}

// sources opens the chains of an operation.
func (e *Exports) sources(r *record) ([]*source, error) {
	list := make([]*source, len(r.Pins))
	for i := range r.Pins {
		c, ok := e.cfg.Chain(r.Pins[i].Chain)
		if !ok {
			return nil, fmt.Errorf("%w: %s is not followed", errAway, r.Pins[i].Chain)
		}
		list[i] = newSource(c, &r.Pins[i], r.Request.Addresses, len(r.Pins)*len(r.Request.Addresses))
	}
	return list, nil
}

// earliest returns the chain with the earliest transaction that is not written, nil
// after the last one. Those of one time are in the order of the request.
func earliest(list []*source) (next *source, milli uint64, err error) {
	for _, s := range list {
		m, ok, err := s.peek()
		if err != nil {
			return nil, 0, err
		}
		if ok && (next == nil || m < milli) {
			next, milli = s, m
		}
	}
	return next, milli, nil
}

// output appends to a file.
type output struct {
	e         *Exports
	r         *record
	f         vfs.File
	pack      packer
	raw       []byte // rows that are not compressed yet
	packed    []byte
	committed int64 // Raw of the position that was committed last
}

// flush compresses and writes what there is, and commits if that is due.
func (o *output) flush(ctx context.Context) error {
	at := &o.r.At
	var err error
	if o.packed, err = o.pack.chunk(o.packed[:0], o.raw, at); err != nil {
		return &fault{CodeInternal, "the rows could not be compressed", err}
	}
	if err := o.append(o.packed); err != nil {
		return err
	}
	at.Raw += int64(len(o.raw))
	o.raw = o.raw[:0]
	if at.Raw-o.committed < int64(o.e.commit) {
		return nil
	}
	return o.save(ctx)
}

// unwritten is the fault of a file that could not be written.
func unwritten(err error) *fault {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &fault{CodeInternal, noRoomLeft, err}
	}
	return &fault{CodeInternal, "the file could not be written", err}
}

// noRoomLeft is why exports fail on a full disk.
const noRoomLeft = "there is no room left for the file"

// append writes to the end of the file, if there is room.
func (o *output) append(b []byte) error {
	if err := o.e.cfg.Room(); err != nil {
		return &fault{CodeInternal, noRoomLeft, err}
	}
	if o.e.bytes()+int64(len(b)) > o.e.cfg.MaxFiles {
		return &fault{code: CodeInternal, msg: "the room for exports is used up"}
	}
	if _, err := o.f.WriteAt(b, o.r.At.Offset); err != nil {
		return unwritten(err)
	}
	o.r.At.Offset += int64(len(b))
	return nil
}

// save syncs the file and commits the position.
func (o *output) save(ctx context.Context) error {
	if err := o.f.Sync(); err != nil {
		return unwritten(err)
	}
	if err := o.e.save(ctx, o.r.clone()); err != nil {
		return err
	}
	o.committed = o.r.At.Raw
	return nil
}

// end writes what is left and the end of the file.
func (o *output) end(ctx context.Context) error {
	if len(o.raw) > 0 {
		if err := o.flush(ctx); err != nil {
			return err
		}
	}
	var err error
	if o.packed, err = o.pack.end(o.packed[:0], &o.r.At); err != nil {
		return &fault{CodeInternal, "the rows could not be compressed", err}
	}
	if err := o.append(o.packed); err != nil {
		return err
	}
	o.r.At.Whole = true
	return o.save(ctx)
}
