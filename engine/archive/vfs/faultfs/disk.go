// Package faultfs is a disk in memory that fails as disks do: it loses what was not
// synced when the power goes, keeps parts of it, tears writes, has no room, and flips bits.
package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"quorate/engine/archive/vfs"
)

// ErrPower is returned from when the power is gone.
var ErrPower = errors.New("faultfs: the power is gone")

// Disk is a disk; the zero value is empty and has no faults.
type Disk struct {
	mu    sync.Mutex // guards what follows
	names map[string]*inode
	// kept are the names that are on the disk, changes those that are not yet, in order.
	kept    map[string]*inode
	changes []change
	dirs    map[string]bool
	ops     int
	power   int // the power goes after so many operations; 0: never
	dead    bool
	fail    func(op, name string) error
}

// change is a name that was given or taken away.
type change struct {
	dir, name string
	to        *inode // nil: taken away
	from      string // renamed: taken away with it
}

// inode is the content of a file.
type inode struct {
	data   []byte
	kept   []byte // what is on the disk
	writes []write
}

// write is a change of content that is not on the disk yet.
type write struct {
	offset   int64
	data     []byte
	truncate bool // to offset
}

var _ vfs.FS = (*Disk)(nil)

// PowerOff has the power go after n more operations that change something: the
// last of them has been done, and reports an error all the same.
func (d *Disk) PowerOff(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.power = d.ops + n
}

// Ops returns the number of operations so far that changed something.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Fail has f asked before each operation that changes something: an error of f is
// that of the operation, which leaves half of what it writes. Nil ends it.
func (d *Disk) Fail(f func(op, name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = f
}

// op counts an operation. The caller has done it when the power goes with it.
func (d *Disk) begin(op, name string) error {
	if d.dead {
		return ErrPower
	}
	if d.names == nil {
		d.names, d.kept, d.dirs = map[string]*inode{}, map[string]*inode{}, map[string]bool{}
	}
	if d.fail != nil {
		if err := d.fail(op, name); err != nil {
			return fmt.Errorf("%s %s: %w", op, name, err)
		}
	}
	d.ops++
	return nil
}

// end reports that the power went with the operation that was just done.
func (d *Disk) end() error {
	if d.power > 0 && d.ops >= d.power {
		d.dead = true
		return ErrPower
	}
	return nil
}

// Loss says what a disk keeps of what was not synced when the power goes.
type Loss int

// What is kept.
const (
	Nothing    Loss = iota
	Everything      // as if it had been synced
	Some            // any part of it: later writes without earlier ones, torn ones; names in order
)

// After returns the disk as it is found after the power went.
func (d *Disk) After(loss Loss, rng *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &Disk{names: map[string]*inode{}, kept: map[string]*inode{}, dirs: map[string]bool{}}
	for dir := range d.dirs {
		next.dirs[dir] = true
	}
	names := make(map[string]*inode, len(d.kept))
	for name, i := range d.kept {
		names[name] = i
	}
	n := 0
	switch loss {
	case Everything:
		n = len(d.changes)
	case Some:
		n = rng.IntN(len(d.changes) + 1)
	}
	for _, c := range d.changes[:n] {
		c.apply(names)
	}
	after := make(map[*inode]*inode)
	for _, name := range sorted(names) {
		i := names[name]
		if after[i] == nil {
			after[i] = i.after(loss, rng)
		}
		next.names[name], next.kept[name] = after[i], after[i]
	}
	return next
}

func sorted(names map[string]*inode) []string {
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (c *change) apply(names map[string]*inode) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.to == nil {
		delete(names, c.name)
		return
	}
	names[c.name] = c.to
}

// after returns the content that is found after the power went.
func (i *inode) after(loss Loss, rng *rand.Rand) *inode {
	data := slices.Clone(i.kept)
	switch loss {
	case Everything:
		data = slices.Clone(i.data)
	case Some:
		for _, w := range i.writes {
			switch rng.IntN(3) {
			case 0: // all of it
			case 1:
				continue
			case 2:
				if w.truncate {
					continue
				}
				// Any part of it, behind which the file may have zeros.
				end := w.offset + int64(len(w.data))
				cut := rng.IntN(len(w.data) + 1)
				w.data = w.data[:cut]
				if rng.IntN(2) == 0 && end > int64(len(data)) {
					data = append(data, make([]byte, end-int64(len(data)))...)
				}
			}
			data = w.apply(data)
		}
	}
	return &inode{data: data, kept: slices.Clone(data)}
}

func (w *write) apply(data []byte) []byte {
	end := w.offset + int64(len(w.data))
	if w.truncate && int64(len(data)) > w.offset {
		return data[:w.offset]
	}
	if int64(len(data)) < end {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[w.offset:], w.data)
	return data
}

// Names returns the files and their sizes in bytes.
func (d *Disk) Names() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	sizes := make(map[string]int)
	for name, i := range d.names {
		sizes[name] = len(i.data)
	}
	return sizes
}

