package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sdkMethod is a method that an installed SDK offers, as the program in sdk prints it.
type sdkMethod struct {
	SDK, Name, Path, Method string
	Pages, Bare             bool
}

// sdkRequest is what a method of an installed SDK sends.
type sdkRequest struct {
	sdkMethod
	Query []string // the names of its parameters
}

// offeredMethods returns the methods of the installed SDKs.
func offeredMethods(t *testing.T) (list []sdkRequest) {
	t.Helper()
	for line := range bytes.Lines(output(t, installSDKs(t), "node", "methods.mjs")) {
		var m sdkRequest
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, m)
	}
	return list
}

// sdkMethodsFile is what the console at /api knows of the SDKs' methods.
const sdkMethodsFile = "../httpapi/ui/sdkmethods.txt"

// localMethods are those that make no request.
var localMethods = map[string]bool{"validateWebhook": true}

// TestSDKMethods: the console's list of methods is what the installed SDKs offer, method
// by method, but for those that /v1 lists as left out.
func TestSDKMethods(t *testing.T) {
	beside(t)
	methods := offeredMethods(t)
	s, _, _ := serveDevnet(t)
	var root struct{ LeftOut []struct{ Path string } }
	if err := json.Unmarshal(s.body(t.Context(), t, "/v1"), &root); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{} // by path: an SDK asks for it
	for _, l := range root.LeftOut {
		left[plainPath(l.Path)] = false
	}
	want := listedMethods(t)
	offered := map[string]int{}
	for _, r := range methods {
		m := r.sdkMethod
		offered[m.SDK]++
		path := plainPath(m.Path)
		_, out := left[path]
		switch listed, ok := want[m.SDK+" "+m.Name]; {
		case m.Path == "" || m.Method == "":
			if !localMethods[m.Name] {
				t.Errorf("what %s of %s asks for was not found in the package", m.Name, m.SDK)
			}
		case out && ok:
			t.Errorf("%s of %s is listed, and left out", m.Name, m.SDK)
		case out:
			left[path] = true
		case !ok:
			t.Errorf("%s of %s (%s %s) is neither in %s nor left out", m.Name, m.SDK, m.Method, m.Path, sdkMethodsFile)
		case listed != (sdkMethod{m.SDK, m.Name, path, m.Method, m.Pages, m.Bare}):
			t.Errorf("the package has %+v, listed is %+v", m, listed)
		}
		delete(want, m.SDK+" "+m.Name)
	}
	for _, of := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s is listed, and the installed package has no such method", of)
	}
	for path, is := range left {
		if !is {
			t.Errorf("%s is left out, and no SDK asks for it", path)
		}
	}
	if offered["avacloud-sdk"] < 90 || offered["chainkit"] < 90 {
		t.Errorf("only so many methods were found: %v", offered)
	}
	t.Logf("methods offered: %v; paths left out: %d", offered, len(left))
}

// sdkQueriesFile is what the HTTP API's own tests know of the queries of the SDKs.
const sdkQueriesFile = "../httpapi/testdata/sdkqueries.txt"

// TestSDKQueries: the list of parameters that the SDKs can send is that of the installed
// packages, parameter by parameter. The tests beside the list hold the API against it.
func TestSDKQueries(t *testing.T) {
	beside(t)
	sent := map[string]bool{}
	for _, m := range offeredMethods(t) {
		for _, name := range m.Query {
			sent[m.Method+" "+plainPath(m.Path)+" "+name] = true
		}
	}
	if len(sent) < 200 {
		t.Errorf("only %d parameters were found in the packages", len(sent))
	}
	text, err := os.ReadFile(sdkQueriesFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if part[0] == "#" {
			continue
		}
		for _, name := range part[2:] {
			listed[part[0]+" "+plainPath(part[1])+" "+name] = true
		}
	}
	for _, is := range slices.Sorted(maps.Keys(sent)) {
		if !listed[is] {
			t.Errorf("%s is sent, and not in %s", is, sdkQueriesFile)
		}
	}
	for _, is := range slices.Sorted(maps.Keys(listed)) {
		if !sent[is] {
			t.Errorf("%s is in %s, and no SDK sends it", is, sdkQueriesFile)
		}
	}
	t.Logf("%d parameters", len(sent))
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// plainPath returns a path without the names of its parameters, which the SDKs may call
// otherwise than the API.
func plainPath(path string) string { return pathParameter.ReplaceAllString(path, "{}") }

// listedMethods reads the console's list, by SDK and name.
func listedMethods(t *testing.T) map[string]sdkMethod {
	t.Helper()
	text, err := os.ReadFile(sdkMethodsFile)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]sdkMethod{}
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if len(part) == 0 || part[0] == "#" {
			continue
		}
		if len(part) < 3 {
			t.Fatalf("%s: %q", sdkMethodsFile, line)
		}
		for _, sdk := range []string{"avacloud-sdk", "chainkit"} {
			if i := slices.IndexFunc(part, func(s string) bool { return strings.HasPrefix(s, "only=") }); i >= 0 && part[i] != "only="+sdk {
				continue
			}
			key := fmt.Sprint(sdk, " ", part[2])
			if _, twice := list[key]; twice {
				t.Errorf("%s has %s twice", sdkMethodsFile, key)
			}
			list[key] = sdkMethod{sdk, part[2], plainPath(part[1]), part[0], slices.Contains(part, "pages"), slices.Contains(part, "bare")}
		}
	}
	return list
}

// everyMethod checks that each method that the SDKs offer has answered with something in
// it, as far as ask returns true.
func everyMethod(t *testing.T, calls []sdkCall, ask func(m sdkMethod) bool) {
	t.Helper()
	answered := map[string]bool{}
	for _, c := range calls {
		if c.Error != nil || c.Refused != 0 {
			continue
		}
		for _, name := range c.Answered {
			if name != c.Call || c.Items > 0 {
				answered[c.SDK+" "+name] = true
			}
		}
	}
	n := 0
	for key, m := range listedMethods(t) {
		if !ask(m) {
			continue
		}
		n++
		if !answered[key] {
			t.Errorf("%s has not answered, or nothing was in it", key)
		}
	}
	t.Logf("%d methods of both SDKs answered", n)
}

// icmMethod reports whether a method is for interchain messages.
func icmMethod(m sdkMethod) bool {
	return strings.Contains(m.Path, "/icm/") || strings.Contains(m.Path, "teleporter")
}
