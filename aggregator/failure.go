package aggregator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var errStopping = &Error{Kind: Stopping, Msg: "the server is stopping", RetryAfter: 5 * time.Second}

var kindNames = map[Kind]string{
	BadRequest: "bad_request", NotFound: "not_found", Refused: "refused", Unreachable: "unreachable",
	Invalid: "invalid", Overloaded: "overloaded", NodeFailed: "node_failed", Stopping: "stopping",
}

// String gives a short name, as used in metrics.
func (k Kind) String() string { return kindNames[k] }

// retryUnreachable is about how long a validator's connection needs to come back.
const retryUnreachable = 5 * time.Second

// quorumError says why a quorum was not reached. What holds back most of the
// stake names the kind, since it decides whether asking again makes sense.
func quorumError(s *Stake, quorum int) *Error {
	e := &Error{Stake: s}
	away := s.Unreachable + s.Silent
	switch {
	case s.Refused > away && s.Refused >= s.Invalid:
		e.Kind = Refused
	case s.Invalid > away:
		e.Kind, e.RetryAfter = Invalid, retryUnreachable
	default:
		e.Kind, e.RetryAfter = Unreachable, retryUnreachable
	}
	e.Msg = fmt.Sprintf("quorum of %d%% of the stake not reached: %s", quorum, s)
	return e
}

// String lists the shares in percent of the total weight.
func (s *Stake) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "connected %s, signed %s", s.share(s.Connected), s.share(s.Signed))
	add := func(name string, w uint64) {
		if w > 0 {
			fmt.Fprintf(&b, ", %s %s", name, s.share(w))
		}
	}
	add("refused", s.Refused)
	if len(s.Codes) > 0 {
		codes := make([]string, 0, len(s.Codes))
		for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
			codes = append(codes, fmt.Sprintf("code %d: %s", code, s.share(s.Codes[code])))
		}
		fmt.Fprintf(&b, " (%s)", strings.Join(codes, ", "))
	}
	add("invalid", s.Invalid)
	add("silent", s.Silent)
	add("unreachable", s.Unreachable)
	add("pending", s.Pending)
	add("underfunded", s.Underfunded)
	add("without usable key", s.Keyless)
	return b.String()
}

func (s *Stake) share(w uint64) string {
	if s.Total == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", float64(w)*100/float64(s.Total))
}
