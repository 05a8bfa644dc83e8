package httpapi

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"quorate/httpapi/metrics"
	"quorate/httpapi/ui"
)

var pageLink = regexp.MustCompile(` (?:href|src|action)="([^"]*)"`)

// TestEVMPages walks from the page of a chain through all pages that it leads to, over a
// real index: none fails, and none leads to what is not served.
func TestEVMPages(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	_, c := indexed(t, 12)
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{c}, TokenKey: []byte("the key of all tests"), Pages: &ui.Config{Mode: ui.On}})
	if err != nil {
		t.Fatal(err)
	}
	most := 120
	todo := []string{
		"/chain/43112", "/chain/C/metrics", "/chain/C/metrics/txCount?interval=hour", "/chain/C/token/" + gold.String() + "?tab=holders", "/chain/C/nft/" + art.String(),
		"/chain/C/nft/" + art.String() + "?tab=holders", "/chain/C/address/" + alice.String() + "?tab=erc721&block=5", "/icm", "/chain/C/icm",
		"/tx/" + txHash(3, 1).String(), "/block/7", "/address/" + alice.String(), "/chain/C/metrics/txCount/csv",
	}
	seen := map[string]bool{}
	for len(todo) > 0 && len(seen) < most {
		path := todo[0]
		todo = todo[1:]
		if path = html.UnescapeString(path); seen[path] {
			continue
		}
		seen[path] = true
		resp := get(s, path, "Accept", "text/html")
		body := string(resp.Body())
		switch resp.StatusCode() {
		case 303:
			todo = append(todo, string(resp.Header.Peek("Location")))
			continue
		case 200:
		case 503: // of metrics: this index counts none
			if !strings.Contains(body, "is not indexed yet") {
				t.Errorf("%s: %s", path, body)
			}
			continue
		default:
			t.Errorf("%s: %d %s", path, resp.StatusCode(), body)
			continue
		}
		if strings.Contains(body, "ZgotmplZ") {
			t.Errorf("%s has an address of a kind that is not ours", path)
		}
		for _, m := range pageLink.FindAllStringSubmatch(body, -1) {
			if followed(m[1]) {
				todo = append(todo, m[1])
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("the walk has only %d pages", len(seen))
	}
}

// followed reports whether a link leads to a page about a chain.
func followed(link string) bool {
	for _, prefix := range []string{"/chain/", "/tx/", "/block/", "/address/", "/icm"} {
		if strings.HasPrefix(link, prefix) {
			return true
		}
	}
	return false
}

// TestEVMMetricPages: the page of metrics has all that there are.
func TestEVMMetricPages(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{sampleChain()}, TokenKey: []byte("the key of all tests"), Pages: &ui.Config{Mode: ui.Explorer}})
	if err != nil {
		t.Fatal(err)
	}
	body := string(get(s, "/chain/C/metrics", "Accept", "text/html").Body())
	for _, name := range metrics.Names() {
		if !strings.Contains(body, `"/chain/43112/metrics/`+name+`"`) {
			t.Errorf("no plot of %s", name)
		}
	}
	windows := body[strings.Index(body, "Windows that end now"):]
	for _, name := range metrics.WindowNames() {
		if !strings.Contains(windows, `"/chain/43112/metrics/`+name+`"`) {
			t.Errorf("no windows of %s", name)
		}
	}
}
