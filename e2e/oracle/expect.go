package oracle

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/crypto"
)

// methods are functions that every server should know the names of. Names of
// others are judged by their hash.
var methods = []string{
	"transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)",
	"safeTransferFrom(address,address,uint256)", "safeTransferFrom(address,address,uint256,uint256,bytes)",
	"safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)", "setApprovalForAll(address,bool)",
}

// forms makes the JSON of answers about one chain.
type forms struct {
	chain   *Chain
	chainID string
	coin    Coin
	numbers map[string]string // of the chains that are followed, by blockchain ID
	sdk     bool              // the form for the SDKs
}

// Coin is what a chain's fees are paid in.
type Coin struct {
	Name, Symbol string
	Decimals     uint8
}

func (f *forms) party(a common.Address) object {
	o := object{"address": a.Hex()}
	if t := f.chain.Tokens[a]; t != nil {
		if t.Name != "" {
			o["name"] = t.Name
		}
		if t.Symbol != "" {
			o["symbol"] = t.Symbol
		}
		if t.HasDecimals {
			o["decimals"] = t.Decimals
		}
	}
	return o
}

// dated adds the members about the block, and what the SDKs read besides.
func (f *forms) dated(o object, b *Block) object {
	o["blockNumber"], o["blockTimestamp"], o["blockHash"] = fmt.Sprint(uint64(b.Number)), uint64(b.Time), b.Hash.Hex()
	if f.sdk {
		milli := uint64(b.Time) * 1000
		if b.TimeMilli != nil {
			milli = uint64(*b.TimeMilli)
		}
		o["blockTimestampMilliseconds"] = milli
	}
	return o
}

func (f *forms) native(t *Tx) object {
	status := "1"
	if t.Failed() {
		status = "0"
	}
	return f.dated(object{
		"chainId": f.chainID, "blockIndex": t.Index, "txHash": t.Hash.Hex(), "txStatus": status, "txType": uint64(t.Type),
		"gasLimit": fmt.Sprint(uint64(t.Gas)), "gasUsed": fmt.Sprint(uint64(t.receipt.GasUsed)),
		"gasPrice": t.receipt.GasPrice.ToInt().String(), "nonce": fmt.Sprint(uint64(t.Nonce)),
		"from": f.party(t.From), "to": f.party(t.receiver()), "method": method(t), "value": t.Value.ToInt().String(),
	}, t.Block)
}

func method(t *Tx) object {
	switch {
	case t.rawTx.To == nil:
		return object{"callType": "CONTRACT_CREATION", "methodHash": "", "methodName": "Contract Created"}
	case len(t.Input) == 0:
		return object{"callType": "NATIVE_TRANSFER", "methodHash": "", "methodName": "Native Transfer"}
	case len(t.Input) < 4:
		return object{"callType": "CONTRACT_CALL", "methodHash": ""}
	}
	selector := hexutil.Encode(t.Input[:4])
	return object{"callType": "CONTRACT_CALL", "methodHash": selector, "methodName": rule(func(got any, present bool) string {
		for _, m := range methods {
			if selectorOf(m) == selector && got != m {
				return fmt.Sprintf("server %s, it is %s", show(got), m)
			}
		}
		if name, ok := got.(string); present && (!ok || selectorOf(name) != selector) {
			return fmt.Sprintf("server %s, which does not hash to %s", show(got), selector)
		}
		return ""
	})}
}

func selectorOf(signature string) string {
	return hexutil.Encode(crypto.Keccak256([]byte(signature))[:4])
}

func (f *forms) erc20(a common.Address) object {
	t := f.chain.Tokens[a]
	o := f.named(object{"address": a.Hex(), "ercType": ERC20}, t)
	if t.HasDecimals || f.sdk {
		o["decimals"] = t.Decimals
	}
	return o
}

// named adds what a token is called. What it does not say is left out, but for the
// SDKs, which demand it.
func (f *forms) named(o object, t *Token) object {
	if t.Name != "" || f.sdk {
		o["name"] = t.Name
	}
	if t.Symbol != "" || f.sdk {
		o["symbol"] = t.Symbol
	}
	return o
}

func (f *forms) erc721(nft NFT) object {
	t := f.chain.Tokens[nft.Token]
	o := f.nft(nft)
	o["ercType"] = ERC721
	return f.named(o, t)
}

func (f *forms) nft(nft NFT) object {
	uris := f.chain.Tokens[nft.Token].URIs[nft.ID]
	if len(uris) == 0 {
		uris = []string{""} // never minted by a log
	}
	uri := oneOf(uris...)
	if slices.Contains(uris, "") && !f.sdk { // left out
		known := uri
		uri = func(got any, present bool) string {
			if !present {
				return ""
			}
			return known(got, present)
		}
	}
	return object{
		"address": nft.Token.Hex(), "tokenId": nft.ID, "tokenUri": uri, "metadata": object{"indexStatus": "UNINDEXED"},
	}
}

