package docs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

const (
	// address is where the pages say that the server is.
	address = "127.0.0.1:9750"
	root    = "../.."
	// patience bounds each wait, also on a machine that does other work.
	patience  = 3 * time.Minute
	pollEvery = 100 * time.Millisecond
	endOfStep = "-- end of step --\n"
)

// TestCommands runs each marked block as a reader would, beside a server with the
// simulated network, and compares what it prints with what the page says.
func TestCommands(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := quorate.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	url := serve(t, binary, home)
	// The pages say nothing of a server's address that is the default.
	program := fmt.Sprintf("#!/bin/sh\ncase $1 in aggregate|export) set -- \"$@\" --url %s;; esac\nexec %s \"$@\"\n", url, binary)
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "quorate"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(os.DirFS(root))
	if err != nil || len(blocks) < 15 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for i := range blocks {
		run(t, &blocks[i], strings.TrimPrefix(url, "http://"), home)
	}
}

// serve starts a server as "make run" does, and waits until it has indexed its chains.
func serve(t *testing.T, binary, home string) (url string) {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--devnet", "--http-port", "0", "--api-admin-enabled", "--log-display-level", "warn")
	cmd.Env = append(os.Environ(), "HOME="+home)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, errs.Bytes())
		}
	})
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // ends the lines below
	defer limit.Stop()
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "quorate ready ")
	}
	if url == "" {
		t.Fatalf("the server is not ready\n%s", errs.Bytes())
	}
	client := &http.Client{Timeout: time.Minute}
	t.Cleanup(client.CloseIdleConnections)
	for _, path := range []string{"/v1/chains/C/blocks/2000", "/v1/networks/fuji/blockchains/p-chain/blocks/8000"} {
		await(t, client, url+path)
	}
	return url
}

func await(t *testing.T, client *http.Client, url string) {
	t.Helper()
	limit := time.After(patience)
	for {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if closed := resp.Body.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		if resp.StatusCode == http.StatusOK {
			return
		}
		select {
		case <-limit:
			t.Fatalf("%s: status %d", url, resp.StatusCode)
		case <-time.After(pollEvery):
		}
	}
}

func run(t *testing.T, b *Block, at, home string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("set -e -o pipefail\n")
	for _, s := range b.Steps {
		script.WriteString(strings.ReplaceAll(s.Command, address, at) + "printf '\\n%s' '" + endOfStep + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s%s\n%s", b.Page, err, script.String(), out.Bytes(), errs.Bytes())
		return
	}
	printed := strings.Split(strings.ReplaceAll(out.String(), at, address), endOfStep)
	for i := range b.Steps {
		if s := &b.Steps[i]; !s.Matches(printed[i]) {
			t.Errorf("%s: %s\nprinted\n%.2000s\nand the page has\n%s", b.Page, s.Command, strings.TrimSpace(printed[i]), s.Output)
		}
	}
}

// TestSteps: a block is cut into commands and their output, and output is compared.
func TestSteps(t *testing.T) {
	steps := stepsOf("$ a \\\n  b\none\n\ntwo ... (4)\n$ c\n$ d\n")
	want := []Step{{"a \\\n  b\n", "one\n\ntwo ... (4)\n"}, {"c\n", ""}, {"d\n", ""}}
	if fmt.Sprint(steps) != fmt.Sprint(want) {
		t.Errorf("%q", steps)
	}
	for printed, matches := range map[string]bool{
		"one\n\ntwo 3 (4)": true, "\none\n\ntwo\n3 (4)\n": false, "one\n\ntwo \n (4)\n": true, "one\n\ntwo 3 (4)!": false, "": false,
	} {
		if steps[0].Matches(printed) != matches {
			t.Errorf("%q: %v", printed, !matches)
		}
	}
	if !steps[1].Matches("\n") || steps[1].Matches("x") {
		t.Error("a command without output")
	}
}
