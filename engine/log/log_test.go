package log

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var ctx = context.Background()

func mustNew(t testing.TB, cfg Config) *Logs {
	t.Helper()
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// fileLines reads the JSON lines of a log file; no file is no lines.
func fileLines(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []map[string]any
	for line := range bytes.Lines(data) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, m)
	}
	return all
}

func TestLevels(t *testing.T) {
	t.Parallel()
	var all []string
	last := Verbo - 1
	for _, name := range []string{"VERBO", "DEBUG", "TRACE", "INFO", "WARN", "ERROR", "FATAL", "OFF"} {
		level, err := ParseLevel(strings.ToLower(name))
		if err != nil || level.String() != name || level <= last {
			t.Errorf("%s: got %v (%d after %d), %v", name, level, level, last, err)
		}
		var back Level
		text, _ := level.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != level {
			t.Errorf("%s: text form gives %v, %v", name, back, err)
		}
		last = level
		all = append(all, name)
	}
	_, err := ParseLevel("LOUD")
	if !errors.Is(err, ErrLevel) {
		t.Fatalf("got %v", err)
	}
	for _, name := range all {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
	}
	if l := Level(5); l.String() != "WARN" {
		t.Errorf("level between: %s", l)
	}
	level := Warn
	if err := level.UnmarshalText([]byte("nope")); err == nil || level != Warn {
		t.Errorf("bad text: %v, %v", level, err)
	}
}

func TestFileAndDisplayApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	l := mustNew(t, Config{Dir: dir, Display: &out, FileLevel: Debug, DisplayLevel: Warn})
	p2p := l.Logger("p2p")
	if l.Logger("p2p") != p2p {
		t.Error("a name has two loggers")
	}
	levels := []Level{Verbo, Debug, Trace, Info, Warn, Error, Fatal}
	for _, level := range levels {
		p2p.Log(ctx, level.Level(), "line of "+level.String(), "n", int(level))
	}
	l.Logger("main").Error("elsewhere")
	var inFile []string
	for _, m := range fileLines(t, filepath.Join(dir, "p2p.log")) {
		if m["logger"] != "p2p" || m["msg"] != fmt.Sprint("line of ", m["level"]) || !strings.HasSuffix(m["time"].(string), "Z") {
			t.Errorf("line %v", m)
		}
		inFile = append(inFile, m["level"].(string))
	}
	if got := strings.Join(inFile, " "); got != "DEBUG TRACE INFO WARN ERROR FATAL" {
		t.Errorf("file has %s", got)
	}
	var shown []string
	for line := range strings.Lines(out.String()) {
		shown = append(shown, line[len(timeForm)+1:])
	}
	want := "WARN  p2p  line of WARN n=4\nERROR p2p  line of ERROR n=8\nFATAL p2p  line of FATAL n=12\nERROR main  elsewhere\n"
	if got := strings.Join(shown, ""); got != want {
		t.Errorf("display has\n%swant\n%s", got, want)
	}
	if n := len(fileLines(t, filepath.Join(dir, "main.log"))); n != 1 {
		t.Errorf("main.log has %d lines", n)
	}
}

func TestSetLevels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	l := mustNew(t, Config{Dir: dir, Display: &out, DisplayLevel: Off})
	main, p2p := l.Logger("main"), l.Logger("p2p").With("peer", 1)
	level := func(v Level) *Level { return &v }

	changed, err := l.SetLevels("p2p", level(Off), level(Verbo))
	if err != nil || len(changed) != 1 || changed["p2p"] != (LevelPair{Off, Verbo}) {
		t.Fatalf("got %v, %v", changed, err)
	}
	p2p.Log(ctx, Verbo.Level(), "a")
	main.Log(ctx, Verbo.Level(), "b")
	if got := out.String(); !strings.HasSuffix(got, "VERBO p2p  a peer=1\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("display: %q", got)
	}
	if got := fileLines(t, filepath.Join(dir, "p2p.log")); len(got) != 0 {
		t.Errorf("file: %v", got)
	}

	// One level alone, all loggers, also later ones.
	if changed, err = l.SetLevels("", nil, level(Error)); err != nil || len(changed) != 2 {
		t.Fatalf("got %v, %v", changed, err)
	}
	l.Logger("http")
	want := map[string]LevelPair{"main": {Info, Error}, "p2p": {Off, Error}, "http": {Info, Error}}
	if got := l.Levels(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if main.Enabled(ctx, Trace.Level()) || !main.Enabled(ctx, Info.Level()) || p2p.Enabled(ctx, Warn.Level()) {
		t.Error("levels are not in effect")
	}
	if _, err := l.SetLevels("nope", nil, level(Info)); !errors.Is(err, ErrUnknownLogger) {
		t.Errorf("got %v", err)
	}
}

