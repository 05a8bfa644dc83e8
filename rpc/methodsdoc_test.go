package rpc

import (
	"fmt"
	"strings"
)

// methodsDoc returns METHODS.md: what can be called.
func methodsDoc() string {
	var b strings.Builder
	b.WriteString("# Node RPC methods\n\nJSON-RPC 2.0, sent with POST and content type `application/json`.\n")
	service := ""
	for _, m := range table() {
		if m.service != service {
			service = m.service
			fmt.Fprintf(&b, "\n## /ext/%s\n\n| method | params | result | does |\n|---|---|---|---|\n", service)
		}
		fmt.Fprintf(&b, "| `%s.%s` | %s | `%s` | %s |\n", m.service, m.name, m.paramsText(), m.result, m.doc)
	}
	writeChainDocs(&b)
	return b.String()
}

func (m *method) paramsText() string {
	if len(m.params) == 0 {
		return "none"
	}
	texts := make([]string, len(m.params))
	for i, p := range m.params {
		texts[i] = fmt.Sprintf("`%s`: %s", p.name, p.kind)
		if p.optional {
			texts[i] += ", optional"
		}
	}
	return strings.Join(texts, "; ")
}

// writeChainDocs writes what is passed on, in Markdown.
func writeChainDocs(b *strings.Builder) {
	b.WriteString("\n## /ext/bc/{chain} and /ext/info\n\n" +
		"Calls are passed to a followed node that runs the chain, which is named by blockchain ID or any alias; those of `/ext/info` to any followed node.\n\n| path | has |\n|---|---|\n")
	for _, d := range doors {
		path := "/ext/bc/{chain}"
		if d.path != "" {
			path += "/" + d.path
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", path, d.doc)
	}
	b.WriteString("| `/ext/info` | a node's network, versions and peers: `info` methods |\n")
	fmt.Fprintf(b, "\n`--chain-rpc=safe`, the default, passes on the methods named here, each for its price in compute units; "+
		"a batch costs the sum of its members. `--chain-rpc=all` passes on everything, at any path of one segment, with %d units for what is not named; "+
		"`--chain-rpc=off` serves none of it.\n\n| methods | %d units | %d units | %d units | %d units | refused |\n|---|---|---|---|---|---|\n",
		unitsUnknown, unitsCheap, unitsOrdinary, unitsHeavy, unitsDear)
	for _, f := range families {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", f.prefix, list(f.cheap), list(f.ordinary), list(f.heavy), list(f.costs), f.refused)
	}
	b.WriteString("\nA chain that executes blocks after it accepted them, as the C-Chain does from Helicon on, does not have these, and they are refused there:")
	sep := " "
	for _, f := range families {
		for _, name := range f.sync {
			fmt.Fprintf(b, "%s`%s%s`", sep, f.prefix, name)
			sep = ", "
		}
	}
	b.WriteString(". `/v1/signatureAggregator` has any warp message signed. Of the others a node has those that its release and its configuration offer.\n")
	fmt.Fprintf(b, "\n`%s` costs one unit more for each %d blocks of its range, and is refused with code %d in mode safe beyond %d blocks.\n", methodLogs, blocksPerUnit, codeServer, maxLogBlocks)
	b.WriteString("\nOf blocks that are named by number or hash, and are archived here, `eth_getBlockByHash`, `eth_getBlockByNumber`, `eth_getLogs`, `eth_getTransactionByHash`, `eth_getTransactionByBlockHashAndIndex`, " +
		"`eth_getTransactionByBlockNumberAndIndex`, `eth_getTransactionReceipt`, `eth_getBlockReceipts`, `eth_getBlockTransactionCountByHash` and " +
		"`eth_getBlockTransactionCountByNumber` are answered from the archive at `.../rpc`, as nodes answer them, also while no node does. " +
		"Logs are 10,000 at most, and found within 10 s. What is named by a word such as `latest` is a node's to answer.\n")
	fmt.Fprintf(b, "\nRefused altogether: %s.\n\n", refusedFamilies)
	fmt.Fprintf(b, "A refused call, also one in a batch, is answered with code %d on EVM paths and %d on others; the rest of its batch is passed on. "+
		"Members of a call are passed on as they were read: others than `jsonrpc`, `id`, `method` and `params` are dropped, and a member given twice is refused.\n\n",
		codeNoMethod, codeServer)
	fmt.Fprintf(b, "A WebSocket takes text messages of at most %d KiB, and at most %d subscriptions at a time, which are `%s` in mode safe and do not come in batches. "+
		"A message costs what its calls do, and a unit for each %d KiB; a frame that controls the connection, such as a ping, costs one: "+
		"a client that its rate does not allow that is closed with code 1008, which says when to come back. "+
		"A client that takes no message for %s, or answers no ping, is cut off. When the server stops it closes with code 1001, when the node goes away, and %s before nodes replace the chain's software, as with Helicon on the C-Chain, with 1012; until then none is opened.\n",
		maxFrame>>10, maxSubscriptions, strings.Join(subscriptions, "`, `"), bytesPerUnit>>10, socketWriteTimeout, swapLead)
}

func list(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
