package main

import (
	"errors"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/httpapi"
)

// eventFlags are the limits of quorate serve about events.
type eventFlags struct{ streams, perClient int }

func (f *eventFlags) add(limits *pflag.FlagSet) {
	limits.IntVar(&f.streams, "events-streams", 2048, "streams of /v1/events that may be open; further ones are refused with 503")
	limits.IntVar(&f.perClient, "events-per-client", 128, "those of one API key, or address without one; further ones are refused with 429")
}

func (f *eventFlags) check() error {
	if f.streams < 1 || f.perClient < 1 {
		return errors.New("limits.events-streams and limits.events-per-client must be at least 1")
	}
	return nil
}

// serve has the HTTP server serve the engine's events.
func (f *eventFlags) serve(cfg *httpapi.Config, eng *engine.Engine) {
	cfg.Events, cfg.MaxStreams, cfg.MaxStreamsPerClient = eng.EVMs(), f.streams, f.perClient
}
