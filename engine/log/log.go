// Package log makes the program's structured loggers. Every part of the program
// has a named logger (main, p2p, aggregator, http, P, C ...) with a file of its
// own and two levels that can be changed while the program runs: one for the
// file, one for the display. Files hold JSON lines and are rotated; the display
// gets one readable line per record.
//
// The parts themselves only see a *slog.Logger. A line below both levels costs
// one atomic load; use LogAttrs where even boxed arguments would be too much.
package log

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"gopkg.in/natefinch/lumberjack.v2"
)

const (
	defaultMaxSizeMB = 8
	defaultMaxFiles  = 7
	// maxName bounds a logger's name, which is also a file's name.
	maxName = 64
)

// ErrUnknownLogger is wrapped when levels are set for a logger that does not exist.
var ErrUnknownLogger = errors.New("unknown logger")

// Config says where lines go. The zero value drops them all.
type Config struct {
	// Dir is the folder of the files, NAME.log each; empty: no files.
	Dir string
	// Display gets readable lines; nil: no display.
	Display io.Writer
	// DisplayJSON has the display get JSON lines too, as files do.
	DisplayJSON bool
	// FileLevel and DisplayLevel are the levels that loggers start with. Default INFO.
	FileLevel, DisplayLevel Level
	// MaxSizeMB is the size in megabytes at which a file is set aside. Default 8.
	MaxSizeMB int
	// MaxFiles is how many files set aside are kept for each logger. Default 7.
	MaxFiles int
	// MaxAgeDays drops files set aside by age; 0 keeps them.
	MaxAgeDays int
	// Compress packs files set aside with gzip.
	Compress bool
}

// LevelPair holds the two levels of a logger.
type LevelPair struct{ File, Display Level }

// Logs makes loggers and holds their levels. Loggers of one Logs never mix
// their lines, whatever goroutine they are used in.
type Logs struct {
	cfg     Config
	display *display
	failed  atomic.Uint64
	tail    tail

	mu      sync.Mutex // guards what follows
	start   LevelPair  // of loggers made from now on
	loggers map[string]*target
	closed  bool
}

// target is where the lines of one name go.
type target struct {
	name          string
	min           atomic.Int64 // the lower of the next two
	file, display atomic.Int64
	out           *rotated // nil without a folder
	logger        *slog.Logger
}

// New checks the configuration. Files are made with the first line.
func New(cfg Config) (*Logs, error) {
	if cfg.MaxSizeMB < 0 || cfg.MaxFiles < 0 || cfg.MaxAgeDays < 0 {
		return nil, fmt.Errorf("log: negative bound: %d MB, %d files, %d days", cfg.MaxSizeMB, cfg.MaxFiles, cfg.MaxAgeDays)
	}
	if cfg.MaxSizeMB == 0 {
		cfg.MaxSizeMB = defaultMaxSizeMB
	}
	if cfg.MaxFiles == 0 {
		cfg.MaxFiles = defaultMaxFiles
	}
	l := &Logs{cfg: cfg, loggers: make(map[string]*target)}
	if cfg.Display != nil {
		l.display = &display{w: cfg.Display}
	}
	l.start = l.limit(LevelPair{File: cfg.FileLevel, Display: cfg.DisplayLevel})
	return l, nil
}

