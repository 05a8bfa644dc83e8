package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/network"
	"quorate/engine/source"
	"quorate/engine/source/platform"
)

const (
	// askTime bounds the question which network a node is of.
	askTime = 5 * time.Second
	// firstPatience is how long other nodes wait for the first one to say of which
	// network it is, since the chains of that network go by plain names.
	firstPatience = 2 * time.Second
	// deadPatience is how long the engine waits for nodes that do not answer before
	// it is ready without them.
	deadPatience = 3 * time.Second
	// learnPause is the first wait before a node is asked again; it doubles up to
	// learnPauseMost.
	learnPause     = 100 * time.Millisecond
	learnPauseMost = 5 * time.Second
)

// member is a node to follow. Each is asked which network it is of by an actor of
// its own, so that one that is down delays no other.
type member struct {
	at    source.Endpoint
	tried chan struct{} // closed by first after the first question, answered or not
	first sync.Once
	told  chan struct{} // closed once it has answered of which network it is

	// Guarded by the lock of the members:
	network uint32
	known   bool // the network is, from memory or by the node's answer
	assumed bool // it is a network that is remembered, though not of this address
}

// members are all nodes to follow.
type members struct {
	list []*member
	mu   sync.Mutex // guards what they know, and changes of networks
}

func newMembers(nodes []source.Endpoint) []*member {
	list := make([]*member, len(nodes))
	for i, at := range nodes {
		list[i] = &member{at: at, tried: make(chan struct{}), told: make(chan struct{})}
	}
	return list
}

// recallNodes starts the networks of the nodes that are remembered, without any
// question to a node.
func (e *Engine) recallNodes(ctx context.Context) error {
	for _, m := range e.members.list {
		var node nodeRecord
		if !e.memory.Recall(nodeKey(m.at), &node) {
			continue
		}
		var known network.Record
		if !e.memory.Recall(network.Key(node.Network), &known) {
			continue
		}
		if _, err := e.join(ctx, m, node.Network, &known); err != nil {
			return fmt.Errorf("network %d: %w", node.Network, err)
		}
	}
	return nil
}

// assume serves the networks that are remembered although no node of them is: a
// folder that was moved or restored is followed by nodes at other addresses, and what it
// holds does not depend on them. A node that says nothing is taken for one of theirs
// until it says otherwise.
func (e *Engine) assume(ctx context.Context) error {
	var list networksRecord
	if !e.memory.Recall(networksKey, &list) {
		return nil
	}
	patience := time.After(firstPatience)
	for _, m := range e.members.list {
		select {
		case <-m.tried:
		case <-patience:
		case <-ctx.Done():
			return nil
		}
	}
	for _, id := range list.Networks {
		var known network.Record
		m := e.members.silent(id, &e.networks)
		if m == nil || !e.memory.Recall(network.Key(id), &known) {
			continue
		}
		e.log.Warn("what is remembered of a network is served, though no node of it has answered at these addresses", "network", id, "node", m.at.String())
		if _, err := e.join(ctx, m, id, &known); err != nil {
			return fmt.Errorf("network %d: %w", id, err)
		}
	}
	return nil
}

// silent returns a node that may be one of a network that is not served yet, and takes
// it for that; nil if there is none.
func (all *members) silent(id uint32, served *Networks) *member {
	all.mu.Lock()
	defer all.mu.Unlock()
	if served.Get(id) != nil {
		return nil
	}
	for _, m := range all.list {
		if !m.known {
			m.network, m.known, m.assumed = id, true, true
			return m
		}
	}
	return nil
}

// learn asks a node until it says of which network it is, and has it followed.
func (e *Engine) learn(ctx context.Context, m *member) error {
	client, err := source.New(source.Config{Nodes: []source.Endpoint{m.at}, Timeout: askTime, Pool: e.answers, Logger: e.cfg.Log("source")})
	if err != nil {
		return err
	}
	defer client.Close()
	node := platform.New(client)
	tried := func() { m.first.Do(func() { close(m.tried) }) }
	var id uint32
	var version platform.Version
	if !actor.Retry(ctx, learnPause, learnPauseMost, func(err error) {
		e.log.Warn("node does not answer yet", "node", m.at.String(), "err", err)
	}, func() (err error) {
		if id, version, err = askNode(ctx, node); err != nil {
			tried()
		}
		return err
	}) {
		tried()
		return nil
	}
	defer tried()
	return e.heard(ctx, m, id, version)
}

func askNode(ctx context.Context, node *platform.Client) (id uint32, version platform.Version, err error) {
	if id, err = node.NetworkID(ctx); err == nil {
		var p platform.Program
		p, err = node.Program(ctx)
		version = p.Version
	}
	return id, version, err
}

