package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// described makes a request of every operation of the server's description, with the
// largest page and the longest lists that it takes. One for which there is no value fails
// the test, so that a new address gets one.
func (p *pricing) described(t *testing.T) (list []priced) {
	t.Helper()
	answer, err := p.server.client.Get(t.Context(), "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []parameter
		}
	}
	if err := json.Unmarshal(answer.Body, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Paths) < 80 {
		t.Fatalf("the description has %d paths only", len(doc.Paths))
	}
	worst := p.worst(t)
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			name := strings.ToUpper(method) + " " + path
			if _, elsewhere := apart[name]; elsewhere {
				continue
			}
			target, asked := path, map[string]string{}
			for _, a := range op.Parameters {
				v := worst.value(name, a)
				switch {
				case v == "" && (a.In == "path" || a.Required):
					t.Errorf("%s: no value for %s is known that costs the most", name, a.Name)
				case a.In == "path":
					target = strings.Replace(target, "{"+a.Name+"}", url.PathEscape(v), 1)
				case v != "":
					asked[a.Name] = v
				}
			}
			if method != "get" {
				t.Errorf("%s: no body is known that costs the most", name)
				continue
			}
			list = append(list, priced{name: name, method: http.MethodGet, path: target + query(asked), most: mostTimes, bytes: mostSent})
		}
	}
	return list
}

// parameter is one of an operation, as the description has it.
type parameter struct {
	Name, In string
	Required bool
	Schema   struct {
		Enum    []string
		Maximum float64
	}
}

// apart are operations that described does not make, with where they are instead.
var apart = map[string]string{
	"GET /v1/events":             "a stream: its rows are charged one by one (TestReplayUnits, httpapi)",
	"GET /v1/avax/supply":        "kept for a moment whatever the query is",
	"POST /aggregate-signatures": "known", "POST /v1/signatureAggregator/{network}/aggregateSignatures": "known",
	"POST /ext/bc/{chain}": "known", "POST /ext/P": "known", "POST /ext/info": "known", "POST /ext/health": "known",
	"GET /ext/bc/{chain}": "refused: it is for WebSockets", "GET /ext/P": "refused", "GET /ext/info": "refused", "GET /ext": "refused",
	"POST /ext": "for operators", "POST /v2/api": "as GET, with the parameters in its body",
	"POST /v1/operations/transactions:export":                                                 "files are written where processors have nothing else to do",
	"GET /v1/operations/{operationId}":                                                        "known",
	"GET /v1/operations/{operationId}/file":                                                   "charged by size (TestFileUnits, httpapi)",
	"POST /v1/webhooks":                                                                       "known",
	"GET /v1/webhooks/{webhookId}":                                                            "known",
	"PATCH /v1/webhooks/{webhookId}":                                                          "known",
	"DELETE /v1/webhooks/{webhookId}":                                                         "known",
	"GET /v1/webhooks/{webhookId}/addresses":                                                  "known",
	"PATCH /v1/webhooks/{webhookId}/addresses":                                                "known",
	"DELETE /v1/webhooks/{webhookId}/addresses":                                               "known",
	"GET /v1/webhooks:getSharedSecret":                                                        "known",
	"POST /v1/webhooks:generateOrRotateSharedSecret":                                          "known",
	"POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex":           "needs a server of metadata",
	"POST /v1/networks/{network}/blockchains/{blockchainId}/utxos":                            "known",
	"POST /v1/networks/{network}/blockchains/{blockchainId}/lastActivityTimestampByAddresses": "known",
}

// worstValues are what costs the most, by the parameter's name or by the operation's and its.
type worstValues map[string]string

func (w worstValues) value(operation string, a parameter) string {
	if v, ok := w[operation+" "+a.Name]; ok {
		return v
	}
	if v, ok := w[a.Name]; ok {
		return v
	}
	switch {
	case a.Name == "pageSize":
		return strconv.Itoa(int(a.Schema.Maximum))
	case a.In == "path" && len(a.Schema.Enum) > 0:
		return a.Schema.Enum[0]
	}
	return ""
}

