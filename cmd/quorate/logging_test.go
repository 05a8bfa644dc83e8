package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"quorate/devnet"
)

// TestLogLines: the log tells the version, the start, each signature, each request
// with its ID, and the stop, as JSON objects when that is asked for.
func TestLogLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", "0", "--data-dir", dir,
		"--log-display-level", "debug", "--log-format", "json", "--sign-ahead=false")
	facts, err := devnet.ReadFacts(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := quorate(t, "", "aggregate", facts.Signature.Message, "--url", p.url); code != 0 {
		t.Fatalf("aggregate: exit %d, %s", code, errs)
	}
	p.stop(t)
	seen := make(map[string]map[string]any)
	var order []string
	for line := range strings.Lines(p.stderr.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if m["msg"] == "request" && m["method"] != "POST" {
			continue
		}
		msg, _ := m["msg"].(string)
		if seen[msg] == nil {
			order = append(order, msg)
		}
		seen[msg] = m
	}
	at := 0
	for _, want := range []struct{ msg, level, has string }{
		{"quorate starts", "INFO", "version"}, {"ready", "INFO", "url"},
		{"message signed", "INFO", "message"}, {"request", "DEBUG", "request"},
		{"stopping: requests in flight are finished, new ones are not accepted", "INFO", "in_flight"},
		{"quorate has stopped", "INFO", "after"},
	} {
		m := seen[want.msg]
		if m == nil || m["level"] != want.level || m[want.has] == nil || want.has == "message" && len(fmt.Sprint(m["message"])) > 60 {
			t.Errorf("line %q: %v", want.msg, m)
			continue
		}
		for at < len(order) && order[at] != want.msg {
			at++
		}
		if at == len(order) {
			t.Errorf("%q is not in order: %q", want.msg, order)
			return
		}
	}
}

func TestLogFormat(t *testing.T) {
	t.Parallel()
	code, _, errs := quorate(t, "", "serve", "--devnet", "--log-format", "xml")
	if code != exitUsage || !strings.Contains(errs, `--log-format "xml" is neither text nor json`) {
		t.Errorf("exit %d, %s", code, errs)
	}
}
