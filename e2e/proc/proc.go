// Package proc runs the child processes of the end-to-end tests: nodes and the
// product's own binary. A child never outlives its parent, however that one
// ends: the kernel kills it when the thread that started it is gone.
package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// outputDelay bounds the wait for a child's output after the child itself has ended.
const outputDelay = 5 * time.Second

// ErrClosed is given by [Spawner.Start] after [Spawner.Close].
var ErrClosed = errors.New("spawner is closed")

// A Spawner starts processes, all from one operating system thread that lives as
// long as the Spawner. That matters because the parent death signal of Linux is
// sent when the starting thread ends, not the starting process.
type Spawner struct {
	requests chan request
	ended    chan struct{} // closed when the thread has ended

	mu      sync.Mutex
	closed  bool
	running map[*Process]struct{}
}

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewSpawner starts the thread. The caller must call Close.
func NewSpawner() *Spawner {
	s := &Spawner{
		requests: make(chan request),
		ended:    make(chan struct{}),
		running:  make(map[*Process]struct{}),
	}
	go s.run()
	return s
}

func (s *Spawner) run() {
	defer close(s.ended)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for r := range s.requests {
		r.reply <- r.cmd.Start()
	}
}

// Start starts cmd, whose SysProcAttr it sets. The process is in a process group
// of its own, so that an interrupt typed at the terminal reaches the tests alone.
func (s *Spawner) Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = outputDelay

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	r := request{cmd: cmd, reply: make(chan error, 1)}
	s.requests <- r
	if err := <-r.reply; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	s.running[p] = struct{}{}
	go s.wait(p)
	return p, nil
}

func (s *Spawner) wait(p *Process) {
	p.err = p.cmd.Wait()
	s.mu.Lock()
	delete(s.running, p)
	s.mu.Unlock()
	close(p.done)
}

// Close kills every process that still runs, waits for its end, and ends the thread.
func (s *Spawner) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.ended
		return
	}
	s.closed = true
	left := make([]*Process, 0, len(s.running))
	for p := range s.running {
		left = append(left, p)
	}
	s.mu.Unlock()
	for _, p := range left {
		p.Kill()
	}
	close(s.requests)
	<-s.ended
}

// A Process is a child process. Its methods may be called at any time, from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait, valid once done is closed
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the process has ended and its output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode waits for the end of the process and gives its exit code, -1 when a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Status waits for the end of the process and describes how it ended.
func (p *Process) Status() string {
	<-p.done
	return p.cmd.ProcessState.String()
}

// Signal sends sig. A process that has ended gives [os.ErrProcessDone].
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %v to process %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill ends the process by SIGKILL and waits for its end. A stopped (SIGSTOP) one ends too.
func (p *Process) Kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		// Our own child can always be killed; anything else is a programming error.
		panic(fmt.Sprintf("kill process %d: %v", p.PID(), err))
	}
	<-p.done
}

// Stop asks the process to end by SIGTERM and gives its exit code. When it does
// not end within grace it is killed, and that is an error.
func (p *Process) Stop(grace time.Duration) (int, error) {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			return 0, fmt.Errorf("process %d had ended before it was stopped: %s", p.PID(), p.Status())
		}
		return 0, err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.ExitCode(), nil
	case <-timer.C:
		p.Kill()
		return 0, fmt.Errorf("process %d did not end within %v of SIGTERM and was killed", p.PID(), grace)
	}
}
