package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quorate/engine/chain"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/engine/store"
)

// rememberTime bounds the wait for a disk that hangs: nothing depends on it now.
const rememberTime = 5 * time.Second

// memory is what the engine has learned from nodes and knows again after a
// restart, though no node answers: it is kept in the results database.
type memory struct {
	db   *store.Results
	room func() error
	log  *slog.Logger
}

// Kinds of records, the first part of their keys.
const (
	ofNode    = "node/"    // and the fingerprint of its address
	ofNetwork = "network/" // and its ID
	ofEVM     = "evm/"     // and the blockchain ID
)

type (
	// nodeRecord says of which network a node is.
	nodeRecord struct {
		Network uint32 `json:"network"`
	}
	// networkRecord is what all nodes of a network agree on.
	networkRecord struct {
		// Version is what peers demanded last.
		Version platform.Version `json:"version"`
		// Chains of the primary network, by name.
		Chains map[string]chain.ID `json:"chains"`
		// Asset is the ID of AVAX.
		Asset chain.ID `json:"asset"`
	}
	// evmRecord is what an EVM chain's node says of it.
	evmRecord struct {
		Number uint64 `json:"number"`
		Trace  bool   `json:"trace"` // it has the debug API
	}
)

func nodeKey(at source.Endpoint) []byte {
	sum := at.Fingerprint()
	return append([]byte(ofNode), sum[:]...)
}

func networkKey(id uint32) []byte { return binary.BigEndian.AppendUint32([]byte(ofNetwork), id) }

func evmKey(id chain.ID) []byte { return append([]byte(ofEVM), id[:]...) }

// recall reads a record into to, and reports whether there is a good one.
func (m *memory) recall(key []byte, to any) bool {
	raw, found, err := m.db.Recall(key)
	if err == nil && found {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		m.log.Warn("what was remembered of a node or chain cannot be read; it is asked for again", "err", err)
	}
	return found && err == nil
}

// remember writes a record. A failure costs a wait for the node at the next start.
func (m *memory) remember(ctx context.Context, key []byte, record any) {
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
		m.log.Warn("what a node told could not be remembered", "err", err)
	}
}
