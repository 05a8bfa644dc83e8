package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestConfig: each value is printed with where it comes from, none that is a secret is,
// and what is printed is a configuration file.
func TestConfig(t *testing.T) {
	file := writeFile(t, "quorate.yaml", "http-port: 7001\nlimits:\n  buffer-window: 100ms\nlog-level: debug\ntrusted-proxies: [10.0.0.1, 10.1.0.0/16]\n")
	t.Setenv("QUORATE_HTTP_PORT", "7002")
	t.Setenv("QUORATE_LOG_LEVEL", "warn")
	t.Setenv("QUORATE_CONFIG_FILE", file)
	args := []string{
		"config", "--log-level", "error", "--devnet", "--node-url", "http://user:hunter22@10.0.0.1:9650/node?token=hunter22", "--node-url", "http://10.0.0.2:9650",
		"--node-header", "X-Key: hunter22", "--node-header", "http://10.0.0.2:9650 Authorization: Bearer hunter22",
	}
	out, _ := mustCommand(t, nil, args...)
	for _, want := range []string{
		"http-port: 7002 # QUORATE_HTTP_PORT\n", "limits:\n  max-conns: 4096 # the default\n", "  buffer-window: 100ms # " + file + "\n", `log-level: "error" # --log-level` + "\n",
		"devnet: true # --devnet\n", `trusted-proxies: ["10.0.0.1","10.1.0.0/16"] # ` + file + "\n",
		`node-url: ["http://10.0.0.1:9650/... [redacted]","http://10.0.0.2:9650"] # --node-url` + "\n",
		`node-header: ["X-Key: [redacted]","Authorization: [redacted]"] # --node-header` + "\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte("hunter22")) {
		t.Errorf("a secret:\n%s", out)
	}
	some, _ := mustCommand(t, nil, append(args, "--changed")...)
	if n := bytes.Count(some, []byte(" # ")); n != 7 || bytes.Contains(some, []byte("# the default")) {
		t.Errorf("%d lines of what has changed:\n%s", n, some)
	}
	// Once more from what was printed, without what was left out of it.
	whole := regexp.MustCompile(`(?m)^node-.*\n`).ReplaceAll(out, nil)
	for _, name := range []string{"QUORATE_HTTP_PORT", "QUORATE_LOG_LEVEL", "QUORATE_CONFIG_FILE"} {
		if err := os.Unsetenv(name); err != nil { // t.Setenv puts it back
			t.Fatal(err)
		}
	}
	again, _ := mustCommand(t, nil, "config", "--config-file", writeFile(t, "again.yaml", string(whole)))
	origin := regexp.MustCompile(`(?m) # .*$|^node-.*\n`)
	if a, b := origin.ReplaceAll(whole, nil), origin.ReplaceAll(again, nil); !bytes.Equal(a, b) {
		t.Errorf("not what was printed:\n%s\n%s", a, b)
	}
	code, _, told := command(t, nil, "config", "--devnet", "--http-port", "70000")
	if code != exitUsage || !strings.Contains(told, "--http-port 70000 is not a port") {
		t.Errorf("exit code %d: %s", code, told)
	}
}

// TestConfigExample: the example in docs is what the command prints, it has each flag of
// serve, and each of its lines can be taken as it is.
func TestConfigExample(t *testing.T) {
	t.Parallel()
	out, _ := mustCommand(t, nil, "config", "--example")
	kept, err := os.ReadFile(filepath.Join("..", "..", "docs", "quorate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, kept) {
		t.Error("docs/quorate.yaml is not what quorate config --example prints: write it again")
	}
	lines := regexp.MustCompile(`(?m)^#((?:  )?[a-z][a-z0-9-]*:.*)$`)
	var file strings.Builder
	settings := map[string]bool{}
	for _, m := range lines.FindAllStringSubmatch(string(out), -1) {
		file.WriteString(m[1] + "\n")
		name, _, _ := strings.Cut(m[1], ":")
		settings[strings.TrimSpace(name)] = true
	}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if (!f.Hidden || isOldName(f)) && !settings[f.Name] && f.Name != configFileFlag && groupOf(f) != groupPrint {
			t.Errorf("no %s", f.Name)
		}
	})
	var said bytes.Buffer
	args := []string{"config", "--devnet", "--changed", "--config-file", writeFile(t, "all.yaml", file.String())}
	if code := run(context.Background(), args, streams{strings.NewReader(""), &said, &said}); code != exitDone {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}
