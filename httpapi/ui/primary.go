package ui

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// primaryPages are those of the primary network: its P- and X-Chain, and what the
// C-Chain exchanges with them.
func (s *Site) primaryPages() []Page {
	page := func(pattern string, units int, show func(n *primaryNet, v *primaryView) error) Page {
		return Page{Pattern: pattern, Units: units, Serve: func(r *Request) error { return servePrimary(r, show) }}
	}
	return []Page{
		page("/primary", 60, (*primaryNet).overview),
		page("/primary/validators", 20, (*primaryNet).validators),
		page("/primary/validator/{nodeId}", 100, (*primaryNet).validator),
		page("/primary/delegations", 20, (*primaryNet).delegations),
		page("/primary/subnets", 20, (*primaryNet).subnets),
		page("/primary/subnet/{subnetId}", 60, (*primaryNet).subnet),
		page("/primary/blockchains", 20, (*primaryNet).blockchains),
		page("/primary/address/{address}", 200, (*primaryNet).address),
		page("/primary/asset/{assetId}", 40, (*primaryNet).asset),
		page("/primary/vertices", 20, (*primaryNet).vertices),
		page("/primary/vertex/{vertexHash}", 20, (*primaryNet).vertex),
		page("/primary/{chain}", 40, (*primaryNet).chain),
		page("/primary/{chain}/block/{blockId}", 20, (*primaryNet).block),
		page("/primary/{chain}/tx/{txHash}", 20, (*primaryNet).tx),
	}
}

// primaryNet is the primary network that a page is about.
type primaryNet struct {
	r     *Request
	name  string   // mainnet, fuji or testnet
	names []string // that are served
	// ids are our names of chains by their IDs, and evm the numbers of the EVM chains that are
	// indexed here. They are asked for when they are needed.
	ids map[shape.ID]string
	evm map[shape.ID]shape.Digits
	// said is what the API said of the state of each chain's index.
	said map[string]Answer
}

// servePrimary renders a page of the network that the query names, or of the first one
// that is served.
func servePrimary(r *Request, show func(n *primaryNet, v *primaryView) error) error {
	n := &primaryNet{r: r}
	if err := n.find(); err != nil {
		return err
	}
	v := &primaryView{Network: n.name}
	if err := show(n, v); err != nil {
		return err
	}
	if len(n.names) > 1 {
		for _, name := range n.names {
			v.Networks = append(v.Networks, navLink{name, withQuery("/primary", "network", name), name == n.name})
		}
	}
	v.Tabs, v.Notices = n.tabs(), n.notices()
	v.clean()
	return r.Render("primary", v.Title, v)
}

// get asks the API, and keeps what it says of the state of a chain's index.
func (n *primaryNet) get(path string, into any) error {
	a := n.r.Ask(path)
	if a.Indexed != "" || a.Height != "" || a.Gaps != "" {
		chain := "p"
		for name, alias := range chainAliases {
			if strings.Contains(path, "/blockchains/"+alias) {
				chain = name
			}
		}
		if n.said == nil {
			n.said = map[string]Answer{}
		}
		n.said[chain] = a
	}
	return a.decode(path, into)
}

// notices say what is not whole of what a page shows.
func (n *primaryNet) notices() []string {
	var list []string
	for _, chain := range slices.Sorted(maps.Keys(n.said)) {
		a := n.said[chain]
		name := chainNames[chain]
		if why := stopped(a.Gaps); why != "" {
			list = append(list, "The index of the "+name+" stands still: "+why+". What is shown is as of the block before.")
			continue
		}
		switch {
		case a.Indexed != "" && a.Height != "":
			list = append(list, "The "+name+" is still being indexed: block "+plain.Digits(a.Indexed)+" of "+plain.Digits(a.Height)+". What is shown is as of that block.")
		case a.Height != "":
			list = append(list, "The "+name+" is still being indexed: it has "+plain.Digits(a.Height)+" blocks.")
		}
		if a.Gaps != "" {
			list = append(list, "Not everything of the "+name+" is there: "+plain.Text(a.Gaps, 300))
		}
	}
	return list
}

// find looks which networks are served. A network that is served but has nothing to show
// yet says so in each part of a page.
func (n *primaryNet) find() error {
	wanted := n.r.Query("network")
	var reason error
	for _, name := range []string{"mainnet", "fuji"} {
		var any struct{}
		err := n.get("/v1/networks/"+name+"/blockchains?pageSize=1", &any)
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusNotFound {
			if reason == nil || name == wanted {
				reason = err
			}
			continue
		}
		if err != nil && e == nil {
			return err
		}
		n.names = append(n.names, name)
	}
	if wanted == "testnet" { // the other name of fuji
		wanted = "fuji"
	}
	switch {
	case wanted != "" && wanted != "mainnet" && wanted != "fuji":
		return errorf(http.StatusNotFound, "network %q is unknown; there are mainnet, fuji and testnet", wanted)
	case wanted != "" && slices.Contains(n.names, wanted):
		n.name = wanted
	case wanted == "" && len(n.names) > 0:
		n.name = n.names[0]
	default:
		return reason
	}
	return nil
}

// link returns the path of a page of this network.
func (n *primaryNet) link(segments ...string) string {
	path := join("/primary", segments...)
	if n.name != n.names[0] {
		path = withQuery(path, "network", n.name)
	}
	return path
}

