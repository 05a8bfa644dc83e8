package network

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/source/platform"
)

const (
	// toldAge is how long what a node said holds while no node says it again.
	toldAge = 15 * time.Minute
	// standingPause is the first wait before a node that did not answer is asked again
	// how validators stand; it doubles up to the time between two answers.
	standingPause = time.Second
	// maxVersions bounds the versions that are distinguished: what a peer calls its program
	// is up to the peer.
	maxVersions = 256
)

// told keeps what nodes answer about their network that is in no block.
type told struct {
	node *platform.Client
	log  *slog.Logger

	mu          sync.Mutex // guards what follows
	versions    map[chain.NodeID]string
	versionsAt  time.Time
	standings   []platform.Standing
	supply      uint64 // 0 if not known
	standingsAt time.Time

	now atomic.Pointer[primary.Told]
	// differs is what rows have otherwise than a node says, nil if nothing.
	differs atomic.Pointer[error]
}

// Compare returns what rows have otherwise than a node says of validators and the supply, or
// nil.
type Compare func(list []platform.Standing, supply platform.Supply) error

// Told returns what nodes answer about the network that is in no block. Versions are as old as
// the last look at a node's peers, the rest is known while [Network.WatchStandings] runs.
func (n *Network) Told() *primary.Told { return n.told.last() }

// WatchStandings asks how the validators of the primary network stand until ctx ends, and
// compares what rows have with each answer.
func (n *Network) WatchStandings(ctx context.Context, with Compare) error {
	return n.told.watch(ctx, n.cfg.StandingPoll, with)
}

// RewardsTrouble says what rows have otherwise than a node said last of the supply and of
// what stakes are to earn, or nil.
func (n *Network) RewardsTrouble() error { return n.told.trouble() }

func (t *told) trouble() error {
	if err := t.differs.Load(); err != nil {
		return *err
	}
	return nil
}

func (t *told) last() *primary.Told {
	if now := t.now.Load(); now != nil {
		return now
	}
	return &primary.Told{}
}

func (t *told) watch(ctx context.Context, poll time.Duration, with Compare) error {
	retry := min(standingPause, poll)
	for {
		pause := poll
		if err := t.ask(ctx, with); err == nil {
			retry = min(standingPause, poll)
		} else {
			t.log.Debug("node does not tell how validators stand", "err", err)
			t.expire()
			pause, retry = retry, min(2*retry, poll)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// ask asks a node for the standings of validators and the supply.
func (t *told) ask(ctx context.Context, with Compare) error {
	standings, err := t.node.Standings(ctx)
	if err != nil {
		return err
	}
	supply, err := t.node.Supply(ctx)
	if err != nil {
		t.log.Debug("node does not tell the supply", "err", err)
		supply = platform.Supply{}
	}
	t.compare(with(standings, supply))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.standings, t.supply, t.standingsAt = standings, supply.Amount, time.Now()
	t.publish()
	return nil
}

// compare takes what rows have otherwise than a node says.
func (t *told) compare(differs error) {
	before := t.trouble()
	switch {
	case differs == nil && before != nil:
		t.log.Info("supply and expected rewards are those of the node again")
	case differs != nil && before == nil:
		t.log.Warn("supply or expected rewards are not those of the node", "err", differs)
	}
	if differs == nil {
		t.differs.Store(nil)
		return
	}
	t.differs.Store(&differs)
}

// peers takes the peers of a node, and the node itself, whose version is empty if it is
// not known.
func (t *told) peers(list []platform.Peer, self chain.NodeID, version string) {
	versions, texts := make(map[chain.NodeID]string, len(list)+1), make(map[string]string)
	add := func(id chain.NodeID, version string) {
		text, known := texts[version]
		if !known {
			if text = plainVersion(version); text == "" || len(texts) == maxVersions {
				return
			}
			texts[version] = text
		}
		versions[id] = text
	}
	add(self, version)
	for i := range list {
		add(list[i].NodeID, list[i].Version)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.versionsAt = time.Now()
	if !maps.Equal(t.versions, versions) {
		t.versions = versions
		t.publish()
	}
}

// plainVersion returns a version in its usual form if its name is a plain word, and else
// nothing.
func plainVersion(s string) string {
	v, err := platform.ParseVersion(s)
	if err != nil || strings.ContainsFunc(v.Name, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", r)
	}) {
		return ""
	}
	return v.String()
}

// expire forgets what no node has said for long.
func (t *told) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.versions != nil && time.Since(t.versionsAt) > toldAge {
		t.versions = nil
		t.publish()
	}
	if t.standings != nil && time.Since(t.standingsAt) > toldAge {
		t.standings, t.supply = nil, 0
		t.publish()
	}
}

// publish makes known what was answered. It needs mu.
func (t *told) publish() {
	now := &primary.Told{Versions: t.versions, Supply: t.supply, Uptimes: make(map[chain.NodeID]uint32, len(t.standings))}
	shares := make(map[string]*primary.VersionShare)
	for i := range t.standings {
		v := &t.standings[i]
		now.Staked = chain.AddSaturated(now.Staked, chain.AddSaturated(v.Weight, v.Delegated))
		if v.Uptime >= 0 {
			now.Uptimes[v.NodeID] = uint32(v.Uptime)
		}
		version, ok := t.versions[v.NodeID]
		if !ok {
			continue
		}
		s := shares[version]
		if s == nil {
			s = &primary.VersionShare{Version: version}
			shares[version] = s
		}
		s.Validators++
		s.Staked = chain.AddSaturated(s.Staked, v.Weight)
	}
	for _, s := range shares {
		now.Shares = append(now.Shares, *s)
	}
	slices.SortFunc(now.Shares, func(a, b primary.VersionShare) int {
		return cmp.Or(cmp.Compare(b.Staked, a.Staked), strings.Compare(a.Version, b.Version))
	})
	t.now.Store(now)
}
