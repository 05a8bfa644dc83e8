package forms

import (
	"strings"
	"testing"
)

const (
	someHash = "0x00000000000000000000000000000000000000000000000000000000000000aa"
	someNode = "NodeID-HEcwnAHqF2T2JZT3Xf4iQciFvTro5fu6w"
	coinsOf  = "0xC4AD744E3e11Ab1D1C5904Ef1088ed2366ef71e8"
)

// TestMeant: what is copied from a page, from another explorer or from a log is found.
func TestMeant(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"1\u202f494": "1494", "1\u00a0494": "1494", "1 494": "1494", "1,494": "1494", "#1494": "1494", "# 1\u202f494": "1494",
		"Block 1\u202f494": "1494", "1_494_000": "1494000", "1'494": "1494",
		"https://snowtrace.io/tx/" + someHash:                             someHash,
		"https://snowtrace.io/tx/" + someHash + "?chainid=43114#eventlog": someHash,
		"https://subnets.avax.network/c-chain/block/123/":                 "123",
		"https://example.com/validators/" + someNode:                      someNode,
		"https://example.com/address/" + coinsOf + "/transactions":        coinsOf,
		strings.TrimPrefix(someNode, "NodeID-"):                           someNode,
		"\"" + someHash + "\",":                                           someHash,
		"tx " + someHash:                                                  someHash,
		"USD Coin":                                                        "USD Coin", "activeAddresses": "activeAddresses", "USD Coin (USDC)": "USD Coin",
		"Chain Link": "Chain Link", "token of mine": "token of mine", "validators": "validators", "chain 43114": "43114",
		"1.5": "1.5", "": "", "#": "", "https://example.com": "example.com",
	} {
		if got := Meant(q); got != want {
			t.Errorf("%q means %q, not %q", q, want, got)
		}
	}
}
