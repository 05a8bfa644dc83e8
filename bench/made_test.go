package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	store "quorate/engine/store/index"
)

func emptyFolder(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestIngestMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last IngestProgress
	doing := map[string]bool{}
	rounds := 2
	r, err := Ingest(t.Context(), IngestConfig{Blocks: 70, TxsPerBlock: 3, Accounts: 20, Rounds: rounds, Dir: dir, Progress: func(p IngestProgress) {
		last = p
		doing[p.Doing] = true
	}})
	if err != nil {
		t.Fatal(err)
	}
	emptyFolder(t, dir)
	if r.Blocks != 70 || r.Txs != 210 || r.Accounts != 20 || r.Rounds != rounds || r.Commits != 2 || r.Events < 420 || r.Rows < 210*5 || r.RowBytes < r.Rows*20 || r.DiskBytes == 0 {
		t.Errorf("%+v", r)
	}
	for _, s := range []Spread{r.EventsPerSecond, r.PlainPerSecond, r.PerSecond, r.FloorPerSecond, r.MetricsRatio, r.FloorRatio} {
		if s.Min <= 0 || s.Min > s.Median || s.Median > s.Max {
			t.Errorf("%+v", r)
		}
	}
	if last.Done != last.Total || len(doing) != 1+4*rounds {
		t.Errorf("%+v, %v", last, doing)
	}
}

// TestIngestGivenUp: the end of the context ends it at any time, and leaves
// nothing behind.
func TestIngestGivenUp(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	for _, c := range []struct {
		doing  string
		rounds int // whole ones, 0 for no report
	}{
		{"preparing", 0},
		{"round 2 of 3, index without metrics", 1},
		{"round 1 of 3, rollup alone", 0},
		{"round 1 of 3, index with metrics", 0},
		{"round 3 of 3, database alone", 2},
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		r, err := Ingest(ctx, IngestConfig{Blocks: 66, TxsPerBlock: 1, Accounts: 20, Dir: dir, Progress: func(p IngestProgress) {
			if p.Doing == c.doing {
				cancel(stop)
			}
		}})
		cancel(nil)
		if !errors.Is(err, stop) || (r != nil) != (c.rounds > 0) || r != nil && r.Rounds != c.rounds {
			t.Errorf("%s: %v, %+v", c.doing, err, r)
		}
		emptyFolder(t, dir)
	}
}

func TestIngestConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]IngestConfig{
		"want 1 to 200000 transactions": {Blocks: 2001},
		"-1 blocks":                     {Blocks: -1},
		"101 rounds":                    {Rounds: 101},
		"-1 accounts":                   {Accounts: -1},
	} {
		if r, err := Ingest(t.Context(), cfg); r != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := Ingest(t.Context(), IngestConfig{Blocks: 1, Dir: t.TempDir() + "/none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestRowStock: the floor writes the very rows of the index.
func TestRowStock(t *testing.T) {
	t.Parallel()
	r := &ingestRun{cfg: IngestConfig{Blocks: 20, TxsPerBlock: 5, Accounts: 30}, dir: t.TempDir()}
	if err := r.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for at, n := 0, len(r.rows.rows); at < n; {
		if at, err = r.rows.write(db, at, n); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := readRows(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if len(copied.rows) != len(r.rows.rows) || !bytes.Equal(copied.bytes, r.rows.bytes) {
		t.Errorf("%d rows of %d bytes, want %d of %d", len(copied.rows), len(copied.bytes), len(r.rows.rows), len(r.rows.bytes))
	}
	if n := r.written.rows; n < len(copied.rows)*9/10 || r.written.bytes < len(copied.bytes)*9/10 {
		t.Errorf("%+v, %d rows of %d bytes are there", r.written, len(copied.rows), len(copied.bytes))
	}
	for i := 1; i < len(copied.rows); i++ {
		if copied.rows[i-1].when > copied.rows[i].when {
			t.Fatal("not in order")
		}
	}
}

func TestIngestReport(t *testing.T) {
	t.Parallel()
	r := &ingestRun{cfg: IngestConfig{Blocks: 300, TxsPerBlock: 100, Accounts: 10_000, Rounds: 3}, count: 100_000}
	r.written.rows, r.written.bytes, r.written.commits, r.written.disk = 300_000, 18_000_000, 5, 9_000_000
	s := time.Second
	report := r.report([4][]time.Duration{{s / 100, s / 50, s / 80}, {s, 2 * s, s}, {s * 11 / 10, 2 * s, s * 12 / 10}, {s, s, s}})
	var text, js bytes.Buffer
	if err := errors.Join(report.WriteText(&text), report.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	golden(t, "ingest.txt", text.Bytes())
	golden(t, "ingest.json", js.Bytes())
	if report := r.report([4][]time.Duration{}); report != nil {
		t.Errorf("%+v", report)
	}
}
