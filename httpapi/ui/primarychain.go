package ui

import (
	"math/big"
	"net/http"
	"strconv"
	"strings"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// chainNames are the chains by how our paths name them, and chainAliases how the API does.
var (
	chainNames   = map[string]string{"p": "P-Chain", "x": "X-Chain", "c": "C-Chain"}
	chainAliases = map[string]string{"p": "p-chain", "x": "x-chain", "c": "c-chain"}
)

// share returns some of a whole in per cent, 0 if it is not known.
func share(some, whole shape.Digits) float64 {
	a, ok := new(big.Rat).SetString(string(some))
	b, also := new(big.Rat).SetString(string(whole))
	if !ok || !also || b.Sign() == 0 {
		return 0
	}
	f, _ := a.Quo(a.Mul(a, big.NewRat(100, 1)), b).Float64()
	return f
}

// chainOf returns the chain that the path names.
func (n *primaryNet) chainOf() (string, error) {
	chain := n.r.Param("chain")
	if chainNames[chain] == "" {
		return "", errorf(http.StatusNotFound, "there is no page %s; the chains of the primary network are p, x and c", plain.Text(n.r.Path(), 100))
	}
	return chain, nil
}

func (n *primaryNet) onChain(chain string, segments ...string) string {
	return n.api(append([]string{"blockchains", chainAliases[chain]}, segments...)...)
}

// blockList returns blocks of a chain, and a table of them.
func (n *primaryNet) blockList(chain, id, param, path, size string) ([]shape.PrimaryBlock, part, error) {
	var page shape.PrimaryBlocks
	p := part{ID: id, Heads: heads("Height", "Time", "Type", "#Transactions", "#Size", "Proposer", "ID"), Empty: "No block is indexed yet."}
	err := n.list(&p, &page, &page.Page, param, path, "pageSize", size)
	for i := range page.Blocks {
		b := &page.Blocks[i]
		link := n.link(chain, "block", string(b.BlockNumber))
		proposer := cell{}
		if b.ProposerDetails != nil {
			proposer = n.nodeCell(b.ProposerDetails.ProposerNodeID)
		}
		p.Rows = append(p.Rows, []cell{
			{Text: plain.Digits(string(b.BlockNumber)), Link: link}, timeCell(b.BlockTimestamp), textCell(b.BlockType), numCell(b.TxCount),
			{Text: sizeOf(b.BlockSizeBytes), Kind: "num"}, proposer, hashCell(b.BlockHash, link),
		})
	}
	return page.Blocks, p, err
}

// nodeCell links a node to its page.
func (n *primaryNet) nodeCell(id shape.NodeID) cell {
	if id == "" {
		return cell{}
	}
	return hashCell(id, n.link("validator", string(id)))
}

// chain shows the latest blocks and transactions of a chain.
func (n *primaryNet) chain(v *primaryView) error {
	chain, err := n.chainOf()
	if err != nil {
		return err
	}
	v.Title = chainNames[chain]
	_, blocks, err := n.blockList(chain, "", "blocks", n.onChain(chain, "blocks"), "25")
	if err != nil {
		return err
	}
	blocks.ID, blocks.Title, blocks.Live = "blocks", "Blocks", n.r.Query("blocks") == ""
	txs, err := n.txList(chain, "page", "Transactions", n.onChain(chain, "transactions"))
	if err != nil {
		return err
	}
	txs.Live = n.r.Query("page") == ""
	switch chain {
	case "c":
		v.Lead = "What the C-Chain imported from the other chains and exported to them. Its other transactions are on the chain's own page."
		v.Parts = []part{txs, blocks}
	case "x":
		blocks.More = navLink{Text: "The vertices from before there were blocks", Link: n.link("vertices")}
		v.Parts = []part{blocks, txs}
	default:
		v.Parts = []part{blocks, txs}
	}
	return nil
}

// block shows one block of a chain.
func (n *primaryNet) block(v *primaryView) error {
	chain, err := n.chainOf()
	if err != nil {
		return err
	}
	var b shape.PrimaryBlock
	if err := n.get(n.onChain(chain, "blocks", n.r.Param("blockId")), &b); err != nil {
		return err
	}
	v.Title, v.ID = "Block "+plain.Digits(string(b.BlockNumber))+" of the "+chainNames[chain], string(b.BlockHash)
	p := part{Title: "Block"}
	p.add("Height", cell{Text: plain.Digits(string(b.BlockNumber)), More: n.neighbours(chain, b.BlockNumber)})
	p.add("Time", timeCell(b.BlockTimestamp))
	p.add("Type", textCell(b.BlockType))
	p.add("Parent", hashCell(b.ParentHash, n.link(chain, "block", string(b.ParentHash))))
	p.add("Transactions", cell{Text: numCell(b.TxCount).Text})
	p.add("Size", cell{Text: sizeOf(b.BlockSizeBytes)})
	if b.CurrentSupply != "" {
		p.add("Supply after it", cell{Text: navax(b.CurrentSupply).Text})
	}
	if b.ActiveL1Validators != nil {
		p.add("Active validators of L1s", cell{Text: numCell(*b.ActiveL1Validators).Text})
	}
	if b.L1ValidatorsAccruedFees != nil {
		p.add("Fees they have paid", cell{Text: navax(*b.L1ValidatorsAccruedFees).Text})
	}
	if d := b.ProposerDetails; d != nil {
		proposerPairs(n, &p, d)
	}
	v.Parts = []part{p, n.txIDs(chain, b.Transactions)}
	return nil
}

func proposerPairs(n *primaryNet, p *part, d *shape.Proposer) {
	p.add("Proposed by", n.nodeCell(d.ProposerNodeID))
	if d.ProposerTimestamp > 0 {
		p.add("Proposed at", timeCell(d.ProposerTimestamp))
	}
	if d.ProposerPChainHeight != nil {
		p.add("P-Chain height of the proposer", cell{Text: numCell(*d.ProposerPChainHeight).Text})
	}
	p.add("ID with the proposer's header", hashCell(d.ProposerID, ""))
}

// neighbours are the links to the blocks before and behind one.
func (n *primaryNet) neighbours(chain string, height shape.Digits) []cell {
	h, err := strconv.ParseInt(string(height), 10, 64)
	if err != nil {
		return nil
	}
	var list []cell
	if h > 0 {
		list = append(list, cell{Text: "before", Link: n.link(chain, "block", strconv.FormatInt(h-1, 10))})
	}
	return append(list, cell{Text: "next", Link: n.link(chain, "block", strconv.FormatInt(h+1, 10))})
}

// txIDs is a table of transactions of which only the IDs are known.
func (n *primaryNet) txIDs(chain string, ids []shape.ID) part {
	p := part{Title: "Transactions", Heads: heads("#", "Transaction"), Empty: "It has no transactions of this kind."}
	p.Heads[0] = head{Name: "Position", Num: true}
	for i, id := range ids {
		p.Rows = append(p.Rows, []cell{{Text: strconv.Itoa(i), Kind: "num"}, {Text: string(id), Link: n.link(chain, "tx", string(id)), Kind: "hash"}})
	}
	return p
}

// vertices lists those of the X-Chain, all or those of a height.
func (n *primaryNet) vertices(v *primaryView) error {
	v.Title = "Vertices of the X-Chain"
	v.Lead = "Until April 2023 the X-Chain was a graph of vertices. Several can have the same height."
	p := part{ID: "vertices", Title: "Vertices", Heads: heads("#Height", "#Index", "Time", "#Transactions", "#Size", "ID"), Empty: "There is none."}
	path, query := n.onChain("x", "vertices"), []string{"pageSize", "25"}
	if height := n.r.Query("height"); height != "" {
		p.Title = "Vertices of height " + plain.Digits(height)
		path, query = n.onChain("x", "vertices:listByHeight"), append(query, "vertexHeight", height)
		v.Filters = []navLink{{Text: "All heights", Link: n.link("vertices")}, {Text: "Height " + plain.Digits(height), Link: n.here("page", ""), Current: true}}
	}
	var page shape.Vertices
	if err := n.list(&p, &page, &page.Page, "page", path, query...); err != nil {
		return err
	}
	for i := range page.Vertices {
		x := &page.Vertices[i]
		p.Rows = append(p.Rows, []cell{
			vertexHeight(n, x),
			numCell(x.VertexIndex), timeCell(x.VertexTimestamp), numCell(x.TxCount), {Text: sizeOf(x.VertexSizeBytes), Kind: "num"},
			hashCell(x.VertexHash, n.link("vertex", string(x.VertexHash))),
		})
	}
	v.Parts = []part{p}
	return nil
}

// vertexHeight links the height of a vertex to all that have it.
func vertexHeight(n *primaryNet, x *shape.Vertex) cell {
	c := numCell(x.VertexHeight)
	c.Link = withQuery(n.link("vertices"), "height", wordOf(x.VertexHeight))
	return c
}

// vertex shows one vertex.
func (n *primaryNet) vertex(v *primaryView) error {
	var x shape.Vertex
	if err := n.get(n.onChain("x", "vertices", n.r.Param("vertexHash")), &x); err != nil {
		return err
	}
	v.Title, v.ID = "Vertex of the X-Chain", string(x.VertexHash)
	p := part{Title: "Vertex"}
	height := vertexHeight(n, &x)
	height.Kind = ""
	p.add("Height", height)
	p.add("Index", cell{Text: numCell(x.VertexIndex).Text})
	p.add("Time", timeCell(x.VertexTimestamp))
	p.add("Size", cell{Text: sizeOf(x.VertexSizeBytes)})
	var parents []cell
	for _, id := range x.ParentHashes {
		parents = append(parents, hashCell(id, n.link("vertex", string(id))))
	}
	p.add("Parents", parents...)
	v.Parts = []part{p, n.txIDs("x", x.Transactions)}
	return nil
}

// platformID is the blockchain ID of every P-Chain, and the subnet ID of the primary network.
const platformID = "11111111111111111111111111111111LpoYY"

// chainByID returns how our paths name a chain of the primary network, and other if it is
// none that is known.
func (n *primaryNet) chainByID(id shape.ID, other string) string {
	if id == "" {
		return other
	}
	if len(n.ids) == 0 {
		n.ids = map[shape.ID]string{platformID: "p"}
		for _, chain := range []string{"x", "c"} {
			var b shape.Blockchain
			if n.get(n.onChain(chain), &b) == nil { // without it the chain is shown by its ID
				n.ids[b.BlockchainID] = chain
			}
		}
	}
	if chain := n.ids[id]; chain != "" {
		return chain
	}
	return other
}

// contractChain returns the ID of the C-Chain, empty if it is not known.
func (n *primaryNet) contractChain() shape.ID {
	n.chainByID(platformID, "")
	for id, chain := range n.ids {
		if chain == "c" {
			return id
		}
	}
	return ""
}

// shortChain names a chain of the primary network by its ID where that is known.
func (n *primaryNet) shortChain(id shape.ID) cell {
	if id == "" {
		return cell{}
	}
	if chain := n.chainByID(id, ""); chain != "" {
		return cell{Text: chainNames[chain], Link: n.link(chain)}
	}
	return hashCell(id, "")
}

// addressCells links addresses to their pages.
func (n *primaryNet) addressCells(list []string) []cell {
	var cells []cell
	for _, a := range list {
		if strings.HasPrefix(a, "0x") {
			cells = append(cells, n.account(n.contractChain(), a))
			continue
		}
		cells = append(cells, hashCell(a, n.link("address", a)))
	}
	return cells
}
