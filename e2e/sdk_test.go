package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

const (
	sdkDir     = "sdk"
	minNode    = 20
	npmWait    = 5 * time.Minute
	sdkWait    = 5 * time.Minute // all calls of both SDKs
	indexWait  = 2 * time.Minute
	indexEvery = 100 * time.Millisecond
	// sdkPrimaryWait is that of the primary network, whose blocks are executed one by one.
	sdkPrimaryWait = 5 * time.Minute
)

// sdkEndpoints are the endpoints of the contract that the SDKs must have called,
// and whether they have pages.
var sdkEndpoints = map[string]bool{
	"1": false, "2": true, "3": false, "4": true, "6": true, "7": true, "8": true, "10": true, "11": true, "12": true, "15": false, "17": false, "tx": false,
	"18":      true, // only avacloud-sdk
	"windows": false,
	"5":       true, "9": true, "13": true, "14": false, "16": true, "primary": true,
}

// sdkFacts are the members of the facts file that the tests use.
type sdkFacts struct {
	ChainID  string `json:"chainId"`
	EndBlock uint64 `json:"endBlock"`
}

// sdkCall is what the program in sdk tells of one call.
type sdkCall struct {
	SDK      string          `json:"sdk"`
	Endpoint string          `json:"endpoint"`
	Call     string          `json:"call"`
	Request  json.RawMessage `json:"request"`
	Fixed    bool            `json:"fixed"` // new blocks cannot change the answer
	Empty    bool            `json:"empty"` // there need not be any row
	Pages    int             `json:"pages"`
	Items    int             `json:"items"`
	Refused  int             `json:"refused"` // the status that was wanted and came
	MS       int             `json:"ms"`
	Answered []string        `json:"answered"` // all methods that answered, those on the way too
	Error    *struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Cause   string `json:"cause"`
		Body    string `json:"body"`
	} `json:"error"`
}

// TestSDKLock: the lock file names no place to download from; that is for each
// user's own configuration.
func TestSDKLock(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(sdkDir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Resolved, Integrity string }
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 3 {
		t.Errorf("only %d packages locked", len(lock.Packages))
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" || name != "" && p.Integrity == "" {
			t.Errorf("%s: resolved %q, integrity %q", name, p.Resolved, p.Integrity)
		}
	}
}

// TestSDKs has both official SDKs call the endpoints that serve EVM chains and
// aggregation, walk all pages, and parse all answers. With an answer broken on
// purpose they must notice.
func TestSDKs(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	s, factsPath, f := serveDevnet(t, append([]string{"--limits", "webhooks-keyless=true"}, admitting...)...)
	s.waitIndexed(t, f)
	s.waitPrimary(t)
	t.Run("All", func(t *testing.T) {
		calls, code := runSDKs(t, program, factsPath)
		checkSDKCalls(t, calls)
		everyMethod(t, calls, func(m sdkMethod) bool {
			return !icmMethod(m) && m.Name != "data.nfts.reindex" // TestICMDevnet and TestSDKMetadata call these
		})
		if code != 0 {
			t.Errorf("the program ended with exit code %d", code)
		}
	})
	t.Run("Broken", func(t *testing.T) {
		calls, code := runSDKs(t, program, factsPath, breakAnswers(t, s.URL), "6")
		if code != 1 || len(calls) == 0 {
			t.Errorf("exit code %d after %d calls, want 1", code, len(calls))
		}
		for _, c := range calls {
			if c.Error == nil || !strings.Contains(c.Error.Name, "Validation") {
				t.Errorf("%s %s took an answer without logIndex: %+v", c.SDK, c.Call, c)
			}
		}
	})
}

// installSDKs installs the SDKs for all tests, once, and returns the folder.
func installSDKs(t *testing.T) string {
	t.Helper()
	dir, err := shared.sdks()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *suite) installSDKs() (string, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s is missing: install Node.js %d or later, with npm (make e2e does where it may)", tool, minNode)
		}
	}
	version, err := printed(context.Background(), "", "node", "--version")
	if err != nil {
		return "", err
	}
	major, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(string(version), "v"), ".", 2)[0])
	if err != nil || major < minNode {
		return "", fmt.Errorf("node is %s: install Node.js %d or later", version, minNode)
	}
	dir := filepath.Join(s.dir, "sdks")
	files, err := filepath.Glob(filepath.Join(sdkDir, "*.*js*"))
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return "", err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), b, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	_, err = printed(context.Background(), dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	return dir, err
}

