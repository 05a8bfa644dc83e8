// Package profile writes profiles of the running program to files that
// go tool pprof reads: cpu.profile, mem.profile and lock.profile, one of each,
// in one folder. A file is whole or not there: profiles are written to a
// temporary file, <name>.tmp, and renamed, so that the last one stays until the
// next is complete. Symbolic links in place of a file are replaced, never
// followed.
//
// Locks are sampled only while somebody looks: from a StartCPU to its StopCPU,
// and for ten minutes after each Lock. So the first lock.profile may hold little,
// a second one, taken within ten minutes, holds every wait for a mutex between
// the two; and the cost, a stack trace for each such wait, does not last.
//
// The CPU profile and the sampling of locks are of the whole process, therefore
// a process should have one [Profiler].
package profile

import (
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

const (
	cpuFile  = "cpu.profile"
	memFile  = "mem.profile"
	lockFile = "lock.profile"

	folderMode = 0o750
	fileMode   = 0o640

	// cpuLimit ends a CPU profile that nobody stops.
	cpuLimit = 10 * time.Minute
	// lockWindow is how long locks are sampled after a call of Lock.
	lockWindow = 10 * time.Minute
	// lockRate samples one in so many waits. All, because the rare long one is what
	// is looked for; it costs something only while a profile is taken.
	lockRate = 1
)

// Errors of the profiler. The texts of the first two are those that an Avalanche
// node answers with.
var (
	// ErrRunning: a CPU profile is being taken, by this profiler or otherwise.
	ErrRunning = errors.New("cpu profiler already running")
	// ErrNotRunning: no CPU profile is being taken.
	ErrNotRunning = errors.New("cpu profiler doesn't exist")
	// ErrClosed: Close has been called.
	ErrClosed = errors.New("profiler is closed")
)

// Profiler takes profiles. All methods may be called at once. Errors have no
// paths in them, so they can be passed on to callers of an API.
type Profiler struct {
	dir                  string
	log                  *slog.Logger
	cpuLimit, lockWindow time.Duration // constants but for tests
	timers               sync.WaitGroup

	mu     sync.Mutex // guards what follows, and is held while a file is written
	closed bool
	cpu    *cpuRun       // nil: no CPU profile is being taken
	window chan struct{} // closed to end the sampling after Lock; nil: there is none
	rate   int           // of lock sampling before it was switched on
	wants  int           // who needs lock sampling: CPU profile and window
}

// cpuRun is a CPU profile being taken.
type cpuRun struct {
	file    *pending
	started time.Time
	ended   chan struct{}
}

// New returns a profiler that writes to dir, which it makes (mode 0750) with the
// first profile. A nil log is discarded.
func New(dir string, log *slog.Logger) *Profiler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Profiler{dir: dir, log: log, cpuLimit: cpuLimit, lockWindow: lockWindow}
}

// StartCPU begins a CPU profile. It ends with StopCPU, Close or after ten
// minutes. It returns [ErrRunning] when there is one.
func (p *Profiler) StartCPU() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.cpu != nil {
		return ErrRunning
	}
	file, err := create(p.dir, cpuFile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		// The one reason there is: another part of the process takes one.
		return errors.Join(ErrRunning, file.drop())
	}
	run := &cpuRun{file: file, started: time.Now(), ended: make(chan struct{})}
	p.cpu = run
	p.sampleLocks()
	p.after(p.cpuLimit, run.ended, func() { p.expire(run) })
	p.log.Info("CPU profile started", "limit", p.cpuLimit)
	return nil
}

// StopCPU ends the CPU profile and writes cpu.profile. It returns [ErrNotRunning]
// when there is none. Whatever it returns, none is being taken afterwards.
func (p *Profiler) StopCPU() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.cpu == nil {
		return ErrNotRunning
	}
	return p.finishCPU()
}

// finishCPU needs mu and a running profile.
func (p *Profiler) finishCPU() error {
	run := p.cpu
	p.cpu = nil
	close(run.ended)
	pprof.StopCPUProfile() // has written everything when it returns
	p.releaseLocks()
	if err := run.file.commit(); err != nil {
		return err
	}
	p.log.Info("CPU profile written", "file", cpuFile, "taken", time.Since(run.started))
	return nil
}

// expire ends a CPU profile that has reached its limit, unless it has ended.
func (p *Profiler) expire(run *cpuRun) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cpu != run {
		return
	}
	p.log.Warn("CPU profile ended because it has reached its limit and was not stopped before", "limit", p.cpuLimit)
	if err := p.finishCPU(); err != nil {
		p.log.Error("CPU profile not written", "err", err)
	}
}

// Memory writes mem.profile: the memory in use now, and all that was allocated
// since the start.
func (p *Profiler) Memory() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	runtime.GC() // else what is in use is that of the last collection
	return p.write(memFile, "heap")
}

// Lock writes lock.profile: the waits for mutexes sampled so far. It keeps the
// sampling on for the next ten minutes.
func (p *Profiler) Lock() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if err := p.write(lockFile, "mutex"); err != nil {
		return err
	}
	p.endWindow()
	window := make(chan struct{})
	p.window = window
	p.sampleLocks()
	p.after(p.lockWindow, window, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.window == window {
			p.endWindow()
		}
	})
	return nil
}

// write needs mu.
func (p *Profiler) write(name, profile string) error {
	file, err := create(p.dir, name)
	if err != nil {
		return err
	}
	if err := pprof.Lookup(profile).WriteTo(file, 0); err != nil {
		return errors.Join(plain("write "+name, err), file.drop())
	}
	if err := file.commit(); err != nil {
		return err
	}
	p.log.Info("profile written", "file", name)
	return nil
}

// sampleLocks needs mu. Each call is undone by one of releaseLocks.
func (p *Profiler) sampleLocks() {
	if p.wants++; p.wants == 1 {
		p.rate = runtime.SetMutexProfileFraction(lockRate)
	}
}

// releaseLocks needs mu.
func (p *Profiler) releaseLocks() {
	if p.wants--; p.wants == 0 {
		runtime.SetMutexProfileFraction(p.rate)
	}
}

// endWindow needs mu.
func (p *Profiler) endWindow() {
	if p.window != nil {
		close(p.window)
		p.window = nil
		p.releaseLocks()
	}
}

// after calls f once d is over, unless cancel is closed before. Close waits for it.
func (p *Profiler) after(d time.Duration, cancel <-chan struct{}, f func()) {
	p.timers.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			f()
		case <-cancel:
		}
	})
}

// Close writes the CPU profile that is being taken, if one is, and refuses all
// further ones. It may be called again.
func (p *Profiler) Close() error {
	err := p.close()
	p.timers.Wait()
	return err
}

func (p *Profiler) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.endWindow()
	if p.cpu == nil {
		return nil
	}
	return p.finishCPU()
}