// addresses are all that one request may name.
func (p *pricing) addresses(prefix string) string {
	var list []string
	for _, a := range p.facts.RewardAddresses {
		_, a, _ = strings.Cut(a, "local1")
		list = append(list, prefix+"local1"+a)
	}
	return strings.Join(list[:min(64, len(list))], ",")
}

func (p *pricing) worst(t *testing.T) worstValues {
	t.Helper()
	f := p.facts
	pChain, xChain := f.BlockchainIDs[0], f.BlockchainIDs[1]
	var tx struct{ TxHash string }
	p.get(t, "/v1/networks/fuji/blockchains/"+pChain+"/transactions?pageSize=1", "transactions", &tx)
	var vertex struct{ VertexHash string }
	p.get(t, "/v1/networks/fuji/blockchains/"+xChain+"/vertices?pageSize=1", "vertices", &vertex)
	var sent struct {
		EmittedUtxos []struct{ Asset struct{ AssetID string } }
	}
	p.get(t, "/v1/networks/fuji/blockchains/"+xChain+"/transactions?pageSize=1", "transactions", &sent)
	var l1 struct{ ValidationID string }
	p.get(t, "/v1/networks/fuji/l1Validators?pageSize=1&includeInactiveL1Validators=true", "validators", &l1)
	var nft struct{ TokenID string }
	p.get(t, "/v1/chains/"+f.ChainID+"/nfts/collections/"+f.NFTContract+"/tokens?pageSize=1", "tokens", &nft)
	var message struct{ MessageID string }
	p.get(t, "/v1/icm/messages?pageSize=1", "messages", &message)
	const chain, network = "GET /v1/chains/{chainId}", "GET /v1/networks/{network}"
	w := worstValues{
		"network": "fuji", "chainId": f.ChainID, "address": f.Address, "blockId": f.BlockID, "txHash": f.TxHash,
		"blockchainId": pChain, "nodeId": f.NodeIDs[0], "subnetId": f.EVMChains[1].SubnetID, "threshold": "1",
		"messageId": message.MessageID, "tokenId": nft.TokenID, "vertexHash": vertex.VertexHash, "l1ValidationId": l1.ValidationID,
		"vertexHeight": strconv.FormatUint(f.VertexHeight, 10), "chain": "C",
		"assetId": sent.EmittedUtxos[0].Asset.AssetID,

		chain + "/addresses/{address} address":                                      f.Contract,
		chain + "/contracts/{address}/transactions:getDeployment address":           f.Contract,
		chain + "/tokens/{address}/transfers address":                               f.ERC20Token,
		chain + "/nfts/collections/{address}/tokens address":                        f.NFTContract,
		chain + "/nfts/collections/{address}/tokens/{tokenId} address":              f.NFTContract,
		"GET /v2/chains/{chainId}/contracts/{address}/balances address":             f.ERC20Token,
		"GET /v2/chains/{chainId}/contracts/{address}/nfts:listHolders address":     f.NFTContract,
		"GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash} txHash": f.WarpTxHash,
		network + "/blockchains/{blockchainId}/blocks/{blockId} blockId":            "100",
		network + "/blockchains/{blockchainId}/transactions/{txHash} txHash":        tx.TxHash,
		network + "/rewards addresses":                                              p.addresses("P-"),
		network + "/rewards:listPending addresses":                                  p.addresses("P-"),
		network + "/addresses:listChainIds addresses":                               p.addresses(""),
	}
	for _, rest := range []string{"assets/{assetId}", "assets/{assetId}/transactions", "vertices", "vertices/{vertexHash}", "vertices:listByHeight"} {
		w[network+"/blockchains/{blockchainId}/"+rest+" blockchainId"] = xChain
	}
	for _, rest := range []string{"balances", "utxos", "transactions", "lastActivityTimestampByAddresses"} {
		w[network+"/blockchains/{blockchainId}/"+rest+" addresses"] = p.addresses("P-")
	}
	// One without an asset that every transaction of the chain moves is not larger.
	delete(w, network+"/blockchains/{blockchainId}/transactions addresses")
	return w
}

