package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/admin"
	"github.com/ava-labs/avalanchego/utils/rpc"
	"github.com/ava-labs/libevm/ethclient"
)

// awaitEvery is how often something awaited is looked at.
const awaitEvery = 100 * time.Millisecond

// await looks until done says true; the text that it gives is told when ctx ends first.
func await(ctx context.Context, t *testing.T, what string, done func() (string, bool)) {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for {
		state, ok := done()
		if ok {
			t.Logf("%s after %v", what, time.Since(begin).Round(time.Millisecond))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not so after %v: %s; last: %s", time.Since(begin).Round(time.Second), what, state)
		}
	}
}

// profile makes a call of one of the client's methods without parameters.
func profile(do func(*admin.Client, context.Context, ...rpc.Option) error) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) { return nil, do(p.admin, ctx) }
}

// getBody reads url.
func getBody(ctx context.Context, url string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// getStatus returns the status and the body of url.
func getStatus(ctx context.Context, url string) (any, error) {
	status, body, err := getBody(ctx, url)
	return fmt.Sprintf("%d %s", status, bytes.TrimSpace(body)), err
}

// chainID asks an EVM chain for its number by the Ethereum client.
func chainID(ctx context.Context, url string) (*big.Int, error) {
	client, err := ethclient.DialContext(ctx, url)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.ChainID(ctx)
}

// testLevelEffect shows that levels act at once: with a logger off its calls leave
// no line in the log file, with it on they do.
func testLevelEffect(ctx context.Context, t *testing.T, s *rpcServer, p *party) {
	t.Helper()
	called := func(what string) (logged bool) {
		t.Helper()
		before := logText(t, s)
		if _, err := p.admin.GetLoggerLevel(ctx, "http"); err != nil {
			t.Fatal(err)
		}
		return bytes.Count(logText(t, s), []byte("admin.getLoggerLevel")) > bytes.Count(before, []byte("admin.getLoggerLevel"))
	}
	set := func(level string) {
		t.Helper()
		if _, err := p.admin.SetLoggerLevel(ctx, "http", level, "OFF"); err != nil {
			t.Fatal(err)
		}
	}
	if !called("at the start") {
		t.Error("a call of the administration leaves no line in the log")
	}
	set("OFF")
	if called("off") {
		t.Error("the logger is off, but a line is in its file")
	}
	set("INFO")
	if !called("on again") {
		t.Error("the logger is on again, but no line is in its file")
	}
}

// logText returns all log files of the server.
func logText(t *testing.T, s *rpcServer) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dataDir, "logs", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("log files: %v, %v", files, err)
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}