// TestFolderIsPrivate: the folder of the files, and those made for it, are their owner's.
func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	l := mustNew(t, Config{Dir: filepath.Join(data, "logs"), FileLevel: Info, DisplayLevel: Off})
	l.Logger("main").Info("hello")
	for _, dir := range []string{data, filepath.Join(data, "logs")} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s: %o", dir, got)
		}
	}
}

func TestNowhereToGo(t *testing.T) {
	t.Parallel()
	l := mustNew(t, Config{FileLevel: Verbo, DisplayLevel: Verbo})
	verbo := Verbo
	if _, err := l.SetLevels("", &verbo, &verbo); err != nil {
		t.Fatal(err)
	}
	if l.Logger("main").Enabled(ctx, Fatal.Level()) {
		t.Error("enabled without file and display")
	}
	if got := l.Levels()["main"]; got != (LevelPair{Off, Off}) {
		t.Errorf("got %v", got)
	}
	if _, err := New(Config{MaxFiles: -1}); err == nil {
		t.Error("negative bound accepted")
	}
}

type secret struct{}

func (secret) LogValue() slog.Value { return slog.StringValue("resolved") }

func TestDisplayForm(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := mustNew(t, Config{Display: &out})
	log := l.Logger("main")
	form := func(log *slog.Logger, want, msg string, args ...any) {
		t.Helper()
		out.Reset()
		log.Info(msg, args...)
		if got := strings.TrimPrefix(out.String()[len(timeForm):], " INFO  main  "); got != want+"\n" {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	form(log, "hello there", "hello there")
	form(log, "two lines", "two\nlines")
	form(log, `m i=-1 u=2 f=1.5 b=true d=1.5s s=plain`, "m",
		"i", -1, "u", uint64(2), "f", 1.5, "b", true, "d", 1500*time.Millisecond, "s", "plain")
	form(log, `m empty="" space="a b" quote="a\"b" line="a\nb" eq="a=b" "bad key"=1`, "m",
		"empty", "", "space", "a b", "quote", `a"b`, "line", "a\nb", "eq", "a=b", "bad key", 1)
	form(log, `m bin="\xff\x00"`, "m", "bin", "\xff\x00")
	form(log, `m at=2026-01-02T03:04:05Z error="it broke" v=resolved`, "m",
		"at", time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600)), "error", errors.New("it broke"), "v", secret{})
	form(log.With("a", 1).WithGroup("g").With("b", 2).WithGroup(""), `m a=1 g.b=2 g.c=3 g.h.d=4`, "m",
		"c", 3, slog.Group("h", "d", 4), slog.Group("none"))
	form(log, `m d=4`, "m", slog.Group("", "d", 4), slog.Attr{})
	form(log, `m !BADKEY=odd`, "m", "odd")
	// Two loggers from one do not share memory.
	base := log.With("a", 1)
	b, c := base.With("b", 2), base.With("c", 3)
	form(b, "m a=1 b=2", "m")
	form(c, "m a=1 c=3", "m")
}

func TestJSONForm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := mustNew(t, Config{Dir: dir})
	l.Logger("P/../x").With("a", 1).WithGroup("g").Warn("m", "level", "mine", "b", 2)
	got := fileLines(t, filepath.Join(dir, "P____x.log"))
	if len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	delete(got[0], "time")
	text, _ := json.Marshal(got[0])
	if want := `{"a":1,"g":{"b":2,"level":"mine"},"level":"WARN","logger":"P____x","msg":"m"}`; string(text) != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := mustNew(t, Config{Dir: dir, MaxSizeMB: 1, MaxFiles: 3})
	log := l.Logger("main")
	filler := strings.Repeat("x", 10_000)
	for i := range 220 { // 2.2 MB
		log.Info(filler, "i", i)
	}
	files, err := filepath.Glob(filepath.Join(dir, "main*.log"))
	if err != nil || len(files) != 3 {
		t.Fatalf("got files %v, %v; want 3", files, err)
	}
	lines := 0
	for _, f := range files {
		lines += len(fileLines(t, f))
	}
	if lines != 220 {
		t.Errorf("%d lines in all files, want 220", lines)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	l := mustNew(t, Config{Dir: dir, Display: &out})
	log := l.Logger("main")
	log.Info("before")
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log.Info("after")
	l.Logger("late").Info("later")
	if n := len(fileLines(t, filepath.Join(dir, "main.log"))); n != 1 {
		t.Errorf("%d lines in the file, want 1", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "late.log")); !os.IsNotExist(err) {
		t.Errorf("a closed Logs made a file: %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 || l.Failed() != 0 {
		t.Errorf("%d lines on the display, want 3; %d failures", n, l.Failed())
	}
}

func TestFileFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := mustNew(t, Config{Dir: dir, Display: &out, DisplayLevel: Off})
	for range 5 {
		l.Logger("main").Info("lost")
	}
	if l.Failed() != 5 || strings.Count(out.String(), "a line was not written") != 3 { // the first, second and fourth
		t.Errorf("%d failures, display:\n%s", l.Failed(), out.String())
	}
}

