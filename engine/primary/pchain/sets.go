package pchain

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// member is a member of a validator set: a node, or of an L1 a validation.
type member struct {
	// Node is that of a validation of an L1, and the member's own otherwise.
	Node   chain.NodeID
	Weight uint64 // with that of its delegators
	// Key is nil without one. Validators of permissioned subnets have that which their
	// node has in the primary network.
	Key *[platform.BLSKeyLen]byte
	// Inactive: of an L1, and cannot pay.
	Inactive bool
}

// The member codec: weight | u8 1 = inactive | u8 1 = key | node | [key].
func (v *member) encode(b []byte) []byte {
	e := &primary.Encoder{B: b}
	e.Uint(v.Weight)
	e.Bool(v.Inactive)
	e.Bool(v.Key != nil)
	e.Fixed(v.Node[:])
	if v.Key != nil {
		e.Fixed(v.Key[:])
	}
	return e.B
}

func decodeMember(b []byte) (*member, error) {
	d := primary.NewDecoder(b)
	v := &member{Weight: d.Uint(), Inactive: d.Bool()}
	key := d.Bool()
	v.Node = d.Node()
	if key {
		v.Key = new([platform.BLSKeyLen]byte)
		copy(v.Key[:], d.Fixed(platform.BLSKeyLen))
	}
	return v, d.End("member of a validator set")
}

// setChange is how a block changes a member of a set: what the member was and is, nil for
// none, as it is encoded.
type setChange struct {
	subnet          chain.ID
	id, before, now []byte
}

// compare orders changes by their members.
func (c setChange) compare(o setChange) int {
	return cmp.Or(bytes.Compare(c.subnet[:], o.subnet[:]), bytes.Compare(c.id, o.id))
}

// setMember writes a member, or removes it if it is nil, and notes what was before.
func (m *machine) setMember(subnet chain.ID, id []byte, v *member) (err error) {
	c := setChange{subnet: subnet, id: bytes.Clone(id)}
	if v != nil {
		c.now = v.encode(make([]byte, 0, 96))
	}
	c.before, err = m.rows.SwapLive(m.rows.Key(store.PlatformSets).ID(subnet), id, c.now)
	m.sets = append(m.sets, c)
	return err
}

// weigh writes what a current validator weighs, or that it is none any more.
func (m *machine) weigh(s *staker, current bool) error {
	if !current {
		return m.setMember(s.Subnet, s.Node[:], nil)
	}
	return m.setMember(s.Subnet, s.Node[:], &member{Node: s.Node, Weight: chain.AddSaturated(s.Weight, s.DelegatedWeight), Key: s.BLSKey})
}

func (m *machine) weighL1(v *l1) error {
	if v.RemovedAt != 0 {
		return m.setMember(v.Subnet, v.ValidationID[:], nil)
	}
	return m.setMember(v.Subnet, v.ValidationID[:], &member{Node: v.Node, Weight: v.Weight, Key: &v.BLSKey, Inactive: !v.Active})
}

// flushSets writes how the block changed validator sets: for each member u8 length of
// its ID | ID | u8 1 = there was one | what it was behind its length.
func (m *machine) flushSets() error {
	slices.SortStableFunc(m.sets, setChange.compare)
	for left := m.sets; len(left) > 0; {
		subnet := left[0].subnet
		e := &primary.Encoder{B: m.value[:0]}
		changed, more := uint64(0), 0
		for len(left) > 0 && left[0].subnet == subnet {
			first, last := &left[0], 0
			for last+1 < len(left) && first.compare(left[last+1]) == 0 { // it was changed several times
				last++
			}
			before, now := first.before, left[last].now
			left = left[last+1:]
			if (now != nil) == (before != nil) && bytes.Equal(now, before) {
				continue
			}
			e.Bytes(first.id)
			e.Bool(before != nil)
			e.Bytes(before)
			changed++
			if now != nil {
				more++
			}
			if before != nil {
				more--
			}
		}
		m.value = e.B
		if changed == 0 {
			continue
		}
		m.rows.Put(m.rows.Key(store.PlatformSetChanges).ID(subnet).U64(m.height), e.B)
		if err := m.markSet(subnet, changed, more); err != nil {
			return err
		}
	}
	clear(m.sets)
	m.sets = m.sets[:0]
	return nil
}

// eachChange yields what members were before a block.
func eachChange(b []byte, take func(id string, before *member)) error {
	d := primary.NewDecoder(b)
	for d.Len() > 0 {
		id := string(d.Bytes())
		had, raw := d.Bool(), d.Bytes()
		if !had {
			take(id, nil)
			continue
		}
		v, err := decodeMember(raw)
		if err != nil {
			return err
		}
		take(id, v)
	}
	if err := d.End("changes of a validator set"); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}
