package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quorate runs a command line as the process would.
func quorate(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{strings.NewReader(stdin), &out, &errs})
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	facts := filepath.Join(dir, "facts.json")
	if err := os.WriteFile(facts, []byte(`{"signature":{"message":"0x00","messages":["01","02"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := func(want string, args ...string) {
		t.Helper()
		code, out, errs := quorate(t, "  \n", args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "quorate: ") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %q", args, code, out, errs, want)
		}
	}
	wrong("no command given")
	wrong(`there is no command "agregate"; did you mean "aggregate"?`, "agregate")
	wrong("unknown flag: --loud\n", "version", "--loud")
	wrong("unknown flag: --devent; did you mean --devnet?", "serve", "--devent")
	wrong("unknown flag: --http-prot; did you mean --http-port?", "serve", "--http-prot=1")
	wrong("unknown flag: --http-port\n", "aggregate", "--http-port", "1") // of another command
	wrong("unknown shorthand flag: 'q' in -q\n", "serve", "-q")
	wrong("version takes at most 0 argument(s), got 1", "version", "now")
	wrong(`See "quorate aggregate --help".`, "aggregate", "--quorum", "most")
	wrong("no message", "aggregate")
	wrong("takes at most 1 argument(s), got 2", "aggregate", "00", "01")
	wrong(`the message "1g" is not hex`, "aggregate", "0x1g")
	wrong("the message is empty", "aggregate", "-")
	wrong("the justification \"xy\" is not hex", "aggregate", "00", "--justification", "xy")
	wrong(strings.Repeat("z", echoLen)+`"...`, "aggregate", strings.Repeat("z", 1000))
	wrong("not both", "aggregate", "00", "--from-facts", facts)
	wrong("--index needs --from-facts", "aggregate", "00", "--index", "1")
	wrong("has 2 messages", "aggregate", "--from-facts", facts, "--index", "2")
	wrong("http://HOST:PORT", "aggregate", "00", "--url", "localhost:9750")
	wrong("no signed message", "verify")
	wrong("limits.fetch-concurrency", "serve", "--devnet", "--limits", "fetch-concurrency=-1")
	wrong("limits.trace-concurrency", "serve", "--devnet", "--limits", "trace-concurrency=257")
	wrong("--quorum 0", "verify", "00", "--quorum", "0")
	wrong("--quorum 101", "verify", "00", "--quorum", "101")
	wrong("--subnet", "verify", "00", "--subnet", "nope")
	wrong("--node-url", "verify", "00", "--node-url", "localhost")
	wrong("both name a node", "verify", "00", "--node-url", "http://localhost:1", "--from-facts", facts)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands() {
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: help lacks a summary, a description or an example", cmd.Name())
		}
		code, out, errs := quorate(t, "", cmd.Name(), "--help")
		if code != exitDone || errs != "" || !strings.Contains(out, cmd.Example) {
			t.Errorf("%s --help: exit code %d, stderr %q", cmd.Name(), code, errs)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version", "-v"} {
		code, out, errs := quorate(t, "", arg)
		first, second, _ := strings.Cut(out, "\n")
		if fields := strings.Fields(first); code != exitDone || errs != "" || len(fields) != 4 || fields[0] != "quorate" || !strings.HasPrefix(second, "supports avalanchego 1.") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", arg, code, out, errs)
		}
	}
}

// request is what a fake server was asked.
type request struct {
	path string
	body map[string]any
}

