package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"quorate/devnet"
	"quorate/devnet/hostile"
	"quorate/devnet/world"
)

// TestHostileDevnet: flags and a scenario reach the network, and the facts file tells of it.
func TestHostileDevnet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "facts.json")
	scenario := writeFile(t, "odd.yaml", `validators: 30
byzantine: 0.2
blocks: 20
kinds: [bomb, wrong-key]
slow: 0.1
slow-delay: 1s
flapping: 0.1
l1s: 1
l1-members: 6
l1-inactive: 1
l1-underfunded: 1
shared-keys: 1
keyless: 1
height-interval: 1h
messages: 5
`)
	p := launch(t, "devnet ready", "devnet", "--http-port", "0", "--facts-file", path, "--scenario", scenario,
		"--validators", "20", "--silent", "0.1", "--messages", "10") // which win over the file
	facts, err := devnet.ReadFacts(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[hostile.Kind]int{}
	for _, l := range facts.Liars {
		kinds[l.Kind]++
	}
	if len(facts.Liars) != 4 || kinds[hostile.Bomb] != 2 || kinds[hostile.WrongKey] != 2 {
		t.Errorf("liars %+v", facts.Liars)
	}
	if facts.NodeURL != p.url || facts.L1 == nil || len(facts.L1.Messages) != 10 || facts.SubnetID != facts.L1.SubnetID {
		t.Errorf("node %s at %s, L1 %+v", facts.NodeURL, p.url, facts.L1)
	}
	p.stop(t)
}

// TestDevnetNow: with now the network's clock is right, and what is counted from the end
// of its history is counted from now.
func TestDevnetNow(t *testing.T) {
	t.Parallel()
	earliest := time.Now().Truncate(time.Second)
	p := launch(t, "devnet ready", "devnet", "--http-port", "0", "--validators", "1", "--blocks", "20", "--scenario", "{now: true}", "--helicon", "+1h")
	latest := time.Now()
	_, answer := post(t, p.url+"/ext/info", `{"jsonrpc":"2.0","id":1,"method":"info.upgrades"}`)
	upgrades, _ := answer["result"].(map[string]any)
	at, err := time.Parse(time.RFC3339, fmt.Sprint(upgrades["heliconTime"]))
	if start := at.Add(-time.Hour); err != nil || start.Before(earliest) || start.After(latest) {
		t.Errorf("Helicon at %s, an hour after %s to %s: %v", at, earliest, latest, err)
	}
	p.stop(t)
}

// TestHeliconFlag: a time is the same in each network, and all else counts from its start.
func TestHeliconFlag(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{
		defaultHelicon.text: start.AddDate(0, 0, -40), "+30s": start.Add(30 * time.Second), never: {},
		"2025-01-01T01:00:00+01:00": world.Start(),
	} {
		var v heliconValue
		if err := v.Set(text); err != nil || !v.after(start).Equal(want) || v.String() != text {
			t.Errorf("%s is %s, want %s: %v", text, v.after(start), want, err)
		}
	}
	if at := defaultHelicon.after(world.Start()); !at.Equal(time.Date(2024, 11, 22, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("by default it is at %s", at)
	}
	v := defaultHelicon
	for _, bad := range []string{"", "tomorrow", "0001-01-01T00:00:00Z"} {
		if err := v.Set(bad); err == nil || v != defaultHelicon {
			t.Errorf("%q: %v, %+v", bad, err, v)
		}
	}
}

func TestDevnetUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`unknown kind of lie "odd", want some of [wrong-key `: {"--scenario", "{kinds: [flood, odd]}"},
		"the shares add up to 1.2":                            {"--byzantine", "0.5", "--silent", "0.7"},
		"slow share 1.5":                                      {"--scenario", "{slow: 1.5}"},
		"3 members of an L1, want 1 to 2":                     {"--scenario", "{validators: 2, l1-members: 3}"},
		"2 shared keys and 1 validators without a key":        {"--scenario", `{"shared-keys": 2, "keyless": 1}`},
		"reading --scenario none.yaml: open none.yaml":        {"--scenario", "none.yaml"},
		`unknown key "keyles"; did you mean keyless?`:         {"--scenario", "{keyles: 1}"},
		`unknown key "facts-file"`:                            {"--scenario", "{facts-file: x}"},
		`keyless in --scenario: "many" is not a number`:       {"--scenario", "{keyless: many}"},
	} {
		code, out, errs := quorate(t, "", append([]string{"devnet", "--http-port", "0"}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %q", args, code, out, errs, want)
		}
	}
	_, help, _ := quorate(t, "", "devnet", "--help")
	for _, kind := range hostile.Kinds() {
		if !strings.Contains(help, string(kind)) {
			t.Errorf("the help does not name %s", kind)
		}
	}
}

// TestScenario: a setting of a scenario is taken as the flag that it was, which wins over the file,
// and is told with its new place.
func TestScenario(t *testing.T) {
	t.Parallel()
	cmd := devnetCommand()
	file := writeFile(t, "devnet.yaml", "scenario: '{l1s: 2, l1-own: 3, keyless: 4, seed: 5, nodes: 6}'\nl1-own: 7\n")
	if err := cmd.ParseFlags([]string{"--config-file", file, "--l1s", "8", "--now"}); err != nil {
		t.Fatal(err)
	}
	if err := fillFlags(cmd, func() []string { return []string{"QUORATE_NODES=9"} }); err != nil {
		t.Fatal(err)
	}
	settings := cmd.Flags().Lookup(scenarioFlag).Value.(hasSettings).set()
	for name, want := range map[string]string{"l1s": "8", "l1-own": "7", "keyless": "4", "nodes": "9", "now": "true", "slow": "0"} {
		if got := settings.Lookup(name).Value.String(); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if got := cmd.Flags().Lookup("seed").Value.String(); got != "5" {
		t.Errorf("seed: %s", got)
	}
	cmd.Annotations = map[string]string{}
	noteMoved(cmd)
	told := strings.Join(movedOf(cmd), "\n")
	if strings.Count(told, "in the file of --scenario now") != 4 || !strings.Contains(told, "--l1s is taken by this release only") || !strings.Contains(told, "QUORATE_NODES is") {
		t.Errorf("%s", told)
	}
	shown := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown++
		}
	})
	if shown > 20 {
		t.Errorf("%d flags: what few networks need is a setting of a scenario", shown)
	}
}
