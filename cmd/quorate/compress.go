package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine/folder"
)

// uncompressedValue is a flag that says whether the index is not to be compressed.
type uncompressedValue bool

func (v *uncompressedValue) add(flags *pflag.FlagSet) {
	flags.Var(v, "index-compression", "how tables of the index are written: zstd, or none, which takes 1.6 times the disk and reads faster")
}

func (v *uncompressedValue) String() string {
	if *v {
		return "none"
	}
	return "zstd"
}

// Type implements pflag.Value.
func (*uncompressedValue) Type() string { return "string" }

// Set implements pflag.Value.
func (v *uncompressedValue) Set(s string) error {
	if s != "none" && s != "zstd" {
		return fmt.Errorf("%q is neither none nor zstd", s)
	}
	*v = s == "none"
	return nil
}

// whole does what is done to an index as a whole: it is compressed, or gets rows of an older
// version.
func whole(cmd *cobra.Command, f *reindexFlags, offline folder.Offline, shown *meter) error {
	do, did, stopped := folder.Compress, "compressed", errors.New("stopped; nothing has changed")
	if f.keepRows {
		do, did, stopped = folder.KeepRows, "copied", errAgain
	} else if f.uncompressed {
		return usageError{errors.New("--compress is not for an index with --index-compression none")}
	}
	offline.OnProgress = func(name string, done, of uint64) { shown.count(name, "rows", done, of) }
	var outErr error
	say := func(line string) {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
		outErr = errors.Join(outErr, err)
	}
	started := time.Now()
	done, err := do(cmd.Context(), offline, say)
	shown.finish()
	switch {
	case errors.Is(err, context.Canceled):
		return stopped
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Clean(f.dataDir), err)
	case done:
		say(fmt.Sprintf("%s in %s", did, time.Since(started).Round(time.Second)))
	}
	return outErr
}
