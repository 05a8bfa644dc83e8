package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/source"
	"quorate/engine/store"
	"quorate/engine/store/results"
)

// rememberTime bounds the wait for a disk that hangs: nothing depends on it now.
const rememberTime = 5 * time.Second

// memory is what the engine has learned from nodes and knows again after a
// restart, though no node answers: it is kept in the results database. Each package has its own kinds of records, the
// first part of their keys.
type memory struct {
	db   *results.DB
	room func() error
	log  *slog.Logger
}

// nodeRecord says of which network a node is.
type nodeRecord struct {
	Network uint32 `json:"network"`
}

// networksRecord are the networks that were followed, the first one first.
type networksRecord struct {
	Networks []uint32 `json:"networks"`
}

var networksKey = []byte("networks")

func nodeKey(at source.Endpoint) []byte {
	sum := at.Fingerprint()
	return append([]byte("node/"), sum[:]...)
}

// Recall reads a record into to, and reports whether there is a good one.
func (m *memory) Recall(key []byte, to any) bool {
	raw, found, err := m.db.Recall(key)
	if err == nil && found {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		m.log.Warn("what was remembered of a node or chain cannot be read; it is asked for again", "err", err)
	}
	return found && err == nil
}

// Remember writes a record. A failure costs a wait for the node at the next start.
func (m *memory) Remember(ctx context.Context, key []byte, record any) {
	raw, err := json.Marshal(record)
	if err == nil {
		err = m.room()
	}
	if err == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, rememberTime, fmt.Errorf("not written within %s", rememberTime))
		defer cancel()
		err = m.db.Remember(ctx, key, raw)
	}
	if err != nil && !errors.Is(err, store.ErrClosed) && ctx.Err() == nil {
		m.log.Warn("what a node answered could not be saved", "err", err)
	}
}
