package pchain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// heliconNetwork is a real network that crosses Helicon, of avalanchego v1.15.0, with what
// its node answered.
type heliconNetwork struct {
	blocks []chaintest.HeliconBlock
	cfg    pchain.Config
	// supply and current are by the height at which the node was asked.
	supply  map[uint64]uint64
	current map[uint64][]heliconStaker
	// utxos are those that were there at the end.
	utxos []chaintest.Checked
}

type heliconStaker struct {
	TxID                                        chainID
	NodeID                                      string
	StartTime, EndTime, Weight, PotentialReward number
	AccruedDelegateeReward                      number
	DelegationFee                               string
	Signer                                      struct{ PublicKey, ProofOfPossession string }
	DelegatorCount, DelegatorWeight             number
	NextPeriod, AutoCompoundRewardShares        *number
	ValidatorAuthority                          *struct{ Threshold number }
}

type number uint64

func (n *number) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 10, 64)
	*n = number(v)
	return err
}

type chainID struct{ chain.ID }

func (c *chainID) UnmarshalText(b []byte) (err error) {
	c.ID, err = chain.ParseID(string(b))
	return err
}

func helicon(t testing.TB) *heliconNetwork {
	t.Helper()
	raw, err := os.ReadFile("../../chain/platform/testdata/helicon/p-genesis.hex")
	if err != nil {
		t.Fatal(err)
	}
	var b chaintest.Hex
	if err := b.UnmarshalText(bytes.TrimSpace(raw)); err != nil {
		t.Fatal(err)
	}
	g, err := platform.ParseGenesis(b)
	if err != nil {
		t.Fatal(err)
	}
	n := &heliconNetwork{
		blocks: chaintest.Helicon(t, "../../chain/platform/testdata/helicon/p-blocks.jsonl.gz"),
		supply: map[uint64]uint64{}, current: map[uint64][]heliconStaker{},
	}
	u := rules.UpgradesOf(13338)
	chaintest.Lines(t, "testdata/helicon-calls.jsonl.gz", func(line []byte) { n.take(t, line, &u) })
	n.cfg = pchain.Config{Network: 13338, Genesis: g, Upgrades: &u}
	return n
}

// take reads an answer of the node.
func (n *heliconNetwork) take(t testing.TB, line []byte, u *rules.Upgrades) {
	t.Helper()
	var call struct {
		Method  string
		PHeight *number
		Params  struct{ SubnetID, SourceChain string }
		Result  struct {
			HeliconTime    time.Time
			Supply, Height number
			Validators     []heliconStaker
			UTXOs          []chaintest.Checked
		}
	}
	if err := json.Unmarshal(line, &call); err != nil {
		t.Fatal(err)
	}
	switch r := &call.Result; {
	case call.Method == "info.upgrades":
		u.Helicon = uint64(r.HeliconTime.Unix())
	case call.Method == "platform.getUTXOs" && call.Params.SourceChain == "":
		n.utxos = r.UTXOs
	case call.Params.SubnetID != "" && call.Params.SubnetID != chain.PrimaryNetworkID.String():
	case call.Method == "platform.getCurrentSupply":
		n.supply[uint64(r.Height)] = uint64(r.Supply)
	case call.Method == "platform.getCurrentValidators" && call.PHeight != nil:
		n.current[uint64(*call.PHeight)] = r.Validators
	}
}

// Validator sets of every height, every output of a reward, and supply, stakes and what
// they are to earn at every height at which the node was asked are what it answered.
func TestHelicon(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	if n.cfg.Upgrades.Helicon != 1795785098 || len(n.supply) < 40 || len(n.current) < 40 {
		t.Fatalf("Helicon at %d, %d supplies, %d lists of validators", n.cfg.Upgrades.Helicon, len(n.supply), len(n.current))
	}
	c := open(t, openDB(t, t.TempDir()), n.cfg)
	for i := range n.blocks[1:] {
		e := &n.blocks[1+i]
		b, err := primary.Parse(primary.PChain, e.Container.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, c, []*primary.Block{b})
		n.compare(t, c, e.Height)
	}
	v := view(t, c)
	n.sameSets(t, v)
	n.sameRewards(t, v)
	n.sameOutputs(t, v)
}

func (n *heliconNetwork) compare(t *testing.T, c *pchain.Chain, height uint64) {
	t.Helper()
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if want, ok := n.supply[height]; ok {
		if got, known := v.Supply(); !known || got != want {
			t.Errorf("height %d: supply %d, want %d", height, got, want)
		}
	}
	want, ok := n.current[height]
	if !ok {
		return
	}
	stake := uint64(0)
	for i := range want {
		stake += uint64(want[i].Weight)
		if problem := want[i].differs(v); problem != "" {
			t.Errorf("height %d: %s", height, problem)
		}
	}
	if all, err := v.Totals(); err != nil || all.Validators != len(want) || all.Staked != stake {
		t.Errorf("height %d: %+v, %v, want %d of %d validators", height, all, err, stake, len(want))
	}
}

