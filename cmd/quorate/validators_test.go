package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quorate/devnet"
)

// wantSets compares the validator sets that a folder has of each height with those of the
// simulated network.
func wantSets(t *testing.T, d *devnet.Devnet, dir string) {
	t.Helper()
	last := d.Primary().Height()
	var want []string
	for h := uint64(0); h <= last; h++ {
		for subnet, members := range d.Primary().Sets(h) {
			for _, m := range members {
				line := fmt.Sprintf("%d %s %s %d ", h, subnet, m.NodeID, m.Weight)
				if !m.NoKey {
					line += fmt.Sprintf("0x%x", m.PublicKey)
				}
				want = append(want, line)
			}
		}
	}
	printed := func(args ...string) (all []string, sets int) {
		t.Helper()
		out, _ := mustCommand(t, nil, append([]string{"validators", "--data-dir", dir}, args...)...)
		for line := range bytes.Lines(out) {
			var s validatorSet
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			sets++
			for _, v := range s.Validators {
				all = append(all, fmt.Sprintf("%d %s %s %d %s", s.Height, s.SubnetID, v.NodeID, v.Weight, v.PublicKey))
			}
		}
		slices.Sort(all)
		return all, sets
	}
	slices.Sort(want)
	got, sets := printed("0", fmt.Sprint(last))
	if !slices.Equal(got, want) || uint64(sets) <= last {
		t.Errorf("%d sets with %d members of %d heights, want %d members", sets, len(got), last, len(want))
	}
	one := fmt.Sprint(last, " ")
	got, _ = printed()
	if want := slices.DeleteFunc(want, func(s string) bool { return !strings.HasPrefix(s, one) }); !slices.Equal(got, want) {
		t.Errorf("after the last block: %v, want %v", got, want)
	}
	if got, sets = printed("1", "--subnet", "11111111111111111111111111111111LpoYY", "--network", "12345"); sets != 1 || len(got) == 0 {
		t.Errorf("of the primary network: %d sets, %v", sets, got)
	}
	for _, bad := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"x"}}, {exitUsage, []string{"-1"}}, {exitUsage, []string{"2", "1"}}, {exitUsage, []string{"1", "--subnet", "x"}},
		{exitUsage, []string{"1", "2", "3"}}, {exitFailed, []string{fmt.Sprint(last + 1)}}, {exitFailed, []string{"0", "--network", "7"}},
	} {
		if code, _, _ := command(t, nil, append([]string{"validators", "--data-dir", dir}, bad.args...)...); code != bad.code {
			t.Errorf("%v: exit code %d, want %d", bad.args, code, bad.code)
		}
	}
}

// TestValidatorsOfNothing: a folder without rows of a P-Chain has no sets.
func TestValidatorsOfNothing(t *testing.T) {
	t.Parallel()
	code, out, told := command(t, nil, "validators", "--data-dir", t.TempDir())
	if code != exitFailed || len(out) > 0 || !strings.Contains(told, "no chain was indexed") {
		t.Errorf("exit code %d: %s%s", code, out, told)
	}
}
