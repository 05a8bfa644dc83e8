package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"quorate/devnet"
)

// child is quorate serve in a process of its own.
type child struct {
	cmd    *exec.Cmd
	url    string
	stderr *lockedBuffer
	client *http.Client
}

func startChild(t testing.TB, d *devnet.Devnet, dir string, args ...string) *child {
	t.Helper()
	return startChildAs(t, d, dir, nil, "", args...)
}

// startChildAs starts one with attributes of its process and a further variable of its
// environment.
func startChildAs(t testing.TB, d *devnet.Devnet, dir string, attr *syscall.SysProcAttr, variable string, args ...string) *child {
	t.Helper()
	return startChildWith(t, attr, variable, append([]string{"--node-url", d.NodeURL(), "--data-dir", dir}, args...)...)
}

// startFleetChild starts one that follows nodes, or none.
func startFleetChild(t testing.TB, nodes []string, dir string, args ...string) *child {
	t.Helper()
	args = append([]string{"--data-dir", dir}, args...)
	for _, node := range nodes {
		args = append(args, "--node-url", node)
	}
	return startChildWith(t, nil, "", args...)
}

func startChildWith(t testing.TB, attr *syscall.SysProcAttr, variable string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"serve", "--http-port", "0", "--log-display-level", "warn"}, args...)...)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), asProgram+"=1"), attr
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	c := &child{cmd: cmd, stderr: &lockedBuffer{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	cmd.Stderr = c.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.client.CloseIdleConnections()
		if cmd.ProcessState == nil {
			c.kill(t)
		}
	})
	c.url = readyURL(t, out, "quorate ready", c.stderr)
	return c
}

// kill ends the process at once, without a chance to tidy up.
func (c *child) kill(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait() // says that it was killed
}

// stop ends the process in order; it must exit with 0.
func (c *child) stop(t testing.TB) {
	t.Helper()
	c.client.CloseIdleConnections()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, c.stderr)
	}
}

// files returns the number of open files, sockets among them.
func (c *child) files(t *testing.T) float64 {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	if err != nil {
		t.Skipf("open files cannot be counted here: %v", err)
	}
	return float64(len(list))
}

// ask has message i signed; an error means that there was no answer at all.
func (c *child) ask(d *devnet.Devnet, i uint64) (status int, signed string, err error) {
	body := fmt.Appendf(nil, `{"message":"%x"}`, d.Message(i).Bytes())
	resp, err := c.client.Post(c.url+endpoint1, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var answer struct {
		SignedMessage string `json:"signedMessage"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return resp.StatusCode, answer.SignedMessage, err
}

// noIndex is the flag for tests of signing alone.
const noIndex = "--index=false"
