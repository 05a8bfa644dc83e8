package httpapi

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/ui"
)

// pagesOf is a server with pages.
func pagesOf(t testing.TB, cfg Config, chains ...*testChain) *Server {
	t.Helper()
	cfg.Pages = &ui.Config{Version: "test"}
	return dataServer(t, cfg, chains...)
}

// browse returns what a browser is shown at a path.
func browse(s *Server, path string) *fasthttp.Response {
	return get(s, path, "Accept", "text/html,application/xhtml+xml;q=0.9")
}

var (
	tagTabs  = regexp.MustCompile(`(?s)<nav class="tabs" aria-label="Primary network">.*?</nav>`)
	tagLink  = regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*>`)
	tagBlock = regexp.MustCompile(`</(h1|h2|p|tr|dd|div|nav|section)>|<br>`)
	tagCell  = regexp.MustCompile(`</(td|th|dt|summary)>`)
	tagAny   = regexp.MustCompile(`<[^>]*>`)
	spaces   = regexp.MustCompile(`[ \t]+`)
	lines    = regexp.MustCompile(`\s*\n\s*`)
)

// readable returns the words and links of a page's main part, without its looks.
func readable(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`tabindex="-1">`))
	main, _, _ := bytes.Cut(rest, []byte("</main>"))
	main = tagTabs.ReplaceAll(main, nil)
	text := tagLink.ReplaceAllString(string(main), "[$1] ")
	text = tagBlock.ReplaceAllString(strings.ReplaceAll(text, "\n", " "), "\n")
	text = tagAny.ReplaceAllString(tagCell.ReplaceAllString(text, " | "), "")
	return strings.TrimSpace(lines.ReplaceAllString(spaces.ReplaceAllString(html.UnescapeString(text), " "), "\n"))
}

// TestPrimaryUI compares the words and links of the pages of the primary network with
// what was read by hand.
func TestPrimaryUI(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	s := pagesOf(t, Config{Primary: primaries{"fuji": n, "testnet": n}})
	var out bytes.Buffer
	for _, path := range []string{
		"/primary", "/primary?network=mainnet", "/primary?network=other",
		"/primary/validators", "/primary/validators?status=completed", "/primary/validators?status=bad",
		"/primary/validator/" + one(), "/primary/validator/" + two(), "/primary/validator/NodeID-x", "/primary/validator/" + chain.NodeID{9}.String(),
		"/primary/delegations?status=all",
		"/primary/subnets", "/primary/subnet/" + chain.ID{2}.String(), "/primary/subnet/" + chain.ID{3}.String() + "?inactive=1", "/primary/subnet/" + chain.ID{9}.String(),
		"/primary/blockchains",
		"/primary/p", "/primary/x", "/primary/c", "/primary/q", "/primary/p/block/11", "/primary/x/block/12", "/primary/p/tx/" + chain.ID{9}.String(),
		"/primary/vertices", "/primary/vertices?height=8", "/primary/vertex/" + chain.ID{0x52}.String(),
		"/primary/address/" + ben.Text("fuji"), "/primary/address/P-" + ann.Text("fuji"), "/primary/address/0x1",
	} {
		resp := browse(s, path)
		if len(resp.Header.Peek("Content-Security-Policy")) == 0 {
			t.Errorf("%s is no page: %s", path, resp.Body())
		}
		fmt.Fprintf(&out, "== %s %d\n%s\n\n", path, resp.StatusCode(), readable(resp.Body()))
	}
	golden(t, "primaryui.txt", out.Bytes())
}

// TestPrimaryUITxs: each transaction that is listed has a page.
func TestPrimaryUITxs(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	s := pagesOf(t, Config{Primary: primaries{"fuji": n}})
	link := regexp.MustCompile(`href="(/primary/[pxc]/tx/[^"?]+)"`)
	seen := map[string]bool{}
	for _, list := range []string{"/primary/p", "/primary/x", "/primary/c"} {
		for _, m := range link.FindAllStringSubmatch(string(browse(s, list).Body()), -1) {
			seen[m[1]] = true
		}
	}
	if len(seen) < 5 {
		t.Fatalf("only %d transactions", len(seen))
	}
	for path := range seen {
		if resp := browse(s, path); resp.StatusCode() != fasthttp.StatusOK || !strings.Contains(readable(resp.Body()), "Outputs") {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), readable(resp.Body()))
		}
	}
}

// TestPrimaryUIOfNone: without a primary network the pages say why.
func TestPrimaryUIOfNone(t *testing.T) {
	t.Parallel()
	resp := browse(pagesOf(t, Config{}, sampleChain()), "/primary")
	if text := readable(resp.Body()); resp.StatusCode() != fasthttp.StatusNotFound || !strings.Contains(text, "nothing is served at") {
		t.Errorf("%d %s", resp.StatusCode(), text)
	}
}
