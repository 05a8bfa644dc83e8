package traffic

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
)

// What all chains log together is what their contracts could have: each message is
// sent before it arrives, arrives once, on the chain that it is for, and a receipt is
// of a message that has arrived.
func TestPlanIsConsistent(t *testing.T) {
	t.Parallel()
	for _, chains := range []int{2, 3, 7} {
		p := &Plan{NetworkID: 5}
		for i := range chains {
			p.Chains = append(p.Chains, chain.ID{byte(i + 1)})
		}
		type state struct{ sent, arrived, executed, failed, receipts int }
		states := map[evm.Hash]*state{}
		seen := map[icm.Kind]int{}
		for height := range uint64(400) {
			for i := range chains {
				for _, step := range p.Steps(&Local{Chain: i, Token: evm.Address{9}, Sender: evm.Address{8}}, height) {
					if step.Warp != nil && !p.Emits(step.Warp) {
						t.Fatalf("height %d: nobody signs what chain %d sends", height, i)
					}
					for j := range step.Events {
						e := &step.Events[j]
						log := e.Log()
						if got, ok := icm.ParseEvent(&log); !ok || got.Kind != e.Kind {
							t.Fatalf("%+v is not read", e)
						}
						if e.Message != nil && !e.Proves(&p.Chains[i]) {
							t.Fatalf("height %d, chain %d: %+v does not prove itself", height, i, e)
						}
						s := states[e.ID]
						if s == nil {
							if e.Kind != icm.Sent {
								t.Fatalf("height %d: message %s was not sent before %d", height, e.ID, e.Kind)
							}
							s = &state{}
							states[e.ID] = s
						}
						seen[e.Kind]++
						switch e.Kind {
						case icm.Sent:
							s.sent++
						case icm.Received:
							s.arrived++
						case icm.Executed:
							s.executed++
						case icm.Failed:
							s.failed++
						case icm.ReceiptReceived:
							if s.receipts++; s.arrived != 1 {
								t.Fatalf("height %d: a receipt of %s, which has not arrived", height, e.ID)
							}
						}
						if s.arrived > 1 || s.executed > 1 || s.executed > s.arrived || s.receipts > 1 || s.sent > 2 {
							t.Fatalf("height %d: %+v", height, s)
						}
					}
				}
			}
		}
		for k := icm.Sent; k <= icm.Failed; k++ {
			if seen[k] == 0 {
				t.Errorf("%d chains log no event of kind %d", chains, k)
			}
		}
		l := &Local{Fork: 3}
		fork := p.Steps(l, stride-1)
		if p.Emits(fork[0].Warp) || fork[0].Events[0].ID != p.ID(0, 1) || len(p.Steps(l, early)) == 0 {
			t.Error("blocks that are never accepted send what others do")
		}
	}
	if (&Plan{Chains: make([]chain.ID, 1)}).Steps(&Local{}, stride-1) != nil {
		t.Error("a chain alone sends messages")
	}
}
