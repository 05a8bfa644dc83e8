package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/engine/chain"
)

// TestOutOfBalance: validators of an L1 that are out of balance go by that name on the pages
// and in the API, and are listed by their node IDs, although no set names them. None of these
// says that they can never sign: a top-up has them sign again.
func TestOutOfBalance(t *testing.T) {
	d, p := hostileNet(t, devnet.Config{Validators: 5, L1s: 1, L1Members: 5, L1Inactive: 1, L1Underfunded: 1}, "--limits", "request-timeout=8s")
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

// TestBalancesRunOut: an L1's validators with less than a week, a day and an hour left are
// shown so on all pages, in the metrics and in events.
func TestBalancesRunOut(t *testing.T) {
	t.Parallel()
	const minute, hour, day = 60, 3600, 86400
	lasts := []uint64{7*day - minute, day - minute, hour - minute} // at 1 nAVAX a second
	d := startNetwork(t, devnet.Config{
		Validators: 5, L1s: 1, L1Members: 5, L1Balances: lasts, Blocks: 5, PrimaryBlocks: 240, HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	l1 := d.World().L1s()[0]
	p := serveIn(t, d, t.TempDir())
	if status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, d.L1Message(0, 1).Bytes())); status != http.StatusCreated {
		t.Fatalf("status %d: %v", status, answer)
	}
	left := `quorate_l1_seconds_left{subnet="` + l1.SubnetID.String() + `"}`
	poll(t, 20*time.Millisecond, "the balances are known", func() bool { return counters(t, p.url)[left] > 0 })
	if got := counters(t, p.url)[left]; got != float64(lasts[2]) {
		t.Errorf("%s is %v, want %d", left, got, lasts[2])
	}
	has := func(path string, texts ...string) {
		t.Helper()
		status, page := browse(t, p.url+path, nil)
		for _, text := range texts {
			if status != http.StatusOK || !strings.Contains(page, text) {
				t.Errorf("%s: status %d, no %q", path, status, text)
			}
		}
	}
	has("/", `next to run out of balance`, `<span class="badge bad">59 min`)
	has("/validators?subnet="+l1.SubnetID.String(), `>balance lasts 6 d 23 h`, `<span class="badge warn">balance lasts 6 d`, `<span class="badge bad">balance lasts 23 h 59 min`, `<span class="badge bad">balance lasts 59 min`)
	poll(t, 20*time.Millisecond, "the P-Chain is indexed", func() bool {
		status, _ := browse(t, p.url+"/primary/subnet/"+l1.SubnetID.String(), nil)
		return status == http.StatusOK
	})
	has("/primary/subnet/"+l1.SubnetID.String(), `badge warn">6 d 23 h`, `badge bad">23 h 59 min`, `badge bad">59 min`)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	event := ""
	if err := subscribe(ctx, new(http.Client), p.url, "topics=validators", "", func(e told) bool {
		event = e.data
		return !strings.Contains(event, "lastsLessThan")
	}); err != nil {
		t.Error(err)
	}
	for i, step := range []int{7 * day, day, hour} {
		item := fmt.Sprintf(`"nodeId":"%s","subnetId":"%s","weight":"%d","lastsLessThan":%d}`, l1.Members[i].NodeID, l1.SubnetID, l1.Members[i].L1Weight, step)
		if !strings.Contains(event, item) {
			t.Errorf("the event has no %s:\n%.2000s", item, event)
		}
	}
	if n := strings.Count(event, "lastsLessThan"); n != len(lasts) {
		t.Errorf("%d validators run out, want %d", n, len(lasts))
	}
}
