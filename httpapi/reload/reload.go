// Package reload keeps what files say up to date: API keys, prices, certificates.
//
// A file is looked at again at most once a second, by whoever asks for what it
// says, and read again when its time or size changed; [Value.Reload] reads it at
// once, as for SIGHUP. A file that is gone or not valid then is logged, once for
// each cause, and what was read before stays in force. When it is opened the
// first time it must be valid.
package reload

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Every is how often a file is looked at.
const Every = time.Second

// Config says what to read. Path and Parse are required.
type Config[T any] struct {
	// Name says what the files are, for logs and errors: "API keys".
	Name string
	// Paths are the files; a change of any reads all of them again.
	Paths []string
	// MaxBytes bounds each file's size.
	MaxBytes int64
	// Parse makes the value from the content of each of Paths. before is the value in
	// force, nil at the first time.
	Parse func(content [][]byte, before *T) (*T, error)
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Read, if not nil, is called after each reading that was tried: counts them.
	Read func(err error)
}

// Value is what files say.
type Value[T any] struct {
	cfg     Config[T]
	content atomic.Pointer[T]
	began   time.Time
	next    atomic.Int64 // when to look again, in time since began

	mu        sync.Mutex // guards the two below
	seen      []stamp    // of what was read last, good or not
	complaint string     // what was logged last, so as not to repeat it
}

// stamp tells states of a file apart.
type stamp struct {
	modified time.Time
	size     int64
}

// Open reads the files. An error means that they cannot be read or are not valid.
func Open[T any](cfg Config[T]) (*Value[T], error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	v := &Value[T]{cfg: cfg, began: time.Now()}
	v.next.Store(int64(Every))
	if err := v.read(nil); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	return v, nil
}

// Get returns the value, which is shared: do not change it. It looks at the files
// when that is due; one caller does, and the others go on with what is known.
func (v *Value[T]) Get() *T {
	now := int64(time.Since(v.began))
	if due := v.next.Load(); now >= due && v.next.CompareAndSwap(due, now+int64(Every)) && v.mu.TryLock() {
		stamps, err := v.stamps()
		if err != nil || !equal(stamps, v.seen) {
			v.again(stamps, err)
		}
		v.mu.Unlock()
	}
	return v.content.Load()
}

// Reload reads the files now, changed or not. On an error the value from before
// stays in force.
func (v *Value[T]) Reload() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	stamps, err := v.stamps()
	if err = v.again(stamps, err); err != nil {
		return fmt.Errorf("%s: %w", v.cfg.Name, err)
	}
	return nil
}

// again reads changed files, unless err says that they cannot be, and logs how it
// went. It runs under mu.
func (v *Value[T]) again(stamps []stamp, err error) error {
	if err == nil {
		err = v.read(stamps)
	} else {
		v.seen = nil // when they come back, they are new
	}
	files := slog.String("file", strings.Join(v.cfg.Paths, ", "))
	switch {
	case err == nil:
		v.complaint = ""
		v.cfg.Logger.Info(v.cfg.Name+" read again", files)
	case err.Error() == v.complaint:
		return err
	default:
		v.complaint = err.Error()
		v.cfg.Logger.Error(v.cfg.Name+" cannot be read again, what was read before stays in force", files, "error", err)
	}
	if v.cfg.Read != nil {
		v.cfg.Read(err)
	}
	return err
}

// read reads the files. What changes after stamps were taken is seen at the next
// look; nil takes them now.
func (v *Value[T]) read(stamps []stamp) (err error) {
	if stamps == nil {
		if stamps, err = v.stamps(); err != nil {
			return err
		}
	}
	content := make([][]byte, len(v.cfg.Paths))
	for i, path := range v.cfg.Paths {
		if content[i], err = ReadFile(path, v.cfg.MaxBytes); err != nil {
			return err // tried again at the next look
		}
	}
	v.seen = stamps
	value, err := v.cfg.Parse(content, v.content.Load())
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(v.cfg.Paths, ", "), err)
	}
	v.content.Store(value)
	return nil
}

func (v *Value[T]) stamps() ([]stamp, error) {
	stamps := make([]stamp, len(v.cfg.Paths))
	for i, path := range v.cfg.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func equal(a, b []stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].modified.Equal(b[i].modified) || a[i].size != b[i].size {
			return false
		}
	}
	return true
}

// ReadFile returns the content of a regular file of at most limit bytes. It does not
// wait for the writer of a pipe, which may never come.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	content, err := readRegular(f, limit)
	return content, errors.Join(err, f.Close())
}

func readRegular(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", f.Name(), limit)
	}
	return content, err
}
