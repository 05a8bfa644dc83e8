package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"quorate/engine/backup"
	"quorate/engine/folder"
	"quorate/engine/store"
)

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
