package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// healthOf returns what GET /ext/health says.
func healthOf(t *testing.T, url string) (r healthReport) {
	t.Helper()
	status, body := get(t, url+"/ext/health")
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	red := ""
	for name, c := range r.Checks {
		if c.Error != "" {
			red = name
		}
	}
	if r.Healthy != (red == "") || r.Healthy != (status == http.StatusOK) {
		t.Errorf("status %d, healthy %v, red is %q", status, r.Healthy, red)
	}
	return r
}

// peakRSS returns the most resident memory that the process ever had, in bytes.
func (c *child) peakRSS(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Skipf("memory cannot be measured here: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
