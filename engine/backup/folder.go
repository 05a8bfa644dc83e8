package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// readManifest reads the manifest of a backup in a folder.
func readManifest(dir string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	return parseManifest(b)
}

// putFile copies a file into a backup's folder.
func putFile(dir, name string, size int64, r io.Reader) (f File, err error) {
	f = File{Name: name, Size: size}
	tmp := filepath.Join(dir, "files", "copying.tmp")
	if f.Sum, err = writeSynced(tmp, size, r); err != nil {
		return f, errors.Join(err, os.Remove(tmp))
	}
	to := filepath.Join(dir, filepath.FromSlash(f.stored()))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return f, err
	}
	if err := os.Rename(tmp, to); err != nil {
		return f, err
	}
	return f, syncDir(filepath.Dir(to))
}

// writeSynced writes a file that is on disk on return, and returns its SHA-256.
func writeSynced(path string, size int64, r io.Reader) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if sum, err = copySum(f, r, size); err == nil {
		err = f.Sync()
	}
	return sum, errors.Join(err, f.Close())
}

// writeWhole replaces a file in one step.
func writeWhole(path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sweep removes files that the manifest does not name.
func sweep(dir string, m *Manifest) error {
	named := make(map[string]bool)
	for i := range m.Files {
		named[filepath.Join(dir, filepath.FromSlash(m.Files[i].stored()))] = true
	}
	return filepath.WalkDir(filepath.Join(dir, "files"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || named[path] {
			return err
		}
		return os.Remove(path)
	})
}

// checkStored compares a file with its entry.
func checkStored(path string, f *File) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	sum, err := copySum(io.Discard, r, f.Size)
	if err == nil && sum != f.Sum {
		err = errors.New("its checksum differs")
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, err)
	}
	return nil
}
