package rollup

import "encoding/binary"

// State is what a [Roller] keeps beside the open buckets. Times are in Unix
// seconds.
type State struct {
	// Next is the height of the next block.
	Next uint64
	// Genesis is the time of the genesis block until there is another one.
	Genesis uint64
	// Begun: there was a block after the genesis block. First and Last are the
	// times of the first and the last of them.
	Begun       bool
	First, Last uint64
	// Before, if it is not 0, says that blocks at the end turned out not to be the
	// chain's: only buckets that end before that time hold. It is not stored.
	Before uint64
	// Untraced: a block with transactions was not traced, so the metrics that need
	// traces are not known.
	Untraced bool

	// The last blocks of one second, taken as one.
	run struct {
		hasBase  bool
		base     uint64 // time of the block before them
		txs, gas uint64
	}
}

// Bounds returns the chain's first and last bucket; ok is false if it has none yet, or
// none that holds.
func (s *State) Bounds(i Interval) (first, last uint32, ok bool) {
	first, last, ok = i.Number(s.First), i.Number(s.Last), s.Begun
	if s.Before > 0 {
		open := min(i.Number(s.Before), last)
		last, ok = open-1, ok && open > first
	}
	return first, last, ok
}

// begin takes the time of the first block and returns when time starts: at the
// genesis block if that is of the same day, or else at the first block.
func (s *State) begin(first uint64) (start uint64) {
	genesis := s.Genesis
	s.Begun, s.First, s.Last, s.Genesis = true, first, first, 0
	if genesis > first || Day.Number(genesis) != Day.Number(first) {
		return first
	}
	if genesis < first {
		s.run.hasBase, s.run.base = true, genesis
	}
	return genesis
}

// The layout of a stored state; integers are big-endian:
//
//	u8 version, 2 | u8 flags: 1 = begun, 2 = untraced, 4 = the run has a base |
//	u64 next, genesis, first, last | u64 run: base, txs, gas
//
// Version 1 had milliseconds and no genesis.
const (
	stateVersion = 2
	// StateLen is the length of a stored state in bytes.
	StateLen = 2 + 7*8

	stateBegun    = 1
	stateUntraced = 2
	stateHasBase  = 4
)

func (s *State) words() [7]*uint64 {
	return [7]*uint64{&s.Next, &s.Genesis, &s.First, &s.Last, &s.run.base, &s.run.txs, &s.run.gas}
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
		return s.Next == 1 && *s == State{Next: 1, Genesis: s.Genesis} || *s == State{}
	}
	if s.Next < 2 || s.Genesis != 0 || s.First > s.Last {
		return false
	}
	if !s.run.hasBase {
		return s.run.base == 0 && s.First == s.Last
	}
	// Before the first block there is only a genesis block of its day.
	return s.run.base < s.Last &&
		(s.run.base >= s.First || s.First == s.Last && Day.Number(s.run.base) == Day.Number(s.First))
}
