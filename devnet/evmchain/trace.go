package evmchain

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Tracer names what a trace tells.
type Tracer uint8

// The tracers of nodes that are there.
const (
	// CallTracer returns the tree of calls.
	CallTracer Tracer = iota
	// Prestate returns the accounts before a transaction.
	Prestate
	// PrestateDiff returns what a transaction changed.
	PrestateDiff
)

// TraceConfig says how to trace.
type TraceConfig struct {
	Tracer      Tracer
	OnlyTopCall bool
	WithLog     bool
}

// appendCalls appends the tree of calls from t.calls[i] on, and gives the index
// of the first call that is not in it.
func (b *block) appendCalls(dst []byte, t *tx, i int, tc TraceConfig) ([]byte, int) {
	c := &t.calls[i]
	dst = append(dst, `{"from":`...)
	dst = jsonAddress(dst, b.address(c.from))
	dst = append(dst, `,"gas":`...)
	dst = jsonUint(dst, c.gas)
	dst = append(dst, `,"gasUsed":`...)
	dst = jsonUint(dst, c.gasUsed)
	if c.to != noAccount {
		dst = append(dst, `,"to":`...)
		dst = jsonAddress(dst, b.address(c.to))
	}
	dst = append(dst, `,"input":`...)
	dst = jsonBytes(dst, c.input)
	if len(c.output) > 0 {
		dst = append(dst, `,"output":`...)
		dst = jsonBytes(dst, c.output)
	}
	if c.failed != "" {
		dst = append(dst, `,"error":`...)
		dst = strconv.AppendQuote(dst, c.failed)
	}
	if c.reason != "" {
		dst = append(dst, `,"revertReason":`...)
		dst = strconv.AppendQuote(dst, c.reason)
	}
	next := i + 1
	for first := true; next < len(t.calls) && t.calls[next].depth > c.depth; first = false {
		if tc.OnlyTopCall {
			next++
			continue
		}
		if first {
			dst = append(dst, `,"calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		if dst, next = b.appendCalls(dst, t, next, tc); next >= len(t.calls) || t.calls[next].depth <= c.depth {
			dst = append(dst, ']')
		}
	}
	if tc.WithLog && !c.undone {
		dst = b.appendCallLogs(dst, t, c, next-i-1)
	}
	if c.hasValue {
		dst = append(dst, `,"value":`...)
		dst = jsonWide(dst, &c.value)
	}
	dst = append(dst, `,"type":"`...)
	dst = append(dst, c.typ.String()...)
	return append(dst, `"}`...), next
}

// appendCallLogs appends the logs of the account that a call runs on. position
// is how many calls there are below it.
func (b *block) appendCallLogs(dst []byte, t *tx, c *call, position int) []byte {
	first := true
	for i := range t.logs {
		l := &t.logs[i]
		if l.address.index != c.to || c.typ == evm.CallDelegate {
			continue
		}
		if first {
			dst = append(dst, `,"logs":[`...)
		} else {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"address":`...)
		dst = jsonAddress(dst, &l.address.address)
		dst = append(dst, `,"topics":[`...)
		for k := range l.topics {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = jsonHash(dst, &l.topics[k].hash)
		}
		dst = append(dst, `],"data":`...)
		dst = jsonBytes(dst, l.data)
		dst = append(dst, `,"position":`...)
		dst = jsonUint(dst, uint64(position)) // not negative
		dst = append(dst, '}')
	}
	if !first {
		dst = append(dst, ']')
	}
	return dst
}

// seen is an account within a block: before and after a transaction.
type seen struct {
	balance, was uint256.Int
	nonce, wasN  uint32
	fresh        bool // made by the transaction
	stored       bool // its storage changed
	hadCode      bool
}

// states follows the accounts of a block from transaction to transaction.
type states struct {
	block   *block
	current map[uint32]*seen
}

func (s *states) account(i uint32) *seen {
	a, ok := s.current[i]
	if !ok {
		e := s.block.ledger.state(i, uint32(s.block.number-1)) // bounded; genesis is never traced
		acc := &s.block.ledger.accounts[i]
		a = &seen{balance: e.wei(), nonce: e.nonce, hadCode: len(codeOf(acc, uint32(s.block.number-1))) > 0} // bounded
		s.current[i] = a
	}
	return a
}

// step applies a transaction, and gives the accounts that it touched, in the
// order of their addresses, each as before and after.
func (s *states) step(t *tx) []uint32 {
	var touched []uint32
	touch := func(i uint32) *seen {
		a := s.account(i)
		if !slices.Contains(touched, i) {
			touched = append(touched, i)
			a.was, a.wasN, a.fresh, a.stored = a.balance, a.nonce, false, false
		}
		return a
	}
	touch(t.from)
	touch(coinbase)
	for i := range t.calls {
		if to := t.calls[i].to; to != noAccount {
			touch(to)
		}
	}
	t.flows(func(f flow) {
		from, to := touch(f.from), touch(f.to)
		from.balance.Sub(&from.balance, f.wei)
		to.balance.Add(&to.balance, f.wei)
	})
	t.nonces(func(i, by uint32) { touch(i).nonce += by })
	for _, i := range t.created {
		touch(i).fresh = true
	}
	for _, i := range t.touched {
		touch(i).stored = true
	}
	slices.SortFunc(touched, func(a, c uint32) int {
		return bytes.Compare(s.block.address(a)[:], s.block.address(c)[:])
	})
	return touched
}

func (a *seen) changed() bool { return a.balance != a.was || a.nonce != a.wasN || a.fresh || a.stored }

// appendState appends the accounts that a transaction touched, or what it changed of them.
func (s *states) appendState(dst []byte, t *tx, diff bool) []byte {
	touched := s.step(t)
	defer func() {
		for _, i := range t.created {
			s.account(i).hadCode = true
		}
	}()
	if !diff {
		return s.appendAccounts(dst, t, touched, false, func(a *seen) bool { return !a.fresh })
	}
	dst = append(dst, `{"post":`...)
	dst = s.appendAccounts(dst, t, touched, true, (*seen).changed)
	dst = append(dst, `,"pre":`...)
	dst = s.appendAccounts(dst, t, touched, false, func(a *seen) bool {
		return a.changed() && !(a.fresh && a.was.IsZero())
	})
	return append(dst, '}')
}

// appendAccounts appends the accounts for which ok holds: what changed of them
// when post, else what they were before.
func (s *states) appendAccounts(dst []byte, t *tx, touched []uint32, post bool, ok func(*seen) bool) []byte {
	dst = append(dst, '{')
	first := true
	for _, i := range touched {
		a := s.account(i)
		if !ok(a) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = jsonAddress(dst, s.block.address(i))
		dst = append(dst, ':')
		dst = s.appendAccount(dst, t, i, a, post)
	}
	return append(dst, '}')
}

func (s *states) appendAccount(dst []byte, t *tx, i uint32, a *seen, post bool) []byte {
	dst = append(dst, '{')
	member := func(name string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	switch {
	case !post:
		member("balance")
		dst = jsonWide(dst, &a.was)
	case a.balance != a.was:
		member("balance")
		dst = jsonWide(dst, &a.balance)
	}
	if code := runtimeCode(s.block.ledger.accounts[i].kind); post && a.fresh || !post && a.hadCode {
		member("code")
		dst = jsonBytes(dst, code)
	}
	switch {
	case !post && a.wasN > 0:
		member("nonce")
		dst = strconv.AppendUint(dst, uint64(a.wasN), 10)
	case post && a.nonce != a.wasN:
		member("nonce")
		dst = strconv.AppendUint(dst, uint64(a.nonce), 10)
	}
	if a.stored {
		// One slot stands for all that changed.
		version := t.op.nonce
		if post {
			version++
		}
		slot, value := evm.Keccak([]byte{'s', byte(i)}), evm.Keccak([]byte{'v', byte(version), byte(version >> 8)})
		member("storage")
		dst = append(jsonHash(append(dst, '{'), &slot), ':')
		dst = append(jsonHash(dst, &value), '}')
	}
	return append(dst, '}')
}
