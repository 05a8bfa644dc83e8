package rpc

import "fmt"

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
