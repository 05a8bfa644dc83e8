package ui

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"quorate/engine/chain"
)

func (s *Site) validatorPages() []Page {
	return []Page{{Pattern: "/validators", Operator: true, Units: 1, Serve: serveValidators}}
}

// validators is the page of the validators of one subnet.
type validators struct {
	Networks, Subnets []choice
	NetworkID         uint32
	SubnetID, Sort    string
	Set               *ValidatorSet
	Share, Keyless    stakeShare
	// Inactive is out of balance, ToppedUp it and what is connected.
	Inactive, ToppedUp stakeShare
	Next               *Lasting // as of [SubnetStake]
	Meets              bool
	Columns            []sorter
	Rows               []validatorRow // those of the part that is shown
	Find               string         // what rows must have
	All, Found         int            // nodes, and those that have it
	Part, Parts        int            // 1 is the first
	Elsewhere          []string       // names of boxes of marked nodes that are not shown
	Largest            int            // so many drop, too
	Quorum             int
	Prospect           *prospect // nil if nobody is to drop
	LeftShare          stakeShare
	Asked              bool
}

func serveValidators(r *Request) error {
	network, tabs, err := r.network()
	if err != nil {
		return err
	}
	data := validators{Networks: tabs, NetworkID: network.ID, Quorum: defaultQuorum}
	subnet := chain.PrimaryNetworkID
	if text := r.Query("subnet"); text != "" {
		if subnet, err = chain.ParseIDHexOrCB58(text); err != nil {
			return errorf(http.StatusBadRequest, "the subnet is not an ID: %v", err)
		}
	}
	data.SubnetID = subnet.String()
	q := url.Values{"network": {strconv.FormatUint(uint64(network.ID), 10)}}
	for _, s := range r.site.cfg.Operator.Stake(network.ID) {
		q.Set("subnet", s.Subnet.String())
		title := s.Name
		if title == "" {
			title = short(s.Subnet.String())
		}
		if s.Subnet == subnet {
			data.Next = s.Next
		}
		data.Subnets = append(data.Subnets, choice{title + " · " + shareOf(s.Connected, s.Total).Percent, r.in.Prefix + "/validators?" + q.Encode(), s.Subnet == subnet})
	}
	data.Set = r.site.cfg.Operator.ValidatorSet(network.ID, subnet)
	if data.Set == nil {
		return errorf(http.StatusNotFound, "the validators of subnet %s are not known: it is not in use, or the nodes have not answered yet", subnet)
	}
	data.Share, data.Keyless = shareOf(data.Set.Connected, data.Set.Total), shareOf(data.Set.Keyless, data.Set.Total)
	data.Inactive = shareOf(data.Set.Inactive, data.Set.Total)
	data.ToppedUp = shareOf(data.Set.Connected+data.Set.Inactive, data.Set.Total) // at most the total
	data.Meets = meets(data.Set.Connected, data.Set.Total, defaultQuorum)
	dropped := data.rows(r)
	data.Sort = sortRows(data.Rows, r.Query("sort"))
	q.Set("subnet", data.SubnetID)
	for id := range dropped {
		q.Set(dropName(id), "1")
	}
	if data.find(r.Query("find")); data.Find != "" {
		q.Set("find", data.Find)
	}
	if data.largest(r.Query("largest"), dropped); data.Largest > 0 {
		q.Set("largest", strconv.Itoa(data.Largest))
	}
	data.part(cmp.Or(r.Query("to"), r.Query("part")))
	data.Columns = sorters(r.in.Prefix+"/validators", q, data.Sort)
	if data.Asked = r.Query("what") != "" || len(dropped) > 0; len(dropped) > 0 {
		p := whatIf(data.Set, dropped, data.Quorum)
		data.Prospect, data.LeftShare = &p, shareOf(p.Left, p.Total)
	}
	return r.Render("validators", "Validators", &data)
}

const (
	// partRows is how many nodes the page shows at once: each takes about a kilobyte.
	partRows = 100
	// maxFind bounds the text that rows are found by.
	maxFind = 100
)

