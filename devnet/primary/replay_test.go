package primary

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// A real network that crosses Helicon was recorded: when it activated there, and where its
// blocks and its node's answers are.
const (
	recordedHelicon = 1795785098
	platformData    = "../../engine/chain/platform/testdata/helicon/"
	answersData     = "../../engine/primary/pchain/testdata/helicon-calls.jsonl.gz"
)

// recordedCall is what the node answered after the block at a height.
type recordedCall struct {
	Method  string
	PHeight json.Number
	Result  struct {
		Supply     string
		Validators []recordedStaker
	}
}

// recordedStaker has what a validator and a delegator of the primary network have.
type recordedStaker struct {
	TxID, StartTime, EndTime, Weight, PotentialReward, AccruedDelegateeReward string
	NextPeriod, AutoCompoundRewardShares, DelegatorCount, DelegatorWeight     string
}

// TestRecorded: the executor makes of a real network's blocks what its nodes made of them:
// sets and supply at each height, stakers, and the outputs of all rewards.
func TestRecorded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(platformData + "p-genesis.hex")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(string(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("0x"))))
	if err != nil {
		t.Fatal(err)
	}
	g, err := platform.ParseGenesis(raw)
	if err != nil {
		t.Fatal(err)
	}
	s := newState(g.UTXOs[0].Asset, Forks{Helicon: recordedHelicon}, g)
	var calls []recordedCall
	chaintest.Lines(t, answersData, func(line []byte) {
		var c recordedCall
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	})
	blocks := chaintest.Helicon(t, platformData+"p-blocks.jsonl.gz")
	var proposed *platform.Tx
	ends, supplies, stakers := 0, 0, 0
	for _, r := range blocks {
		b, err := platform.ParseBlock(r.Block)
		if err != nil {
			t.Fatal(err)
		}
		if r.Height > 0 {
			proposed = s.replay(t, b, proposed)
		}
		s.sameSets(t, &r)
		for _, c := range calls {
			switch {
			case c.PHeight.String() != strconv.FormatUint(r.Height, 10):
			case c.Method == "platform.getCurrentSupply":
				supplies++
				if got := strconv.FormatUint(s.Supply[chain.PrimaryNetworkID], 10); got != c.Result.Supply {
					t.Errorf("block %d: supply %s, want %s", r.Height, got, c.Result.Supply)
				}
			case c.Method == "platform.getCurrentValidators":
				stakers += s.sameStakers(t, r.Height, c.Result.Validators)
			}
		}
	}
	for _, r := range blocks { // they were asked for at the end
		for _, tx := range r.Txs {
			ends += s.sameRewards(t, tx.ID, tx.RewardUTXOs.UTXOs)
		}
	}
	if ends < 18 || supplies < 50 || stakers < 190 {
		t.Errorf("compared %d outputs of rewards, %d supplies and %d stakers", ends, supplies, stakers)
	}
}

// replay executes a block and returns what it proposes.
func (s *State) replay(t *testing.T, b *platform.Block, proposed *platform.Tx) *platform.Tx {
	t.Helper()
	s.Height = b.Height
	s.advance(b.Time)
	if b.Kind.Option() {
		s.reward(proposed.ID, b.Kind == platform.BanffCommit)
	}
	next := b.Proposed()
	for i := range b.Txs {
		if &b.Txs[i] == next {
			continue
		}
		if err := s.apply(&b.Txs[i]); err != nil {
			t.Fatalf("block %d: %v", b.Height, err)
		}
	}
	if next != nil {
		first := s.current.first()
		var body platform.Body = &platform.RewardValidator{TxID: first.TxID}
		if first.Renewal != nil {
			body = &platform.RewardAutoRenewedValidator{TxID: first.TxID, Time: b.Time}
		}
		want, err := (&platform.Tx{Body: body}).Bytes()
		if got, errGot := next.Bytes(); err != nil || errGot != nil || !bytes.Equal(got, want) {
			t.Fatalf("block %d proposes %x, want %x", b.Height, got, want)
		}
	}
	if !b.Kind.Option() {
		s.evict()
	}
	s.sets.commit(b.Height)
	return next
}

func (s *State) sameSets(t *testing.T, r *chaintest.HeliconBlock) {
	t.Helper()
	n := 0
	all := s.sets.of(r.Height)
	for subnet, members := range r.ValidatorsAt {
		id, err := chain.ParseID(subnet)
		if err != nil {
			t.Fatal(err)
		}
		for node, want := range members {
			nodeID, err := chain.ParseNodeID(node)
			if err != nil {
				t.Fatal(err)
			}
			got := all[SubnetNode{id, nodeID}]
			if got.weight != want.Weight || got.key == nil || "0x"+hex.EncodeToString(got.key[:]) != want.PublicKey {
				t.Errorf("block %d: %s of %s: %+v, want %+v", r.Height, node, subnet, got, want)
			}
			n++
		}
	}
	if n != len(all) {
		t.Errorf("block %d: %d members, want %d", r.Height, len(all), n)
	}
}

func (s *State) sameStakers(t *testing.T, height uint64, want []recordedStaker) (n int) {
	t.Helper()
	text := func(v uint64) string { return strconv.FormatUint(v, 10) }
	var got []recordedStaker
	counts, weights := map[chain.NodeID]uint64{}, map[chain.NodeID]uint64{}
	for _, x := range s.CurrentStakers() {
		if x.Delegator {
			counts[x.NodeID]++
			weights[x.NodeID] += x.Weight
		}
	}
	for _, x := range s.CurrentStakers() {
		if x.Delegator || x.Subnet != chain.PrimaryNetworkID {
			continue
		}
		r := recordedStaker{
			TxID: x.TxID.String(), StartTime: text(x.Start), EndTime: text(x.End), Weight: text(x.Weight), PotentialReward: text(x.Potential),
			AccruedDelegateeReward: text(x.DelegateeReward), DelegatorCount: text(counts[x.NodeID]), DelegatorWeight: text(weights[x.NodeID]),
		}
		if x.Renewal != nil {
			r.NextPeriod, r.AutoCompoundRewardShares = text(x.Renewal.Period), text(uint64(x.Renewal.Restaked))
		}
		got = append(got, r)
	}
	if len(got) != len(want) {
		t.Errorf("block %d: %d validators, want %d", height, len(got), len(want))
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("block %d: no validator %+v among %+v", height, w, got)
		}
		n++
	}
	return n
}

func (s *State) sameRewards(t *testing.T, txID string, want []chaintest.Checked) int {
	t.Helper()
	id, err := chain.ParseID(txID)
	if err != nil {
		t.Fatal(err)
	}
	var got []utxo.UTXO
	for _, x := range s.Stakers {
		for _, r := range x.Rewards {
			if r.TxID == id {
				got = append(got, r.UTXO)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d outputs of rewards, want %d", txID, len(got), len(want))
		return 0
	}
	for i := range got {
		b, err := got[i].Bytes(true)
		if err != nil || !bytes.Equal(b, want[i]) {
			t.Errorf("%s: output %x, want %x: %v", txID, b, want[i], err)
		}
	}
	return len(want)
}