// Lines of many goroutines stay whole while the levels change.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	l := mustNew(t, Config{Dir: dir, Display: &out})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			log := l.Logger([]string{"a", "b"}[g%2]).With("g", g)
			for i := range 100 {
				log.Error("line", "i", i)
				level := Level(i % 5)
				if _, err := l.SetLevels("", &level, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := len(fileLines(t, filepath.Join(dir, "a.log"))) + len(fileLines(t, filepath.Join(dir, "b.log")))
	if n != 800 || strings.Count(out.String(), " line g=") != 800 || strings.Count(out.String(), "\n") != 800 {
		t.Errorf("%d lines in files, %d shown, want 800", n, strings.Count(out.String(), "\n"))
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := mustNew(t, Config{Display: &out})
		log := l.Logger("main")
		th := NewThrottle(time.Minute)
		for range 90 { // one a second
			th.Log(ctx, log, slog.LevelWarn, "again", slog.Int("k", 1))
			th.Log(ctx, log, slog.LevelDebug, "too quiet to count")
			<-time.After(time.Second) // of the bubble's clock
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.TrimSpace(line[len(timeForm)+1:]))
		}
		want := "WARN  main  again k=1|WARN  main  again k=1 repeated=59"
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	})
}

// A line below both levels must cost next to nothing.
func TestDisabledAllocs(t *testing.T) {
	l := mustNew(t, Config{Dir: t.TempDir()})
	log := l.Logger("main")
	id := "a value"
	if n := testing.AllocsPerRun(100, func() {
		log.LogAttrs(ctx, slog.LevelDebug, "hidden", slog.String("id", id), slog.Int("n", len(id)))
		log.Debug("hidden")
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkDisabled(b *testing.B) {
	l := mustNew(b, Config{Dir: b.TempDir()})
	log := l.Logger("main")
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(ctx, slog.LevelDebug, "hidden", slog.Int("n", b.N))
	}
}

func BenchmarkDisplay(b *testing.B) {
	l := mustNew(b, Config{Display: discard{}})
	log := l.Logger("main")
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(ctx, slog.LevelInfo, "shown", slog.Int("n", b.N), slog.String("s", "a b"))
	}
}

func BenchmarkFile(b *testing.B) {
	l := mustNew(b, Config{Dir: b.TempDir()})
	log := l.Logger("main")
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(ctx, slog.LevelInfo, "written", slog.Int("n", b.N), slog.String("s", "a b"))
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// textual has a text of its own, as IDs do.
type textual [2]byte

func (x textual) String() string { return fmt.Sprintf("%d.%d", x[0], x[1]) }

// With JSON on the display, each of its lines is an object like those of the files.
func TestDisplayJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := mustNew(t, Config{Display: &out, DisplayJSON: true, DisplayLevel: Info})
	l.Logger("p2p").With("peer", "a \"b\"\n", "id", textual{1, 2}, "took", 1500*time.Millisecond).WithGroup("g").Info("connected", "port", 7)
	l.Logger("http").Debug("below the level")
	l.Logger("http").Error("failed", "err", errors.New("x"))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("lines %q", lines)
	}
	var first, second map[string]any
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &first), json.Unmarshal([]byte(lines[1]), &second)); err != nil {
		t.Fatal(err)
	}
	delete(first, "time")
	want := map[string]any{"level": "INFO", "msg": "connected", "logger": "p2p", "peer": "a \"b\"\n", "id": "1.2", "took": "1.5s", "g": map[string]any{"port": 7.0}}
	if fmt.Sprint(first) != fmt.Sprint(want) || second["level"] != "ERROR" || second["err"] != "x" || second["logger"] != "http" {
		t.Errorf("got %v and %v", first, second)
	}
}
