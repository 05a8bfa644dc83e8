package view

import (
	"testing"

	"quorate/engine/chain/evm"
)

// TestCallConcerns: the zero address is not the receiver of a creation that came
// to nothing, but it is that of what is sent to it.
func TestCallConcerns(t *testing.T) {
	t.Parallel()
	a, b, zero := evm.Address{1}, evm.Address{2}, evm.Address{}
	f := func(typ evm.CallType, to, self evm.Address, want bool) {
		t.Helper()
		if got := callConcerns(&evm.Call{Type: typ, From: a, To: to}, &self); got != want {
			t.Errorf("%s from %s to %s for %s: %v", typ, a, to, self, got)
		}
	}
	for _, typ := range []evm.CallType{evm.CallCreate, evm.CallCreate2} {
		f(typ, zero, a, true)
		f(typ, zero, zero, false)
		f(typ, b, b, true)
		f(typ, b, zero, false)
	}
	f(evm.CallPlain, zero, zero, true)
	f(evm.CallPlain, b, a, true)
	f(evm.CallPlain, b, b, true)
	f(evm.CallPlain, b, zero, false)
}