// heard follows a node that has answered of which network it is.
func (e *Engine) heard(ctx context.Context, m *member, id uint32, version platform.Version) error {
	if m != e.members.list[0] && len(e.networks.All()) == 0 {
		select { // the first node's network goes first, if it is known soon
		case <-e.members.list[0].tried:
		case <-time.After(firstPatience):
		case <-ctx.Done():
			return nil
		}
	}
	e.members.mu.Lock()
	wrong := m.assumed && m.network != id
	m.assumed = false
	e.members.mu.Unlock()
	if wrong {
		e.memory.Remember(ctx, nodeKey(m.at), &nodeRecord{Network: id})
		e.fail(fmt.Errorf("node %s is of network %d, and not of the one that the data folder was last used for: start again", m.at, id))
		return nil
	}
	n, err := e.join(ctx, m, id, &network.Record{Version: version})
	if err != nil {
		e.fail(fmt.Errorf("network %d: %w", id, err))
		return nil
	}
	e.log.Info("following node", "node", m.at.String(), "network", id)
	close(m.told)
	n.Note(ctx, func(known *network.Record) {
		if known.Version.Compare(version) < 0 { // an older node does not lower what peers demanded
			known.Version = version
		}
	})
	e.memory.Remember(ctx, nodeKey(m.at), &nodeRecord{Network: id})
	var list networksRecord
	for _, n := range e.networks.All() {
		list.Networks = append(list.Networks, n.ID())
	}
	e.memory.Remember(ctx, networksKey, &list)
	return nil
}

// join makes a node one of a network, which is started with its first node and
// what is known of it. A node that was remembered as one of another network
// leaves that. m is nil where there is no node.
func (e *Engine) join(ctx context.Context, m *member, id uint32, known *network.Record) (*network.Network, error) {
	e.members.mu.Lock()
	defer e.members.mu.Unlock()
	if n := e.networks.Get(id); m == nil && n != nil {
		return n, n.Learn(known)
	}
	if m != nil {
		was, moved := m.network, m.known && m.network != id
		m.network, m.known = id, true
		if moved {
			e.log.Warn("node is of another network than before", "node", m.at.String(), "network", id, "before", was)
			if n := e.networks.Get(was); n != nil && len(e.members.of(was)) > 0 {
				n.SetNodes(e.members.of(was))
			}
		}
		if n := e.networks.Get(id); n != nil {
			n.SetNodes(e.members.of(id))
			return n, nil
		}
	}
	all := e.networks.All()
	prefix := ""
	if len(all) > 0 {
		prefix = networkName(id) + "-"
	}
	n, err := e.startNetwork(ctx, id, known, prefix, len(all))
	if err != nil {
		return nil, err
	}
	all = append(all[:len(all):len(all)], n)
	e.networks.list.Store(&all)
	if len(all) == 1 {
		close(e.joined)
	}
	if k := e.facts; k != nil && m != nil {
		err = n.Go("shared facts", func(ctx context.Context) error {
			if err := k.Share(ctx, n, func() []chain.ID { return e.evms.of(id) }); err != nil {
				e.fail(err)
			}
			return nil
		})
	}
	return n, err
}

// learnFacts has the networks served that others have written of to the log, until ctx ends.
func learnFacts(ctx context.Context, e *Engine) error {
	var list networksRecord
	e.memory.Recall(networksKey, &list)
	return e.facts.Learn(ctx, list.Networks, func(ctx context.Context, id uint32, known *network.Record) error {
		_, err := e.join(ctx, nil, id, known)
		if err != nil {
			err = fmt.Errorf("network %d: %w", id, err)
			e.fail(err)
		}
		return err
	}, func(ids []uint32) { e.memory.Remember(ctx, networksKey, &networksRecord{ids}) })
}

// of returns the nodes of a network in the configured order, each address
// once. It needs the lock.
func (all *members) of(id uint32) (list []source.Endpoint) {
	for _, m := range all.list {
		if m.known && m.network == id && !containsEndpoint(list, m.at) {
			list = append(list, m.at)
		}
	}
	return list
}

func containsEndpoint(list []source.Endpoint, at source.Endpoint) bool {
	for _, e := range list {
		if e.Same(at) {
			return true
		}
	}
	return false
}

// allKnown reports whether the network of every node is known.
func (all *members) allKnown() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, m := range all.list {
		if !m.known || m.assumed {
			return false
		}
	}
	return true
}

// fail ends Run with err.
func (e *Engine) fail(err error) {
	select {
	case e.failed <- err:
	default: // it has an error to end with
	}
}

// errNoNetwork says that all nodes have been silent so far.
var errNoNetwork = errors.New("no node has answered yet")

// awaitReady waits until what can be known is known: every node that answers has
// told its network and its chains, and enough stake is connected. Nodes that do
// not answer are given little time, and stake [Config.ConnectPatience].
func (e *Engine) awaitReady(ctx context.Context) {
	select {
	case <-e.joined:
	case <-ctx.Done():
		return
	}
	dead, cancel := context.WithTimeoutCause(ctx, deadPatience, errNoNetwork)
	defer cancel()
	answered := make(map[uint32]bool)
	for _, m := range e.members.list {
		select {
		case <-m.told:
			e.members.mu.Lock()
			answered[m.network] = true
			e.members.mu.Unlock()
		case <-dead.Done():
			e.log.Warn("serving although a node does not answer", "node", m.at.String())
		}
	}
	var all sync.WaitGroup
	for _, n := range e.networks.All() {
		if answered[n.ID()] || e.cfg.nodeless() {
			all.Go(func() { n.AwaitReady(ctx) })
		}
	}
	all.Wait()
}
