package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// stagingName is the folder in which a restore gathers what it puts into place.
	stagingName = "restore.tmp"
	// completeName is in it when everything is there: from then on the restore can only
	// be finished.
	completeName = "COMPLETE"
)

// ErrNotEmpty is returned when a data folder has data and they were not to be replaced.
var ErrNotEmpty = errors.New("the data folder is not empty")

// ErrUnfinished is returned for a data folder in which a restore was ended while it
// put files into place.
var ErrUnfinished = errors.New("a restore into this data folder was not finished: run quorate restore again")

// RestoreConfig says where a backup is restored to.
type RestoreConfig struct {
	DataDir string // no server may use it
	// Force replaces what is there.
	Force bool
	// Same: the server of the backup is gone, and this is the same one. It has its identity,
	// webhooks and operations, which two servers must not have at once.
	Same bool
	// Results makes the results database in a folder.
	Results func(dir string, r io.Reader) error
	// Disown removes webhooks and operations from the results database in a folder.
	Disown func(dir string) error
	// Left, if not nil, is called with each file of the backup that is left out.
	Left func(name string)
	// Free returns the free bytes of a folder's volume.
	Free func(dir string) (uint64, error)
	// Progress, if not nil, is called with the bytes copied and those to copy, 0 if
	// that is not known.
	Progress func(done, of int64)

	moved func() error // called by tests before each file is put into place
}

// Pending reports whether a restore into a data folder has to be finished first.
func Pending(dataDir string) error {
	if _, err := os.Stat(filepath.Join(dataDir, stagingName, completeName)); err == nil {
		return ErrUnfinished
	}
	return nil
}

// FromDir restores the backup in a folder.
func FromDir(ctx context.Context, cfg RestoreConfig, dir string) error {
	return cfg.restore(func(staging string) error {
		m, err := readManifest(dir)
		if err != nil {
			return err
		}
		need := uint64(0)
		for i := range m.Files {
			if f := &m.Files[i]; checkStored(cfg.staged(f.Name), f) != nil {
				need += uint64(f.Size)
			}
		}
		if err := cfg.room(need); err != nil {
			return err
		}
		done := int64(0)
		for i := range m.Files {
			f := &m.Files[i]
			if err := cfg.stage(ctx, f, filepath.Join(dir, filepath.FromSlash(f.stored()))); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			done += f.Size
			cfg.progress(done, m.Bytes())
		}
		return nil
	})
}

// FromStream restores a backup from a tar file.
func FromStream(ctx context.Context, cfg RestoreConfig, r io.Reader) error {
	return cfg.restore(func(staging string) error {
		t := tar.NewReader(r)
		sums, done := make(map[string]File), int64(0)
		for {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: it ends before its manifest", ErrDamaged)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", ErrDamaged, err)
			}
			if h.Name == manifestName {
				return cfg.compare(t, sums)
			}
			if err := checkName(h.Name); err != nil {
				return err
			}
			if err := cfg.room(uint64(h.Size)); err != nil { // its size is never negative
				return fmt.Errorf("%s: %w", h.Name, err)
			}
			path := cfg.staged(h.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			sum, err := writeSynced(path, h.Size, t)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: %w", ErrDamaged, err)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", h.Name, err)
			}
			sums[h.Name] = File{Name: h.Name, Size: h.Size, Sum: sum}
			done += h.Size
			cfg.progress(done, 0)
		}
	})
}

// room reports as an error that there is no room for so many bytes.
func (c *RestoreConfig) room(need uint64) error {
	if c.Free == nil {
		return nil
	}
	free, err := c.Free(c.DataDir)
	if err == nil && (free < minFree || free-minFree < need) {
		err = fmt.Errorf("%s: %d bytes are free, %d are to be copied and %d must stay free", c.DataDir, free, need, minFree)
	}
	return err
}

// compare compares what was staged with the manifest at the end of a stream.
func (c *RestoreConfig) compare(r io.Reader, got map[string]File) error {
	b, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	m, err := parseManifest(b)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if g := got[f.Name]; g.Sum != f.Sum || g.Size != f.Size {
			return fmt.Errorf("%w: %s", ErrDamaged, f.Name)
		}
		delete(got, f.Name)
	}
	for name := range got {
		return fmt.Errorf("%w: %s is not in its manifest", ErrDamaged, name)
	}
	return nil
}

