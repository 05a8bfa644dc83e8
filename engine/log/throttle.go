package log

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Throttle holds repeating lines back: at most one in each period. It is one
// per message, kept by the part that logs it.
type Throttle struct {
	period time.Duration

	mu   sync.Mutex // guards what follows
	next time.Time
	held uint64
}

// NewThrottle returns a throttle that lets one line through in each period.
func NewThrottle(period time.Duration) *Throttle { return &Throttle{period: period} }

// Allow reports whether a line may be written now, and how many were held back
// since the last one.
func (t *Throttle) Allow() (held uint64, ok bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.next) {
		t.held++
		return 0, false
	}
	held, t.held = t.held, 0
	t.next = now.Add(t.period)
	return held, true
}

// Log writes the line if it may be written now, with the number of those held
// back before it, if any, as "repeated". Lines that the logger does not write
// do not count.
func (t *Throttle) Log(ctx context.Context, to *slog.Logger, level slog.Level, msg string, attrs ...slog.Attr) {
	if !to.Enabled(ctx, level) {
		return
	}
	held, ok := t.Allow()
	if !ok {
		return
	}
	if held > 0 {
		attrs = append(attrs[:len(attrs):len(attrs)], slog.Uint64("repeated", held))
	}
	to.LogAttrs(ctx, level, msg, attrs...)
}
