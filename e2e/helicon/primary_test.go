package helicon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quorate/e2e/helicon/replay"
)

// checksum is the length in bytes of what a node's hex encoding ends with.
const checksum = 4

// types are those of transactions of the P-Chain by their number in the bytes.
var types = map[uint64]string{
	12: "AddValidatorTx", 13: "AddSubnetValidatorTx", 14: "AddDelegatorTx", 15: "CreateChainTx", 16: "CreateSubnetTx", 17: "ImportTx", 18: "ExportTx",
	19: "AdvanceTimeTx", 20: "RewardValidatorTx", 21: "RemoveSubnetValidatorTx", 24: "TransformSubnetTx", 25: "AddPermissionlessValidatorTx",
	26: "AddPermissionlessDelegatorTx", 33: "TransferSubnetOwnershipTx", 34: "BaseTx", 35: "ConvertSubnetToL1Tx", 36: "RegisterL1ValidatorTx",
	37: "SetL1ValidatorWeightTx", 38: "IncreaseL1ValidatorBalanceTx", 39: "DisableL1ValidatorTx", 40: "AddAutoRenewedValidatorTx",
	41: "SetAutoRenewedValidatorConfigTx", 42: "RewardAutoRenewedValidatorTx",
}

// primary compares the P- and the X-Chain.
func (s *server) primary(ctx context.Context, w *replay.World) error {
	var m misses
	for _, b := range w.P.Blocks[1:] {
		s.primaryBlock(ctx, &m, "p", b)
		for _, t := range b.Txs {
			s.platformTx(ctx, &m, w, t)
		}
	}
	for _, b := range w.X.Blocks[1:] {
		s.primaryBlock(ctx, &m, "x", b)
	}
	s.validators(ctx, &m, w)
	return m.join()
}

func (s *server) primaryBlock(ctx context.Context, m *misses, chain string, b *replay.ChainBlock) {
	var got struct {
		BlockHash    string
		TxCount      int
		Transactions []string
	}
	if !m.err(s.get(ctx, fmt.Sprintf("%s/%s-chain/blocks/%d", chainsPath, chain, b.Height), &got)) {
		return
	}
	what := fmt.Sprintf("%s-chain block %d: ", chain, b.Height)
	ids := []string{}
	for _, t := range b.Txs {
		ids = append(ids, t.ID)
	}
	m.want(what+"ID", got.BlockHash, b.ID)
	m.want(what+"txCount", got.TxCount, len(ids))
	m.want(what+"transactions", got.Transactions, ids)
}

// platformTx compares a transaction of the P-Chain with the outputs that it is rewarded with.
func (s *server) platformTx(ctx context.Context, m *misses, w *replay.World, t *replay.Tx) {
	var got struct {
		TxHash, TxType, BlockNumber string
		EmittedUtxos                []struct {
			TxHash, UtxoBytes string
			OutputIndex       int
		}
	}
	if !m.err(s.get(ctx, chainsPath+"/p-chain/transactions/"+t.ID, &got)) {
		return
	}
	what := fmt.Sprintf("P-Chain block %d, transaction %s: ", t.Height, t.ID)
	number, err := strconv.ParseUint(strings.TrimPrefix(replay.Text(t.Tx), "0x0000")[:8], 16, 32)
	m.err(err)
	m.want(what+"ID", got.TxHash, t.ID)
	m.want(what+"type", got.TxType, types[number])
	m.want(what+"block", got.BlockNumber, t.Height)
	if name := types[number]; name != "RewardValidatorTx" && name != "RewardAutoRenewedValidatorTx" {
		return
	}
	var (
		has, wants []string
		reward     struct{ UnsignedTx struct{ TxID string } }
		staking    struct {
			UnsignedTx struct{ Stake []json.RawMessage }
		}
		rewards struct{ UTXOs []string }
	)
	// The outputs hang on what staked, but those of a cycle on its own reward.
	m.err(json.Unmarshal(t.JSON, &reward))
	of := w.P.Txs[reward.UnsignedTx.TxID]
	m.err(json.Unmarshal(of.JSON, &staking))
	if types[number] == "RewardAutoRenewedValidatorTx" {
		of = t
	}
	if len(of.RewardUTXOs) > 0 {
		m.err(json.Unmarshal(of.RewardUTXOs, &rewards))
	}
	for _, u := range got.EmittedUtxos {
		if u.TxHash == of.ID && (of == t || u.OutputIndex >= outputsOf(of)+len(staking.UnsignedTx.Stake)) {
			has = append(has, u.UtxoBytes)
		}
	}
	for _, u := range rewards.UTXOs {
		wants = append(wants, u[:len(u)-2*checksum])
	}
	slices.Sort(has)
	slices.Sort(wants)
	m.want(what+"reward outputs", has, wants)
}

// outputsOf returns the number of a transaction's outputs besides what it stakes.
func outputsOf(t *replay.Tx) int {
	var tx struct {
		UnsignedTx struct{ Outputs []json.RawMessage }
	}
	if err := json.Unmarshal(t.JSON, &tx); err != nil {
		return -1
	}
	return len(tx.UnsignedTx.Outputs)
}

// validators compares the validators of the primary network at the end.
func (s *server) validators(ctx context.Context, m *misses, w *replay.World) {
	var want struct {
		Validators []struct {
			TxID, NodeID, Weight, StartTime, EndTime, PotentialReward string
		}
	}
	m.err(json.Unmarshal(w.Last("/ext/bc/P", "platform.getCurrentValidators", "{}"), &want))
	var got struct {
		Validators []struct {
			TxHash, NodeID, SubnetID, AmountStaked string
			StartTimestamp, EndTimestamp           int64
			PotentialRewards                       struct{ ValidationRewardAmount string }
		}
	}
	if !m.err(s.get(ctx, "/v1/networks/testnet/validators?validationStatus=active&pageSize=100&subnetId=11111111111111111111111111111111LpoYY", &got)) {
		return
	}
	var has, wants []string
	for _, v := range got.Validators {
		has = append(has, fmt.Sprint(v.TxHash, v.NodeID, " weight ", v.AmountStaked, " from ", v.StartTimestamp, " to ", v.EndTimestamp, " reward ", v.PotentialRewards.ValidationRewardAmount))
	}
	for _, v := range want.Validators {
		wants = append(wants, fmt.Sprint(v.TxID, v.NodeID, " weight ", v.Weight, " from ", v.StartTime, " to ", v.EndTime, " reward ", v.PotentialReward))
	}
	slices.Sort(has)
	slices.Sort(wants)
	m.want("validators", strings.Join(has, "\n"), strings.Join(wants, "\n"))
}
