package ingest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"quorate/engine/chain"
)

const (
	// unreadableEvery is the time between two lines in the log about a block that this
	// release cannot read.
	unreadableEvery = time.Hour
	// unreadableFirst and unreadableMost bound the wait before such a block is asked for
	// again: another node may have another one.
	unreadableFirst = time.Second
	unreadableMost  = time.Minute
)

// UnreadableError is about a block that the chain has and that this release cannot read:
// it is of a later upgrade. No node is to blame, and the chain's index stands before it.
type UnreadableError struct {
	Height uint64
	ID     chain.ID  // of the container; zero where it is not known
	Time   time.Time // of the proposer's header; zero where it is not known
	Needs  string    // what a release must know that reads it; empty if unknown
	Err    error     // why it cannot be read
}

// Error says which block it is, of when, and what it needs.
func (e *UnreadableError) Error() string {
	text := fmt.Sprintf("block %d", e.Height)
	var more []string
	if !e.ID.IsZero() {
		more = append(more, e.ID.String())
	}
	if !e.Time.IsZero() {
		more = append(more, "of "+e.Time.UTC().Format(time.RFC3339))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	needs := e.Needs
	if needs == "" {
		needs = "a later upgrade of the network"
	}
	return fmt.Sprintf("%s cannot be read by this release of Quorate, install one that knows %s: %v", text, needs, e.Err)
}

// Unwrap returns why the block cannot be read.
func (e *UnreadableError) Unwrap() error { return e.Err }

// stands takes note of a block that cannot be read, if it is the next one: the chain gets
// no further. It needs mu.
func (i *Ingest[B]) stands(u *UnreadableError) {
	next := i.cfg.From
	if i.state.Started {
		next = i.state.Height + 1
	}
	if u.Height != next {
		return // blocks below it may still come
	}
	was := i.state.Unreadable
	i.state.Unreadable = u
	now := time.Now()
	if was != nil && was.Height == u.Height && now.Sub(i.said) < unreadableEvery {
		return
	}
	i.said = now
	i.log.Error("the index of the chain stands still", "height", i.state.Height, "err", u)
}

// unreadable returns what an error says of a block that cannot be read, or nil.
func unreadable(err error) *UnreadableError {
	var u *UnreadableError
	errors.As(err, &u)
	return u
}
