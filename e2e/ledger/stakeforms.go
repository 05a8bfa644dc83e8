package ledger

import (
	"encoding/json"
	"math/big"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/components/gas"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/libevm/common"
)

// contract is an account of the EVM in the form with a checksum, or other bytes.
func contract(b []byte) string {
	if len(b) == common.AddressLength {
		return common.BytesToAddress(b).Hex()
	}
	return hexOf(b)
}

func (l *Ledger) blockchain(b *Blockchain) object {
	t := b.as
	return object{
		"createBlockTimestamp": b.tx.time, "createBlockNumber": text(b.tx.height), "blockchainId": b.tx.ID.String(), "vmId": t.VMID.String(),
		"subnetId": t.SubnetID.String(), "blockchainName": t.ChainName,
	}
}

func (l *Ledger) subnetForm(s *Subnet) object {
	out := object{
		"subnetId": s.id.String(), "ownerAddresses": l.addresses(s.owner.Addrs), "threshold": s.owner.Threshold, "locktime": s.owner.Locktime,
		"subnetOwnershipInfo": l.ownership(&s.owner), "isL1": s.conversion != nil,
	}
	created := l.P.Blocks[0]
	if s.tx != nil {
		created = s.tx.Block
	}
	out["createBlockTimestamp"], out["createBlockIndex"] = created.Time, text(created.Height)
	if s.conversion != nil {
		out["l1ConversionTransactionHash"] = s.conversion.ID.String()
		out["l1ValidatorManagerDetails"] = manager(s.conversion.unsigned.(*txs.ConvertSubnetToL1Tx))
	}
	chains := list{}
	for _, b := range l.chains {
		if b.as.SubnetID == s.id {
			chains = append(chains, l.blockchain(b))
		}
	}
	out["blockchains"] = chains
	return out
}

// ratio is part / whole with six decimals.
func ratio(part, whole uint64, scale int64) json.Number {
	if whole == 0 {
		return "0"
	}
	part = min(part, whole)
	n := new(big.Int).Mul(new(big.Int).SetUint64(part), big.NewInt(1_000_000*scale))
	n.Quo(n, new(big.Int).SetUint64(whole))
	return json.Number(new(big.Rat).SetFrac(n, big.NewInt(1_000_000)).FloatString(6))
}

// validatorForm is a validator of the primary network or of a subnet.
func (l *Ledger) validatorForm(s *Staker) object {
	out := object{
		"txHash": s.tx.ID.String(), "nodeId": s.Node.String(), "subnetId": s.Subnet.String(), "amountStaked": text(s.Weight),
		"startTimestamp": s.Start, "endTimestamp": s.End, "validationStatus": s.Status,
	}
	rewards := object{"validationRewardAmount": text(s.gross), "delegationRewardAmount": text(s.accrued + l.expected(s)), "rewardAddresses": list{}}
	if !s.permissioned() {
		out["delegationFee"] = percent(s.fee)
		rewards["rewardAddresses"] = l.addresses(s.owner.Addrs)
	}
	if s.ended != nil {
		rewards["rewardTxHash"] = s.ended.ID.String()
	}
	if s.proof != nil {
		out["blsCredentials"] = possession(s)
	}
	count, weight := l.delegators(s)
	switch s.Status {
	case active:
		_, staked, _, delegated := l.totals(primaryNetwork)
		if s.Subnet == primaryNetwork {
			out["stakePercentage"] = ratio(s.Weight, staked+delegated, 100)
		}
		out["delegatorCount"], out["amountDelegated"], out["potentialRewards"] = count, text(weight), rewards
	case removed:
		out["removeTxHash"], out["removeTimestamp"] = s.ended.ID.String(), s.ended.time
	case completed:
		out["delegatorCount"], out["amountDelegated"], out["rewards"] = count, text(weight), rewards
	}
	return out
}

func (l *Ledger) delegatorForm(s *Staker) object {
	out := object{
		"txHash": s.tx.ID.String(), "nodeId": s.Node.String(), "rewardAddresses": l.addresses(s.owner.Addrs), "amountDelegated": text(s.Weight),
		"delegationFee": percent(s.fee), "startTimestamp": s.Start, "endTimestamp": s.End, "grossReward": text(s.gross), "netReward": text(s.net),
		"delegationStatus": s.Status,
	}
	if s.Status == active {
		out["estimatedGrossReward"], out["estimatedNetReward"] = out["grossReward"], out["netReward"]
	}
	return out
}

func (l *Ledger) rewardForm(r *Reward) object {
	o, _ := ownersOf(r.output)
	out := l.stakeOf(r.of, r.kind, o.Addrs)
	out["utxoId"], out["outputIndex"] = r.output.InputID().String(), r.output.OutputIndex
	out["reward"], out["rewardTxHash"] = l.amount(l.AVAX, amountOf(r.output)), r.by.ID.String()
	return out
}

func (l *Ledger) stakeOf(s *Staker, kind string, to []ids.ShortID) object {
	return object{
		"addresses": l.addresses(to), "txHash": s.tx.ID.String(), "amountStaked": text(s.Weight), "nodeId": s.Node.String(),
		"startTimestamp": s.Start, "endTimestamp": s.End, "rewardType": kind,
	}
}

// pendingForms are the rewards that a staker expects.
func (l *Ledger) pendingForms(s *Staker, wants func(*secp256k1fx.OutputOwners) bool) (out list) {
	add := func(kind string, o *secp256k1fx.OutputOwners, n uint64) {
		if !wants(o) {
			return
		}
		r := l.stakeOf(s, kind, o.Addrs)
		r["progress"] = ratio(l.now-s.Start, s.End-s.Start, 100)
		r["estimatedReward"] = l.amount(l.AVAX, n)
		out = append(out, r)
	}
	if s.delegator {
		add("DELEGATOR", s.owner, s.net)
		return out
	}
	add("VALIDATOR", s.owner, s.gross)
	if share := s.accrued + l.expected(s); share > 0 {
		add("VALIDATOR_FEE", s.share, share)
	}
	return out
}

func (l *Ledger) memberForm(m *Member) object {
	owner := func(threshold uint32, of []ids.ShortID) object {
		return object{"addresses": l.addresses(of), "threshold": threshold}
	}
	balance := uint64(0)
	if m.limit != 0 {
		balance = m.limit - l.accrued
	}
	config := genesis.LocalParams.ValidatorFeeConfig
	price := uint64(gas.CalculatePrice(config.MinPrice, l.fees.Excess, config.ExcessConversionConstant))
	return object{
		"validationId": m.ID.String(), "validationIdHex": hexOf(m.ID[:]), "nodeId": m.Node.String(), "subnetId": m.Subnet.String(),
		"weight": m.Weight, "remainingBalance": balance, "secondsLeft": balance / price, "creationTimestamp": m.Start, "blsCredentials": key(m.key),
		"remainingBalanceOwner": owner(m.balance.Threshold, m.balance.Addresses), "deactivationOwner": owner(m.disabler.Threshold, m.disabler.Addresses),
	}
}
