package operation

import (
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestText: what a spreadsheet would run is made safe, and all else is as it was.
func TestText(t *testing.T) {
	t.Parallel()
	f := func(in, want string) {
		t.Helper()
		if got := string(appendText(nil, in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("", "")
	f("Gold coin", "Gold coin")
	f("a,b", `"a,b"`)
	f(`say "x"`, `"say ""x"""`)
	f("=1+1", "'=1+1")
	f("+1", "'+1")
	f("-1", "'-1")
	f("@SUM(A1)", "'@SUM(A1)")
	f("|cmd", "'|cmd")
	f("%x", "'%x")
	f("  =1", "'  =1")
	f("\uff1d1", "'\uff1d1")
	f("\t=1", "\ufffd=1")
	f("a\r\nb\x00", "a\ufffd\ufffdb\ufffd")
	f("=a,\"b\"", `"'=a,""b"""`)
	f("\xff=", "\ufffd=")
	f("coin-2 = @home", "coin-2 = @home")
	f("\u65e5\u672c", "\u65e5\u672c")
}

// FuzzText: whatever a contract calls itself, it is one cell of one line, that no
// spreadsheet runs.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "=1", "a\"b,c\r\n", "\xf0\x28", " \t=x", "\ufeff=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := "a," + string(appendText(nil, s)) + ",b\r\n"
		rows, err := csv.NewReader(strings.NewReader(line)).ReadAll()
		if err != nil || len(rows) != 1 || len(rows[0]) != 3 || strings.Count(line, "\n") != 1 {
			t.Fatalf("%q: %q, %v", s, rows, err)
		}
		cell := rows[0][1]
		if !utf8.ValidString(cell) || strings.ContainsFunc(cell, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q: %q", s, cell)
		}
		if first := strings.TrimLeft(cell, " \u00a0\ufeff"); first != "" && strings.ContainsAny(first[:1], "=+-@|%\t\r") {
			t.Fatalf("%q: %q is run", s, cell)
		}
	})
}
