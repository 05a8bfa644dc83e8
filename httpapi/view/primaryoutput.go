package view

import (
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// amounts are sums by asset, in the order of their first appearance.
type amounts []amount

type amount struct {
	asset chain.ID
	nAVAX uint64
	count int
}

// add adds an amount, up to the largest that there is.
func (a amounts) add(asset *chain.ID, n uint64) amounts {
	for i := range a {
		if a[i].asset == *asset {
			a[i].nAVAX += min(n, ^uint64(0)-a[i].nAVAX)
			a[i].count++
			return a
		}
	}
	return append(a, amount{*asset, n, 1})
}

func sumOf(list []*primary.Output) (a amounts) {
	for _, u := range list {
		if u.Kind == utxo.TransferOutput {
			a = a.add(&u.Asset, u.Amount)
		}
	}
	return a
}

// less returns what is left of a without b.
func (a amounts) less(b amounts) (rest amounts) {
	for _, x := range a {
		for _, y := range b {
			if y.asset == x.asset {
				x.nAVAX -= min(x.nAVAX, y.nAVAX)
			}
		}
		if x.nAVAX > 0 {
			rest = append(rest, x)
		}
	}
	return rest
}

func (w *Writer) amounts(name string, list amounts) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.asset(&list[i].asset, list[i].nAVAX)
	}
	w.B = append(w.B, ']')
}

// platformOutputs writes outputs in the form that they have on the P-Chain.
func (w *Writer) platformOutputs(name string, list []*primary.Output) {
	w.Member(name)
	w.B = append(w.B, '[')
	for _, u := range list {
		w.PlatformOutput(u)
	}
	w.B = append(w.B, ']')
}

// PlatformOutput writes an output of the P-Chain.
func (w *Writer) PlatformOutput(u *primary.Output) {
	w.output(u, true)
	w.count("amount", u.Amount)
	w.id("assetId", &u.Asset)
	w.count("blockNumber", u.Place.Height)
	w.whole("blockTimestamp", u.Time)
	if !u.SpentBy.IsZero() {
		w.count("consumingBlockNumber", u.SpentAt.Height)
		w.whole("consumingBlockTimestamp", u.SpentTime)
	}
	if u.Known {
		w.whole("platformLocktime", u.Locktime)
		w.whole("threshold", uint64(u.Threshold))
	}
	w.whole("outputIndex", uint64(u.Index))
	if u.StakeLock > 0 {
		w.whole("stakeableLocktime", u.StakeLock)
	}
	w.boolean("staked", u.State == primary.Staked)
	w.id("txHash", &u.TxID)
	if u.State == primary.Staked || u.MadeBy != u.TxID && !u.Reward {
		w.text("utxoType", "STAKE")
	} else {
		w.text("utxoType", "TRANSFER")
	}
	w.B = append(w.B, '}')
}

// output writes what outputs have in both forms, and leaves their object open. The P-Chain
// writes UTXOs in a form of its own.
func (w *Writer) output(u *primary.Output, onPlatform bool) {
	w.Comma()
	w.B = append(w.B, '{')
	w.holders("addresses", u.Addresses)
	w.Member("asset")
	w.asset(&u.Asset, u.Amount)
	made, spent := w.Primary.Chain, w.Primary.Chain
	switch {
	case u.HasOther && u.State == primary.Exported:
		spent = u.Other
	case u.HasOther:
		made = u.Other
	}
	w.id("createdOnChainId", &made)
	w.id("consumedOnChainId", &spent)
	if !u.SpentBy.IsZero() {
		w.id("consumingTxHash", &u.SpentBy)
	}
	id := u.Ref.ID()
	w.id("utxoId", &id)
	if !u.Known {
		return
	}
	raw, err := u.Raw, error(nil)
	if raw == nil || u.StakeLock > 0 { // a lock has a form on the P-Chain alone
		raw, err = u.UTXO.Bytes(onPlatform)
	}
	if err == nil {
		w.Member("utxoBytes")
		w.B = append(AppendHex(append(w.B, '"'), raw), '"')
	}
}

// ExchangeOutput writes an output in the form that it has on the X- and the C-Chain.
func (w *Writer) ExchangeOutput(u *primary.Output) {
	w.output(u, false)
	if !u.SpentBy.IsZero() {
		w.whole("consumingTxTimestamp", u.SpentTime)
	}
	w.id("creationTxHash", &u.TxID)
	switch u.Kind {
	case utxo.NFTMintOutput, utxo.NFTTransferOutput:
		w.whole("groupId", uint64(u.Group))
	}
	w.whole("locktime", u.Locktime)
	w.count("outputIndex", uint64(u.Index))
	if len(u.Payload) > 0 {
		w.Member("payload")
		w.B = append(AppendHex(append(w.B, '"'), u.Payload), '"')
	}
	w.whole("threshold", uint64(u.Threshold))
	w.whole("timestamp", u.Time)
	w.text("utxoType", outputType(u.Kind))
	w.B = append(w.B, '}')
}

func outputType(k utxo.Kind) string {
	switch k {
	case utxo.MintOutput:
		return "MINT"
	case utxo.NFTMintOutput:
		return "NFT_MINT"
	case utxo.NFTTransferOutput:
		return "NFT_TRANSFER"
	case utxo.PropertyMintOutput:
		return "PROPERTY_MINT"
	case utxo.PropertyOwnedOutput:
		return "PROPERTY_OWNED"
	}
	return "TRANSFER"
}

func (w *Writer) exchangeOutputs(name string, list []*primary.Output) {
	w.Member(name)
	w.B = append(w.B, '[')
	for _, u := range list {
		w.ExchangeOutput(u)
	}
	w.B = append(w.B, ']')
}

// LastActivity writes what an address did last: it got or spent an output.
func (w *Writer) LastActivity(tx *primary.TxRow, u *primary.Output, consumed bool, k primary.Kind) {
	w.B = append(w.B, '{')
	w.whole("timestamp", tx.Time)
	w.count("blockNumber", tx.Height)
	w.id("txHash", &tx.ID)
	if u != nil {
		id := u.Ref.ID()
		w.id("utxoId", &id)
	} else {
		w.demanded("utxoId", "")
	}
	w.boolean("isConsumed", consumed)
	w.text("chainName", k.String())
	w.text("network", w.Primary.Network)
	w.B = append(w.B, '}')
}

// ChainIDs writes the chains that an address has part in.
func (w *Writer) ChainIDs(address string, list []chain.ID) {
	w.Comma()
	w.B = append(w.B, '{')
	w.text("address", address)
	w.ids("blockchainIds", list)
	w.B = append(w.B, '}')
}

// Balance is a sum of outputs of one asset.
type Balance struct {
	Asset  chain.ID
	Amount uint64
	Count  int
	// Shared is the chain that the outputs were exported to, nil if they were not.
	Shared *chain.ID
}

// Balances writes a list of balances.
func (w *Writer) Balances(name string, list []Balance, k primary.Kind) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		b := &list[i]
		w.Comma()
		w.asset(&b.Asset, b.Amount)
		w.B = w.B[:len(w.B)-1]
		w.B = strconv.AppendInt(append(w.B, `,"utxoCount":`...), int64(b.Count), 10)
		if b.Shared != nil {
			w.id("sharedWithChainId", b.Shared)
			if k == primary.PChain {
				w.text("status", "exported")
			}
		}
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
}
