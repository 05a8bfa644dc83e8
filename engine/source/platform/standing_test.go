package platform

import (
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/source"
)

// TestStandings: validators with what no block has of them; an uptime that is no share of
// anything is not known, and an answer without one is none.
func TestStandings(t *testing.T) {
	t.Parallel()
	entry := func(node, rest string) string { return `{"nodeID":"` + node + `","weight":"20"` + rest + `}` }
	tx, err := chain.ParseID(someID)
	if err != nil {
		t.Fatal(err)
	}
	f := func(uptime string, exp int32) {
		t.Helper()
		c := script{"platform.getCurrentValidators{}": `{"validators":[` +
			entry(node1, `,"txID":"`+someID+`","startTime":"1600","potentialReward":"377995","delegatorWeight":"7","delegationFee":"2.0000","connected":true,"uptime":"100.0000"`) + `,` +
			entry(node2, `,"delegatorWeight":"0","uptime":`+uptime) + `]}`}.client(t)
		got, err := c.Standings(t.Context())
		want(t, uptime, got, err, []Standing{
			{NodeID: nodeID(t, node1), Weight: 20, Delegated: 7, Uptime: 1_000_000, TxID: tx, Start: 1600, Reward: 377_995}, {NodeID: nodeID(t, node2), Weight: 20, Uptime: exp},
		})
	}
	f(`"0.0000"`, 0)
	f(`"99.9876"`, 999_876)
	f(`12.5`, 125_000)
	f(`"100.0000"`, 1_000_000)
	for _, none := range []string{`"-0.0001"`, `"100.0100"`, `"NaN"`, `"+Inf"`, `"-Inf"`} {
		f(none, -1)
	}
	bad := func(list string) {
		t.Helper()
		c := script{"platform.getCurrentValidators{}": `{"validators":` + list + `}`}.client(t)
		if got, err := c.Standings(t.Context()); !errors.Is(err, source.ErrBadAnswer) {
			t.Errorf("%s: %+v, %v", list, got, err)
		}
	}
	whole := `,"delegatorWeight":"0","uptime":"1.0000"`
	bad(`null`)
	bad(`[` + entry("node", whole) + `]`)
	bad(`[` + entry(node1, whole) + `,` + entry(node1, whole) + `]`)
	bad(`[` + entry(node1, whole+`,"txID":"id"`) + `]`)
	bad(`[` + entry(node1, `,"delegatorWeight":"0"`) + `]`)
	bad(`[` + entry(node1, `,"uptime":"1.0000"`) + `]`)
	bad(`[` + entry(node1, `,"delegatorWeight":"0","uptime":"much"`) + `]`)
	bad(`[` + entry(node1, `,"delegatorWeight":"-1","uptime":"1.0000"`) + `]`)
}

func TestSupply(t *testing.T) {
	t.Parallel()
	c := script{"platform.getCurrentSupply{}": `{"supply":"452636500000000000","height":"12"}`}.client(t)
	got, err := c.Supply(t.Context())
	want(t, "supply", got, err, Supply{452_636_500_000_000_000, 12})
	for _, none := range []string{`{}`, `{"supply":"-1"}`, `{"supply":null}`} {
		if got, err := (script{"platform.getCurrentSupply": none}).client(t).Supply(t.Context()); !errors.Is(err, source.ErrBadAnswer) {
			t.Errorf("%s: %+v, %v", none, got, err)
		}
	}
}
