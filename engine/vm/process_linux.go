package vm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeTimeout is how long the outputs of an ended plugin are still read: a
// child of it that has left the process group can hold them open.
const pipeTimeout = 200 * time.Millisecond

// process is a running plugin, the leader of a process group of its own.
type process struct {
	ctx    context.Context // ends with the process, by errExited
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended; it is still to be reaped
}

// startProcess starts an executable with env as its whole environment. The
// caller must call stop, on the same thread if the program may end before.
func startProcess(ctx context.Context, path, env string, stdout, stderr io.Writer) (*process, error) {
	cmd := exec.Command(path)
	cmd.Env = []string{env}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = pipeTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	var ended context.CancelCauseFunc
	p.ctx, ended = context.WithCancelCause(ctx)
	go func() {
		defer close(p.exited)
		defer ended(errExited)
		// Not reaped yet: until stop does that, the number of the group cannot
		// become that of another one.
		for {
			err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return p, nil
}

// stop asks the process group to end, and kills it when the process has not
// ended after grace or when ctx ends. It returns when the process is reaped and
// its outputs are read. killed tells that the process did not end by itself.
func (p *process) stop(ctx context.Context, grace time.Duration) (state *os.ProcessState, killed bool) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		killed = true
	case <-ctx.Done():
		killed = true
	}
	p.signal(syscall.SIGKILL) // in any case: children may be left
	<-p.exited
	_ = p.cmd.Wait() // what it can tell is in the state, or about outputs that did not end
	return p.cmd.ProcessState, killed
}

// signal reaches everyone in the group.
func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // fails when nobody is left, which is what is wanted
}
