package network

import (
	"os"
	"path/filepath"
	"testing"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

// TestLastSets: a set comes back from the file with the same digest, by which
// kept results are found; and a damaged file is as none.
func TestLastSets(t *testing.T) {
	t.Parallel()
	key := func(seed string) []byte {
		k := bls.SecretKeyFromSeed([]byte(seed)).PublicKey().Compressed()
		return k[:]
	}
	set, err := valset.New(chain.ID{7}, 42, []valset.Member{
		{NodeID: chain.NodeID{3}, PublicKey: key("a"), Weight: 5}, {NodeID: chain.NodeID{1}, PublicKey: key("a"), Weight: 6},
		{NodeID: chain.NodeID{2}, PublicKey: key("b"), Weight: 1 << 63}, {NodeID: chain.NodeID{9}, Weight: 100},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sets.json")
	l, err := openLastSets(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.put([]*valset.Set{set}); err != nil {
		t.Fatal(err)
	}
	if l, err = openLastSets(path); err != nil {
		t.Fatal(err)
	}
	got, ok := l.get(chain.ID{7})
	if !ok || got.Digest != set.Digest || got.Height != 42 || got.TotalWeight != set.TotalWeight {
		t.Errorf("%v, %+v", ok, got)
	}
	if _, ok := l.get(chain.ID{8}); ok {
		t.Error("a set that was never known")
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"{", string(whole[:len(whole)-2]), `[{"total":1,"members":[{"weight":2}]}]`, `[{"total":2,"members":[{"key":"AAAA","weight":2,"nodes":[""]}]}]`} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLastSets(path)
		if err == nil || l == nil || len(l.sets) != 0 {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}
