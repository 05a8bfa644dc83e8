package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Clone copies a data folder that no process uses, or that of a snapshot of a volume, with
// its index: a server on the copy serves at once what the other one did. What only one
// server may have stays behind, see [RestoreConfig].
func Clone(ctx context.Context, cfg RestoreConfig, from string) error {
	if err := outside(from, cfg.DataDir); err != nil {
		return err
	}
	return cfg.restore(func(staging string) error {
		// What an earlier call has copied may be older than what is there now.
		if err := errors.Join(os.RemoveAll(staging), os.MkdirAll(staging, 0o700)); err != nil {
			return err
		}
		files, err := toClone(from)
		if err != nil {
			return err
		}
		all := int64(0)
		for _, f := range files {
			all += f.size
		}
		if len(files) == 0 {
			return fmt.Errorf("%s: %w", from, errNothing)
		}
		if err := cfg.room(uint64(all)); err != nil { // not negative
			return err
		}
		done := int64(0)
		for _, f := range files {
			if err := cloneFile(ctx, f.path, filepath.Join(staging, f.name)); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			done += f.size
			cfg.progress(done, all)
		}
		return nil
	})
}

// toClone returns the files that a clone has. Their sizes are the bytes that they take.
func toClone(from string) (files []item, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		top, _, nested := strings.Cut(filepath.ToSlash(name), "/")
		if e.IsDir() {
			if name == "." || top == archiveDir || top == indexDir || top == resultsDir {
				return nil
			}
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() || e.Name() == "LOCK" || strings.HasSuffix(name, ".tmp") || !nested && (!single(name) || name == identityName) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := item{name: name, path: path, size: info.Size()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			f.size = min(f.size, 512*st.Blocks)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// cloneFile copies a file but for its holes: a database that was not closed, as in a
// snapshot, has logs that are mostly one.
func cloneFile(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyData(w, r), w.Close())
}

// copyData copies what a file has between its holes.
func copyData(w, r *os.File) error {
	end, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for at := int64(0); at < end; {
		from, err := r.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // the rest is a hole
			break
		}
		if err != nil {
			return err
		}
		if at, err = r.Seek(from, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := r.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := w.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(w, r, at-from); err != nil {
			return err
		}
	}
	return w.Truncate(end)
}
