package pchain

import (
	"bytes"
	"fmt"
	"math/bits"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/chain/warp"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// l1 is a validator of an L1 with what the chain needs of it.
type l1 struct {
	primary.L1Validator
	place  primary.Place
	number uint32 // among those of its transaction
	// limit is what may have accrued while it is active; zero if it is not.
	limit uint64
	// open: what has accrued is not known, and so neither is its balance.
	open bool
	// refunded: what was left was paid back in this block. It is not kept.
	refunded bool
}

// The codec of validators of L1s, version 1.
const l1Version = 1

func (v *l1) encode() []byte {
	e := &primary.Encoder{B: make([]byte, 0, 256)}
	e.U8(l1Version)
	e.ID(v.Subnet)
	e.Fixed(v.Node[:])
	e.Fixed(v.BLSKey[:])
	e.ID(v.CreateTx)
	e.Bool(v.Active)
	e.Bool(v.open)
	for _, n := range []uint64{v.Weight, v.MinNonce, v.limit, v.Start, v.RemovedAt, v.DeactivatedAt, uint64(v.number)} {
		e.Uint(n)
	}
	e.Place(v.place)
	e.Owners(&v.BalanceOwner)
	e.Owners(&v.DisableOwner)
	return e.B
}

func decodeL1(id chain.ID, b []byte) (*l1, error) {
	d := primary.NewDecoder(b)
	v := &l1{}
	v.ValidationID = id
	if d.U8() != l1Version {
		return nil, fmt.Errorf("%w: validator %s of an L1", primary.ErrRow, id)
	}
	v.Subnet, v.Node = d.ID(), d.Node()
	copy(v.BLSKey[:], d.Fixed(platform.BLSKeyLen))
	v.CreateTx = d.ID()
	v.Active, v.open = d.Bool(), d.Bool()
	v.Weight, v.MinNonce, v.limit, v.Start, v.RemovedAt, v.DeactivatedAt = d.Uint(), d.Uint(), d.Uint(), d.Uint(), d.Uint(), d.Uint()
	v.number = d.Uint32()
	v.place = d.Place()
	v.CreationHeight = v.place.Height
	v.BalanceOwner, v.DisableOwner = d.Owners(), d.Owners()
	return v, d.End("validator of an L1")
}

// l1 returns a validator of an L1 that was not removed, nil if there is none.
func (m *machine) l1(id chain.ID) (*l1, error) {
	b, found, err := m.rows.Get(m.rows.Key(store.PlatformL1).ID(id))
	if err != nil || !found {
		return nil, err
	}
	v, err := decodeL1(id, b)
	if err != nil || v.RemovedAt != 0 {
		return nil, err
	}
	return v, nil
}

// putL1 writes a validator of an L1; before is what it was, nil if it is new.
func (m *machine) putL1(v, before *l1) error {
	v.Active = v.limit != 0 && v.RemovedAt == 0
	m.rows.Put(m.rows.Key(store.PlatformL1).ID(v.ValidationID), v.encode())
	if before == nil || before.Active != v.Active {
		for _, k := range []primary.Key{
			m.rows.Key(store.PlatformL1Lists).U8(listAll), m.rows.Key(store.PlatformL1Lists).U8(listNode).Bytes(v.Node[:]),
			m.rows.Key(store.PlatformL1Lists).U8(listSubnet).ID(v.Subnet),
		} {
			order := primary.Key(nil).U64(v.Start).Place(v.place).U32(v.number)
			if before != nil {
				if err := m.rows.DeleteLive(k.Clone().U8(boolByte(!before.Active)), order); err != nil {
					return err
				}
			}
			if err := m.rows.PutLive(k.U8(boolByte(!v.Active)), order, v.ValidationID[:]); err != nil {
				return err
			}
		}
	}
	if before != nil && before.Active {
		if err := m.count(v.Subnet, false, before.Weight, fewer); err != nil {
			return err
		}
		m.head.Fees.Active--
		if !v.Active {
			// Who has run out has paid all that it had, also what is too little for a second.
			paid := before.limit
			if v.refunded {
				paid = m.head.Fees.Accrued
			}
			if err := m.settle(v, false, paid); err != nil {
				return err
			}
		}
		m.dequeue(queuePaying, turnOf(before.limit, 0, v.ValidationID))
	}
	if v.Active {
		if err := m.count(v.Subnet, false, v.Weight, 1); err != nil {
			return err
		}
		m.head.Fees.Active++
		if before == nil || !before.Active {
			if err := m.settle(v, true, m.head.Fees.Accrued); err != nil {
				return err
			}
		}
		m.enqueue(queuePaying, turnOf(v.limit, 0, v.ValidationID))
	}
	return m.weighL1(v)
}

// fund adds to what a validator can pay, which activates it.
func (m *machine) fund(v *l1, balance uint64) error {
	if balance == 0 {
		return nil
	}
	if v.limit == 0 {
		if m.head.Exact && m.head.Fees.Active >= m.cfg.Params.Fees.Capacity {
			return fmt.Errorf("%w: more than %d active validators of L1s", ErrRefused, m.cfg.Params.Fees.Capacity)
		}
		v.limit, v.DeactivatedAt, v.open = m.head.Fees.Accrued, 0, !m.head.FeesKnown
	}
	limit, over := bits.Add64(v.limit, balance, 0)
	if over != 0 {
		return fmt.Errorf("%w: balance of validator %s", ErrRefused, v.ValidationID)
	}
	v.limit = limit
	return nil
}

// longest bounds the time between two blocks: what validators pay is computed second by
// second, and no network has slept for years.
const longest = 4 * 366 * 24 * 60 * 60

// charge has active validators pay for some seconds.
func (m *machine) charge(seconds uint64) error {
	if !m.head.FeesKnown {
		return nil
	}
	if seconds > longest {
		return fmt.Errorf("%w: no block for %d seconds", ErrRefused, seconds)
	}
	if first := m.paying.first(); first != nil {
		left := m.head.Fees.SecondsLeft(m.cfg.Params.Fees, seconds, first.at()-min(first.at(), m.head.Fees.Accrued))
		if left < seconds {
			return fmt.Errorf("%w: %d seconds pass over the end of what %s can pay, in %d", ErrRefused, seconds, first.id(), left)
		}
	}
	next, err := m.head.Fees.Advance(m.cfg.Params.Fees, seconds)
	if err != nil {
		return err
	}
	m.head.Fees = next
	return m.deactivate(next.Accrued)
}

// deactivateLow deactivates validators that could not pay for another second.
func (m *machine) deactivateLow() error {
	if !m.head.FeesKnown || m.paying.first() == nil {
		return nil
	}
	next, err := m.head.Fees.NextSecond(m.cfg.Params.Fees)
	if err != nil || next == 0 {
		return err
	}
	return m.deactivate(next - 1)
}

// deactivate deactivates validators whose limit is at most what has accrued.
func (m *machine) deactivate(accrued uint64) error {
	for t := m.paying.first(); t != nil && t.at() <= accrued; t = m.paying.first() {
		v, err := m.l1(t.id())
		if err == nil && v == nil {
			err = fmt.Errorf("%w: validator %s of an L1 is missing", primary.ErrRow, t.id())
		}
		if err != nil {
			return err
		}
		before := *v
		v.limit, v.DeactivatedAt = 0, m.time
		if err := m.putL1(v, &before); err != nil {
			return err
		}
	}
	return nil
}

// convert executes a [platform.ConvertSubnetToL1].
func (m *machine) convert(x *execution, t *platform.ConvertSubnetToL1) error {
	err := m.changeSubnet(t.Subnet, func(s *subnet) {
		s.conversion, s.managerChain, s.managerAddress = x.tx.ID, t.ManagerChain, t.ManagerAddress
	})
	if err != nil {
		return err
	}
	for i := range t.Validators {
		from := &t.Validators[i]
		v := &l1{place: x.row.Place, number: uint32(i)}
		v.L1Validator = primary.L1Validator{
			ValidationID: platform.ConvertedValidationID(t.Subnet, uint32(i)), Subnet: t.Subnet, BLSKey: from.Signer.PublicKey,
			Weight: from.Weight, Start: m.time, CreateTx: x.tx.ID, CreationHeight: m.height,
			BalanceOwner: ownersOf(&from.RemainingBalanceOwner), DisableOwner: ownersOf(&from.DeactivationOwner),
		}
		if len(from.NodeID) != chain.NodeIDLen {
			return fmt.Errorf("%w: node ID of %d bytes", ErrRefused, len(from.NodeID))
		}
		copy(v.Node[:], from.NodeID)
		if err := m.fund(v, from.Balance); err != nil {
			return err
		}
		x.out(x.avax(), from.Balance)
		if err := m.putL1(v, nil); err != nil {
			return err
		}
	}
	return nil
}

func ownersOf(o *platform.L1Owner) utxo.Owners {
	return utxo.Owners{Threshold: o.Threshold, Addresses: o.Addresses}
}

// payload returns what an L1's manager says in a signed message, if it is the manager
// that says it.
func (m *machine) payload(message []byte) (from *warp.Signed, call warp.AddressedCall, err error) {
	if from, err = warp.ParseSigned(message); err == nil {
		call, err = warp.ParseAddressedCall(from.Payload)
	}
	if err != nil {
		return nil, call, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return from, call, nil
}

// managed reports an error unless a message is that of a subnet's manager.
func (m *machine) managed(id chain.ID, from *warp.Signed, call *warp.AddressedCall) error {
	s, err := m.subnet(id)
	if err != nil || s == nil && !m.head.Exact {
		return err
	}
	if s == nil || s.conversion.IsZero() || s.managerChain != from.SourceChainID || !bytes.Equal(s.managerAddress, call.SourceAddress) {
		return fmt.Errorf("%w: message of who does not manage subnet %s", ErrRefused, id)
	}
	return nil
}

// register executes a [platform.RegisterL1Validator].
func (m *machine) register(x *execution, t *platform.RegisterL1Validator) error {
	from, call, err := m.payload(t.Message)
	if err != nil {
		return err
	}
	r, err := platform.ParseL1Registration(call.Payload)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := m.managed(r.Subnet, from, &call); err != nil {
		return err
	}
	if known, err := m.l1(r.ValidationID); err != nil || known != nil || len(r.NodeID) != chain.NodeIDLen {
		if err == nil {
			err = fmt.Errorf("%w: registration of %s", ErrRefused, r.ValidationID)
		}
		return err
	}
	v := &l1{place: x.row.Place}
	v.L1Validator = primary.L1Validator{
		ValidationID: r.ValidationID, Subnet: r.Subnet, Node: chain.NodeID(r.NodeID), BLSKey: r.PublicKey, Weight: r.Weight, Start: m.time,
		CreateTx: x.tx.ID, CreationHeight: m.height, BalanceOwner: ownersOf(&r.RemainingBalanceOwner), DisableOwner: ownersOf(&r.DisableOwner),
	}
	if err := m.fund(v, t.Balance); err != nil {
		return err
	}
	x.out(x.avax(), t.Balance)
	return m.putL1(v, nil)
}

// knownL1 returns a validator of an L1; nil without an error if it may be one of before
// what is known.
func (m *machine) knownL1(id chain.ID) (*l1, error) {
	v, err := m.l1(id)
	if err == nil && v == nil && m.head.Exact {
		err = fmt.Errorf("%w: no such validator of an L1: %s", ErrRefused, id)
	}
	return v, err
}

// setWeight executes a [platform.SetL1ValidatorWeight].
func (m *machine) setWeight(x *execution, t *platform.SetL1ValidatorWeight) error {
	from, call, err := m.payload(t.Message)
	if err != nil {
		return err
	}
	w, err := platform.ParseL1Weight(call.Payload)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	v, err := m.knownL1(w.ValidationID)
	if err != nil || v == nil {
		return err
	}
	if err := m.managed(v.Subnet, from, &call); err != nil {
		return err
	}
	if w.Nonce < v.MinNonce {
		return fmt.Errorf("%w: nonce %d of %s, at least %d", ErrRefused, w.Nonce, w.ValidationID, v.MinNonce)
	}
	before := *v
	v.MinNonce, v.Weight = w.Nonce+1, w.Weight
	if w.Weight == 0 {
		if err := m.refund(x, v); err != nil {
			return err
		}
		v.RemovedAt, v.limit = m.time, 0
	}
	return m.putL1(v, &before)
}

// increase executes a [platform.IncreaseL1ValidatorBalance].
func (m *machine) increase(x *execution, t *platform.IncreaseL1ValidatorBalance) error {
	x.out(x.avax(), t.Balance)
	v, err := m.knownL1(t.ValidationID)
	if err != nil || v == nil {
		return err
	}
	before := *v
	if err := m.fund(v, t.Balance); err != nil {
		return err
	}
	return m.putL1(v, &before)
}

// disable executes a [platform.DisableL1Validator].
func (m *machine) disable(x *execution, t *platform.DisableL1Validator) error {
	v, err := m.knownL1(t.ValidationID)
	if err != nil || v == nil || v.limit == 0 {
		return err
	}
	before := *v
	if err := m.refund(x, v); err != nil {
		return err
	}
	v.limit, v.DeactivatedAt = 0, m.time
	return m.putL1(v, &before)
}

// refund pays back what an active validator has left.
func (m *machine) refund(x *execution, v *l1) error {
	if v.limit == 0 || v.open || !m.head.FeesKnown {
		return nil
	}
	if v.limit <= m.head.Fees.Accrued {
		return fmt.Errorf("%w: validator %s should not be active any more", ErrRefused, v.ValidationID)
	}
	v.refunded = true
	ref := utxo.Ref{TxID: x.tx.ID, Index: uint32(len(x.tx.Body.Funds().Outputs))}
	out := utxo.Output{Asset: x.avax(), State: utxo.State{Kind: utxo.TransferOutput, Amount: v.limit - m.head.Fees.Accrued, Owners: v.BalanceOwner}}
	x.row.Made = append(x.row.Made, ref.ID())
	return x.make(&primary.Output{UTXO: utxo.UTXO{Ref: ref, Output: out}})
}
