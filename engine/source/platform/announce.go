package platform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

// knownUpgrades are the members of info.upgrades of all releases that this one is made for.
// Source: upgrade.Config of avalanchego v1.15.0.
var knownUpgrades = map[string]bool{
	"apricotPhase1Time": true, "apricotPhase2Time": true, "apricotPhase3Time": true, "apricotPhase4Time": true,
	"apricotPhase4MinPChainHeight": true, "apricotPhase5Time": true, "apricotPhasePre6Time": true, "apricotPhase6Time": true,
	"apricotPhasePost6Time": true, "banffTime": true, "cortinaTime": true, "cortinaXChainStopVertexID": true,
	"durangoTime": true, "etnaTime": true, "fortunaTime": true, "graniteTime": true, "graniteEpochDuration": true, "heliconTime": true,
}

const (
	// neverYear is that of the time of an upgrade that is not to come: 9999-12-01.
	neverYear = 9999
	// maxUnknown bounds the unknown upgrades of one answer, and maxUpgradeName a name.
	maxUnknown, maxUpgradeName = 16, 64
)

// Upgrade is a change of the network's rules.
type Upgrade struct {
	Name string    `json:"name"`
	Time time.Time `json:"time"` // from when on it holds
}

// UnknownUpgrades returns the upgrades with a date that the answering node knows and this
// release does not, by name. [ErrNoMethod] as for [Client.Upgrades].
func (c *Client) UnknownUpgrades(ctx context.Context) ([]Upgrade, error) {
	var members map[string]json.RawMessage
	if err := c.info(ctx, "upgrades", nil, &members); err != nil {
		return nil, err
	}
	return unknownUpgrades(members)
}

func unknownUpgrades(members map[string]json.RawMessage) (list []Upgrade, err error) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var at time.Time
		// A member that is no time belongs to an upgrade that has one besides.
		if knownUpgrades[name] || json.Unmarshal(members[name], &at) != nil || at.IsZero() || at.Year() >= neverYear {
			continue
		}
		if name = strings.TrimSuffix(name, "Time"); !plainName(name) {
			return nil, bad("an upgrade called %.80q", name)
		}
		if list = append(list, Upgrade{name, at.UTC()}); len(list) > maxUnknown {
			return nil, bad("more than %d upgrades that are not known here", maxUnknown)
		}
	}
	return list, nil
}

// plainName reports whether a name is fit for logs and health checks.
func plainName(s string) bool {
	return s != "" && len(s) <= maxUpgradeName && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// supported are the releases of avalanchego that this one is made for, whatever their
// patch, in order.
var supported = [...]Version{{Name: "avalanchego", Major: 1, Minor: 14}, {Name: "avalanchego", Major: 1, Minor: 15}}

// Supported names the releases of avalanchego that this one is made for.
func Supported() string {
	text := ""
	for i, v := range supported {
		switch {
		case i > 0 && i == len(supported)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("%d.%d.x", v.Major, v.Minor)
	}
	return text
}

// Newer reports whether a version is above all that are supported.
func (v Version) Newer() bool {
	last := supported[len(supported)-1]
	return v.Major > last.Major || v.Major == last.Major && v.Minor > last.Minor
}
