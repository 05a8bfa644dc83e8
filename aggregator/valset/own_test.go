package valset

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

// fakeRows have the sets of a source up to a height, but for those that are spoilt.
type fakeRows struct {
	made  string
	src   *fakeSource
	upTo  uint64
	spoil map[chain.ID][]Member
	err   error
	reads int
}

func (r *fakeRows) Made() string { return r.made }

func (r *fakeRows) AllValidatorsAt(height uint64) (map[chain.ID][]Member, bool, error) {
	r.reads++
	if height > r.upTo || r.err != nil {
		return nil, false, r.err
	}
	r.src.mu.Lock()
	sets := maps.Clone(r.src.sets)
	r.src.mu.Unlock()
	for id, members := range r.spoil {
		sets[id] = members
	}
	return sets, true, nil
}

func (r *fakeRows) ValidatorsAt(subnet chain.ID, height uint64) ([]Member, bool, error) {
	sets, ok, err := r.AllValidatorsAt(height)
	return sets[subnet], ok, err
}

func (r *fakeRows) SubnetOf(blockchain chain.ID) (chain.ID, bool, error) {
	return l1, blockchain == bc, nil
}

// owned is a source of own rows over a fake node.
type owned struct {
	*Own
	src  *fakeSource
	rows *fakeRows
	set  *metric.Set
	kept []Trust
}

func newOwned(trust Trust) *owned {
	o := &owned{src: newFakeSource(), set: metric.NewSet()}
	o.rows = &fakeRows{made: "1", src: o.src, upTo: 10}
	o.Own = NewOwn(OwnConfig{Source: o.src, Trust: trust, OnTrust: func(t Trust) { o.kept = append(o.kept, t) }, Metrics: o.set})
	o.SetRows(o.rows)
	return o
}

