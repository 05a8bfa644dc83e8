package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quorate/engine/source/platform"
)

// TestUpstream: the newest releases are printed beside those that are tested, and whatever
// the registries do, it is no failure.
func TestUpstream(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err) // make needs it, too
	}
	script, err := filepath.Abs("../../.ci/upstream")
	if err != nil {
		t.Fatal(err)
	}
	run := func(goes, npm string) string {
		t.Helper()
		bin := t.TempDir()
		for name, does := range map[string]string{"go": goes, "npm": npm} {
			if does == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, tool := range []string{"dirname", "tr", "grep", "sort", "tail", "awk", "sed", "timeout"} {
			at, err := exec.LookPath(tool)
			if err == nil {
				err = os.Symlink(at, filepath.Join(bin, tool))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), bash, script)
		cmd.Env = []string{"PATH=" + bin, "WAIT=1"}
		var wrong bytes.Buffer
		cmd.Stderr = &wrong
		out, err := cmd.Output()
		if err != nil || wrong.Len() > 0 {
			t.Errorf("%v: %s", err, &wrong)
		}
		return string(out)
	}
	must := func(said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("no %q in\n%s", part, said)
			}
		}
		if n := strings.Count(said, "tested v1.") + strings.Count(said, "tested 0."); n != 3 {
			t.Errorf("%d tested releases in\n%s", n, said)
		}
	}
	must(run(`echo github.com/ava-labs/avalanchego v1.9.0 v9.10.0 v9.9.0 v9.11.0-rc.1`, `echo '["0.1.0", "9.2.0", "9.10.0", "9.11.0-beta"]'`),
		"newest v9.10.0  <- not tested here", "newest 9.10.0  <- not tested here")
	must(run("echo no network >&2; exit 1", ""), "newest unknown: the registry does not answer", "newest unknown: npm is not installed")
	must(run("", "exec tail -f /dev/null"), "newest unknown: go is not installed", "newest unknown: the registry does not answer")
}

// TestSupportedReleases: the program and its front page name the same releases.
func TestSupportedReleases(t *testing.T) {
	t.Parallel()
	want := "avalanchego " + platform.Supported()
	for _, page := range []string{"README.md", "docs/upgrade-helicon.md"} {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s does not name %q: %v", page, want, err)
		}
	}
	if !strings.Contains(versionLine(), want) {
		t.Errorf("%q does not name %q", versionLine(), want)
	}
}
