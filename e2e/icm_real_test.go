package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/evm/predicate"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"

	"quorate/e2e/contracts"
	"quorate/e2e/l1"
	"quorate/e2e/localnet"
)

const (
	icmNetwork, icmCNumber, icmL1Number = 13338, 43113001, 777003
	// icmEpoch is short: chains judge messages by the validators of their epoch.
	icmEpoch = 2 * time.Second
	icmNodes = 2
	icmGas   = 3_000_000
	icmWait  = 6 * time.Minute

	icmTuple = "(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes)"
	// icmCalls are functions of TeleporterMessenger that take tuples.
	icmCalls = `[{"type":"function","name":"sendCrossChainMessage","inputs":[{"name":"messageInput","type":"tuple","components":[{"name":"destinationBlockchainID","type":"bytes32"},` +
		`{"name":"destinationAddress","type":"address"},` + icmFee + `,{"name":"requiredGasLimit","type":"uint256"},{"name":"allowedRelayerAddresses","type":"address[]"},{"name":"message","type":"bytes"}]}]},` +
		`{"type":"function","name":"sendSpecifiedReceipts","inputs":[{"name":"sourceBlockchainID","type":"bytes32"},{"name":"messageIDs","type":"bytes32[]"},` + icmFee + `,{"name":"allowedRelayerAddresses","type":"address[]"}]}]`
)

var warpPrecompile = common.HexToAddress("0x0200000000000000000000000000000000000005")

// icmChain is one of two chains with a messenger.
type icmChain struct {
	id          ids.ID
	number, url string // url of its node
	s           *contracts.Session
	inbox, coin common.Address
}

// icmFeeInfo and icmInput are arguments of the messenger.
type icmFeeInfo struct {
	FeeTokenAddress common.Address
	Amount          *big.Int
}

type icmInput struct {
	DestinationBlockchainID [32]byte
	DestinationAddress      common.Address
	FeeInfo                 icmFeeInfo
	RequiredGasLimit        *big.Int
	AllowedRelayerAddresses []common.Address
	Message                 []byte
}

// icmSent is a message that was sent.
type icmSent struct {
	id       common.Hash // of the messenger's
	unsigned []byte      // the warp message
	encoded  []byte      // what the messenger put into it
}

// icmWorld is a real network of its own, whose C-Chain and L1 have messengers.
type icmWorld struct {
	*localnet.Network
	ctx   context.Context
	t     *testing.T
	l1    *l1.L1
	c, l  *icmChain
	s     *server
	calls abi.ABI
}

// TestICM sends interchain messages between the C-Chain and an L1 of a real network,
// through contracts that do what TeleporterMessenger does, with signatures of the
// server's own: delivered, failed, retried, sent again, paid more for, receipted. What
// the server says of them is what the raw logs of both chains say.
func TestICM(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	product(t)
	ctx, cancel := context.WithTimeout(t.Context(), icmWait)
	defer cancel()
	w := newICM(ctx, t)
	pending := w.traffic()
	chains := []evmFacts{w.c.facts(), w.l.facts()}
	want := icmLogs(t, chains)
	w.cover(want)
	checkICM(t, w.s, want)
	w.checkTransactions(want)
	w.checkWindows(len(want))
	facts := icmFacts(t, chains, want)
	// The message to the account that sends all others is in all lists of an address.
	for id, m := range want {
		if m.To == m.From {
			facts["messageId"], facts["address"], facts["source"], facts["destination"] = id, m.To, m.SourceBlockchainID, m.DestinationBlockchainID
		}
	}
	facts["pendingId"] = pending.id.Hex()
	walkICM(t, w.s, program, facts)
}

