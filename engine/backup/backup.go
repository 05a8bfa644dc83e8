package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quorate/engine/archive"
)

// Config says what is copied.
type Config struct {
	// DataDir is the data folder; a server may use it.
	DataDir string
	// Identity copies the server's key too.
	Identity bool
	// Results writes the kept results; nil: there are none.
	Results func(ctx context.Context, w io.Writer) error
	// Free returns the free bytes of a folder's volume.
	Free func(dir string) (uint64, error)
	// Progress, if not nil, is called with the bytes copied and those to copy.
	Progress func(done, of int64)
}

// errNothing is returned when a data folder has nothing that is copied.
var errNothing = errors.New("nothing is there: is it the data folder, and its volume mounted?")

// minFree stays free on a volume that is copied to.
const minFree = 64 << 20

// item is a file to copy.
type item struct {
	name, path string
	size       int64 // of a file that grows what was acknowledged
	grows      bool  // what is there stays; others may be replaced as a whole
	modified   int64 // 0: always copied
}

// copier is one run of Backup.
type copier struct {
	ctx      context.Context
	cfg      *Config
	done, of int64
	old      map[string]File // of the backup before, by name
	put      func(name string, size int64, r io.Reader) (File, error)
	files    []File
}

// ToDir copies into a folder, which may hold an earlier backup: only what has
// changed since is copied.
func ToDir(ctx context.Context, cfg Config, dir string) (*Manifest, error) {
	if err := outside(cfg.DataDir, dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		return nil, err
	}
	old, err := readManifest(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := &copier{ctx: ctx, cfg: &cfg, old: make(map[string]File)}
	c.put = func(name string, size int64, r io.Reader) (File, error) { return putFile(dir, name, size, r) }
	if old != nil {
		for _, f := range old.Files {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.stored()))); err == nil {
				c.old[f.Name] = f
			}
		}
	}
	m, err := c.run(dir)
	if err != nil {
		return nil, err
	}
	b, err := m.encode()
	if err == nil {
		err = writeWhole(filepath.Join(dir, manifestName), b)
	}
	if err != nil {
		return nil, err
	}
	return m, sweep(dir, m)
}

// outside returns an error if a backup's folder is, by name, the data folder or within it.
func outside(data, dir string) error {
	from, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is in the data folder, and would be lost with it", dir)
	}
	return nil
}

