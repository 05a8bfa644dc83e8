package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
)

// VerifyConfig says what is verified.
type VerifyConfig struct {
	DataDir string // a server may use it
	// Database checks the database in a folder, if there is one; results says that
	// it is the one of results.
	Database func(dir string, results bool) error
	// Found is called with what is damaged; part is a chain or a database.
	Found func(part string, err error)
	// Sound is called with what is not.
	Sound func(part, what string)
	// Progress, if not nil, is called with the bytes of a chain's archive that have been
	// read, and those that there are.
	Progress func(part string, done, of int64)
}

// VerifyData reads the archives of all chains and the databases, and checks them. The
// error is about what could not be read at all.
func VerifyData(ctx context.Context, cfg VerifyConfig) error {
	chains, err := os.ReadDir(filepath.Join(cfg.DataDir, archiveDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	databases := 0
	var errs []error
	for _, e := range chains {
		if e.IsDir() {
			errs = append(errs, cfg.chain(ctx, e.Name()))
		}
	}
	for _, name := range []string{resultsDir, indexDir} {
		dir := filepath.Join(cfg.DataDir, name)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		databases++
		if err := cfg.Database(dir, name == resultsDir); err != nil {
			cfg.Found("database "+name, err)
			continue
		}
		cfg.Sound("database "+name, "sound")
	}
	if len(chains) == 0 && databases == 0 {
		return fmt.Errorf("%s: %w", cfg.DataDir, errNothing)
	}
	return errors.Join(errs...)
}

// chain verifies the archive of a chain.
func (c *VerifyConfig) chain(ctx context.Context, id string) error {
	dir := filepath.Join(c.DataDir, archiveDir, id)
	kind, err := archive.KindOf(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is in it
	}
	if err != nil {
		return err
	}
	a, err := archive.Open(dir, archive.Options{Kind: kind, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("chain %s: %w", id, err)
	}
	defer a.Close() // nothing was written
	part := "chain " + id
	found, err := a.Verify(ctx, func(done, of int64) {
		if c.Progress != nil {
			c.Progress(part, done, of)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", part, err)
	}
	for i := range found {
		c.Found(part, &found[i])
	}
	if len(found) > 0 {
		return nil
	}
	first, _, _ := a.First()
	last, _, _ := a.Last()
	again := ""
	if of, ok := container.ChainOf(kind); ok {
		n, err := container.NewReader(a, of).Recode(ctx, first, last)
		if d := (*archive.Damage)(nil); errors.As(err, &d) {
			c.Found(part, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		again = fmt.Sprintf(", %d decoded and encoded again", n)
	}
	c.Sound(part, fmt.Sprintf("blocks %d to %d in %d files, %d bytes, sound%s", first, last, len(a.Files()), a.Size(), again))
	return nil
}