// api returns a path of the API below this network.
func (n *primaryNet) api(segments ...string) string {
	return join(join("/v1/networks", n.name), segments...)
}

// here returns the path of this page with what its query has, but for one parameter.
func (n *primaryNet) here(name, value string) string {
	path := n.r.Path()
	for _, q := range pageParams {
		if q == name {
			continue
		}
		path = withQuery(path, q, n.r.Query(q))
	}
	return withQuery(path, name, value)
}

// pageParams are the parameters of the queries of these pages: what is chosen, and the
// tokens of the lists.
var pageParams = []string{"network", "status", "subnet", "inactive", "spent", "height", "page", "blocks", "delegators", "pending", "rewards", "proposed", "l1", "putxos", "xutxos", "ptxs", "xtxs", "stakes", "validations"}

// list asks for a page of a list, and sets the links to its other pages. param is the
// parameter of this page's query that has the token of the page. What the API refuses
// leaves the page empty, and the part says why.
func (n *primaryNet) list(p *part, into any, page *shape.Page, param, path string, query ...string) error {
	path = withQuery(path, append(query, "pageToken", n.r.Query(param))...)
	if err := n.get(path, into); err != nil {
		return p.absent(err)
	}
	p.pager = n.r.files(path)
	n.paged(p, param, page.NextPageToken)
	return nil
}

// paged sets the links to the other pages of a list.
func (n *primaryNet) paged(p *part, param, next string) {
	if n.r.Query(param) != "" {
		p.First = n.here(param, "")
	}
	if next != "" {
		p.Next = n.here(param, next)
	}
	if p.ID != "" {
		for _, link := range []*string{&p.First, &p.Next} {
			if *link != "" {
				*link += "#" + p.ID
			}
		}
	}
}

// tabs are the links of all pages of the network.
func (n *primaryNet) tabs() []navLink {
	list := []navLink{
		{Text: "Overview", Link: n.link()}, {Text: "Validators", Link: n.link("validators")}, {Text: "Delegations", Link: n.link("delegations")},
		{Text: "Subnets", Link: n.link("subnets")}, {Text: "Blockchains", Link: n.link("blockchains")},
		{Text: "P-Chain", Link: n.link("p")}, {Text: "X-Chain", Link: n.link("x")}, {Text: "C-Chain imports and exports", Link: n.link("c")},
	}
	for i := range list {
		path, _, _ := strings.Cut(list[i].Link, "?")
		list[i].Current = n.r.Path() == path
	}
	return list
}

// overview shows the heights of the chains, the stake and the latest blocks.
func (n *primaryNet) overview(v *primaryView) error {
	v.Title, v.Live = "Primary network "+n.name, true
	versions := part{ID: "versions", Title: "Stake by version", Live: true, Empty: "No node says its version."}
	var d shape.NetworkDetails
	if err := n.get(n.api(), &d); err != nil {
		if err := versions.absent(err); err != nil {
			return err
		}
	} else {
		val, del := &d.ValidatorDetails, &d.DelegatorDetails
		v.Figures = append(v.Figures,
			figure{"Validators", numCell(val.ValidatorCount).Text, navax(val.TotalAmountStaked).Text + " staked"},
			figure{"Delegations", numCell(del.DelegatorCount).Text, navax(del.TotalAmountStaked).Text + " delegated"},
		)
		if val.StakingRatio != "" {
			v.Figures = append(v.Figures, figure{"Share of the supply that is staked", percent(val.StakingRatio, "1"), ""})
		}
		if val.EstimatedAnnualStakingReward != "" {
			v.Figures = append(v.Figures, figure{"Reward of a year, estimated", percent(val.EstimatedAnnualStakingReward, "1"), ""})
		}
		for _, s := range val.StakingDistributionByVersion {
			name := s.Version
			if name == "" {
				name = "version unknown"
			}
			versions.Bars = append(versions.Bars, newBar(name, plural(s.ValidatorCount, "validator", "validators"), s.AmountStaked, val.TotalAmountStaked))
		}
	}
	parts, heights := []part(nil), []figure(nil)
	for _, chain := range []string{"p", "x", "c"} {
		blocks, p, err := n.blockList(chain, "", "blocks", n.onChain(chain, "blocks"), "10")
		if err != nil {
			return err
		}
		height := figure{Name: chainNames[chain] + " height", Value: "unknown"}
		if len(blocks) > 0 {
			height.Value = numCell(blocks[0].BlockNumber).Text
		}
		heights = append(heights, height)
		p.pager = pager{} // further pages are on the chain's own
		if chain != "c" {
			p.ID, p.Title, p.Live = chain+"blocks", "Latest blocks of the "+chainNames[chain], true
			p.More = navLink{Text: "All blocks and transactions", Link: n.link(chain)}
			parts = append(parts, p)
		}
	}
	v.Figures = append(heights, v.Figures...)
	v.Parts = append(parts, versions)
	return nil
}

// newBar makes the bar of a share of a whole.
func newBar(name, value string, some, whole shape.Digits) bar {
	b := bar{Name: textCell(name).Text, Value: value, Share: percent(string(some), string(whole))}
	b.Width = share(some, whole)
	return b
}
