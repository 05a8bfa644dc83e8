package ui

import (
	"strconv"
	"time"

	"quorate/httpapi/ui/plain"
)

// primaryChain is a blockchain of a subnet.
type primaryChain struct {
	CreateBlockTimestamp, CreateBlockNumber text
	BlockchainID, VMID, SubnetID            text
	BlockchainName                          string
	EVMChainID                              text
}

// primarySubnet is a subnet with its blockchains.
type primarySubnet struct {
	CreateBlockTimestamp, CreateBlockIndex text
	SubnetID                               text
	Threshold, Locktime                    text
	OwnerAddresses                         []string
	IsL1                                   bool
	L1ConversionTransactionHash            text
	L1ValidatorManagerDetails              *struct {
		BlockchainID    text
		ContractAddress string
	}
	Blockchains []primaryChain
}

// kind says whether a subnet is an L1.
func (s *primarySubnet) kind() cell {
	if s.IsL1 {
		return cell{Text: "L1", Kind: "badge", Mark: "ok"}
	}
	return cell{Text: "subnet", Kind: "badge"}
}

// subnets lists the subnets of the network.
func (n *primaryNet) subnets(v *primaryView) error {
	v.Title = "Subnets"
	p := part{ID: "subnets", Title: "Subnets and L1s", Heads: heads("Subnet", "Kind", "Blockchains", "Made", "#Owners", "#Needed"), Empty: "There is none."}
	var page struct {
		Subnets       []primarySubnet
		NextPageToken string
	}
	if err := n.get(withQuery(n.api("subnets"), "pageToken", n.r.Query("page"), "pageSize", "25"), &page); err != nil {
		if err := p.absent(err); err != nil {
			return err
		}
	}
	for i := range page.Subnets {
		s := &page.Subnets[i]
		var names []cell
		for _, b := range s.Blockchains {
			names = append(names, textCell(b.BlockchainName))
		}
		p.Rows = append(p.Rows, []cell{hashCell(s.SubnetID, n.link("subnet", string(s.SubnetID))), s.kind(), firstOf(names), timeCell(s.CreateBlockTimestamp),
			{Text: strconv.Itoa(len(s.OwnerAddresses)), Kind: "num"}, numCell(s.Threshold)})
	}
	n.paged(&p, "page", page.NextPageToken)
	v.Parts = []part{p}
	return nil
}

// subnet shows one with its blockchains and validators.
func (n *primaryNet) subnet(v *primaryView) error {
	var s primarySubnet
	if err := n.get(n.api("subnets", n.r.Param("subnetId")), &s); err != nil {
		return err
	}
	v.Title, v.ID = "Subnet", string(s.SubnetID)
	if s.IsL1 {
		v.Title = "L1"
	}
	p := part{Title: v.Title}
	p.add("Kind", s.kind())
	p.add("Made", timeCell(s.CreateBlockTimestamp), cell{Text: "in block " + plain.Digits(string(s.CreateBlockIndex)), Link: n.link("p", "block", string(s.CreateBlockIndex))})
	p.add("Owners", n.addressCells(s.OwnerAddresses)...)
	p.add("Signatures needed", cell{Text: plain.Digits(string(s.Threshold)), Note: "of the owners, to change it"})
	if s.Locktime.unix() {
		p.add("Locked until", timeCell(s.Locktime))
	}
	p.add("Converted to an L1 by", n.pTx(s.L1ConversionTransactionHash))
	if m := s.L1ValidatorManagerDetails; m != nil {
		p.add("Manager's chain", n.shortChain(m.BlockchainID))
		p.add("Manager's contract", n.account(m.BlockchainID, m.ContractAddress))
	}
	chains := n.chainTable("Blockchains", s.Blockchains)
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
	var page struct {
		Blockchains   []primaryChain
		NextPageToken string
	}
	err := n.get(withQuery(n.api("blockchains"), "pageToken", n.r.Query("page"), "pageSize", "50"), &page)
	p := n.chainTable("Blockchains of all subnets", page.Blockchains)
	if err != nil {
		if err := p.absent(err); err != nil {
			return err
		}
	}
	n.paged(&p, "page", page.NextPageToken)
	v.Parts = []part{p}
	return nil
}

