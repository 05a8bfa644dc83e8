package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Part names what [View.AddressParts] lists of an address' transactions.
type Part uint8

// The parts.
const (
	// PartERC20 and PartERC1155 are the transfers of a standard from or to the address.
	PartERC20 Part = iota
	PartERC1155
	// PartCalls are the internal transactions from or to the address.
	PartCalls
	// PartMade are the contracts that the address made, by a transaction of its own or
	// by a call.
	PartMade
)

// roles are the parts of a transaction that an address must have one of, for the
// transaction to hold parts of the kind.
func (k Part) roles() Role {
	switch k {
	case PartERC20:
		return RoleERC20
	case PartERC1155:
		return RoleERC1155
	case PartCalls:
		return RoleInternal
	}
	return RoleSender | RoleInternal
}

// own stands for the transaction itself among its calls.
const own = -1

// A place in a transaction: of transfers the log and the item, of calls how many of
// those from and to the address come before, and one more. Zero is the transaction itself.
func transferPlace(t *Transfer) uint64 { return uint64(t.LogIndex)<<16 | uint64(t.Item) }

const (
	placeLen   = 8
	wholePlace = math.MaxUint64 // nothing of the transaction is left
)

// PartFunc takes a part of a transaction, which both are good until it returns, and
// reports whether the page has room for more. i is an index of tx.Transfers, or of
// tx.Calls; it is -1 for the contract that the transaction itself made.
type PartFunc func(tx *Tx, i int) (more bool)

// AddressParts yields parts of the transactions of an address, in the order of
// [View.AddressTxs] and backward within a transaction unless the page is ascending. Of
// the transactions it says what AddressTxs does. A page may end early, also empty,
// with a position, where an address has many transactions without such parts.
func (v *View) AddressParts(a evm.Address, kind Part, p Page, take PartFunc) ([]byte, error) {
	w := partWalk{a: a, kind: kind, ascending: p.Ascending, left: p.Limit, take: take}
	if p.After != nil {
		if len(p.After) != addressTxSuffix+placeLen {
			return nil, ErrPosition
		}
		w.resume, w.from = p.After[:addressTxSuffix], binary.BigEndian.Uint64(p.After[addressTxSuffix:])
		p.After = w.resume
	}
	if p.Limit < 1 {
		return nil, nil
	}
	p.Limit = math.MaxInt
	next, err := v.addressTxs(&addressList{
		a: a, roles: kind.roles(), take: w.tx,
		again: w.resume != nil && w.from != wholePlace,
		ends:  func() bool { return w.within != nil },
	}, &p)
	switch {
	case err != nil:
		return nil, err
	case w.within != nil: // the page has ended within a transaction
		return w.within, nil
	case next != nil:
		return binary.BigEndian.AppendUint64(next, wholePlace), nil
	}
	return nil, nil
}

// partWalk is a page of parts in the making.
type partWalk struct {
	a         evm.Address
	kind      Part
	ascending bool
	left      int // room on the page
	take      PartFunc

	resume []byte // the row that the page before ended in
	from   uint64 // and the place there
	within []byte // where this page has ended, if that is within a transaction
}

// tx takes the parts of a transaction.
func (w *partWalk) tx(suffix []byte, tx *Tx) (more bool) {
	parts := w.parts(tx)
	if w.resume != nil && string(suffix) == string(w.resume) {
		parts = w.rest(parts)
	}
	for n := range parts {
		at := n
		if !w.ascending {
			at = len(parts) - 1 - n
		}
		more = w.take(tx, parts[at].index)
		if w.left--; w.left == 0 {
			more = false
		}
		if !more && n+1 < len(parts) {
			w.within = binary.BigEndian.AppendUint64(append([]byte(nil), suffix...), parts[at].place)
		}
		if !more {
			return false
		}
	}
	return true
}

// found is a part of a transaction.
type found struct {
	index int
	place uint64
}

// parts returns those of the kind, in their order.
func (w *partWalk) parts(tx *Tx) (list []found) {
	switch w.kind {
	case PartERC20, PartERC1155:
		kind := ERC20
		if w.kind == PartERC1155 {
			kind = ERC1155
		}
		for i := range tx.Transfers {
			if t := &tx.Transfers[i]; t.Kind == kind && (t.From == w.a || t.To == w.a) {
				list = append(list, found{i, transferPlace(t)})
			}
		}
		return list
	}
	if w.kind == PartMade && tx.Creation && tx.From == w.a && !tx.Failed {
		list = append(list, found{own, 0})
	}
	place := uint64(0)
	for i := range tx.Calls {
		c := &tx.Calls[i]
		if !c.Concerns(&w.a) {
			continue // large transactions come with all their calls, small ones without these
		}
		if place++; w.kind == PartCalls || c.Type.Creates() && !c.Reverted && c.From == w.a && !c.To.IsZero() {
			list = append(list, found{i, place})
		}
	}
	return list
}

// rest returns the parts behind the place that the page before ended at.
func (w *partWalk) rest(parts []found) []found {
	for i := range parts {
		switch {
		case w.ascending && parts[i].place > w.from:
			return parts[i:]
		case !w.ascending && parts[i].place >= w.from:
			return parts[:i]
		}
	}
	if w.ascending {
		return nil
	}
	return parts
}

// makerRows bounds the search for what made a contract: it can be called, and be sent
// coins, before it is there, but few do.
const makerRows = 1000

// Maker returns the first transaction that made the contract at an address, and the
// index of the call that did, -1 if it was the transaction itself. A contract that the
// index does not know, such as one of the genesis block, or of a block without its
// trace, is not found.
func (v *View) Maker(contract evm.Address) (tx *Tx, call int, found bool, err error) {
	p := Page{Limit: makerRows, Ascending: true, To: math.MaxUint64}
	search := func(_ []byte, row *Tx) bool {
		if row.Creation && row.Contract == contract && !row.Failed {
			tx, call, found = row, own, true
			return false
		}
		for i := range row.Calls {
			if c := &row.Calls[i]; c.Type.Creates() && !c.Reverted && c.To == contract {
				tx, call, found = row, i, true
				return false
			}
		}
		return true
	}
	_, err = v.addressTxs(&addressList{
		a: contract, roles: RoleCreated | RoleInternal, take: search,
		ends: func() bool { return found },
	}, &p)
	return tx, call, found, err
}

// SignedTxs yields the transactions that an address sent, that were sent to it,
// or that made it, as [View.AddressTxs] does.
func (v *View) SignedTxs(a evm.Address, p Page, take TxFunc) ([]byte, error) {
	const roles = RoleSender | RoleReceiver | RoleCreated
	return v.addressTxs(&addressList{a: a, roles: roles, take: func(_ []byte, tx *Tx) bool { return take(tx) }}, &p)
}

// matching returns what reports whether the address has one of the roles in a row.
func matching(roles Role) func(r *store.Rows) (bool, error) {
	return func(r *store.Rows) (ok bool, err error) {
		err = r.Value(func(b []byte) error {
			if len(b) == 0 {
				return fmt.Errorf("%w: roles", errCodec)
			}
			ok = Role(b[0])&roles != 0
			return nil
		})
		return ok, err
	}
}
