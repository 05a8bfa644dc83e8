package network

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/chain/warp"
	"quorate/engine/source/platform"
	"quorate/p2p/wire"
)

// knownMajor is the major version of avalanchego whose peer protocol this release knows.
const knownMajor = 1

// heliconRelease is the least version that peers let in from the activation of Helicon
// on. Source: avalanchego v1.15.0, version/constants.go.
var heliconRelease = platform.Version{Name: "avalanchego", Major: 1, Minor: 15}

// versionPatience bounds the question to one node which version it runs.
const versionPatience = 3 * time.Second

// versions is what is known of the programs of the followed nodes, and what peers are
// shown.
type versions struct {
	mu    sync.Mutex // guards what follows
	nodes []nodeProgram
	shown platform.Version // to new links

	said string // what was wrong when the log last said it; owned by discover
}

// nodeProgram is what a followed node said last that it runs.
type nodeProgram struct {
	at      string
	program platform.Program
}

// demanded returns the least version that peers let in now, as far as this release
// knows; the zero version if it knows of none.
func demanded(u rules.Upgrades, now time.Time) platform.Version {
	if u.Helicon == 0 || now.Unix() < int64(u.Helicon) { // until the year 9999
		return platform.Version{}
	}
	return heliconRelease
}

// claim returns the version to show to peers: the highest that followed nodes run or the
// network demands, of a major version that is known here. It is not above seen, the
// version that a third of the stake is seen to run, unless that is the zero version.
func claim(nodes []platform.Version, demand, seen platform.Version) platform.Version {
	v := demand
	for _, n := range nodes {
		if n.Major <= knownMajor && n.Compare(v) > 0 {
			v = n
		}
	}
	if v.Name == "" {
		v = heliconRelease // the nodes run what came after all that is known here
	}
	if seen.Name != "" && seen.Compare(v) < 0 {
		seen.Name = v.Name
		v = seen
	}
	return v
}

// seenVersion returns the highest version that at least a third of a set's stake runs,
// it or a later one; the zero version if those of so much stake are not known.
func seenVersion(set *valset.Set, of func(chain.NodeID) (platform.Version, bool)) platform.Version {
	type part struct {
		version platform.Version
		weight  uint64
	}
	var parts []part
	for i := range set.Validators {
		for _, id := range set.Validators[i].NodeIDs {
			if v, ok := of(id); ok {
				parts = append(parts, part{v, set.Validators[i].Weight})
				break // nodes of one key are one validator
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return b.version.Compare(a.version) })
	var weight uint64
	for _, p := range parts {
		weight += p.weight // at most the total
		if hi, lo := bits.Mul64(weight, 3); hi > 0 || lo >= set.TotalWeight {
			return p.version
		}
	}
	return platform.Version{}
}

// versionOf returns the version that a node runs: as it said itself to us, or to a
// followed node.
func (n *Network) versionOf(told map[chain.NodeID]string) func(chain.NodeID) (platform.Version, bool) {
	return func(id chain.NodeID) (platform.Version, bool) {
		p, _ := n.peers.Peer(id)
		text := p.Version
		if text == "" {
			text = told[id]
		}
		v, err := platform.ParseVersion(text)
		return v, err == nil
	}
}

// askPrograms asks each followed node what it runs, and returns the first answer in the
// order of the nodes. What a node said last holds until it says something else.
func (n *Network) askPrograms(ctx context.Context) (first platform.Program, err error) {
	nodes := n.source.Nodes()
	answers := make([]platform.Program, len(nodes))
	errs := make([]error, len(nodes))
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { answers[i], errs[i] = platform.New(only{n.source, node}).Program(ctx) })
	}
	all.Wait()
	v := &n.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]nodeProgram, 0, len(nodes))
	for i, node := range nodes {
		at := node.Endpoint().String()
		old := slices.IndexFunc(v.nodes, func(p nodeProgram) bool { return p.at == at })
		switch {
		case errs[i] == nil:
			list = append(list, nodeProgram{at, answers[i]})
			if first.Name == "" {
				first = answers[i]
			}
		case old >= 0:
			list = append(list, v.nodes[old])
		}
	}
	v.nodes = list
	if first.Name == "" {
		err = errors.Join(errs...)
	}
	return first, err
}

