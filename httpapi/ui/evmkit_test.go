package ui

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const (
	onC     = "/v1/chains/43112"
	txID    = "0x1111111111111111111111111111111111111111111111111111111111111111"
	badTxID = "0x1111111111111111111111111111111111111111111111111111111111111112"
	blockID = "0x2222222222222222222222222222222222222222222222222222222222222222"
	icmID   = "0x3333333333333333333333333333333333333333333333333333333333333333"
	someone = "0xb90BD5d69Bd067686cC6FfB0CC8F0222e2003964"
	coinsOf = "0xC4AD744E3e11Ab1D1C5904Ef1088ed2366ef71e8"
	apesOf  = "0xfc9fE75a7898d038B0aF806aF6A0744458731D3c"
)

const (
	chainJSON = `{"chainId":"43112","status":"OK","chainName":"C-Chain","description":"The contract chain","platformChainId":"mhRvawodN5JrWowULx9hspKGTmfWHyTHScuanPddVmzs5b2RH",
"subnetId":"11111111111111111111111111111111LpoYY","vmId":"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6","vmName":"EVM","rpcUrl":"http://127.0.0.1:9750/ext/bc/C/rpc","isTestnet":true,
"networkToken":{"name":"Avalanche","symbol":"AVAX","decimals":18},"private":false,"enabledFeatures":["teleporter"],
"gaps":[{"kind":"trace","fromBlock":"7","toBlock":"9","reason":"no node could trace them yet"}]}`
	blockJSON = `{"chainId":"43112","blockNumber":"2018","blockTimestamp":1735718436,"blockHash":"` + blockID + `","txCount":1,"baseFee":"34348102290","gasUsed":"216400",
"gasLimit":"15000000","gasCost":"0","parentHash":"0xa969b6a4e41c503481755fd5ed5462e04cde0523bf87ff2bc03374683422fc59","feesSpent":"7686829335556000","cumulativeTransactions":"8269"}`
	nativeJSON = `"blockNumber":"2018","blockTimestamp":1735718436,"blockHash":"` + blockID + `","chainId":"43112","blockIndex":4,"txHash":"` + txID + `","txStatus":"1","txType":2,
"gasLimit":"61440","gasUsed":"51200","gasPrice":"35348102290","nonce":"1540","from":{"address":"` + someone + `"},"to":{"name":"Quorum Token","symbol":"QRM","decimals":18,"address":"` + coinsOf + `"},
"method":{"callType":"CONTRACT_CALL","methodHash":"0xa9059cbb","methodName":"transfer(address,uint256)"},"value":"1500000000000000001"`
	placeJSON   = `"blockNumber":"2018","blockTimestamp":1735718436,"blockHash":"` + blockID + `","txHash":"` + txID + `"`
	movedJSON   = `"from":{"address":"0x0000000000000000000000000000000000000000"},"to":{"address":"` + someone + `"},"logIndex":3`
	erc20JSON   = `"address":"` + coinsOf + `","name":"Quorum Token","symbol":"QRM","decimals":18,"ercType":"ERC-20"`
	erc721JSON  = `"address":"` + apesOf + `","name":"Devnet Apes","symbol":"DAPE","ercType":"ERC-721","tokenId":"3","tokenUri":"https://nft.example/apes/3.json","metadata":{"indexStatus":"INDEXED","metadataLastUpdatedTimestamp":1735718436,"name":"An ape","description":"Of the devnet","imageUri":"ipfs://ape","externalUrl":"https://nft.example","attributes":"[{\"trait_type\":\"Fur\",\"value\":\"red\"},{\"trait_type\":\"Age\",\"value\":7}]"},"ownerAddress":"` + someone + `"`
	erc1155JSON = `"address":"0x9D12D48F5Bb270d7B06415Aa99Ec87804B5CB192","ercType":"ERC-1155","tokenId":"33","tokenUri":"https://items.example/{id}.json","metadata":{"indexStatus":"UNINDEXED","properties":"{\"a\":1}"}`
	callJSON    = `"from":{"address":"` + coinsOf + `"},"to":{"address":"0x0200000000000000000000000000000000000005"},"internalTxType":"CALL","value":"5","isReverted":false,"gasUsed":"45000","gasLimit":"58550"`
	windowJSON  = `{"result":{"lastHour":1,"lastDay":1200,"allTime":8331},"since":{"lastHour":1795399200}}`
	icmJSON     = `{"messageId":"` + icmID + `","icmContractAddress":"0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf","sourceBlockchainId":"mhRvawodN5JrWowULx9hspKGTmfWHyTHScuanPddVmzs5b2RH",
"destinationBlockchainId":"2m1BPJZFGrHCWMugqXXQHuU8rZ3AEMjM12JNLfuTADkXMnugoc","sourceEvmChainId":"43112","destinationEvmChainId":"","messageNonce":"12","from":"` + someone + `","to":"` + coinsOf + `",
"data":"0xabcd","requiredGasLimit":"100000","allowedRelayerAddresses":[],"messageExecuted":false,"messageExecutionFailed":false,"receipts":[{"receivedMessageNonce":"4","relayerRewardAddress":"` + someone + `"}],
"receiptDelivered":false,"rewardDetails":{"address":"` + coinsOf + `","name":"Quorum Token","symbol":"QRM","decimals":18,"ercType":"ERC-20","value":"2500000000000000000"},
"sourceTransaction":{"txHash":"` + txID + `","timestamp":1735718436,"gasSpent":"1809822837248000"},
"signature":{"warpMessageId":"2k1PkRmqZftG1yvu6wijucEFnQZWTufyqj5enusLnufsswoUJ7","signed":true,"signedMessagePath":"/v1/signatureAggregator/fuji/aggregateSignatures/` + txID + `"},"status":"pending"}`
)

