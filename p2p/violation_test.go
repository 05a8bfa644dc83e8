package p2p

import (
	"testing"
)

// TestIssuedIDs: only IDs that were never used are inventions, also after the
// counter has gone round.
func TestIssuedIDs(t *testing.T) {
	t.Parallel()
	var table requestTable
	table.init(10)
	table.first = 1<<32 - 5
	table.next = table.first
	check := func(id uint32, want bool) {
		t.Helper()
		if got := table.issued(id); got != want {
			t.Errorf("%d: issued is %v after %d from %d", id, got, table.steps.Load(), table.first)
		}
	}
	check(table.first, false)
	for range 5 {
		id, err := table.take()
		if err != nil {
			t.Fatal(err)
		}
		check(id, true)
		check(id+2, false)
		check(id+1, false)
		check(id^1<<31, false)
		table.release(id)
		check(id, true)
	}
	check(table.first-2, false)
	table.steps.Store(1 << 31)
	check(table.first-2, true)
	check(table.first-1, false)
}
