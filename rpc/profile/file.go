package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// pending is a file being written under a temporary name. Its folder is held
// open, so it ends up where it was begun. The first error of a write is kept for
// commit, because the CPU profile's writer has nobody to tell.
type pending struct {
	name   string
	root   *os.Root
	file   *os.File
	failed error
}

// create begins the file called name in dir, which it makes where needed.
func create(dir, name string) (*pending, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, plain("make the profile folder", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain("open the profile folder", err)
	}
	p := &pending{name: name, root: root}
	// What a crash has left goes; a link goes itself and not what it points to. That
	// the file must be new then means that no link is followed to write it.
	err = root.Remove(p.temporary())
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		p.file, err = root.OpenFile(p.temporary(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	}
	if err != nil {
		return nil, errors.Join(plain("make "+name, err), plain("close the profile folder", root.Close()))
	}
	return p, nil
}

func (p *pending) temporary() string { return p.name + ".tmp" }

// Write appends to the temporary file.
func (p *pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if p.failed == nil {
		p.failed = err
	}
	return n, err
}

// commit gives the file its name. On an error nothing is left of it, and what
// had the name before is still there.
func (p *pending) commit() error {
	err := p.failed
	if err == nil {
		err = p.file.Sync()
	}
	if closeErr := p.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = p.root.Rename(p.temporary(), p.name)
	}
	if err != nil {
		err = errors.Join(plain("write "+p.name, err), p.remove())
	}
	return errors.Join(err, plain("close the profile folder", p.root.Close()))
}

// drop removes the temporary file.
func (p *pending) drop() error {
	return errors.Join(
		plain("close "+p.name, p.file.Close()),
		p.remove(),
		plain("close the profile folder", p.root.Close()),
	)
}

func (p *pending) remove() error {
	err := p.root.Remove(p.temporary())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return plain("remove what was begun of "+p.name, err)
}

// plain says what failed without the path.
func plain(what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}