// sampleEVM answers about a chain: each list has one row and a further page.
func sampleEVM() fakeAPI {
	more := `,"nextPageToken":"next/+="}`
	of := onC + "/addresses/" + someone
	native := `"nativeTokenBalance":{"name":"Avalanche","symbol":"AVAX","decimals":18,"chainId":"43112","balance":"999087656258602646560648"}`
	transfer := `{` + placeJSON + `,` + movedJSON
	contract := func(address, name, kind string) string {
		return `{"name":"` + name + `","address":"` + address + `","deploymentDetails":{"txHash":"` + txID + `","deployerAddress":"` + someone + `","deployerContractAddress":"` + coinsOf + `"},"ercType":"` + kind + `","symbol":"SYM","decimals":18}`
	}
	api := fakeAPI{
		"/v1/chains":                      `{"chains":[` + chainJSON + `]}`,
		onC:                               chainJSON,
		onC + "/blocks?pageSize=1":        `{"blocks":[` + strings.Replace(blockJSON, `"2018"`, `"2020"`, 1) + `]}`,
		onC + "/blocks?pageSize=10":       `{"blocks":[` + blockJSON + `]` + more,
		onC + "/blocks?pageSize=25":       `{"blocks":[` + blockJSON + `]` + more,
		onC + "/blocks/2018":              blockJSON,
		onC + "/blocks/" + blockID:        blockJSON,
		onC + "/transactions?pageSize=10": `{"transactions":[{` + nativeJSON + `}]` + more,
		onC + "/transactions?pageSize=25&status=failed":          `{"transactions":[{` + nativeJSON + `}]` + more,
		onC + "/blocks/" + blockID + "/transactions?pageSize=25": `{"transactions":[{` + nativeJSON + `}]` + more,
		onC + "/transactions/" + txID: `{"nativeTransaction":{` + nativeJSON + `,"input":"0xa9059cbb00","baseFeePerGas":"34348102290","maxFeePerGas":"56246350812","maxPriorityFeePerGas":"1500000000"},
"networkTokenDetails":{"networkToken":{"name":"Avalanche","symbol":"AVAX","decimals":18}},"erc20Transfers":[{` + movedJSON + `,"value":"1","erc20Token":{` + erc20JSON + `}}],
"erc721Transfers":[{` + movedJSON + `,"erc721Token":{` + erc721JSON + `}}],"erc1155Transfers":[{` + movedJSON + `,"value":"45","erc1155Token":{` + erc1155JSON + `}}],
"internalTransactions":[{` + callJSON + `}],"teleporterMessageInfo":{"teleporterMessageId":"` + icmID + `","direction":"SOURCE_TRANSACTION","destinationChainId":"2m1BPJZFGrHCWMugqXXQHuU8rZ3AEMjM12JNLfuTADkXMnugoc"}}`,
		onC + "/transactions/" + badTxID: `{"nativeTransaction":{` + strings.NewReplacer(txID, badTxID, `"txStatus":"1"`, `"txStatus":"0"`).Replace(nativeJSON) +
			`,"input":"0x","baseFeePerGas":"34348102290","failureReason":"execution reverted: not <b>yours</b>","revertData":"0x08c379a0"},"internalTransactions":[]}`,
		of + "/balances:getNative":                 `{` + native + `}`,
		of + "/balances:getNative?blockNumber=100": `{` + strings.Replace(native, "999087", "1000", 1) + `}`,
		of:                                   contract(someone, "A contract", "UNKNOWN"),
		onC + "/addresses/" + coinsOf:        contract(coinsOf, "Quorum Token", "ERC-20"),
		onC + "/addresses/" + apesOf:         contract(apesOf, "Devnet Apes", "ERC-721"),
		"/v1/address/" + someone + "/chains": `{"indexedChains":[` + chainJSON + `,` + strings.NewReplacer("43112", "999", "C-Chain", "My L1").Replace(chainJSON) + `]}`,
		of + "/transactions?pageSize=25":     `{"transactions":[{"nativeTransaction":{` + nativeJSON + `},"erc20Transfers":[{` + movedJSON + `,"value":"1","erc20Token":{` + erc20JSON + `}}],"erc721Transfers":[],"erc1155Transfers":[]}]` + more,
		of + "/transactions:listInternals?pageSize=25":                                                `{"transactions":[{` + placeJSON + `,` + callJSON + `}]` + more,
		of + "/balances:listErc20?pageSize=25&filterSpamTokens=false":                                 `{` + native + `,"erc20TokenBalances":[{` + erc20JSON + `,"chainId":"43112","balance":"45","balanceSource":"contract","balanceBlockNumber":"2017","tokenReputation":"Malicious"}]` + more,
		of + "/transactions:listErc20?pageSize=25":                                                    `{"transactions":[` + transfer + `,"value":"1","erc20Token":{` + erc20JSON + `}}]` + more,
		of + "/transactions:listErc721?pageSize=25":                                                   `{"transactions":[` + transfer + `,"erc721Token":{` + erc721JSON + `}}]` + more,
		of + "/transactions:listErc1155?pageSize=25":                                                  `{"transactions":[` + transfer + `,"value":"45","erc1155Token":{` + erc1155JSON + `}}]` + more,
		of + "/balances:listCollectibles?pageSize=25":                                                 `{"collectibleBalances":[{` + erc721JSON + `,"chainId":"43112"},{` + erc1155JSON + `,"chainId":"43112","balance":"45","balanceSource":"transfers"}]` + more,
		onC + "/contracts/" + someone + "/deployments?pageSize=25":                                    `{"contracts":[` + contract(coinsOf, "Quorum Token", "ERC-20") + `]` + more,
		"/v1/icm/addresses/" + someone + "/messages?pageSize=25":                                      `{"messages":[` + icmJSON + `]` + more,
		onC + "/tokens/" + coinsOf + "/transfers?pageSize=25":                                         `{"transfers":[` + transfer + `,"value":"1","erc20Token":{` + erc20JSON + `}}]` + more,
		onC + "/tokens/" + apesOf + "/transfers?pageSize=25":                                          `{"transfers":[` + transfer + `,"erc721Token":{` + erc721JSON + `}}]` + more,
		"/v2/chains/43112/contracts/" + coinsOf + "/balances?pageSize=1000&threshold=0":               `{"addresses":[{"address":"` + someone + `","sortKey":573100000000000000000},{"address":"` + apesOf + `","sortKey":"573100000000000000001"}]}`,
		"/v2/chains/43112/contracts/" + apesOf + "/nfts:listHolders?pageSize=50":                      `{"nftCollectionName":["Devnet Apes"],"nftSymbol":["DAPE"],"totalHolders":1129,"totalTokens":226,"balanceSource":"transfers","addresses":[{"address":"` + someone + `","sortKey":1}]` + more,
		onC + "/nfts/collections/" + apesOf + "/tokens?pageSize=25":                                   `{"tokens":[{` + erc721JSON + `}]` + more,
		onC + "/nfts/collections/" + apesOf + "/tokens/3":                                             `{` + erc721JSON + `}`,
		"/v1/icm/messages?pageSize=25":                                                                `{"messages":[` + icmJSON + `]` + more,
		"/v1/icm/messages?pageSize=25&blockchainId=mhRvawodN5JrWowULx9hspKGTmfWHyTHScuanPddVmzs5b2RH": `{"messages":[` + icmJSON + `]` + more,
		"/v1/icm/messages/" + icmID:                                                                   icmJSON,
		"/v2/icm/summary":                                                                             `{"result":{"lastHour":1,"lastDay":2,"lastWeek":3,"lastMonth":4,"last90Days":5,"lastYear":6,"allTime":7000,"srcBlockchainId":"all","destBlockchainId":"all"}}`,
	}
	for _, m := range metricList {
		points := `{"results":[{"value":1132,"timestamp":1735689600},{"value":0.5,"timestamp":1735603200}]` + more
		for _, size := range []string{"60", "90", "750"} {
			api["/v2/chains/43112/metrics/"+m.Name+"?timeInterval=day&pageSize="+size] = points
		}
		api["/v2/chains/43112/rollingWindowMetrics/"+m.Name] = windowJSON
	}
	return api
}

