package view

import (
	"bytes"
	"math/bits"
	"strconv"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// NetworkDetails writes the sums over the active stakers of the primary network, and what
// nodes say of it: which versions validators run, and where the supply does not follow
// from the blocks, what share of it is staked.
func (w *Writer) NetworkDetails(t *primary.Totals, told *primary.Told) {
	w.Raw(`{"validatorDetails":{`)
	w.whole("validatorCount", uint64(t.Validators))
	w.count("totalAmountStaked", t.Staked)
	w.demanded("estimatedAnnualStakingReward", "")
	w.Member("stakingDistributionByVersion")
	w.Raw("[")
	for i := range told.Shares {
		w.share(&told.Shares[i])
	}
	w.Raw("]")
	switch {
	case t.Supply != nil:
		w.stakingRatio(t.Staked+t.Delegated, *t.Supply)
	case told.Supply > 0:
		w.stakingRatio(told.Staked, told.Supply)
	default:
		w.demanded("stakingRatio", "")
	}
	w.Raw(`},"delegatorDetails":{`)
	w.whole("delegatorCount", uint64(t.Delegators))
	w.count("totalAmountStaked", t.Delegated)
	w.Raw("}}")
}

func (w *Writer) share(s *primary.VersionShare) {
	w.Comma()
	w.B = append(w.B, '{')
	w.text("version", s.Version)
	w.count("amountStaked", s.Staked)
	w.whole("validatorCount", uint64(s.Validators))
	w.B = append(w.B, '}')
}

func (w *Writer) stakingRatio(staked, supply uint64) {
	w.Member("stakingRatio")
	w.B = append(appendRatio(append(w.B, '"'), staked, supply, 0), '"')
}

// ratioDigits is the number of decimals of a ratio.
const ratioDigits = 6

// appendRatio appends part / whole, the point shifted to the right by some digits, with
// at most six decimals. It is 0 of nothing, and at most 1.
func appendRatio(dst []byte, part, whole uint64, shift int) []byte {
	scale := uint64(1)
	for range ratioDigits + shift {
		scale *= 10
	}
	n := scale
	if part < whole {
		hi, lo := bits.Mul64(part, scale)
		n, _ = bits.Div64(hi, lo, whole) // hi < whole, since part < whole and scale < 2^64
	} else if whole == 0 {
		n = 0
	}
	const unit = 1_000_000
	dst = strconv.AppendUint(dst, n/unit, 10)
	if n %= unit; n == 0 {
		return dst
	}
	digits := strconv.AppendUint(nil, unit+n, 10) // its first digit keeps the zeros
	return append(append(dst, '.'), bytes.TrimRight(digits[1:], "0")...)
}

// unknownNumber writes a member with a number that only the SDKs demand: it is not known.
func (w *Writer) unknownNumber(name string) {
	if w.Dialect != Contract {
		w.whole(name, 0)
	}
}

// StakerAddresses writes who gets the rewards of a staker, and when it began.
func (w *Writer) StakerAddresses(s *primary.Staker) {
	w.Comma()
	w.B = append(w.B, '{')
	w.holders("addresses", s.RewardOwners.Addresses)
	w.count("sortKey", s.Since())
	w.B = append(w.B, '}')
}

// Validator writes a validator of limited time, one that renews itself with its present
// cycle. Of what only its neighbours know, uptime
// and version are written where a node has told them. The rest, its health and where it
// is, is left out, or where the SDKs demand it 0. proof is the proof of possession of its
// key, empty if that is not known, and removed the time of what removed it before its end.
func (w *Writer) Validator(s *primary.Staker, t *primary.Totals, told *primary.Told, proof []byte, removed uint64) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &s.TxID)
	w.node("nodeId", &s.Node)
	w.id("subnetId", &s.Subnet)
	w.count("amountStaked", s.Weight)
	if len(s.RewardOwners.Addresses) > 0 { // those of permissioned subnets have no delegators
		w.percent("delegationFee", s.Fee)
	}
	w.whole("startTimestamp", s.Start)
	w.whole("endTimestamp", s.End)
	w.signer(s, proof)
	if r := s.Renewal; r != nil {
		w.balanceOwner("validatorAuthority", &r.Authority)
		w.renewal("nextPeriod", r.Period, r.Restaked)
	}
	switch s.Status {
	case primary.Active:
		w.activeValidator(s, t, told)
	case primary.Removed:
		w.id("removeTxHash", &s.EndTx)
		w.whole("removeTimestamp", removed)
	case primary.Completed:
		w.delegated(s)
		w.rewards("rewards", s)
	case primary.Pending, primary.AnyStatus:
	}
	w.text("validationStatus", stakerStatus(s.Status))
	w.B = append(w.B, '}')
}