// Flip flips a bit of a file for good.
func (d *Disk) Flip(name string, bit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.names[name]
	i.data = slices.Clone(i.data)
	i.data[bit/8] ^= 1 << (bit % 8)
	i.kept, i.writes = slices.Clone(i.data), nil
}

// Clone returns a disk with the same content, all of it synced, and no faults.
func (d *Disk) Clone() *Disk { return d.After(Everything, nil) }

// Create implements [vfs.FS].
func (d *Disk) Create(name string) (vfs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("create", name); err != nil {
		return nil, err
	}
	i := d.names[name]
	if i == nil {
		i = &inode{}
		d.names[name] = i
		d.changes = append(d.changes, change{dir: filepath.Dir(name), name: name, to: i})
	}
	i.data, i.writes = nil, append(i.writes, write{truncate: true})
	return &file{d: d, name: name, i: i}, d.end()
}

func (d *Disk) open(name string, writable bool) (vfs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrPower
	}
	i := d.names[name]
	if i == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{d: d, name: name, i: i, readOnly: !writable}, nil
}

// Open implements [vfs.FS].
func (d *Disk) Open(name string) (vfs.File, error) { return d.open(name, false) }

// OpenWrite implements [vfs.FS].
func (d *Disk) OpenWrite(name string) (vfs.File, error) { return d.open(name, true) }

// Rename implements [vfs.FS].
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("rename", from); err != nil {
		return err
	}
	i := d.names[from]
	if i == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	c := change{dir: filepath.Dir(to), name: to, to: i, from: from}
	c.apply(d.names)
	d.changes = append(d.changes, c)
	return d.end()
}

// Remove implements [vfs.FS].
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("remove", name); err != nil {
		return err
	}
	if d.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	c := change{dir: filepath.Dir(name), name: name}
	c.apply(d.names)
	d.changes = append(d.changes, c)
	return d.end()
}

// List implements [vfs.FS].
func (d *Disk) List(dir string) ([]vfs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrPower
	}
	if !d.dirs[dir] {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: fs.ErrNotExist}
	}
	var list []vfs.FileInfo
	for _, name := range sorted(d.names) {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok && !strings.Contains(rest, "/") {
			list = append(list, vfs.FileInfo{Name: rest, Size: int64(len(d.names[name].data))})
		}
	}
	return list, nil
}

// MkdirAll implements [vfs.FS].
func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("mkdir", dir); err != nil {
		return err
	}
	d.dirs[dir] = true
	return d.end()
}

// SyncDir implements [vfs.FS].
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("syncdir", dir); err != nil {
		return err
	}
	d.changes = slices.DeleteFunc(d.changes, func(c change) bool {
		if c.dir == dir {
			c.apply(d.kept)
		}
		return c.dir == dir
	})
	return d.end()
}

// file is an open file.
type file struct {
	d        *Disk
	name     string
	i        *inode
	readOnly bool
}

// ReadAt implements [io.ReaderAt].
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.dead {
		return 0, ErrPower
	}
	if offset >= int64(len(f.i.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.i.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// change does a write, or half of it when it is to fail.
func (f *file) change(op string, w write) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.readOnly {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrPermission}
	}
	err := f.d.begin(op, f.name)
	if errors.Is(err, ErrPower) {
		return err
	}
	if err != nil {
		w.data = w.data[:len(w.data)/2]
	}
	if err == nil || !w.truncate {
		w.data = slices.Clone(w.data)
		f.i.data = w.apply(slices.Clone(f.i.data))
		f.i.writes = append(f.i.writes, w)
	}
	return errors.Join(err, f.d.end())
}

// WriteAt implements [io.WriterAt].
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.change("write", write{offset: offset, data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Truncate implements [vfs.File].
func (f *file) Truncate(size int64) error {
	return f.change("truncate", write{offset: size, truncate: true})
}

// Size implements [vfs.File].
func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.dead {
		return 0, ErrPower
	}
	return int64(len(f.i.data)), nil
}

// Sync implements [vfs.File].
func (f *file) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.begin("sync", f.name); err != nil {
		return err
	}
	f.i.kept, f.i.writes = slices.Clone(f.i.data), nil
	return f.d.end()
}

// Close implements [io.Closer].
func (f *file) Close() error { return nil }
