package network

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/chain"
)

// minStake is the share of a chain's stake that must be connected.
const minStake = 0.8

type (
	chainMessage struct {
		Engine struct {
			Consensus consensus `json:"consensus"`
			VM        *vmInfo   `json:"vm"`
		} `json:"engine"`
		Networking struct {
			PercentConnected float64 `json:"percentConnected"`
		} `json:"networking"`
		// Index is what an indexed chain says besides.
		Index any `json:"index,omitempty"`
	}
	consensus struct {
		LastAcceptedHeight     uint64 `json:"lastAcceptedHeight"`
		LastAcceptedID         string `json:"lastAcceptedID"`
		LongestProcessingBlock string `json:"longestProcessingBlock"`
		ProcessingBlocks       int    `json:"processingBlocks"`
	}
	vmInfo struct {
		ID      string `json:"id"`
		Name    string `json:"name,omitempty"`
		Version string `json:"version,omitempty"`
	}
)

// CheckBootstrapped returns the subnets whose chains the nodes have not
// bootstrapped, and what keeps messages of the network from being signed.
func (n *Network) CheckBootstrapped(ctx context.Context) (waiting []string, err error) {
	if n.cfg.Nodeless {
		return nil, nil
	}
	var errs []error
	if err := n.CheckStake(); err != nil {
		errs = append(errs, fmt.Errorf("network %d: %w", n.cfg.ID, err))
	}
	if err := n.checkRefused(); err != nil {
		errs = append(errs, err)
	}
	for _, c := range n.following() {
		done, err := n.node.IsBootstrapped(ctx, c.ID.String())
		if err != nil {
			errs = append(errs, fmt.Errorf("network %d: %w", n.cfg.ID, err))
		}
		if err != nil || !done {
			waiting = append(waiting, c.Subnet.String())
		}
	}
	return waiting, errors.Join(errs...)
}

// CheckStake says why too little stake of the primary network is connected to have
// its messages signed.
func (n *Network) CheckStake() error {
	set, ok := n.keeper.Current(chain.PrimaryNetworkID)
	if !ok {
		return errors.New("validators are not known yet")
	}
	if weight := set.Weight(n.connected(set)); !set.MeetsQuorum(weight, n.cfg.MinConnected) {
		return fmt.Errorf("%.2f%% of the stake are connected, and a quorum needs %d%%",
			100*float64(weight)/float64(max(set.TotalWeight, 1)), n.cfg.MinConnected)
	}
	return nil
}

// checkChain is the check of one chain: the node's last accepted block, and the
// stake that is connected.
func (n *Network) checkChain(ctx context.Context, f *Chain) (any, error) {
	var msg chainMessage
	msg.Engine.VM = n.vmInfo(f)
	var errs []error
	err := n.readHead(ctx, f, &msg.Engine.Consensus, &msg.Index)
	if err != nil {
		errs = append(errs, err)
	}
	if n.cfg.Nodeless {
		return msg, err
	}
	msg.Networking.PercentConnected, err = n.percentConnected(f.Subnet)
	switch {
	case err != nil:
		errs = append(errs, err)
	case msg.Networking.PercentConnected < minStake:
		errs = append(errs, fmt.Errorf("not connected to enough stake: connected to %f%%; required at least %f%%",
			100*msg.Networking.PercentConnected, 100*minStake))
	}
	return msg, errors.Join(errs...)
}

// percentConnected is a share of 1, as a node does under this name.
func (n *Network) percentConnected(subnet chain.ID) (float64, error) {
	set, ok := n.keeper.Current(subnet)
	if !ok {
		return 0, errors.New("validators are not known yet")
	}
	if set.TotalWeight == 0 {
		return 0, errors.New("there is no stake")
	}
	return float64(set.Weight(n.connected(set))) / float64(set.TotalWeight), nil
}

// vmInfo names the virtual machine of a chain, as far as it is known.
func (n *Network) vmInfo(f *Chain) *vmInfo {
	info := &vmInfo{ID: f.VM.String()}
	if names := n.cfg.VMs.Names(f.VM); len(names) > 0 {
		info.Name = names[0]
	}
	if v, ok := n.cfg.VMs.Get(f.VM); ok {
		info.Version = v.Version
	}
	return info
}
