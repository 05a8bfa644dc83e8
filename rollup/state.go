package rollup

import "encoding/binary"

// State is what a [Roller] keeps beside the open buckets. Times are in Unix
// milliseconds.
type State struct {
	// Next is the height of the next block.
	Next uint64
	// Begun: there was a block after the genesis block. First and Last are the
	// times of the first and the last of them.
	Begun       bool
	First, Last uint64
	// Untraced: a block with transactions was not traced, so the metrics that need
	// traces are not known.
	Untraced bool

	// The last blocks with the same time, taken as one.
	run struct {
		hasBase  bool
		base     uint64 // time of the block before them
		txs, gas uint64
	}
}

// Bounds returns the chain's first and last bucket; ok is false if it has none yet.
func (s *State) Bounds(i Interval) (first, last uint32, ok bool) {
	return i.Number(s.First / 1000), i.Number(s.Last / 1000), s.Begun
}

// The layout of a stored state; integers are big-endian:
//
//	u8 version, 1 | u8 flags: 1 = begun, 2 = untraced, 4 = the run has a base |
//	u64 next, first, last | u64 run: base, txs, gas
const (
	stateVersion = 1
	// StateLen is the length of a stored state in bytes.
	StateLen = 2 + 6*8

	stateBegun    = 1
	stateUntraced = 2
	stateHasBase  = 4
)

func (s *State) words() [6]*uint64 {
	return [6]*uint64{&s.Next, &s.First, &s.Last, &s.run.base, &s.run.txs, &s.run.gas}
}

// Append appends the stored form.
func (s *State) Append(dst []byte) []byte {
	dst = append(dst, stateVersion, flag(s.Begun)*stateBegun|flag(s.Untraced)*stateUntraced|flag(s.run.hasBase)*stateHasBase)
	for _, w := range s.words() {
		dst = binary.BigEndian.AppendUint64(dst, *w)
	}
	return dst
}

// Decode reads the stored form. The error is [ErrCodec], also for a state that no
// blocks give.
func (s *State) Decode(src []byte) error {
	if len(src) != StateLen || src[0] != stateVersion || src[1] > stateBegun|stateUntraced|stateHasBase {
		return ErrCodec
	}
	var d State
	d.Begun, d.Untraced, d.run.hasBase = src[1]&stateBegun != 0, src[1]&stateUntraced != 0, src[1]&stateHasBase != 0
	for i, w := range d.words() {
		*w = binary.BigEndian.Uint64(src[2+8*i:])
	}
	if !d.possible() {
		return ErrCodec
	}
	*s = d
	return nil
}

func (s *State) possible() bool {
	if !s.Begun {
		return s.Next <= 1 && *s == State{Next: s.Next}
	}
	if !s.run.hasBase && (s.run.base != 0 || s.First != s.Last) {
		return false
	}
	return s.Next > 1 && s.First <= s.Last && (!s.run.hasBase || s.First <= s.run.base && s.run.base < s.Last)
}
