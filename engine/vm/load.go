package vm

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"quorate/engine/chain"
)

// maxWaiting bounds the calls of Load at one time: one runs, the others wait.
const maxWaiting = 16

// ErrBusy is returned when too many calls of Load wait already.
var ErrBusy = errors.New("too many calls wait for plugins to be loaded")

// loaded is a plugin file that has completed the handshake.
type loaded struct {
	info fs.FileInfo // of the file as it was started
	vm   VM
}

// same reports whether info is of the file that was started: a file replaced or
// written since must show again what it is.
func (f loaded) same(info fs.FileInfo) bool {
	return os.SameFile(f.info, info) && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime())
}

// outcome is what became of one candidate.
type outcome struct {
	version string
	err     error
}

// Load starts every plugin of the folder that is new, has changed or failed
// before. It returns the VMs loaded by this call with their names (aliases,
// never nil), and why others failed: by VM ID, or by an ID that stands for the
// file if that names no VM or one that another file is of. A plugin loaded
// before is not started again; once its file is gone, or was replaced by one
// that fails, its VM is not known any more.
//
// Calls run one after the other. A call whose ctx ends stops its plugins, leaves
// what is known as it was, and returns the cause. At return no process that
// Load has started is left, except those that have left their process group.
func (l *Loader) Load(ctx context.Context) (newVMs map[chain.ID][]string, failed map[string]string, err error) {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > maxWaiting {
		return nil, nil, ErrBusy
	}
	select {
	case <-l.slot:
		defer func() { l.slot <- struct{}{} }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	newVMs, failed, err = l.load(ctx)
	if err != nil {
		l.log.Warn("plugins cannot be loaded", "folder", l.cfg.Dir, "error", err)
		return nil, nil, err
	}
	l.failures.Add(float64(len(failed)))
	for name, reason := range failed {
		l.log.Warn("plugin not loaded", "name", name, "reason", reason)
	}
	return newVMs, failed, nil
}

// load needs the token.
func (l *Loader) load(ctx context.Context) (map[chain.ID][]string, map[string]string, error) {
	found, failed, err := l.scan()
	if err != nil {
		return nil, nil, err
	}
	files := make(map[string]loaded, len(found))
	known := make(map[chain.ID]VM, len(found))
	var wanted []candidate
	for _, c := range found {
		if f, ok := l.files[c.file]; ok && f.same(c.info) {
			files[c.file], known[c.id] = f, f.vm
			continue
		}
		wanted = append(wanted, c)
	}
	spoken := protocols
	if len(wanted) > 0 {
		if told := l.cfg.Protocols(ctx); len(told) > 0 {
			spoken = told
		}
	}
	outcomes := l.startAll(ctx, wanted, spoken)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	newVMs := make(map[chain.ID][]string)
	for i, c := range wanted {
		if err := outcomes[i].err; err != nil {
			failed[c.id.String()] = err.Error()
			continue
		}
		v := VM{ID: c.id, Names: l.names.of(c.id), Version: outcomes[i].version}
		files[c.file], known[c.id] = loaded{info: c.info, vm: v}, v
		newVMs[c.id] = l.names.of(c.id)
		l.log.Info("plugin loaded", "vm", c.id.String(), "names", v.Names, "version", v.Version)
	}
	l.files = files
	l.known.Store(&known)
	return newVMs, failed, nil
}

// startAll returns the outcome of each candidate, in their order. A few
// goroutines take one candidate after the other.
func (l *Loader) startAll(ctx context.Context, wanted []candidate, spoken []uint32) []outcome {
	outcomes := make([]outcome, len(wanted))
	next := make(chan int, len(wanted))
	for i := range wanted {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(l.cfg.Parallel, len(wanted)) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					outcomes[i] = l.startOne(ctx, wanted[i], spoken)
				}
			}
		})
	}
	wg.Wait()
	return outcomes
}

func (l *Loader) startOne(ctx context.Context, c candidate, spoken []uint32) outcome {
	l.starts.Inc()
	p := probe{cfg: &l.cfg, protocols: spoken, path: filepath.Join(l.cfg.Dir, c.file)}
	version, err := p.run(ctx)
	if p.killed {
		l.kills.Inc()
	}
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.Debug("plugin has ended", "vm", c.id.String(), "exit", p.exit, "killed", p.killed,
			"stdout", clean(p.stdout.String(), maxText), "stderr", clean(p.stderr.String(), maxText))
	}
	if err != nil {
		// The cause can hold text of the plugin, and that the path.
		err = errors.New(clean(hide(err.Error(), l.cfg.Dir), maxText))
	}
	return outcome{version: version, err: err}
}
