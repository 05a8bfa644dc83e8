package evm

import (
	"bytes"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// ledger adds up the balances of a block from the diffs of its transactions.
type ledger struct {
	accounts map[evm.Address]*account
}

// account is the balance of one account in a block.
type account struct {
	before, wei uint256.Int
	moved       bool // a diff has a new balance
	unsure      bool // the diffs do not tell: ask the node
}

func newLedger() ledger { return ledger{accounts: make(map[evm.Address]*account)} }

func (l *ledger) get(a evm.Address) (*account, bool) {
	if e, ok := l.accounts[a]; ok {
		return e, true
	}
	e := &account{}
	l.accounts[a] = e
	return e, false
}

// doubt makes the balance of a one that the node is asked for.
func (l *ledger) doubt(a evm.Address) {
	e, _ := l.get(a)
	e.unsure = true
}

// moved reports whether a diff has a new balance of a.
func (l *ledger) moved(a evm.Address) bool {
	e, ok := l.accounts[a]
	return ok && e.moved
}

// apply takes in the diff of the next transaction. The tracer leaves three things
// out: a new account has no balance before, of an unchanged balance there is none
// after, and accounts that ran SELFDESTRUCT have no after at all, though they live
// on if that was reverted or if they are older than the transaction.
func (l *ledger) apply(pre, post map[evm.Address]amount) {
	for a, now := range post {
		if !now.known {
			continue
		}
		was, had := pre[a]
		e, seen := l.get(a)
		switch {
		case had && !was.known:
			e.unsure = e.unsure || !seen
		case !seen:
			e.before = was.wei
		case e.moved && e.wei != was.wei:
			e.unsure = true // changed by something that no diff shows
		case !e.moved:
			e.before = was.wei
		}
		e.wei, e.moved = now.wei, true
	}
	for a := range pre {
		if _, ok := post[a]; !ok {
			l.doubt(a)
		}
	}
}

// unsure returns the accounts to ask the node for.
func (l *ledger) unsure() (list []evm.Address) {
	for a, e := range l.accounts {
		if e.unsure {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func compare(a, b evm.Address) int { return bytes.Compare(a[:], b[:]) }

// balances returns what the block may have changed, by address.
func (l *ledger) balances() []evm.Balance {
	list := make([]evm.Balance, 0, len(l.accounts))
	for a, e := range l.accounts {
		if e.moved || e.before != e.wei {
			list = append(list, evm.Balance{Address: a, Before: e.before, Wei: e.wei})
		}
	}
	slices.SortFunc(list, func(x, y evm.Balance) int { return compare(x.Address, y.Address) })
	return list
}
