package httpapi

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"quorate/engine/primary"
	"quorate/httpapi/view"
)

func supplyServer(t *testing.T, n *fakePrimary) (*Server, *testChain) {
	t.Helper()
	on, _ := n.Chain(primary.CChain)
	c := metricChain(t, "43113", [2]uint64{noon, 3}, [2]uint64{noon + 40*day, 2})
	c.info.BlockchainID = on.ID().String()
	return dataServer(t, Config{Primary: primaries{"fuji": n, "testnet": n}}, c), c
}

// TestSupply: the figures are those of the parts, and add up exactly.
func TestSupply(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s, _ := supplyServer(t, n)
	for _, query := range []string{"", "?network=fuji"} {
		status, body := fetch(s, "/v1/avax/supply"+query)
		got := map[string]string{}
		if err := json.Unmarshal(body, &got); err != nil || status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		if at := got["lastUpdated"]; at != "2023-11-15T10:13:20.000Z" {
			t.Errorf("last updated %s", at)
		}
		days := uint64(1_700_043_200/day) % 1000
		fees := new(big.Rat).SetFrac64(21_000*(3*(25_000_000_000+int64(noon%1000))+2*(25_000_000_000+int64((noon+40*day)%1000))), 1)
		fees.Quo(fees, new(big.Rat).SetInt64(1e18))
		nano := func(v uint64) *big.Rat { return new(big.Rat).SetFrac64(int64(v), 1e9) }
		sum := func(of ...*big.Rat) *big.Rat {
			r := new(big.Rat)
			for _, v := range of {
				r.Add(r, v)
			}
			return r
		}
		onP, onX, onC := sum(nano(2*days), nano(days*1e9)), nano(4*days), sum(nano(6*days), fees)
		burned := sum(onP, onX, onC)
		rewards := nano(5e9 + 1)
		for name, want := range map[string]*big.Rat{
			"totalPBurned": onP, "totalXBurned": onX, "totalCBurned": onC, "l1ValidatorFees": nano(days * 1e9),
			"totalRewards": rewards, "totalStaked": nano(2053e9), "totalLocked": nano(75e8 * 3), "genesisUnlock": nano(360_000_000e9),
			"totalSupply":       new(big.Rat).Sub(sum(nano(720_000_000e9), rewards), burned),
			"circulatingSupply": new(big.Rat).Sub(sum(nano(360_000_000e9), rewards), burned),
		} {
			if v, ok := new(big.Rat).SetString(got[name]); !ok || v.Cmp(want) != 0 {
				t.Errorf("%s is %q, want %s", name, got[name], want.FloatString(18))
			}
			delete(got, name)
		}
		if delete(got, "lastUpdated"); len(got) > 0 {
			t.Errorf("and %v", got)
		}
	}
}

// TestSupplyUnknown: where a part of it is not known there is no figure, but the reason.
func TestSupplyUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		make func(n *fakePrimary, c *testChain)
		want string
		code int
	}{
		{"the genesis is not known", func(n *fakePrimary, _ *testChain) { n.inexact = true }, "--genesis-file", 404},
		{"rows are of an older version", func(n *fakePrimary, _ *testChain) { n.oldRows = true }, "of an older version", 404},
		{"there is no X-Chain", func(n *fakePrimary, _ *testChain) { delete(n.chains, primary.XChain) }, "needs the x-chain of fuji", 404},
		{"there are no vertices", func(n *fakePrimary, _ *testChain) { delete(n.chains, primary.XVertices) }, "needs the vertices", 404},
		{"the X-Chain has no block", func(n *fakePrimary, _ *testChain) { n.chains[primary.XChain].empty = true }, "or has no block yet", 404},
		{"there is no C-Chain", func(n *fakePrimary, _ *testChain) { delete(n.chains, primary.CChain) }, "needs the c-chain of fuji", 404},
		{"the EVM is not indexed", func(_ *fakePrimary, c *testChain) { c.info.BlockchainID = "another" }, "are not indexed here", 404},
		{"it begins late", func(_ *fakePrimary, c *testChain) { c.gaps = []view.Gap{{Kind: view.GapBelow}} }, "begins above the first one", 404},
		{"a row is broken", func(n *fakePrimary, _ *testChain) { n.broken = primary.ErrRow }, "internal error", 500},
		{"there is no such network", func(n *fakePrimary, _ *testChain) { n.chains = nil }, "", 404},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "_"), func(t *testing.T) {
			t.Parallel()
			n := samplePrimary()
			s, chain := supplyServer(t, n)
			c.make(n, chain)
			if status, body := fetch(s, "/v1/avax/supply"); status != c.code || !strings.Contains(string(body), c.want) {
				t.Errorf("%d %s, want %d and %q", status, body, c.code, c.want)
			}
		})
	}
}
