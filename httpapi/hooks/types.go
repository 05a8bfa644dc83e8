package hooks

import (
	"slices"
	"strconv"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	"quorate/engine/webhook"
	"quorate/httpapi/door"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/shape"
)

// hookOn says which chain of a network a webhook is about.
func (c *call) hookOn(r *shape.WebhookRequest, n *webhook.Hook) (primaryapi.Network, error) {
	if r.Network == "" {
		return nil, door.BadRequest("network is required for " + r.EventType)
	}
	_, on, f := c.room.Primary.Find([]byte(r.Network))
	if f != nil {
		return nil, f
	}
	n.Network, n.On = r.Network, primary.PChain
	if n.Type == webhook.PrimaryActivity {
		var ok bool
		if n.On, ok = hookChain(on, r.ChainID); !ok {
			return nil, door.BadRequest("chainId must be p-chain or x-chain, or the ID of one of these, not " + door.Excerpt([]byte(r.ChainID)))
		}
	}
	if _, ok := on.Chain(n.On); !ok {
		return nil, door.NotFound("the " + n.On.String() + " of " + r.Network + " is not followed here")
	}
	return on, nil
}

func hookChain(on primaryapi.Network, name string) (primary.Kind, bool) {
	kinds := []primary.Kind{primary.PChain, primary.XChain}
	if k, ok := primaryapi.KindNamed([]byte(name)); ok {
		return k, slices.Contains(kinds, k)
	}
	for _, k := range kinds {
		if of, ok := on.Chain(k); ok && of.ID().String() == name {
			return k, true
		}
	}
	return 0, false
}

// selectPrimary reads what a webhook of the primary network is about.
func (c *call) selectPrimary(r *shape.WebhookRequest, n *webhook.Hook) error {
	on, err := c.hookOn(r, n)
	if err != nil {
		return err
	}
	m := &r.Metadata
	if r.IncludeInternalTxs || len(m.Addresses) > 0 {
		return door.BadRequest("includeInternalTxs and metadata.addresses are of " + string(webhook.AddressActivity))
	}
	var names []string
	if m.SubEvents != nil {
		names = m.SubEvents.AddressActivitySubEvents
		if n.Type == webhook.ValidatorActivity {
			names = m.SubEvents.ValidatorActivitySubEvents
		}
	}
	for _, name := range names {
		switch sub := webhook.Sub(name); {
		case !slices.Contains(n.Type.Subs(), sub):
			return door.BadRequest("metadata.subEvents has " + door.Excerpt([]byte(name)) + ", which is none of " + string(n.Type))
		case !slices.Contains(n.Told, sub):
			n.Told = append(n.Told, sub)
		}
	}
	if len(n.Told) == 0 {
		return door.BadRequest("metadata.subEvents must have at least one of " + string(n.Type))
	}
	if len(m.Keys) == 0 || len(m.Keys) > webhook.MaxAddresses {
		return door.BadRequest("metadata.keys must have at least one, and 100 at most")
	}
	if n.Type == webhook.PrimaryActivity {
		return selectAddresses(m, n, on.NetworkID())
	}
	return selectValidators(m, n)
}

func selectAddresses(m *shape.WebhookSelection, n *webhook.Hook, network uint32) error {
	if m.KeyType != "addresses" {
		return door.BadRequest("metadata.keyType must be addresses")
	}
	for _, text := range m.Keys {
		a, err := address.ParseOn(text, network, "P", "X")
		if err != nil {
			return door.BadRequest("metadata.keys " + primaryapi.NotAddress([]byte(text), network, err))
		}
		if !slices.Contains(n.Keys, a) {
			n.Keys = append(n.Keys, a)
		}
	}
	low := slices.Contains(n.Told, webhook.BalanceLow)
	if f := m.BalanceThresholdFilter; low {
		if f == nil {
			return door.BadRequest("metadata.balanceThresholdFilter is required for " + string(webhook.BalanceLow))
		}
		if strings.HasPrefix(f.BalanceType, "atomicMemory") {
			return door.BadRequest("balanceType " + door.Excerpt([]byte(f.BalanceType)) + " is not watched: it changes with the blocks of other chains")
		}
		names := webhook.BalanceNames(n.On)
		if !slices.Contains(names, f.BalanceType) {
			return door.BadRequest("balanceType must be one of " + strings.Join(names, ", ") + " on the " + n.On.String() + ", not " + door.Excerpt([]byte(f.BalanceType)))
		}
		least, err := nAVAX("balanceThreshold", string(f.BalanceThreshold))
		if err != nil {
			return err
		}
		n.Low = &webhook.Low{Balance: f.BalanceType, Least: least}
	}
	return nil
}

