package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"quorate/engine/archive/vfs"
)

// folder is a store in a folder.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) list(ctx context.Context, prefix string) (list []object, err error) {
	err = filepath.WalkDir(f.path(prefix), func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(string(f), path)
		list = append(list, object{filepath.ToSlash(name), info.Size()})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

func (f folder) get(ctx context.Context, name, file string) error {
	r, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	return copyTo(ctx, file, r)
}

func (f folder) put(ctx context.Context, name, file string) error {
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	to := f.path(name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // others may read what a depot has
		return err
	}
	// Another server may put the same object at the same time, from another machine.
	tmp, err := os.CreateTemp(filepath.Dir(to), ".put-*")
	if err != nil {
		return err
	}
	err = errors.Join(copyTo(ctx, tmp.Name(), r), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return vfs.OS{}.SyncDir(filepath.Dir(to))
}

func (f folder) remove(_ context.Context, name string) error {
	err := os.Remove(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyTo writes a file that is on disk on return.
func copyTo(ctx context.Context, file string, r io.Reader) error {
	w, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644) //nolint:gosec // as above
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, reader{ctx, r}); err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (r reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(b)
}
