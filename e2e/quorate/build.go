// Package quorate drives the product from outside, as its users do: the binary
// by its command line and its server by HTTP.
package quorate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles bin/quorate of the checkout that this module lies in, and gives
// its path. The working directory must be inside this module.
func Build(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("not inside the module of the end-to-end tests: go.mod is %q", mod)
	}
	root := filepath.Dir(filepath.Dir(mod))
	binary := filepath.Join(root, "bin", "quorate")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/quorate")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build quorate: %s in %s: %w\n%s", cmd, root, err, out)
	}
	return binary, nil
}

// Result is how a command ended.
type Result struct {
	Code           int // the exit code
	Stdout, Stderr string
}

// Run runs a command of the binary to its end. Only a command that cannot be run
// at all, or is ended by ctx or a signal, is an error.
func Run(ctx context.Context, binary string, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return r, fmt.Errorf("run %s: %w\n%s", cmd, err, r.Stderr)
	}
	r.Code = cmd.ProcessState.ExitCode()
	return r, nil
}
