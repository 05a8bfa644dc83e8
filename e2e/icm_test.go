package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/rpc"
)

// The events of TeleporterMessenger, as its interface has them.
const (
	icmReceipts = `{"name":"receipts","type":"tuple[]","components":[{"name":"receivedMessageNonce","type":"uint256"},{"name":"relayerRewardAddress","type":"address"}]}`
	icmContent  = `{"name":"message","type":"tuple","components":[{"name":"messageNonce","type":"uint256"},{"name":"originSenderAddress","type":"address"},` +
		`{"name":"destinationBlockchainID","type":"bytes32"},{"name":"destinationAddress","type":"address"},{"name":"requiredGasLimit","type":"uint256"},` +
		`{"name":"allowedRelayerAddresses","type":"address[]"},` + icmReceipts + `,{"name":"message","type":"bytes"}]}`
	icmFee = `{"name":"feeInfo","type":"tuple","components":[{"name":"feeTokenAddress","type":"address"},{"name":"amount","type":"uint256"}]}`
	icmABI = `[{"type":"event","name":"SendCrossChainMessage","inputs":[{"name":"messageID","type":"bytes32","indexed":true},{"name":"destinationBlockchainID","type":"bytes32","indexed":true},` + icmContent + `,` + icmFee + `]},` +
		`{"type":"event","name":"AddFeeAmount","inputs":[{"name":"messageID","type":"bytes32","indexed":true},` + icmFee + `]},` +
		`{"type":"event","name":"ReceiptReceived","inputs":[{"name":"messageID","type":"bytes32","indexed":true},{"name":"destinationBlockchainID","type":"bytes32","indexed":true},{"name":"relayerRewardAddress","type":"address","indexed":true},` + icmFee + `]},` +
		`{"type":"event","name":"ReceiveCrossChainMessage","inputs":[{"name":"messageID","type":"bytes32","indexed":true},{"name":"sourceBlockchainID","type":"bytes32","indexed":true},{"name":"deliverer","type":"address","indexed":true},{"name":"rewardRedeemer","type":"address"},` + icmContent + `]},` +
		`{"type":"event","name":"MessageExecuted","inputs":[{"name":"messageID","type":"bytes32","indexed":true},{"name":"sourceBlockchainID","type":"bytes32","indexed":true}]},` +
		`{"type":"event","name":"MessageExecutionFailed","inputs":[{"name":"messageID","type":"bytes32","indexed":true},{"name":"sourceBlockchainID","type":"bytes32","indexed":true},` + icmContent + `]},` +
		`{"type":"event","name":"RelayerRewardsRedeemed","inputs":[{"name":"redeemer","type":"address","indexed":true},{"name":"asset","type":"address","indexed":true},{"name":"amount","type":"uint256"}]}]`
)

// icmMessenger is where TeleporterMessenger lies on all chains.
var icmMessenger = common.HexToAddress("0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf")

// icmTruth is what the logs of all chains say of a message.
type icmTruth struct {
	MessageID, Status, SourceBlockchainID, DestinationBlockchainID, MessageNonce, From, To, Data string
	MessageExecuted, MessageExecutionFailed, ReceiptDelivered                                    bool
	RewardDetails                                                                                struct{ Address, Value string }
	SourceTransaction, DestinationTransaction                                                    struct{ TxHash string }
}

// icmLogs reads what the messengers of chains have logged, by the raw answers of their
// nodes and a decoder that is not the server's.
func icmLogs(t *testing.T, chains []evmFacts) map[string]*icmTruth {
	t.Helper()
	contract, err := abi.JSON(strings.NewReader(icmABI))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*icmTruth{}
	for _, c := range chains {
		client, err := rpc.DialContext(t.Context(), c.RPCURL)
		if err != nil {
			t.Fatal(err)
		}
		var tip hexutil.Uint64
		if err := client.CallContext(t.Context(), &tip, "eth_blockNumber"); err != nil {
			t.Fatal(err)
		}
		for n := range uint64(tip) + 1 {
			var receipts []*types.Receipt
			if err := client.CallContext(t.Context(), &receipts, "eth_getBlockReceipts", hexutil.Uint64(n)); err != nil {
				t.Fatal(err)
			}
			for _, r := range receipts {
				for _, l := range r.Logs {
					if l.Address == icmMessenger {
						icmLog(t, &contract, all, c.BlockchainID, l)
					}
				}
			}
		}
		client.Close()
	}
	return all
}