// find leaves the rows that have a text in their node ID, version or address.
func (d *validators) find(text string) {
	d.All = len(d.Rows)
	if len(text) > maxFind {
		text = text[:maxFind]
	}
	d.Find = text
	if text == "" {
		d.Found = d.All
		return
	}
	text = strings.ToLower(text)
	d.Rows = slices.DeleteFunc(d.Rows, func(v validatorRow) bool {
		about := strings.ToLower(v.ID.String() + " " + v.Version + " " + v.Address.String())
		if strings.Contains(about, text) {
			return false
		}
		if v.Checked {
			d.Elsewhere = append(d.Elsewhere, v.Name())
		}
		return true
	})
	d.Found = len(d.Rows)
}

// largest has the nodes of the heaviest keys drop, too: so many as the text says.
func (d *validators) largest(text string, dropped map[chain.NodeID]bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return
	}
	d.Largest = min(n, len(d.Set.Entries))
	order := make([]int, len(d.Set.Entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Set.Entries[b].Weight, d.Set.Entries[a].Weight) })
	for _, i := range order[:d.Largest] {
		for k := range d.Set.Entries[i].Nodes {
			dropped[d.Set.Entries[i].Nodes[k].ID] = true
		}
	}
}

// part leaves the rows of one part of the list.
func (d *validators) part(text string) {
	d.Parts = max(1, (len(d.Rows)+partRows-1)/partRows)
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 1
	}
	d.Part = min(max(n, 1), d.Parts)
	from := (d.Part - 1) * partRows
	to := min(from+partRows, len(d.Rows))
	for i := range d.Rows {
		if (i < from || i >= to) && d.Rows[i].Checked {
			d.Elsewhere = append(d.Elsewhere, d.Rows[i].Name())
		}
	}
	d.Rows = d.Rows[from:to]
}

// dropName is the name of the checkbox of a node: short, as an address has room for 8 kB.
func dropName(id chain.NodeID) string { return "x" + hex.EncodeToString(id[:5]) }

// rows fills in the table and returns the nodes that are to drop.
func (d *validators) rows(r *Request) map[chain.NodeID]bool {
	dropped := map[chain.NodeID]bool{}
	now := time.Now()
	for i := range d.Set.Entries {
		e := &d.Set.Entries[i]
		for k := range e.Nodes {
			n := &e.Nodes[k]
			row := validatorRow{
				ValidatorNode: n, Weight: e.Weight, Share: shareOf(e.Weight, d.Set.Total), Shared: len(e.Nodes) - 1, Underfunded: e.Underfunded,
				StakeText: stakeText(e.Weight, d.Set.Subnet), Quarantined: now.Before(n.QuarantinedUntil), P50Text: milliseconds(n.P50), P99Text: milliseconds(n.P99), place: len(d.Rows),
			}
			if !n.Connected && n.AwayFor > 0 {
				row.AwayText = since(n.AwayFor)
			}
			if r.Query(dropName(n.ID)) != "" {
				dropped[n.ID], row.Checked = true, true
			}
			d.Rows = append(d.Rows, row)
		}
	}
	return dropped
}

// Name is the name of the row's checkbox.
func (v *validatorRow) Name() string { return dropName(v.ID) }

// FaultText says what an invalid signature was.
func (v *validatorRow) FaultText() string {
	switch v.Fault {
	case "":
		return "seen before the last start"
	case "signature":
		return "a signature that is not its own over the message"
	case "encoding":
		return "bytes that encode no signature"
	case "length":
		return "bytes of the wrong length"
	case "subgroup":
		return "a point outside the subgroup"
	case "infinity":
		return "the point at infinity"
	}
	return v.Fault
}

// stakeText returns a weight in words: on the primary network it is AVAX, elsewhere what
// the subnet makes of it.
func stakeText(weight uint64, subnet chain.ID) string {
	if subnet == chain.PrimaryNetworkID {
		return number(weight/1e9) + " AVAX"
	}
	return "weight " + number(weight)
}
