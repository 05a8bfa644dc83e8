package pchain

import (
	"bytes"
	"fmt"
	"maps"
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

// setChanges has, by subnet, what the members that a block changed were before it; nil
// is none.
type setChanges map[chain.ID]map[string][]byte

// setMember writes a member, or removes it if it is nil, and notes what was before.
func (m *machine) setMember(subnet chain.ID, id []byte, v *member) error {
	list := m.rows.Key(store.PlatformSets).ID(subnet)
	before, found, err := m.rows.GetLive(list, id)
	if err != nil {
		return err
	}
	if !found {
		before = nil
	}
	if m.sets == nil {
		m.sets = setChanges{}
	}
	if m.sets[subnet] == nil {
		m.sets[subnet] = map[string][]byte{}
	}
	if _, noted := m.sets[subnet][string(id)]; !noted {
		m.sets[subnet][string(id)] = before
	}
	if v == nil {
		return m.rows.DeleteLive(list, id)
	}
	return m.rows.PutLive(list, id, v.encode(make([]byte, 0, 96)))
}

// weigh writes what a current validator weighs, or that it is none any more.
func (m *machine) weigh(s *staker, current bool) error {
	if !current {
		return m.setMember(s.Subnet, s.Node[:], nil)
	}
	return m.setMember(s.Subnet, s.Node[:], &member{Node: s.Node, Weight: s.Weight + s.DelegatedWeight, Key: s.BLSKey})
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
	for subnet, changes := range m.sets {
		e := &primary.Encoder{}
		changed, more := uint64(0), 0
		for _, id := range slices.Sorted(maps.Keys(changes)) {
			now, found, err := m.rows.GetLive(m.rows.Key(store.PlatformSets).ID(subnet), []byte(id))
			if err != nil {
				return err
			}
			before := changes[id]
			if found == (before != nil) && bytes.Equal(now, before) {
				continue
			}
			e.Bytes([]byte(id))
			e.Bool(before != nil)
			e.Bytes(before)
			changed++
			if found {
				more++
			}
			if before != nil {
				more--
			}
		}
		if changed == 0 {
			continue
		}
		m.rows.Put(m.rows.Key(store.PlatformSetChanges).ID(subnet).U64(m.height), e.B)
		if err := m.markSet(subnet, changed, more); err != nil {
			return err
		}
	}
	m.sets = nil
	return nil
}

// eachChange hands over what members were before a block.
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
