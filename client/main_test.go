package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/client"
)

// history is how many blocks the simulated network begins with.
const history = 2000

// indexed waits until a server has indexed them.
func indexed(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(url)
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		for block, err := range c.GetLatestBlocks(ctx, "C", nil) {
			if err != nil {
				return err
			}
			if n, err := strconv.Atoi(block.BlockNumber); err != nil || n >= history {
				tick.Stop()
				return err
			}
			break // it is the last one
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// facts are what the simulated network says of itself.
var facts struct {
	ChainID    string `json:"chainId"`
	Address    string `json:"address"`
	ERC20Token string `json:"erc20Token"`
	Signature  struct {
		Messages []string `json:"messages"`
	} `json:"signature"`
}

// TestMain starts a server with a simulated network: tests and examples find its address in
// QUORATE_URL.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "quorate-client-")
		if err != nil {
			return failed(err)
		}
		defer os.RemoveAll(dir)
		url, stop, err := serve(dir)
		if err != nil {
			return failed(err)
		}
		defer stop()
		if err := os.Setenv("QUORATE_URL", url); err != nil {
			return failed(err)
		}
		return m.Run()
	}())
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// serve builds the program and starts it.
func serve(dir string) (url string, stop func(), err error) {
	bin := filepath.Join(dir, "quorate")
	build := exec.Command("go", "build", "-o", bin, "./cmd/quorate")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	file := filepath.Join(dir, "facts.json")
	cmd := exec.Command(bin, "serve", "--devnet", "--http-port", "0", "--log-display-level", "warn", "--data-dir", filepath.Join(dir, "data"), "--facts-file", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	}
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "quorate ready "); ok {
			text, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(text, &facts)
			}
			if err == nil {
				err = indexed(rest)
			}
			return rest, stop, err
		}
	}
	stop()
	return "", nil, fmt.Errorf("the server has not become ready")
}
