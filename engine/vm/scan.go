package vm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quorate/engine/chain"
)

// maxFiles bounds what a load looks at: a folder with more entries is not a plugin folder.
const maxFiles = 1000

// ErrNoFolder is returned by Load when the folder named by the operator does not exist.
var ErrNoFolder = errors.New("the plugin folder does not exist")

// candidate is a file that names a VM.
type candidate struct {
	file string // its name in the folder
	id   chain.ID
	info fs.FileInfo // of what a symbolic link leads to
}

// scan lists the files of the plugin folder that name a VM. Those that do not
// are in failed under an ID that stands for the file. Folders and dot files are skipped.
func (l *Loader) scan() (found []candidate, failed map[string]string, err error) {
	failed = make(map[string]string)
	entries, err := l.list()
	if err != nil {
		return nil, nil, err
	}
	taken := make(map[chain.ID]string)
	for _, file := range entries {
		if strings.HasPrefix(file, ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(l.cfg.Dir, file))
		if err == nil && info.IsDir() {
			continue
		}
		name := strings.TrimSuffix(file, filepath.Ext(file))
		id, ok := l.names.lookup(name)
		switch first, again := taken[id]; {
		case !ok:
			failed[standIn(file).String()] = fmt.Sprintf("invalid vmID: %q", clean(name, maxText))
		case again:
			failed[standIn(file).String()] = fmt.Sprintf("VM %s is the file %q already; %q is left out", id, first, clean(file, maxText))
		case err != nil:
			failed[id.String()] = bare(err).Error()
		case !info.Mode().IsRegular():
			failed[id.String()] = "not a regular file"
		default:
			found = append(found, candidate{file: file, id: id, info: info})
			taken[id] = file
		}
	}
	return found, failed, nil
}

// standIn returns the ID under which a file is named that is no VM: clients only
// take IDs. It is the name filled up with zeros, as IDs of VMs are made of names,
// or the hash of a longer one.
func standIn(file string) (id chain.ID) {
	if len(file) > len(id) {
		return sha256.Sum256([]byte(file))
	}
	copy(id[:], file)
	return id
}

// list returns the names in the plugin folder in order.
func (l *Loader) list() ([]string, error) {
	if l.cfg.Dir == "" {
		return nil, nil
	}
	dir, err := os.Open(l.cfg.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		if l.cfg.DirRequired {
			return nil, ErrNoFolder
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the plugin folder cannot be read: %w", bare(err))
	}
	defer dir.Close() // nothing was written
	files, err := dir.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the plugin folder cannot be read: %w", bare(err))
	}
	if len(files) > maxFiles {
		return nil, fmt.Errorf("the plugin folder holds more than %d files", maxFiles)
	}
	slices.Sort(files)
	return files, nil
}

// bare takes the path out of a file error: answers do not tell where files are.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	if sysErr, ok := errors.AsType[*os.SyscallError](err); ok {
		return sysErr.Err
	}
	return err
}
