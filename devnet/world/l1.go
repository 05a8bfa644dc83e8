package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
)

const (
	// l1Gone is how many initial validators an L1 has lost since its conversion.
	l1Gone    = 1
	l1Weight  = 100           // of each member when weights are equal
	l1Balance = 1_000_000_000 // nAVAX of each member, one AVAX
	l1Little  = 1000          // nAVAX of an underfunded one
)

// L1 is a subnet that was converted to an L1.
type L1 struct {
	SubnetID     chain.ID
	ConversionID chain.ID
	// ChainID and Name are of the L1's only chain, which its members run.
	ChainID chain.ID
	Name    string
	// ManagerChainID and ManagerAddress are of the contract that manages the validators.
	ManagerChainID chain.ID
	ManagerAddress [20]byte
	// Owner owned the subnet before its conversion; ControlKey is its text form.
	Owner      address.Address
	ControlKey string
	// Members validate now. There were more at the conversion: those with initial
	// indices from len(Members) to Initial-1 are gone.
	Members []L1Validator
	Initial int
	// Index is the position in [World.L1s].
	Index int

	former             []L1Validator
	created, withChain platform.Tx
}

// L1Validator is one validator of an L1.
type L1Validator struct {
	*Validator
	ValidationID chain.ID
	// InitialIndex is the position in the conversion: by node ID.
	InitialIndex uint32
	// L1Weight is the weight in the L1, Balance the funds in nAVAX, 0 for an
	// inactive one, MinNonce the lowest nonce that a weight change may carry.
	L1Weight, Balance, MinNonce uint64
}

func (w *World) newL1(i int) (*L1, error) {
	index := uint64(i) // i is not negative
	l := &L1{
		Index:          i,
		Name:           fmt.Sprintf("L1 %d", i+1),
		ManagerChainID: w.cChain,
		ManagerAddress: [20]byte(w.bytes("validator manager", index)[:20]),
		Owner:          w.L1Owner(i),
	}
	l.ControlKey = pAddress(l.Owner)
	if err := w.foundL1(l); err != nil {
		return nil, err
	}
	n := w.params.L1Members
	l.Initial = n + l1Gone
	for k := range l.Initial {
		// Those that are gone were validators of the primary network's kind, unknown today.
		v := w.validators[k%w.params.Validators]
		if own := k - (n - w.params.L1Own); own >= 0 && k < n {
			v = w.validators[w.params.Validators+i*w.params.L1Own+own]
		}
		weight := uint64(l1Weight)
		if w.params.Weights == Zipf {
			weight = max(l1Weight*DefaultL1Members/uint64(k+1), 1) // k is not negative
		}
		if k < n {
			l.Members = append(l.Members, L1Validator{Validator: v, L1Weight: weight, Balance: w.params.balance(k)})
			continue
		}
		node := chain.NodeID(w.bytes("former L1 node", index<<8|uint64(k))[:chain.NodeIDLen]) // small
		copy(node[:], "\xff\xff\xff\xff")                                                     // the last in order
		l.former = append(l.former, L1Validator{Validator: v.renamed(node), L1Weight: weight, Balance: l1Balance})
	}
	w.convertL1(l)
	return l, nil
}

// L1Owner returns the owner of L1 i, also of one that this network does not have.
func (w *World) L1Owner(i int) address.Address {
	return address.Address(w.bytes("subnet owner", uint64(i))[:address.Len]) // not negative
}

// renamed returns a validator with the keys of v under another node ID.
func (v *Validator) renamed(node chain.NodeID) *Validator {
	other := *v
	other.Index, other.NodeID = -1, node
	return &other
}

// convertL1 brings the initial validators into the order in which the P-Chain wants
// them, which numbers them, and works out the ID of the conversion.
func (w *World) convertL1(l *L1) {
	order := make([]*L1Validator, 0, l.Initial)
	for _, list := range [][]L1Validator{l.Members, l.former} {
		for k := range list {
			order = append(order, &list[k])
		}
	}
	slices.SortFunc(order, func(a, b *L1Validator) int { return bytes.Compare(a.NodeID[:], b.NodeID[:]) })
	data := binary.BigEndian.AppendUint16(nil, 0) // codec version
	data = append(data, l.SubnetID[:]...)
	data = append(data, l.ManagerChainID[:]...)
	data = appendVar(data, l.ManagerAddress[:])
	data = binary.BigEndian.AppendUint32(data, uint32(l.Initial)) // small
	for k, m := range order {
		m.InitialIndex = uint32(k) // small
		m.ValidationID = InitialValidationID(l.SubnetID, m.InitialIndex)
		data = appendVar(data, m.NodeID[:])
		data = append(data, m.PublicKey[:]...)
		data = binary.BigEndian.AppendUint64(data, m.L1Weight)
	}
	l.ConversionID = sha256.Sum256(data)
}

// balance is that of an L1's member k.
func (p Params) balance(k int) uint64 {
	switch active := p.L1Members - p.L1Inactive; {
	case k < len(p.L1Balances):
		return p.L1Balances[k]
	case k >= active:
		return 0
	case k >= active-p.L1Underfunded:
		return l1Little
	default:
		return l1Balance
	}
}

// InitialValidationID returns the validation ID of an L1's initial validator.
func InitialValidationID(subnet chain.ID, index uint32) chain.ID {
	return sha256.Sum256(binary.BigEndian.AppendUint32(append([]byte(nil), subnet[:]...), index))
}

func appendVar(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b))) // short
	return append(dst, b...)
}

// L1s returns all L1s. The caller must not change the slice.
func (w *World) L1s() []*L1 { return w.l1s }

// L1 finds an L1 by its subnet ID.
func (w *World) L1(subnet chain.ID) (*L1, bool) {
	for _, l := range w.l1s {
		if l.SubnetID == subnet {
			return l, true
		}
	}
	return nil, false
}

// L1Validator finds a current validator of any L1 by its validation ID.
func (w *World) L1Validator(id chain.ID) (L1Validator, bool) {
	for _, l := range w.l1s {
		for _, m := range l.Members {
			if m.ValidationID == id {
				return m, true
			}
		}
	}
	return L1Validator{}, false
}

// L1Of finds the L1 that a chain belongs to.
func (w *World) L1Of(chainID chain.ID) (*L1, bool) {
	for _, l := range w.l1s {
		if l.ChainID == chainID {
			return l, true
		}
	}
	return nil, false
}

// Runs reports whether validator i runs an EVM chain: the C-Chain, which all of them
// do, or that of an L1 that it is a member of, active or not.
func (w *World) Runs(i int, chainID chain.ID) bool {
	if chainID == w.cChain {
		return true
	}
	l, ok := w.L1Of(chainID)
	return ok && slices.ContainsFunc(l.Members, func(m L1Validator) bool { return m.Index == i })
}
