// Package feedtest is a log in memory, for tests.
package feedtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"quorate/engine/feed"
)

// ErrCut is the error of all calls to a log that is cut off.
var ErrCut = errors.New("the log is cut off")

// Log is a [feed.Log] in memory. Its positions are those of all subjects together, and grow in
// steps, as those of a shared stream do.
type Log struct {
	// Most is how many records a subject keeps; 0 stands for [feed.Kept].
	Most int

	mu     sync.Mutex // guards what follows
	end    uint64
	kept   map[string][]record
	grown  chan struct{} // closed with the next record
	cut    bool
	before func(subject string)
}

type record struct {
	at    uint64
	bytes []byte
}

// New returns an empty log.
func New() *Log { return &Log{kept: make(map[string][]record), grown: make(chan struct{})} }

// Cut cuts the log off, or ends that.
func (l *Log) Cut(off bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = off
	l.fire()
}

// Before has f called before each append, without its lock.
func (l *Log) Before(f func(subject string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = f
}

// Records returns the records of a subject.
func (l *Log) Records(subject string) (list [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.kept[subject] {
		list = append(list, r.bytes)
	}
	return list
}

// Replace puts other records in the place of those of a subject, at positions that begin again.
func (l *Log) Replace(subject string, list ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.kept[subject] = 0, nil
	for _, b := range list {
		l.add(subject, b)
	}
	l.fire()
}

// Push appends whatever it is.
func (l *Log) Push(subject string, b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(subject, b)
	l.fire()
}

// fire needs mu.
func (l *Log) fire() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// add needs mu.
func (l *Log) add(subject string, b []byte) uint64 {
	l.end += 3
	list := append(l.kept[subject], record{l.end, slices.Clone(b)})
	most := l.Most
	if most == 0 {
		most = feed.Kept
	}
	l.kept[subject] = list[max(0, len(list)-most):]
	return l.end
}

// open returns why a call fails, or nil. It needs mu.
func (l *Log) open(ctx context.Context) error {
	if l.cut {
		return ErrCut
	}
	return ctx.Err()
}

// Ends implements [feed.Log].
func (l *Log) Ends(ctx context.Context, subject string) (first, last uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.kept[subject]; len(list) > 0 {
		first, last = list[0].at, list[len(list)-1].at
	}
	return first, last, l.open(ctx)
}

// Read implements [feed.Log].
func (l *Log) Read(ctx context.Context, subject string, from uint64) ([]byte, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx); err != nil {
		return nil, 0, err
	}
	for _, r := range l.kept[subject] {
		if r.at >= from {
			return slices.Clone(r.bytes), r.at, nil
		}
	}
	return nil, 0, feed.ErrEnd
}

// Watch implements [feed.Log].
func (l *Log) Watch(ctx context.Context, _ string, f func()) error {
	for {
		l.mu.Lock()
		grown, err := l.grown, l.open(ctx)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		f()
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Append implements [feed.Log].
func (l *Log) Append(ctx context.Context, subject string, after uint64, b []byte) (uint64, error) {
	l.mu.Lock()
	before := l.before
	l.mu.Unlock()
	if before != nil {
		before(subject)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx); err != nil {
		return 0, err
	}
	last := uint64(0)
	if list := l.kept[subject]; len(list) > 0 {
		last = list[len(list)-1].at
	}
	if last != after {
		return 0, feed.ErrMoved
	}
	defer l.fire()
	return l.add(subject, b), nil
}