// serveAnswer returns the address of a server that answers every request alike
// and reports what it was asked.
func serveAnswer(t *testing.T, status int, body string, header ...string) (url string, asked <-chan request) {
	t.Helper()
	requests := make(chan request, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := request{path: r.Method + " " + r.URL.EscapedPath()}
		if err := json.NewDecoder(r.Body).Decode(&got.body); err != nil {
			t.Error(err)
		}
		requests <- got
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	facts := filepath.Join(t.TempDir(), "facts.json")
	if err := os.WriteFile(facts, []byte(`{"signature":{"network":"mainnet","message":"0a","messages":["0b","0c"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	url, asked := serveAnswer(t, http.StatusCreated, `{"signedMessage":"f00d"}`+"\n")
	good := func(stdin, path, body, stdout string, args ...string) {
		t.Helper()
		code, out, errs := quorate(t, stdin, append([]string{"aggregate", "--url", url}, args...)...)
		if code != exitDone || out != stdout || errs != "" {
			t.Fatalf("%q: exit code %d, stdout %q, stderr %q", args, code, out, errs)
		}
		got := <-asked
		text, err := json.Marshal(got.body)
		if err != nil {
			t.Fatal(err)
		}
		if got.path != "POST /v1/signatureAggregator/"+path+"/aggregateSignatures" || string(text) != body {
			t.Errorf("%q: asked %s %s", args, got.path, text)
		}
	}
	good("", "fuji", `{"message":"abcd","quorumPercentage":67,"quorumPercentageBuffer":0}`, "f00d\n", "0xABCD")
	good(" 0xabcd\n", "fuji", `{"message":"abcd","quorumPercentage":67,"quorumPercentageBuffer":0}`, "f00d\n", "-")
	good("", "fuji", `{"message":"abcd","quorumPercentage":67,"quorumPercentageBuffer":0}`, `{"signedMessage":"f00d"}`+"\n", "abcd", "--json")
	good("", "a%2Fb", `{"justification":"0102","message":"abcd","pChainHeight":7,"quorumPercentage":80,"quorumPercentageBuffer":5,"signingSubnetId":"S"}`,
		"f00d\n", "abcd", "--network", "a/b", "--quorum", "80", "--buffer", "5", "--height", "7", "--signing-subnet", "S", "--justification", "0x0102")
	good("", "fuji", `{"justification":"01","quorumPercentage":67,"quorumPercentageBuffer":0}`, "f00d\n", "--justification", "01")
	good("", "mainnet", `{"message":"0a","quorumPercentage":67,"quorumPercentageBuffer":0}`, "f00d\n", "--from-facts", facts)
	good("", "testnet", `{"message":"0c","quorumPercentage":67,"quorumPercentageBuffer":0}`, "f00d\n", "--from-facts", facts, "--index", "1", "--network", "testnet")
}

func TestAggregateFails(t *testing.T) {
	t.Parallel()
	fails := func(want string, args ...string) {
		t.Helper()
		code, out, errs := quorate(t, "", append([]string{"aggregate", "00"}, args...)...)
		if code != exitFailed || out != "" || !strings.HasPrefix(errs, "quorate: ") || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %q", args, code, out, errs, want)
		}
	}
	url, _ := serveAnswer(t, http.StatusServiceUnavailable, `{"message":"61% of the stake is connected","statusCode":503,"error":"Service Unavailable"}`, "Retry-After", "3")
	fails("the server answered 503 Service Unavailable: 61% of the stake is connected (try again in 3 s)", "--url", url)
	url, _ = serveAnswer(t, http.StatusBadGateway, `<html>`)
	fails(`502 Bad Gateway: "<html>"`, "--url", url)
	url, _ = serveAnswer(t, http.StatusOK, `{"signed-message":"00"}`)
	fails("is not a signed message", "--url", url)
	url, _ = serveAnswer(t, http.StatusOK, `not JSON`)
	fails("is not a signed message", "--url", url)
	url, _ = serveAnswer(t, http.StatusOK, strings.Repeat(" ", maxAnswer+1))
	fails("more than 1048576 bytes", "--url", url)

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	fails("quorate: there is no server: start it with quorate serve, or give its --url: Post ", "--url", closed.URL)
	fails("connection refused\n", "--url", closed.URL)
	fails("quorate: the server speaks HTTP, not HTTPS, so give --url with http://: Post ", "--url", strings.Replace(url, "http://", "https://", 1))

	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the client is noticed
		<-r.Context().Done()
	}))
	defer silent.Close()
	fails("no answer within 10ms", "--url", silent.URL, "--timeout", "10ms")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	var errs bytes.Buffer
	if code := run(ctx, []string{"aggregate", "00", "--url", silent.URL}, streams{nil, io.Discard, &errs}); code != exitFailed ||
		errs.String() != "quorate: interrupted\n" {
		t.Errorf("after a signal: exit code %d, stderr %q", code, errs.String())
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	fails := func(want, content string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "facts.json")
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, _, errs := quorate(t, "", "aggregate", "--from-facts", path)
		if code == exitDone || !strings.Contains(errs, want) || !strings.Contains(errs, path) && code != exitUsage {
			t.Errorf("exit code %d, stderr %q; want %q", code, errs, want)
		}
	}
	fails("no such file", "")
	fails("invalid character", "x")
	fails(`no member "signature"`, `{"baseUrl":"http://127.0.0.1:1"}`)
	fails("the message is empty", `{"signature":{"messages":[]}}`)
}
