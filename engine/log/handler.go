package log

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-json"
)

// timeForm is how the display writes time, in UTC.
const timeForm = "2006-01-02T15:04:05.000Z"

// maxKept is the longest line whose memory is used again, in bytes.
const maxKept = 16 << 10

// handler writes the records of one logger to its file and to the display.
type handler struct {
	target  *target
	json    slog.Handler // nil without a file
	display *display     // nil without a display
	tail    *tail
	shown   slog.Handler // of the display's lines, if they are JSON
	given   []byte       // attributes given so far, as the display shows them
	prefix  string       // of keys, from groups
}

func newJSON(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.Level(Verbo) - 1000, // the handler above decides
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			switch a.Value.Kind() {
			case slog.KindAny:
				a.Value = plainly(a.Value)
			case slog.KindDuration: // else a number of nanoseconds
				a.Value = slog.StringValue(a.Value.Duration().String())
			case slog.KindTime:
				if len(groups) == 0 {
					a.Value = slog.TimeValue(a.Value.Time().UTC())
				}
			default:
			}
			return a
		},
	})
}

// plainly has JSON lines show what the display shows of a value with a text of its
// own: an ID would else be a list of bytes.
func plainly(v slog.Value) slog.Value {
	switch x := v.Any().(type) {
	case slog.Level:
		return slog.StringValue(Level(x).String())
	case json.Marshaler, encoding.TextMarshaler, error:
	case fmt.Stringer:
		return slog.StringValue(x.String())
	}
	return v
}

// Enabled reports whether a line of that level goes anywhere.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return int64(level) >= h.target.min.Load()
}

// Handle writes the record where its level allows.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if int64(r.Level) >= h.target.min.Load() {
		h.tail.add(h, &r)
	}
	var errs [2]error
	if h.json != nil && int64(r.Level) >= h.target.file.Load() {
		errs[0] = h.json.Handle(ctx, r)
	}
	if h.display != nil && int64(r.Level) >= h.target.display.Load() {
		if h.shown != nil {
			errs[1] = h.shown.Handle(ctx, r)
		} else {
			errs[1] = h.show(r)
		}
	}
	return errors.Join(errs[0], errs[1])
}

// WithAttrs returns a handler that adds attrs to every record.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	c := *h
	if c.json != nil {
		c.json = c.json.WithAttrs(attrs)
	}
	if c.shown != nil {
		c.shown = c.shown.WithAttrs(attrs)
	}
	c.given = slices.Clone(h.given)
	for _, a := range attrs {
		c.given = appendAttr(c.given, c.prefix, a)
	}
	return &c
}

// WithGroup returns a handler that puts name in front of the keys that follow.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	if c.json != nil {
		c.json = c.json.WithGroup(name)
	}
	if c.shown != nil {
		c.shown = c.shown.WithGroup(name)
	}
	c.prefix = h.prefix + name + "."
	return &c
}

func (h *handler) show(r slog.Record) error {
	buf, ok := h.display.lines.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	b := (*buf)[:0]
	if !r.Time.IsZero() {
		b = r.Time.UTC().AppendFormat(b, timeForm)
		b = append(b, ' ')
	}
	level := Level(r.Level).String()
	b = append(b, level...)
	b = append(b, "     "[:5-len(level)+1]...)
	b = append(b, h.target.name...)
	b = append(b, ' ', ' ')
	b = appendMessage(b, r.Message)
	b = append(b, h.given...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.prefix, a)
		return true
	})
	b = append(b, '\n')
	_, err := h.display.Write(b)
	if cap(b) <= maxKept {
		*buf = b
		h.display.lines.Put(buf)
	}
	return err
}

// appendMessage keeps a message readable and on one line.
func appendMessage(b []byte, s string) []byte {
	for _, c := range s {
		if unicode.IsControl(c) || c == utf8.RuneError {
			c = ' '
		}
		b = utf8.AppendRune(b, c)
	}
	return b
}

// appendAttr appends " key=value"; a group becomes one pair for each member.
func appendAttr(b []byte, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Key == "" && v.Kind() != slog.KindGroup {
		return b
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range v.Group() {
			b = appendAttr(b, prefix, member)
		}
		return b
	}
	b = append(b, ' ')
	b = appendText(b, prefix+a.Key)
	b = append(b, '=')
	switch v.Kind() {
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case slog.KindTime:
		return v.Time().UTC().AppendFormat(b, time.RFC3339Nano)
	default:
		return appendText(b, v.String())
	}
}

// appendText appends s as it is when that cannot be misread, else quoted.
func appendText(b []byte, s string) []byte {
	plain := s != ""
	for _, c := range s {
		if c <= ' ' || c == '"' || c == '=' || c == utf8.RuneError || !unicode.IsPrint(c) {
			plain = false
			break
		}
	}
	if plain {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// display keeps the lines of all loggers apart.
type display struct {
	lines sync.Pool // of *[]byte

	mu sync.Mutex // guards w
	w  io.Writer
}

// Write writes one line.
func (d *display) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.w.Write(line)
}
