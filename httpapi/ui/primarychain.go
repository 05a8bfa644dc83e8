package ui

import (
	"math/big"
	"net/http"
	"strconv"
	"strings"

	"quorate/httpapi/ui/plain"
)

// chainNames are the chains by how our paths name them, and chainAliases how the API does.
var (
	chainNames   = map[string]string{"p": "P-Chain", "x": "X-Chain", "c": "C-Chain"}
	chainAliases = map[string]string{"p": "p-chain", "x": "x-chain", "c": "c-chain"}
)

// share returns some of a whole in per cent, 0 if it is not known.
func share(some, whole text) float64 {
	a, ok := new(big.Rat).SetString(string(some))
	b, also := new(big.Rat).SetString(string(whole))
	if !ok || !also || b.Sign() == 0 {
		return 0
	}
	f, _ := a.Quo(a.Mul(a, big.NewRat(100, 1)), b).Float64()
	return f
}

// primaryBlock is a block of the P-, X- or C-Chain.
type primaryBlock struct {
	BlockNumber             text
	BlockHash               text
	ParentHash              text
	BlockTimestamp          text
	BlockType               string
	TxCount                 text
	Transactions            []text
	BlockSizeBytes          text
	L1ValidatorsAccruedFees text
	ActiveL1Validators      text
	CurrentSupply           text
	ProposerDetails         struct {
		ProposerID           text
		ProposerParentID     text
		ProposerNodeID       text
		ProposerPChainHeight text
		ProposerTimestamp    text
	}
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

// blockList returns the latest blocks of a chain, and a table of them.
func (n *primaryNet) blockList(chain string, query ...string) ([]primaryBlock, part, error) {
	var page struct {
		Blocks        []primaryBlock
		NextPageToken string
	}
	p := part{Heads: heads("Height", "Time", "Type", "#Transactions", "#Size", "Proposer", "ID"), Empty: "No block is indexed yet."}
	if err := n.get(withQuery(n.onChain(chain, "blocks"), query...), &page); err != nil {
		return nil, p, p.absent(err)
	}
	n.paged(&p, "blocks", page.NextPageToken)
	p.Rows = n.blockRows(chain, page.Blocks)
	return page.Blocks, p, nil
}

func (n *primaryNet) blockRows(chain string, blocks []primaryBlock) [][]cell {
	var rows [][]cell
	for i := range blocks {
		b := &blocks[i]
		link := n.link(chain, "block", string(b.BlockNumber))
		rows = append(rows, []cell{
			{Text: plain.Digits(string(b.BlockNumber)), Link: link}, timeCell(b.BlockTimestamp), textCell(b.BlockType), numCell(b.TxCount),
			{Text: sizeOf(b.BlockSizeBytes), Kind: "num"}, n.nodeCell(b.ProposerDetails.ProposerNodeID), hashCell(b.BlockHash, link),
		})
	}
	return rows
}

// nodeCell links a node to its page.
func (n *primaryNet) nodeCell(id text) cell {
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
	_, blocks, err := n.blockList(chain, "pageToken", n.r.Query("blocks"), "pageSize", "25")
	if err != nil {
		return err
	}
	blocks.ID, blocks.Title, blocks.Live = "blocks", "Blocks", n.r.Query("blocks") == ""
	txs, err := n.txList(chain, "page", "page", "Transactions", "pageSize", "25")
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
	var b primaryBlock
	if err := n.get(n.onChain(chain, "blocks", n.r.Param("blockId")), &b); err != nil {
		return err
	}
	v.Title, v.ID = "Block "+plain.Digits(string(b.BlockNumber))+" of the "+chainNames[chain], string(b.BlockHash)
	p := part{Title: "Block"}
	p.add("Height", cell{Text: plain.Digits(string(b.BlockNumber)), More: n.neighbours(chain, b.BlockNumber)})
	p.add("Time", timeCell(b.BlockTimestamp))
	p.add("Type", textCell(b.BlockType))
	p.add("Parent", hashCell(b.ParentHash, n.link(chain, "block", string(b.ParentHash))))
	p.add("Transactions", cell{Text: plain.Digits(string(b.TxCount))})
	p.add("Size", cell{Text: sizeOf(b.BlockSizeBytes)})
	if b.CurrentSupply != "" {
		p.add("Supply after it", cell{Text: navax(b.CurrentSupply).Text})
	}
	if b.ActiveL1Validators != "" {
		p.add("Active validators of L1s", cell{Text: plain.Digits(string(b.ActiveL1Validators))})
		p.add("Fees they have paid", cell{Text: navax(b.L1ValidatorsAccruedFees).Text})
	}
	d := &b.ProposerDetails
	p.add("Proposed by", n.nodeCell(d.ProposerNodeID))
	if d.ProposerTimestamp.unix() {
		p.add("Proposed at", timeCell(d.ProposerTimestamp))
	}
	p.add("P-Chain height of the proposer", cell{Text: plain.Digits(string(d.ProposerPChainHeight))})
	p.add("ID with the proposer's header", hashCell(d.ProposerID, ""))
	v.Parts = []part{p, n.txIDs(chain, b.Transactions)}
	return nil
}

// neighbours are the links to the blocks before and behind one.
func (n *primaryNet) neighbours(chain string, height text) []cell {
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
func (n *primaryNet) txIDs(chain string, ids []text) part {
	p := part{Title: "Transactions", Heads: heads("#", "Transaction"), Empty: "It has no transactions of this kind."}
	p.Heads[0] = head{Name: "Position", Num: true}
	for i, id := range ids {
		p.Rows = append(p.Rows, []cell{{Text: strconv.Itoa(i), Kind: "num"}, {Text: string(id), Link: n.link(chain, "tx", string(id)), Kind: "hash"}})
	}
	return p
}

// primaryVertex is a vertex of the X-Chain.
type primaryVertex struct {
	VertexHash      text
	ParentHashes    []text
	VertexHeight    text
	VertexIndex     text
	VertexTimestamp text
	TxCount         text
	Transactions    []text
	VertexSizeBytes text
}

// vertices lists those of the X-Chain, all or those of a height.
func (n *primaryNet) vertices(v *primaryView) error {
	v.Title = "Vertices of the X-Chain"
	v.Lead = "Until April 2023 the X-Chain was a graph of vertices. Several can have the same height."
	p := part{ID: "vertices", Title: "Vertices", Heads: heads("#Height", "#Index", "Time", "#Transactions", "#Size", "ID"), Empty: "There is none."}
	path := withQuery(n.onChain("x", "vertices"), "pageToken", n.r.Query("page"), "pageSize", "25")
	if height := n.r.Query("height"); height != "" {
		p.Title = "Vertices of height " + plain.Digits(height)
		path = withQuery(n.onChain("x", "vertices:listByHeight"), "vertexHeight", height, "pageToken", n.r.Query("page"), "pageSize", "25")
		v.Filters = []navLink{{Text: "All heights", Link: n.link("vertices")}, {Text: "Height " + plain.Digits(height), Link: n.here("page", ""), Current: true}}
	}
	var page struct {
		Vertices      []primaryVertex
		NextPageToken string
	}
	if err := n.get(path, &page); err != nil {
		if err := p.absent(err); err != nil {
			return err
		}
	}
	for i := range page.Vertices {
		x := &page.Vertices[i]
		p.Rows = append(p.Rows, []cell{
			{Text: plain.Digits(string(x.VertexHeight)), Kind: "num", Link: withQuery(n.link("vertices"), "height", string(x.VertexHeight))},
			numCell(x.VertexIndex), timeCell(x.VertexTimestamp), numCell(x.TxCount), {Text: sizeOf(x.VertexSizeBytes), Kind: "num"},
			hashCell(x.VertexHash, n.link("vertex", string(x.VertexHash))),
		})
	}
	n.paged(&p, "page", page.NextPageToken)
	v.Parts = []part{p}
	return nil
}

// vertex shows one vertex.
func (n *primaryNet) vertex(v *primaryView) error {
	var x primaryVertex
	if err := n.get(n.onChain("x", "vertices", n.r.Param("vertexHash")), &x); err != nil {
		return err
	}
	v.Title, v.ID = "Vertex of the X-Chain", string(x.VertexHash)
	p := part{Title: "Vertex"}
	p.add("Height", cell{Text: plain.Digits(string(x.VertexHeight)), Link: withQuery(n.link("vertices"), "height", string(x.VertexHeight))})
	p.add("Index", cell{Text: plain.Digits(string(x.VertexIndex))})
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
func (n *primaryNet) chainByID(id text, other string) string {
	if id == "" {
		return other
	}
	if len(n.ids) == 0 {
		n.ids = map[text]string{platformID: "p"}
		for _, chain := range []string{"x", "c"} {
			var b struct{ BlockchainID text }
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
func (n *primaryNet) contractChain() text {
	n.chainByID(platformID, "")
	for id, chain := range n.ids {
		if chain == "c" {
			return id
		}
	}
	return ""
}

// shortChain names a chain of the primary network by its ID where that is known.
func (n *primaryNet) shortChain(id text) cell {
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
		cells = append(cells, hashCell(text(a), n.link("address", a)))
	}
	return cells
}
