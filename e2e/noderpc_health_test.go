package e2e

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/rpc"
)

// reportDifferences are the parts of a full health report that one of the two
// lacks, with + for the product's own and - for the node's, and why. Everything
// else is in both reports, with the same kind of value.
var reportDifferences = map[string]string{
	"- bls":           "not in the contract, and its message would be a text, which the contract has not",
	"- futureupgrade": "not in the contract: the product takes no part in upgrades",
	"+ upgrades":      "what futureupgrade is to a node: upgrades that followed nodes know and the product does not",
	"+ webhooks":      "a node has none: who delivers, and which of before have no API key",
	"- chain message.engine.consensus.avgAcceptanceTime string": "not in the contract",
	"- chain message.networking.disconnectedValidators array":   "not in the contract",
	"- chain message.engine.vm null":                            "null or an object by the contract; the product names the virtual machine",
	"+ chain message.engine.vm.id string":                       "null or an object by the contract; the product names the virtual machine",
	"+ chain message.engine.vm.name string":                     "null or an object by the contract; the product names the virtual machine",
}

// healthMethod is one of the official client's methods.
type healthMethod struct {
	name string
	ask  func(*health.Client, context.Context, []string, ...rpc.Option) (*health.APIReply, error)
}

// compareHealth compares the reports that the official client gets. Both sides
// look at what changes under them, so what differs is given time to pass.
func compareHealth(ctx context.Context, t *testing.T, real, ours *party) {
	t.Helper()
	methods := []healthMethod{
		{"health", (*health.Client).Health}, {"readiness", (*health.Client).Readiness}, {"liveness", (*health.Client).Liveness},
	}
	primary := constants.PrimaryNetworkID.String()
	tagged := [][]string{nil, {}, {primary}, {"nope"}, {primary, "nope"}, {ours.c}, {"C"}, {""}, {"all"}, {"application"}}
	await(ctx, t, fmt.Sprintf("%d calls have the same checks", len(methods)*len(tagged)), func() (string, bool) {
		for _, m := range methods {
			for _, tags := range tagged {
				if d := reportDifference(ctx, t, m, tags, real, ours); d != "" {
					return d, false
				}
			}
		}
		return "", true
	})
	for _, wait := range []func(context.Context, *health.Client, time.Duration, []string, ...rpc.Option) (bool, error){
		health.AwaitReady, health.AwaitHealthy, health.AwaitAlive,
	} {
		if ok, err := wait(ctx, ours.health, awaitEvery, nil); !ok || err != nil {
			t.Errorf("the client's wait: %v, %v", ok, err)
		}
	}
	await(ctx, t, "the full reports have the same members", func() (string, bool) {
		d := shapeDifference(ctx, t, real, ours)
		return d, d == ""
	})
	compareHeights(ctx, t, real, ours)
}

// reportDifference says how two reports differ in their checks.
func reportDifference(ctx context.Context, t *testing.T, m healthMethod, tags []string, real, ours *party) string {
	t.Helper()
	want, err := m.ask(real.health, ctx, tags)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.ask(ours.health, ctx, tags)
	if err != nil {
		t.Fatalf("health.%s of %q: %v", m.name, tags, err)
	}
	if got.Healthy == want.Healthy && slices.Equal(checkNames(got), checkNames(want)) {
		return ""
	}
	return fmt.Sprintf("health.%s of %q:\nnode    %v %v: %s\nquorate %v %v: %s", m.name, tags,
		want.Healthy, checkNames(want), failingChecks(want), got.Healthy, checkNames(got), failingChecks(got))
}

// byDesign reports whether only one of the two has a check.
func byDesign(name string) bool {
	return reportDifferences["- "+name] != "" || reportDifferences["+ "+name] != ""
}

// checkNames returns the checks of a report but those that one of the two lacks by design.
func checkNames(r *health.APIReply) []string {
	var names []string
	for name := range r.Checks {
		if !byDesign(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shapeDifference compares which members the full reports have and of what kind
// they are, and tells what is not as listed.
func shapeDifference(ctx context.Context, t *testing.T, real, ours *party) string {
	t.Helper()
	want, bad := reportShape(ctx, t, real)
	if bad != "" {
		return bad
	}
	got, bad := reportShape(ctx, t, ours)
	if bad != "" {
		return bad
	}
	found := map[string]bool{}
	for line := range got {
		if !want[line] {
			found["+ "+line] = true
		}
	}
	for line := range want {
		if !got[line] {
			found["- "+line] = true
		}
	}
	var out []string
	for _, line := range slices.Sorted(maps.Keys(found)) {
		if reportDifferences[line] == "" {
			out = append(out, "not listed: "+line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(reportDifferences)) {
		if !found[line] {
			out = append(out, "listed, but alike: "+line)
		}
	}
	return strings.Join(out, "\n")
}

// reportShape returns a line for each member of the full report. Chains are written
// as one, and a check that the other has not is one line. bad tells of a check
// that does not pass as it should.
func reportShape(ctx context.Context, t *testing.T, p *party) (lines map[string]bool, bad string) {
	t.Helper()
	r, err := p.health.Health(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines = map[string]bool{}
	for name, c := range r.Checks {
		if c.Error != nil || c.Timestamp.IsZero() || time.Since(c.Timestamp) > testWait || c.Duration < 0 ||
			c.ContiguousFailures != 0 || c.TimeOfFirstFailure != nil {
			bad = fmt.Sprintf("%s: check %s: %s, %+v", p.url, name, failingChecks(r), c)
		}
		switch {
		case byDesign(name):
			lines[name] = true
			continue
		case slices.Contains([]string{"P", "X", "C"}, name):
			name = "chain"
		}
		addShape(lines, name+" message", c.Details)
	}
	return lines, bad
}

// addShape adds a line with the path and the kind of each leaf of a decoded JSON value.
func addShape(lines map[string]bool, path string, value any) {
	switch v := value.(type) {
	case nil:
		lines[path+" null"] = true
	case map[string]any:
		for name, member := range v {
			addShape(lines, path+"."+name, member)
		}
	case []any:
		lines[path+" array"] = true
	default:
		lines[fmt.Sprintf("%s %s", path, reflect.TypeOf(v))] = true
	}
}

// compareHeights waits until both tell the same height of each chain: the product
// tells what it has indexed, which follows the node's by a moment.
func compareHeights(ctx context.Context, t *testing.T, real, ours *party) {
	t.Helper()
	await(ctx, t, "both tell the same heights", func() (string, bool) {
		want, err := real.health.Health(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours.health.Health(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		state, same := "", true
		for _, chain := range []string{"P", "X", "C"} {
			a, b := height(want.Checks[chain]), height(got.Checks[chain])
			state += fmt.Sprintf("%s: node %v, quorate %v; ", chain, a, b)
			same = same && a != nil && a == b
		}
		return state, same
	})
}

// height takes the height out of the message of a chain's check.
func height(c health.Result) any {
	message, _ := c.Details.(map[string]any)
	engine, _ := message["engine"].(map[string]any)
	consensus, _ := engine["consensus"].(map[string]any)
	return consensus["lastAcceptedHeight"]
}
