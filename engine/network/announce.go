package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"quorate/engine/source/platform"
)

const (
	// upgradePoll is how often the followed nodes are asked which upgrades they know.
	upgradePoll = time.Minute
	// upgradeTimeout bounds the wait for one of them.
	upgradeTimeout = 5 * time.Second
	// upgradeWarn is the time between two lines in the log about the same upgrade.
	upgradeWarn = 24 * time.Hour
)

// announcements are what followed nodes say of upgrades of the network that this release
// does not know.
type announcements struct {
	nodes func() []platform.Caller
	log   *slog.Logger
	said  map[platform.Upgrade]time.Time // when the log last did; owned by watch

	mu       sync.Mutex         // guards what follows
	upgrades []platform.Upgrade // the earliest first
	version  platform.Version   // the highest of the nodes, zero if unknown
}

// callers returns a caller of each followed node.
func (n *Network) callers() (list []platform.Caller) {
	for _, node := range n.source.Nodes() {
		list = append(list, only{n.source, node})
	}
	return list
}

// watch asks the nodes until ctx ends.
func (a *announcements) watch(ctx context.Context) error {
	tick := time.NewTicker(upgradePoll)
	defer tick.Stop()
	for {
		a.ask(ctx)
		a.warn(time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// ask asks all nodes at once. What is known stays while none answers.
func (a *announcements) ask(ctx context.Context) {
	nodes := a.nodes()
	type answer struct {
		upgrades []platform.Upgrade
		version  platform.Version
		err      error
	}
	answers := make([]answer, len(nodes))
	ctx, stop := context.WithTimeout(ctx, upgradeTimeout)
	defer stop()
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			c, to := platform.New(node), &answers[i]
			to.upgrades, to.err = c.UnknownUpgrades(ctx)
			if program, err := c.Program(ctx); err == nil {
				to.version = program.Version
			} else if to.err == nil {
				a.log.Debug("node does not say its version", "err", err)
			}
		})
	}
	all.Wait()
	var upgrades []platform.Upgrade
	var version platform.Version
	some := false
	for _, by := range answers {
		if by.err != nil && !errors.Is(by.err, platform.ErrNoMethod) {
			a.log.Debug("node does not say which upgrades it knows", "err", by.err)
		}
		some = some || by.err == nil
		upgrades = append(upgrades, by.upgrades...)
		if by.version.Compare(version) > 0 {
			version = by.version
		}
	}
	if !some {
		return
	}
	slices.SortFunc(upgrades, func(x, y platform.Upgrade) int {
		return cmp.Or(x.Time.Compare(y.Time), strings.Compare(x.Name, y.Name))
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.upgrades, a.version = slices.Compact(upgrades), version
}

// warn says in the log what is announced, once a day.
func (a *announcements) warn(now time.Time) {
	a.mu.Lock()
	list := a.upgrades
	a.mu.Unlock()
	for _, u := range list {
		if at, ok := a.said[u]; ok && now.Sub(at) < upgradeWarn {
			continue
		}
		if a.said == nil {
			a.said = make(map[platform.Upgrade]time.Time)
		}
		a.said[u] = now
		a.log.Warn("followed nodes know an upgrade of the network that this release does not know: "+advice(u, now), "upgrade", u.Name, "time", u.Time)
	}
}

// advice says what to do about an upgrade.
func advice(u platform.Upgrade, now time.Time) string {
	at := u.Time.Format(time.RFC3339)
	if now.Before(u.Time) {
		return fmt.Sprintf("%s comes at %s: install a release of Quorate that knows it before", u.Name, at)
	}
	return fmt.Sprintf("%s came at %s: install a release of Quorate that knows it; until then blocks may not be read, and what was indexed since may be wrong", u.Name, at)
}

// upgradesMessage is what the check of the upgrades says.
type upgradesMessage struct {
	Supported string             `json:"supportedReleases"` // of avalanchego
	Unknown   []platform.Upgrade `json:"unknownUpgrades"`
	Warning   string             `json:"warning,omitempty"` // of those to come
}

// check is red from the time of an unknown upgrade on; before, it warns.
func (a *announcements) check(context.Context) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	msg := upgradesMessage{Supported: platform.Supported(), Unknown: slices.Clone(a.upgrades)}
	if msg.Unknown == nil {
		msg.Unknown = []platform.Upgrade{}
	}
	now := time.Now()
	var errs []error
	var warnings []string
	for _, u := range a.upgrades {
		if text := advice(u, now); now.Before(u.Time) {
			warnings = append(warnings, text)
		} else {
			errs = append(errs, errors.New(text))
		}
	}
	msg.Warning = strings.Join(warnings, "; ")
	return msg, errors.Join(errs...)
}

// Needs returns what a release must know that reads the blocks of today's network: the
// version of the followed nodes if that is not supported, and the upgrades of which they
// speak that have come. It is empty if they speak of nothing that is unknown here.
func (n *Network) Needs() string { return n.announced.needs(time.Now()) }

func (a *announcements) needs(now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var parts []string
	if v := plainVersion(a.version.String()); v != "" && a.version.Newer() {
		parts = append(parts, strings.Replace(v, "/", " ", 1))
	}
	for _, u := range a.upgrades {
		if !now.Before(u.Time) {
			parts = append(parts, fmt.Sprintf("upgrade %s of %s", u.Name, u.Time.Format(time.DateOnly)))
		}
	}
	return strings.Join(parts, " and ")
}
