package log

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
)

// Level is how urgent a line is. The names and their order are those of
// Avalanche nodes; note that DEBUG is below TRACE. INFO is the zero value, and
// DEBUG to ERROR have slog's numbers, so slog's own methods may be used.
type Level slog.Level

// The levels, from the most talkative to silence.
const (
	Verbo = Level(slog.LevelDebug - 4)
	Debug = Level(slog.LevelDebug)
	Trace = Level(slog.LevelDebug + 2)
	Info  = Level(slog.LevelInfo)
	Warn  = Level(slog.LevelWarn)
	Error = Level(slog.LevelError)
	Fatal = Level(slog.LevelError + 4)
	// Off is above every line's level.
	Off = Level(math.MaxInt32)
)

// ErrLevel is wrapped by the errors of [ParseLevel].
var ErrLevel = errors.New("unknown log level")

// names holds the levels in ascending order.
var names = [...]struct {
	level Level
	name  string
}{
	{Verbo, "VERBO"}, {Debug, "DEBUG"}, {Trace, "TRACE"}, {Info, "INFO"},
	{Warn, "WARN"}, {Error, "ERROR"}, {Fatal, "FATAL"}, {Off, "OFF"},
}

// ParseLevel reads a level's name in any case.
func ParseLevel(s string) (Level, error) {
	for _, n := range names {
		if strings.EqualFold(s, n.name) {
			return n.level, nil
		}
	}
	return Off, fmt.Errorf("%w: %.40q; there are VERBO, DEBUG, TRACE, INFO, WARN, ERROR, FATAL and OFF", ErrLevel, s)
}

// Level makes a Level usable wherever slog takes one.
func (l Level) Level() slog.Level { return slog.Level(l) }

// String returns the name; a level between two named ones takes the lower name.
func (l Level) String() string {
	name := names[0].name
	for _, n := range names {
		if l >= n.level {
			name = n.name
		}
	}
	return name
}

// MarshalText returns the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name.
func (l *Level) UnmarshalText(b []byte) error {
	v, err := ParseLevel(string(b))
	if err == nil {
		*l = v
	}
	return err
}
