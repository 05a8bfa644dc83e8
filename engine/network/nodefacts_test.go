package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/source/platform"
)

// fakeNode answers what it has as the result of each method, and counts the calls.
type fakeNode struct {
	mu      sync.Mutex
	results map[string]string
	calls   int
}

var errSilent = errors.New("no answer")

func (f *fakeNode) Call(_ context.Context, _, method string, _, result any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	body, ok := f.results[method]
	if !ok {
		return errSilent
	}
	return json.Unmarshal([]byte(body), result)
}

func (f *fakeNode) set(method, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[method] = body
}

func (f *fakeNode) silent() (calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.results)
	return f.calls
}

func standing(id chain.NodeID, weight int, uptime string) string {
	return fmt.Sprintf(`{"nodeID":"%s","weight":"%d","delegatorWeight":"5","uptime":"%s"}`, id, weight, uptime)
}

const (
	askStandings = "platform.getCurrentValidators"
	askSupply    = "platform.getCurrentSupply"
)

// TestTold: what a node says is known until it says something else, or nothing for long.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c, self := chain.NodeID{1}, chain.NodeID{2}, chain.NodeID{3}, chain.NodeID{9}
		node := &fakeNode{results: map[string]string{
			askStandings: `{"validators":[` + standing(a, 10, "100.0000") + `,` + standing(b, 40, "12.5000") + `,` + standing(self, 40, "NaN") + `]}`,
			askSupply:    `{"supply":"400"}`,
		}}
		told := &told{node: platform.New(node), log: slog.New(slog.DiscardHandler)}
		if got := told.last(); got.Uptimes[a] != 0 || got.Supply != 0 || got.Shares != nil {
			t.Errorf("%+v before anything was told", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			_ = told.watch(ctx, 5*time.Minute, func([]platform.Standing, platform.Supply) error { return nil })
		})
		synctest.Wait()
		want := &primary.Told{Uptimes: map[chain.NodeID]uint32{a: 1_000_000, b: 125_000}, Supply: 400, Staked: 105}
		same := func() {
			t.Helper()
			if got := told.last(); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
		same()
		peers := []platform.Peer{{NodeID: a, Version: "avalanchego/1.14.2"}, {NodeID: b, Version: "avalanchego/v1.13.0"}, {NodeID: c, Version: `"\/1.0.0`}}
		told.peers(peers, self, "avalanchego/1.13.0")
		want.Versions = map[chain.NodeID]string{a: "avalanchego/1.14.2", b: "avalanchego/1.13.0", self: "avalanchego/1.13.0"}
		want.Shares = []primary.VersionShare{{Version: "avalanchego/1.13.0", Validators: 2, Staked: 80}, {Version: "avalanchego/1.14.2", Validators: 1, Staked: 10}}
		same()

		node.set(askStandings, `{"validators":[`+standing(b, 40, "13.0000")+`]}`)
		node.set(askSupply, `{}`)
		<-time.After(5 * time.Minute)
		synctest.Wait()
		want.Uptimes, want.Supply, want.Staked = map[chain.NodeID]uint32{b: 130_000}, 0, 45
		want.Shares = []primary.VersionShare{{Version: "avalanchego/1.13.0", Validators: 1, Staked: 40}}
		same()

		told.peers(peers, self, "avalanchego/1.13.0")
		before := node.silent()
		<-time.After(toldAge)
		synctest.Wait()
		same() // none of it is older than what holds
		<-time.After(5*time.Minute + time.Second)
		told.expire() // as the look at the peers does
		synctest.Wait()
		want = &primary.Told{Uptimes: map[chain.NodeID]uint32{}}
		same()
		if calls := node.silent() - before; calls > 15 {
			t.Errorf("%d calls to a node that did not answer for 20 minutes", calls)
		}

		node.set(askStandings, `{"validators":[`+standing(a, 1, "50.0000")+`]}`)
		<-time.After(5 * time.Minute)
		synctest.Wait()
		want.Uptimes, want.Staked = map[chain.NodeID]uint32{a: 500_000}, 6
		same()
		cancel()
		ended.Wait()
	})
}

// TestToldVersions: peers call their programs what they like.
func TestToldVersions(t *testing.T) {
	t.Parallel()
	told := &told{}
	var list []platform.Peer
	for i := range 2 * maxVersions {
		list = append(list, platform.Peer{NodeID: chain.NodeID{byte(i >> 8), byte(i), 1}, Version: fmt.Sprintf("x/1.0.%d", i)})
	}
	told.peers(list, chain.NodeID{}, "")
	if n := len(told.versions); n != maxVersions {
		t.Errorf("%d versions", n)
	}
	f := func(version, want string) {
		t.Helper()
		if got := plainVersion(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
	f("avalanchego/1.14.2", "avalanchego/1.14.2")
	f("my-node_2.0/0.0.1", "my-node_2.0/0.0.1")
	for _, bad := range []string{"", "avalanchego", "a b/1.2.3", "a\x00/1.2.3", "</script>/1.2.3", "é/1.2.3", "a/1.2", "a/1.2.3.4", "a/1.2.-3", "\xff/1.2.3"} {
		f(bad, "")
	}
}

// TestToldDoesNotWrap: a node may say of weights what it likes.
func TestToldDoesNotWrap(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	for _, f := range []struct {
		standings     []platform.Standing
		staked, share uint64
	}{
		{[]platform.Standing{{NodeID: chain.NodeID{1}, Weight: 3, Delegated: 4}}, 7, 3},
		{[]platform.Standing{{NodeID: chain.NodeID{1}, Weight: most, Delegated: most}}, most, most},
		{[]platform.Standing{{NodeID: chain.NodeID{1}, Weight: most - 1, Delegated: 1}, {NodeID: chain.NodeID{2}, Weight: 1}}, most, most},
		{[]platform.Standing{{NodeID: chain.NodeID{1}, Weight: most}, {NodeID: chain.NodeID{2}, Weight: 2}}, most, most},
	} {
		told := &told{standings: f.standings, versions: map[chain.NodeID]string{{1}: "v", {2}: "v"}}
		told.publish()
		if now := told.last(); now.Staked != f.staked || now.Shares[0].Staked != f.share {
			t.Errorf("%+v: %d staked, %+v", f.standings, now.Staked, now.Shares)
		}
	}
}
