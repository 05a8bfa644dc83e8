// Package hostile has what the validators of a simulated network do that lie or attack.
package hostile

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/validator"
)

// Kind names a way of lying. No kind ever answers a request with a signature
// that is valid by itself.
type Kind string

// The ways of lying: the first ones are wrong answers, the others break the
// protocol of the connection.
const (
	// WrongKey signs with a key that is not the validator's.
	WrongKey Kind = "wrong-key"
	// WrongMessage signs another message.
	WrongMessage Kind = "wrong-message"
	// Garbage sends 96 bytes that are no point of the curve.
	Garbage Kind = "garbage"
	// Length0, Length1, Length95 and Length97 send so many bytes of signature.
	Length0  Kind = "length-0"
	Length1  Kind = "length-1"
	Length95 Kind = "length-95"
	Length97 Kind = "length-97"
	// OutsideSubgroup sends a point of the curve that is not in G2.
	OutsideSubgroup Kind = "outside-subgroup"
	// Infinity sends the point at infinity.
	Infinity Kind = "infinity"
	// Cancelling is a pair of validators: one adds a point to its signature, the
	// other takes the same point away. Each is invalid, their sum is valid.
	Cancelling Kind = "cancelling"
	// WrongID puts a request ID that nobody used on a valid answer.
	WrongID Kind = "wrong-id"
	// Flood answers no request, and sends answers that nobody asked for all the time.
	Flood Kind = "flood"
	// MidFrame sends half of an answer's frame and then nothing more.
	MidFrame Kind = "mid-frame"
	// Oversized states a frame above the limit.
	Oversized Kind = "oversized"
	// Bomb sends a small frame that decompresses to far more than the limit.
	Bomb Kind = "bomb"
)

// The ways of attacking: these validators answer nothing, and send as fast as
// the other side reads, or nothing at all. They are dealt out only when named,
// as whoever notices drops them.
const (
	// EmptyFrames sends frames of no bytes.
	EmptyFrames Kind = "empty-frames"
	// Pongs sends Pongs that nobody asked for, Pings asks for as many.
	Pongs Kind = "pongs"
	Pings Kind = "pings"
	// UnknownIDs sends answers to requests that were never made.
	UnknownIDs Kind = "unknown-ids"
	// InventedPeers sends addresses of nodes that do not exist: one signature, with
	// a certificate whose end is different each time.
	InventedPeers Kind = "invented-peers"
	// Tarpit takes connections and says nothing, not even TLS.
	Tarpit Kind = "tarpit"
)

// Attacks returns all ways of attacking.
func Attacks() []Kind {
	return []Kind{EmptyFrames, Pongs, Pings, UnknownIDs, InventedPeers, Tarpit}
}

// Kinds returns all ways of lying, in the order in which they are dealt out.
func Kinds() []Kind {
	return []Kind{
		WrongKey, WrongMessage, Garbage, Length0, Length1, Length95, Length97, OutsideSubgroup, Infinity,
		Cancelling, WrongID, Flood, MidFrame, Oversized, Bomb,
	}
}

// ParseKinds reads names of lies and attacks separated by commas; no name means
// all lies.
func ParseKinds(list string) ([]Kind, error) {
	var kinds []Kind
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if kind := Kind(name); kind.Known() {
			kinds = append(kinds, kind)
			continue
		}
		return nil, fmt.Errorf("unknown kind of lie %q, want some of %v", name, append(Kinds(), Attacks()...))
	}
	return kinds, nil
}

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return slices.Contains(Kinds(), k) || slices.Contains(Attacks(), k) }

// Means is what liars need.
type Means struct {
	// Own is the validator's key, Wrong any other. Both liars of a [Cancelling]
	// pair have the same Wrong, and one of them is Negative.
	Own, Wrong *bls.SecretKey
	Negative   bool
	// FloodRate is the number of answers per second of a [Flood]; 0 means
	// [DefaultFloodRate].
	FloodRate int
	// Certificate is the validator's, for [InventedPeers].
	Certificate tls.Certificate
}

// Lie returns the conduct of a liar or an attacker. The kind must be known.
func Lie(kind Kind, m Means) (validator.Conduct, error) {
	if slices.Contains(Attacks(), kind) {
		return attack(kind, m)
	}
	switch kind {
	case WrongKey:
		return validator.Conduct{Reply: SignWith(m.Wrong)}, nil
	case WrongMessage:
		return validator.Conduct{Reply: signOther(m.Own)}, nil
	case Garbage:
		return validator.Conduct{Reply: signatureLie(func([]byte) []byte { return garbage() })}, nil
	case Length0, Length1, Length95, Length97:
		n := map[Kind]int{Length1: 1, Length95: 95, Length97: 97}[kind]
		return validator.Conduct{Reply: signatureLie(func(sig []byte) []byte { return append(sig, 0)[:n:n] })}, nil
	case OutsideSubgroup:
		point := outsideSubgroup()
		return validator.Conduct{Reply: signatureLie(func([]byte) []byte { return point[:] })}, nil
	case Infinity:
		point := infinity()
		return validator.Conduct{Reply: signatureLie(func([]byte) []byte { return point[:] })}, nil
	case Cancelling:
		return validator.Conduct{Reply: cancelling(m.Wrong, m.Negative)}, nil
	case WrongID:
		return validator.Conduct{Reply: wrongID}, nil
	case Flood:
		if m.FloodRate == 0 {
			m.FloodRate = DefaultFloodRate
		}
		return validator.Conduct{Reply: validator.Silent, Unasked: flood(m.FloodRate)}, nil
	case MidFrame:
		return validator.Conduct{Reply: midFrame}, nil
	case Oversized:
		return validator.Conduct{Reply: oversized}, nil
	case Bomb:
		return validator.Conduct{Reply: bombs()}, nil
	default:
		return validator.Conduct{}, fmt.Errorf("unknown kind of lie %q", kind)
	}
}

// DefaultFloodRate is the number of answers per second that a [Flood] sends.
const DefaultFloodRate = 5000

// floodTick is how often a flood sends a batch.
const floodTick = 10 * time.Millisecond
