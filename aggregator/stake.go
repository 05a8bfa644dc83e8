package aggregator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

var errInternal = &Error{Kind: Internal, Msg: "internal error"}

var errStopping = &Error{Kind: Stopping, Msg: "the server is stopping", RetryAfter: 5 * time.Second}

var kindNames = map[Kind]string{
	BadRequest: "bad_request", NotFound: "not_found", Refused: "refused", Unreachable: "unreachable",
	Invalid: "invalid", NotYet: "not_yet", Keyless: "keyless", Internal: "internal", Overloaded: "overloaded", NodeFailed: "node_failed", Stopping: "stopping",
}

// String returns a short name, as used in metrics.
func (k Kind) String() string { return kindNames[k] }

// retryUnreachable is about how long a validator's connection needs to come back.
const retryUnreachable = 5 * time.Second

// retryNotYet is about how long a block needs to be executed everywhere.
const retryNotYet = time.Second

// quorumError says why a quorum was not reached. The kind, and so the status
// that the client sees, follows from what could still reach the quorum: stake
// that may sign when asked again makes it a matter of time; stake that signs
// wrongly may come to its senses; refusals are final; and where stake without a
// key is missing nobody's change of mind would help.
func quorumError(s *Stake, quorum int) *Error {
	e := &Error{Stake: s}
	wanted := need(s.Total, quorum)
	absent := s.Silent + s.Unreachable + s.Underfunded
	mayStill := s.Signed + s.Pending + absent + s.RefusedYet
	why := ""
	switch {
	case mayStill >= wanted && s.RefusedYet > absent:
		e.Kind, e.RetryAfter = NotYet, retryNotYet
		why = "; those who refused may not have executed the message's block yet"
	case mayStill >= wanted:
		e.Kind, e.RetryAfter = Unreachable, retryUnreachable
	case mayStill+s.Invalid >= wanted:
		e.Kind, e.RetryAfter = Invalid, retryUnreachable
	case mayStill+s.Invalid+s.Refused-s.RefusedYet >= wanted:
		e.Kind = Refused
	default:
		e.Kind = Keyless
	}
	e.Msg = fmt.Sprintf("quorum of %d%% of the stake not reached: %s%s", quorum, s, why)
	return e
}

// String lists the shares in percent of the total weight. Those of what became of the
// stake add up to what they are together, also as they are written: each is rounded from
// where the one before ended.
func (s *Stake) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "connected %s, signed %s", s.share(0, s.Connected), s.share(0, s.Signed))
	sum := s.Signed
	add := func(name string, w uint64) {
		if w > 0 {
			fmt.Fprintf(&b, ", %s %s", name, s.share(sum, w))
			sum += w
		}
	}
	byCode := sum
	add("refused", s.Refused)
	if len(s.Codes) > 0 {
		codes := make([]string, 0, len(s.Codes))
		for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
			codes = append(codes, fmt.Sprintf("code %d: %s", code, s.share(byCode, s.Codes[code])))
			byCode += s.Codes[code]
		}
		fmt.Fprintf(&b, " (%s)", strings.Join(codes, ", "))
	}
	add("invalid", s.Invalid)
	add("silent", s.Silent)
	add("unreachable", s.Unreachable)
	add("pending", s.Pending)
	add("out of balance", s.Underfunded)
	add("without usable key", s.Keyless)
	return b.String()
}

// share writes the share of a weight that comes after others of the same sum.
func (s *Stake) share(after, w uint64) string {
	if s.Total == 0 {
		return "0%"
	}
	tenths := func(w uint64) float64 { return math.Round(float64(w) * 1000 / float64(s.Total)) }
	return fmt.Sprintf("%.1f%%", (tenths(after+w)-tenths(after))/10)
}

// stake sums up what became of the voters' weight. Connected is not the core's to know.
func (c *core) stake() *Stake {
	s := &Stake{Total: c.total, Keyless: c.total}
	for i := range c.voters {
		v := &c.voters[i]
		s.Keyless -= v.weight
		switch v.vote() {
		case VoteSigned:
			s.Signed += v.weight
		case VoteRefused:
			s.addRefusal(v.code, v.weight)
		case VoteNotYet:
			s.addRefusal(v.code, v.weight)
			s.RefusedYet += v.weight
		case VoteInvalid:
			s.Invalid += v.weight
		case VoteSilent:
			s.Silent += v.weight
		case VoteUnreachable:
			s.Unreachable += v.weight
		case VoteUnderfunded:
			s.Underfunded += v.weight
		default:
			s.Pending += v.weight
		}
	}
	return s
}

// unpaid moves weight of an L1's inactive validators, which goes without keys, to
// where it belongs: it can be had again.
func (s *Stake) unpaid(inactive uint64) {
	inactive = min(inactive, s.Keyless)
	s.Keyless, s.Underfunded = s.Keyless-inactive, s.Underfunded+inactive
}

func (s *Stake) addRefusal(code int32, weight uint64) {
	if s.Codes == nil {
		s.Codes = make(map[int32]uint64)
	}
	s.Codes[code] += weight
	s.Refused += weight
}
