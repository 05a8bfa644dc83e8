package engine

import (
	"errors"
	"log/slog"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/depot"
	"quorate/engine/folder"
	"quorate/engine/follow"
	"quorate/engine/ingest"
	"quorate/engine/metric"
	"quorate/engine/network"
)

// followChains begins to follow the chains of a network that are not followed yet:
// the C-Chain, and in the first network those that are configured.
func (e *Engine) followChains(n *network.Network, prefix string, rank int) error {
	if e.cfg.NoIndex {
		return nil
	}
	var errs []error
	c, certain := n.Coin()
	if c != nil {
		errs = append(errs, e.followCoin(n, c, prefix, rank))
	}
	errs = append(errs, e.followPrimary(n, prefix))
	if rank > 0 {
		return errors.Join(errs...)
	}
	for i := range e.cfg.EVMChains {
		cfg := &e.cfg.EVMChains[i]
		// One of the primary network may be the C-Chain, whose ID has to be known first.
		if cfg.Subnet == chain.PrimaryNetworkID && !certain || !e.evms.claim(cfg.ID, n) {
			continue
		}
		f := &network.Chain{ID: cfg.ID, Subnet: cfg.Subnet, VM: cfg.VM}
		// Networks are fewer than nodes.
		errs = append(errs, n.Announce(f, cfg.Name(), cfg.Names, cfg.RPC), e.follow(n, f, cfg.Name(), cfg, len(e.members.list)+i))
	}
	return errors.Join(errs...)
}

// followCoin begins to follow a C-Chain, with what the operator says of it.
func (e *Engine) followCoin(n *network.Network, c *network.Chain, prefix string, rank int) error {
	if !e.evms.claim(c.ID, n) {
		return nil
	}
	name, cfg := prefix+"C", e.cfg.configured(c.ID)
	if cfg != nil {
		if err := e.names.Add(c.ID, cfg.Names...); err != nil {
			e.log.Warn("a name of the chains file is not used", "chain", name, "err", err)
		}
	}
	return e.follow(n, c, name, cfg, rank)
}

// follow begins to follow a chain, of which the operator may have said more.
func (e *Engine) follow(n *network.Network, c *network.Chain, name string, said *EVMConfig, rank int) error {
	cfg := follow.Config{
		Common: e.common(n, c.ID, name, c.ID.String(), e.budget.Window),
		Subnet: c.Subnet, VM: c.VM, Path: network.RPCPath(c.ID), Details: e.cfg.CChain,
		DB: e.disk.index.Load(), Memory: e.memory, BalancesBytes: e.budget.Balances,
		Spare: e.cfg.Spare, Verify: e.cfg.Verify, Fetchers: e.cfg.FetchConcurrency, Tracers: e.cfg.TraceConcurrency,
		UntracedAfter: e.cfg.UntracedAfter, SecondShare: e.cfg.SecondShare, MaxAnswer: e.cfg.MaxAnswer, OnURIs: e.metadata.changed,
	}
	if said != nil {
		cfg.RPC, cfg.WS, cfg.Details = said.RPC, said.WS, said.Details
	}
	evm := follow.New(cfg, func(evm *follow.EVM) { e.evms.add(evm, rank) })
	n.Attach(c, indexed{evm, func() error { return e.primaries.trouble(n.ID(), c.ID) }})
	return evm.Start()
}

// common returns what there is to say of a chain of any kind whose archive is in a folder
// called dir.
func (e *Engine) common(n *network.Network, id chain.ID, name, dir string, window int64) follow.Common {
	common := follow.Common{
		ID: id, Name: name, Host: n, Start: e.cfg.Start, WindowBytes: int(window),
		Room: e.disk.room, OnProgress: e.cfg.OnProgress, Log: e.cfg.Log, Nodeless: e.cfg.nodeless(),
		Archive: func(kind archive.Kind, log *slog.Logger, set *metric.Set) (*archive.Archive, error) {
			return e.disk.openArchive(kind, dir, log, set)
		},
	}
	if k := e.facts; k != nil {
		common.Feed = &follow.Feed{Log: k.Log, Writer: k.Writer}
	}
	if d := e.cfg.Depot; d != nil {
		common.Depot = func(a *archive.Archive) *depot.Copy {
			return &depot.Copy{Depot: d, Of: folder.HeldAs(n.ID(), dir, a.Kind()), Archive: a, Dir: e.disk.path(folder.DepotDir)}
		}
	}
	return common
}

// indexed shows a followed chain to its network. beside says what is wrong with the
// containers of the same chain.
type indexed struct {
	*follow.EVM
	beside func() error
}

// Check implements [network.Indexed].
func (i indexed) Check() (network.State, bool, error) {
	s, ok, err := i.EVM.Check()
	if ok {
		err = errors.Join(err, i.beside())
	}
	return network.State{Height: s.Height, ID: s.ID, Waiting: s.Waiting, WaitingFor: s.WaitingFor, Details: i.details(&s)}, ok, err
}

// details returns what the check of an EVM chain says of its index.
func (i indexed) details(s *ingest.Status) any {
	height, ok := i.Settled()
	if !ok {
		return syncing(s)
	}
	return struct {
		Settled   uint64 `json:"settledHeight"`
		Executing uint64 `json:"acceptedNotExecuted"` // blocks, about; that is no fault
		Sync      any    `json:"sync,omitempty"`
	}{height, i.Executing(), syncing(s)}
}

// syncMessage is the part of a chain's check that says how far its index is behind.
type syncMessage struct {
	Syncing bool   `json:"syncing"`
	Target  uint64 `json:"chainHeight"`
	Missing uint64 `json:"missingBlocks"`
	Left    string `json:"timeLeft,omitempty"` // at the rate until now
}

// syncing returns what the check of a chain says of an index that is far behind, nil
// if it is not. That is no failure: signing does not wait for the index.
func syncing(s *ingest.Status) any {
	if !s.Syncing() {
		return nil
	}
	msg := syncMessage{Syncing: true, Target: s.Target, Missing: s.Behind()}
	if s.Left > 0 {
		msg.Left = s.Left.String()
	}
	return msg
}
