package log

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// tailLines is how many of the last lines are remembered, tailText how long each may be.
	tailLines, tailText = 512, 2 << 10
)

// Line is a line of the log.
type Line struct {
	At     time.Time
	Level  Level
	Logger string
	// Text is the message with its attributes, as the display shows them, cut if it is
	// very long.
	Text string
}

// tail remembers the last lines that were written anywhere.
type tail struct {
	mu    sync.Mutex // guards what follows
	lines [tailLines]Line
	next  int
}

func (t *tail) add(h *handler, r *slog.Record) {
	b := appendMessage(make([]byte, 0, 256), r.Message)
	b = append(b, h.given...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.prefix, a)
		return len(b) < tailText
	})
	if len(b) > tailText {
		b = append(b[:tailText], "…"...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines[t.next] = Line{r.Time, Level(r.Level), h.target.name, string(b)}
	t.next = (t.next + 1) % tailLines
}

// Tail returns the last lines that were written to a file or to the display, of a level
// and above, and of one logger unless name is empty: the newest first, at most limit.
func (l *Logs) Tail(least Level, name string, limit int) []Line {
	t := &l.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Line
	for i := range tailLines {
		line := &t.lines[(t.next-1-i+2*tailLines)%tailLines]
		if line.Text == "" || len(out) == limit {
			break
		}
		if line.Level >= least && (name == "" || line.Logger == name) {
			out = append(out, *line)
		}
	}
	return slices.Clip(out)
}
