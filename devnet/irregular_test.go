package devnet

import (
	"testing"
	"time"
)

// TestIrregularHistories: with irregular times, which are off by default, an L1's
// history lies within the C-Chain's.
func TestIrregularHistories(t *testing.T) {
	t.Parallel()
	for _, irregular := range []bool{false, true} {
		d, err := New(Config{Validators: 2, EVMChains: 1, Blocks: 500, HistoryInterval: time.Hour, IrregularTimes: irregular})
		if err != nil {
			t.Fatal(err)
		}
		c, l1 := d.EVMChain(d.world.CChainID()), d.EVMChain(d.world.L1s()[0].ChainID)
		later, earlier := l1.Time(0) > c.Time(0), l1.Time(500) < c.Time(500)
		if later != irregular || earlier != irregular || c.Config().IrregularTimes != irregular {
			t.Errorf("irregular %v: the C-Chain's history is from %d to %d, the L1's from %d to %d",
				irregular, c.Time(0), c.Time(500), l1.Time(0), l1.Time(500))
		}
	}
}
