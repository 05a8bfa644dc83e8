package rpc

import (
	"fmt"
	"strings"
	"testing"

	"quorate/engine/chain"
)

// TestLogRange: eth_getLogs costs by its range, and one that is too large reaches no node,
// unless the mode passes on everything.
func TestLogRange(t *testing.T) {
	t.Parallel()
	const head = 1_000_000
	for _, mode := range []Mode{Safe, All} {
		for _, known := range []bool{true, false} {
			cfg := fullConfig(t)
			cfg.ChainRPC, cfg.Head = mode, func(chain.ID) (uint64, bool) { return head, known }
			s := New(cfg)
			at := endpoint{kind: chainRPC, sub: "rpc"}
			f := func(params string, units int, refused bool) {
				t.Helper()
				for _, batch := range []bool{false, true} {
					body := callText("1", "eth_getLogs", params)
					if batch {
						body = "[" + body + "]"
					}
					c := parseCalls([]byte(body))
					if got := s.cost(&c, at); got != units {
						t.Errorf("mode %d, head known: %v: %s costs %d units, want %d", mode, known, params, got, units)
					}
					s.screen(&c, at)
					if fault := c.list[0].fault; (fault != nil) != (refused && mode == Safe) || fault != nil && !strings.Contains(fault.Message, "maximum is set to 10000") {
						t.Errorf("mode %d, head known: %v: %s: %+v", mode, known, params, fault)
					}
				}
			}
			f(`[{}]`, 60, false)
			f(`[{"fromBlock":"latest","toBlock":"latest"}]`, 60, false)
			f(`[{"fromBlock":"0x10","toBlock":"0x10"}]`, 60, false)
			f(`[{"fromBlock":"0x0","toBlock":"0x270f"}]`, 60+500, false)
			f(`[{"fromBlock":"earliest","toBlock":"0x3e7"}]`, 60+50, false)
			f(`[{"fromBlock":"0x0","toBlock":"0x2710"}]`, 60+500, true)
			f(`[{"FROMBLOCK":"0x0","toblock":"0x2710"}]`, 60+500, true) // a node reads names in any case
			f(`[{"fromBlock":"0x0","toBlock":"0x7fffffffffffffff"}]`, 60+500, true)
			f(`[{"blockHash":"0x12","address":[]}]`, 60, false)
			f(`[{"fromBlock":"0x20","toBlock":"0x10"}]`, 60, false)
			for _, odd := range []string{`[]`, `{}`, `[1]`, `[{"fromBlock":"x"}]`, `[{"fromBlock":5}]`, `[{"fromBlock":"0x"}]`, `[{"fromBlock":"0xffffffffffffffffff"}]`} {
				f(odd, 60, false)
			}
			if known {
				f(`[{"fromBlock":"earliest"}]`, 60+500, true)
				f(`[{"fromBlock":"0x0","toBlock":"latest"}]`, 60+500, true)
				f(fmt.Sprintf(`[{"fromBlock":"0x%x","toBlock":"finalized"}]`, head-199), 60+10, false)
			} else {
				f(`[{"fromBlock":"earliest"}]`, 60+500, false)
			}
		}
	}
}
