package view

import (
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/icm"
	"quorate/engine/index"
)

// ICM is what a message's answer has besides the message.
type ICM struct {
	// Teleporter answers in the form of the calls that were there first, in which one
	// member has another name.
	Teleporter bool
	// Source and Destination are the message's chains, nil for those that are not
	// followed.
	Source, Destination *ChainInfo
	// Signed says whether this server has the message signed.
	Signed bool
}

// ICMMessage writes an interchain message. The source is that of the message's source
// chain, if that is followed.
func (w *Writer) ICMMessage(m *icm.Message, more *ICM) {
	w.Comma()
	w.B = append(w.B, '{')
	w.hash("messageId", &m.ID)
	if more.Teleporter {
		w.address("teleporterContractAddress", &m.Messenger)
	} else {
		w.address("icmContractAddress", &m.Messenger)
	}
	w.id("sourceBlockchainId", &m.Source)
	w.id("destinationBlockchainId", &m.Destination)
	w.text("sourceEvmChainId", more.Source.number())
	w.text("destinationEvmChainId", more.Destination.number())
	w.amount("messageNonce", &m.Content.Nonce)
	w.address("from", &m.Content.From)
	w.address("to", &m.Content.To)
	w.Member("data")
	w.B = append(AppendHex(append(w.B, '"'), m.Content.Data), '"')
	w.amount("requiredGasLimit", &m.Content.GasLimit)
	w.icmRelayers(m.Content.Relayers)
	w.boolean("messageExecuted", m.Executed != nil)
	w.boolean("messageExecutionFailed", m.Failed != nil)
	w.Member("receipts")
	w.B = append(w.B, '[')
	for i := range m.Content.Receipts {
		w.Comma()
		w.B = append(w.B, '{')
		w.amount("receivedMessageNonce", &m.Content.Receipts[i].Nonce)
		w.address("relayerRewardAddress", &m.Content.Receipts[i].Relayer)
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
	w.boolean("receiptDelivered", m.Acknowledged != nil)
	w.icmReward(m)
	w.icmTxs(m)
	w.icmSignature(m, more)
	w.text("status", icmStatus(m))
	w.B = append(w.B, '}')
}

// number returns the EVM chain number of a chain, "" for one that is not followed.
func (c *ChainInfo) number() string {
	if c == nil {
		return ""
	}
	return c.ChainID
}

// icmStatus returns how far a message has come, in the words of the SDKs, which decide
// by them what other members there are.
func icmStatus(m *icm.Message) string {
	switch {
	case m.Received == nil:
		return "pending"
	case m.Sent == nil:
		return "delivered_source_not_indexed"
	}
	return "delivered"
}

func (w *Writer) icmRelayers(list []evm.Address) {
	w.Member("allowedRelayerAddresses")
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.B = append(checksums.append(append(w.B, '"'), &list[i]), '"')
	}
	w.B = append(w.B, ']')
}

// icmReward writes what the delivery pays. The SDKs demand all of it; where the source
// chain is not followed, or nothing is paid, it is an amount of 0.
func (w *Writer) icmReward(m *icm.Message) {
	w.Member("rewardDetails")
	w.B = append(w.B, '{')
	var meta index.TokenMeta
	if m.Sent != nil && !m.Fee.Token.IsZero() {
		meta, _ = w.Source.Token(&m.Fee.Token)
	}
	w.address("address", &m.Fee.Token)
	w.text("name", meta.Name)
	w.text("symbol", meta.Symbol)
	w.integer("decimals", int64(meta.Decimals))
	w.text("ercType", "ERC-20")
	w.amount("value", &m.Fee.Amount)
	w.B = append(w.B, '}')
}

func (w *Writer) icmTxs(m *icm.Message) {
	if m.Sent != nil {
		w.icmTx("sourceTransaction", m.Sent)
		w.B = append(w.B, '}')
	}
	if m.Received != nil {
		w.icmTx("destinationTransaction", m.Received)
		w.address("rewardRedeemer", &m.Received.Relayer)
		w.address("delivererAddress", &m.Received.Deliverer)
		w.B = append(w.B, '}')
	}
	if m.Executed != nil && m.Failed != nil {
		w.icmTx("retryTransaction", m.Executed)
		w.B = append(w.B, '}')
	}
	if m.Acknowledged != nil {
		w.icmTx("receiptTransaction", m.Acknowledged)
		w.B = append(w.B, '}')
	}
}

// icmTx writes the transaction of an event but for its closing brace.
func (w *Writer) icmTx(name string, e *index.ICMEvent) {
	w.Member(name)
	w.B = append(w.B, '{')
	w.hash("txHash", &e.TxHash)
	w.Member("timestamp")
	w.B = AppendUint(w.B, e.TimeMilli/1000)
	w.amount("gasSpent", &e.GasSpent)
}

// icmSignature writes which warp message carries the message, and whether it is signed.
func (w *Writer) icmSignature(m *icm.Message, more *ICM) {
	if m.Sent == nil || m.Sent.Carrier.IsZero() {
		return
	}
	network := "fuji"
	if more.Source != nil && !more.Source.IsTestnet {
		network = "mainnet"
	}
	w.Member("signature")
	w.B = append(w.B, '{')
	w.id("warpMessageId", &m.Sent.Carrier)
	w.boolean("signed", more.Signed)
	w.text("signedMessagePath", "/v1/signatureAggregator/"+network+"/aggregateSignatures/"+m.Sent.TxHash.String())
	w.B = append(w.B, '}')
}

// ICMInfo is what a transaction's answer says of its interchain message.
type ICMInfo struct {
	ID   evm.Hash
	Sent bool // else received
	// Peer is the message's other chain; PeerInfo is nil if it is not followed.
	Peer     chain.ID
	PeerInfo *ChainInfo
}

// icmInfo writes it as the member of a transaction.
func (w *Writer) icmInfo(i *ICMInfo) {
	w.Member("teleporterMessageInfo")
	w.B = append(w.B, '{')
	w.hash("teleporterMessageId", &i.ID)
	peer := i.PeerInfo.number()
	if peer == "" {
		peer = i.Peer.String()
	}
	if i.Sent {
		w.text("direction", "SOURCE_TRANSACTION")
		w.text("destinationChainId", peer)
	} else {
		w.text("direction", "DESTINATION_TRANSACTION")
		w.text("sourceChainId", peer)
	}
	w.B = append(w.B, '}')
}
