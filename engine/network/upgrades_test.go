package network

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/source/platform"
)

// counted counts what is remembered.
type counted int

func (c *counted) Remember(context.Context, []byte, any) { *c++ }

// without answers as a node that does not have a method.
type without struct{ method string }

func (w without) Call(context.Context, string, string, any, any) error {
	return errors.Join(platform.ErrNoMethod, errors.New(w.method))
}

// TestLearnUpgrades: nodes are asked when Helicon comes until it has, and one that does
// not know of it, or not even of upgrades, does not take back what another has said.
func TestLearnUpgrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, remembered := &fakeNode{results: make(map[string]string)}, new(counted)
		n := &Network{cfg: Config{ID: 7, Memory: remembered}, node: platform.New(node)}
		// A record of before Helicon was asked for.
		n.facts.Upgrades = &rules.Upgrades{Cortina: 1, Durango: 2, Etna: 3}
		const old = `"cortinaTime":"2020-12-05T05:00:00Z","durangoTime":"2020-12-05T05:00:00Z","etnaTime":"2020-12-05T05:00:00Z"`
		want := rules.Upgrades{Cortina: 1607144400, Durango: 1607144400, Etna: 1607144400}
		step := func(what, answer string, helicon uint64, writes counted) {
			t.Helper()
			if node.set("info.upgrades", "{"+answer+"}"); answer == "" {
				node.silent()
			}
			err := n.learnUpgrades(t.Context())
			want.Helicon = helicon
			if got, ok := n.Upgrades(); (err == nil) != (answer != "") || !ok || got != want || *remembered != writes {
				t.Errorf("%s: %+v, %v, %v, remembered %d times", what, got, ok, err, *remembered)
			}
		}
		if _, ok := n.Upgrades(); ok {
			t.Error("known before a node has said it")
		}
		step("not scheduled", old, rules.Never, 1)
		step("the same again", old+`,"heliconTime":"9999-12-01T00:00:00Z"`, rules.Never, 1)
		at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		scheduled := old + `,"heliconTime":"` + at.Format(time.RFC3339) + `"`
		step("scheduled", scheduled, uint64(at.Unix()), 2)
		step("a node that knows nothing of it", old, uint64(at.Unix()), 2)
		step("no answer", "", uint64(at.Unix()), 2)
		n.node = platform.New(without{"info.upgrades"})
		if err := n.learnUpgrades(t.Context()); err != nil || n.noUpgrades {
			t.Errorf("a node without the method: %v, %v", err, n.noUpgrades)
		}
		n.node = platform.New(node)
		at = at.Add(time.Minute)
		step("moved", old+`,"heliconTime":"`+at.Format(time.RFC3339)+`"`, uint64(at.Unix()), 3)
		<-time.After(2 * time.Hour)
		calls := node.silent()
		if err := n.learnUpgrades(t.Context()); err != nil || node.silent() != calls {
			t.Errorf("asked again when it is active: %v", err)
		}
	})
}

// TestSwapOf: the C-Chain's API alone is replaced, at a time that is known and comes.
func TestSwapOf(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	c, l1 := chain.ID{1}, chain.ID{2}
	n := &Network{cfg: Config{ID: 7}, chains: map[string]*Chain{"C": {ID: c}}}
	for helicon, want := range map[uint64]time.Time{0: {}, rules.Never: {}, uint64(at.Unix()): at} {
		n.facts.Upgrades = &rules.Upgrades{Helicon: helicon}
		if got, other := n.SwapOf(c), n.SwapOf(l1); !got.Equal(want) || !other.IsZero() {
			t.Errorf("Helicon at %d: %s and %s, want %s and none", helicon, got, other, want)
		}
	}
}
