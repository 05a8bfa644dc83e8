package ui

import (
	"net/http"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// untilCell shows when a validation ends, or its cycle.
func untilCell(x *shape.Validator) cell {
	c := timeCell(x.EndTimestamp)
	if x.ValidatorAuthority != nil && x.ValidationStatus == "active" {
		if c.Note = "renews itself"; x.NextPeriod == 0 {
			c.Note = "stops then"
		}
	}
	return c
}

// stakeCell shows the stake of a validation, on other subnets than the primary network its
// weight.
func stakeCell(x *shape.Validator) cell {
	if x.SubnetID != platformID {
		return cell{Text: plain.Digits(string(x.AmountStaked)), Kind: "num", Note: "weight"}
	}
	return navax(x.AmountStaked)
}

// stakerStates are the states of validators and delegations by which lists are chosen.
var stakerStates = []string{"active", "completed", "pending", "removed"}

// filters are links that choose a state.
func (n *primaryNet) filters(current string, states []string) []navLink {
	path := n.r.Path()
	list := []navLink{{Text: "All", Link: withQuery(path, "network", n.r.Query("network"), "status", "all"), Current: current == "all"}}
	for _, s := range states {
		list = append(list, navLink{s, withQuery(path, "network", n.r.Query("network"), "status", s), s == current})
	}
	return list
}

// status returns the state that is asked for, and how the API wants it.
func (n *primaryNet) status(states []string) (current, wanted string) {
	switch s := n.r.Query("status"); s {
	case "":
		return states[0], states[0]
	case "all":
		return s, ""
	default:
		return s, s
	}
}

// validators lists those of the primary network.
func (n *primaryNet) validators(v *primaryView) error {
	v.Title = "Validators of the primary network"
	current, wanted := n.status(stakerStates)
	v.Filters = n.filters(current, stakerStates)
	p, err := n.validatorList("page", "validationStatus", wanted, "subnetId", platformID, "pageSize", "50")
	if err != nil {
		return err
	}
	p.Title, p.Live = "Validators", current == "active" && n.r.Query("page") == ""
	v.Parts = []part{p}
	return nil
}

func (n *primaryNet) validatorList(param string, query ...string) (part, error) {
	p := part{ID: "validators", Heads: heads("Node", "#Stake", "#Delegated", "#Delegations", "#Fee", "#Uptime", "Version", "From", "Until", "State"), Empty: "There is none."}
	var page shape.Validators
	if err := n.list(&p, &page, &page.Page, param, n.api("validators"), query...); err != nil {
		return p, err
	}
	for i := range page.Validators {
		x := &page.Validators[i]
		row := []cell{n.nodeCell(x.NodeID), stakeCell(x), {Kind: "num"}, {Kind: "num"}, {Kind: "num"}, {Kind: "num"}, textCell(x.AvalancheGoVer),
			timeCell(x.StartTimestamp), untilCell(x), badgeCell(x.ValidationStatus)}
		if x.AmountDelegated != "" && x.SubnetID == platformID {
			row[2] = navax(x.AmountDelegated)
		}
		if x.DelegatorCount != nil {
			row[3] = numCell(*x.DelegatorCount)
		}
		if x.DelegationFee != "" {
			row[4] = percentCell(x.DelegationFee)
		}
		if x.UptimePerformance != nil {
			row[5] = percentCell(*x.UptimePerformance)
		}
		p.Rows = append(p.Rows, row)
	}
	return p, nil
}

// validator shows a node: its validations, delegations, rewards, blocks, and what it
// validates of L1s.
func (n *primaryNet) validator(v *primaryView) error {
	node := n.r.Param("nodeId")
	var page shape.Validators
	query := []string{"pageToken", n.r.Query("validations"), "pageSize", "25"}
	if err := n.get(withQuery(n.api("validators", node), query...), &page); err != nil {
		return err
	}
	l1, count, err := n.l1List("l1", "nodeId", node, "includeInactiveL1Validators", "true", "pageSize", "25")
	if err != nil {
		return err
	}
	if len(page.Validators) == 0 && count == 0 && n.r.Query("validations") == "" {
		return errorf(http.StatusNotFound, "node %s validates nothing here and never did, or it is not indexed yet", plain.Text(node, 60))
	}
	v.Title, v.ID = "Validator", node
	if len(page.Validators) > 0 {
		v.Parts = append(v.Parts, n.validation(mainValidation(page.Validators)))
	}
	if len(page.Validators) > 1 || n.r.Query("validations") != "" || page.NextPageToken != "" {
		v.Parts = append(v.Parts, n.history(page.Validators, page.NextPageToken))
	}
	if count > 0 {
		v.Parts = append(v.Parts, l1)
	}
	delegators, err := n.delegatorList("delegators", "Delegations", "nodeIds", node, "pageSize", "25")
	if err != nil {
		return err
	}
	pending, err := n.pendingList("nodeIds", node)
	if err != nil {
		return err
	}
	paid, err := n.rewardList("nodeIds", node)
	if err != nil {
		return err
	}
	_, proposed, err := n.blockList("p", "proposed", "proposed", n.onChain("p", "nodes", node, "blocks"), "10")
	if err != nil {
		return err
	}
	proposed.Title, proposed.Empty = "Blocks of the P-Chain that it proposed", "It proposed none."
	for _, p := range []*part{&delegators, &pending, &paid} {
		p.without("Node")
	}
	proposed.without("Proposer")
	v.addParts(delegators, pending, paid, proposed)
	return nil
}

// mainValidation returns the validation that a node's page is about: an active one before
// others, and one of the primary network before those of subnets.
func mainValidation(list []shape.Validator) *shape.Validator {
	best, points := &list[0], 0
	for i := range list {
		x, is := &list[i], 0
		if x.ValidationStatus == "active" {
			is += 2
		}
		if x.SubnetID == platformID {
			is++
		}
		if is > points {
			best, points = x, is
		}
	}
	return best
}

// validation shows all that is known of one.
func (n *primaryNet) validation(x *shape.Validator) part {
	p := part{Title: "Latest validation"}
	if x.ValidationStatus == "active" {
		p.Title = "Validation"
	}
	p.add("State", badgeCell(x.ValidationStatus))
	stake := stakeCell(x)
	p.add("Stake", cell{Text: stake.Text, Note: stake.Note})
	if x.StakePercentage != nil {
		p.add("Share of all stake", cell{Text: percentCell(*x.StakePercentage).Text})
	}
	onPrimary := x.SubnetID == platformID
	if x.DelegatorCount != nil && onPrimary {
		p.add("Delegated", cell{Text: navax(x.AmountDelegated).Text, Note: "in " + plural(*x.DelegatorCount, "delegation", "delegations")})
	}
	if x.DelegationFee != "" {
		p.add("Delegation fee", cell{Text: x.DelegationFee + "%"})
	}
	if x.ValidationStatus == "active" {
		up := cell{Text: "unknown", Note: "no followed node says it"}
		if x.UptimePerformance != nil {
			up = cell{Text: percentCell(*x.UptimePerformance).Text, Note: "as the followed nodes see it"}
		}
		p.add("Uptime", up)
		version := textCell(x.AvalancheGoVer)
		if version.Text == "" {
			version = cell{Text: "unknown", Note: "no followed node is connected to it"}
		}
		p.add("Version", version)
	}
	p.add("From", timeCell(x.StartTimestamp))
	p.add("Until", untilCell(x))
	if o := x.ValidatorAuthority; o != nil {
		p.add("Next cycle", cell{Text: numCell(x.NextPeriod).Text + " s", Note: "0: it stops"})
		p.add("Restaked", cell{Text: numCell(x.AutoCompoundRewardShares).Text, Note: "of 1,000,000 of its rewards"})
		p.add("Renewal changed by", n.addressCells(o.Addresses)...)
	}
	for _, r := range []struct {
		name string
		of   bool
	}{{"Expected reward", true}, {"Reward", false}} {
		rewards := x.Rewards
		if r.of {
			rewards = x.PotentialRewards
		}
		if rewards == nil || !onPrimary {
			continue
		}
		p.add(r.name, cell{Text: navax(rewards.ValidationRewardAmount).Text, Note: "for validating"}, cell{Text: navax(rewards.DelegationRewardAmount).Text, Note: "of delegations"})
		p.add("Rewards go to", n.addressCells(rewards.RewardAddresses)...)
		p.add("Rewarded by", n.pTx(rewards.RewardTxHash))
	}
	if !onPrimary {
		p.add("Subnet", hashCell(x.SubnetID, n.link("subnet", string(x.SubnetID))))
	}
	p.add("Transaction", n.pTx(x.TxHash))
	p.add("Removed by", n.pTx(x.RemoveTxHash))
	if k := x.BLSCredentials; k != nil {
		p.add("BLS key", cell{Text: plain.Text(string(k.PublicKey), 200), Kind: "raw"})
	}
	return p
}

// history lists the validations of a node.
func (n *primaryNet) history(list []shape.Validator, next string) part {
	p := part{ID: "validations", Title: "All its validations", Heads: heads("Subnet", "#Stake", "#Delegated", "From", "Until", "#Reward", "State", "Transaction")}
	for i := range list {
		x := &list[i]
		row := []cell{{Text: "primary network"}, stakeCell(x), {Kind: "num"}, timeCell(x.StartTimestamp), untilCell(x), {Kind: "num"}, badgeCell(x.ValidationStatus), n.pTx(x.TxHash)}
		if x.SubnetID != platformID {
			row[0] = hashCell(x.SubnetID, n.link("subnet", string(x.SubnetID)))
		} else if x.AmountDelegated != "" {
			row[2] = navax(x.AmountDelegated)
		}
		if x.Rewards != nil {
			row[5] = navax(x.Rewards.ValidationRewardAmount)
		}
		p.Rows = append(p.Rows, row)
	}
	n.paged(&p, "validations", next)
	return p
}

// delegations lists those of the primary network.
func (n *primaryNet) delegations(v *primaryView) error {
	v.Title = "Delegations"
	states := stakerStates[:3]
	current, wanted := n.status(states)
	v.Filters = n.filters(current, states)
	p, err := n.delegatorList("page", "Delegations", "delegationStatus", wanted, "pageSize", "50")
	v.Parts = []part{p}
	return err
}

func (n *primaryNet) delegatorList(param, title string, query ...string) (part, error) {
	p := part{ID: "delegators", Title: title, Heads: heads("Transaction", "Node", "#Amount", "#Fee", "#Reward", "Goes to", "From", "Until", "State"), Empty: "There is none."}
	var page shape.Delegators
	if err := n.list(&p, &page, &page.Page, param, n.api("delegators"), query...); err != nil {
		return p, err
	}
	for i := range page.Delegators {
		d := &page.Delegators[i]
		reward := navax(d.NetReward)
		if d.DelegationStatus != "completed" {
			reward.Note = "expected"
		}
		p.Rows = append(p.Rows, []cell{n.pTx(d.TxHash), n.nodeCell(d.NodeID), navax(d.AmountDelegated), percentCell(d.DelegationFee), reward,
			firstOf(n.addressCells(d.RewardAddresses)), timeCell(d.StartTimestamp), timeCell(d.EndTimestamp), badgeCell(d.DelegationStatus)})
	}
	return p, nil
}

// firstOf is a cell with others behind it.
func firstOf(list []cell) cell {
	if len(list) == 0 {
		return cell{}
	}
	list[0].More = append(list[0].More, list[1:]...)
	return list[0]
}

// rewardTypes are the kinds of rewards in words.
var rewardTypes = map[string]string{"VALIDATOR": "for validating", "DELEGATOR": "for a delegation", "VALIDATOR_FEE": "fee of delegations"}

func rewardCell(kind string) cell {
	if words := rewardTypes[kind]; words != "" {
		return cell{Text: words}
	}
	return textCell(kind)
}

// pendingList lists the rewards that are expected, by addresses or nodes.
func (n *primaryNet) pendingList(by, value string) (part, error) {
	p := part{ID: "pending", Title: "Rewards that are expected", Heads: heads("#Reward", "Kind", "Node", "#Stake", "#Done", "Until", "Goes to", "Transaction"), Empty: "None is expected."}
	var page shape.PendingRewards
	if err := n.list(&p, &page, &page.Page, "pending", n.api("rewards:listPending"), by, value, "pageSize", "25"); err != nil {
		return p, err
	}
	for i := range page.PendingRewards {
		x := &page.PendingRewards[i]
		p.Rows = append(p.Rows, []cell{amountCell(n, &x.EstimatedReward), rewardCell(x.RewardType), n.nodeCell(x.NodeID), navax(x.AmountStaked), percentCell(x.Progress),
			timeCell(x.EndTimestamp), firstOf(n.addressCells(x.Addresses)), n.pTx(x.TxHash)})
	}
	return p, nil
}

// rewardList lists the rewards that were paid.
func (n *primaryNet) rewardList(by, value string) (part, error) {
	p := part{ID: "rewards", Title: "Rewards that were paid", Heads: heads("#Reward", "Kind", "Node", "#Stake", "From", "Until", "Went to", "Stake", "Rewarded by"), Empty: "None was paid."}
	var page shape.HistoricalRewards
	if err := n.list(&p, &page, &page.Page, "rewards", n.api("rewards"), by, value, "pageSize", "25"); err != nil {
		return p, err
	}
	for i := range page.HistoricalRewards {
		x := &page.HistoricalRewards[i]
		p.Rows = append(p.Rows, []cell{amountCell(n, &x.Reward), rewardCell(x.RewardType), n.nodeCell(x.NodeID), navax(x.AmountStaked), timeCell(x.StartTimestamp),
			timeCell(x.EndTimestamp), firstOf(n.addressCells(x.Addresses)), n.pTx(x.TxHash), n.pTx(x.RewardTxHash)})
	}
	return p, nil
}