// Logger returns the logger of that name, always the same one. Characters that
// do not belong in a file name become '_'.
func (l *Logs) Logger(name string) *slog.Logger {
	name = clean(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.loggers[name]
	if t == nil {
		t = l.newTarget(name)
		l.loggers[name] = t
	}
	return t.logger
}

// newTarget needs mu.
func (l *Logs) newTarget(name string) *target {
	t := &target{name: name}
	h := l.handler(t)
	if l.cfg.Dir != "" {
		t.out = &rotated{closed: l.closed, onError: l.fileFailed, to: lumberjack.Logger{
			Filename:   filepath.Join(l.cfg.Dir, name+".log"),
			MaxSize:    l.cfg.MaxSizeMB,
			MaxBackups: l.cfg.MaxFiles,
			MaxAge:     l.cfg.MaxAgeDays,
			Compress:   l.cfg.Compress,
		}}
		h.json = newJSON(t.out).WithAttrs([]slog.Attr{slog.String("logger", name)})
	}
	t.set(l.start)
	t.logger = slog.New(h)
	return t
}

// handler returns a handler that writes to the display alone.
func (l *Logs) handler(t *target) *handler {
	h := &handler{target: t, display: l.display, tail: &l.tail}
	if l.display != nil && l.cfg.DisplayJSON {
		h.shown = newJSON(l.display).WithAttrs([]slog.Attr{slog.String("logger", t.name)})
	}
	return h
}

// limit turns a level off that has nowhere to go.
func (l *Logs) limit(p LevelPair) LevelPair {
	if l.cfg.Dir == "" {
		p.File = Off
	}
	if l.display == nil {
		p.Display = Off
	}
	return p
}

func (t *target) set(p LevelPair) {
	t.file.Store(int64(p.File))
	t.display.Store(int64(p.Display))
	t.min.Store(int64(min(p.File, p.Display)))
}

func (t *target) levels() LevelPair {
	return LevelPair{File: Level(t.file.Load()), Display: Level(t.display.Load())}
}

// Levels returns the levels of every logger by name.
func (l *Logs) Levels() map[string]LevelPair {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]LevelPair, len(l.loggers))
	for name, t := range l.loggers {
		all[name] = t.levels()
	}
	return all
}

// SetLevels changes levels at once; nil leaves one as it is. An empty name
// means every logger, also those made later. It returns the loggers changed
// with the levels they have now. A level that has nowhere to go stays OFF.
func (l *Logs) SetLevels(name string, file, display *Level) (map[string]LevelPair, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change := func(p LevelPair) LevelPair {
		if file != nil {
			p.File = *file
		}
		if display != nil {
			p.Display = *display
		}
		return l.limit(p)
	}
	chosen := l.loggers
	if name == "" {
		l.start = change(l.start)
	} else {
		t := l.loggers[name]
		if t == nil {
			return nil, fmt.Errorf("%w %.40q", ErrUnknownLogger, name)
		}
		chosen = map[string]*target{name: t}
	}
	changed := make(map[string]LevelPair, len(chosen))
	for name, t := range chosen {
		t.set(change(t.levels()))
		changed[name] = t.levels()
	}
	return changed, nil
}

// Failed returns the number of lines that could not be written to a file, a counter.
func (l *Logs) Failed() uint64 { return l.failed.Load() }

// fileFailed counts a lost line and says so on the display, but not each time.
func (l *Logs) fileFailed(path string, err error) {
	if n := l.failed.Add(1); n&(n-1) == 0 && l.display != nil { // 1, 2, 4, 8 ...
		t := &target{name: "log"}
		t.set(LevelPair{File: Off, Display: Error})
		slog.New(l.handler(t)).Error("a line was not written to its file", "path", path, "error", err, "failures", n)
	}
}

// Close closes the files. Lines that come later still reach the display.
func (l *Logs) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for _, t := range l.loggers {
		if t.out != nil {
			errs = append(errs, t.out.Close())
		}
	}
	return errors.Join(errs...)
}

// rotated is a log file that is set aside when it is full. Its library keeps
// one idle goroutine for each file until the process ends.
type rotated struct {
	onError func(path string, err error)

	mu     sync.Mutex // guards what follows
	to     lumberjack.Logger
	made   bool // the folder
	closed bool
}

func (r *rotated) Write(b []byte) (int, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return len(b), nil
	}
	n, err := r.write(b)
	r.mu.Unlock()
	if err != nil {
		r.onError(r.to.Filename, err)
	}
	return n, err
}

// write needs mu. The folder, which may be the first thing in a data folder, is for its
// owner alone: the library would let others read it.
func (r *rotated) write(b []byte) (int, error) {
	if !r.made {
		if err := os.MkdirAll(filepath.Dir(r.to.Filename), 0o700); err != nil {
			return 0, err
		}
		r.made = true
	}
	return r.to.Write(b)
}

func (r *rotated) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	return r.to.Close()
}

func clean(name string) string {
	if name == "" {
		return "_"
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, name[:min(len(name), maxName)])
}
