package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
)

// asProgram in the environment makes the test binary run as quorate itself.
const asProgram = "QUORATE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	secondShare, maxNodeAnswer = 4, torture.Pick(2<<20, 0)
	if os.Getenv(inTime) == "" {
		stopTimes = 10
	}
	if os.Getenv(asProgram) != "" {
		os.Unsetenv("GOMEMLIMIT")
		prepareProgram()
		main()
	}
	embeddedBlocks, defaultPrimary, defaultHeight = 20, 0, 0
	net.DefaultResolver = testResolver()
	// A server's --memory would be the limit of all servers here, and of what they follow.
	os.Setenv("GOMEMLIMIT", "off")
	if err := atOnce(8); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// atOnce has so many tests run at the same time, unless a flag says how many: most of them
// wait for servers, which wait for the time to ask once more.
func atOnce(n int) error {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if set {
		return nil
	}
	if testing.Short() {
		n /= 2 // with fewer that wait, and the race detector
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}

// campaign leaves a test out of -short, with which the race detector watches: one that
// judges whole servers from outside, by rows, answers and exit codes, while they are
// killed, restarted and lied to. The detector makes that three times as dear and has little
// to add: it watches the same code in the tests of each package, and whole servers in those
// tests here that are no campaigns. make torture runs the campaigns with it too.
func campaign(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a campaign")
	}
}

// program runs a command line in this process, as main does.
type program struct {
	url    string // from the ready line
	stderr *lockedBuffer
	cancel context.CancelFunc
	exit   chan int
	once   sync.Once
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts a command that serves and waits for its ready line.
func launch(t *testing.T, ready string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	p := &program{stderr: &lockedBuffer{}, cancel: cancel, exit: make(chan int, 1)}
	go func() {
		p.exit <- run(ctx, args, streams{strings.NewReader(""), in, p.stderr})
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { p.stop(t) })
	p.url = readyURL(t, out, ready, p.stderr)
	return p
}

// serveIn starts a server on a folder, in this process. One that is killed, or whose
// memory is measured, has a process of its own: see [startChild].
func serveIn(t *testing.T, d *devnet.Devnet, dir string, args ...string) *program {
	t.Helper()
	return launch(t, "quorate ready", append([]string{"serve", "--node-url", d.NodeURL(), "--http-port", "0",
		"--data-dir", dir, "--log-display-level", "warn"}, args...)...)
}

func readyURL(t testing.TB, out io.Reader, ready string, stderr *lockedBuffer) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), ready+" "); ok {
			return url
		}
	}
	t.Fatalf("no line %q: %v\n%s", ready, lines.Err(), stderr)
	return ""
}

// stop ends the program as a signal would; it must exit with 0.
func (p *program) stop(t *testing.T) {
	p.once.Do(func() {
		p.cancel()
		if code := <-p.exit; code != exitDone {
			t.Errorf("exit code %d\n%s", code, p.stderr)
		}
	})
}

func post(t *testing.T, url, body string) (int, map[string]any) {
	t.Helper()
	resp, err := new(http.Client).Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer resp.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, out
}

const endpoint1 = "/v1/signatureAggregator/fuji/aggregateSignatures"

// TestServeDevnet does what README says first: serve with the simulated
// network, have a message signed, verify it, and see every flipped bit rejected.
func TestServeDevnet(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", "0", "--data-dir", dir, "--log-display-level", "warn")
	facts, err := devnet.ReadFacts(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if facts.BaseURL != p.url || len(facts.Signature.Messages) < 1000 {
		t.Errorf("facts: base %s, %d messages", facts.BaseURL, len(facts.Signature.Messages))
	}
	code, signed, errs := quorate(t, "", "aggregate", facts.Signature.Message, "--url", p.url, "--buffer", "33")
	if code != 0 {
		t.Fatalf("aggregate: exit %d, %s", code, errs)
	}
	signed = strings.TrimSpace(signed)
	verify := func(signed string) int {
		code, out, errs := quorate(t, signed, "verify", "-", "--from-facts", filepath.Join(dir, "facts.json"))
		if (code == 0) != strings.HasSuffix(out, "valid\n") || (code == 0) == (errs != "") {
			t.Errorf("verify: exit %d, %q, %q", code, out, errs)
		}
		return code
	}
	if code := verify(signed); code != 0 {
		t.Errorf("verify: exit %d", code)
	}
	raw, err := hex.DecodeString(signed)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(raw); i += torture.Pick(7, 1) {
		raw[i] ^= 1 << (i % 8)
		if code := verify(hex.EncodeToString(raw)); code != 1 {
			t.Errorf("bit %d of byte %d flipped: exit %d", i%8, i, code)
		}
		raw[i] ^= 1 << (i % 8)
	}
	p.stop(t)
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")); err == nil {
		t.Error("still listens after the stop", conn.Close())
	}
}

