package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"quorate/engine/chain"
)

func TestForwardFault(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := fullConfig(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	cfg.Forward = forwardFunc(func(ctx context.Context, _ chain.ID, _ string, _ []byte) (int, string, []byte, error) {
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > forwardTimeout {
			t.Errorf("deadline %v, %v", d, ok)
		}
		return echo(ctx, chainC, "/rpc", []byte("down"))
	})
	s := New(cfg)
	const message = `"error":{"code":-32000,"message":"the followed node cannot be reached or gave no usable answer","data":null}`
	for body, id := range map[string]string{
		`{"jsonrpc":"2.0","id":"a-1","method":"eth_chainId"}`: `"a-1"`,
		`{"id":17}`:  `17`,
		`[{"id":1}]`: `null`,
		`no json`:    `null`,
		`{"id":"` + strings.Repeat("x", 2000) + `"}`: `null`,
	} {
		resp := do(s, "POST", "/ext/bc/C/rpc", body)
		want := `{"jsonrpc":"2.0",` + message + `,"id":` + id + "}\n"
		if resp.StatusCode() != 502 || string(resp.Body()) != want || string(resp.Header.ContentType()) != contentJSON {
			t.Errorf("%.50s: status %d, %s", body, resp.StatusCode(), resp.Body())
		}
	}
	// The log has the cause, once for many.
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "refused") {
		t.Errorf("log: %s", text)
	}
}

// TestForwardPage: a web page is not passed on as if this server had made it.
func TestForwardPage(t *testing.T) {
	t.Parallel()
	resp := do(New(fullConfig(t)), "POST", "/ext/bc/C/rpc", "portal")
	if body := string(resp.Body()); resp.StatusCode() != 502 || !strings.Contains(body, "answered with a web page") || string(resp.Header.ContentType()) != contentJSON {
		t.Errorf("status %d, %s, %s", resp.StatusCode(), resp.Header.ContentType(), body)
	}
}

// TestForwardLarge: a large answer is passed on whole.
func TestForwardLarge(t *testing.T) {
	t.Parallel()
	large := []byte(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 3*smallAnswer) + `"}`)
	cfg := fullConfig(t)
	cfg.Forward = forwardFunc(func(context.Context, chain.ID, string, []byte) (int, string, []byte, error) {
		return 200, contentJSON, large, nil
	})
	resp := do(New(cfg), "POST", "/ext/bc/C/rpc", `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`)
	if body := resp.Body(); resp.StatusCode() != 200 || !bytes.Equal(bytes.TrimSpace(body), large) {
		t.Errorf("status %d, %d bytes of %d", resp.StatusCode(), len(body), len(large))
	}
}

func TestForwardLimit(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	var got int
	cfg.Forward = forwardFunc(func(_ context.Context, _ chain.ID, _ string, body []byte) (int, string, []byte, error) {
		got = len(body)
		return 200, "", nil, nil
	})
	s := New(cfg)
	body := strings.Repeat("x", maxForward+1)
	if resp := do(s, "POST", "/ext/bc/C/rpc", body[1:]); resp.StatusCode() != 200 || got != maxForward || string(resp.Header.ContentType()) != contentJSON {
		t.Errorf("at the limit: status %d, %d bytes, %q", resp.StatusCode(), got, resp.Header.ContentType())
	}
	if resp := do(s, "POST", "/ext/bc/C/rpc", body); resp.StatusCode() != 413 {
		t.Errorf("above: status %d", resp.StatusCode())
	}
}

// When all places are taken further calls are answered at once; Close ends those
// that wait.
func TestForwardBusyAndClose(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	waiting := make(chan struct{}, maxForwards)
	cfg.Forward = forwardFunc(func(ctx context.Context, _ chain.ID, _ string, _ []byte) (int, string, []byte, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		return 0, "", nil, ctx.Err()
	})
	s := New(cfg)
	answers := make(chan string, maxForwards)
	for range maxForwards {
		go func() { answers <- string(do(s, "POST", "/ext/bc/C/rpc", `{"id":1}`).Body()) }()
	}
	for range maxForwards {
		<-waiting
	}
	resp := do(s, "POST", "/ext/bc/C/rpc", `{"id":1}`)
	if resp.StatusCode() != 503 || string(resp.Header.Peek("Retry-After")) != "1" || !bytes.Contains(resp.Body(), []byte("too many calls")) {
		t.Errorf("status %d, %s", resp.StatusCode(), resp.Body())
	}
	s.Close()
	for range maxForwards {
		if got := <-answers; got != failure("this node is shutting down") {
			t.Errorf("after Close: %s", got)
		}
	}
}

// The forwarder gets memory of its own: the request's is used again.
func TestForwardCopies(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	cfg.Forward = forwardFunc(func(_ context.Context, _ chain.ID, _ string, body []byte) (int, string, []byte, error) {
		clear(body)
		return 0, "", nil, context.DeadlineExceeded
	})
	resp := do(New(cfg), "POST", "/ext/bc/C/rpc", `{"id":5}`)
	if resp.StatusCode() != 504 || !strings.HasSuffix(string(resp.Body()), `"id":5}`+"\n") {
		t.Errorf("status %d, %s", resp.StatusCode(), resp.Body())
	}
}