// icmLog takes a log of the chain self.
func icmLog(t *testing.T, contract *abi.ABI, all map[string]*icmTruth, self string, l *types.Log) {
	t.Helper()
	event, err := contract.EventByID(l.Topics[0])
	if err != nil {
		t.Fatal(err)
	}
	if event.Name == "RelayerRewardsRedeemed" { // of no message
		return
	}
	values := map[string]any{}
	if err := contract.UnpackIntoMap(values, event.Name, l.Data); err != nil {
		t.Fatal(err)
	}
	m := all[l.Topics[1].Hex()]
	if m == nil {
		m = &icmTruth{MessageID: l.Topics[1].Hex(), Status: "pending"}
		all[m.MessageID] = m
	}
	if fee, ok := values["feeInfo"].(struct {
		FeeTokenAddress common.Address `json:"feeTokenAddress"`
		Amount          *big.Int       `json:"amount"`
	}); ok {
		m.RewardDetails.Address, m.RewardDetails.Value = fee.FeeTokenAddress.Hex(), fee.Amount.String()
	}
	switch event.Name {
	case "SendCrossChainMessage":
		m.SourceBlockchainID, m.DestinationBlockchainID = self, ids.ID(l.Topics[2]).String()
		m.SourceTransaction.TxHash = cmp.Or(m.SourceTransaction.TxHash, l.TxHash.Hex())
		b, err := json.Marshal(values["message"])
		if err != nil {
			t.Fatal(err)
		}
		var content struct {
			MessageNonce                            *big.Int
			OriginSenderAddress, DestinationAddress common.Address
			Message                                 []byte
		}
		if err := json.Unmarshal(b, &content); err != nil {
			t.Fatal(err)
		}
		m.MessageNonce, m.Data = content.MessageNonce.String(), hexutil.Encode(content.Message)
		m.From, m.To = content.OriginSenderAddress.Hex(), content.DestinationAddress.Hex()
	case "ReceiptReceived":
		m.ReceiptDelivered = true
	case "ReceiveCrossChainMessage":
		m.Status, m.DestinationTransaction.TxHash = "delivered", l.TxHash.Hex()
	case "MessageExecuted":
		m.MessageExecuted = true
	case "MessageExecutionFailed":
		m.MessageExecutionFailed = true
	}
}

// TestICMDevnet holds the interchain messages between two chains against the raw logs of
// both, and has both SDKs read them.
func TestICMDevnet(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	d, chains := startEVMDevnet(t, "--blocks", "80", "--txs-per-block", "2", "--block-interval", "0", "--evm-chains", "1")
	file := filepath.Join(testDir(t), "chains.json")
	writeJSON(t, file, map[string]any{"chains": []any{map[string]any{
		"rpc": chains[1].RPCURL, "ws": chains[1].WSURL, "blockchain-id": chains[1].BlockchainID, "subnet-id": chains[1].SubnetID, "name": "First L1",
		"token": map[string]any{"name": "Coin", "symbol": "CN", "decimals": 9},
	}}})
	s := startIndexer(t, d.URL, "--chains-file", file)
	want := icmLogs(t, chains)
	if len(want) < 30 {
		t.Errorf("%d messages", len(want))
	}
	checkICM(t, s, want)
	walkICM(t, s, program, icmFacts(t, chains, want))
}

