package evmchain

import (
	"testing"
	"time"

	"quorate/engine/chain"
)

// TestExecution: what validators ask of a chain that comes to Helicon. Of messages those
// wait that are in blocks which are not executed, and no others.
func TestExecution(t *testing.T) {
	t.Parallel()
	cfg := whole(20, 20)
	cfg.BlockInterval, cfg.Helicon = time.Second, cfg.End.Add(14*time.Second)
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, swapped := c.Swapped(); swapped || c.Activated() || c.built {
		t.Fatalf("at the start: swapped %v, active %v, built %v", swapped, c.Activated(), c.built)
	}
	transition, _, _ := c.Transition()
	for c.Tip() < transition {
		c.Advance()
	}
	if at, swapped := c.Swapped(); !swapped || at.IsZero() || c.Activated() {
		t.Errorf("at the last block of the old kind: swapped %v at %s, active %v", swapped, at, c.Activated())
	}
	c.SetExecution(Held)
	for c.Tip() < transition+12 {
		c.Advance()
	}
	if !c.Activated() || c.Executed() != transition {
		t.Errorf("active %v, executed up to %d", c.Activated(), c.Executed())
	}
	sent := func(i uint64) chain.ID { return cfg.Message(cfg.FirstMessage + i).ID() }
	var n, first, waiting uint64
	for ; n < c.plan.warps; n++ {
		switch waits := c.Waits(sent(n)); {
		case waits:
			waiting++
		case waiting > 0:
			t.Errorf("message %d does not wait, and one before does", n)
		default:
			first++
		}
	}
	if first == 0 || waiting == 0 || c.Waits(sent(n)) {
		t.Errorf("%d messages are executed, %d wait, the next one: %v", first, waiting, c.Waits(sent(n)))
	}
	if !c.Accepted(chain.ID(c.Hash(c.Tip()))) || c.Accepted(chain.ID{1}) {
		t.Error("accepted blocks are not those of the chain")
	}
	c.SetExecution(0)
	for i := range n {
		if c.Waits(sent(i)) {
			t.Errorf("message %d waits", i)
		}
	}
	l1, err := New(Config{
		ID: cfg.ID, EVMChainID: 1, NetworkID: 12345, Seed: cfg.Seed, Blocks: 20, TxsPerBlock: 1, End: cfg.End,
		HistoryInterval: time.Second, BlockInterval: time.Second, Message: cfg.Message, Helicon: cfg.End.Add(-time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, swapped := l1.Swapped(); swapped || l1.Late(20) {
		t.Error("an L1 executes blocks after their acceptance")
	}
}
