package ui

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// address shows what an address has and did on the chains of the primary network.
func (n *primaryNet) address(v *primaryView) error {
	address := n.r.Param("address")
	if chain, rest, ok := strings.Cut(address, "-"); ok && len(chain) == 1 {
		address = rest
	}
	var known shape.ChainIDs
	// What is no address of the network is refused once, for the whole page.
	err := n.get(withQuery(n.api("addresses:listChainIds"), "addresses", address), &known)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusBadRequest {
		return err
	}
	v.Title, v.ID = "Address", address
	parts := []func() (part, error){
		func() (part, error) { return n.lastActions(address) },
		func() (part, error) { return n.balances("p", address) },
		func() (part, error) { return n.balances("x", address) },
		func() (part, error) { return n.balances("c", address) },
		func() (part, error) {
			return n.txList("p", "stakes", "Stakes that are active", n.onChain("p", "transactions:listStaking"), "addresses", address)
		},
		func() (part, error) {
			return n.delegatorList("delegators", "Delegations with rewards for it", "rewardAddresses", address, "pageSize", "25")
		},
		func() (part, error) { return n.pendingList("addresses", address) },
		func() (part, error) { return n.rewardList("addresses", address) },
		func() (part, error) { return n.outputList("p", "putxos", address) },
		func() (part, error) { return n.outputList("x", "xutxos", address) },
		func() (part, error) {
			return n.txList("p", "ptxs", "Transactions on the P-Chain", n.onChain("p", "transactions"), "addresses", address)
		},
		func() (part, error) {
			return n.txList("x", "xtxs", "Transactions on the X-Chain", n.onChain("x", "transactions"), "addresses", address)
		},
	}
	list := make([]part, 0, len(parts))
	for _, part := range parts {
		p, err := part()
		if err != nil {
			return err
		}
		p.without("Goes to", "Went to")
		list = append(list, p)
	}
	v.addParts(list...)
	return nil
}

// lastActions says what an address did last on each chain.
func (n *primaryNet) lastActions(address string) (part, error) {
	p := part{Title: "Last seen"}
	for _, chain := range []string{"p", "x"} {
		var last shape.LastActivity
		err := n.get(withQuery(n.onChain(chain, "lastActivityTimestampByAddresses"), "addresses", address), &last)
		var e *Error
		if errors.As(err, &e) {
			p.add(chainNames[chain], cell{Text: plain.Text(e.Message, 300)})
			continue
		}
		if err != nil {
			return p, err
		}
		when := timeCell(last.Timestamp)
		when.More = []cell{hashCell(last.TxHash, n.link(chain, "tx", string(last.TxHash)))}
		p.add(chainNames[chain], when)
	}
	return p, nil
}

// balanceKind are sums of outputs with which the same can be done.
type balanceKind struct {
	words string
	sums  []shape.AssetSum
}

// kindsOf are those of balances, in the order of the page.
func kindsOf(b *shape.PrimaryBalances) []balanceKind {
	return []balanceKind{
		{"Free", b.UnlockedUnstaked}, {"Free", b.Unlocked}, {"Staked", b.UnlockedStaked}, {"Stake that has not begun", b.PendingStaked},
		{"Locked", b.LockedPlatform}, {"Locked", b.Locked}, {"Locked, but can be staked", b.LockedStakeable}, {"Locked and staked", b.LockedStaked},
		{"Exported, to be imported", b.AtomicMemoryUnlocked}, {"Exported and locked", b.AtomicMemoryLocked},
	}
}

// balances shows what an address has on a chain.
func (n *primaryNet) balances(chain, address string) (part, error) {
	p := part{Title: "Balances on the " + chainNames[chain], Heads: heads("What", "#Amount", "#Outputs"), Empty: "It has nothing there."}
	if chain == "c" {
		p.Title = "Exported to or from the C-Chain"
		p.Heads = heads("What", "#Amount", "#Outputs")
		p.Empty = "Nothing waits to be imported."
	}
	var b shape.Balances
	if err := n.get(withQuery(n.onChain(chain, "balances"), "addresses", address), &b); err != nil {
		return p, p.absent(err)
	}
	for _, kind := range kindsOf(&b.Balances) {
		for i := range kind.sums {
			a := &kind.sums[i]
			what := cell{Text: kind.words}
			if a.SharedWithChainID != "" {
				what.More = []cell{{Text: "with"}, n.shortChain(a.SharedWithChainID)}
			}
			p.Rows = append(p.Rows, []cell{what, amountCell(n, &a.AssetAmount), {Text: number(a.UTXOCount), Kind: "num"}})
		}
	}
	return p, nil
}

// outputList lists the outputs of an address on a chain.
func (n *primaryNet) outputList(chain, param, address string) (part, error) {
	p := part{ID: param, Title: "Outputs on the " + chainNames[chain], Heads: heads("Made by", "Owners", "#Amount", "Type", "Time"), Empty: "It has none."}
	var page shape.UTXOs
	if err := n.list(&p, &page, &page.Page, param, n.onChain(chain, "utxos"), "addresses", address, "pageSize", "25"); err != nil {
		return p, err
	}
	for i := range page.UTXOs {
		o := &page.UTXOs[i]
		row := append([]cell{n.madeBy(o, chain)}, n.outputCells(o)...)
		p.Rows = append(p.Rows, append(row, timeCell(cmp.Or(o.BlockTimestamp, o.Timestamp))))
	}
	return p, nil
}

// asset shows an asset and the transactions that move it.
func (n *primaryNet) asset(v *primaryView) error {
	var a shape.Asset
	id := n.r.Param("assetId")
	var unknown *Error
	if err := n.get(n.onChain("x", "assets", id), &a); err != nil && (!errors.As(err, &unknown) || unknown.Status != http.StatusNotFound) {
		return err
	}
	txs, err := n.txList("x", "page", "Transactions", n.onChain("x", "assets", id, "transactions"))
	if err != nil {
		return err
	}
	p := part{Title: "Asset"}
	switch {
	case unknown == nil:
		v.Title, v.ID = "Asset "+textCell(a.Name).Text, string(a.AssetID)
		p.add("Name", textCell(a.Name))
		p.add("Symbol", textCell(a.Symbol))
		p.add("Kind", textCell(map[string]string{"secp256k1": "fungible", "nft": "NFT"}[a.Type]))
		p.add("Digits behind the point", cell{Text: number(a.Denomination)})
		p.add("Amount", textCell(map[string]string{"fixed": "fixed", "variable": "more can be minted"}[a.Cap]))
		if a.CreatedAtTimestamp > 0 {
			p.add("Made", timeCell(a.CreatedAtTimestamp))
		}
	case len(txs.Rows) == 0:
		return unknown
	default: // AVAX is one
		v.Title, v.ID = "Asset", id
		p.Note = "The transaction that made this asset is not known here: it belongs to the genesis, or is older than the index."
	}
	v.Parts = []part{p, txs}
	return nil
}
