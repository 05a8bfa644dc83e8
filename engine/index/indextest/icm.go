package indextest

import (
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

// Self is the ID of the chain that interchain messages are sent from and come to, Peers
// those of the others.
var (
	Self  = chain.ID{1}
	Peers = []chain.ID{{2}, {3}, {4}}
)

// icm adds the logs of an interchain message to some transactions: what a messenger
// logs, and what only looks like it. It follows from the transaction's hash, so that
// all else is as it would be without.
func (c *Chain) icm(tx *evm.Tx) {
	if tx.Failed || tx.Hash[0] >= 48 {
		return
	}
	peer := Peers[int(tx.Hash[2])%len(Peers)]
	old := 1 + uint64(tx.Hash[3])%(c.sent+1) // one that was sent, or will be
	fee := icm.Fee{Token: Coins[0], Amount: *uint256.NewInt(uint64(tx.Hash[4]))}
	switch tx.Hash[1] % 9 {
	case 0, 1, 2:
		c.sent++
		c.send(tx, peer, c.sent, fee)
	case 3: // once more, perhaps in another way than before
		c.send(tx, peer, old, fee)
	case 4:
		c.logs(tx, &icm.Event{Kind: icm.FeeAdded, ID: outgoing(peer, old), Fee: fee})
	case 5:
		c.logs(tx, &icm.Event{Kind: icm.ReceiptReceived, ID: outgoing(peer, old), Peer: peer, Relayer: tx.From, Fee: fee})
	case 6, 7:
		c.came++
		c.receive(tx, peer, c.came)
	default: // another chain's message, and none of a messenger
		m := c.message(tx, peer, old)
		c.logs(tx, &icm.Event{Kind: icm.Sent, ID: outgoing(Peers[0], old+1), Peer: peer, Message: m})
		log := (&icm.Event{Kind: icm.Sent, ID: outgoing(peer, old), Peer: peer, Message: m, Messenger: Odd}).Log()
		c.logged(tx, &log)
	}
}

func outgoing(peer chain.ID, nonce uint64) evm.Hash {
	return icm.MessageID(&icm.Messengers[0], &Self, &peer, uint256.NewInt(nonce))
}

func (c *Chain) message(tx *evm.Tx, to chain.ID, nonce uint64) *icm.Message {
	m := &icm.Message{
		Nonce: *uint256.NewInt(nonce), From: c.accounts[int(tx.Hash[5])%len(c.accounts)], Destination: to,
		To: c.accounts[int(tx.Hash[6])%3], GasLimit: *uint256.NewInt(100_000), Data: fmt.Appendf(nil, "%x", tx.Hash[:8]),
	}
	if nonce%2 == 0 {
		m.Relayers = []evm.Address{tx.From}
		m.Receipts = []icm.Receipt{{Nonce: *uint256.NewInt(nonce / 2), Relayer: tx.From}}
	}
	return m
}

func (c *Chain) send(tx *evm.Tx, to chain.ID, nonce uint64, fee icm.Fee) {
	m := c.message(tx, to, nonce)
	c.logs(tx, &icm.Event{Kind: icm.Sent, ID: outgoing(to, nonce), Peer: to, Fee: fee, Message: m})
	if tx.Hash[7]%8 == 0 {
		return // a messenger that forgets to
	}
	call := warp.AddressedCall{SourceAddress: icm.Messengers[0][:], Payload: m.Append(nil)}
	u, err := warp.New(1, Self, call.Append(nil))
	if err != nil { // the length is bounded and small
		panic(err)
	}
	topics := []evm.Hash{evm.Keccak([]byte("SendWarpMessage(address,bytes32,bytes)")), {}, evm.Hash(u.ID())}
	log := evm.Log{Address: evm.Address{0: 0x02, 19: 0x05}, Topics: topics, Data: wrapABI(u.Bytes())}
	c.logged(tx, &log)
}

func wrapABI(b []byte) []byte {
	out := make([]byte, 64, 96+len(b))
	out[31], out[62], out[63] = 32, byte(len(b)>>8), byte(len(b))
	out = append(out, b...)
	return append(out, make([]byte, (32-len(b)%32)%32)...)
}

func (c *Chain) receive(tx *evm.Tx, from chain.ID, nonce uint64) {
	m := c.message(tx, Self, nonce)
	id := icm.MessageID(&icm.Messengers[0], &from, &Self, &m.Nonce)
	c.logs(tx, &icm.Event{Kind: icm.Received, ID: id, Peer: from, Deliverer: tx.From, Relayer: c.accounts[0], Message: m})
	k := icm.Executed
	if tx.Hash[7]%3 == 0 {
		k = icm.Failed
	}
	c.logs(tx, &icm.Event{Kind: k, ID: id, Peer: from, Message: m})
}

func (c *Chain) logs(tx *evm.Tx, e *icm.Event) {
	e.Messenger = icm.Messengers[0]
	log := e.Log()
	c.logged(tx, &log)
}

func (c *Chain) logged(tx *evm.Tx, log *evm.Log) {
	log.Index = c.log
	c.log++
	tx.Logs = append(tx.Logs, *log)
}
