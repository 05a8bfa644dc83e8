package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quorate/engine/backup"
	"quorate/engine/folder"
	"quorate/engine/store"
	index "quorate/engine/store/index"
	"quorate/engine/store/results"
)

func backupCommand() *cobra.Command {
	var dataDir, to string
	var identity bool
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy what cannot be had again, also while the server runs",
		Long: `Copies the archives of all chains, the kept results, the key of page tokens and
names from the data folder, while a server uses it or not. The index is not
copied: it follows from the archives.

Into a folder it copies only what has changed since the last backup there, and
leaves that one whole until it has all. With "-" it writes a tar file to standard
output. --with-identity adds the key by which validators know the server: two
servers must not use it at once.`,
		Example: `  quorate backup --to /mnt/backup
  quorate backup --to - | ssh other quorate restore --from -`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBackup(cmd, dataDir, to, identity) },
	}
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "folder to copy to, or - for standard output (required)")
	flags.BoolVar(&identity, "with-identity", false, "copy the server's key too")
	flags.StringVar(&dataDir, "data-dir", defaultDataDir(), "data folder, which a server may use")
	addConfigFlag(cmd)
	return cmd
}

func runBackup(cmd *cobra.Command, dataDir, to string, identity bool) error {
	if to == "" {
		return usageError{errors.New("say where to: --to DIR, or --to -")}
	}
	shown := newMeter(cmd.ErrOrStderr(), "backup")
	cfg := backup.Config{DataDir: dataDir, Identity: identity, Free: folder.Free, Progress: shown.bytes}
	if _, err := os.Stat(filepath.Join(dataDir, "results")); err == nil {
		cfg.Results = func(ctx context.Context, w io.Writer) error { return backupResults(ctx, dataDir, w) }
	}
	var m *backup.Manifest
	var err error
	if to == "-" {
		m, err = backup.ToStream(cmd.Context(), cfg, cmd.OutOrStdout())
	} else {
		m, err = backup.ToDir(cmd.Context(), cfg, to)
	}
	shown.finish()
	if err != nil {
		return fmt.Errorf("backup of %s: %w", filepath.Clean(dataDir), err)
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "backup: %d files, %d bytes, of which %d were copied\n", len(m.Files), m.Bytes(), shown.done)
	return err
}

// backupResults writes the kept results: of the server that uses the data folder, or
// else from the database.
func backupResults(ctx context.Context, dataDir string, w io.Writer) error {
	err := askResults(ctx, dataDir, w)
	if !errors.Is(err, errNoServer) {
		return err
	}
	kept, err := results.Open(filepath.Join(dataDir, "results"), results.Options{})
	if err != nil {
		return err
	}
	return errors.Join(kept.Backup(w), kept.Close())
}

func restoreCommand() *cobra.Command {
	var dataDir, from string
	var force, same bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Put a backup into a data folder",
		Long: `Puts a backup into a data folder that no server uses. The next "quorate serve"
makes the index from the archives, without a node. Page tokens that the other
server gave out stay good.

Webhooks, exports and the identity are left behind, since the other server may go on
with them: --as-the-same restores them too, for a server that is gone.

Everything is gathered and checked beside what is there, which --force lets it
replace, and then put into place. A restore that was ended early left the folder
as it was, or is continued when it is called again.`,
		Example: `  quorate restore --from /mnt/backup --data-dir /var/lib/quorate
  quorate backup --to - | ssh other quorate restore --from -`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runRestore(cmd, dataDir, from, force, same) },
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "folder of the backup, or - for standard input (required)")
	flags.BoolVar(&force, "force", false, "replace what is in the data folder")
	flags.BoolVar(&same, "as-the-same", false, "restore webhooks, exports and the identity too: the server of the backup must not run any more")
	flags.StringVar(&dataDir, "data-dir", defaultDataDir(), "data folder, which no running server may use")
	addConfigFlag(cmd)
	return cmd
}

func runRestore(cmd *cobra.Command, dataDir, from string, force, same bool) error {
	if from == "" {
		return usageError{errors.New("say where from: --from DIR, or --from -")}
	}
	c := newCopy(cmd, dataDir, force)
	c.cfg.Same = same
	err := c.run(func(cfg backup.RestoreConfig) error {
		if from == "-" {
			return backup.FromStream(cmd.Context(), cfg, cmd.InOrStdin())
		}
		return backup.FromDir(cmd.Context(), cfg, from)
	})
	if err != nil {
		return err
	}
	if len(c.left) > 0 {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "restore: without %s of the other server, which --as-the-same restores\n", strings.Join(c.left, ", "))
	}
	_, wrong := fmt.Fprintf(cmd.ErrOrStderr(), "restore: done; quorate serve makes the index from the archive\n")
	return errors.Join(err, wrong)
}

// dataCopy fills a data folder with what another one had.
type dataCopy struct {
	cmd  *cobra.Command
	cfg  backup.RestoreConfig
	left []string // what is left behind
}

func newCopy(cmd *cobra.Command, dataDir string, force bool) *dataCopy {
	c := &dataCopy{cmd: cmd}
	c.cfg = backup.RestoreConfig{
		DataDir: dataDir, Force: force, Results: results.Restore, Disown: c.disown,
		Left: func(name string) { c.left = append(c.left, name) },
		Free: func(dir string) (uint64, error) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return 0, err
			}
			return folder.Free(dir)
		},
	}
	return c
}