// output runs a command that must succeed.
func output(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	out, err := printed(t.Context(), dir, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func printed(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, npmWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", cmd, err, out, stderr.Bytes())
	}
	return out, nil
}

// serveDevnet runs quorate serve with a simulated network inside.
func serveDevnet(t *testing.T, args ...string) (*server, string, sdkFacts) {
	t.Helper()
	dir := testDir(t)
	path, tokens := filepath.Join(dir, "facts.json"), filepath.Join(dir, "tokens.json")
	// A chain has the feature nftIndexing when there is a file to take metadata from.
	if err := os.WriteFile(tokens, []byte(`{"nftMetadata":{}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s := launch(t, quorate.Config{
		Args: append([]string{"serve", "--devnet", "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", filepath.Join(dir, "data"), "--facts-file", path, "--tokens-file", tokens, "--limits", "webhooks-private=true"}, args...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the facts file must be there when the server is ready: %v", err)
	}
	var f sdkFacts
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("facts file: %v", err)
	}
	if f.ChainID == "" || f.EndBlock == 0 {
		t.Fatalf("facts file has no history: %.500s", b)
	}
	return s, path, f
}

// waitIndexed waits until the history in the facts is served.
func (s *server) waitIndexed(t *testing.T, f sdkFacts) {
	t.Helper()
	s.waitKeyIndexed(t, f, "")
}

// waitPrimary waits until the chains of the primary network are no longer behind.
func (s *server) waitPrimary(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkPrimaryWait)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	for _, chain := range []string{"p-chain", "x-chain", "c-chain"} {
		for !caughtUp(ctx, client, s.URL+"/v1/networks/fuji/blockchains/"+chain+"/blocks?pageSize=1") {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("the %s is not served after %v:\n%s", chain, sdkPrimaryWait, s.LogTail())
			}
		}
	}
}

// caughtUp reports whether a page has blocks of a chain that is not behind.
func caughtUp(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	var page struct{ Blocks []json.RawMessage }
	err = errors.Join(json.NewDecoder(resp.Body).Decode(&page), resp.Body.Close())
	return err == nil && resp.StatusCode == http.StatusOK && len(page.Blocks) > 0 && resp.Header.Get("X-Chain-Height") == ""
}

// waitKeyIndexed does the same of a server that requires a key.
func (s *server) waitKeyIndexed(t *testing.T, f sdkFacts, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), indexWait)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	for {
		got, err := status(ctx, client, key, fmt.Sprintf("%s/v1/chains/%s/blocks/%d/transactions", s.URL, f.ChainID, f.EndBlock))
		if err == nil && got == http.StatusOK {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("block %d is not served after %v (%d, %v):\n%s", f.EndBlock, indexWait, got, err, s.LogTail())
		}
	}
}

func status(ctx context.Context, client *http.Client, key, address string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	if key != "" {
		req.Header.Set("x-service-api-key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// runSDKs runs the program and returns what it printed, and its exit code.
func runSDKs(t *testing.T, program string, args ...string) (calls []sdkCall, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkWait)
	defer cancel()
	result, err := quorate.Run(ctx, "node", append([]string{filepath.Join(program, "main.mjs")}, args...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, result.Stdout)
	}
	lines := bufio.NewScanner(strings.NewReader(result.Stdout))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c sdkCall
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("the program printed %s: %v", lines.Bytes(), err)
		}
		calls = append(calls, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if result.Stderr != "" {
		t.Errorf("the program complains: %s", result.Stderr)
	}
	return calls, result.Code
}

// checkSDKCalls checks that all was well, and that there was something to be seen.
func checkSDKCalls(t *testing.T, calls []sdkCall) {
	t.Helper()
	pages := map[[2]string]int{} // the most of a call, by SDK and endpoint
	first := map[string]sdkCall{}
	for _, c := range calls {
		t.Logf("%-12s %-2s %-45s %4d pages %6d items %6d ms %s", c.SDK, c.Endpoint, c.Call, c.Pages, c.Items, c.MS, c.Request)
		if c.Error != nil {
			t.Errorf("%s %s %s: %s: %s\ncause: %s\nbody: %s", c.SDK, c.Call, c.Request, c.Error.Name, c.Error.Message, c.Error.Cause, c.Error.Body)
			continue
		}
		if c.Refused != 0 {
			continue
		}
		if c.Items == 0 && !c.Empty {
			t.Errorf("%s %s %s: the answer is empty", c.SDK, c.Call, c.Request)
		}
		by := [2]string{c.SDK, c.Endpoint}
		pages[by] = max(pages[by], c.Pages)
		key := c.Call + string(c.Request)
		other, ok := first[key]
		if !ok {
			first[key] = c
		} else if c.Fixed && (other.Pages != c.Pages || other.Items != c.Items) {
			t.Errorf("%s %s: %d pages, %d items through %s, but %d and %d through %s",
				c.Call, c.Request, other.Pages, other.Items, other.SDK, c.Pages, c.Items, c.SDK)
		}
	}
	for _, sdk := range []string{"avacloud-sdk", "chainkit"} {
		for endpoint, paged := range sdkEndpoints {
			if endpoint == "18" && sdk == "chainkit" {
				continue
			}
			if n := pages[[2]string{sdk, endpoint}]; n == 0 || paged && n < 2 {
				t.Errorf("%s has seen %d pages of endpoint %s", sdk, n, endpoint)
			}
		}
	}
	checkSDKMetrics(t, calls)
	if !slices.ContainsFunc(calls, func(c sdkCall) bool { return c.Refused != 0 }) {
		t.Error("no call was refused")
	}
}

// checkSDKMetrics checks that each SDK has read every metric that it knows, by
// every interval there is: five by four intervals, the others by the day.
func checkSDKMetrics(t *testing.T, calls []sdkCall) {
	t.Helper()
	type series struct{ sdk, metric, interval string }
	read, pairs := map[series]bool{}, map[string]int{}
	for _, c := range calls {
		if c.Endpoint != "4" || c.Error != nil || c.Refused != 0 {
			continue
		}
		var request struct{ Metric, TimeInterval string }
		if err := json.Unmarshal(c.Request, &request); err != nil {
			t.Fatal(err)
		}
		if s := (series{c.SDK, request.Metric, request.TimeInterval}); s.interval != "" && !read[s] {
			read[s] = true
			pairs[s.sdk]++
		}
	}
	if a, c := pairs["avacloud-sdk"], pairs["chainkit"]; a != 5*4+10 || c != 5*4+12 {
		t.Errorf("avacloud-sdk has read %d series and chainkit %d, want 30 and 32", a, c)
	}
}

// breakAnswers returns the URL of a proxy that renames a member which is required.
func breakAnswers(t *testing.T, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: func(resp *http.Response) error {
			body, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				return err
			}
			body = bytes.ReplaceAll(body, []byte(`"logIndex"`), []byte(`"logindex"`))
			resp.Body = io.NopCloser(bytes.NewReader(body))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}