// chainTable is a table of blockchains. Those that are indexed here link to their pages.
func (n *primaryNet) chainTable(title string, list []primaryChain) part {
	p := part{ID: "chains", Title: title, Heads: heads("Name", "Blockchain", "#EVM chain", "Virtual machine", "Subnet", "Made"), Empty: "There is none."}
	for i := range list {
		b := &list[i]
		name := textCell(b.BlockchainName)
		if id := n.evmChain(b.BlockchainID); id != "" {
			name.Link = join("/chain", string(id))
		}
		evm := numCell(b.EVMChainID)
		if evm.Text = string(b.EVMChainID); evm.Text == "0" {
			evm.Text = ""
		}
		subnet := hashCell(b.SubnetID, n.link("subnet", string(b.SubnetID)))
		if b.SubnetID == platformID {
			subnet = cell{Text: "primary network"}
		}
		p.Rows = append(p.Rows, []cell{name, hashCell(b.BlockchainID, ""), evm, hashCell(b.VMID, ""), subnet, timeCell(b.CreateBlockTimestamp)})
	}
	return p
}

// evmChain returns the number of a chain that is indexed here, empty if it is not.
func (n *primaryNet) evmChain(id text) text {
	if n.evm == nil {
		n.evm = map[text]text{}
		var served struct {
			Chains []struct{ ChainID, PlatformChainID text }
		}
		if n.get("/v1/chains", &served) == nil { // without it there are no links
			for _, c := range served.Chains {
				n.evm[c.PlatformChainID] = c.ChainID
			}
		}
	}
	return n.evm[id]
}

// account shows an account of an EVM chain. It has a page if the chain is indexed here.
func (n *primaryNet) account(chain text, address string) cell {
	c := cell{Text: plain.Text(address, maxText), Kind: "raw"}
	if id := n.evmChain(chain); id != "" && address != "" {
		c.Link = join("/chain", string(id), "address", address)
	}
	return c
}

// l1Validator is a validator of an L1.
type l1Validator struct {
	ValidationID, NodeID, SubnetID text
	Weight, RemainingBalance       text
	SecondsLeft                    text
	CreationTimestamp              text
	RemainingBalanceOwner          struct{ Addresses []string }
	BLSCredentials                 struct{ PublicKey string }
}

// l1List lists validators of L1s, and returns how many are on the page.
func (n *primaryNet) l1List(param string, query ...string) (part, int, error) {
	var page struct {
		Validators    []l1Validator
		BlockHeight   text
		NextPageToken string
	}
	err := n.get(withQuery(n.api("l1Validators"), append(query, "pageToken", n.r.Query(param))...), &page)
	p := n.l1Table("L1s that it validates", page.Validators)
	if err != nil {
		return p, 0, p.absent(err)
	}
	if page.BlockHeight != "" {
		p.Note = "As of block " + plain.Digits(string(page.BlockHeight)) + " of the P-Chain."
	}
	n.paged(&p, param, page.NextPageToken)
	return p, len(page.Validators), nil
}

// maxSeconds is how many a duration has room for.
const maxSeconds = uint64(1<<63-1) / uint64(time.Second)

func (n *primaryNet) l1Table(title string, list []l1Validator) part {
	p := part{ID: "l1", Title: title, Heads: heads("Node", "Subnet", "#Weight", "#Balance", "#Lasts", "Since", "State", "Validation"), Empty: "There is none."}
	for i := range list {
		x := &list[i]
		state := cell{Text: "active", Kind: "badge", Mark: "ok"}
		lasts := cell{}
		if n, err := strconv.ParseUint(string(x.SecondsLeft), 10, 64); err == nil {
			lasts = lasting(time.Duration(min(n, maxSeconds)) * time.Second)
		}
		if x.RemainingBalance == "0" {
			state, lasts = cell{Text: "out of balance", Kind: "badge", Mark: "bad"}, cell{}
		}
		since := cell{}
		if x.CreationTimestamp.unix() {
			since = timeCell(x.CreationTimestamp)
		}
		p.Rows = append(p.Rows, []cell{n.nodeCell(x.NodeID), hashCell(x.SubnetID, n.link("subnet", string(x.SubnetID))), numCell(x.Weight),
			navax(x.RemainingBalance), lasts, since, state, hashCell(x.ValidationID, "")})
	}
	return p
}
