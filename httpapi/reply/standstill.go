package reply

import (
	"errors"
	"strconv"

	"quorate/engine/ingest"
	nodes "quorate/engine/source"
)

// Standstill says to clients why a chain's index does not go on. Nodes' texts are not for
// them.
func Standstill(err error) string {
	var u *ingest.UnreadableError
	switch {
	case errors.As(err, &u):
		return "its index stands before block " + strconv.FormatUint(u.Height, 10) + ", which this release of Quorate cannot read"
	case errors.Is(err, nodes.ErrBadAnswer):
		return "what its node answers cannot be used by this release of Quorate"
	}
	return "its node does not answer"
}
