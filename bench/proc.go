package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// tick is the unit of CPU times in /proc, 1/100 s on every Linux that Go runs on.
	tick = 10 * time.Millisecond
	// sampleEvery is how often memory is looked at.
	sampleEvery = 50 * time.Millisecond
)

// process is what /proc tells of a process.
type process struct{ pid int }

// cpu returns the CPU time that all threads have taken, those that ended too.
func (p process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, p.fault(err)
	}
	return parseStat(b)
}

// fault says what to do about it.
func (p process) fault(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no process %d on this machine, or no /proc: %w", p.pid, err)
	}
	return err
}

// parseStat reads user and system time, the 14th and 15th field. The second one
// is the program's name in parentheses, which may itself hold spaces and parentheses.
func parseStat(b []byte) (time.Duration, error) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("unreadable process status %.60q", b)
	}
	user, err := strconv.ParseUint(string(fields[11]), 10, 48)
	system, err2 := strconv.ParseUint(string(fields[12]), 10, 48)
	if err := errors.Join(err, err2); err != nil {
		return 0, fmt.Errorf("unreadable process status: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// rss returns the resident memory in bytes.
func (p process) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid))
	if err != nil {
		return 0, p.fault(err)
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0, fmt.Errorf("unreadable process memory %.60q", b)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 48)
	if err != nil {
		return 0, fmt.Errorf("unreadable process memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}

// usage is what a server's process took while its server was loaded.
type usage struct {
	process
	cpuTime         time.Duration
	firstRSS, peak  int64
	started         time.Duration
	mu              sync.Mutex // guards firstRSS, peak and err while sampling
	err             error
	stop, whenEnded func()
}

// newUsage checks that the process can be looked at. It returns nil for a pid of 0,
// which measures nothing.
func newUsage(pid int) (*usage, error) {
	if pid == 0 {
		return nil, nil
	}
	u := &usage{process: process{pid}}
	if _, err := u.cpu(); err != nil {
		return nil, err
	}
	if err := u.sample(); err != nil {
		return nil, err
	}
	return u, nil
}

func (u *usage) sample() error {
	rss, err := u.rss()
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.err = err
		return err
	}
	if u.firstRSS == 0 {
		u.firstRSS = rss
	}
	u.peak = max(u.peak, rss)
	return nil
}

// begin starts measuring; end must follow.
func (u *usage) begin(ctx context.Context) {
	if u == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	u.stop, u.whenEnded = cancel, wg.Wait
	var err error
	if u.started, err = u.cpu(); err != nil {
		u.err = err
	}
	wg.Go(func() {
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for u.sample() == nil {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

func (u *usage) end() {
	if u == nil {
		return
	}
	u.stop()
	u.whenEnded()
	now, err := u.cpu()
	if err != nil {
		u.err = errors.Join(u.err, err)
		return
	}
	u.cpuTime += now - u.started
}
