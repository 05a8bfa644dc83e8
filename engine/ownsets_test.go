package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"quorate/engine/chain/chaintest"
	gen "quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/source/platform"
	store "quorate/engine/store/index"
)

// recordedNode answers with the last results that were recorded.
type recordedNode map[string]json.RawMessage

func (r recordedNode) Call(_ context.Context, _, method string, _, result any) error {
	return json.Unmarshal(r[method], result)
}

// Supply and expected rewards are those of a real network that crosses Helicon; by the rates
// of before they are not, and both are named.
func TestRewardsDiffer(t *testing.T) {
	t.Parallel()
	const recorded = "chain/platform/testdata/helicon/"
	node := recordedNode{}
	chaintest.Lines(t, "primary/pchain/testdata/helicon-calls.jsonl.gz", func(line []byte) {
		var call struct {
			Method  string
			PHeight *string
			Result  json.RawMessage
		}
		if err := json.Unmarshal(line, &call); err != nil {
			t.Fatal(err)
		}
		if call.PHeight != nil || call.Method == "platform.getCurrentSupply" && bytes.Contains(call.Result, []byte(`"74"`)) {
			node[call.Method] = call.Result
		}
	})
	list, err := platform.New(node).Standings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	supply, err := platform.New(node).Supply(t.Context())
	if err != nil || supply.Height != 74 || len(list) != 5 {
		t.Fatalf("%+v, %d validators, %v", supply, len(list), err)
	}
	raw, err := os.ReadFile(recorded + "p-genesis.hex")
	if err != nil {
		t.Fatal(err)
	}
	var genesis chaintest.Hex
	if err := genesis.UnmarshalText(bytes.TrimSpace(raw)); err != nil {
		t.Fatal(err)
	}
	g, err := gen.ParseGenesis(genesis)
	if err != nil {
		t.Fatal(err)
	}
	for _, helicon := range []uint64{1795785098, rules.Never} {
		db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		u := rules.UpgradesOf(13338)
		u.Helicon = helicon
		rows, err := pchain.Open(db, pchain.Config{Network: 13338, Genesis: g, Upgrades: &u})
		if err != nil {
			t.Fatal(err)
		}
		own := ownSets{rows}
		if err := own.differ(list, supply); err != nil {
			t.Errorf("without rows: %v", err)
		}
		var blocks []*primary.Block
		for _, e := range chaintest.Helicon(t, recorded+"p-blocks.jsonl.gz")[1:] {
			b, err := primary.Parse(primary.PChain, e.Container.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, b)
		}
		if err := rows.Commit(t.Context(), blocks); err != nil {
			t.Fatal(err)
		}
		err = own.differ(list, supply)
		if helicon != rules.Never && err != nil || helicon == rules.Never && (err == nil || !strings.Contains(err.Error(), "supply after block 74") || !strings.Contains(err.Error(), "is to earn")) {
			t.Errorf("Helicon at %d: %v", helicon, err)
		}
	}
}
