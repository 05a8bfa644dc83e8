package httpapi

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPrintedBodies sends what READMEs and SDKs print, as it stands there.
func TestPrintedBodies(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/printed_bodies.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, addr := start(t, Config{Networks: networks{signs("signed")}})
	c := dial(t, addr)
	entries := strings.Split(strings.TrimSpace(string(file)), "\n\n# ")[1:]
	for _, entry := range entries {
		where, rest, _ := strings.Cut(entry, "\n")
		head, body, _ := strings.Cut(rest, "\n")
		path, head, _ := strings.Cut(head, " ")
		want, ignored, _ := strings.Cut(head, " ")
		status, err := strconv.Atoi(want)
		if err != nil || !strings.Contains(body, "MESSAGE") {
			t.Fatalf("%s: %q is no entry", where, entry)
		}
		c.send(post(path, strings.ReplaceAll(body, "MESSAGE", warpHex)))
		resp, answer := c.reply("POST")
		if resp.StatusCode != status || resp.Header.Get("X-Ignored") != ignored {
			t.Errorf("%s: %d, X-Ignored %q: %s", where, resp.StatusCode, resp.Header.Get("X-Ignored"), answer)
		}
	}
	if len(entries) < 10 {
		t.Errorf("only %d bodies", len(entries))
	}
}
