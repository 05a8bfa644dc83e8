package rpc

import (
	"fmt"
	"strings"
)

// Mode says which methods of a chain's RPC are passed on.
type Mode uint8

const (
	// Safe passes on what reads the chain and what sends a signed transaction.
	Safe Mode = iota
	// All passes on everything: debug and admin methods too, if the node has them.
	All
	// Off serves no chain RPC.
	Off
)

// ParseMode reads off, safe or all.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "safe":
		return Safe, nil
	case "all":
		return All, nil
	case "off":
		return Off, nil
	}
	return Safe, fmt.Errorf("%q is neither off, safe nor all", s)
}

// doors are the paths below a chain that nodes serve, the chain itself first: P
// and X answer there. Those of socketDoor are WebSockets.
var doors = []struct{ path, doc string }{
	{"", "the P-Chain's `platform` (also at `/ext/P`) and the X-Chain's `avm` methods"},
	{"rpc", "EVM chains: `eth`, `net`, `web3`, `txpool` and, on L1s, `warp` methods"},
	{socketDoor, "EVM chains: the same over a WebSocket, with subscriptions"},
	{"avax", "the C-Chain's imports and exports: `avax` methods"},
	{"proposervm", "heights and epochs: `proposervm` methods"},
	{"validators", "L1s of subnet-evm: `validators` methods"},
	{"wallet", "the X-Chain's `wallet` methods"},
}

const socketDoor = "ws"

// Prices of calls in compute units: about the work that they are for a node. An
// ordinary request for indexed data costs 20.
const (
	unitsLeast    = 1 // of what is not passed on
	unitsCheap    = 5
	unitsOrdinary = 20
	unitsHeavy    = 60
	unitsDear     = 200
	// unitsUnknown is charged for methods that are not in the list and for bodies
	// that cannot be read for certain: it is what the dearest costs.
	unitsUnknown = 500
)

// family is methods of one prefix that are passed on in mode Safe, by price.
type family struct {
	prefix                        string // with what stands between it and a name
	cheap, ordinary, heavy, costs []string
	// sync are those of them that a chain has only while it executes blocks before it
	// accepts them: L1s, and the C-Chain before Helicon.
	sync []string
	// refused says which others a node has, and why they are not passed on.
	refused string
}

// families is the list of methods. What is not named is refused in mode Safe.
var families = []family{
	{
		prefix:   "eth_",
		cheap:    []string{"chainId", "blockNumber", "gasPrice", "baseFee", "maxPriorityFeePerGas", "suggestPriceOptions", "syncing", "coinbase", "etherbase", "getChainConfig", "unsubscribe"},
		ordinary: []string{"getBalance", "getCode", "getStorageAt", "getTransactionCount", "getBlockByHash", "getBlockByNumber", "getHeaderByHash", "getHeaderByNumber", "getBlockTransactionCountByHash", "getBlockTransactionCountByNumber", "getTransactionByHash", "getTransactionByBlockHashAndIndex", "getTransactionByBlockNumberAndIndex", "getRawTransactionByHash", "getRawTransactionByBlockHashAndIndex", "getRawTransactionByBlockNumberAndIndex", "getTransactionReceipt", "getUncleByBlockHashAndIndex", "getUncleByBlockNumberAndIndex", "getUncleCountByBlockHash", "getUncleCountByBlockNumber", "feeHistory", "feeConfig", "getActivePrecompilesAt", "getActiveRulesAt"},
		heavy:    []string{"call", "callDetailed", "estimateGas", "createAccessList", "getLogs", "getBlockReceipts", "getProof", "sendRawTransaction", "subscribe"},
		sync:     []string{"coinbase", "etherbase", "feeConfig", "getActivePrecompilesAt", "getActiveRulesAt"},
		refused: "filters (`newFilter`, `getFilterChanges`, ...), which live in one node and are not found at another; " +
			"`accounts`, `sign`, `signTransaction`, `sendTransaction`, `fillTransaction`, `resend`, `pendingTransactions`, which use the node's own keys; `getBadBlocks`",
	},
	{prefix: "net_", cheap: []string{"version", "listening", "peerCount"}},
	{prefix: "web3_", cheap: []string{"clientVersion", "sha3"}},
	{prefix: "txpool_", ordinary: []string{"status"}, refused: "`content`, `contentFrom`, `inspect`: the whole pool"},
	{
		prefix: "warp_", ordinary: []string{"getMessage", "getMessageSignature", "getBlockSignature"},
		sync:    []string{"getMessage", "getMessageSignature", "getBlockSignature"},
		refused: "`getMessageAggregateSignature`, `getBlockAggregateSignature`: they have the node ask all validators, which `/v1/signatureAggregator` does",
	},
	{
		prefix:   "platform.",
		cheap:    []string{"getHeight", "getProposedHeight", "getTimestamp", "getStakingAssetID", "getMinStake", "getFeeConfig", "getFeeState", "getValidatorFeeConfig", "getValidatorFeeState"},
		ordinary: []string{"getBalance", "getSubnet", "getCurrentSupply", "getL1Validator", "sampleValidators", "getBlockchainStatus", "validatedBy", "validates", "getTx", "getTxStatus", "getRewardUTXOs", "getBlock", "getBlockByHeight"},
		heavy:    []string{"getUTXOs", "getStake", "getTotalStake", "getSubnets", "getBlockchains", "issueTx"},
		costs:    []string{"getCurrentValidators", "getValidatorsAt", "getAllValidatorsAt"},
	},
	{
		prefix: "avm.", cheap: []string{"getHeight", "getTxFee"},
		ordinary: []string{"getBlock", "getBlockByHeight", "getTx", "getTxStatus", "getAssetDescription", "getBalance", "getAllBalances"},
		heavy:    []string{"getUTXOs", "issueTx"},
	},
	{prefix: "wallet.", heavy: []string{"issueTx"}},
	{
		prefix: "avax.", ordinary: []string{"getAtomicTx", "getAtomicTxStatus"},
		heavy: []string{"getUTXOs", "issueTx"},
	},
	{
		prefix:  "info.",
		cheap:   []string{"getNetworkID", "getNetworkName", "getBlockchainID", "isBootstrapped", "getNodeVersion", "getVMs", "getTxFee", "upgrades"},
		costs:   []string{"peers"}, // with all that the node is connected to
		refused: "`getNodeID`, `getNodeIP`, `uptime`, which name the node behind this server; `acps`, what its peers vote for",
	},
	{prefix: "proposervm.", cheap: []string{"getProposedHeight", "getCurrentEpoch"}},
	{prefix: "validators.", costs: []string{"getCurrentValidators"}},
}

// refusedFamilies are the families of which nothing is passed on in mode Safe.
const refusedFamilies = "`debug_`, `admin_`, `personal_`, `miner_`, `admin.` and whatever is not named here"

// prices has the price of each method that is passed on in mode Safe.
func prices() map[string]int {
	all := make(map[string]int)
	for _, f := range families {
		for units, names := range map[int][]string{unitsCheap: f.cheap, unitsOrdinary: f.ordinary, unitsHeavy: f.heavy, unitsDear: f.costs} {
			for _, name := range names {
				all[f.prefix+name] = units
			}
		}
	}
	return all
}

// syncMethods are the methods that only chains have which execute blocks before they
// accept them.
func syncMethods() map[string]bool {
	all := make(map[string]bool)
	for _, f := range families {
		for _, name := range f.sync {
			all[f.prefix+name] = true
		}
	}
	return all
}

// subscriptions are those of eth_subscribe that are passed on in mode Safe; the
// others tell each transaction there is.
var subscriptions = []string{"newHeads", "logs"}

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
