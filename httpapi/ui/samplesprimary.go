package ui

import (
	"encoding/hex"
	"strconv"
	"strings"

	"quorate/httpapi/shape"
)

// of returns a value for a parameter of an operation.
func (s *samples) of(name string, op *apiOperation) (value, known string) {
	v := s.find(name, op)
	return v.value, v.known
}

func (s *samples) find(name string, op *apiOperation) sample {
	onPrimary := strings.HasPrefix(op.Path, "/v1/networks/")
	switch name {
	case "network":
		return s.network()
	case "chainId":
		return s.chain()
	case "chain":
		return s.once("platformChain", func() sample {
			c, reason := s.firstChain()
			return sample{string(c.PlatformChainID), reason}.from("the first chain")
		})
	case "address":
		return s.evmAddress(op.Path)
	case "addresses":
		return s.primaryAddress()
	case "txHash":
		switch {
		case onPrimary:
			return s.onPrimary("transactions", "p-chain", "transactions", "txHash", "the latest transaction of the P-Chain")
		case op.group.Name == "signatures":
			return s.warpTx()
		}
		return s.txHash()
	case "blockId":
		if onPrimary {
			return s.onPrimary("blocks", "p-chain", "blocks", "blockNumber", "the latest block of the P-Chain")
		}
		return s.block()
	case "tokenId":
		return s.tokenID()
	case "threshold":
		return s.tokenAmount()
	case "messageId":
		return s.message()
	case "topics":
		return sample{firstChoice(op, name), "the first topic"}
	}
	return s.findPrimary(name, op)
}

// firstChoice returns the first value that a list can have.
func firstChoice(op *apiOperation, name string) string {
	for _, p := range op.Parameters {
		if p.Name == name && p.Schema != nil && p.Schema.Items != nil && len(p.Schema.Items.Enum) > 0 {
			return p.Schema.Items.Enum[0]
		}
	}
	return ""
}

// findPrimary returns values of parameters that only the primary network has.
func (s *samples) findPrimary(name string, op *apiOperation) sample {
	switch name {
	case "blockchainId":
		if strings.Contains(op.Path, "/vertices") || strings.Contains(op.Path, "/assets/") || strings.HasSuffix(op.Path, "/{blockchainId}") {
			return sample{"x-chain", "the X-Chain"}
		}
		return sample{"p-chain", "the P-Chain"}
	case "nodeId", "nodeIds":
		return s.onNetwork("validators?validationStatus=active&pageSize=1", "validators", "nodeId", "an active validator")
	case "subnetId":
		if strings.HasPrefix(op.Path, "/v2/subnet/") {
			return s.onNetwork("l1Validators?pageSize=1", "validators", "subnetId", "the subnet of a validator of an L1")
		}
		if strings.HasPrefix(op.Path, "/v2/subnets/") {
			return s.onNetwork("validators?pageSize=1", "validators", "subnetId", "the subnet of a validator")
		}
		return s.onNetwork("subnets?pageSize=1", "subnets", "subnetId", "the newest subnet")
	case "l1ValidationId":
		return s.onNetwork("l1Validators?pageSize=1", "validators", "validationId", "a validator of an L1")
	case "vertexHash":
		return s.onPrimary("vertices", "x-chain", "vertices", "vertexHash", "the latest vertex")
	case "vertexHeight":
		return s.onPrimary("vertices", "x-chain", "vertices", "vertexHeight", "the height of the latest vertex")
	case "assetId":
		return s.asset()
	}
	return sample{"", "none can be known: clients make it"}
}

// onNetwork returns a member of the first row of a list of the primary network.
func (s *samples) onNetwork(path, list, member, source string) sample {
	return s.once("primary "+path+" "+member, func() sample {
		n := s.network()
		if n.value == "" {
			return n
		}
		row, reason := first[map[string]any](s, join("/v1/networks", n.value)+"/"+path, list)
		v := sample{known: reason}
		switch x := row[member].(type) {
		case string:
			v.value = x
		case float64: // heights
			v.value = strconv.FormatFloat(x, 'f', 0, 64)
		}
		return v.from(source)
	})
}

// onPrimary does the same for a chain of the primary network.
func (s *samples) onPrimary(path, chain, list, member, source string) sample {
	return s.onNetwork("blockchains/"+chain+"/"+path+"?pageSize=1", list, member, source)
}

// primaryAddress returns an address that got something on the P-Chain.
func (s *samples) primaryAddress() sample {
	return s.once("primaryAddress", func() sample {
		n := s.network()
		if n.value == "" {
			return n
		}
		txs, reason := list[shape.PrimaryTransaction](s, join("/v1/networks", n.value)+"/blockchains/p-chain/transactions?pageSize=10", "transactions")
		for _, tx := range txs {
			for _, out := range tx.EmittedUTXOs {
				if len(out.Addresses) > 0 {
					return sample{out.Addresses[0], "an address of a recent transaction"}
				}
			}
		}
		return sample{"", reason}
	})
}