func (c *dataCopy) disown(dir string) error {
	webhooks, operations, err := results.Disown(dir)
	if webhooks > 0 {
		c.left = append(c.left, fmt.Sprintf("webhooks (%d)", webhooks))
	}
	if operations > 0 {
		c.left = append(c.left, fmt.Sprintf("exports (%d)", operations))
	}
	return err
}

// run does what fills the folder, unless a server uses that.
func (c *dataCopy) run(fill func(backup.RestoreConfig) error) error {
	dir := filepath.Clean(c.cfg.DataDir)
	if served(c.cmd.Context(), dir) {
		return fmt.Errorf("a server uses %s: stop it first", dir)
	}
	shown := newMeter(c.cmd.ErrOrStderr(), c.cmd.Name())
	c.cfg.Progress = shown.bytes
	err := fill(c.cfg)
	shown.finish()
	if err != nil {
		return fmt.Errorf("%s into %s: %w", c.cmd.Name(), dir, err)
	}
	return nil
}

func cloneCommand() *cobra.Command {
	var dataDir, from string
	var force bool
	cmd := &cobra.Command{
		Use:   "clone",
		Short: "Make a second server's data folder of that of a stopped one",
		Long: `Copies a data folder that no server uses, or that of a snapshot of its volume,
with its index. A server on the copy serves at once what the other one did, goes on
from there, and takes the page tokens that the other one gave out.

Webhooks, exports and the identity stay with the other server. The folder that is
copied is only read. To copy that of a running server use "quorate backup", which
leaves the index out.`,
		Example: `  quorate clone --from /var/lib/quorate --data-dir /srv/quorate-2
  quorate clone --from /mnt/snapshot/quorate`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runClone(cmd, dataDir, from, force) },
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "data folder to copy, which no running server may use (required)")
	flags.BoolVar(&force, "force", false, "replace what is in the data folder")
	flags.StringVar(&dataDir, "data-dir", defaultDataDir(), "data folder to make, which no running server may use")
	addConfigFlag(cmd)
	return cmd
}

func runClone(cmd *cobra.Command, dataDir, from string, force bool) error {
	if from == "" {
		return usageError{errors.New("say where from: --from DIR")}
	}
	used, pid, err := folder.User(from)
	if used {
		return fmt.Errorf("%s, process %d: %w: stop it, copy a snapshot of its volume, or use quorate backup", from, pid, store.ErrInUse)
	}
	if err == nil {
		err = backup.Pending(from)
	}
	if err != nil {
		return err
	}
	err = newCopy(cmd, dataDir, force).run(func(cfg backup.RestoreConfig) error { return backup.Clone(cmd.Context(), cfg, from) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), "clone: done; webhooks, exports and the identity stay with the other server")
	return err
}

func verifyDataCommand() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "verify-data",
		Short: "Check the archives and databases of a data folder",
		Long: `Reads all that the archives in the data folder hold, also while a server uses it,
and checks it: each file, its checksums, that each block follows its parent, and that
blocks of the primary network are the same bytes when they are decoded with all that is
in them and encoded again. Databases can only be checked while no server uses them.

Prints a line for each part. Damage is named with its file and blocks, and the
exit code is 1 then: a server that runs fetches these blocks again by itself.`,
		Example: `  quorate verify-data --data-dir /var/lib/quorate`,
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runVerifyData(cmd, dataDir) },
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir(), "data folder, which a server may use")
	addConfigFlag(cmd)
	return cmd
}

// errDamaged is returned when verify-data has found something.
var errDamaged = errors.New("damage was found")

func runVerifyData(cmd *cobra.Command, dataDir string) error {
	if _, err := os.Stat(dataDir); err != nil {
		return err
	}
	shown := newMeter(cmd.ErrOrStderr(), "verify-data")
	var errs []error
	line := func(format string, args ...any) {
		shown.finish()
		_, err := fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
		errs = append(errs, err)
	}
	damaged := false
	serving := served(cmd.Context(), dataDir)
	var closed error // why the databases cannot be opened, which is no damage
	if !serving {
		closed = folder.CheckUnused(dataDir)
	}
	err := backup.VerifyData(cmd.Context(), backup.VerifyConfig{
		DataDir: dataDir,
		Database: func(dir string, ofResults bool) error {
			switch {
			case serving, closed != nil:
				return nil
			case ofResults:
				return results.VerifyFiles(dir)
			}
			return index.VerifyFiles(dir)
		},
		Found: func(part string, err error) { damaged = true; line("%s: DAMAGED: %v", part, err) },
		Sound: func(part, what string) {
			switch database := strings.HasPrefix(part, "database "); {
			case database && serving:
				what = "not checked: a server uses it"
			case database && closed != nil:
				what = "not checked"
			}
			line("%s: %s", part, what)
		},
		Progress: func(_ string, done, of int64) { shown.bytes(done, of) },
	})
	shown.finish()
	if damaged {
		err = errors.Join(err, errDamaged)
	}
	return errors.Join(append(errs, err, closed)...)
}
