package pchain_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	devnet "quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

// history is the P-Chain of a simulated network, with the state that its own executor
// has come to, which shares no code with the one under test.
type history struct {
	made   *devnet.Chain
	world  *world.World
	cfg    pchain.Config
	blocks []*primary.Block  // from height 1 on
	times  map[uint64]uint64 // when they were accepted, by height
}

var histories = sync.OnceValues(func() (*history, error) { return makeHistory(700, 1) })

func makeHistory(blocks int, seed uint64) (*history, error) {
	return historyWith(blocks, seed, time.Time{})
}

// historyWith makes one in which Helicon activates at a time, never if that is zero.
func historyWith(blocks int, seed uint64, helicon time.Time) (*history, error) {
	w, err := world.New(world.Params{Validators: 5, Seed: seed, L1s: 2, L1Inactive: 1, L1Underfunded: 1})
	if err != nil {
		return nil, err
	}
	h := &history{world: w, times: map[uint64]uint64{}}
	if h.made, err = devnet.Make(devnet.Config{World: w, Blocks: blocks, Helicon: helicon}); err != nil {
		return nil, err
	}
	if !helicon.IsZero() { // cycles of those that last are over only after the history
		for range blocks {
			h.made.Grow(600)
		}
	}
	g, err := platform.ParseGenesis(h.made.Genesis())
	if err != nil {
		return nil, err
	}
	f := h.made.Forks()
	h.times[0] = g.Time
	h.cfg = pchain.Config{Network: 12345, Genesis: g, Upgrades: &rules.Upgrades{Cortina: f.Cortina, Durango: f.Durango, Etna: f.Etna}}
	if !helicon.IsZero() {
		h.cfg.Upgrades.Helicon = f.Helicon
	}
	for _, c := range h.made.Platform() {
		// Without its signature a header is no less a header, and costs nothing.
		b, err := primary.Parse(primary.PChain, c.Block)
		if err != nil {
			return nil, err
		}
		h.blocks = append(h.blocks, b)
		h.times[c.Height] = c.Time
	}
	return h, nil
}

// params returns the parameters of a history's network, for rows under another number.
func params(h *history) *rules.Params {
	p := rules.For(h.cfg.Network)
	return &p
}

