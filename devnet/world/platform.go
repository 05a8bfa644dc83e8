package world

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"quorate/engine/chain"
)

// ErrHeight is returned for a P-Chain height above the tip.
var ErrHeight = errors.New("height above the tip")

// Snapshot is the validator sets at one P-Chain height. It is immutable.
type Snapshot struct {
	Height uint64
	// Sets holds the members of the primary network and of every L1, by subnet.
	Sets map[chain.ID][]Member
}

// Member is one entry of a validator set.
type Member struct {
	*Validator
	// Weight hides the validator's stake at genesis.
	Weight uint64
	// NoKey says that the entry has no BLS key, so that its weight counts in the
	// total only: of a keyless validator, or all inactive members of an L1
	// together, whose entry has the zero node ID and index -1.
	NoKey bool
}

// block is what one P-Chain block left behind: a set, or that set with a little
// weight moved, which is worked out when asked for to keep a long history small.
type block struct {
	sets  map[chain.ID][]Member
	shift bool
}

// SortCanonical brings members into the order in which signers are numbered: by
// the uncompressed public key. Those without a key, which have no number, follow.
func SortCanonical(members []Member) {
	slices.SortFunc(members, func(a, b Member) int {
		switch {
		case a.NoKey != b.NoKey && a.NoKey:
			return 1
		case a.NoKey != b.NoKey:
			return -1
		}
		return cmp.Or(bytes.Compare(a.uncompressed[:], b.uncompressed[:]), a.Index-b.Index, bytes.Compare(a.NodeID[:], b.NodeID[:]))
	})
}

func (w *World) genesis() map[chain.ID][]Member {
	sets := make(map[chain.ID][]Member, 1+len(w.l1s))
	primary := make([]Member, w.params.Validators)
	for i, v := range w.validators[:w.params.Validators] {
		primary[i] = Member{Validator: v, Weight: v.Weight, NoKey: v.Keyless}
	}
	SortCanonical(primary)
	sets[chain.PrimaryNetworkID] = primary
	for i, l := range w.l1s {
		if !w.params.L1Late || i < len(w.l1s)-1 {
			sets[l.SubnetID] = l.set()
		}
	}
	return sets
}

// set returns the validator set of the L1: its inactive members are one entry.
func (l *L1) set() []Member {
	members := make([]Member, 0, len(l.Members))
	inactive := Member{Validator: &Validator{Index: -1}, NoKey: true}
	for _, m := range l.Members {
		if m.Balance == 0 {
			inactive.Weight += m.L1Weight
			continue
		}
		members = append(members, Member{Validator: m.Validator, Weight: m.L1Weight})
	}
	if inactive.Weight > 0 {
		members = append(members, inactive)
	}
	SortCanonical(members)
	return members
}

// Convert accepts the P-Chain block that makes a subnet the L1 that it is to be, and
// returns its height. If it is one already, nothing happens.
func (w *World) Convert(l *L1) uint64 {
	if w.ledger != nil {
		return w.ledger.Convert(l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.history[len(w.history)-1].sets
	if _, done := last[l.SubnetID]; !done {
		sets := maps.Clone(last)
		sets[l.SubnetID] = l.set()
		w.history = append(w.history, block{sets: sets})
	}
	return w.height()
}

// Converted reports whether a subnet is an L1 by now.
func (w *World) Converted(l *L1) bool {
	if w.ledger != nil {
		snapshot, err := w.At(w.ledger.Height())
		return err == nil && snapshot.Sets[l.SubnetID] != nil
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.history[len(w.history)-1].sets[l.SubnetID]
	return ok
}

// Height returns the P-Chain's height, which is also the proposed one.
func (w *World) Height() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.tip()
}

// tip needs mu.
func (w *World) tip() uint64 {
	if w.ledger != nil {
		return w.ledger.Height()
	}
	return w.height()
}

// height needs mu.
func (w *World) height() uint64 { return uint64(len(w.history) - 1) } // never empty

// At returns the validator sets at a height, or [ErrHeight].
func (w *World) At(height uint64) (*Snapshot, error) {
	if w.ledger != nil {
		return w.recorded(height)
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if height > w.height() {
		return nil, ErrHeight
	}
	b := w.history[height]
	if b.shift {
		return &Snapshot{Height: height, Sets: w.shifted(b.sets, height)}, nil
	}
	return &Snapshot{Height: height, Sets: b.sets}, nil
}

// Advance accepts one P-Chain block that gives the primary network validators
// in weights (by index) a new weight, and returns its height. Weight 0 takes a
// validator out of the set. With no weights the sets stay as they are.
func (w *World) Advance(weights map[int]uint64) (uint64, error) {
	for i := range weights {
		if i < 0 || i >= w.params.Validators {
			return 0, fmt.Errorf("no validator %d", i)
		}
	}
	if w.ledger != nil {
		return 0, errors.New("the weights are those of the P-Chain's blocks")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next := block{sets: w.history[len(w.history)-1].sets}
	if len(weights) > 0 {
		primary := w.reweighed(next.sets[chain.PrimaryNetworkID], weights)
		next.sets = maps.Clone(next.sets)
		next.sets[chain.PrimaryNetworkID] = primary
	}
	w.history = append(w.history, next)
	return w.height(), nil
}

// Shift accepts one P-Chain block at whose height a 64th of one primary network
// validator's weight is another's, and returns that height. Which ones depends
// on the height; the next height has the weights as they were, or moves others.
func (w *World) Shift() uint64 {
	if w.ledger != nil {
		return w.ledger.Grow(1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, block{sets: w.history[len(w.history)-1].sets, shift: true})
	return w.height()
}

func (w *World) shifted(sets map[chain.ID][]Member, height uint64) map[chain.ID][]Member {
	members := slices.Clone(sets[chain.PrimaryNetworkID])
	if n := uint64(len(members)); n > 1 {
		pick := w.derive("weight shift", height)
		from := binary.BigEndian.Uint64(pick[:]) % n
		to := (from + 1 + binary.BigEndian.Uint64(pick[8:])%(n-1)) % n
		moved := members[from].Weight / 64
		members[from].Weight -= moved
		members[to].Weight += moved
	}
	sets = maps.Clone(sets)
	sets[chain.PrimaryNetworkID] = members
	return sets
}

func (w *World) reweighed(old []Member, weights map[int]uint64) []Member {
	current := make(map[int]uint64, len(old))
	for _, m := range old {
		current[m.Index] = m.Weight
	}
	for i, weight := range weights {
		current[i] = weight
	}
	members := make([]Member, 0, len(current))
	for i, weight := range current {
		if weight > 0 {
			members = append(members, Member{Validator: w.validators[i], Weight: weight, NoKey: w.validators[i].Keyless})
		}
	}
	SortCanonical(members)
	return members
}
