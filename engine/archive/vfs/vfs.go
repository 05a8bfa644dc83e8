// Package vfs is what an archive needs of a file system, so that tests can put one in
// its place that fails, tears, flips bits and loses what was not synced.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system. Names are paths; errors about files that do not exist wrap
// [fs.ErrNotExist].
type FS interface {
	// Create makes an empty file, also in place of one that is there.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// OpenWrite opens a file that exists for reading and writing.
	OpenWrite(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// List returns the names and sizes of the files in a folder.
	List(dir string) ([]FileInfo, error)
	// MkdirAll makes a folder and those around it, and has them on disk on return.
	MkdirAll(dir string) error
	// SyncDir has the names in a folder on disk on return.
	SyncDir(dir string) error
}

// FileInfo is a file in a folder.
type FileInfo struct {
	Name string
	Size int64
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync has all that was written on disk on return.
	Sync() error
}

// OS is the file system of the machine.
type OS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Create implements [FS].
func (OS) Create(name string) (File, error) { return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC) }

// Open implements [FS].
func (OS) Open(name string) (File, error) { return open(name, os.O_RDONLY) }

// OpenWrite implements [FS].
func (OS) OpenWrite(name string) (File, error) { return open(name, os.O_RDWR) }

// Rename implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements [FS].
func (OS) Remove(name string) error { return os.Remove(name) }

// List implements [FS].
func (OS) List(dir string) ([]FileInfo, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []FileInfo
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed or pruned meanwhile, by the server that owns the folder
		}
		if err != nil {
			return nil, err
		}
		files = append(files, FileInfo{Name: e.Name(), Size: st.Size()})
	}
	return files, nil
}

// MkdirAll implements [FS].
func (o OS) MkdirAll(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	// The two uppermost that may be new: the chain's folder and the archive's.
	parent := filepath.Dir(dir)
	return errors.Join(o.SyncDir(parent), o.SyncDir(filepath.Dir(parent)))
}

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
