package httpapi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
	"quorate/httpapi/service"
)

// TestSDKOperations: whatever the official SDKs can ask for is served, or listed as left
// out, and never both.
func TestSDKOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sdkoperations.txt")
	if err != nil {
		t.Fatal(err)
	}
	served, known := map[string]bool{}, map[string]bool{}
	for _, r := range Routes() {
		served[plainPattern(r.Method, r.Pattern)] = true
	}
	left := service.LeftOuts()
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if part[0] == "#" {
			continue
		}
		if len(part) != 4 || !slices.Contains([]string{"A", "C", "AC"}, part[2]) {
			t.Fatalf("%q", line)
		}
		known[part[1]] = true
		out := slices.ContainsFunc(left, func(l service.LeftOut) bool { return l.Pattern == part[1] })
		switch is := served[plainPattern(part[0], part[1])]; {
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
		if !known[l.Pattern] {
			t.Errorf("%s is left out, but no SDK asks for it", l.Pattern)
		}
	}
}

// TestOperationIDs: operations have the names that the SDKs give them, and every name in the
// list is that of an operation.
func TestOperationIDs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sdkoperations.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for l := range strings.Lines(string(text)) {
		if part := strings.Fields(l); part[0] != "#" {
			want[plainPattern(part[0], part[1])] = part[3]
		}
	}
	named := map[string]bool{}
	for _, r := range Routes() {
		for _, method := range (service.Line{Route: &r}).Methods() {
			got := service.Line{Route: &r}.OperationID(method)
			if id := want[plainPattern(r.Method, r.Pattern)]; id != "" && got != id {
				t.Errorf("%s %s is %s, in the SDKs %s", method, r.Pattern, got, id)
			}
			named[got] = true
		}
	}
	for at, id := range openapi.OperationIDs {
		if !named[id] {
			t.Errorf("%s is the name of %s, which is not served", id, at)
		}
	}
}

// TestSDKQueries: whatever the SDKs can put into a query is a parameter that its route
// serves or refuses; what it has not is ignored.
func TestSDKQueries(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sdkqueries.txt")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string][]door.Param{}
	for _, r := range Routes() {
		routes[plainPattern(r.Method, r.Pattern)] = r.Query
	}
	asked, left := 0, service.LeftOuts()
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if part[0] == "#" || slices.ContainsFunc(left, func(l service.LeftOut) bool { return l.Pattern == part[1] }) {
			continue
		}
		known, ok := routes[plainPattern(part[0], part[1])]
		if !ok {
			t.Errorf("%s %s is not served", part[0], part[1])
		}
		for _, name := range part[2:] {
			if !door.HasParam(known, []byte(name)) {
				t.Errorf("%s %s ignores %s", part[0], part[1], name)
			}
			asked++
		}
	}
	if asked < 200 {
		t.Errorf("only %d parameters", asked)
	}
}

var patternParam = regexp.MustCompile(`\{\w+\}`)

// plainPattern returns a request without the names of its path's parameters, which the
// SDKs may call otherwise.
func plainPattern(method, pattern string) string {
	return method + " " + patternParam.ReplaceAllString(pattern, "{}")
}