// differs returns how a validator differs from the node's.
func (w *heliconStaker) differs(v *pchain.View) string {
	s, found, err := v.Staker(w.TxID.ID)
	if err != nil || !found || s.Status != primary.Active {
		return fmt.Sprintf("validator %s: %+v, %v", w.TxID, s, err)
	}
	got := fmt.Sprintf("%s from %d to %d with %d for %d, fee %.4f, %d delegators with %d", s.Node, s.Start, s.End, s.Weight, s.Gross,
		float64(s.Fee)/10_000, s.Delegators, s.DelegatedWeight)
	want := fmt.Sprintf("%s from %d to %d with %d for %d, fee %s, %d delegators with %d", w.NodeID, w.StartTime, w.EndTime, w.Weight, w.PotentialReward,
		w.DelegationFee, w.DelegatorCount, w.DelegatorWeight)
	got += fmt.Sprintf(", key %x %x", s.BLSKey[:], s.Proof[:])
	want += ", key " + strings.ReplaceAll(w.Signer.PublicKey+" "+w.Signer.ProofOfPossession, "0x", "")
	if w.DelegatorCount == 0 { // otherwise with what is expected of those
		got += fmt.Sprintf(", share %d", s.Share)
		want += fmt.Sprintf(", share %d", w.AccruedDelegateeReward)
	}
	if s.Renewal != nil {
		got += fmt.Sprintf(", %d of it next for %d, by %d", s.Renewal.Restaked, s.Renewal.Period, s.Renewal.Authority.Threshold)
	}
	if w.NextPeriod != nil {
		want += fmt.Sprintf(", %d of it next for %d, by %d", *w.AutoCompoundRewardShares, *w.NextPeriod, w.ValidatorAuthority.Threshold)
	}
	pending := 0
	if _, err := v.PendingRewards(&primary.RewardFilter{Nodes: []chain.NodeID{s.Node}}, primary.Page{Limit: 100}, func(r *primary.Reward) bool {
		if r.Kind == primary.ValidatorReward && r.TxID == s.TxID && r.Start == s.Start && r.Time == s.End && r.Staked == s.Weight && r.Amount == s.Gross {
			pending++
		}
		return true
	}); err != nil || pending != 1 {
		return fmt.Sprintf("validator %s: %d pending rewards, %v", w.TxID, pending, err)
	}
	if got == want {
		return ""
	}
	return fmt.Sprintf("validator %s: got %s\nwant %s", w.TxID, got, want)
}

func (n *heliconNetwork) sameSets(t *testing.T, v *pchain.View) {
	t.Helper()
	for _, e := range n.blocks {
		for subnet, want := range e.ValidatorsAt {
			id, err := chain.ParseID(subnet)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := v.ValidatorsAt(id, e.Height)
			if err != nil || !ok || len(got) != len(want) {
				t.Errorf("height %d, subnet %s: %d members, %v, %v, want %d", e.Height, subnet, len(got), ok, err, len(want))
			}
			for _, m := range got {
				key := ""
				if m.Key != nil {
					key = fmt.Sprintf("0x%x", m.Key[:])
				}
				if w, ok := want[m.Node.String()]; !ok || w.Weight != m.Weight || w.PublicKey != key {
					t.Errorf("height %d, subnet %s: got %+v, want %+v", e.Height, subnet, m, w)
				}
			}
		}
	}
}

func (n *heliconNetwork) sameRewards(t *testing.T, v *pchain.View) {
	t.Helper()
	want := map[chain.ID]utxo.UTXO{}
	for _, e := range n.blocks {
		for _, tx := range e.Txs {
			for _, raw := range tx.RewardUTXOs.UTXOs {
				u, err := utxo.ParseUTXO(raw, true)
				if err != nil {
					t.Fatal(err)
				}
				want[u.ID()] = *u
			}
		}
	}
	got := 0
	if err := v.EachOutput(func(u *primary.Output) {
		if !u.Reward {
			return
		}
		got++
		if w, ok := want[u.ID()]; !ok || fmt.Sprint(w) != fmt.Sprint(u.UTXO) {
			t.Errorf("reward %s: got %+v, want %+v", u.ID(), u.UTXO, w)
		}
	}); err != nil || got != len(want) || got < 15 {
		t.Errorf("%d rewards, %v, want %d", got, err, len(want))
	}
	listed := 0
	nodes := map[chain.NodeID]bool{}
	if _, err := v.Stakers(&primary.StakerFilter{AnyKind: true}, primary.Page{Limit: 1000}, func(s *primary.Staker) bool {
		nodes[s.Node] = true
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for node := range nodes {
		if _, err := v.Rewards(&primary.RewardFilter{Nodes: []chain.NodeID{node}}, primary.Page{Limit: 1000}, func(r *primary.Reward) bool {
			if u, ok := want[r.Ref.ID()]; !ok || u.Amount != r.Amount || r.Start >= r.End {
				t.Errorf("reward %+v, want %+v", r, u)
			}
			listed++
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	if listed != len(want) {
		t.Errorf("%d rewards in lists, want %d", listed, len(want))
	}
}

func (n *heliconNetwork) sameOutputs(t *testing.T, v *pchain.View) {
	t.Helper()
	var owner address.Address
	for _, raw := range n.utxos {
		want, err := utxo.ParseUTXO(raw, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, found, err := v.Output(want.ID()); err != nil || !found || got.State != primary.Unspent || fmt.Sprint(got.UTXO) != fmt.Sprint(*want) {
			t.Errorf("output %s: got %+v, %v, %v, want %+v", want.ID(), got, found, err, want)
		}
		owner = want.Addresses[0]
	}
	unspent := 0
	if err := v.EachOutput(func(u *primary.Output) {
		if u.State == primary.Unspent && slices.Contains(u.Addresses, owner) {
			unspent++
		}
	}); err != nil || unspent != len(n.utxos) || unspent == 0 {
		t.Errorf("%d outputs are unspent, want %d: %v", unspent, len(n.utxos), err)
	}
}
