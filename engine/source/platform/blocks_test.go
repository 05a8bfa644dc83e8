package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/source"
)

// The first P-Chain block of network "local" and its ID, live.
const (
	block0   = `{"block":"0x00000000000276164e9619e3b1c79c4b6bcaa8585fb95328e60480ac9e40da0539fe23260e0c00000000000000003be84959","encoding":"hex"}`
	block0ID = "2kdALCW3F7vR7MkpYLC4m7yhyByiSTT3g5AzYcZGWhiRnq7YYr"

	blockchains = `{"blockchains":[{"id":"2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC","name":"C-Chain","subnetID":"11111111111111111111111111111111LpoYY","vmID":"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"},{"id":"2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed","name":"X-Chain","subnetID":"11111111111111111111111111111111LpoYY","vmID":"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq"}]}`
)

func TestHead(t *testing.T) {
	t.Parallel()
	c := script{ // live
		"platform.getHeight": `{"height":"0"}`,
		`platform.getBlockByHeight{"encoding":"hex","height":"0"}`: block0,
	}.client(t)
	tip, err := c.Head(t.Context())
	want(t, "head", tip, err, Tip{0, parseID(t, block0ID)})

	behind := script{
		"platform.getHeight":        `{"height":"99"}`,
		"platform.getBlockByHeight": "error: couldn't get block at height 99: not found", // live
	}.client(t)
	if _, err := behind.Head(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("a node that is behind: got %v", err)
	}
}

func TestBlockchains(t *testing.T) {
	t.Parallel()
	got, err := script{"platform.getBlockchains": blockchains}.client(t).Blockchains(t.Context()) // live
	want(t, "blockchains", got, err, []Blockchain{
		{
			ID:       parseID(t, "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC"),
			SubnetID: chain.PrimaryNetworkID, VMID: chain.ID{'e', 'v', 'm'}, Name: "C-Chain",
		},
		{
			ID:       parseID(t, "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed"),
			SubnetID: chain.PrimaryNetworkID, VMID: chain.ID{'a', 'v', 'm'}, Name: "X-Chain",
		},
	})
}

func TestBlocksNonsense(t *testing.T) {
	t.Parallel()
	chains := func(s string) script { return script{"platform.getBlockchains": `{"blockchains":` + s + `}`} }
	entry := func(id, name, subnet, vm string) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"subnetID":%q,"vmID":%q}`, id, name, subnet, vm)
	}
	block := func(s string) script {
		return script{"platform.getHeight": `{"height":"0"}`, "platform.getBlockByHeight": s}
	}
	head := func(ctx context.Context, c *Client) error { _, err := c.Head(ctx); return err }
	list := func(ctx context.Context, c *Client) error { _, err := c.Blockchains(ctx); return err }
	for name, tc := range map[string]struct {
		script script
		ask    func(context.Context, *Client) error
	}{
		"no block":        {block(`{"encoding":"hex"}`), head},
		"wrong checksum":  {block(`{"block":"0x0000000000003be84959"}`), head},
		"block an object": {block(`{"block":{"height":0}}`), head},
		"no chains":       {chains("null"), list},
		"id":              {chains(`[` + entry("x", "C", someID, someID) + `]`), list},
		"subnet":          {chains(`[` + entry(someID, "C", "", someID) + `]`), list},
		"vm":              {chains(`[` + entry(someID, "C", someID, "x") + `]`), list},
		"name":            {chains(`[` + entry(someID, strings.Repeat("x", maxChainName+1), someID, someID) + `]`), list},
		"null":            {chains(`[null]`), list},
		"too many":        {chains(`[{}` + strings.Repeat(",{}", MaxBlockchains) + `]`), list},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.ask(t.Context(), tc.script.client(t)); !errors.Is(err, source.ErrBadAnswer) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzBlockchains(f *testing.F) {
	f.Add([]byte(blockchains))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r blockchainsAnswer
		if json.Unmarshal(b, &r) != nil {
			return
		}
		if list, err := r.blockchains(); err == nil && len(list) != len(r.Blockchains) {
			t.Errorf("%d of %d", len(list), len(r.Blockchains))
		}
	})
}
