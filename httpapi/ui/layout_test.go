package ui

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/httpapi/shape"
)

// TestFunctions: what templates make of numbers and names.
func TestFunctions(t *testing.T) {
	t.Parallel()
	f := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	hash := "0x" + strings.Repeat("ab", 31) + "cd"
	f("short", short(hash), "0xababab…ababcd")
	f("short", short("0x12"), "0x12")
	f("short", short(someNode), "NodeID-HEcwnA…o5fu6w")
	f("short", short(strings.Repeat("é", 20)), strings.Repeat("é", 20))
	f("number", number(1234567), "1\u202f234\u202f567")
	f("number", number("-1234.5678"), "-1\u202f234.5678")
	f("number", number("<b>"), "<b>")
	f("number", number(""), "")
	f("amount", amount("1234567890", 6), "1\u202f234.56789")
	f("amount", amount("1234567890", shape.Figure("9")), "1.234567")
	f("amount", amount("5", 18), "<0.000001")
	f("amount", amount("-5", 3), "-0.005")
	f("amount", amount("0", 18), "0")
	f("amount", amount("12", 0), "12")
	f("amount", amount("12", "unknown"), "12")
	f("amount", amount("many", 6), "many")
	for all, want := range map[string][2]string{
		"1.5": {"1.5", ""}, "12": {"12", ""}, "0.1234567": {"0.123456", "0.1234567"}, "1.0000001": {"1", "1.0000001"},
		"0.00000000000008792": {"<0.000001", "0.00000000000008792"}, "1\u202f234.123456": {"1\u202f234.123456", ""},
	} {
		text, title := briefly(all)
		f("briefly", text+" "+title, want[0]+" "+want[1])
	}
	f("nano", nano("25000000000", 18), "25")
	f("nano", nano("1", 18), "0.000000001")
	f("nano", nano("25", 9), "25")
	f("nano", nano("25", 6), "25\u202f000")
	f("nano", nano("0", 6), "0")
	f("nano", nano("?", 12), "?")
	f("percent", percent(1, 3), "33.33%")
	f("percent", percent(2, 3), "66.66%")
	f("percent", percent("0.06994", "1"), "6.99%")
	f("percent", percent(999_999, 1_000_000), "99.99%")
	f("percent", percent("2", uint64(0)), "unknown")
	f("percent", percent("x", 3), "unknown")
	f("since", since(59*time.Second), "59 s")
	f("since", since(61*time.Second), "1 min 1 s")
	f("since", since(25*time.Hour), "1 d 1 h")
	f("since", since(48*time.Hour), "2 d")
	f("bytes", sizeOf(999), "999 B")
	f("bytes", sizeOf(1_500_000), "1.5 MB")
	f("bytes", sizeOf("?"), "unknown")
	f("plural", plural(1, "block", "blocks"), "1 block")
	f("plural", plural("1000", "block", "blocks"), "1\u202f000 blocks")
	f("join", join("/a/", "b/c", "d?e", "é"), "/a/b%2Fc/d%3Fe/%C3%A9")
	for v, want := range map[any]string{
		int64(1_700_000_000): "2023-11-14T22:13:20Z", "1700000000": "2023-11-14T22:13:20Z", 1_700_000_000_123: "2023-11-14T22:13:20Z",
		"2023-11-14T22:13:20Z": "2023-11-14T22:13:20Z", shape.Figure("1700000000"): "2023-11-14T22:13:20Z", "": "", "soon": "", 0: "", -1: "",
	} {
		html, err := timeOf(v)
		if got := string(html); err != nil || want == "" && got != "unknown" || want != "" && !strings.Contains(got, `datetime="`+want+`"`) {
			t.Errorf("time of %v: %s, %v", v, html, err)
		}
	}
	if _, err := dict("a"); err == nil {
		t.Error("dict takes a name without a value")
	}
	if _, err := dict(1, 2); err == nil {
		t.Error("dict takes a name that is none")
	}
}

// TestTemplatesObeyThePolicy: nothing in them needs what the content security policy
// refuses, and nothing leads to another host.
func TestTemplatesObeyThePolicy(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for what, pattern := range map[string]string{
		"an inline handler": `\son[a-z]+\s*=`, "an inline style": `\sstyle\s*=|<style`, "an inline script": `<script(>|[^>]*[^r])>`,
		"another host": `(href|src|action|poster|data)\s*=\s*"?(https?:)?//`, "a frame": `<(i?frame|object|embed|base)\b`,
	} {
		re := regexp.MustCompile(pattern)
		for _, f := range files {
			text, err := fs.ReadFile(templateFiles, f)
			if err != nil {
				t.Fatal(err)
			}
			if found := re.FindString(string(text)); found != "" && !strings.Contains(found, "defer") {
				t.Errorf("%s has %s: %s", f, what, found)
			}
		}
	}
}

// TestAssetSizes: all that pages load is small.
func TestAssetSizes(t *testing.T) {
	t.Parallel()
	files, err := Assets()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for name, a := range files {
		sum += len(a.Body)
		if !regexp.MustCompile(`^[a-z]+\.[0-9a-f]{12}\.(css|js|svg)$`).MatchString(a.Name) {
			t.Errorf("%s is served as %s", name, a.Name)
		}
		if found := regexp.MustCompile(`https?://[^"' )]*`).FindString(strings.ReplaceAll(string(a.Body), "http://www.w3.org/", "")); found != "" {
			t.Errorf("%s names %s", name, found)
		}
	}
	if sum > 250_000 {
		t.Errorf("all assets have %d bytes", sum)
	}
	if first := len(files["quorate.css"].Body) + len(files["quorate.js"].Body); first > 60_000 {
		t.Errorf("what every page loads has %d bytes", first)
	}
}

// TestPrefixes: below a prefix, nothing in a page leads out of it.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: homeAPI(), Operator: newFakeOperator(t)})
	link := regexp.MustCompile(`\s(href|src|action)="(/[^"]*)"`)
	for _, path := range []string{"/", "/nothing", "/search?q=nothing", "/signatures", "/validators", "/ops"} {
		out := visitAt(t, s, path, Input{Prefix: "/at/all", Operator: true})
		found := link.FindAllStringSubmatch(string(out.HTML), -1)
		if len(found) < 5 {
			t.Errorf("%s: %d links in %s", path, len(found), out.HTML)
		}
		for _, m := range found {
			if !strings.HasPrefix(m[2], "/at/all/") {
				t.Errorf("%s: %s", path, m[0])
			}
		}
	}
}

// TestClaimedPrefixes: a prefix that nobody has claimed before costs no more than another,
// as a proxy may pass on what its clients claim.
func TestClaimedPrefixes(t *testing.T) {
	s := newSite(t, Config{API: fakeAPI{}})
	n := 0
	without := testing.AllocsPerRun(5, func() { visitAt(t, s, "/nothing", Input{}) })
	claimed := testing.AllocsPerRun(5, func() { n++; visitAt(t, s, "/nothing", Input{Prefix: "/p" + strconv.Itoa(n)}) })
	if claimed > without+20 {
		t.Errorf("%.0f allocations below a prefix, %.0f without", claimed, without)
	}
}

// TestViewsShared: a process parses the templates once, whatever number of sites it has.
func TestViewsShared(t *testing.T) {
	t.Parallel()
	a, b := newSite(t, Config{API: fakeAPI{}}), newSite(t, Config{API: fakeAPI{}, Mode: Explorer})
	if a.views != b.views {
		t.Error("each site has templates of its own")
	}
}
