package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

const primarySubnet = "11111111111111111111111111111111LpoYY"

var errNotFound = &rpcError{codeServer, "not found"}

// number reads a parameter that is a number or a string of one.
func number(v any) (int, bool) {
	if f, ok := v.(float64); ok {
		return int(f), f >= 0
	}
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil && n >= 0
}

// answer returns what the chain itself answers at a time; nil without an error means that
// it does not.
func (c *Chain) answer(name string, a map[string]any, now int64) (any, error) {
	tip := c.at(now)
	switch name {
	case "getHeight", "getProposedHeight":
		return map[string]string{"height": strconv.Itoa(tip)}, nil
	case "getBlockByHeight", "getBlock":
		i, ok := number(a["height"])
		if id := a["blockID"]; id != nil {
			i = slices.IndexFunc(c.Blocks, func(b *ChainBlock) bool { return b.ID == id })
			ok = i >= 0
		}
		if !ok || i > tip {
			return nil, errNotFound
		}
		return encoded("block", a, c.Blocks[i].Block, c.Blocks[i].JSON), nil
	}
	id, _ := a["txID"].(string)
	t := c.Txs[id]
	if t == nil || t.Height > tip {
		return nil, nil
	}
	switch {
	case name == "getTx":
		return encoded("tx", a, t.Tx, t.JSON), nil
	case name == "getTxStatus":
		return t.Status, nil
	case name == "getRewardUTXOs" && t.rewarded > tip:
		return map[string]any{"numFetched": "0", "utxos": []string{}, "encoding": "hex"}, nil
	case name == "getRewardUTXOs" && t.RewardUTXOs != nil:
		return t.RewardUTXOs, nil
	}
	return nil, nil
}

func encoded(what string, a map[string]any, hex, object json.RawMessage) any {
	if a["encoding"] == "json" {
		return map[string]any{what: object, "encoding": "json"}
	}
	return map[string]any{what: hex, "encoding": "hex"}
}

func (n *Node) platform(name string, a map[string]any, now int64) (any, error) {
	c := &n.w.P
	if name != "getValidatorsAt" && name != "getAllValidatorsAt" {
		return c.answer(name, a, now)
	}
	tip := c.at(now)
	h, ok := number(a["height"])
	if a["height"] == "proposed" {
		h, ok = tip, true
	}
	if !ok || h > tip {
		return nil, &rpcError{codeServer, "unfinalized height"}
	}
	if name == "getAllValidatorsAt" {
		return c.Blocks[h].AllValidatorsAt, nil
	}
	subnet, _ := a["subnetID"].(string)
	if subnet == "" {
		subnet = primarySubnet
	}
	if v := c.Blocks[h].ValidatorsAt[subnet]; len(v) > 0 && string(v) != "null" {
		return v, nil
	}
	return json.RawMessage(`{"validators":{}}`), nil
}

// containers returns what the index API of a chain has, block 1 first.
func (n *Node) containers(path string) (list []json.RawMessage) {
	c := &n.w.P
	switch path {
	case "/ext/index/C/block":
		for _, b := range n.w.Blocks[1 : n.height()+1] {
			list = append(list, b.Container)
		}
		return list
	case "/ext/index/X/block":
		c = &n.w.X
	}
	for _, b := range c.Blocks[1 : c.at(n.clock())+1] {
		list = append(list, b.Container)
	}
	return list
}

func (n *Node) index(path, name string, a map[string]any) (any, error) {
	list := n.containers(path)
	i, ok := number(a["index"])
	from, ok2 := number(a["startIndex"])
	count, ok3 := number(a["numToFetch"])
	switch name {
	case "getLastAccepted":
		if len(list) == 0 {
			return nil, &rpcError{codeServer, "no containers have been accepted"}
		}
		return list[len(list)-1], nil
	case "getContainerByIndex":
		if !ok || i >= len(list) {
			return nil, &rpcError{codeServer, "no containers at index"}
		}
		return list[i], nil
	case "getContainerRange":
		if !ok2 || !ok3 || from >= len(list) {
			return nil, &rpcError{codeServer, fmt.Sprintf("start index (%v) > last accepted index (%d)", a["startIndex"], len(list)-1)}
		}
		return map[string]any{"containers": list[from:min(len(list), from+count)]}, nil
	}
	for i, c := range list {
		var m struct{ ID string }
		if !decode(c, &m) || m.ID != a["id"] {
			continue
		}
		if name == "getIndex" {
			return map[string]string{"index": strconv.Itoa(i)}, nil
		}
		return c, nil
	}
	return nil, errNotFound
}
