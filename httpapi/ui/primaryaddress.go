package ui

import (
	"errors"
	"net/http"
	"strings"

	"quorate/httpapi/ui/plain"
)

// address shows what an address has and did on the chains of the primary network.
func (n *primaryNet) address(v *primaryView) error {
	address := n.r.Param("address")
	if chain, rest, ok := strings.Cut(address, "-"); ok && len(chain) == 1 {
		address = rest
	}
	var known struct {
		Addresses []struct{ BlockchainIDs []text }
	}
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
		func() (part, error) { return n.stakes(address) },
		func() (part, error) {
			return n.delegatorList("delegators", "Delegations with rewards for it", "rewardAddresses", address, "pageSize", "25")
		},
		func() (part, error) { return n.pendingList("addresses", address) },
		func() (part, error) { return n.rewardList("addresses", address) },
		func() (part, error) { return n.outputList("p", "putxos", address) },
		func() (part, error) { return n.outputList("x", "xutxos", address) },
		func() (part, error) {
			return n.txList("p", "ptxs", "ptxs", "Transactions on the P-Chain", "addresses", address, "pageSize", "25")
		},
		func() (part, error) {
			return n.txList("x", "xtxs", "xtxs", "Transactions on the X-Chain", "addresses", address, "pageSize", "25")
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
		var last struct {
			Timestamp, BlockNumber, TxHash text
			IsConsumed                     bool
		}
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

// primaryBalances are sums by what can be done with them. Each chain has some of them.
type primaryBalances struct {
	Balances map[string][]assetAmount
}

// balanceKinds are the members of balances in words, in the order of the page.
var balanceKinds = []struct{ member, words string }{
	{"unlockedUnstaked", "Free"}, {"unlocked", "Free"}, {"unlockedStaked", "Staked"}, {"pendingStaked", "Stake that has not begun"},
	{"lockedPlatform", "Locked"}, {"locked", "Locked"}, {"lockedStakeable", "Locked, but can be staked"}, {"lockedStaked", "Locked and staked"},
	{"atomicMemoryUnlocked", "Exported, to be imported"}, {"atomicMemoryLocked", "Exported and locked"},
}

// balances shows what an address has on a chain.
func (n *primaryNet) balances(chain, address string) (part, error) {
	p := part{Title: "Balances on the " + chainNames[chain], Heads: heads("What", "#Amount", "#Outputs"), Empty: "It has nothing there."}
	if chain == "c" {
		p.Title = "Exported to or from the C-Chain"
		p.Heads = heads("What", "#Amount", "#Outputs")
		p.Empty = "Nothing waits to be imported."
	}
	var b primaryBalances
	if err := n.get(withQuery(n.onChain(chain, "balances"), "addresses", address), &b); err != nil {
		return p, p.absent(err)
	}
	for _, kind := range balanceKinds {
		for i := range b.Balances[kind.member] {
			a := &b.Balances[kind.member][i]
			what := cell{Text: kind.words}
			if a.SharedWith != "" {
				what.More = []cell{{Text: "with"}, n.shortChain(a.SharedWith)}
			}
			p.Rows = append(p.Rows, []cell{what, a.cell(n), {Text: number(a.UTXOCount), Kind: "num"}})
		}
	}
	return p, nil
}

// stakes lists the transactions whose stake is active.
func (n *primaryNet) stakes(address string) (part, error) {
	p := part{ID: "stakes", Title: "Stakes that are active", Heads: heads("Transaction", "Type", "Time", "Block", "#Amount", "Of"), Empty: "There is none."}
	var page struct {
		Transactions  []primaryTx
		NextPageToken string
	}
	if err := n.get(withQuery(n.onChain("p", "transactions:listStaking"), "addresses", address, "pageToken", n.r.Query("stakes"), "pageSize", "25"), &page); err != nil {
		return p, p.absent(err)
	}
	p.Rows = n.txRows("p", page.Transactions)
	n.paged(&p, "stakes", page.NextPageToken)
	return p, nil
}

// outputList lists the outputs of an address on a chain.
func (n *primaryNet) outputList(chain, param, address string) (part, error) {
	p := part{ID: param, Title: "Outputs on the " + chainNames[chain], Heads: heads("Made by", "Owners", "#Amount", "Type", "Time"), Empty: "It has none."}
	var page struct {
		UTXOs         []utxo
		NextPageToken string
	}
	if err := n.get(withQuery(n.onChain(chain, "utxos"), "addresses", address, "pageToken", n.r.Query(param), "pageSize", "25"), &page); err != nil {
		return p, p.absent(err)
	}
	for i := range page.UTXOs {
		o := &page.UTXOs[i]
		when := o.BlockTimestamp
		if when == "" {
			when = o.Timestamp
		}
		row := append([]cell{n.madeBy(o, chain)}, n.outputCells(o)...)
		p.Rows = append(p.Rows, append(row, timeCell(when)))
	}
	n.paged(&p, param, page.NextPageToken)
	return p, nil
}

// primaryAsset is what is known of an asset of the X-Chain.
type primaryAsset struct {
	AssetID            text
	Name, Symbol       string
	Denomination       int
	Type               string
	CreatedAtTimestamp text
	Cap                string
}

// asset shows an asset and the transactions that move it.
func (n *primaryNet) asset(v *primaryView) error {
	var a primaryAsset
	id := n.r.Param("assetId")
	var unknown *Error
	if err := n.get(n.onChain("x", "assets", id), &a); err != nil && (!errors.As(err, &unknown) || unknown.Status != http.StatusNotFound) {
		return err
	}
	txs := part{ID: "page", Title: "Transactions", Heads: heads("Transaction", "Type", "Time", "Block", "#Amount", "Of"), Empty: "There is none."}
	var page struct {
		Transactions  []primaryTx
		NextPageToken string
	}
	if err := n.get(withQuery(n.onChain("x", "assets", id, "transactions"), "pageToken", n.r.Query("page"), "pageSize", "25"), &page); err != nil {
		if err := txs.absent(err); err != nil {
			return err
		}
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
		if a.CreatedAtTimestamp.unix() {
			p.add("Made", timeCell(a.CreatedAtTimestamp))
		}
	case len(page.Transactions) == 0:
		return unknown
	default: // AVAX is one
		v.Title, v.ID = "Asset", id
		p.Note = "The transaction that made this asset is not known here: it belongs to the genesis, or is older than the index."
	}
	txs.Rows = n.txRows("x", page.Transactions)
	n.paged(&txs, "page", page.NextPageToken)
	v.Parts = []part{p, txs}
	return nil
}
