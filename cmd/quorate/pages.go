package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"quorate/httpapi"
	"quorate/httpapi/ui"
)

// pageFlags are the flags of quorate serve about what browsers see.
type pageFlags struct{ mode string }

func (f *pageFlags) add(flags *pflag.FlagSet) {
	group(flags, groupAnswers, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.mode, "ui", "on", "pages for browsers at /: on, with those of the operator where only operators connect; explorer, the chains alone; off, none")
	})
}

func (f *pageFlags) check() error {
	if _, err := ui.ParseMode(f.mode); err != nil {
		return fmt.Errorf("--ui %w", err)
	}
	return nil
}

// configure fills in what the HTTP server needs to serve pages.
func (f *pageFlags) configure(cfg *httpapi.Config) (err error) {
	cfg.Pages = &ui.Config{Version: versionText()}
	cfg.Pages.Mode, err = ui.ParseMode(f.mode)
	return err
}
