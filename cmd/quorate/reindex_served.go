package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/goccy/go-json"

	"quorate/engine"
	"quorate/engine/folder"
	"quorate/engine/index"
)

// reindexPath is where the socket in the data folder takes what quorate reindex orders.
const reindexPath = "/reindex"

// reindexOrder is the body of the request.
type reindexOrder struct {
	Chain   string        `json:",omitempty"`
	Tables  []index.Table // nil: those that are stale
	Primary bool          `json:",omitempty"` // all rows of primary networks
}

// reindexNews is a line of the answer. A line without a chain is the last one.
type reindexNews struct {
	Chain    string `json:",omitempty"`
	Done, Of uint64
	Made     []string `json:",omitempty"` // with Ended
	Ended    bool
	Err      string `json:",omitempty"`
}

// serveReindex has the engine make tables again for as long as who asks waits.
func serveReindex(w http.ResponseWriter, r *http.Request, eng *engine.Engine) {
	var o reindexOrder
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	say := func(n reindexNews) {
		// Who has gone away ends the request's context.
		if out.Encode(n) == nil {
			_ = flush.Flush()
		}
	}
	err := eng.Reindex(r.Context(), folder.ReindexConfig{
		Offline: folder.Offline{Chain: o.Chain, OnProgress: func(name string, done, of uint64) {
			say(reindexNews{Chain: name, Done: done, Of: of})
		}},
		Tables: o.Tables, Primary: o.Primary,
		OnDone: func(name string, made []string, blocks uint64) {
			say(reindexNews{Chain: name, Of: blocks, Made: made, Ended: true})
		},
	})
	end := reindexNews{Ended: true}
	if err != nil {
		end.Err = err.Error()
	}
	say(end)
}

// askReindex has the server that uses the data folder make tables again.
func askReindex(ctx context.Context, cfg *folder.ReindexConfig) error {
	body, err := json.Marshal(reindexOrder{cfg.Chain, cfg.Tables, cfg.Primary})
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(askServer(ctx, cfg.DataDir, http.MethodPost, reindexPath, bytes.NewReader(body), w))
	}()
	defer r.Close() // ends the request, if it has not ended
	for lines := json.NewDecoder(r); ; {
		var n reindexNews
		if err := lines.Decode(&n); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server has ended")
			}
			return errors.Join(context.Cause(ctx), fmt.Errorf("the server that uses the folder was asked: %w", err))
		}
		switch {
		case n.Chain == "" && n.Err != "":
			return errors.New(n.Err)
		case n.Chain == "":
			return nil
		case n.Ended:
			cfg.OnDone(n.Chain, n.Made, n.Of)
		default:
			cfg.OnProgress(n.Chain, n.Done, n.Of)
		}
	}
}
