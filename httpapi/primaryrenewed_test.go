package httpapi

import (
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// Transactions of validators that renew themselves have names that the SDKs refuse: to them
// they are UNKNOWN, which also finds them. Validators have further members.
func TestRenewed(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	owner := utxo.Owners{Threshold: 1, Addresses: []address.Address{ann}}
	base := utxo.Base{NetworkID: 5}
	add := n.addPlatformTx(8, &platform.AddAutoRenewedValidator{
		Base: base, NodeID: nodeTwo, Signer: &platform.Signer{}, Stake: []utxo.Output{out(2e9, ann)}, ValidatorRewardsOwner: owner,
		DelegationRewardsOwner: owner, Authority: owner, DelegationFee: 25_000, Restaked: 300_000, Period: 86_400,
	})
	n.addPlatformTx(9, &platform.SetAutoRenewedValidatorConfig{Base: base, TxID: add.ID, Restaked: 1_000_000})
	n.addPlatformTx(10, &platform.RewardAutoRenewedValidator{TxID: add.ID, Time: 1_700_090_000})
	proof := &[platform.BLSSignatureLen]byte{}
	n.stakers = append(n.stakers, primary.Staker{
		TxID: add.ID, Node: nodeTwo, Weight: 3e9, Status: primary.Active, Start: 1_700_090_000, End: 1_700_176_400, RewardOwners: owner, Gross: 9,
		BLSKey: &[platform.BLSKeyLen]byte{}, Proof: proof,
		Renewal: &primary.Renewal{Since: 1_700_003_600, Authority: owner, Restaked: 1_000_000, Period: 0, Rewards: 1e9},
	})
	s := primaryServer(t, n)
	has := func(path string, sdk bool, want ...string) {
		t.Helper()
		var headers []string
		if sdk {
			headers = []string{"User-Agent", sdkUser}
		}
		resp := get(s, path, headers...)
		for _, w := range want {
			if resp.StatusCode() != 200 || !strings.Contains(string(resp.Body()), w) {
				t.Errorf("%s: %d %s, want %s", path, resp.StatusCode(), resp.Body(), w)
			}
		}
	}
	txs := onFuji + "/blockchains/p-chain/transactions"
	one := func(height int) string { return txs + "/" + n.txs[primary.PChain][height-1].ID.String() }
	authority := `"validatorAuthority":{"addresses":["` + strings.TrimPrefix(ann.Text("fuji"), "P-") + `"],"threshold":1}`
	has(one(8), false, `"txType":"AddAutoRenewedValidatorTx"`, `"amountStaked":[{`, `"startTimestamp":1700003600`, `"endTimestamp":1700176400`,
		`"nodeId":"`+nodeTwo.String(), `"delegationFeePercent":"2.5"`, `"subnetId":"`+chain.PrimaryNetworkID.String(), authority, `"period":86400,"autoCompoundRewardShares":300000`)
	has(one(9), false, `"txType":"SetAutoRenewedValidatorConfigTx"`, `"stakingTxHash":"`+add.ID.String(), `"period":0,"autoCompoundRewardShares":1000000`)
	has(one(10), false, `"txType":"RewardAutoRenewedValidatorTx"`, `"stakingTxHash":"`+add.ID.String(), `"endTimestamp":1700090000`)
	for height := 8; height <= 10; height++ {
		has(one(height), true, `"txType":"UNKNOWN"`)
	}
	for query, want := range map[string]int{"UNKNOWN": 3, "SetAutoRenewedValidatorConfigTx": 1, "RewardAutoRenewedValidatorTx,BaseTx": 2} {
		if got := txHashes(t, s, txs+"?txTypes="+query); len(got) != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	for _, sdk := range []bool{false, true} {
		has(onFuji+"/validators/"+nodeTwo.String()+"?validationStatus=active", sdk, authority, `"nextPeriod":0,"autoCompoundRewardShares":1000000`,
			`"startTimestamp":1700090000,"endTimestamp":1700176400`, `"amountStaked":"3000000000"`, `"validationRewardAmount":"9"`)
	}
}