// TestOneRound: 50 callers of one new message cause one question to each
// validator, as the validators count.
func TestOneRound(t *testing.T) {
	d, stop, err := startDevnet(t.Context(), devnet.Config{Latency: 30 * time.Millisecond, Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	}()
	p := launch(t, "quorate ready", "serve", noIndex, "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "warn")
	body := `{"message":"` + hex.EncodeToString(d.Message(3).Bytes()) + `","quorumPercentageBuffer":33}`
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if status, answer := post(t, p.url+endpoint1, body); status != http.StatusCreated {
				t.Errorf("status %d: %v", status, answer)
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		if n := d.RequestCount(i); n != 1 {
			t.Errorf("validator %d was asked %d times", i, n)
		}
	}
	p.stop(t)
}

// TestKill: what was answered before a SIGKILL is still served after it, though
// no validator can be reached any more.
func TestKill(t *testing.T) {
	d, stop, err := startDevnet(t.Context(), devnet.Config{Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	start := func() (*exec.Cmd, string) {
		cmd := exec.Command(os.Args[0], "serve", noIndex, "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", dir)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		stderr := &lockedBuffer{}
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, readyURL(t, out, "quorate ready", stderr)
	}
	kill := func(cmd *exec.Cmd) {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // says that it was killed
	}
	ask := func(url string, i uint64) string {
		body := `{"message":"` + hex.EncodeToString(d.Message(i).Bytes()) + `"}`
		status, answer := post(t, url+endpoint1, body)
		signed, _ := answer["signedMessage"].(string)
		if status != http.StatusCreated || signed == "" {
			t.Errorf("message %d: status %d, %v", i, status, answer)
		}
		return signed
	}
	const each = 4
	var signed []string
	for range 5 {
		cmd, url := start()
		for range each {
			signed = append(signed, ask(url, uint64(len(signed))))
		}
		kill(cmd)
	}
	asked := d.RequestCount(0)
	cmd, url := start()
	defer kill(cmd)
	for i, want := range signed {
		if got := ask(url, uint64(i)); got != want {
			t.Errorf("message %d: another answer after the kill", i)
		}
	}
	if n := d.RequestCount(0); n != asked {
		t.Errorf("a validator was asked %d times for what was kept", n-asked)
	}
}

func TestServeUsage(t *testing.T) {
	t.Parallel()
	bad := func(want string, args ...string) {
		t.Helper()
		code, _, errs := quorate(t, "", append([]string{"serve", "--data-dir", t.TempDir()}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %q does not contain %q", args, code, errs, want)
		}
	}
	bad("no node to follow")
	bad("not a port", "--devnet", "--http-port", "70000")
	bad("--devnet", "--node-url", "http://127.0.0.1:1", "--facts-file", "x")
	bad("--log-level", "--devnet", "--log-level", "loud")
	bad("unknown flag", "--nonsense")
	bad("limits.buffer-window 9s", "--devnet", "--limits", "buffer-window=9s")
	bad("limits.request-timeout 2m0s", "--devnet", "--limits", "request-timeout=2m")
	bad(`--http-port: "many" is not a number`, "--devnet", "--http-port", "many")
	bad("--http-allowed-hosts", "--devnet", "--http-allowed-hosts", "::1,a.example,https://b.example")
	bad("--http-allowed-hosts", "--devnet", "--http-allowed-hosts", "a.example:9750")
	bad("http://HOST:PORT", "--node-url", "http://127.0.0.1:99999")
	bad("--public-url", "--devnet", "--public-url", "http://127.0.0.1:99999")
	bad("--public-url", "--devnet", "--public-url", "http://user:password@127.0.0.1")
	bad("--health-check-frequency 1ns", "--devnet", "--health-check-frequency", "1ns")
	bad("limits.rate-limit-units 100000001", "--devnet", "--limits", "rate-limit-units=100000001")
	bad(`there is no "export-worker"; did you mean export-workers?`, "--devnet", "--limits", "export-worker=1")
	bad(`"export-workers" is not of the form NAME=VALUE`, "--devnet", "--limits", "export-workers")
	bad("request-timeout: time: missing unit", "--devnet", "--limits", "request-timeout=8")
	bad("limits.export-workers 9223372036854775807", "--devnet", "--limits", "export-workers=9223372036854775807")
	bad("no data folder", "--devnet", "--data-dir", "")
	bad("--track-peers", "--devnet", "--track-peers", "127.0.0.1:9651")
	if code, _, errs := quorate(t, "", "serve", "--node-url", "not a url", "--http-port", "0", "--data-dir", t.TempDir()); code == 0 || !strings.Contains(errs, "http://HOST:PORT") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestNoHome: without a home folder data do not land where the process happens
// to be started.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Chdir(t.TempDir())
	code, _, errs := quorate(t, "", "serve", "--devnet", "--http-port", "0")
	if code != exitUsage || !strings.Contains(errs, "--data-dir") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("%d files were made, %v", len(list), err)
	}
}

// TestEnviron: a variable that is all but a flag's is refused, whatever command
// has the flag; others of our prefix are named.
func TestEnviron(t *testing.T) {
	t.Parallel()
	root := rootCommand(streams{})
	unknown, err := checkEnviron(root, []string{"QUORATE_HTTP_PORT=1", "QUORATE_VALIDATORS=3", "QUORATE_COLOUR=red", "HTTP_PROT=1", "QUORATE_SEDE=1"})
	if err != nil || strings.Join(unknown, " ") != "QUORATE_COLOUR QUORATE_SEDE" {
		t.Errorf("%q, %v", unknown, err)
	}
	for name, meant := range map[string]string{"QUORATE_HTTP_PROT": "QUORATE_HTTP_PORT", "QUORATE_DATADIR": "QUORATE_DATA_DIR", "QUORATE_REQUIRE_APIKEY": "QUORATE_REQUIRE_API_KEY"} {
		if _, err := checkEnviron(root, []string{name + "=x"}); err == nil || !strings.Contains(err.Error(), name+" is unknown; did you mean "+meant+"?") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFillFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quorate.yaml")
	text := "http-port: 1111\nhttp-host: 0.0.0.0\nlimits:\n  buffer-window: 99ms\n  export-queue: 7\nnode-url:\n  - http://a:1\n  - http://b:2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := serveCommand()
	if err := cmd.ParseFlags([]string{"--config-file", file, "--limits", "buffer-window=7ms"}); err != nil {
		t.Fatal(err)
	}
	if err := fillFlags(cmd, func() []string {
		return []string{"QUORATE_HTTP_PORT=2222", "QUORATE_DEVNET=true", "QUORATE_LIMITS=export-workers=3, export-queue=8", "HOME=/x"}
	}); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"http-port": "2222", "http-host": "0.0.0.0", "limits/buffer-window": "7ms", "limits/export-workers": "3", "limits/export-queue": "8", "devnet": "true", "node-url": "[http://a:1,http://b:2]",
	} {
		if got := lookup(cmd.Flags(), flag).Value.String(); got != want {
			t.Errorf("%s: got %s, want %s", flag, got, want)
		}
	}
	environ := func() []string { return []string{"QUORATE_HTTP_PORT=99999999999999999999", "QUORATE_DEVNET=maybe"} }
	err := fillFlags(serveCommand(), environ)
	if err == nil || !strings.Contains(err.Error(), "QUORATE_HTTP_PORT in the environment: 99999999999999999999 is out of range") ||
		!strings.Contains(err.Error(), `"maybe" is neither true nor false`) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"no-such-flag: 1":             `unknown key "no-such-flag"`,
		"htp-port: 1":                 `unknown key "htp-port"; did you mean http-port?`,
		"config-file: x":              "config-file cannot be set in a configuration file",
		"help: true":                  "help cannot be set in a configuration file",
		"http-port: [1, 2]":           "http-port in " + file + ": a list, where one value belongs",
		"http-port:":                  "http-port in " + file + ": no value",
		"node-url:":                   "node-url in " + file + ": no value",
		"http-port: many":             `http-port in ` + file + `: "many" is not a number`,
		"http-port: [":                "reading --config-file",
		"limits: {buffer-window: 10}": "limits.buffer-window in " + file,
		"limits: {export-worker: 10}": `unknown key "limits.export-worker"; did you mean limits.export-workers?`,
		"limits: buffer-window":       `"buffer-window" is not of the form NAME=VALUE`,
		"limits: nope=1":              "there is no limits.nope",
		"limits:":                     "limits in " + file + ": no value",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := serveCommand()
		if err := cmd.ParseFlags([]string{"--config-file", file}); err != nil {
			t.Fatal(err)
		}
		if err := fillFlags(cmd, os.Environ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
