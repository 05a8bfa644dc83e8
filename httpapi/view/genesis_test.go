package view

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseGenesis(t *testing.T) {
	t.Parallel()
	f := func(raw string, id uint64, want string) {
		t.Helper()
		if g := ParseGenesis([]byte(raw)); g.ChainID != id || string(g.JSON) != want {
			t.Errorf("%.200s: %d %.200s, want %d %s", raw, g.ChainID, g.JSON, id, want)
		}
	}
	const none = ""
	// What is no JSON object, or that of another kind of chain.
	f("", 0, none)
	f("\x00\x01", 0, none)
	f(`"text"`, 0, none)
	f(`[{"config":{}}]`, 0, none)
	f(`{"config":7}`, 0, none)
	f(`{"config":{"chainId":1}`, 0, none)
	f(`{"config":{"chainId":1}} trailing`, 0, none)
	f(`{"alloc":{}}`, 0, none)
	f(strings.Repeat("[", 100_000), 0, none)
	f(strings.Repeat(`{"config":`, 100_000)+"1", 0, none)
	f(`{"config":{"chainId":1},"x":"`+strings.Repeat("y", MaxGenesisData)+`"}`, 0, none)

	f(` {"config":{}}`, 0, `{"config":{}}`)
	f(`{"config":{"chainId":43114}}`, 43114, `{"config":{"chainId":43114}}`)
	f(`{"config":{"chainId":18446744073709551615}}`, 1<<64-1, `{"config":{"chainId":18446744073709551615}}`)
	// Numbers that are none of ours.
	f(`{"config":{"chainId":18446744073709551616}}`, 0, `{"config":{"chainId":18446744073709551616}}`)
	f(`{"config":{"chainId":-1}}`, 0, `{"config":{"chainId":-1}}`)
	f(`{"config":{"chainId":1e3,"londonBlock":1.5,"berlinBlock":"1","eip150Hash":7,"allowFeeRecipients":"yes"}}`, 0, `{"config":{}}`)
	f(`{"config":{"londonBlock":`+strings.Repeat("9", 400)+`}}`, 0, `{"config":{}}`)
	f(`{"config":{"feeConfig":[],"warpConfig":null,"txAllowListConfig":{"adminAddresses":[1],"enabledAddresses":[]}}}`, 0,
		`{"config":{"txAllowListConfig":{"enabledAddresses":[]}}}`)
	// Only some members can be null.
	f(`{"config":{},"airdropAmount":7,"baseFeePerGas":"0x1","blobGasUsed":null,"excessBlobGas":null,"gasLimit":null,"alloc":null}`, 0,
		`{"airdropAmount":null,"baseFeePerGas":null,"blobGasUsed":null,"excessBlobGas":null,"config":{}}`)
	// Numbers become hex as the others are.
	f(`{"config":{},"gasLimit":15000000,"nonce":-1,"number":1.5,"timestamp":`+strings.Repeat("9", 100)+`}`, 0, `{"gasLimit":"0xe4e1c0","config":{}}`)
	f(`{"config":{},"alloc":{"b":{"balance":0,"storage":{"z":"1","a":2}},"a":{"code":7},"c":[]}}`, 0,
		`{"alloc":{"a":{},"b":{"balance":"0x0","storage":{"z":"1"}}},"config":{}}`)
	// Text is text, whatever is in it.
	f("{\"config\":{},\"coinbase\":\"\\u0000\\\"\xff\"}", 0, "{\"coinbase\":\"\\u0000\\\"\ufffd\",\"config\":{}}")
}

// TestGenesisGrows: what is shown is bounded, whatever its escapes are.
func TestGenesisGrows(t *testing.T) {
	t.Parallel()
	raw := `{"config":{"chainId":5},"extraData":"` + strings.Repeat("\x7f", 1<<20) + `"}`
	if g := ParseGenesis([]byte(raw)); g.ChainID != 5 || g.JSON != nil {
		t.Errorf("%d bytes are shown of %d", len(g.JSON), len(raw))
	}
}

func FuzzParseGenesis(f *testing.F) {
	f.Add([]byte(`{"config":{"chainId":1,"feeConfig":{"gasLimit":1}},"alloc":{"a":{"balance":"0x1","storage":{"0":"1"}}},"nonce":"0x0"}`))
	f.Add([]byte(`{"config":{"txAllowListConfig":{"adminAddresses":["0x1"]}},"baseFeePerGas":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		g := ParseGenesis(raw)
		if g.JSON == nil {
			return
		}
		if !json.Valid(g.JSON) || g.JSON[0] != '{' || len(g.JSON) > maxGenesisJSON {
			t.Fatalf("%q gives %q", raw, g.JSON)
		}
		// What is shown has nothing that would be left out.
		if again := ParseGenesis(g.JSON); string(again.JSON) != string(g.JSON) || again.ChainID != g.ChainID {
			t.Fatalf("%q gives %q", g.JSON, again.JSON)
		}
	})
}
