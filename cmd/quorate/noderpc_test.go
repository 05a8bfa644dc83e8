package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
)

type healthReport struct {
	Checks map[string]struct {
		Message json.RawMessage
		Error   string
	}
	Healthy bool
}

// call does one admin call and gives the result, or the error's text.
func call(t *testing.T, base, method, params string) (result map[string]any, failure string) {
	t.Helper()
	status, answer := post(t, base+"/ext/admin", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d, %v", method, status, answer)
	}
	if e, ok := answer["error"].(map[string]any); ok {
		return nil, e["message"].(string)
	}
	return answer["result"].(map[string]any), ""
}

// awaitHealth waits until GET /ext/health answers with that status.
func awaitHealth(t *testing.T, base string, status int) healthReport {
	t.Helper()
	var r healthReport
	var body []byte
	defer func() {
		if r.Healthy != (status == http.StatusOK) {
			t.Logf("health says %s", body)
		}
	}()
	poll(t, 100*time.Millisecond, fmt.Sprint("health answers with status ", status), func() bool {
		var got int
		got, body = get(t, base+"/ext/health")
		r = healthReport{}
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if r.Healthy != (got == http.StatusOK) {
			t.Fatalf("status %d with %s", got, body)
		}
		return got == status
	})
	return r
}

// TestNodeHealth: health turns red when the followed node goes away and green
// when it is back, and says what is wrong.
func TestNodeHealth(t *testing.T) {
	campaign(t)
	port := uint64(0) // any at first, then the same again
	start := func() func() {
		var d *devnet.Devnet
		var stop func(*error)
		var err error
		// A connection of somebody else may have the port for a while.
		poll(t, 20*time.Millisecond, "the port is free", func() bool {
			d, stop, err = startDevnet(t.Context(), devnet.Config{HTTPPort: uint16(port), Validators: 2, Blocks: 5, TxsPerBlock: 1})
			return !errors.Is(err, syscall.EADDRINUSE)
		})
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := cutLast(strings.ReplaceAll(d.NodeURL(), ":", "/"))
		if port, err = strconv.ParseUint(text, 10, 16); err != nil {
			t.Fatal(err)
		}
		return func() {
			if stop(&err); err != nil {
				t.Error(err)
			}
		}
	}
	stop := start()
	p := launch(t, "quorate ready", "serve", "--node-url", "http://127.0.0.1:"+strconv.FormatUint(port, 10), "--http-port", "0",
		"--data-dir", t.TempDir(), "--log-display-level", "fatal", "--health-check-frequency", "250ms")
	r := awaitHealth(t, p.url, http.StatusOK)
	for _, name := range []string{"P", "bootstrapped", "database", "diskspace", "network", "router"} {
		if c, ok := r.Checks[name]; !ok || c.Error != "" {
			t.Errorf("check %s: there %v, error %q", name, ok, c.Error)
		}
	}
	var msg struct {
		Engine struct {
			Consensus struct {
				LastAcceptedHeight uint64
				LastAcceptedID     string
			}
			VM struct{ Name string }
		}
		Networking struct{ PercentConnected float64 }
	}
	if err := json.Unmarshal(r.Checks["P"].Message, &msg); err != nil || msg.Networking.PercentConnected != 1 ||
		msg.Engine.Consensus.LastAcceptedID == "" || msg.Engine.VM.Name != "platform" {
		t.Errorf("P: %v in %s", err, r.Checks["P"].Message)
	}
	stop()
	r = awaitHealth(t, p.url, http.StatusServiceUnavailable)
	red := ""
	for name, c := range r.Checks {
		if c.Error != "" {
			red += name + " "
		}
	}
	if !strings.Contains(red, "P") && !strings.Contains(red, "bootstrapped") && !strings.Contains(red, "network") {
		t.Errorf("red are %s", red)
	}
	if status, body := get(t, p.url+"/ext/health/liveness"); status != http.StatusOK {
		t.Errorf("liveness: %d, %s", status, body)
	}
	defer start()()
	awaitHealth(t, p.url, http.StatusOK)
	p.stop(t)
}

// TestAdminOff: without the flag nothing is at /ext/admin.
func TestAdminOff(t *testing.T) {
	p := launch(t, "quorate ready", "serve", "--devnet", noIndex, "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "warn")
	if status, body := get(t, p.url+"/ext/admin"); status != http.StatusNotFound {
		t.Errorf("status %d, %s", status, body)
	}
	resp, err := new(http.Client).Post(p.url+"/ext/admin", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"admin.getLoggerLevel"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", resp.StatusCode)
	}
	p.stop(t)
}

// TestAdmin: names of chains last over a restart, those of endpoints do not,
// levels change at once.
func TestAdmin(t *testing.T) {
	dir := t.TempDir()
	args := []string{"serve", "--devnet", noIndex, "--http-port", "0", "--data-dir", dir, "--log-display-level", "warn", "--api-admin-enabled"}
	p := launch(t, "quorate ready", args...)
	if _, failure := call(t, p.url, "admin.aliasChain", `{"chain":"P","alias":"the platform"}`); failure == "" {
		t.Error("an alias with a space is accepted")
	}
	for method, params := range map[string]string{
		"admin.aliasChain":     `{"chain":"P","alias":"staking"}`,
		"admin.alias":          `{"endpoint":"health","alias":"state/of/things"}`,
		"admin.setLoggerLevel": `{"loggerName":"p2p","displayLevel":"FATAL"}`,
		"admin.memoryProfile":  `{}`,
	} {
		if _, failure := call(t, p.url, method, params); failure != "" {
			t.Errorf("%s: %s", method, failure)
		}
	}
	levels, _ := call(t, p.url, "admin.getLoggerLevel", `{"loggerName":"p2p"}`)
	if got := levels["loggerLevels"].(map[string]any)["p2p"].(map[string]any)["displayLevel"]; got != "FATAL" {
		t.Errorf("level %v", got)
	}
	if status, _ := get(t, p.url+"/ext/state/of/things/liveness"); status != http.StatusOK {
		t.Errorf("alias of the health endpoint: status %d", status)
	}
	p.stop(t)

	p = launch(t, "quorate ready", args...)
	got, failure := call(t, p.url, "admin.getChainAliases", `{"chain":"staking"}`)
	names, _ := got["aliases"].([]any)
	if failure != "" || len(names) < 3 || names[0] != "P" || names[len(names)-1] != "staking" {
		t.Errorf("aliases after a restart: %v, %s", got, failure)
	}
	if status, _ := get(t, p.url+"/ext/state/of/things/liveness"); status != http.StatusNotFound {
		t.Errorf("alias of an endpoint after a restart: status %d", status)
	}
	p.stop(t)
}