// evmPaths are pages that the sample API has all of.
var evmPaths = []string{
	"/chain/43112", "/chain/43112/blocks", "/chain/43112/txs?status=failed", "/chain/43112/block/2018", "/chain/43112/tx/" + txID, "/chain/43112/tx/" + badTxID,
	"/chain/43112/address/" + someone, "/chain/43112/address/" + someone + "?block=100", "/chain/43112/address/" + someone + "?tab=internal",
	"/chain/43112/address/" + someone + "?tab=tokens", "/chain/43112/address/" + someone + "?tab=erc20",
	"/chain/43112/address/" + someone + "?tab=erc721", "/chain/43112/address/" + someone + "?tab=erc1155",
	"/chain/43112/address/" + someone + "?tab=nfts", "/chain/43112/address/" + someone + "?tab=made", "/chain/43112/address/" + someone + "?tab=icm",
	"/chain/43112/token/" + coinsOf, "/chain/43112/token/" + coinsOf + "?tab=holders", "/chain/43112/nft/" + apesOf,
	"/chain/43112/nft/" + apesOf + "?tab=transfers", "/chain/43112/nft/" + apesOf + "?tab=holders", "/chain/43112/nft/" + apesOf + "/3",
	"/chain/43112/metrics", "/chain/43112/metrics/txCount", "/chain/43112/metrics/feesPaid?all=1", "/chain/43112/icm", "/icm", "/icm/" + icmID,
}

// parsed returns the main part of a page, and its text with single spaces.
func parsed(t testing.TB, out *Output) (main *html.Node, text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(out.HTML)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "main" {
			main = n
		}
	}
	if main == nil {
		t.Fatalf("no main part: %s", out.HTML)
	}
	var b strings.Builder
	for n := range main.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return main, strings.Join(strings.Fields(b.String()), " ")
}

// links returns the addresses of a part of a page that attributes have.
func links(n *html.Node) (list []string) {
	for n := range n.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" || a.Key == "action" {
				list = append(list, a.Val)
			}
		}
	}
	return list
}

// attr returns the value of an attribute.
func attr(list []html.Attribute, key string) string {
	for _, a := range list {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