func (o *owned) all(t *testing.T, height uint64) map[chain.ID][]Member {
	t.Helper()
	sets, err := o.AllValidatorsAt(t.Context(), height)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func (o *owned) one(t *testing.T, subnet chain.ID, height uint64) []Member {
	t.Helper()
	members, err := o.ValidatorsAt(t.Context(), subnet, height)
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func same(a, b []Member) bool { return digest(a) == digest(b) }

// The first sets of a subnet are compared, and then each 16th. Sets of all subnets are
// compared when one is new, and each 64th time.
func TestOwnSample(t *testing.T) {
	o := newOwned(Trust{})
	for i := 1; i <= 64; i++ {
		o.one(t, l1, uint64(i%10)+1)
		want := min(i, firstSets) + i/eachSet
		if got := o.src.count("one"); got != want {
			t.Fatalf("after %d sets %d were compared, want %d", i, got, want)
		}
	}
	for range 2 * eachAll {
		o.all(t, 10)
	}
	if got := o.src.count("all"); got != 2 {
		t.Errorf("all were compared %d times, want twice", got)
	}
	o.src.change(func(s *fakeSource) { s.sets[plain] = members(2) })
	if o.all(t, 10); o.src.count("all") != 3 {
		t.Error("a new set was not compared")
	}
	o.src.change(func(s *fakeSource) { delete(s.sets, plain) })
	if o.all(t, 10); o.src.count("all") != 4 {
		t.Error("a set that is gone was not compared")
	}
	if o.all(t, 10); o.src.count("all") != 4 {
		t.Error("sets that are known were compared again")
	}
	if len(o.kept) != 1 || o.kept[0] != (Trust{Confirmed: "1"}) || o.Trouble() != nil {
		t.Errorf("kept %v", o.kept)
	}
}

// What rows have not reached, or cannot read, the node is asked for.
func TestOwnBehind(t *testing.T) {
	o := newOwned(Trust{Confirmed: "1"})
	o.rows.upTo = 5
	for range 3 {
		if o.one(t, l1, 6); len(o.all(t, 6)) != 3 {
			t.Error("no sets of the node")
		}
	}
	o.rows.err = errors.New("damaged")
	for range 3 {
		if o.one(t, l1, 5); len(o.all(t, 5)) != 3 {
			t.Error("no sets of the node")
		}
	}
	if o.src.count("one") != 6 || o.src.count("all") != 6 {
		t.Errorf("%d and %d questions", o.src.count("one"), o.src.count("all"))
	}
}

// What the node said of a height that rows had not reached is compared when they have it.
func TestOwnLate(t *testing.T) {
	for _, right := range []bool{true, false} {
		o := newOwned(Trust{})
		o.rows.upTo = 9
		o.all(t, 10)
		o.rows.upTo = 10
		if !right {
			o.rows.spoil = map[chain.ID][]Member{l1: members(1)}
		}
		o.src.change(func(s *fakeSource) { s.height = 11 })
		o.all(t, 11)
		if got := len(o.kept) == 1 && o.kept[0].Confirmed == "1"; got != right {
			t.Errorf("kept %+v, right %v", o.kept, right)
		}
		if (o.Trouble() == nil) != right || o.src.count("all") != 2 {
			t.Errorf("trouble %v, right %v, %d questions", o.Trouble(), right, o.src.count("all"))
		}
	}
}

// A set that is not the node's is not used, and neither are others, also after a restart
// and without a node, until the node has the same there.
func TestOwnDiffers(t *testing.T) {
	for name, spoil := range map[string]struct {
		subnet  chain.ID
		members []Member
	}{
		"a weight":    {l1, []Member{{NodeID: node(100), PublicKey: pub(100), Weight: 8}, {NodeID: node(101), PublicKey: pub(101), Weight: 7}}},
		"the total":   {l1, []Member{{NodeID: node(100), PublicKey: pub(100), Weight: 7}, {NodeID: node(101), PublicKey: pub(101), Weight: 8}, {Weight: 1}}},
		"a key":       {l1, []Member{{NodeID: node(100), PublicKey: pub(1), Weight: 7}, {NodeID: node(101), PublicKey: pub(101), Weight: 8}}},
		"a node":      {l1, []Member{{NodeID: node(1), PublicKey: pub(100), Weight: 7}, {NodeID: node(101), PublicKey: pub(101), Weight: 8}}},
		"no key":      {l1, []Member{{NodeID: node(100), Weight: 7}, {NodeID: node(101), PublicKey: pub(101), Weight: 8}}},
		"one less":    {l1, []Member{{NodeID: node(100), PublicKey: pub(100), Weight: 7}}},
		"none":        {l1, nil},
		"a subnet":    {chain.ID{9}, members(1)},
		"the network": {chain.PrimaryNetworkID, members(4)},
	} {
		for _, all := range []bool{true, false} {
			o := newOwned(Trust{Confirmed: "1"})
			o.rows.spoil = map[chain.ID][]Member{spoil.subnet: spoil.members}
			want := o.src.sets[spoil.subnet]
			if all {
				if !same(o.all(t, 10)[spoil.subnet], want) {
					t.Errorf("%s: the set is not the node's", name)
				}
			} else if !same(o.one(t, spoil.subnet, 9), want) {
				t.Errorf("%s: the set is not the node's", name)
			}
			height := uint64(9)
			if all {
				height = 10
			}
			if want := (Trust{Doubt: &Doubt{spoil.subnet, height}}); len(o.kept) != 1 || *o.kept[0].Doubt != *want.Doubt || o.kept[0].Confirmed != "" {
				t.Errorf("%s: kept %+v", name, o.kept)
			}
			if err := o.Trouble(); err == nil || !strings.Contains(err.Error(), spoil.subnet.String()) {
				t.Errorf("%s: trouble %v", name, err)
			}
			if o.set.Value("quorate_valset_own_differences_total") != 1 {
				t.Errorf("%s: not counted", name)
			}
			doubted(t, newOwned(o.kept[0]), o.rows.spoil)
			doubted(t, o, o.rows.spoil)
		}
	}
}

// doubted has rows of which a set is wrong asked for others.
func doubted(t *testing.T, o *owned, spoil map[chain.ID][]Member) {
	t.Helper()
	o.rows.spoil = spoil
	for range 40 {
		if !same(o.one(t, plain, 10), o.src.sets[plain]) || len(o.all(t, 10)) != 3 {
			t.Fatal("not the node's sets")
		}
	}
	if o.set.Value("quorate_valset_own_trusted") != 0 {
		t.Error("trusted")
	}
	o.src.change(func(s *fakeSource) { s.err = errDown })
	for range 40 {
		if _, err := o.ValidatorsAt(t.Context(), plain, 10); !errors.Is(err, errDown) {
			t.Fatalf("no node: %v", err)
		}
		if _, err := o.AllValidatorsAt(t.Context(), 10); !errors.Is(err, errDown) {
			t.Fatalf("no node: %v", err)
		}
		if _, err := o.SubnetOf(t.Context(), bc); !errors.Is(err, errDown) {
			t.Fatalf("no node: %v", err)
		}
	}
	o.src.change(func(s *fakeSource) { s.err = nil })
	o.rows.spoil = nil // as if they were made again
	for range 2 * eachSet {
		o.one(t, plain, 10)
	}
	if o.Trouble() != nil {
		t.Error("in doubt although the node has the same")
	}
	before := o.src.count("all")
	if o.all(t, 10); o.src.count("all") != before+1 {
		t.Error("rows are trusted before all was compared")
	}
}

// Rows are used while no node answers if they were confirmed: these rows, in this run or
// one before.
func TestOwnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, trust := range []Trust{{}, {Confirmed: "2"}, {Confirmed: "1", Doubt: &Doubt{l1, 3}}} {
			o := newOwned(trust)
			o.src.err = errDown
			if _, err := o.ValidatorsAt(t.Context(), l1, 3); !errors.Is(err, errDown) {
				t.Errorf("%+v: %v", trust, err)
			}
			if _, err := o.AllValidatorsAt(t.Context(), 3); !errors.Is(err, errDown) {
				t.Errorf("%+v: %v", trust, err)
			}
			if _, err := o.SubnetOf(t.Context(), bc); !errors.Is(err, errDown) {
				t.Errorf("%+v: %v", trust, err)
			}
		}
		o := newOwned(Trust{Confirmed: "1"})
		o.src.err = errDown
		for range 10 {
			if !same(o.one(t, l1, 3), o.src.sets[l1]) || len(o.all(t, 3)) != 3 {
				t.Error("not the rows' sets")
			}
		}
		if n := o.src.count("one") + o.src.count("all"); n != 1 {
			t.Errorf("a node that is away was asked %d times", n)
		}
		if id, err := o.SubnetOf(t.Context(), bc); err != nil || id != l1 {
			t.Errorf("subnet %v, %v", id, err)
		}
		if _, err := o.SubnetOf(t.Context(), chain.ID{1}); !errors.Is(err, errDown) {
			t.Errorf("an unknown chain: %v", err)
		}
		<-time.After(compareAgain)
		o.src.change(func(s *fakeSource) { s.err, s.latency = nil, time.Hour })
		started := time.Now()
		if o.one(t, l1, 3); time.Since(started) != comparePatience {
			t.Errorf("a node that hangs was waited for %v", time.Since(started))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-time.After(compareAgain)
		if _, err := o.ValidatorsAt(ctx, l1, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's end: %v", err)
		}
	})
}

