package evm

import "testing"

// TestCallConcerns: the zero address is not the receiver of a creation that came
// to nothing, but it is that of what is sent to it.
func TestCallConcerns(t *testing.T) {
	t.Parallel()
	a, b, zero := Address{1}, Address{2}, Address{}
	f := func(typ CallType, to, self Address, want bool) {
		t.Helper()
		if got := (&Call{Type: typ, From: a, To: to}).Concerns(&self); got != want {
			t.Errorf("%s from %s to %s for %s: %v", typ, a, to, self, got)
		}
	}
	for _, typ := range []CallType{CallCreate, CallCreate2} {
		f(typ, zero, a, true)
		f(typ, zero, zero, false)
		f(typ, b, b, true)
		f(typ, b, zero, false)
	}
	f(CallPlain, zero, zero, true)
	f(CallPlain, b, a, true)
	f(CallPlain, b, b, true)
	f(CallPlain, b, zero, false)
}
