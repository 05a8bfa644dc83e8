package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
	"time"
)

// snippetLine is what the program in sdk prints of one snippet.
type snippetLine struct {
	Operation, Snippet string
	Status             int    // of the answer, if it was sent
	Refused            string // what an SDK or fetch said of a status of 400 and more
	Missing            bool   // there was no value for something that is needed
	Error              string
}

// TestConsoleSnippets: each snippet of the console at /api makes the request that its page
// shows, and the SDKs parse what it is answered.
func TestConsoleSnippets(t *testing.T) {
	beside(t)
	dir := installSDKs(t)
	s, _, f := serveDevnet(t)
	s.waitIndexed(t, f)
	s.waitPrimary(t)
	ctx, cancel := context.WithTimeout(t.Context(), sdkWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "snippets.mjs", s.URL)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	run, answered := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var l snippetLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		run[l.Snippet]++
		if l.Error != "" {
			t.Errorf("%s of %s: %s", l.Snippet, l.Operation, l.Error)
		}
		if l.Status == 200 || l.Status == 201 {
			answered[l.Snippet]++
		}
	}
	if err != nil {
		t.Errorf("the program ended with %v:\n%s", err, stderr.Bytes())
	}
	for name, least := range map[string][2]int{"curl": {100, 0}, "Python": {100, 0}, "fetch": {100, 70}, "avacloud-sdk": {80, 60}, "chainkit": {80, 60}} {
		if run[name] < least[0] || answered[name] < least[1] {
			t.Errorf("%d snippets of %s were run and %d answered, want %d and %d", run[name], name, answered[name], least[0], least[1])
		}
	}
}