func (f *forms) transfer(t *Transfer) object {
	o := object{"from": f.party(t.From), "to": f.party(t.To), "logIndex": t.LogIndex}
	nft := NFT{t.Token, t.ID.String()}
	switch t.Kind {
	case ERC20:
		o["value"], o["erc20Token"] = t.Value.String(), f.erc20(t.Token)
	case ERC721:
		token := f.erc721(nft)
		if owner := f.chain.at(f.chain.Tip()).owners[nft]; owner != (common.Address{}) { // or else it was burnt
			token["ownerAddress"] = owner.Hex()
		}
		o["erc721Token"] = token
	case ERC1155:
		token := f.nft(nft)
		token["ercType"] = ERC1155
		o["value"], o["erc1155Token"] = t.Value.String(), token
	}
	return o
}

// blockTransfer is an item of endpoints 6 and 8.
func (f *forms) blockTransfer(t *Transfer) object {
	o := f.dated(f.transfer(t), t.Tx.Block)
	o["txHash"] = t.Tx.Hash.Hex()
	return o
}

var callTypes = []string{"CALL", "CREATE", "CREATE2", "CALLCODE", "DELEGATECALL", "STATICCALL"}

func (f *forms) call(c *Call) object {
	kind := c.Type
	if !slices.Contains(callTypes, kind) {
		kind = "UNKNOWN"
	}
	var to common.Address
	if c.To != nil {
		to = *c.To
	}
	return object{
		"from": f.party(c.From), "to": f.party(to), "internalTxType": kind, "value": c.Value.String(), "isReverted": c.Reverted,
		"gasUsed": fmt.Sprint(c.GasUsed), "gasLimit": fmt.Sprint(c.Gas),
	}
}

// parts are the lists of a transaction; of those of self if it is not nil.
func (f *forms) parts(o object, t *Tx, self *common.Address) object {
	for name, kind := range map[string]string{"erc20Transfers": ERC20, "erc721Transfers": ERC721, "erc1155Transfers": ERC1155} {
		list := []any{}
		for _, tr := range t.Transfers {
			if tr.Kind == kind && (self == nil || tr.concerns(*self)) {
				list = append(list, f.transfer(tr))
			}
		}
		o[name] = list
	}
	if !f.chain.Traced {
		return o
	}
	calls := []any{}
	for _, c := range t.Calls {
		if self == nil || c.concerns(*self) {
			calls = append(calls, f.call(c))
		}
	}
	o["internalTransactions"] = calls
	return o
}

// details is an item of endpoint 2.
func (f *forms) details(t *Tx, self common.Address) object {
	return f.parts(object{"nativeTransaction": f.native(t)}, t, &self)
}

// single is the complete view of a transaction.
func (f *forms) single(t *Tx) object {
	n := f.native(t)
	n["input"], n["baseFeePerGas"] = t.Input.String(), t.Block.baseFee()
	if t.MaxFee != nil {
		n["maxFeePerGas"] = t.MaxFee.ToInt().String()
	}
	if t.MaxPriorityFee != nil {
		n["maxPriorityFeePerGas"] = t.MaxPriorityFee.ToInt().String()
	}
	if t.top != nil && t.top.Error != "" {
		n["failureReason"] = t.top.Error
		if t.top.Reason != "" {
			n["failureReason"] = t.top.Error + ": " + t.top.Reason
		}
		if len(t.top.Output) > 0 {
			n["revertData"] = t.top.Output[:min(len(t.top.Output), 1024)].String()
		}
	}
	o := object{"nativeTransaction": n, "networkTokenDetails": object{"networkToken": f.networkToken()}}
	if message := f.interchain(t); message != nil {
		o["teleporterMessageInfo"] = message
	}
	return f.parts(o, t, nil)
}

func (f *forms) networkToken() object {
	return object{"name": f.coin.Name, "symbol": f.coin.Symbol, "decimals": f.coin.Decimals}
}

func (f *forms) balance(wei *big.Int) object {
	o := f.networkToken()
	o["chainId"], o["balance"] = f.chainID, wei.String()
	return o
}

// coins is the list of endpoint 7 at a height; only those of contracts, unless
// that is nil.
func (f *forms) coins(a common.Address, height uint64, contracts []common.Address) []any {
	list := []any{}
	for _, token := range f.chain.coinsOf(a, height) {
		if contracts != nil && !slices.Contains(contracts, token) {
			continue
		}
		o := f.erc20(token)
		o["chainId"], o["balance"] = f.chainID, f.chain.coin(a, token, height).String()
		if f.chain.Uneven[token] {
			o["balanceSource"], o["balanceBlockNumber"] = "contract", fmt.Sprint(height)
		}
		if f.sdk {
			o["tokenReputation"] = nil
		}
		list = append(list, o)
	}
	return list
}

// owned is the list of endpoint 11.
func (f *forms) owned(a common.Address, contract *common.Address) []any {
	list := []any{}
	for _, nft := range f.chain.nftsOf(a) {
		if contract != nil && nft.Token != *contract {
			continue
		}
		o := f.erc721(nft)
		o["ownerAddress"], o["chainId"] = a.Hex(), f.chainID
		list = append(list, o)
	}
	return list
}