// checkICM compares the server's list of all messages with what the logs say.
func checkICM(t *testing.T, s *server, want map[string]*icmTruth) {
	t.Helper()
	got := awaitICM(t, s, len(want))
	for id, m := range want {
		if got[id] != *m {
			t.Errorf("%+v\nwant %+v", got[id], *m)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d messages, want %d", len(got), len(want))
	}
}

// walkICM has both SDKs read interchain messages and their numbers.
func walkICM(t *testing.T, s *server, program string, icm map[string]any) {
	t.Helper()
	facts := filepath.Join(testDir(t), "facts.json")
	writeJSON(t, facts, map[string]any{"baseUrl": s.URL, "evmChains": []any{}, "network": "fuji", "icm": icm})
	calls, code := runSDKs(t, program, facts, s.URL, "icm")
	metrics := map[string]int{}
	for _, c := range calls {
		t.Logf("%-12s %-50s %3d items %s", c.SDK, c.Call, c.Items, c.Request)
		if c.Error != nil {
			t.Errorf("%s %s %s: %s: %s\ncause: %s\nbody: %s", c.SDK, c.Call, c.Request, c.Error.Name, c.Error.Message, c.Error.Cause, c.Error.Body)
		} else if c.Refused == 0 && c.Items == 0 {
			t.Errorf("%s %s %s: the answer is empty", c.SDK, c.Call, c.Request)
		} else if strings.HasPrefix(c.Call, "metrics.") {
			metrics[c.Call]++
		}
	}
	if code != 0 || len(calls) < 40 || len(metrics) != 3 {
		t.Errorf("%d calls, of numbers %v, exit code %d", len(calls), metrics, code)
	}
	everyMethod(t, calls, icmMethod)
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// icmFacts returns for the SDKs' program which messages there are.
func icmFacts(t *testing.T, chains []evmFacts, all map[string]*icmTruth) map[string]any {
	t.Helper()
	number := map[string]string{}
	for _, c := range chains {
		number[c.BlockchainID] = c.ChainID
	}
	type numbers struct {
		Sent     int `json:"sent"`
		Received int `json:"received"`
	}
	type pair struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
		Messages    int    `json:"messages"`
	}
	counts := map[string]*numbers{}
	var pairs []*pair
	for _, c := range chains {
		counts[c.ChainID] = &numbers{}
	}
	for _, m := range all {
		counts[number[m.SourceBlockchainID]].Sent++
		if m.DestinationTransaction.TxHash != "" {
			counts[number[m.DestinationBlockchainID]].Received++
		}
		i := slices.IndexFunc(pairs, func(p *pair) bool {
			return p.Source == m.SourceBlockchainID && p.Destination == m.DestinationBlockchainID
		})
		if i < 0 {
			i, pairs = len(pairs), append(pairs, &pair{Source: m.SourceBlockchainID, Destination: m.DestinationBlockchainID})
		}
		pairs[i].Messages++
	}
	f := map[string]any{"counts": counts, "pairs": pairs}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		m := all[id]
		if m.Status == "pending" {
			f["pendingId"] = id
			continue
		}
		f["messageId"], f["address"], f["source"], f["destination"] = id, m.To, m.SourceBlockchainID, m.DestinationBlockchainID
		f["transactions"] = map[string]string{
			number[m.SourceBlockchainID]: m.SourceTransaction.TxHash, number[m.DestinationBlockchainID]: m.DestinationTransaction.TxHash,
		}
	}
	return f
}

// awaitICM reads all messages once there are so many, and the chains are indexed.
func awaitICM(t *testing.T, s *server, n int) (all map[string]icmTruth) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oracleWait)
	defer cancel()
	settled := func() (done bool) {
		all = map[string]icmTruth{}
		for next := ""; ; {
			var page struct {
				Messages      []icmTruth
				NextPageToken string
			}
			path := "/v1/icm/messages?pageSize=7"
			if next != "" {
				path += "&pageToken=" + next
			}
			a, err := s.client.Get(ctx, path)
			if err != nil || a.Status != 200 {
				return false
			}
			if err := json.Unmarshal(a.Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Messages {
				all[m.MessageID] = m
			}
			if next = page.NextPageToken; next == "" {
				return len(all) >= n && !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(m icmTruth) bool { return m.Status == "delivered_source_not_indexed" })
			}
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for last := ""; ; {
		if settled() { // twice the same: nothing is on its way any more
			now := fmt.Sprint(all)
			if now == last {
				return all
			}
			last = now
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d messages, want %d", len(all), n)
		case <-tick.C:
		}
	}
}