// known are requests that cost more than their price once, and those with bodies.
func (p *pricing) known() []priced {
	f := p.facts
	text := func(s string) func(int) []byte { return func(int) []byte { return []byte(s) } }
	large := strings.Repeat("x", 4_800_000)
	rpc := func(method, params string) func(int) []byte {
		return text(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	}
	sign := "/v1/signatureAggregator/fuji/aggregateSignatures"
	fresh := 0
	post := func(name, path string, body func(int) []byte) priced {
		r := priced{name: name, method: http.MethodPost, path: path, body: body, most: mostTimes}
		if !strings.HasPrefix(path, "/ext/") {
			r.bytes = mostSent
		}
		return r
	}
	dialect := func(action, rest string) priced {
		return priced{name: action + " in Etherscan's dialect", method: http.MethodGet, path: "/v2/api?chainid=" + f.ChainID + "&action=" + action + "&page=1" + rest, most: mostTimes, bytes: mostSent}
	}
	busy := "&module=account&offset=10000&address=" + f.Address
	signed := post("a fresh message", sign, func(int) []byte {
		fresh++
		return fmt.Appendf(nil, `{"message":%q}`, f.Signature.Messages[fresh])
	})
	signed.most, signed.limit = mostFresh, 20
	ten := strings.Join(strings.Split(p.addresses("P-"), ",")[:10], ",")
	pChain := "/v1/networks/fuji/blockchains/" + f.BlockchainIDs[0]
	xChain := "/v1/networks/fuji/blockchains/" + f.BlockchainIDs[1]
	junk := make([]byte, 100_000)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(junk) // never fails
	return []priced{
		post("an unknown method with 4.8 MB of parameters", "/ext/bc/C/rpc", rpc("no_method", `["`+large+`"]`)),
		post("eth_call with 4.8 MB of parameters", "/ext/bc/C/rpc", rpc("eth_call", `[{"to":"`+f.ERC20Token+`","data":"0x`+strings.Repeat("00", 2_400_000)+`"},"latest"]`)),
		post("eth_getLogs over all blocks", "/ext/bc/C/rpc", rpc("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"latest"}]`)),
		dialect("txlist", busy), dialect("tokentx", busy), dialect("txlistinternal", busy), dialect("getLogs", "&module=logs&fromBlock=0&toBlock=3000&offset=1000"),
		post("eth_blockNumber", "/ext/bc/C/rpc", rpc("eth_blockNumber", "[]")),
		post("platform.getHeight", "/ext/P", rpc("platform.getHeight", "{}")),
		post("info.getNetworkID", "/ext/info", rpc("info.getNetworkID", "{}")),
		signed,
		{name: "a warp message that nobody has", method: http.MethodGet, path: sign + "/0x" + strings.Repeat("99", 32), most: mostTimes, bytes: mostSent, status: http.StatusNotFound},
		post("200 kB of unknown members", sign, text(`{"message":"`+f.Signature.Messages[0]+`","x":"`+hex.EncodeToString(junk)+`"}`)),
		post("a message that is known", sign, text(`{"message":"`+f.Signature.Messages[0]+`"}`)),
		post("a message that is known, as relayers ask", "/aggregate-signatures", text(`{"message":"`+f.Signature.Messages[0]+`"}`)),
		post("unspent outputs of all addresses", pChain+"/utxos?pageSize=100", text(`{"addresses":"`+p.addresses("P-")+`"}`)),
		post("last activity of all addresses", pChain+"/lastActivityTimestampByAddresses", text(`{"addresses":"`+p.addresses("P-")+`"}`)),
		{name: "P-Chain transactions of ten addresses", method: http.MethodGet, path: pChain + "/transactions" + query(map[string]string{"pageSize": "100", "addresses": ten}), most: mostTimes, bytes: mostSent},
		{name: "X-Chain transactions of ten addresses", method: http.MethodGet, path: xChain + "/transactions" + query(map[string]string{"pageSize": "100", "addresses": strings.ReplaceAll(ten, "P-", "X-")}), most: mostTimes, bytes: mostSent},
	}
}
