package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const evmPath = "/ext/bc/C/rpc"

// at returns the height that is named by a tag, a number or a hash; ok is false beyond the tip.
func (n *Node) at(v json.RawMessage) (h int, ok bool) {
	tip := n.height()
	var o struct{ BlockNumber, BlockHash string }
	s := Text(v)
	if s == "" && decode(v, &o) {
		s = o.BlockNumber + o.BlockHash
	}
	switch s {
	case "latest", "pending", "":
		return tip, true
	case "safe", "finalized":
		if h := n.w.Blocks[tip].Settled; h >= 0 {
			return h, true
		}
		return tip, true
	case "earliest":
		return 0, true
	}
	if len(s) == 66 {
		h, ok = n.w.hashes[s]
		return h, ok && h <= tip
	}
	x, err := strconv.ParseInt(strings.TrimPrefix(s, "0x"), 16, 32)
	return int(x), err == nil && int(x) <= tip
}

// evm answers for the C-Chain.
func (n *Node) evm(method string, params json.RawMessage) (any, error) {
	var p []json.RawMessage
	if len(params) > 0 && !decode(params, &p) {
		return nil, &rpcError{codeBadParams, "non-array args"}
	}
	p = append(p, nil, nil, nil)
	switch method {
	case "eth_blockNumber":
		return fmt.Sprintf("0x%x", n.height()), nil
	case "eth_getTransactionByHash", "eth_getTransactionReceipt":
		t, ok := n.w.txs[Text(p[0])]
		if !ok || t[0] > n.height() {
			return nil, nil
		}
		if method == "eth_getTransactionReceipt" {
			return n.receipts(t[0])[t[1]], nil
		}
		return n.w.Blocks[t[0]].Txs[t[1]], nil
	case "eth_getLogs":
		return n.logs(p[0])
	case "eth_getBalance", "eth_getTransactionCount":
		return n.account(method, params, p)
	case "eth_getProof":
		if h, ok := n.at(p[2]); ok && n.w.proofs[h][strings.ToLower(Text(p[0]))] != nil {
			return n.w.proofs[h][strings.ToLower(Text(p[0]))], nil
		}
		return nil, missing(method, params)
	case "eth_call", "eth_getCode":
		return n.contract(method, params, p)
	case "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash", "eth_getBlockReceipts",
		"debug_getRawHeader", "debug_traceBlockByNumber", "debug_traceBlockByHash":
		return n.block(method, params, p)
	}
	return n.recorded(evmPath, method, params)
}

// block answers what is about one block, which p[0] names.
func (n *Node) block(method string, params json.RawMessage, p []json.RawMessage) (any, error) {
	h, ok := n.at(p[0])
	if !ok && strings.HasPrefix(method, "debug") {
		return nil, &rpcError{codeServer, "block not found"}
	}
	if !ok {
		if n.w.Blocks[n.height()].Settled < 0 && strings.HasSuffix(method, "ByNumber") {
			return nil, &rpcError{codeServer, "cannot query unfinalized data"}
		}
		return nil, nil
	}
	b := n.w.Blocks[h]
	switch method {
	case "eth_getBlockReceipts":
		return n.receipts(h), nil
	case "debug_getRawHeader":
		return b.RawHeader, nil
	case "debug_traceBlockByNumber", "debug_traceBlockByHash":
		var c struct{ Tracer string }
		switch decode(p[1], &c); {
		case h == 0:
			return nil, &rpcError{codeServer, "genesis is not traceable"}
		case c.Tracer == "callTracer":
			return b.CallTracer, nil
		case c.Tracer == "prestateTracer":
			return b.PrestateTracer, nil
		}
		return nil, missing(method, params)
	}
	m := maps.Clone(b.Block)
	if strings.Contains(method, "Header") {
		for _, k := range []string{"transactions", "uncles", "size", "blockExtraData"} {
			delete(m, k)
		}
	} else if string(p[1]) != "true" {
		hashes := make([]json.RawMessage, len(b.Txs))
		for i, t := range b.Txs {
			hashes[i] = t["hash"]
		}
		m["transactions"] = encode(hashes)
	}
	return m, nil
}

