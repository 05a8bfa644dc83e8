package network

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
)

// TestRunwayLog: of each validator the log says a week, a day and an hour before the end of
// its balance that it runs out, and that it has, each once.
func TestRunwayLog(t *testing.T) {
	t.Parallel()
	const hour, price = 3600, 2
	var out bytes.Buffer
	balances := [2]uint64{}
	r := &runwayLog{log: slog.New(slog.NewTextHandler(&out, nil)), read: func() []valset.Runway {
		l1 := valset.Runway{Subnet: chain.ID{1}, Price: price}
		for i, b := range balances {
			v := valset.Lasting{L1Validator: valset.L1Validator{NodeID: chain.NodeID{byte(i + 1)}, Weight: 5, Balance: b}, Left: rules.Lasts(b, price)}
			l1.Validators = append(l1.Validators, v)
		}
		return []valset.Runway{l1}
	}}
	f := func(first, second uint64, want ...string) {
		t.Helper()
		balances = [2]uint64{first * price, second * price}
		for range 3 { // it is said once
			r.say()
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(want) == 0 {
			want = []string{""}
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
		}
		for i, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("%s\nhas no %q", lines[i], w)
			}
		}
		out.Reset()
	}
	node := func(i byte) string { return fmt.Sprint("node=", chain.NodeID{i}) }
	f(300*hour, 300*hour)
	f(168*hour, 300*hour)
	f(168*hour-1, 300*hour, "runs out")
	f(100*hour, 23*hour, node(2))
	f(23*hour, 23*hour, node(1))
	f(20*hour, hour-1, "lasts=59m59s")
	f(20*hour, 0, "is out of balance")
	f(30*hour, 0, "lasts longer again")
	f(20*hour, 400*hour, "runs out", "lasts longer again")
}