// ToStream copies everything as a tar file.
func ToStream(ctx context.Context, cfg Config, w io.Writer) (*Manifest, error) {
	t := tar.NewWriter(w)
	c := &copier{ctx: ctx, cfg: &cfg}
	c.put = func(name string, size int64, r io.Reader) (File, error) {
		f := File{Name: name, Size: size}
		if err := t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX}); err != nil {
			return f, err
		}
		sum, err := copySum(t, r, size)
		f.Sum = sum
		return f, err
	}
	m, err := c.run("")
	if err != nil {
		return nil, err
	}
	b, err := m.encode()
	if err == nil {
		err = t.WriteHeader(&tar.Header{Name: manifestName, Size: int64(len(b)), Mode: 0o600, Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = t.Write(b)
	}
	return m, errors.Join(err, t.Close())
}

// run copies everything. room is the folder whose volume must have room; empty: none.
func (c *copier) run(room string) (*Manifest, error) {
	results, err := c.spool()
	if err != nil {
		return nil, err
	}
	if results != "" {
		defer os.Remove(results) // what is left is written over the next time
	}
	items, err := c.list(results)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		// As of a volume that is not mounted: the backup before must not give way to it.
		return nil, errNothing
	}
	for i := range items {
		if _, ok := c.kept(&items[i]); !ok {
			c.of += items[i].size
		}
	}
	if room != "" && c.cfg.Free != nil {
		free, err := c.cfg.Free(room)
		if err == nil && free < uint64(c.of)+minFree {
			err = fmt.Errorf("%s: %d bytes are free, %d are to be copied and %d must stay free", room, free, c.of, minFree)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range items {
		if err := c.copy(&items[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", items[i].name, err)
		}
	}
	return &Manifest{Format: formatNow, Time: time.Now().UTC().Truncate(time.Second), Identity: c.cfg.Identity, Files: c.files}, nil
}

// spool has the kept results in a file, so that their size is known, and returns its name.
func (c *copier) spool() (path string, err error) {
	if c.cfg.Results == nil {
		return "", nil
	}
	path = filepath.Join(c.cfg.DataDir, resultsName+".tmp")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if err := errors.Join(c.cfg.Results(c.ctx, f), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// list returns what is to be copied.
func (c *copier) list(results string) (items []item, err error) {
	entries, err := os.ReadDir(c.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && single(e.Name()) && (e.Name() != identityName || c.cfg.Identity) {
			items = append(items, item{name: e.Name(), path: filepath.Join(c.cfg.DataDir, e.Name()), size: -1})
		}
	}
	if results != "" {
		items = append(items, item{name: resultsName, path: results, size: -1})
	}
	chains, err := os.ReadDir(filepath.Join(c.cfg.DataDir, archiveDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range chains {
		if !e.IsDir() {
			continue
		}
		more, err := c.chain(e.Name())
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return items, c.stat(items)
}

// stat fills in sizes and times.
func (c *copier) stat(items []item) error {
	for i := range items {
		it := &items[i]
		st, err := os.Stat(it.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // copied from the file that took its place, see copy
		}
		if err != nil {
			return err
		}
		if it.size < 0 {
			it.size = st.Size()
		}
		if it.name != resultsName {
			it.modified = st.ModTime().UnixNano()
		}
	}
	return nil
}

// chain returns the files of a chain's archive.
func (c *copier) chain(id string) (items []item, err error) {
	dir := filepath.Join(c.cfg.DataDir, archiveDir, id)
	kind, err := archive.KindOf(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing is in it
	}
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(dir, archive.Options{Kind: kind, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer a.Close() // nothing was written
	known := make(map[string]bool)
	for _, f := range a.Files() {
		known[f.Name] = true
		items = append(items, item{name: archiveDir + "/" + id + "/" + f.Name, path: filepath.Join(dir, f.Name), size: f.Size, grows: f.Grows})
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		// What others keep beside the archive, for example blocks without a trace.
		if e.Type().IsRegular() && !known[e.Name()] && filepath.Ext(e.Name()) == ".json" {
			items = append(items, item{name: archiveDir + "/" + id + "/" + e.Name(), path: filepath.Join(dir, e.Name()), size: -1})
		}
	}
	return items, err
}

// kept returns the entry of the backup before, if the file is the same.
func (c *copier) kept(it *item) (File, bool) {
	f, ok := c.old[it.name]
	return f, ok && it.modified != 0 && f.Modified == it.modified && f.Size == it.size
}

// copy copies a file.
func (c *copier) copy(it *item) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	if f, ok := c.kept(it); ok {
		c.files = append(c.files, f)
		return nil
	}
	r, err := os.Open(it.path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(it.name, archiveDir+"/") {
		return c.sealedMeanwhile(it)
	}
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	if !it.grows {
		// It may be another file than was listed.
		st, err := r.Stat()
		if err != nil {
			return err
		}
		it.size = st.Size()
		if it.modified != 0 {
			it.modified = st.ModTime().UnixNano()
		}
	}
	f, err := c.put(it.name, it.size, &counted{c: c, r: io.LimitReader(r, it.size)})
	if err != nil {
		return err
	}
	f.Modified = it.modified
	c.files = append(c.files, f)
	return nil
}

// sealedMeanwhile copies what took the place of a file that the server sealed or
// pruned since it was listed.
func (c *copier) sealedMeanwhile(it *item) error {
	name, ok := strings.CutSuffix(it.name, ".live")
	if !ok {
		return nil // pruned, or not needed any more
	}
	now := item{name: name + ".seg", path: strings.TrimSuffix(it.path, ".live") + ".seg", size: -1}
	if _, err := os.Stat(now.path); err != nil {
		return nil // pruned
	}
	if slices.ContainsFunc(c.files, func(f File) bool { return f.Name == now.name }) {
		return nil
	}
	list := []item{now}
	if err := c.stat(list); err != nil {
		return err
	}
	return c.copy(&list[0])
}

// counted counts what is read.
type counted struct {
	c *copier
	r io.Reader
}

// Read implements [io.Reader].
func (r *counted) Read(p []byte) (int, error) {
	if err := r.c.ctx.Err(); err != nil {
		return 0, context.Cause(r.c.ctx)
	}
	n, err := r.r.Read(p)
	r.c.done += int64(n)
	if r.c.cfg.Progress != nil {
		r.c.cfg.Progress(r.c.done, max(r.c.of, r.c.done))
	}
	return n, err
}

// copySum copies size bytes and returns their SHA-256.
func copySum(w io.Writer, r io.Reader, size int64) (string, error) {
	h := sha256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(w, h)}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes, not %d", n, size)
	}
	return sumText(h), err
}

func sumText(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
