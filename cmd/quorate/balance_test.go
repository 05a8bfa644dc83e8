package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/engine/chain"
)

// TestOutOfBalance: validators of an L1 that are out of balance go by that name on the pages
// and in the API, and are listed by their node IDs, although no set names them. None of these
// says that they can never sign: a top-up has them sign again.
func TestOutOfBalance(t *testing.T) {
	d, p := hostileNet(t, devnet.Config{Validators: 5, L1s: 1, L1Members: 5, L1Inactive: 1, L1Underfunded: 1}, "--request-timeout", "8s")
	l1 := d.World().L1s()[0]
	low := map[chain.NodeID]bool{}
	for _, m := range l1.Members {
		low[m.NodeID] = m.Balance < 2048
	}
	msg := d.L1Message(0, 1)
	status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x","quorumPercentage":100}`, msg.Bytes()))
	reason := fmt.Sprint(answer["message"])
	if status != http.StatusServiceUnavailable || !strings.Contains(reason, "out of balance") || strings.Contains(reason, "key") {
		t.Errorf("status %d: %s", status, reason)
	}
	for _, path := range []string{"/signatures/" + msg.ID().String(), "/validators?subnet=" + l1.SubnetID.String()} {
		status, page := browse(t, p.url+path, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d", path, status)
		}
		for _, wrong := range []string{"never sign", "underfunded", "usable key"} {
			if strings.Contains(page, wrong) {
				t.Errorf("%s says %q", path, wrong)
			}
		}
		for id, low := range low {
			row := ""
			for r := range strings.SplitSeq(page, "<tr") {
				if strings.Contains(r, id.String()) {
					row = r
				}
			}
			if row == "" || strings.Contains(row, ">out of balance<") != low {
				t.Errorf("%s: the row of %v, low on balance: %v, is %q", path, id, low, row)
			}
		}
	}
}
