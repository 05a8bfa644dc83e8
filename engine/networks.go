package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/network"
)

// startNetwork starts a network of which a node is known, with what is known of
// it. It needs the lock of the members.
func (e *Engine) startNetwork(ctx context.Context, id uint32, known *network.Record, prefix string, rank int) (*network.Network, error) {
	var apis []network.API
	if rank == 0 {
		for i := range e.cfg.EVMChains {
			c := &e.cfg.EVMChains[i]
			apis = append(apis, network.API{ID: c.ID, Subnet: c.Subnet, RPC: c.RPC, WS: c.WS})
		}
	}
	results := e.disk.results.Load()
	return network.Start(ctx, network.Config{
		Settings: e.cfg.Settings, ID: id, Nodes: e.members.of(id), Nodeless: e.cfg.nodeless(), Prefix: prefix, Known: *known, APIs: apis,
		Certificate: e.certificate, SetsFile: e.disk.path(fmt.Sprintf("validators-%08x.json", id)),
		KeptBytes: int(e.budget.Results), PartBytes: int(e.budget.Parts),
		Answers: e.answers, Passed: e.passed, Names: e.names, Checker: e.checker, VMs: e.vms,
		Results: roomyResults{results, e.disk.room}, Notes: roomyNotes{results.Notes(), e.disk.room}, Memory: e.memory, Room: e.disk.room,
		Found: func(n *network.Network) error { return e.followChains(n, prefix, rank) },
		Fail:  e.fail,
	})
}

// plugins returns the versions of the RPCChainVM protocol that plugins of the
// followed nodes speak, as far as the nodes have said it.
func (n *Networks) plugins(context.Context) (list []uint32) {
	for _, one := range n.All() {
		list = append(list, one.Plugins()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// stop ends all networks at the same time: none waits for the slowest.
func (n *Networks) stop(limit time.Duration) error {
	all := n.All()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() {
			if err := one.Stop(limit); err != nil {
				errs[i] = fmt.Errorf("network %d: %w", one.ID(), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// networkName is how a network is called in names of chains.
func networkName(id uint32) string {
	switch id {
	case chain.MainnetID:
		return "mainnet"
	case chain.FujiID:
		return "fuji"
	}
	return "network" + strconv.FormatUint(uint64(id), 10)
}
