package index

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/store"
)

// keepRows copies the rows of runs, and returns how many there were.
func keepRows(ctx context.Context, dir string, step func() error) (rows uint64, err error) {
	err = KeepRows(ctx, dir, Options{MemTableMB: 8}, func(k Kept) error {
		if rows = k.Rows; k.Bytes == 0 != (rows == 0) {
			return fmt.Errorf("%+v", k)
		}
		return nil
	}, func(done, of uint64) error {
		if done > of || of != rows {
			return fmt.Errorf("%d of %d rows", done, of)
		}
		return step()
	})
	return rows, err
}

// TestKeepRows: rows of runs are copied, whatever stops that at first, and are those that
// there were: none that is older, or was removed.
func TestKeepRows(t *testing.T) {
	t.Parallel()
	dir, want := oldDB(t, 60_000)
	stop, steps := errors.New("stop"), 0
	if _, err := keepRows(t.Context(), dir, func() error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := keepRows(ctx, dir, func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrRuns) {
		t.Error(err)
	}
	rows, err := keepRows(t.Context(), dir, func() error { steps++; return nil })
	if err != nil || rows < 15_000 || steps < 2 {
		t.Errorf("%d rows in %d steps, %v", rows, steps, err)
	}
	d := openSmall(t, dir, Options{})
	if got := allRows(t, d); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := keepRows(t.Context(), dir, func() error { return nil }); rows > 0 || err != nil {
		t.Errorf("again: %d rows, %v", rows, err)
	}
	if len(filesIn(t, dir)) > 0 {
		t.Error("the files are still there")
	}
}

// TestKeepDamaged: no row of a run is copied that is missing, cut off or changed, and the
// error names its file.
func TestKeepDamaged(t *testing.T) {
	t.Parallel()
	change := func(path string, how func(b []byte)) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		how(b)
		return os.WriteFile(path, b, 0o600)
	}
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut off": func(path string) error { return os.Truncate(path, 100) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"zeroed":  func(path string) error { return change(path, func(b []byte) { clear(b) }) },
		"changed": func(path string) error { return change(path, func(b []byte) { b[100] ^= 1 }) },
		"garbage": func(path string) error { // at the end of its blocks
			return change(path, func(b []byte) {
				end := len(b) - 4 // behind the blocks: index | its length | checksum | its length
				end -= int(binary.BigEndian.Uint32(b[end:])) + 4
				end -= int(binary.BigEndian.Uint32(b[end:]))
				for i := range 40 {
					b[end-40+i] = 0xff
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _ := oldDB(t, 2000)
			file := filesIn(t, dir)[1]
			if err := spoil(filepath.Join(dir, runsDir, file)); err != nil {
				t.Fatal(err)
			}
			_, err := keepRows(t.Context(), dir, func() error { return nil })
			if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(runsDir, file)) {
				t.Error(err)
			}
		})
	}
}

// keepDir is the variable that names the database of a child of the test binary.
const keepDir = "QUORATE_TEST_KEEP_DIR"

// TestKillKeep: however often a process is killed that copies the rows of runs, they are those
// that there were in the end.
func TestKillKeep(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(keepDir); dir != "" {
		fmt.Println("begun")
		if _, err := keepRows(t.Context(), dir, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, want := oldDB(t, 60_000)
	rnd, dir := rand.New(rand.NewPCG(27, 5)), ""
	most := torture.Pick(4, 200)
	for kills, done := 0, 0; kills < most || done == 0; {
		if dir == "" {
			dir = t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillKeep$")
		cmd.Env = append(os.Environ(), keepDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan()
		after := time.Duration(rnd.IntN(300_000)) * time.Microsecond
		if kills >= most { // a slow process might never come to its end
			after = time.Minute
		}
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		for lines.Scan() { // to its end
		}
		timer.Stop()
		if err := cmd.Wait(); err != nil && cmd.ProcessState.Exited() {
			t.Fatal(err)
		} else if err != nil {
			kills++
			continue
		}
		d := openSmall(t, dir, Options{})
		if got := allRows(t, d); !slices.Equal(got, want) {
			t.Fatalf("after %d kills: %d rows, want %d", kills, len(got), len(want))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		dir, done = "", done+1
	}
}
