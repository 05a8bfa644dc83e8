package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// speaksAs stands before a node and replaces what it says of itself.
func speaksAs(t *testing.T, node string, replace ...string) *httptest.Server {
	t.Helper()
	at, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(at)
	pass.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/ext/info") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if !bytes.Contains(body, []byte(`"peers"`)) {
			body = []byte(strings.NewReplacer(replace...).Replace(string(body)))
		}
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		return nil
	}
	s := httptest.NewServer(pass)
	t.Cleanup(s.Close)
	return s
}

// TestOldNode: the validators are shown the highest version of the followed nodes. When
// they let it in no more, that is said, with the versions; a node that is too old for its
// network is named.
func TestOldNode(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 5, Validators: 4, PrimaryBlocks: 200, HeightInterval: time.Hour, BlockInterval: time.Hour})
	old := speaksAs(t, d.NodeURL(), "avalanchego/1.14.2", "avalanchego/1.13.0")
	helicon := speaksAs(t, d.NodeURL(), `"heliconTime":"9999-12-01T00:00:00Z"`, `"heliconTime":"2026-01-02T03:04:05Z"`)
	serve := func(nodes ...string) *program {
		args := []string{"serve", noIndex, "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "warn", "--health-check-frequency", "1s"}
		for _, at := range nodes {
			args = append(args, "--node-url", at)
		}
		return launch(t, "quorate ready", args...)
	}
	says := func(p *program, path string, texts ...string) {
		t.Helper()
		var body string
		poll(t, 50*time.Millisecond, path+" says "+strings.Join(texts, ", "), func() bool {
			_, raw := get(t, p.url+path)
			body = string(raw)
			for _, text := range texts {
				if !strings.Contains(body, text) {
					return false
				}
			}
			return true
		})
	}
	const refused = "validators that run avalanchego/1.14.2 or later close our links: they seem not to let in avalanchego/1.13.0"
	p := serve(old.URL)
	says(p, "/ext/health/readiness", refused, "% of the stake are connected")
	if _, body := get(t, p.url+"/ext/health"); strings.Contains(string(body), "staker.pem") {
		t.Errorf("the certificate is blamed: %s", body)
	}
	poll(t, 50*time.Millisecond, "the log says so", func() bool { return strings.Contains(p.stderr.String(), refused) })

	ready := func(p *program) {
		t.Helper()
		poll(t, 50*time.Millisecond, "ready", func() bool {
			status, _ := get(t, p.url+"/ext/health/readiness")
			return status == http.StatusOK
		})
	}
	ready(serve(old.URL, d.NodeURL()))

	p = serve(helicon.URL)
	ready(p) // what the validators run is shown, though more were demanded
	names := "node " + helicon.URL + " runs avalanchego/1.14.2, and validators let in avalanchego/1.15.0 or later since 2026-01-02 03:04:05 UTC: upgrade the node, or follow another"
	says(p, "/ext/health", names)
	poll(t, 50*time.Millisecond, "the log names it", func() bool { return strings.Contains(p.stderr.String(), names) })
}
