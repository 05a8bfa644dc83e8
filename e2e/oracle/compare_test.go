package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	want := object{
		"s": "text", "n": uint64(1 << 63), "b": true, "none": nil, "list": []any{object{"a": 1}, object{"a": 2}},
		"any": oneOf("x", "y"), "free": rule(func(any, bool) string { return "" }),
	}
	const good = `{"s":"text","n":9223372036854775808,"b":true,"none":null,"list":[{"a":1},{"a":2}],"any":"y"}`
	f := func(old, new string, differences int) {
		t.Helper()
		d := json.NewDecoder(strings.NewReader(strings.Replace(good, old, new, 1)))
		d.UseNumber()
		var got any
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diffs := diff(nil, "x", want, got); len(diffs) != differences {
			t.Errorf("%s for %s: %d differences, want %d: %q", new, old, len(diffs), differences, diffs)
		}
	}
	f("", "", 0)
	f(`"text"`, `"Text"`, 1)
	f(`"text"`, `1`, 1)
	f(`9223372036854775808`, `9223372036854775807`, 1)
	f(`9223372036854775808`, `"9223372036854775808"`, 1)
	f(`true`, `"true"`, 1)
	f(`null`, `""`, 1)
	f(`"none":null,`, ``, 1)
	f(`,{"a":2}`, ``, 1)
	f(`{"a":2}`, `{"a":2},{"a":3}`, 1)
	f(`{"a":1},{"a":2}`, `{"a":2},{"a":1}`, 2)
	f(`[{"a":1},{"a":2}]`, `{}`, 1)
	f(`"y"`, `"z"`, 1)
	f(`"b"`, `"more":[],"b"`, 1)
}

// TestWalk walks lists that are paged well and badly.
func TestWalk(t *testing.T) {
	t.Parallel()
	page := func(first, n int, token string) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprint(first + i)
		}
		if token != "" {
			token = `"nextPageToken":` + token + `,`
		}
		return `{` + token + `"rest":1,"rows":[` + strings.Join(rows, ",") + `]}`
	}
	f := func(name string, ok bool, pages ...string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := 0
			if token := r.URL.Query().Get("pageToken"); token != "" {
				at = len(token)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(pages[at])) // the client notices
		}))
		defer server.Close()
		c := newClient(server.URL, false)
		defer c.http.CloseIdleConnections()
		w, err := c.walk(t.Context(), &list{path: "/list", name: "rows"}, 2, math.MaxInt)
		if ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if ok && (len(w.rows) == 0 || !w.whole || w.pages != len(pages)) {
			t.Errorf("%s: %+v", name, w)
		}
	}
	f("one page", true, page(0, 2, ""))
	f("three pages", true, page(0, 2, `"x"`), page(2, 2, `"xx"`), page(4, 1, ""))
	f("a short page", false, page(0, 1, `"x"`), page(2, 2, ""))
	f("a long page", false, page(0, 3, ""))
	f("an empty last page", false, page(0, 2, `"x"`), page(2, 0, ""))
	f("an empty token", false, page(0, 2, `""`))
	f("a null token", false, page(0, 2, `null`))
	f("another rest", false, page(0, 2, `"x"`), strings.Replace(page(2, 2, ""), `"rest":1`, `"rest":2`, 1))
	f("no list", false, `{"rest":1}`)
}