// A node without a method for all sets is asked for each.
func TestOwnOldNode(t *testing.T) {
	o := newOwned(Trust{Confirmed: "1"})
	o.src.old = true
	if _, err := o.AllValidatorsAt(t.Context(), 10); !noMethod(err) {
		t.Errorf("error %v", err)
	}
}

// Both forms of a set have one digest.
func TestOwnDigest(t *testing.T) {
	shared := []Member{{NodeID: node(2), PublicKey: pub(1), Weight: 5}, {NodeID: node(1), PublicKey: pub(1), Weight: 6}, {NodeID: node(3), Weight: 7}, {Weight: 1}}
	lumped := []Member{{Weight: 8}, {NodeID: node(1), PublicKey: pub(1), Weight: 11}, {NodeID: node(2), PublicKey: pub(1)}}
	if digest(shared) != digest(lumped) {
		t.Error("two digests of one set")
	}
	if len(digestsOf(map[chain.ID][]Member{l1: {{Weight: 3}}, plain: nil})) != 0 {
		t.Error("nobody can sign, and it counts")
	}
}

// A keeper with own rows has the sets of heights that are named while the node is away.
func TestKeeperOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwned(Trust{Confirmed: "1"})
		o.src.err = errDown
		k, err := NewKeeper(Config{Source: o})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		synctest.Wait()
		for height := uint64(1); height <= 10; height++ {
			set, err := k.At(ctx, l1, height)
			if err != nil || set.Height != height || set.TotalWeight != 15 {
				t.Errorf("at %d: %+v, %v", height, set, err)
			}
		}
		if _, err := k.At(ctx, l1, 11); !errors.Is(err, ErrSource) {
			t.Errorf("above the rows: %v", err)
		}
		if _, err := k.At(ctx, l1, 0); !errors.Is(err, ErrSource) {
			t.Errorf("the proposed height: %v", err)
		}
		if id, err := k.SubnetOf(ctx, bc); err != nil || id != l1 {
			t.Errorf("subnet %v, %v", id, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestOwnDoesNotWrap: a set whose weights sum up to more than 64 bits is none that can sign,
// and not the same as one whose weights are what is left when the sum wraps.
func TestOwnDoesNotWrap(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	key := pub(100)
	huge := []Member{{NodeID: node(100), PublicKey: key, Weight: most}, {NodeID: node(101), PublicKey: key, Weight: 8}}
	small := []Member{{NodeID: node(100), PublicKey: key, Weight: 3}, {NodeID: node(101), PublicKey: key, Weight: 4}}
	if same(huge, small) {
		t.Error("the sum has wrapped")
	}
	keyless := func(weights ...uint64) (list []Member) {
		list = append(list, Member{NodeID: node(100), PublicKey: key, Weight: 1})
		for _, w := range weights {
			list = append(list, Member{Weight: w})
		}
		return list
	}
	if same(keyless(most, 5), keyless(4)) {
		t.Error("the total has wrapped")
	}
	if got, want := summary(huge), "2 members of weight 18446744073709551615"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
