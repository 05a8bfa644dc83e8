package evmchain

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/devnet/form"
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

// renderCalls writes the tree of calls from t.calls[i] on, and returns the index of the first
// call that is not in it.
func (b *block) renderCalls(w *form.Writer, t *tx, i int, tc TraceConfig) int {
	c := &t.calls[i]
	w.Open('{')
	w.Name("from").Hex(b.address(c.from)[:])
	w.Name("gas").Uint(c.gas)
	w.Name("gasUsed").Uint(c.gasUsed)
	if c.to != noAccount {
		w.Name("to").Hex(b.address(c.to)[:])
	}
	w.Name("input").Hex(c.input)
	if len(c.output) > 0 {
		w.Name("output").Hex(c.output)
	}
	if c.failed != "" {
		w.Name("error").Text(c.failed)
	}
	if c.reason != "" {
		w.Name("revertReason").Text(c.reason)
	}
	next := i + 1
	below := func() bool { return next < len(t.calls) && t.calls[next].depth > c.depth }
	for tc.OnlyTopCall && below() {
		next++
	}
	if below() {
		w.Name("calls").Open('[')
		for below() {
			next = b.renderCalls(w, t, next, tc)
		}
		w.Close(']')
	}
	if tc.WithLog && !c.undone {
		b.renderCallLogs(w, t, c, next-i-1)
	}
	if c.hasValue {
		w.Name("value").Wide(&c.value)
	}
	w.Name("type").Text(c.typ.String())
	w.Close('}')
	return next
}

// renderCallLogs writes the logs of the account that a call runs on. position
// is how many calls there are below it.
func (b *block) renderCallLogs(w *form.Writer, t *tx, c *call, position int) {
	first := true
	for i := range t.logs {
		l := &t.logs[i]
		if l.address.index != c.to || c.typ == evm.CallDelegate {
			continue
		}
		if first {
			w.Name("logs").Open('[')
			first = false
		}
		w.Open('{')
		l.render(w)
		w.Name("position").Uint(uint64(position)) // not negative
		w.Close('}')
	}
	if !first {
		w.Close(']')
	}
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

// step applies a transaction, and returns the accounts that it touched, in the
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

// renderState writes the accounts that a transaction touched, or what it changed of them.
func (s *states) renderState(w *form.Writer, t *tx, diff bool) {
	touched := s.step(t)
	defer func() {
		for _, i := range t.created {
			s.account(i).hadCode = true
		}
	}()
	if !diff {
		s.renderAccounts(w, t, touched, false, func(a *seen) bool { return !a.fresh })
		return
	}
	w.Open('{')
	s.renderAccounts(w.Name("post"), t, touched, true, (*seen).changed)
	s.renderAccounts(w.Name("pre"), t, touched, false, func(a *seen) bool {
		return a.changed() && !(a.fresh && a.was.IsZero())
	})
	w.Close('}')
}

// renderAccounts writes the accounts for which ok holds: what changed of them
// when post, else what they were before.
func (s *states) renderAccounts(w *form.Writer, t *tx, touched []uint32, post bool, ok func(*seen) bool) {
	w.Open('{')
	for _, i := range touched {
		if a := s.account(i); ok(a) {
			w.Hex(s.block.address(i)[:])
			s.renderAccount(w.Value(), t, i, a, post)
		}
	}
	w.Close('}')
}

func (s *states) renderAccount(w *form.Writer, t *tx, i uint32, a *seen, post bool) {
	w.Open('{')
	switch {
	case !post:
		w.Name("balance").Wide(&a.was)
	case a.balance != a.was:
		w.Name("balance").Wide(&a.balance)
	}
	if code := runtimeCode(s.block.ledger.accounts[i].kind); post && a.fresh || !post && a.hadCode {
		w.Name("code").Hex(code)
	}
	switch {
	case !post && a.wasN > 0:
		w.Name("nonce").JSON(strconv.FormatUint(uint64(a.wasN), 10))
	case post && a.nonce != a.wasN:
		w.Name("nonce").JSON(strconv.FormatUint(uint64(a.nonce), 10))
	}
	if a.stored {
		// One slot stands for all that changed.
		version := t.op.nonce
		if post {
			version++
		}
		slot, value := evm.Keccak([]byte{'s', byte(i)}), evm.Keccak([]byte{'v', byte(version), byte(version >> 8)})
		w.Name("storage").Open('{')
		w.Hex(slot[:])
		w.Value().Hex(value[:])
		w.Close('}')
	}
	w.Close('}')
}
