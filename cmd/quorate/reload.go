package main

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onHangup takes SIGHUP from now on, which would end the process. For each that
// comes after begin was called, files are read again. stop waits for the end of that.
// SIGPIPE is taken too: a server goes on when its log is no longer read.
func onHangup() (begin func(log *slog.Logger, reload func() error), stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	pipes := make(chan os.Signal, 1) // not ignored, as programs that are started would inherit that
	signal.Notify(pipes, syscall.SIGPIPE)
	end := make(chan struct{})
	var running sync.WaitGroup
	begin = func(log *slog.Logger, reload func() error) {
		running.Go(func() {
			for {
				select {
				case <-signals:
				case <-end:
					return
				}
				if err := reload(); err != nil {
					log.Error("SIGHUP: not all files could be read again; their former contents stay in use", "err", err)
					continue
				}
				log.Info("SIGHUP: files read again")
			}
		})
	}
	return begin, func() {
		close(end)
		running.Wait()
		signal.Stop(signals)
		signal.Stop(pipes)
	}
}