// show has new links show the version that is right now, and says in the log what is
// wrong with versions when that changes.
func (n *Network) show(ctx context.Context) {
	u, _ := n.Upgrades()
	var seen platform.Version
	if set, ok := n.keeper.Current(chain.PrimaryNetworkID); ok {
		seen = seenVersion(set, n.versionOf(n.told.last().Versions))
	}
	v, log := &n.versions, n.cfg.Log("p2p")
	v.mu.Lock()
	told := make([]platform.Version, len(v.nodes))
	for i := range v.nodes {
		told[i] = v.nodes[i].program.Version
	}
	if len(told) == 0 {
		told = append(told, v.shown) // what peers demanded before the start
	}
	was := v.shown
	v.shown = claim(told, demanded(u, time.Now()), seen)
	shown := v.shown
	v.mu.Unlock()
	if shown != was {
		log.Info("peers are shown another version", "network", n.cfg.ID, "version", shown.String(), "before", was.String())
		n.peers.SetClientVersion(wire.Version(shown))
		n.Note(ctx, func(known *Record) { known.Version = shown })
	}
	said := ""
	if err := errors.Join(n.CheckVersions(), n.checkRefused()); err != nil {
		said = err.Error()
	}
	if said != "" && said != v.said {
		log.Warn("versions do not fit", "network", n.cfg.ID, "err", said)
	}
	v.said = said
}

// CheckVersions names the followed nodes whose versions do not fit: too old for their
// network, or of a later major version than this release knows.
func (n *Network) CheckVersions() error {
	u, _ := n.Upgrades()
	demand := demanded(u, time.Now())
	n.versions.mu.Lock()
	defer n.versions.mu.Unlock()
	var errs []error
	for _, node := range n.versions.nodes {
		switch v := node.program.Version; {
		case v.Compare(demand) < 0:
			errs = append(errs, fmt.Errorf("network %d: node %s runs %s, and validators let in %s or later since %s: upgrade the node, or follow another",
				n.cfg.ID, node.at, v, demand, time.Unix(int64(u.Helicon), 0).UTC().Format(time.DateTime+" UTC")))
		case v.Major > knownMajor:
			errs = append(errs, fmt.Errorf("network %d: node %s runs %s, and this release knows major version %d only: upgrade this server",
				n.cfg.ID, node.at, v, knownMajor))
		}
	}
	return errors.Join(errs...)
}

// Plugins returns the versions of the RPCChainVM protocol that the followed nodes speak
// with their plugins, as far as they have said it.
func (n *Network) Plugins() (list []uint32) {
	n.versions.mu.Lock()
	defer n.versions.mu.Unlock()
	for _, node := range n.versions.nodes {
		if p := node.program.Plugins; p != 0 && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// errIdentityInUse is why validators turn us away.
var errIdentityInUse = errors.New("validators close our links right after TLS: the certificate in the data folder (staker.pem) seems to be in use by another server; give each its own")

// mayRefuse reports whether a node of version v may not let in the version that is shown.
// No release demands more than the first of its minor version: a later patch is no reason.
func mayRefuse(v, shown platform.Version) bool {
	v.Patch = 0
	return v.Compare(shown) > 0
}

// checkRefused returns an error if so much of the primary network's stake closes our
// links before they can be used that too little can be connected: for the version that we
// show if most of that stake runs later ones, and else for our identity if it is closed
// without a word. Stake decides, not the number of nodes: anybody can found an L1 whose
// validators close our links.
func (n *Network) checkRefused() error {
	set, ok := n.keeper.Current(chain.PrimaryNetworkID)
	if !ok {
		return nil
	}
	n.versions.mu.Lock()
	shown := n.versions.shown
	n.versions.mu.Unlock()
	of := n.versionOf(n.told.last().Versions)
	away, refused, newer := warp.NewBits(len(set.Validators)), warp.NewBits(len(set.Validators)), warp.NewBits(len(set.Validators))
	var least platform.Version // of those that are newer
	for i := range set.Validators {
		for _, id := range set.Validators[i].NodeIDs {
			st := n.peers.Status(id)
			if st.TurnedAway {
				away.Set(i)
			}
			if !st.LinksRefused {
				continue
			}
			refused.Set(i)
			if v, ok := of(id); ok && mayRefuse(v, shown) {
				newer.Set(i)
				if least.Name == "" || v.Compare(least) < 0 {
					least = v
				}
			}
		}
	}
	tooMuch := func(weight uint64) bool { return float64(weight) > (1-minStake)*float64(set.TotalWeight) }
	switch {
	case tooMuch(set.Weight(refused)) && set.Weight(newer) > set.Weight(refused)/2:
		return fmt.Errorf("network %d: validators that run %s or later close our links: they seem not to let in %s, which is what the followed nodes run: upgrade the nodes, and this server",
			n.cfg.ID, least, shown)
	case tooMuch(set.Weight(away)):
		return fmt.Errorf("network %d: %w", n.cfg.ID, errIdentityInUse)
	}
	return nil
}
