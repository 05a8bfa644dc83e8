package main

import (
	"path/filepath"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/devnet/validator"
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