func simulated(t testing.TB) *history {
	t.Helper()
	h, err := histories()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// full returns the rows of the whole history, which no test changes.
func full(t testing.TB) (*history, *pchain.Chain) {
	t.Helper()
	h := simulated(t)
	shared.Do(func() { shared.chain = whole(t, h, shared.db) })
	if shared.chain == nil {
		t.Fatal("the history could not be indexed")
	}
	return h, shared.chain
}

// whole indexes the whole history.
func whole(t testing.TB, h *history, db *store.DB) *pchain.Chain {
	t.Helper()
	c := open(t, db, h.cfg)
	commit(t, c, h.blocks)
	return c
}

var shared struct {
	sync.Once
	db    *store.DB
	chain *pchain.Chain
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pchain")
	if err != nil {
		panic(err)
	}
	if shared.db, err = openStore(dir); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := errors.Join(shared.db.Close(), os.RemoveAll(dir)); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// The state after the history is that of another executor.
func TestState(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	sameState(t, h, c)
}

// It is so across Helicon, with validators that renew themselves of all kinds, and so are
// the sets at all heights.
func TestStateAcrossHelicon(t *testing.T) {
	t.Parallel()
	h, err := historyWith(400, 3, time.Date(2024, 11, 22, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	c := whole(t, h, openDB(t, t.TempDir()))
	sameState(t, h, c)
	v := view(t, c)
	for height := range h.made.Height() + 1 {
		if all, ok, err := v.AllValidatorsAt(height); err != nil || !ok || !reflect.DeepEqual(all, setsOf(h.made.Sets(height))) {
			t.Fatalf("validators at %d: %v, %v, %v", height, all, ok, err)
		}
	}
}

func sameState(t *testing.T, h *history, c *pchain.Chain) {
	t.Helper()
	v := view(t, c)
	h.made.Read(func(s *devnet.State) {
		if v.Time() != s.Time || !v.Exact() {
			t.Errorf("time %d, want %d", v.Time(), s.Time)
		}
		if supply, ok := v.Supply(); !ok || supply != s.Supply[chain.PrimaryNetworkID] {
			t.Errorf("supply %d, want %d", supply, s.Supply[chain.PrimaryNetworkID])
		}
		if fees, _, ok := v.L1Fees(); !ok || fees.Accrued != s.Accrued || fees.Active != uint64(s.Active()) {
			t.Errorf("fees %+v, want %d of %d", fees, s.Accrued, s.Active())
		}
		sameTotals(t, v, s)
		sameOutputs(t, v, s)
		sameStakers(t, v, s)
		sameSubnets(t, v, s)
		sameL1s(t, v, s)
		for id, want := range s.Txs {
			if got, found, err := v.Tx(id); err != nil || !found || got.Height != want.Height || got.Aborted != want.Aborted {
				t.Errorf("transaction %s: %+v, %v, %v", id, got, found, err)
			}
		}
	})
}

func sameTotals(t *testing.T, v *pchain.View, s *devnet.State) {
	t.Helper()
	supply := s.Supply[chain.PrimaryNetworkID]
	want := primary.Totals{Supply: &supply}
	for _, x := range s.Stakers {
		switch {
		case x.Status != devnet.Current || x.Subnet != chain.PrimaryNetworkID:
		case x.Delegator:
			want.Delegators++
			want.Delegated += x.Weight
		default:
			want.Validators++
			want.Staked += x.Weight
			share := x.DelegateeReward
			for _, y := range s.Stakers {
				if y.Status == devnet.Current && y.Delegator && y.Subnet == x.Subnet && y.NodeID == x.NodeID {
					part, _ := rules.Split(y.Potential, x.Fee)
					share += part
				}
			}
			if got, found, err := v.Staker(x.TxID); err != nil || !found || got.Share != share {
				t.Errorf("%s: share %d, want %d: %v", x.TxID, got.Share, share, err)
			}
		}
	}
	if got, err := v.Totals(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("totals %+v, want %+v, %v", got, want, err)
	}
}

func sameOutputs(t *testing.T, v *pchain.View, s *devnet.State) {
	t.Helper()
	for ref, want := range s.UTXOs {
		got, found, err := v.Output(ref.ID())
		if err != nil || !found || got.State != primary.Unspent || !reflect.DeepEqual(got.UTXO, *want) {
			t.Errorf("output %v: got %+v, %v, %v; want %+v", ref, got, found, err, want)
		}
	}
	unspent := 0
	if err := v.EachOutput(func(u *primary.Output) {
		if u.State == primary.Unspent {
			unspent++
		}
	}); err != nil || unspent != len(s.UTXOs) {
		t.Errorf("%d unspent, want %d: %v", unspent, len(s.UTXOs), err)
	}
	for to, list := range s.Exported {
		for _, want := range list {
			got, found, err := v.Output(want.Ref.ID())
			if err != nil || !found || got.State != primary.Exported || got.Other != to || !reflect.DeepEqual(got.UTXO, want) {
				t.Errorf("exported: got %+v, %v, %v; want %+v", got, found, err, want)
			}
		}
	}
}

var statuses = map[devnet.Status]primary.StakerStatus{
	devnet.Pending: primary.Pending, devnet.Current: primary.Active, devnet.Rewarded: primary.Completed, devnet.Unrewarded: primary.Completed,
}

func sameStakers(t *testing.T, v *pchain.View, s *devnet.State) {
	t.Helper()
	kinds := map[string]int{}
	for id, want := range s.Stakers {
		got, found, err := v.Staker(id)
		if want.Status == devnet.Refused {
			if kinds["refused"]++; err != nil || found {
				t.Errorf("%s: %v, %v", id, found, err)
			}
			continue
		}
		if err != nil || !found {
			t.Errorf("%s: %v, %v", id, found, err)
			continue
		}
		kinds[fmt.Sprintf("%v %d %d", want.Delegator, want.Status, got.Status)]++
		status, ok := statuses[want.Status]
		if !ok { // of a permissioned subnet: ended or removed
			if status, ok = primary.Completed, true; !got.EndTx.IsZero() {
				status = primary.Removed
			} else if got.End > s.Time {
				t.Errorf("%s ended before its end, and by nothing", id)
			}
		}
		if !ok || got.Status != status || got.Subnet != want.Subnet || got.Node != want.NodeID || got.Delegator != want.Delegator ||
			got.Weight != want.Weight || got.Start != want.Start || got.End != want.End {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
		switch want.Status {
		case devnet.Current, devnet.Rewarded:
			if got.Gross != want.Potential {
				t.Errorf("%s: reward %d, want %d", id, got.Gross, want.Potential)
			}
			paid := uint64(0)
			for _, r := range want.Rewards {
				if !r.Fee {
					paid += r.Amount
				}
			}
			if want.Renewal != nil { // of its last cycle
				paid = want.Potential
			}
			if want.Status == devnet.Rewarded && got.Net != paid {
				t.Errorf("%s: net reward %d, want %d", id, got.Net, paid)
			}
		case devnet.Unrewarded:
			if got.Gross != 0 || got.Net != 0 {
				t.Errorf("%s: rewarded", id)
			}
		}
		if (got.BLSKey != nil) != (want.Signer != nil) || want.Signer != nil && *got.BLSKey != want.Signer.PublicKey {
			t.Errorf("%s: another key", id)
		}
		sameRewards(t, v, want)
	}
	t.Log(kinds)
}

// sameRewards compares what a node was rewarded for one of its stakers.
func sameRewards(t *testing.T, v *pchain.View, s *devnet.Staker) {
	t.Helper()
	var got []*primary.Reward
	f := &primary.RewardFilter{Nodes: []chain.NodeID{s.NodeID}}
	if _, err := v.Rewards(f, primary.Page{Limit: 1e6, Asc: true}, func(r *primary.Reward) bool {
		if r.TxID == s.TxID {
			got = append(got, r)
		}
		return true
	}); err != nil || len(got) != len(s.Rewards) {
		t.Errorf("%s: %d rewards, want %d: %v", s.TxID, len(got), len(s.Rewards), err)
		return
	}
	for i, want := range s.Rewards {
		r := got[i]
		if r.Ref != want.Ref || r.Amount != want.Amount || r.Asset != want.Asset || !reflect.DeepEqual(r.Owners, want.Owners) ||
			(r.Kind == primary.ValidatorFee) != want.Fee || (r.Kind == primary.DelegatorReward) != (s.Delegator && !want.Fee) ||
			r.Staked != want.Staked || r.Start != want.Start || r.End != want.End || r.RewardTx.IsZero() {
			t.Errorf("%s: got %+v, want %+v", s.TxID, r, want)
		}
	}
}

func sameSubnets(t *testing.T, v *pchain.View, s *devnet.State) {
	t.Helper()
	var order []chain.ID
	if _, err := v.Subnets(primary.Page{Limit: 1000, Asc: true}, func(got *primary.Subnet) bool {
		order = append(order, got.ID)
		want := s.Subnets[got.ID]
		if want == nil {
			return true
		}
		if !reflect.DeepEqual(got.Owners, want.Owner) || got.Height != want.Height || got.Time != want.Time ||
			got.Conversion.IsZero() != (want.Conversion == nil) || want.Conversion != nil && got.Conversion != want.Conversion.ID {
			t.Errorf("got %+v, want %+v", got, want)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat([]chain.ID{chain.PrimaryNetworkID}, s.SubnetOrder); !slices.Equal(order, want) {
		t.Errorf("subnets %v, want %v", order, want)
	}
	n := 0
	if _, err := v.Blockchains(primary.Page{Limit: 1000, Asc: true}, func(got *primary.Blockchain) bool {
		want := s.Blockchains[n]
		n++
		data, err := v.Genesis(got.ID)
		if err != nil || got.ID != want.ID || got.Height != want.Height || got.Subnet != want.Subnet || got.VM != want.VM ||
			got.Name != want.Name || !bytes.Equal(data, want.GenesisData) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		return true
	}); err != nil || n != len(s.Blockchains) {
		t.Errorf("%d chains, want %d: %v", n, len(s.Blockchains), err)
	}
}

func sameL1s(t *testing.T, v *pchain.View, s *devnet.State) {
	t.Helper()
	n := 0
	if _, err := v.L1Validators(&primary.L1Filter{Inactive: true}, primary.Page{Limit: 1e6}, func(got *primary.L1Validator) bool {
		n++
		want := s.L1Validators[got.ValidationID]
		switch {
		case want == nil:
			t.Errorf("%s should not be there", got.ValidationID)
		case got.Subnet != want.Subnet || got.Node != want.NodeID || got.BLSKey != want.PublicKey || got.Start != want.Start || got.Weight != want.Weight ||
			got.MinNonce != want.MinNonce || got.Active != (want.EndAccrued != 0 && want.Weight != 0) || got.Balance != want.Balance(s.Accrued) ||
			(got.RemovedAt != 0) != (want.Weight == 0) || got.CreateTx != want.TxID || got.CreationHeight != want.Height:
			t.Errorf("got %+v, want %+v", got, want)
		}
		return true
	}); err != nil || n != len(s.L1Validators) || n == 0 {
		t.Errorf("%d validators of L1s, want %d: %v", n, len(s.L1Validators), err)
	}
}

// The sums of each day are those over the stakers that were active at its end.
func TestDays(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	const day = 24 * 60 * 60
	n, subnets := 0, map[chain.ID]bool{}
	h.made.Read(func(s *devnet.State) {
		for _, x := range s.Stakers {
			if of := s.Subnets[x.Subnet]; of == nil || of.Conversion == nil { // an L1's are others
				subnets[x.Subnet] = true
			}
		}
		l1s := map[chain.ID]pchain.Sums{}
		for _, x := range s.L1Validators {
			if x.EndAccrued != 0 && x.Weight != 0 {
				sums := l1s[x.Subnet]
				sums.Validators++
				sums.ValidatorWeight += x.Weight
				l1s[x.Subnet] = sums
			}
		}
		for subnet, want := range l1s {
			if got, err := v.Sums(subnet); err != nil || got.Validators < want.Validators || got.ValidatorWeight < want.ValidatorWeight {
				t.Errorf("L1 %s: sums %+v, want %+v, %v", subnet, got, want, err)
			}
		}
		for subnet := range subnets {
			before, want := uint64(0), v.Time()/day*day
			for {
				last := before
				if err := v.Days(subnet, before, func(time uint64, got pchain.Sums) bool {
					if before = time; time != want {
						t.Fatalf("%s: day %d, want %d", subnet, time, want)
					}
					want -= day
					n++
					if time/day%5 == 0 { // it takes a scan
						if sums := sumsAt(s, h, subnet, time+day); sums != got {
							t.Errorf("%s on day %d: got %+v, want %+v", subnet, time, got, sums)
						}
					}
					return n%7 != 0
				}); err != nil {
					t.Fatal(err)
				}
				if before == last {
					break
				}
			}
			if got, err := v.Sums(subnet); err != nil || got != sumsAt(s, h, subnet, v.Time()+1) {
				t.Errorf("%s: sums %+v, %v", subnet, got, err)
			}
		}
	})
	if n < 2000 || len(subnets) < 3 {
		t.Errorf("%d days of %d subnets", n, len(subnets))
	}
}

// sumsAt adds up the stakers of a subnet that were active after the last block before a
// time. Blocks of the chain's end of a stake come as soon as it is over.
func sumsAt(s *devnet.State, h *history, subnet chain.ID, time uint64) (sums pchain.Sums) {
	height := uint64(0)
	for _, b := range h.blocks {
		if at := h.times[b.Platform.Height]; at < time {
			height = b.Platform.Height
		}
	}
	at := h.times[height]
	for _, x := range s.Stakers {
		if x.Subnet != subnet || x.Status == devnet.Refused || x.Status == devnet.Pending || x.Start > at || x.Height > height ||
			x.EndHeight != 0 && x.EndHeight <= height {
			continue
		}
		if x.Delegator {
			sums.Delegators++
			sums.DelegatorWeight += x.Weight
		} else {
			sums.Validators++
			sums.ValidatorWeight += x.Weight
		}
	}
	return sums
}

// The rows are the same in whatever groups blocks come, with restarts in between.
func TestGroups(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	want, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		db := openDB(t, t.TempDir())
		c := open(t, db, h.cfg)
		for rest := h.blocks; len(rest) > 0; {
			n := 1 + rnd.IntN(min(len(rest), 40))
			if seed == 1 {
				n = 1
			}
			commit(t, c, rest[:n])
			if rest = rest[n:]; seed == 1 || rnd.IntN(4) == 0 {
				c = open(t, db, h.cfg)
			}
		}
		if got, err := c.Digest(t.Context()); err != nil || got != want {
			t.Errorf("seed %d: another digest, %v", seed, err)
		}
	}
}
