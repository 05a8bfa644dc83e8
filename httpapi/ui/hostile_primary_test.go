package ui

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// hostileWord is what somebody might call a chain, an asset or a version.
const hostileWord = "<script>alert(1)</script>\u202e\x00\"'`</code></pre>{{.}}javascript:alert(1)"

// hostileAPI answers everything that pages of the primary network ask for with hostile text
// wherever a stranger can write some.
type hostileAPI struct{}

func (hostileAPI) Get(path string, _ bool) Answer {
	asset := map[string]any{"assetId": hostileWord, "name": hostileWord, "symbol": hostileWord, "denomination": 9, "type": "secp256k1", "amount": hostileWord}
	out := map[string]any{"addresses": []string{hostileWord, "0x" + hostileWord}, "asset": asset, "utxoType": hostileWord, "payload": "0x" + hex.EncodeToString([]byte(hostileWord)),
		"txHash": hostileWord, "consumingTxHash": hostileWord, "threshold": 2, "outputIndex": hostileWord, "platformLocktime": 1 << 40, "locktime": ^uint64(0)}
	tx := map[string]any{"txHash": hostileWord, "txType": hostileWord, "memo": "0x" + hex.EncodeToString([]byte(hostileWord)), "blockNumber": hostileWord, "blockTimestamp": 1 << 40,
		"consumedUtxos": []any{out}, "emittedUtxos": []any{out}, "value": []any{asset, asset}, "nodeId": hostileWord, "subnetId": hostileWord, "rewardAddresses": []string{hostileWord},
		"blockchainInfo": map[string]any{"chainName": hostileWord, "vmId": hostileWord}, "assetCreated": asset, "sourceChain": hostileWord,
		"l1ValidatorManagerDetails": map[string]any{"blockchainId": hostileWord, "contractAddress": hostileWord}, "evmOutputs": []any{map[string]any{"toAddress": hostileWord, "asset": asset}}}
	chain := map[string]any{"blockchainName": hostileWord, "blockchainId": hostileWord, "vmId": hostileWord, "subnetId": hostileWord, "evmChainId": ^uint64(0)}
	all := map[string]any{
		"validators": []any{map[string]any{"nodeId": hostileWord, "subnetId": hostileWord, "avalancheGoVersion": hostileWord, "validationStatus": hostileWord, "delegationFee": hostileWord,
			"uptimePerformance": 0.5, "weight": uint64(1 << 63), "blsCredentials": map[string]any{"publicKey": hostileWord}}},
		"blocks":     []any{map[string]any{"blockNumber": hostileWord, "blockHash": hostileWord, "blockType": hostileWord, "proposerDetails": map[string]any{"proposerNodeId": hostileWord}}},
		"delegators": []any{map[string]any{"txHash": hostileWord, "nodeId": hostileWord, "rewardAddresses": []string{hostileWord}, "delegationStatus": hostileWord}},
		"subnets":    []any{map[string]any{"subnetId": hostileWord, "blockchains": []any{chain}}}, "subnetId": hostileWord, "isL1": true, "ownerAddresses": []string{hostileWord},
		"blockchains": []any{chain}, "transactions": []any{tx}, "utxos": []any{out}, "balances": map[string]any{"unlocked": []any{asset}},
		"historicalRewards": []any{map[string]any{"reward": asset, "rewardType": hostileWord, "nodeId": hostileWord, "addresses": []string{hostileWord}}},
		"chains":            []any{map[string]any{"chainId": hostileWord, "platformChainId": hostileWord}}, "nextPageToken": hostileWord, "name": hostileWord, "symbol": hostileWord,
		"validatorDetails": map[string]any{"stakingDistributionByVersion": []any{map[string]any{"version": hostileWord, "amountStaked": hostileWord, "validatorCount": 3}}, "totalAmountStaked": "2"},
	}
	if strings.Contains(path, "/transactions/") {
		all = tx
	}
	if strings.Contains(path, "/blocks/") {
		all["transactions"] = []string{hostileWord}
	}
	if strings.Contains(path, "l1Validators") {
		body, _ := json.Marshal(map[string]any{"message": hostileWord})
		return Answer{Status: http.StatusServiceUnavailable, Body: body, Gaps: hostileWord, Indexed: hostileWord, Height: hostileWord}
	}
	body, _ := json.Marshal(all)
	return Answer{Status: http.StatusOK, Body: body}
}

// TestPrimaryHostile: nothing that strangers write becomes anything but text, and no page
// fails because of it.
func TestPrimaryHostile(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: hostileAPI{}})
	for _, path := range []string{
		"/primary", "/primary/validators", "/primary/validator/x", "/primary/delegations", "/primary/subnets", "/primary/subnet/x", "/primary/blockchains",
		"/primary/address/x", "/primary/asset/x", "/primary/vertices", "/primary/p", "/primary/x", "/primary/c", "/primary/p/block/1", "/primary/p/tx/x", "/primary/x/tx/x",
	} {
		out := visit(t, s, path, false)
		body := string(out.HTML)
		if out.Status != http.StatusOK {
			t.Errorf("%s: %d", path, out.Status)
		}
		for _, bad := range []string{"<script>alert", "</code></pre>{{", "\u202e", "\x00", `href="javascript:`, "ZgotmplZ"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if strings.Count(body, "<html") != 1 || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
			t.Errorf("%s is cut off", path)
		}
	}
}

// TestPrimaryAmounts: amounts of nAVAX are shown with six digits behind the point, and all of
// them where a reader points at them, however large.
func TestPrimaryAmounts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1": "<0.000001 0.000000001", "720000000000000001": "720,000,000 720,000,000.000000001", "1500000000": "1.5 ", "1000000000": "1 ", "0": "0 ", "": "unknown ",
	} {
		c := navax(in)
		got := strings.NewReplacer("\u202f", ",", " AVAX", "").Replace(c.Text + " " + c.Title)
		if got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
}

// TestSnippetsHostile: a value ends no string in any language.
func TestSnippetsHostile(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`a'b`: `'a'\''b'`, "$(x)`y`": "'$(x)`y`'"} {
		if got := shellQuote(in); got != want {
			t.Errorf("shell: %s, not %s", got, want)
		}
	}
	for _, in := range []string{`"; alert(1); "`, "a\nb", "</script>", "\u2028", `\`, "${x}"} {
		var back string
		if quoted := jsQuote(in); json.Unmarshal([]byte(quoted), &back) != nil || back != in || strings.ContainsAny(quoted, "\n\u2028") {
			t.Errorf("JavaScript: %q becomes %s", in, quoted)
		}
	}
}
