package engine

import "testing"

// TestBudget: all caches together stay within what is given, whatever that is and
// however many chains there are, and more memory never makes one smaller.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, chains := range []int{0, 1, 2, 5} {
		for _, networks := range []int{1, 2} {
			var last Budget
			for total := int64(MinMemory); total <= 64<<30; total += total / 7 {
				b := NewBudget(total, chains, networks)
				if sum := b.Total(chains, networks); sum > total {
					t.Fatalf("%d MiB for %d chains and %d networks: %d MiB in all", total>>20, chains, networks, sum>>20)
				}
				if b.Blocks < last.Blocks || b.Balances < last.Balances || b.Compactions < last.Compactions || b.Results < last.Results || b.Window < last.Window || b.Primary < last.Primary {
					t.Fatalf("%d MiB: %+v, with less %+v", total>>20, b, last)
				}
				last = b
			}
		}
	}
}