func nAVAX(name, s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, door.BadRequest(name + " must be a number of nAVAX, not " + door.Excerpt([]byte(s)))
	}
	return v, nil
}

func selectValidators(m *shape.WebhookSelection, n *webhook.Hook) error {
	v := &webhook.Validators{}
	n.Validators = v
	if len(m.Keys) != 1 {
		return door.BadRequest("metadata.keys must have exactly one for " + string(n.Type))
	}
	switch m.KeyType {
	case "nodeId":
		id, err := hookNode(m.Keys[0])
		if err != nil {
			return err
		}
		v.Node = &id
	case "subnetId":
		id, err := hookSubnet(m.Keys[0])
		if err != nil {
			return err
		}
		v.Subnet = &id
	default:
		return door.BadRequest("metadata.keyType must be nodeId or subnetId, not " + door.Excerpt([]byte(m.KeyType)))
	}
	if len(m.NodeIDs) > door.MaxListed || len(m.SubnetIDs) > door.MaxListed {
		return door.BadRequest("nodeIds and subnetIds have at most 100 items each")
	}
	for _, text := range m.NodeIDs {
		id, err := hookNode(string(text))
		if err != nil {
			return err
		}
		v.Nodes = append(v.Nodes, id)
	}
	for _, text := range m.SubnetIDs {
		id, err := hookSubnet(string(text))
		if err != nil {
			return err
		}
		v.Subnets = append(v.Subnets, id)
	}
	if !slices.Contains(n.Told, webhook.L1Low) {
		return nil
	}
	least, err := nAVAX("l1ValidatorFeeBalanceThreshold", string(m.L1ValidatorFeeBalanceThreshold))
	v.Least = &least
	return err
}

func hookNode(text string) (id chain.NodeID, err error) {
	if id, err = chain.ParseNodeID(text); err != nil {
		err = door.BadRequest("metadata has " + door.Excerpt([]byte(text)) + ", which is no node ID")
	}
	return id, err
}

func hookSubnet(text string) (id chain.ID, err error) {
	if id, err = chain.ParseID(text); err != nil {
		err = door.BadRequest("metadata has " + door.Excerpt([]byte(text)) + ", which is no subnet ID")
	}
	return id, err
}

// primaryMetadata returns what a webhook is about as clients see it.
func (m *Room) primaryMetadata(h *webhook.Hook) (out shape.WebhookMetadata) {
	subs := make([]string, len(h.Told))
	for i := range h.Told {
		subs[i] = string(h.Told[i])
	}
	if h.Kind() == webhook.PrimaryActivity {
		out.KeyType, out.SubEvents = "addresses", &shape.WebhookSubEvents{AddressActivitySubEvents: subs}
		prefix := ""
		if m.Primary.Networks != nil {
			if n, ok := m.Primary.Networks.Primary(h.Network); ok {
				prefix = address.Prefix(n.NetworkID())
			}
		}
		for _, a := range h.Keys {
			out.Keys = append(out.Keys, a.Text(prefix))
		}
		if h.Low != nil {
			out.BalanceThresholdFilter = &shape.BalanceThreshold{BalanceType: h.Low.Balance, BalanceThreshold: digits(h.Low.Least)}
		}
		return out
	}
	out.SubEvents = &shape.WebhookSubEvents{ValidatorActivitySubEvents: subs}
	v := h.Validators
	if v.Node != nil {
		out.KeyType, out.Keys = "nodeId", []string{v.Node.String()}
	} else {
		out.KeyType, out.Keys = "subnetId", []string{v.Subnet.String()}
	}
	for i := range v.Nodes {
		out.NodeIDs = append(out.NodeIDs, shape.NodeID(v.Nodes[i].String()))
	}
	for i := range v.Subnets {
		out.SubnetIDs = append(out.SubnetIDs, shape.ID(v.Subnets[i].String()))
	}
	if v.Least != nil {
		out.L1ValidatorFeeBalanceThreshold = digits(*v.Least)
	}
	return out
}

func digits(n uint64) shape.Digits { return shape.Digits(strconv.FormatUint(n, 10)) }
