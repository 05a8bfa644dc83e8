package localnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	modulePath = "github.com/ava-labs/avalanchego"
	mainPath   = modulePath + "/main"
	pluginPath = "quorate/e2e/subnetevm"

	// buildReport is how often a running build says that it still runs.
	buildReport = 20 * time.Second
)

// A Release is avalanchego as this module requires it.
type Release struct {
	Version string // such as v1.14.2
	Dir     string // the module's folder, read-only
	Binary  string // the node, built from it
}

// Build returns the release that this module requires. The node is built at the
// first call on a machine, which takes minutes, and kept in the user's cache
// folder. The working directory must be inside this module. Progress may be nil.
func Build(ctx context.Context, progress io.Writer) (*Release, error) {
	r, err := FindRelease(ctx)
	if err != nil {
		return nil, err
	}
	if r.Binary, err = cached(ctx, r.Version, "avalanchego", mainPath, writer(progress)); err != nil {
		return nil, err
	}
	return r, nil
}

// BuildPlugin returns the virtual machine subnet-evm of the same release, as an
// executable that nodes load as a plugin: the command quorate/e2e/subnetevm. It is
// built and kept like the node.
func BuildPlugin(ctx context.Context, r *Release, progress io.Writer) (string, error) {
	return cached(ctx, r.Version, "subnetevm", pluginPath, writer(progress))
}

// cached returns the executable of that name in the cache folder of a version; it
// is built from the package pkg when it is not there.
func cached(ctx context.Context, version, name, pkg string, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where to keep %s: %w", name, err)
	}
	dir := filepath.Join(cache, "quorate-e2e", version)
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	fmt.Fprintf(progress, "localnet: building %s %s, some minutes the first time\n", name, version)
	return path, compile(ctx, path, pkg, progress)
}

// FindRelease returns the release that this module requires, without a node: Binary is
// empty. The working directory must be inside this module.
func FindRelease(ctx context.Context) (*Release, error) {
	// A download in module mode fills Dir also on a machine with an empty module cache.
	out, err := goOutput(ctx, "mod", "download", "-json", modulePath)
	if err != nil {
		return nil, err
	}
	r := new(Release)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("read what go says of %s: %w", modulePath, err)
	}
	if r.Dir == "" || r.Version == "" {
		return nil, fmt.Errorf("go names no folder or version of %s: %s", modulePath, out)
	}
	return r, nil
}

// compile builds beside the target and renames, so that a broken build leaves nothing behind.
func compile(ctx context.Context, path, pkg string, progress io.Writer) error {
	name := filepath.Base(path)
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(tmp)
	begin := time.Now()

	done := make(chan error, 1)
	go func() {
		_, err := goOutput(ctx, "build", "-o", tmp, pkg)
		done <- err
	}()
	tick := time.NewTicker(buildReport)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			fmt.Fprintf(progress, "localnet: built %s in %v\n", name, time.Since(begin).Round(time.Second))
			return os.Rename(tmp, path)
		case <-tick.C:
			fmt.Fprintf(progress, "localnet: still building %s, %v so far\n", name, time.Since(begin).Round(time.Second))
		}
	}
}

func goOutput(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, errOut.Bytes())
	}
	return out.Bytes(), nil
}

// lock keeps other test processes from building the same binary at once.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil // closing releases the lock
}

func writer(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
