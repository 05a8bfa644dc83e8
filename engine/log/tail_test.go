package log

import (
	"io"
	"strings"
	"testing"
)

// TestTail: the last lines that were written are remembered, the newest first.
func TestTail(t *testing.T) {
	t.Parallel()
	l := mustNew(t, Config{Display: io.Discard, DisplayLevel: Info})
	main, p2p := l.Logger("main"), l.Logger("p2p").With("peer", 7)
	if got := l.Tail(Verbo, "", 10); len(got) != 0 {
		t.Errorf("%v before the first line", got)
	}
	main.Info("one", "a", "b c")
	main.Debug("below the level")
	p2p.Warn("two\n", "n", 1)
	want := func(got []Line, texts ...string) {
		t.Helper()
		var all []string
		for _, line := range got {
			all = append(all, line.Level.String()+" "+line.Logger+" "+line.Text)
		}
		if g, w := strings.Join(all, "|"), strings.Join(texts, "|"); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	one, two := `INFO main one a="b c"`, "WARN p2p two  peer=7 n=1"
	want(l.Tail(Verbo, "", 10), two, one)
	want(l.Tail(Warn, "", 10), two)
	want(l.Tail(Verbo, "main", 10), one)
	want(l.Tail(Verbo, "", 1), two)
	for range 2 * tailLines {
		main.Info(strings.Repeat("x", 2*tailText))
	}
	got := l.Tail(Verbo, "", 10*tailLines)
	if len(got) != tailLines || len(got[0].Text) > tailText+len("…") {
		t.Errorf("%d lines, of %d bytes", len(got), len(got[0].Text))
	}
}
