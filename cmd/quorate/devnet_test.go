package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/validator"
	"quorate/devnet/world"
)

// TestHostileDevnet: the flags reach the network, and the facts file tells of it.
func TestHostileDevnet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "facts.json")
	p := launch(t, "devnet ready", "devnet", "--http-port", "0", "--validators", "20", "--facts-file", path,
		"--byzantine", "0.2", "--kinds", "bomb,wrong-key", "--slow", "0.1", "--slow-delay", "1s", "--flapping", "0.1", "--silent", "0.1",
		"--l1s", "1", "--l1-members", "6", "--l1-inactive", "1", "--l1-underfunded", "1", "--shared-keys", "1", "--keyless", "1",
		"--height-interval", "1h", "--messages", "10", "--blocks", "20")
	facts, err := devnet.ReadFacts(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[validator.Kind]int{}
	for _, l := range facts.Liars {
		kinds[l.Kind]++
	}
	if len(facts.Liars) != 4 || kinds[validator.Bomb] != 2 || kinds[validator.WrongKey] != 2 {
		t.Errorf("liars %+v", facts.Liars)
	}
	if facts.NodeURL != p.url || facts.L1 == nil || len(facts.L1.Messages) != 10 || facts.SubnetID != facts.L1.SubnetID {
		t.Errorf("node %s at %s, L1 %+v", facts.NodeURL, p.url, facts.L1)
	}
	p.stop(t)
}

// TestDevnetNow: with --now the network's clock is right, and what is counted from the end
// of its history is counted from now.
func TestDevnetNow(t *testing.T) {
	t.Parallel()
	earliest := time.Now().Truncate(time.Second)
	p := launch(t, "devnet ready", "devnet", "--http-port", "0", "--validators", "1", "--blocks", "20", "--now", "--helicon", "+1h")
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
		`unknown kind of lie "odd", want some of [wrong-key `: {"--kinds", "flood,odd"},
		"the shares add up to 1.2":                            {"--byzantine", "0.5", "--silent", "0.7"},
		"slow share 1.5":                                      {"--slow", "1.5"},
		"3 members of an L1, want 1 to 2":                     {"--validators", "2", "--l1-members", "3"},
		"2 shared keys and 1 validators without a key":        {"--shared-keys", "2", "--keyless", "1"},
	} {
		code, out, errs := quorate(t, "", append([]string{"devnet", "--http-port", "0"}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %q", args, code, out, errs, want)
		}
	}
	_, help, _ := quorate(t, "", "devnet", "--help")
	for _, kind := range validator.Kinds() {
		if !strings.Contains(help, string(kind)) {
			t.Errorf("the help does not name %s", kind)
		}
	}
}
