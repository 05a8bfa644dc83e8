package valset

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// secret returns a deterministic key.
func secret(i int) *bls.SecretKey { return bls.SecretKeyFromSeed(fmt.Append(nil, "valset ", i)) }

func pub(i int) []byte {
	b := secret(i).PublicKey().Compressed()
	return b[:]
}

func node(i int) chain.NodeID { return chain.NodeID{0: byte(i >> 8), 1: byte(i), 19: 1} }

// members returns n nodes, node i with key i and weight 100+i.
func members(n int) []Member {
	out := make([]Member, n)
	for i := range out {
		out[i] = Member{NodeID: node(i), PublicKey: pub(i), Weight: uint64(100 + i)}
	}
	return out
}

func mustNew(tb testing.TB, height uint64, members []Member) *Set {
	tb.Helper()
	s, err := New(chain.PrimaryNetworkID, height, members, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// The keys of the network "local" and the order in which a live node's
// platform.getAllValidatorsAt returns them. By compressed bytes 0x90 would come second.
func TestOrderOfLocalNetwork(t *testing.T) {
	t.Parallel()
	live := []string{
		"8048109c3da13de0700f9f3590c3270bfc42277417f6d0cc84282947e1a1f8b4980fd3e3fe223acf0f56a5838890814a",
		"a058ff27a4c570664bfa28e34939368539a1340867951943d0f56fa8aac13bc09ff64f341acf8cc0cef74202c2d6f9c0",
		"a10b6955a85684a0f5c94b8381f04506f1bee60625927d372323f78b3d30196cc56c8618c77eaf429298e74673d832c3",
		"accd61ceb90c61628aa0fa34acab27ecb08f6897e9ccad283578c278c52109f9e10e4f8bc31aa6d7905c4e1623de367e",
		"900c9b119b5c82d781d4b49be78c3fc7ae65f2b435b7ed9e3a8b9a03e475edff86d8a64827fec8db23a6f236afbf127d",
	}
	in := make([]Member, len(live))
	for i, s := range live {
		key, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		in[i] = Member{NodeID: node(i), PublicKey: key, Weight: 2_000_000_000_000_000}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	s := mustNew(t, 7, in)
	for i, v := range s.Validators {
		if key := v.Key.Compressed(); hex.EncodeToString(key[:]) != live[i] {
			t.Errorf("place %d: got %x, want %s", i, key, live[i])
		}
		if at, ok := s.Index(v.NodeIDs[0]); !ok || at != i {
			t.Errorf("index of %s: got %d, %v", v.NodeIDs[0], at, ok)
		}
	}
	if s.TotalWeight != 10_000_000_000_000_000 {
		t.Errorf("total: got %d", s.TotalWeight)
	}
}

func TestSharedAndMissingKeys(t *testing.T) {
	t.Parallel()
	s := mustNew(t, 1, []Member{
		{NodeID: node(3), PublicKey: pub(0), Weight: 30},
		{NodeID: node(1), PublicKey: pub(1), Weight: 5},
		{NodeID: node(2), PublicKey: pub(0), Weight: 12},
		{NodeID: node(4), Weight: 1000},
		{Weight: 500}, // L1 validators out of balance
	})
	if len(s.Validators) != 2 || s.TotalWeight != 1547 {
		t.Fatalf("got %d validators of total %d", len(s.Validators), s.TotalWeight)
	}
	at, ok := s.Index(node(2))
	if same, _ := s.Index(node(3)); !ok || same != at {
		t.Fatalf("nodes with one key are at %d and %d", at, same)
	}
	if v := s.Validators[at]; v.Weight != 42 || !slices.Equal(v.NodeIDs, []chain.NodeID{node(2), node(3)}) {
		t.Errorf("shared key: got %+v", v)
	}
	for _, id := range []chain.NodeID{node(4), {}} {
		if _, ok := s.Index(id); ok {
			t.Errorf("node %s without a key has an index", id)
		}
	}
	all := warp.NewBits(2)
	all.Set(0)
	all.Set(1)
	if w := s.Weight(all); w != 47 {
		t.Errorf("weight of all: got %d", w)
	}
}

func TestEmptySets(t *testing.T) {
	t.Parallel()
	for _, in := range [][]Member{nil, {{NodeID: node(1), Weight: 3}}} {
		s := mustNew(t, 1, in)
		if len(s.Validators) != 0 {
			t.Errorf("got %d validators", len(s.Validators))
		}
		if sum, zero := s.KeySum(nil), bls.SumKeys(nil); !sum.Equal(&zero) {
			t.Error("sum of no keys is not zero")
		}
	}
}

func TestMalformedSets(t *testing.T) {
	t.Parallel()
	for name, in := range map[string][]Member{
		"overflow":           {{NodeID: node(1), PublicKey: pub(1), Weight: math.MaxUint64}, {NodeID: node(2), Weight: 1}},
		"node twice":         {{NodeID: node(1), PublicKey: pub(1), Weight: 1}, {NodeID: node(1), PublicKey: pub(2), Weight: 1}},
		"key too short":      {{NodeID: node(1), PublicKey: pub(1)[:47], Weight: 1}},
		"empty key":          {{NodeID: node(1), PublicKey: []byte{}, Weight: 1}},
		"key not a point":    {{NodeID: node(1), PublicKey: make([]byte, 48), Weight: 1}},
		"key is at infinity": {{NodeID: node(1), PublicKey: append([]byte{0xc0}, make([]byte, 47)...), Weight: 1}},
	} {
		for _, cache := range []*KeyCache{nil, NewKeyCache(1)} {
			if _, err := New(chain.ID{}, 1, in, cache); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	base := mustNew(t, 1, members(6))
	shuffled := members(6)
	slices.Reverse(shuffled)
	if got := mustNew(t, 2, shuffled); got.Digest != base.Digest {
		t.Error("digest depends on the order of members or on the height")
	}
	// The same set as a node in canonical form returns it: the sum on one node.
	a := []Member{{NodeID: node(1), PublicKey: pub(1), Weight: 4}, {NodeID: node(2), PublicKey: pub(1), Weight: 6}, {NodeID: node(3), Weight: 2}}
	b := []Member{{NodeID: node(2), PublicKey: pub(1), Weight: 10}, {NodeID: node(1), PublicKey: pub(1)}, {Weight: 2}}
	if mustNew(t, 1, a).Digest != mustNew(t, 1, b).Digest {
		t.Error("digest depends on the form in which a node gives a set")
	}
	for name, change := range map[string]func([]Member) []Member{
		"weight":      func(m []Member) []Member { m[3].Weight++; return m },
		"node":        func(m []Member) []Member { m[3].NodeID = node(77); return m },
		"key":         func(m []Member) []Member { m[3].PublicKey = pub(77); return m },
		"total":       func(m []Member) []Member { return append(m, Member{Weight: 1}) },
		"more":        func(m []Member) []Member { return append(m, Member{NodeID: node(77), PublicKey: pub(77)}) },
		"less":        func(m []Member) []Member { return m[:5] },
		"more shared": func(m []Member) []Member { return append(m, Member{NodeID: node(77), PublicKey: pub(2)}) },
	} {
		if mustNew(t, 1, change(members(6))).Digest == base.Digest {
			t.Errorf("digest does not tell a different %s", name)
		}
	}
	other, err := New(chain.ID{1}, 1, members(6), nil)
	if err != nil || other.Digest == base.Digest {
		t.Errorf("digest does not tell another subnet: %v", err)
	}
}

func TestKeySum(t *testing.T) {
	t.Parallel()
	const n = 70 // more than one word of bits
	s := mustNew(t, 1, members(n))
	rng := rand.New(rand.NewPCG(3, 4))
	for _, count := range []int{0, 1, 2, 34, 35, 36, 69, 70} {
		signers := warp.NewBits(n)
		var keys []*bls.PublicKey
		var weight uint64
		for _, i := range rng.Perm(n)[:count] {
			signers.Set(i)
			keys = append(keys, s.Validators[i].Key)
			weight += s.Validators[i].Weight
		}
		got, want := s.KeySum(signers), bls.SumKeys(keys)
		if !got.Equal(&want) {
			t.Errorf("sum of %d keys differs", count)
		}
		if w := s.Weight(signers); w != weight {
			t.Errorf("weight of %d: got %d, want %d", count, w, weight)
		}
	}
}

func TestMeetsQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total, weight uint64
		percent       int
		want          bool
	}{
		{100, 67, 67, true},
		{100, 66, 67, false},
		{101, 67, 67, false}, // 67.67 are needed
		{101, 68, 67, true},
		{10, 7, 67, true},
		{3, 2, 67, false},
		{1, 0, 0, true},
		{1, 0, 1, false},
		{math.MaxUint64, math.MaxUint64, 100, true},
		{math.MaxUint64, math.MaxUint64 - 1, 100, false},
		{math.MaxUint64, math.MaxUint64/100*67 + 10, 67, false},
		{math.MaxUint64, math.MaxUint64/100*67 + 11, 67, true},
		{5, 5, 101, false},
		{5, 0, -1, true},
	} {
		s := &Set{TotalWeight: c.total}
		if got := s.MeetsQuorum(c.weight, c.percent); got != c.want {
			t.Errorf("%d of %d at %d%%: got %v", c.weight, c.total, c.percent, got)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	s := mustNew(t, 1, []Member{
		{NodeID: node(1), PublicKey: pub(1), Weight: 1},
		{NodeID: node(2), PublicKey: pub(2), Weight: 1},
		{NodeID: node(3), PublicKey: pub(3), Weight: 1},
		{NodeID: node(4), PublicKey: pub(3), Weight: 1},
		{NodeID: node(5), PublicKey: pub(5), Weight: 1},
		{NodeID: node(6), PublicKey: pub(5), Weight: 1},
	})
	m := s.marked(map[chain.NodeID]struct{}{node(1): {}, node(3): {}, node(5): {}, node(6): {}})
	for i, want := range map[int]bool{1: true, 2: false, 3: false, 4: false, 5: true, 6: true} {
		at, _ := s.Index(node(i))
		if m.Validators[at].Underfunded != want {
			t.Errorf("node %d: got %v", i, !want)
		}
		if s.Validators[at].Underfunded {
			t.Error("marks were set on the set that was there")
		}
	}
	if m.Digest != s.Digest {
		t.Error("marks change the digest")
	}
}

func TestKeyCache(t *testing.T) {
	t.Parallel()
	c := NewKeyCache(2)
	a, err := c.Parse(pub(1))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Parse(pub(1)); again != a {
		t.Error("key was parsed twice")
	}
	for i := range 5 {
		if _, err := c.Parse(pub(10 + i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.lru.Len(); n != 2 {
		t.Errorf("cache holds %d keys, at most 2", n)
	}
	// A set whose keys do not fit still merges those that are the same.
	in := append(members(5), Member{NodeID: node(50), PublicKey: pub(0), Weight: 1})
	s, err := New(chain.ID{}, 1, in, c)
	if err != nil || len(s.Validators) != 5 {
		t.Errorf("got %v, %v", s, err)
	}
}

func BenchmarkNew(b *testing.B) {
	in, keys := members(1000), NewKeyCache(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(chain.ID{}, 1, in, keys); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKeySum(b *testing.B) {
	s := mustNew(b, 1, members(1000))
	for _, count := range []int{500, 700, 990} {
		signers := warp.NewBits(1000)
		for i := range count {
			signers.Set(i)
		}
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				s.KeySum(signers)
			}
		})
	}
}
