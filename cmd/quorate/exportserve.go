package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/operation"
)

// exportFlags are the limits of quorate serve about exports.
type exportFlags struct {
	workers, queue, perClient int
	maxSize, maxFiles         bytesValue
	keep                      daysValue
	urlTime                   time.Duration
}

func (f *exportFlags) add(limits *pflag.FlagSet) {
	f.maxSize, f.maxFiles, f.keep = 4<<30, 16<<30, daysValue(3*24*time.Hour)
	limits.IntVar(&f.workers, "export-workers", 2, "exports that are written at one time")
	limits.IntVar(&f.queue, "export-queue", 64, "exports that may wait; further ones are refused with 503")
	limits.IntVar(&f.perClient, "export-per-client", 4, "exports of one API key, or address without one, that are not finished; further ones are refused with 429")
	limits.Var(&f.maxSize, "export-max-size", "size of the rows of one export, before compression, at which it ends with a warning that says where to go on")
	limits.Var(&f.maxFiles, "export-max-files", "size of the files of all exports together; beyond it none are accepted, and those that are written fail")
	limits.Var(&f.keep, "export-keep", "how long an export that has ended, and its file, are kept, for example 12h or 3d")
	limits.DurationVar(&f.urlTime, "export-url-time", time.Hour, "how long an address of a file is good; asking the operation again returns a new one")
}

func (f *exportFlags) check() error {
	for name, n := range map[string]int{"workers": f.workers, "queue": f.queue, "per-client": f.perClient} {
		if n < 1 {
			return fmt.Errorf("limits.export-%s %d: must be at least 1", name, n)
		}
	}
	switch {
	case f.workers > maxConcurrency:
		return fmt.Errorf("limits.export-workers %d: must be at most %d", f.workers, maxConcurrency)
	case f.maxSize < 1 || f.maxFiles < 1:
		return errors.New("limits.export-max-size and limits.export-max-files must be at least 1 byte")
	case f.keep <= 0 || f.urlTime < time.Second:
		return errors.New("limits.export-keep must be positive, and limits.export-url-time at least 1s")
	}
	return nil
}

func (f *exportFlags) configure(cfg *engine.Config) {
	cfg.Exports = operation.Config{
		Workers: f.workers, Queue: f.queue, PerClient: f.perClient,
		MaxSize: int64(f.maxSize), MaxFiles: int64(f.maxFiles), Keep: time.Duration(f.keep),
	}
}
