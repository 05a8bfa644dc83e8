package httpapi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSDKOperations: whatever the official SDKs can ask for is served, or listed as left
// out, and never both.
func TestSDKOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sdkoperations.txt")
	if err != nil {
		t.Fatal(err)
	}
	param := regexp.MustCompile(`\{\w+\}`)
	plain := func(method, pattern string) string { return method + " " + param.ReplaceAllString(pattern, "{}") }
	served, known := map[string]bool{}, map[string]bool{}
	for _, r := range Routes() {
		served[plain(r.Method, r.Pattern)] = true
	}
	left := leftOuts()
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if part[0] == "#" {
			continue
		}
		if len(part) != 3 || !slices.Contains([]string{"A", "C", "AC"}, part[2]) {
			t.Fatalf("%q", line)
		}
		known[part[1]] = true
		out := slices.ContainsFunc(left, func(l leftOut) bool { return l.pattern == part[1] })
		switch is := served[plain(part[0], part[1])]; {
		case is && out:
			t.Errorf("%s %s is served, and left out", part[0], part[1])
		case !is && !out:
			t.Errorf("%s %s is neither served nor left out", part[0], part[1])
		}
	}
	if len(known) < 90 {
		t.Errorf("only %d paths", len(known))
	}
	for _, l := range left {
		if !known[l.pattern] {
			t.Errorf("%s is left out, but no SDK asks for it", l.pattern)
		}
	}
}
