package proc

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// A LineWatcher passes a child's output on and picks out the first line that
// starts with a prefix, such as the one that a server prints when it is ready.
type LineWatcher struct {
	prefix string
	found  chan string // buffered, receives the rest of the line once

	mu   sync.Mutex
	next io.Writer
	line []byte // the line so far; nil once the prefix was found
	seen bool
}

// NewLineWatcher watches for prefix and writes everything on to next.
func NewLineWatcher(prefix string, next io.Writer) *LineWatcher {
	return &LineWatcher{prefix: prefix, next: next, found: make(chan string, 1)}
}

// Found receives what follows the prefix on its line, without surrounding spaces, once.
func (w *LineWatcher) Found() <-chan string { return w.found }

// Write implements [io.Writer].
func (w *LineWatcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		w.scan(b)
	}
	return w.next.Write(b)
}

func (w *LineWatcher) scan(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			w.line = append(w.line, b...)
			return
		}
		line := string(append(w.line, b[:end]...))
		w.line, b = w.line[:0], b[end+1:]
		if rest, ok := strings.CutPrefix(line, w.prefix); ok {
			w.seen, w.line = true, nil
			w.found <- strings.TrimSpace(rest)
			return
		}
	}
}
