package feed

import (
	"context"
	"errors"
	"strconv"

	"quorate/engine/chain"
)

// Errors of a [Log].
var (
	// ErrEnd: there is no record at the position, nor behind it.
	ErrEnd = errors.New("the log has no further record")
	// ErrMoved: the last record is another one than the append was to follow, as far as is
	// known: the end is to be read before the next attempt.
	ErrMoved = errors.New("the log has another last record")
	// ErrOther is wrapped when what is there is not this network's log.
	ErrOther = errors.New("it is not this network's log")
)

// Log keeps the newest records of subjects. Positions of a subject grow, with gaps; there is
// none before 1. All methods may be called at once.
type Log interface {
	// Ends returns the positions of the first and the last record, zero if there is none.
	Ends(ctx context.Context, subject string) (first, last uint64, err error)
	// Read returns the first record at a position or behind it, and its position.
	Read(ctx context.Context, subject string, from uint64) (record []byte, at uint64, err error)
	// Watch calls f when there may be a further record, until ctx ends or the log is away.
	Watch(ctx context.Context, subject string, f func()) error
	// Append appends a record whose predecessor is the one at a position, zero if it is the
	// first, and returns its position. After any error it may be there.
	Append(ctx context.Context, subject string, after uint64, record []byte) (at uint64, err error)
}

// Subject names what a subject is about: a network's number, a blockchain ID and one of the
// names below.
func Subject(network uint32, of chain.ID, what string) string {
	return strconv.FormatUint(uint64(network), 10) + "." + of.String() + "." + what
}

// What subjects are about.
const (
	SubjectBlocks = "blocks"
	SubjectNotes  = "notes"
	SubjectFacts  = "facts"
)
