package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"quorate/engine/chain"
	"quorate/engine/chains"
	"quorate/engine/index"
	"quorate/engine/store"
	"quorate/p2p"
)

// State is what can be seen of a data folder without a change to it.
type State struct {
	// Exists is false of a folder that would be made.
	Exists bool
	// InUse is set while a process has the folder's databases open. User is its number,
	// or 0 if it is not known.
	InUse bool
	User  int
	// Free are the bytes that are free on its volume, and Total all of them.
	Free, Total uint64
	// Node is the identity by which validators know us; nil if it would be made.
	Node *chain.NodeID
	// Archives are the names of the folders with blocks of chains.
	Archives []string
	// Indexed is set if there is an index. Stale are the tables, of any EVM chain, that a
	// server would make again, and Unread says why they are not known.
	Indexed bool
	Stale   []string
	Unread  error
}

// Room reports why a server would not start for want of space, or why it would write
// nothing or be called unhealthy.
func (f *State) Room() (start, serve error) {
	if f.Free < MinOpen {
		start = fmt.Errorf("%d bytes are free, at least %d are needed to start", f.Free, MinOpen)
	}
	switch {
	case f.Free < MinRoom:
		serve = fmt.Errorf("%d bytes are free, nothing is written below %d", f.Free, MinRoom)
	case f.Free < MinFreeBytes || float64(f.Free) < MinFreeShare*float64(f.Total):
		serve = fmt.Errorf("%d bytes are free, health fails below %d and below %.0f%% of the volume", f.Free, MinFreeBytes, 100*MinFreeShare)
	}
	return start, serve
}

// Examine looks at a data folder as a server would, and changes nothing.
// The error says why a server could not use it.
func Examine(dir string) (f State, err error) {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := existing(dir)
		if f.Free, f.Total, err = Space(above); err != nil {
			return f, err
		}
		if err := unix.Faccessat(unix.AT_FDCWD, above, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
			return f, fmt.Errorf("it cannot be made in %s: %w", above, err)
		}
		return f, nil
	case err != nil:
		return f, err
	case !st.IsDir():
		return f, fmt.Errorf("%s is a file, not a folder", dir)
	}
	f.Exists = true
	if f.Free, f.Total, err = Space(dir); err != nil {
		return f, err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return f, fmt.Errorf("it cannot be written to: %w", err)
	}
	return f, f.look(dir)
}

// look reads what a folder that is there has.
func (f *State) look(dir string) (err error) {
	cert, err := p2p.LoadCertificate(filepath.Join(dir, IdentityName))
	if err == nil {
		id := chain.NodeIDFromCert(cert.Leaf.Raw)
		f.Node = &id
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_, wrongNames := chains.Open(filepath.Join(dir, AliasesName))
	var e error
	f.InUse, f.User, e = User(dir)
	err = errors.Join(err, e)
	_, missing := os.Stat(filepath.Join(dir, IndexDir, "MANIFEST"))
	if f.Indexed = missing == nil; f.Indexed && !f.InUse {
		stale, err := index.Peek(filepath.Join(dir, IndexDir))
		f.Stale, f.Unread = Names(stale), err
	}
	list, e := os.ReadDir(filepath.Join(dir, ArchiveDir))
	if errors.Is(e, fs.ErrNotExist) {
		e = nil
	}
	for _, entry := range list {
		if entry.IsDir() {
			f.Archives = append(f.Archives, entry.Name())
		}
	}
	return errors.Join(err, wrongNames, e)
}

// existing returns the folder that is there, nearest to one that is not.
func existing(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	for {
		above := filepath.Dir(dir)
		if _, err := os.Stat(above); err == nil || above == dir {
			return above
		}
		dir = above
	}
}

// CheckUnused returns an error if nothing can be written to a data folder, or if another
// process uses it: that wraps [store.ErrInUse]. A server finds that out too, only later.
func CheckUnused(dir string) error {
	at := dir
	if st, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		at = existing(dir)
	} else if err == nil && !st.IsDir() {
		return fmt.Errorf("data folder: %s is a file, not a folder", dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, at, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("data folder: %s cannot be written to: %w", at, err)
	}
	used, by, err := User(dir)
	for waited := time.Duration(0); used && waited < store.LockWait; waited += store.LockWait / 20 {
		<-time.After(store.LockWait / 20)
		used, by, err = User(dir)
	}
	if used {
		return fmt.Errorf("%s, process %d: %w: stop the other one, or give this one a data folder of its own", dir, by, store.ErrInUse)
	}
	return err
}

// User returns whether a process uses a data folder, and which: 0 if that is not known.
func User(dir string) (used bool, pid int, err error) {
	for _, name := range []string{ResultsDir, IndexDir} {
		one, e := inUse(filepath.Join(dir, name))
		used, err = used || one, errors.Join(err, e)
	}
	if used {
		// What Badger writes beside its lock.
		text, _ := os.ReadFile(filepath.Join(dir, ResultsDir, "LOCK"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return used, pid, err
}

// inUse reports whether a process has a database open. It asks for the lock that a
// reader would take, and has it for no longer than it takes to let it go.
func inUse(dir string) (bool, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer d.Close() // lets go of the lock
	err = unix.Flock(int(d.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
