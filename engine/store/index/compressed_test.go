package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"quorate/devnet/torture"
)

// compress compresses the database in a folder.
func compress(t *testing.T, dir string) {
	t.Helper()
	if err := Compress(t.Context(), dir, slog.New(slog.DiscardHandler), func(uint64, uint64) {}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// A folder whose tables are not compressed is read and written to, and what is written is.
// One that is to have no compressed tables has a cache of blocks as long as it has some.
func TestCompressedTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const rows = 3000
	with := func(opts Options, cacheMB int64, from int, value string) {
		t.Helper()
		d := openSmall(t, dir, opts)
		bdb, err := d.use()
		if err != nil {
			t.Fatal(err)
		}
		if got := bdb.Opts().BlockCacheSize; got != cacheMB<<20 {
			t.Errorf("a cache of %d bytes for %s", got, value)
		}
		d.unuse()
		mustWrite(t, d, series(from, rows, value))
		holds(t, d, rows, func(i int) string {
			if i < from {
				return fmt.Sprintf("plain %d", i)
			}
			return fmt.Sprintf("%s %d", value, i)
		})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	with(Options{Uncompressed: true}, 0, 0, "plain")
	with(Options{}, 4, rows/2, "packed")
	if packed, plain, err := tablesOf(dir); packed == 0 || plain == 0 || err != nil {
		t.Errorf("%d bytes compressed, %d not, %v", packed, plain, err)
	}
	with(Options{Uncompressed: true}, 4, rows/2, "plain again")
}

// TestCompress: a compressed copy has the rows that there were and none that was removed, and
// what is written later counts.
func TestCompress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{Uncompressed: true})
	const rows = 5000
	mustWrite(t, d, series(0, rows, "old"))
	mustWrite(t, d, series(10, 20, "new"))
	mustWrite(t, d, series(20, 30, ""))
	want := func(i int) string {
		switch {
		case i < 10 || i >= 30:
			return fmt.Sprintf("old %d", i)
		case i < 20:
			return fmt.Sprintf("new %d", i)
		}
		return ""
	}
	for _, value := range []string{"later", "last"} {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := Unpacked(dir)
		if err != nil {
			t.Fatal(err)
		}
		compress(t, dir)
		after, err := Unpacked(dir)
		if err != nil || after.Plain != 0 || after.Compressed == 0 || before.Plain > 0 && after.Compressed > before.After {
			t.Errorf("before %+v, after %+v, %v", before, after, err)
		}
		if _, err := os.Stat(dir + compressing); err == nil {
			t.Error("the old one is still there")
		}
		d = openSmall(t, dir, Options{})
		holds(t, d, rows, want)
		mustWrite(t, d, series(10, 20, value))
		was := want
		want = func(i int) string {
			if i >= 10 && i < 20 {
				return fmt.Sprintf("%s %d", value, i)
			}
			return was(i)
		}
		holds(t, d, rows, want)
	}
}

// What stops a compression leaves the database as it was.
func TestCompressStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openSmall(t, dir, Options{Uncompressed: true})
	mustWrite(t, d, series(0, 1000, "old"))
	run := func(ctx context.Context, room error) error {
		return Compress(ctx, dir, slog.New(slog.DiscardHandler), func(uint64, uint64) {}, func() error { return room })
	}
	if err := run(t.Context(), nil); err == nil {
		t.Error("compressed while it is open")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if err := run(t.Context(), full); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := os.Stat(dir + compressing); err == nil {
		t.Error("what was begun is still there")
	}
	if packed, plain, err := tablesOf(dir); packed != 0 || plain == 0 || err != nil {
		t.Errorf("%d bytes compressed, %d not, %v", packed, plain, err)
	}
	holds(t, openSmall(t, dir, Options{}), 1000, func(i int) string { return fmt.Sprintf("old %d", i) })
}

// compressDir is the variable that names the database of a child of the test binary.
const compressDir = "QUORATE_TEST_COMPRESS_DIR"

// TestKillCompress: whenever a process is killed that compresses, the database has all rows.
func TestKillCompress(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(compressDir); dir != "" {
		for {
			fmt.Println("begun")
			compress(t, dir)
		}
	}
	dir, rnd := t.TempDir(), rand.New(rand.NewPCG(27, 3))
	d := openSmall(t, dir, Options{Uncompressed: true})
	const rows = 20_000
	for from := 0; from < rows; from += rows / 10 {
		mustWrite(t, d, series(from, from+rows/10, "old"))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for range torture.Pick(5, 200) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillCompress$")
		cmd.Env = append(os.Environ(), compressDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan()
		timer := time.AfterFunc(time.Duration(rnd.IntN(300_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for lines.Scan() { // to its end
		}
		timer.Stop()
		if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) || cmd.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v", err)
		}
		d := openSmall(t, dir, Options{Uncompressed: true})
		holds(t, d, rows, func(i int) string { return fmt.Sprintf("old %d", i) })
		if _, err := os.Stat(dir + compressing); err == nil {
			t.Error("what was begun is still there")
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
