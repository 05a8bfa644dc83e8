package reload

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// files are written with a time of their own each time.
type files struct {
	dir    string
	writes int
}

func (f *files) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f.writes++
	at := time.Unix(1_700_000_000+int64(f.writes), 0)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

// parse joins the contents; "bad" is not valid.
func parse(content [][]byte, before *string) (*string, error) {
	s := string(bytes.Join(content, []byte("+")))
	if strings.Contains(s, "bad") {
		return nil, errors.New("not valid")
	}
	if before != nil {
		s = *before + ">" + s
	}
	return &s, nil
}

// TestValue follows two files through changes, faults and absence.
func TestValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := files{dir: t.TempDir()}
		a, b := f.write(t, "a", "1"), f.write(t, "b", "2")
		var log bytes.Buffer
		reads, failures := 0, 0
		v, err := Open(Config[string]{
			Name: "words", Paths: []string{a, b}, MaxBytes: 4, Parse: parse, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Read: func(err error) {
				reads++
				if err != nil {
					failures++
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := func(what, value string, wantReads, wantFailures int) {
			t.Helper()
			if got := *v.Get(); got != value || reads != wantReads || failures != wantFailures {
				t.Errorf("%s: %q after %d reads and %d failures, want %q, %d and %d", what, got, reads, failures, value, wantReads, wantFailures)
			}
		}
		pass := func() { <-time.After(Every) }
		pass()
		want("unchanged", "1+2", 0, 0)
		f.write(t, "b", "3")
		want("just looked", "1+2", 0, 0)
		pass()
		want("changed", "1+2>1+3", 1, 0)
		f.write(t, "a", "bad")
		for range 3 {
			pass()
			want("not valid", "1+2>1+3", 2, 1)
		}
		f.write(t, "a", "large")
		pass()
		want("too large", "1+2>1+3", 3, 2)
		if err := os.Remove(a); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			pass()
			want("gone", "1+2>1+3", 4, 3)
		}
		f.write(t, "a", "1")
		pass()
		want("back", "1+2>1+3>1+3", 5, 3)
		if err := v.Reload(); err != nil {
			t.Error(err)
		}
		want("on demand", "1+2>1+3>1+3>1+3", 6, 3)
		f.write(t, "a", "bad")
		if err := v.Reload(); err == nil || !strings.Contains(err.Error(), "words") || !strings.Contains(err.Error(), a) {
			t.Errorf("error %v", err)
		}
		want("on demand, not valid", "1+2>1+3>1+3>1+3", 7, 4)
		if n := strings.Count(log.String(), "stays in force"); n != 4 {
			t.Errorf("%d complaints, want 4:\n%s", n, &log)
		}
	})
}

// TestFirst: at the first time there is nothing to fall back on, and nothing to
// say of it in the log.
func TestFirst(t *testing.T) {
	t.Parallel()
	f := files{dir: t.TempDir()}
	var log bytes.Buffer
	for what, path := range map[string]string{"gone": filepath.Join(f.dir, "none"), "bad": f.write(t, "a", "bad")} {
		_, err := Open(Config[string]{
			Name: "words", Paths: []string{path}, MaxBytes: 10, Parse: parse, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err == nil || !strings.Contains(err.Error(), "words: ") || !strings.Contains(err.Error(), path) || log.Len() != 0 {
			t.Errorf("%s: error %v, log %q", what, err, &log)
		}
	}
}

// TestGetAllocatesNothing: requests ask each time.
func TestGetAllocatesNothing(t *testing.T) {
	f := files{dir: t.TempDir()}
	v, err := Open(Config[string]{Name: "words", Paths: []string{f.write(t, "a", "1")}, MaxBytes: 10, Parse: parse})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { v.Get() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPipe: a pipe that nobody writes to holds up neither the start nor a reload.
func TestPipe(t *testing.T) {
	t.Parallel()
	f := files{dir: t.TempDir()}
	path := f.write(t, "a", "1")
	cfg := Config[string]{Name: "words", Paths: []string{path}, MaxBytes: 4, Parse: parse}
	v, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "is not a regular file"
	if err := v.Reload(); err == nil || !strings.Contains(err.Error(), want) || *v.Get() != "1" {
		t.Errorf("%v, %q", err, *v.Get())
	}
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("opened: %v", err)
	}
}