func (n *Node) account(method string, params json.RawMessage, p []json.RawMessage) (any, error) {
	h, ok := n.at(p[1])
	c, known := n.w.At(Text(p[0]), h)
	switch {
	case !ok:
		return nil, &rpcError{codeServer, "block not found"}
	case !known:
		return nil, missing(method, params)
	case method == "eth_getBalance":
		return c.Balance, nil
	}
	return c.Nonce, nil
}

// contract answers as recorded, or if asked with another limit, or of another block, as at the end.
func (n *Node) contract(method string, params json.RawMessage, p []json.RawMessage) (any, error) {
	v, err := n.recorded(evmPath, method, params)
	if _, missing := err.(*rpcError); !missing {
		return v, err
	}
	if method == "eth_getCode" {
		p[0] = encode(strings.ToLower(Text(p[0])))
	} else {
		m := named(encode(p[:1]))
		data := m["data"]
		if data == nil {
			data = m["input"]
		}
		p[0] = encode(map[string]any{"to": strings.ToLower(fmt.Sprint(m["to"])), "data": data})
	}
	return n.recorded(evmPath, method, encode([]any{p[0], "latest"}))
}

func (n *Node) receipts(h int) []Members {
	if n.lying != nil && h == n.lie.Block {
		return n.lying
	}
	return n.w.Blocks[h].Receipts
}

func (n *Node) logs(filter json.RawMessage) (any, error) {
	var f struct {
		FromBlock, ToBlock, BlockHash, Address json.RawMessage
		Topics                                 []json.RawMessage
	}
	if !decode(filter, &f) {
		return nil, &rpcError{codeBadParams, "invalid filter"}
	}
	if f.BlockHash != nil {
		f.FromBlock, f.ToBlock = f.BlockHash, f.BlockHash
	}
	from, ok := n.at(f.FromBlock)
	to, ok2 := n.at(f.ToBlock)
	if !ok || !ok2 {
		return nil, &rpcError{codeServer, "block not found"}
	}
	out := []Members{}
	for h := from; h <= to; h++ {
		for _, r := range n.receipts(h) {
			for _, l := range Logs(r) {
				var topics []json.RawMessage
				fits := decode(l["topics"], &topics) && among(f.Address, Text(l["address"]))
				for i, t := range f.Topics {
					fits = fits && (string(t) == "null" || i < len(topics) && among(t, Text(topics[i])))
				}
				if fits {
					out = append(out, l)
				}
			}
		}
	}
	return out, nil
}

// among reports whether a filter, which is absent, a string or several, lets s pass.
func among(filter json.RawMessage, s string) bool {
	var list []string
	if one := Text(filter); one != "" {
		list = []string{one}
	} else if !decode(filter, &list) || len(list) == 0 {
		return true
	}
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

// Logs returns the logs of a receipt.
func Logs(receipt Members) (list []Members) {
	if !decode(receipt["logs"], &list) {
		return nil
	}
	return list
}

// falsify returns the receipts with a lie in the first that has room for it. Filters stay
// as they were: a false log lies in its data, which they do not cover.
func falsify(receipts []Members, member string) ([]Members, error) {
	out := slices.Clone(receipts)
	lied := false
	for i := range out {
		r := maps.Clone(out[i])
		out[i] = r
		switch {
		case member == "gasUsed":
			r["cumulativeGasUsed"] = more(r["cumulativeGasUsed"])
			if !lied {
				r["gasUsed"] = more(r["gasUsed"])
			}
			lied = true
		case member == "status" && !lied:
			r["status"] = encode(map[string]string{"0x0": "0x1", "0x1": "0x0"}[Text(r["status"])])
			lied = true
		case member == "log" && !lied:
			logs := Logs(r)
			for _, l := range logs {
				if d := []byte(Text(l["data"])); len(d) > 2 && !lied {
					d[len(d)-1] = "1000000000"[min(9, d[len(d)-1]-'0')]
					l["data"] = encode(string(d))
					lied = true
				}
			}
			r["logs"] = encode(logs)
		}
	}
	if !lied {
		return nil, fmt.Errorf("no receipt has room for a lie in %q", member)
	}
	return out, nil
}

func more(quantity json.RawMessage) json.RawMessage {
	return encode(fmt.Sprintf("0x%x", Quantity(quantity)+1))
}
