package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine/log"
)

// logFlags are the flags of the log.
type logFlags struct{ level, display, format string }

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "info", "level of the log files: verbo, debug, trace, info, warn, error, fatal or off")
	f.addDisplay(flags)
}

// addDisplay adds the flags of a command that has no log files.
func (f *logFlags) addDisplay(flags *pflag.FlagSet) {
	flags.StringVar(&f.display, "log-display-level", "info", "level of the log on standard error")
	flags.StringVar(&f.format, "log-format", "text", "form of the log on standard error: text, or json as in the files")
}

// open makes the loggers: JSON files in the data folder, if there is one, and
// lines on standard error.
func (f *logFlags) open(cmd *cobra.Command, dataDir string) (*log.Logs, error) {
	cfg, err := f.config(cmd, dataDir)
	if err != nil {
		return nil, err
	}
	return log.New(cfg)
}

func (f *logFlags) config(cmd *cobra.Command, dataDir string) (log.Config, error) {
	cfg := log.Config{Display: cmd.ErrOrStderr(), DisplayJSON: f.format == "json", FileLevel: log.Off}
	if f.format != "text" && f.format != "json" {
		return cfg, usageError{fmt.Errorf("--log-format %q is neither text nor json", f.format)}
	}
	var err error
	if cfg.DisplayLevel, err = log.ParseLevel(f.display); err != nil {
		return cfg, usageError{fmt.Errorf("--log-display-level: %w", err)}
	}
	if dataDir != "" {
		cfg.Dir = filepath.Join(dataDir, "logs")
		if cfg.FileLevel, err = log.ParseLevel(f.level); err != nil {
			return cfg, usageError{fmt.Errorf("--log-level: %w", err)}
		}
	}
	return cfg, nil
}

// logLife writes the first line of a server's log, and returns what writes the last.
func logLife(log *slog.Logger, f *serveFlags) func(err *error) {
	started := time.Now()
	log.Info("quorate starts", "version", versionText(), "go", runtime.Version(), "cores", runtime.NumCPU(),
		"pid", os.Getpid(), "data_dir", f.dataDir, "host", f.listen.host, "port", f.listen.port)
	return func(err *error) {
		after := time.Since(started).Round(time.Millisecond)
		if *err != nil {
			log.Error("quorate ends with an error", "after", after, "err", *err)
			return
		}
		log.Info("quorate has stopped", "after", after)
	}
}
