package primary

import (
	"slices"

	"quorate/engine/chain/platform"
)

// setMember is a node's part in a validator set from a height on.
type setMember struct {
	height uint64
	weight uint64
	key    *[platform.BLSKeyLen]byte // nil without one
}

// sets holds validator sets of all subnets at all heights, as what changed.
type sets struct {
	history map[SubnetNode][]setMember
	now     map[SubnetNode]*setMember
	touched map[SubnetNode]struct{}
}

func newSets() sets {
	return sets{
		history: make(map[SubnetNode][]setMember), now: make(map[SubnetNode]*setMember), touched: make(map[SubnetNode]struct{}),
	}
}

func (s *sets) at(n SubnetNode) *setMember {
	m := s.now[n]
	if m == nil {
		m = new(setMember)
		s.now[n] = m
	}
	s.touched[n] = struct{}{}
	return m
}

func (s *sets) add(n SubnetNode, weight uint64)                 { s.at(n).weight += weight }
func (s *sets) sub(n SubnetNode, weight uint64)                 { s.at(n).weight -= weight }
func (s *sets) key(n SubnetNode, key *[platform.BLSKeyLen]byte) { s.at(n).key = key }

// commit keeps what changed for a height.
func (s *sets) commit(height uint64) {
	for n := range s.touched {
		m := *s.now[n]
		m.height = height
		h := s.history[n]
		if len(h) > 0 && h[len(h)-1].weight == m.weight && sameKey(h[len(h)-1].key, m.key) {
			continue
		}
		s.history[n] = append(h, m)
	}
	clear(s.touched)
}

func sameKey(a, b *[platform.BLSKeyLen]byte) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// of returns the members at a height, those without weight left out.
func (s *sets) of(height uint64) map[SubnetNode]setMember {
	all := make(map[SubnetNode]setMember)
	for n, h := range s.history {
		i, found := slices.BinarySearchFunc(h, height, func(m setMember, height uint64) int {
			switch {
			case m.height < height:
				return -1
			case m.height > height:
				return 1
			}
			return 0
		})
		if !found {
			i--
		}
		if i >= 0 && h[i].weight > 0 {
			all[n] = h[i]
		}
	}
	return all
}
