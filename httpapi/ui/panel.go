package ui

import (
	"net/url"
	"strconv"
)

// operatorPanel is what the first page shows operators of a network.
type operatorPanel struct {
	Network Network
	Nodes   []Node
	Rates   ratesPanel
	Stakes  []stakeLine
	More    int // subnets that are not shown
}

// stakeLine is how much of a subnet's stake is connected.
type stakeLine struct {
	SubnetStake
	Title, Href string
	Share       stakeShare
	Meets       bool
}

// maxPanelSubnets bounds the subnets that the first page shows.
const maxPanelSubnets = 8

// panels returns what operators see on the first page; others see none.
func (r *Request) panels() []operatorPanel {
	if !r.Operator() {
		return nil
	}
	var out []operatorPanel
	for _, n := range r.site.cfg.Operator.Networks() {
		p := operatorPanel{Network: n, Nodes: r.site.cfg.Operator.Nodes(n.ID), Rates: r.rates(n.ID)}
		all := r.site.cfg.Operator.Stake(n.ID)
		p.More = max(0, len(all)-maxPanelSubnets)
		for _, s := range all[:len(all)-p.More] {
			line := stakeLine{SubnetStake: s, Title: s.Name, Share: shareOf(s.Connected, s.Total), Meets: meets(s.Connected, s.Total, defaultQuorum)}
			if line.Title == "" {
				line.Title = short(s.Subnet)
			}
			q := url.Values{"network": {strconv.FormatUint(uint64(n.ID), 10)}, "subnet": {s.Subnet.String()}}
			line.Href = r.in.Prefix + "/validators?" + q.Encode()
			p.Stakes = append(p.Stakes, line)
		}
		out = append(out, p)
	}
	return out
}