func (c *RestoreConfig) progress(done, of int64) {
	if c.Progress != nil {
		c.Progress(done, of)
	}
}

func (c *RestoreConfig) staged(name string) string {
	return filepath.Join(c.DataDir, stagingName, filepath.FromSlash(name))
}

// stage copies a file into the staging folder, unless it is there from an earlier try.
func (c *RestoreConfig) stage(ctx context.Context, f *File, from string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	to := c.staged(f.Name)
	if checkStored(to, f) == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close() // nothing was written
	sum, err := writeSynced(to, f.Size, r)
	if err == nil && sum != f.Sum {
		err = fmt.Errorf("%w: its checksum differs", ErrDamaged)
	}
	return err
}

// restore gathers everything with fill and puts it into place. Up to then what is in the
// data folder is as it was.
func (c *RestoreConfig) restore(fill func(staging string) error) error {
	staging := filepath.Join(c.DataDir, stagingName)
	if Pending(c.DataDir) != nil {
		return c.place(staging)
	}
	used, err := c.used()
	if err != nil {
		return err
	}
	if used != "" && !c.Force {
		return fmt.Errorf("%w: %s has %s; --force replaces it", ErrNotEmpty, c.DataDir, used)
	}
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return err
	}
	if err := fill(staging); err != nil {
		return err
	}
	if err := c.makeResults(staging); err != nil {
		return err
	}
	if err := c.disown(staging); err != nil {
		return err
	}
	if err := syncTree(staging); err != nil {
		return err
	}
	// The mark names what is put into place, for a restore that is continued.
	var names []string
	entries, err := os.ReadDir(staging)
	for _, e := range entries {
		if e.Name() != resultsName && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	if err == nil {
		err = writeWhole(filepath.Join(staging, completeName), []byte(strings.Join(names, "\n")))
	}
	if err != nil {
		return err
	}
	return c.place(staging)
}

// used returns something that is in the data folder; empty if there is nothing.
func (c *RestoreConfig) used() (string, error) {
	entries, err := os.ReadDir(c.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, e := range entries {
		if e.Name() != stagingName && e.Name() != "lost+found" {
			return e.Name(), nil
		}
	}
	return "", err
}

// makeResults makes the results database of the backup's file.
func (c *RestoreConfig) makeResults(staging string) error {
	path := filepath.Join(staging, resultsName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || c.Results == nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	dir := filepath.Join(staging, resultsDir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return c.Results(dir, f)
}

// disown takes out of the staging folder what only one server may have.
func (c *RestoreConfig) disown(staging string) error {
	if c.Same {
		return nil
	}
	switch err := os.Remove(filepath.Join(staging, identityName)); {
	case err == nil && c.Left != nil:
		c.Left(identityName)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Join(staging, resultsDir)
	if _, err := os.Stat(dir); err != nil || c.Disown == nil {
		return nil // there are none
	}
	return c.Disown(dir)
}

// place moves everything from the staging folder to where it belongs. It can be done
// again after it was ended at any point: what has been moved is not in the staging
// folder any more.
func (c *RestoreConfig) place(staging string) error {
	mark, err := os.ReadFile(filepath.Join(staging, completeName))
	if err != nil {
		return err
	}
	names := strings.Split(string(mark), "\n")
	// What the backup does not have goes too, or it would be mixed with what it has. The
	// index follows from the archive that it was made of, and from no other one.
	for _, name := range []string{indexDir, resultsDir, archiveDir, "token.key", "aliases.json"} {
		if !slices.Contains(names, name) {
			if err := os.RemoveAll(filepath.Join(c.DataDir, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		from, to := filepath.Join(staging, name), filepath.Join(c.DataDir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) || name == "" {
			continue // moved before
		}
		if c.moved != nil {
			if err := c.moved(); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	if err := syncDir(c.DataDir); err != nil {
		return err
	}
	// The mark last: without it the rest of the staging folder is only waste.
	if err := os.Remove(filepath.Join(staging, completeName)); err != nil {
		return err
	}
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	return syncDir(c.DataDir)
}

// syncTree has a folder and all that is in it on disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return syncDir(path)
	})
}