// traffic has messages take every way, and returns one that is never delivered.
func (w *icmWorld) traffic() (pending icmSent) {
	c, l := w.c, w.l
	rich := c.s.Rich.Address
	w.call(c, c.coin, "approve", []string{"address", "uint256"}, icmMessenger, wei(1_000_000))
	paid := w.send(c, l, l.inbox, 100)
	raised := w.send(c, l, l.inbox, 5)
	w.call(c, icmMessenger, "addFeeAmount", []string{"bytes32", "address", "uint256"}, raised.id, c.coin, big.NewInt(7))
	failing, again, late := w.send(c, l, l.inbox, 0), w.send(c, l, l.inbox, 0), w.send(c, l, l.inbox, 3)
	pending = w.send(c, l, l.inbox, 9)

	w.deliver(l, paid)
	w.deliver(l, raised)
	w.call(l, l.inbox, "close", []string{"bool"}, true)
	w.deliver(l, failing)
	w.call(l, l.inbox, "close", []string{"bool"}, false)
	w.must(l, contracts.Tx{To: &icmMessenger, Data: retryExecution(c.id, failing)})
	w.must(c, contracts.Tx{To: &icmMessenger, Data: append(selector("retrySendCrossChainMessage("+icmTuple+")"), again.encoded...)})
	w.deliver(l, again)

	answer := w.send(l, c, c.inbox, 0) // with receipts of all four
	w.deliver(c, answer)
	w.call(c, icmMessenger, "redeemRelayerRewards", []string{"address"}, c.coin)
	w.deliver(l, late)
	data, err := w.calls.Pack("sendSpecifiedReceipts", c.id, [][32]byte{late.id}, icmFeeInfo{Amount: new(big.Int)}, []common.Address{rich})
	if err != nil {
		w.t.Fatal(err)
	}
	w.deliver(c, w.sentBy(l, w.must(l, contracts.Tx{To: &icmMessenger, Data: data})))
	w.deliver(c, w.send(l, c, rich, 0)) // fails for good: nothing is there that could be called
	return pending
}

// cover fails unless messages took every way.
func (w *icmWorld) cover(all map[string]*icmTruth) {
	w.t.Helper()
	n := map[string]int{}
	for _, m := range all {
		n[m.Status]++
		for what, is := range map[string]bool{
			"executed": m.MessageExecuted, "failed": m.MessageExecutionFailed, "retried": m.MessageExecuted && m.MessageExecutionFailed,
			"receipt": m.ReceiptDelivered, "raised": m.RewardDetails.Value == "12",
		} {
			if is {
				n[what]++
			}
		}
	}
	if got, want := fmt.Sprint(n), "map[delivered:8 executed:6 failed:2 pending:1 raised:1 receipt:5 retried:1]"; got != want {
		w.t.Errorf("the chains' logs have %s, not %s", got, want)
	}
}

// checkTransactions checks what is said of messages with their transactions, and that
// each that was sent can be had signed.
func (w *icmWorld) checkTransactions(all map[string]*icmTruth) {
	w.t.Helper()
	numbers := map[string]string{w.c.id.String(): w.c.number, w.l.id.String(): w.l.number}
	type info struct{ TeleporterMessageID, Direction, SourceChainID, DestinationChainID string }
	for id, m := range all {
		from, to := numbers[m.SourceBlockchainID], numbers[m.DestinationBlockchainID]
		for _, at := range []struct {
			chain, tx string
			want      info
		}{
			{from, m.SourceTransaction.TxHash, info{id, "SOURCE_TRANSACTION", "", to}},
			{to, m.DestinationTransaction.TxHash, info{id, "DESTINATION_TRANSACTION", from, ""}},
		} {
			if at.tx == "" {
				continue
			}
			var tx struct{ TeleporterMessageInfo info }
			if w.get("/v1/chains/"+at.chain+"/transactions/"+at.tx, http.StatusOK, &tx); tx.TeleporterMessageInfo != at.want {
				w.t.Errorf("transaction %s: %+v, not %+v", at.tx, tx.TeleporterMessageInfo, at.want)
			}
		}
		var message struct {
			Signature struct {
				WarpMessageID, SignedMessagePath string
				Signed                           bool
			}
		}
		w.get("/v1/icm/messages/"+id, http.StatusOK, &message)
		var answer struct{ SignedMessage string }
		w.get(message.Signature.SignedMessagePath, http.StatusCreated, &answer)
		raw, err := hex.DecodeString(strings.TrimPrefix(answer.SignedMessage, "0x"))
		if err != nil {
			w.t.Fatal(err)
		}
		signed, err := warp.ParseMessage(raw)
		if err != nil {
			w.t.Fatalf("message %s: %v", id, err)
		}
		if signed.UnsignedMessage.ID().String() != message.Signature.WarpMessageID || m.Status != "pending" && !message.Signature.Signed {
			w.t.Errorf("message %s: %+v, signed is %s", id, message.Signature, signed.UnsignedMessage.ID())
		}
	}
}

