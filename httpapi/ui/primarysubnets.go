package ui

import (
	"strconv"
	"time"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// subnetKind says whether a subnet is an L1.
func subnetKind(s *shape.Subnet) cell {
	if s.IsL1 {
		return cell{Text: "L1", Kind: "badge", Mark: "ok"}
	}
	return cell{Text: "subnet", Kind: "badge"}
}

// subnets lists the subnets of the network.
func (n *primaryNet) subnets(v *primaryView) error {
	v.Title = "Subnets"
	p := part{ID: "subnets", Title: "Subnets and L1s", Heads: heads("Subnet", "Kind", "Blockchains", "Made", "#Owners", "#Needed"), Empty: "There is none."}
	var page shape.Subnets
	if err := n.list(&p, &page, &page.Page, "page", n.api("subnets"), "pageSize", "25"); err != nil {
		return err
	}
	for i := range page.Subnets {
		s := &page.Subnets[i]
		var names []cell
		for _, b := range s.Blockchains {
			names = append(names, textCell(b.BlockchainName))
		}
		p.Rows = append(p.Rows, []cell{hashCell(s.SubnetID, n.link("subnet", string(s.SubnetID))), subnetKind(s), firstOf(names), timeCell(s.CreateBlockTimestamp),
			{Text: strconv.Itoa(len(s.OwnerAddresses)), Kind: "num"}, numCell(s.Threshold)})
	}
	v.Parts = []part{p}
	return nil
}

// subnet shows one with its blockchains and validators.
func (n *primaryNet) subnet(v *primaryView) error {
	var s shape.Subnet
	if err := n.get(n.api("subnets", n.r.Param("subnetId")), &s); err != nil {
		return err
	}
	v.Title, v.ID = "Subnet", string(s.SubnetID)
	if s.IsL1 {
		v.Title = "L1"
	}
	p := part{Title: v.Title}
	p.add("Kind", subnetKind(&s))
	p.add("Made", timeCell(s.CreateBlockTimestamp), cell{Text: "in block " + plain.Digits(string(s.CreateBlockIndex)), Link: n.link("p", "block", string(s.CreateBlockIndex))})
	p.add("Owners", n.addressCells(s.OwnerAddresses)...)
	p.add("Signatures needed", cell{Text: numCell(s.Threshold).Text, Note: "of the owners, to change it"})
	p.add("Locked until", lockCell(s.Locktime))
	p.add("Converted to an L1 by", n.pTx(s.L1ConversionTransactionHash))
	if m := s.L1ValidatorManagerDetails; m != nil {
		p.add("Manager's chain", n.shortChain(m.BlockchainID))
		p.add("Manager's contract", n.account(m.BlockchainID, string(m.ContractAddress)))
	}
	chains := chainTable("Blockchains")
	chains.Rows = n.chainRows(s.Blockchains)
	chains.without("Subnet")
	v.Parts = []part{p, chains}
	id := string(s.SubnetID)
	if s.IsL1 {
		inactive := n.r.Query("inactive") != ""
		choice := ""
		v.Filters = []navLink{
			{Text: "Active validators", Link: withQuery(n.r.Path(), "network", n.r.Query("network")), Current: !inactive},
			{Text: "With inactive ones", Link: withQuery(n.r.Path(), "network", n.r.Query("network"), "inactive", "1"), Current: inactive},
		}
		if inactive {
			choice = "true"
		}
		l1, _, err := n.l1List("l1", "subnetId", id, "includeInactiveL1Validators", choice, "pageSize", "50")
		if err != nil {
			return err
		}
		l1.Title = "Validators of the L1"
		l1.without("Subnet")
		v.Parts = append(v.Parts, l1)
	}
	list, err := n.validatorList("validations", "subnetId", id, "pageSize", "50")
	if err != nil {
		return err
	}
	list.Title = "Validators that its owners added"
	if id == platformID {
		list.Title = "Validators"
	} else {
		list.Empty = "The subnet's owners added no validators."
		list.without("Delegated", "Delegations", "Fee", "Uptime", "Version")
	}
	v.Parts = append(v.Parts, list)
	return nil
}

// blockchains lists the blockchains of the network.
func (n *primaryNet) blockchains(v *primaryView) error {
	v.Title = "Blockchains"
	p := chainTable("Blockchains of all subnets")
	var page shape.Blockchains
	err := n.list(&p, &page, &page.Page, "page", n.api("blockchains"), "pageSize", "50")
	p.Rows = n.chainRows(page.Blockchains)
	v.Parts = []part{p}
	return err
}

// chainTable is a table of blockchains.
func chainTable(title string) part {
	return part{ID: "chains", Title: title, Heads: heads("Name", "Blockchain", "#EVM chain", "Virtual machine", "Subnet", "Made"), Empty: "There is none."}
}

// chainRows are those of blockchains. Those that are indexed here link to their pages.
func (n *primaryNet) chainRows(list []shape.Blockchain) (rows [][]cell) {
	for i := range list {
		b := &list[i]
		name := textCell(b.BlockchainName)
		if id := n.evmChain(b.BlockchainID); id != "" {
			name.Link = join("/chain", string(id))
		}
		evm := cell{Kind: "num"}
		if b.EVMChainID != 0 {
			evm.Text = wordOf(b.EVMChainID)
		}
		subnet := hashCell(b.SubnetID, n.link("subnet", string(b.SubnetID)))
		if b.SubnetID == platformID {
			subnet = cell{Text: "primary network"}
		}
		rows = append(rows, []cell{name, hashCell(b.BlockchainID, ""), evm, hashCell(b.VMID, ""), subnet, timeCell(b.CreateBlockTimestamp)})
	}
	return rows
}

// evmChain returns the number of a chain that is indexed here, empty if it is not.
func (n *primaryNet) evmChain(id shape.ID) shape.Digits {
	if n.evm == nil {
		n.evm = map[shape.ID]shape.Digits{}
		var served shape.Chains
		if n.get("/v1/chains", &served) == nil { // without it there are no links
			for _, c := range served.Chains {
				n.evm[shape.ID(c.PlatformChainID)] = c.ChainID
			}
		}
	}
	return n.evm[id]
}

// account shows an account of an EVM chain. It has a page if the chain is indexed here.
func (n *primaryNet) account(chain shape.ID, address string) cell {
	c := cell{Text: plain.Text(address, maxText), Kind: "raw"}
	if id := n.evmChain(chain); id != "" && address != "" {
		c.Link = join("/chain", string(id), "address", address)
	}
	return c
}

// l1List lists validators of L1s, and returns how many are on the page.
func (n *primaryNet) l1List(param string, query ...string) (part, int, error) {
	p := l1Table("L1s that it validates")
	var page shape.L1Validators
	err := n.list(&p, &page, &page.Page, param, n.api("l1Validators"), query...)
	if page.BlockHeight != "" {
		p.Note = "As of block " + plain.Digits(string(page.BlockHeight)) + " of the P-Chain."
	}
	p.Rows = n.l1Rows(page.Validators)
	return p, len(page.Validators), err
}

// maxSeconds is how many a duration has room for.
const maxSeconds = uint64(1<<63-1) / uint64(time.Second)

// l1Table is a table of validators of L1s.
func l1Table(title string) part {
	return part{ID: "l1", Title: title, Heads: heads("Node", "Subnet", "#Weight", "#Balance", "#Lasts", "Since", "State", "Validation"), Empty: "There is none."}
}

func (n *primaryNet) l1Rows(list []shape.L1Validator) (rows [][]cell) {
	for i := range list {
		x := &list[i]
		state := cell{Text: "active", Kind: "badge", Mark: "ok"}
		lasts := cell{}
		if x.SecondsLeft != nil {
			lasts = lasting(time.Duration(min(*x.SecondsLeft, maxSeconds)) * time.Second)
		}
		if x.RemainingBalance == 0 {
			state, lasts = cell{Text: "out of balance", Kind: "badge", Mark: "bad"}, cell{}
		}
		since := cell{}
		if x.CreationTimestamp > 0 {
			since = timeCell(x.CreationTimestamp)
		}
		rows = append(rows, []cell{n.nodeCell(x.NodeID), hashCell(x.SubnetID, n.link("subnet", string(x.SubnetID))), numCell(x.Weight),
			navax(x.RemainingBalance), lasts, since, state, hashCell(x.ValidationID, "")})
	}
	return rows
}