// asset returns an asset that moved on the X-Chain.
func (s *samples) asset() sample {
	return s.once("asset", func() sample {
		n := s.network()
		if n.value == "" {
			return n
		}
		txs, reason := list[shape.PrimaryTransaction](s, join("/v1/networks", n.value)+"/blockchains/x-chain/transactions?pageSize=10", "transactions")
		for _, tx := range txs {
			for _, out := range tx.EmittedUTXOs {
				if out.Asset.AssetID != "" {
					return sample{string(out.Asset.AssetID), "an asset of a recent transaction"}
				}
			}
		}
		return sample{"", reason}
	})
}

// message returns the ID of an interchain message.
func (s *samples) message() sample {
	return s.once("message", func() sample {
		m, reason := first[shape.ICMMessage](s, "/v1/icm/messages?pageSize=1", "messages")
		return sample{string(m.MessageID), reason}.from("the latest message")
	})
}

// warpContract is the precompiled contract that sends warp messages, the same on all chains.
const warpContract = "0x0200000000000000000000000000000000000005"

// warpTx returns a transaction that sent a warp message: it called the contract for it.
func (s *samples) warpTx() sample {
	return s.once("warpTx", func() sample {
		path, reason := s.onChain("/addresses/" + warpContract + "/transactions:listInternals?pageSize=1")
		if reason != "" {
			return sample{"", reason}
		}
		tx, reason := first[shape.InBlock](s, path, "transactions")
		return sample{string(tx.TxHash), reason}.from("the latest transaction that called the contract of warp messages")
	})
}

// warpMessage returns the unsigned message of that transaction: a signed message starts
// with the unsigned one, which has its own length.
func (s *samples) warpMessage() sample {
	return s.once("warpMessage", func() sample {
		tx, n := s.warpTx(), s.network()
		if tx.value == "" || n.value == "" {
			return tx
		}
		var answer shape.SignedMessage
		if err := s.r.Get(join("/v1/signatureAggregator", n.value, "aggregateSignatures", tx.value), &answer); err != nil {
			return sample{"", reasonOf(err)}
		}
		return sample{value: unsignedPart(answer.SignedMessage)}.from("the message of the transaction " + tx.value)
	})
}

// unsignedPart returns the unsigned message that a signed one in hex starts with, empty
// if it is none: two bytes of version, four of the network, 32 of the source chain, and the
// payload behind its length.
func unsignedPart(signed string) string {
	const head = 2 + 4 + 32 + 4
	b, err := hex.DecodeString(strings.TrimPrefix(signed, "0x"))
	if err != nil || len(b) < head {
		return ""
	}
	size := int64(b[head-4])<<24 | int64(b[head-3])<<16 | int64(b[head-2])<<8 | int64(b[head-1])
	if int64(len(b)) < head+size {
		return ""
	}
	return hex.EncodeToString(b[:head+size])
}

// body returns the body of an operation's request with real values, nil if none is known
// for it, and where they came from.
func (s *samples) body(op *apiOperation) (value any, note string) {
	switch {
	case op.group.Name == "signatures":
		m := s.warpMessage()
		if m.value == "" {
			return nil, m.known
		}
		if strings.HasPrefix(op.Path, "/v1/") {
			return map[string]any{"message": m.value, "quorumPercentage": 67}, m.known
		}
		return map[string]any{"message": m.value, "quorum-percentage": 67}, m.known
	case strings.HasPrefix(op.Path, "/v1/networks/"):
		a := s.primaryAddress()
		return map[string]any{"addresses": a.value}, a.known
	case strings.HasPrefix(op.Path, "/v1/operations/"):
		a, c := s.account(), s.chain()
		if a.value == "" || c.value == "" {
			return nil, a.known
		}
		return map[string]any{"type": "TRANSACTION_EXPORT_EVM", "options": map[string]any{
			"addresses": []string{a.value}, "includeChains": []string{c.value},
		}}, a.known
	case op.Method == "POST" && op.Path == "/v1/webhooks":
		a, c := s.account(), s.chain()
		if a.value == "" || c.value == "" {
			return nil, a.known
		}
		return map[string]any{
			"eventType": "address_activity", "chainId": c.value, "url": "", "metadata": map[string]any{"addresses": []string{a.value}},
		}, a.known + "; the url is that of your own server"
	case op.Nested() && strings.HasPrefix(op.Path, "/ext/bc/"):
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []any{}}, "the number of the last block"
	case op.Path == "/ext/P":
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "platform.getHeight", "params": map[string]any{}}, "the height of the P-Chain"
	case op.Path == "/ext/info":
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "info.getNetworkID", "params": map[string]any{}}, "the ID of the network"
	}
	return nil, ""
}