func (w *Writer) activeValidator(s *primary.Staker, t *primary.Totals, told *primary.Told) {
	if s.Subnet == chain.PrimaryNetworkID {
		w.Member("stakePercentage")
		w.B = appendRatio(w.B, s.Weight, t.Staked+t.Delegated, 2)
	} else {
		w.unknownNumber("stakePercentage")
	}
	w.delegated(s)
	w.rewards("potentialRewards", s)
	// No node says for which part of its time it has seen a validator of a subnet.
	if uptime, ok := told.Uptimes[s.Node]; ok && s.Subnet == chain.PrimaryNetworkID {
		w.Member("uptimePerformance")
		w.B = appendRatio(w.B, uint64(uptime), oneUptime, 2)
	} else {
		w.unknownNumber("uptimePerformance")
	}
	w.known("avalancheGoVersion", told.Versions[s.Node])
	if w.Dialect != Contract {
		w.Raw(`,"validatorHealth":{"reachabilityPercent":0,"benchedPChainRequestsPercent":0,` +
			`"benchedXChainRequestsPercent":0,"benchedCChainRequestsPercent":0},"geolocation":null`)
	}
}

// oneUptime is the uptime of a node that was always seen.
const oneUptime = 1_000_000

func (w *Writer) delegated(s *primary.Staker) {
	w.whole("delegatorCount", uint64(s.Delegators))
	w.count("amountDelegated", s.DelegatedWeight)
}

func (w *Writer) rewards(name string, s *primary.Staker) {
	w.Member(name)
	w.B = append(w.B, '{')
	w.count("validationRewardAmount", s.Gross)
	w.count("delegationRewardAmount", s.Share)
	w.holders("rewardAddresses", s.RewardOwners.Addresses)
	if !s.EndTx.IsZero() {
		w.id("rewardTxHash", &s.EndTx)
	}
	w.B = append(w.B, '}')
}

// signer writes the BLS key of a validator. The SDKs demand its proof of possession, too.
func (w *Writer) signer(s *primary.Staker, proof []byte) {
	if s.BLSKey == nil || len(proof) == 0 && w.Dialect != Contract {
		return
	}
	w.Raw(`,"blsCredentials":{"publicKey":"`)
	w.B = append(AppendHex(w.B, s.BLSKey[:]), '"')
	if len(proof) > 0 {
		w.Raw(`,"proofOfPossession":"`)
		w.B = append(AppendHex(w.B, proof), '"')
	}
	w.B = append(w.B, '}')
}

// PendingReward writes a reward that is expected; now is the chain's time.
func (w *Writer) PendingReward(r *primary.Reward, now uint64) {
	w.stakeOf(r)
	w.Member("progress")
	w.B = appendRatio(w.B, now-min(now, r.Start), r.End-min(r.End, r.Start), 2)
	w.Member("estimatedReward")
	w.asset(&r.Asset, r.Amount)
	w.B = append(w.B, '}')
}

// L1Validator writes a validator of an L1, which pays a price of so many nAVAX a second; 0 if
// that is not known.
func (w *Writer) L1Validator(v *primary.L1Validator, price uint64) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("validationId", &v.ValidationID)
	w.Member("validationIdHex")
	w.B = append(AppendHex(append(w.B, '"'), v.ValidationID[:]), '"')
	w.node("nodeId", &v.Node)
	w.id("subnetId", &v.Subnet)
	w.whole("weight", v.Weight)
	w.whole("remainingBalance", v.Balance)
	if left := rules.Lasts(v.Balance, price); price > 0 || v.Balance == 0 {
		w.whole("secondsLeft", uint64(left/time.Second))
	}
	w.whole("creationTimestamp", v.Start)
	w.Raw(`,"blsCredentials":{"publicKey":"`)
	w.B = append(AppendHex(w.B, v.BLSKey[:]), `"}`...)
	w.balanceOwner("remainingBalanceOwner", &v.BalanceOwner)
	w.balanceOwner("deactivationOwner", &v.DisableOwner)
	w.B = append(w.B, '}')
}

func (w *Writer) balanceOwner(name string, o *utxo.Owners) {
	w.Member(name)
	w.B = append(w.B, '{')
	w.holders("addresses", o.Addresses)
	w.whole("threshold", uint64(o.Threshold))
	w.B = append(w.B, '}')
}

// Height writes the member that says after which block a list is.
func (w *Writer) Height(n uint64) { w.count("blockHeight", n) }
