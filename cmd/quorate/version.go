package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"quorate/engine/source/platform"
)

// version is set by the linker, see the Makefile; builds without it say what
// the Go tools know.
var version string

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Prints the version of this program, the Go version that built it, the platform, and the releases of avalanchego that it supports.",
		Example: "  quorate version",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine is what quorate version and quorate --version print.
func versionLine() string {
	return fmt.Sprintf("quorate %s %s %s/%s\nsupports avalanchego %s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH, platform.Supported())
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