// checkWindows: all messages are of the last hour.
func (w *icmWorld) checkWindows(messages int) {
	w.t.Helper()
	var answer struct {
		Result struct{ LastHour, LastDay, LastYear, AllTime json.Number }
	}
	w.get("/v2/icm/summary?network=fuji", http.StatusOK, &answer)
	for _, n := range []json.Number{answer.Result.LastHour, answer.Result.LastDay, answer.Result.LastYear, answer.Result.AllTime} {
		if n.String() != fmt.Sprint(messages) {
			w.t.Errorf("%+v, not %d messages in each", answer.Result, messages)
			return
		}
	}
}

func (w *icmWorld) get(path string, status int, to any) {
	w.t.Helper()
	a, err := w.s.client.Get(w.ctx, path)
	if err == nil && a.Status != status {
		err = fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	if err == nil {
		err = json.Unmarshal(a.Body, to)
	}
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
}

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

// retryExecution calls retryMessageExecution(bytes32,tuple): the tuple begins behind
// the two words of the head.
func retryExecution(source ids.ID, m icmSent) []byte {
	data := append(selector("retryMessageExecution(bytes32,"+icmTuple+")"), source[:]...)
	data = append(data, common.BigToHash(big.NewInt(64)).Bytes()...)
	return append(data, m.encoded[32:]...)
}

// must has a chain accept a transaction of the rich account, which must succeed.
func (w *icmWorld) must(c *icmChain, tx contracts.Tx) *types.Receipt {
	w.t.Helper()
	tx.From, tx.Gas, tx.Type = c.s.Rich, icmGas, types.DynamicFeeTxType
	receipts, err := c.s.Send(w.ctx, tx)
	if err != nil {
		w.t.Fatal(err)
	}
	if receipts[0].Status != types.ReceiptStatusSuccessful {
		w.t.Fatalf("transaction %s of chain %s has failed, with %d units of gas", receipts[0].TxHash, c.number, receipts[0].GasUsed)
	}
	return receipts[0]
}

// call calls a function of a contract.
func (w *icmWorld) call(c *icmChain, to common.Address, function string, kinds []string, values ...any) {
	w.t.Helper()
	data, err := contracts.Input(function, kinds, values...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(c, contracts.Tx{To: &to, Data: data})
}

// send sends a message.
func (w *icmWorld) send(from, to *icmChain, address common.Address, fee int64) icmSent {
	w.t.Helper()
	data, err := w.calls.Pack("sendCrossChainMessage", icmInput{
		DestinationBlockchainID: to.id, DestinationAddress: address, FeeInfo: icmFeeInfo{from.coin, big.NewInt(fee)},
		RequiredGasLimit: big.NewInt(200_000), Message: fmt.Appendf(nil, "for %s at %v", address, time.Now()),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.sentBy(from, w.must(from, contracts.Tx{To: &icmMessenger, Data: data}))
}

// sentBy returns the message that a transaction has sent.
func (w *icmWorld) sentBy(c *icmChain, r *types.Receipt) (m icmSent) {
	w.t.Helper()
	for _, l := range r.Logs {
		switch l.Address {
		case icmMessenger:
			m.id = l.Topics[1]
		case warpPrecompile:
			kind, err := abi.NewType("bytes", "", nil)
			if err != nil {
				w.t.Fatal(err)
			}
			values, err := abi.Arguments{{Type: kind}}.Unpack(l.Data)
			if err != nil {
				w.t.Fatal(err)
			}
			m.unsigned, _ = values[0].([]byte)
			m.encoded = m.payload(w.t)
		}
	}
	if m.id == (common.Hash{}) || m.unsigned == nil {
		w.t.Fatalf("transaction %s of chain %s has sent no message", r.TxHash, c.number)
	}
	return m
}

// deliver has the server sign a message, and a chain take it through the precompile.
func (w *icmWorld) deliver(to *icmChain, m icmSent) {
	w.t.Helper()
	signed := signedBy(w.t, w.s, m.unsigned, w.l1.Subnet, 0, nil)
	data, err := contracts.Input("receiveCrossChainMessage", []string{"uint32", "address"}, uint32(0), to.s.Rich.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(to, contracts.Tx{To: &icmMessenger, Data: data, Access: types.AccessList{{Address: warpPrecompile, StorageKeys: predicate.New(signed)}}})
}
