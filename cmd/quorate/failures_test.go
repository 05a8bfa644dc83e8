package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/devnet/validator"
)

// TestFailureAfterRestarts: after two restarts the page of a message that was not signed
// still names the validators and says what each of them did.
func TestFailureAfterRestarts(t *testing.T) {
	t.Parallel()
	d, stop, err := startDevnet(t.Context(), devnet.Config{Validators: 5, Blocks: 5, TxsPerBlock: 1, Behaviours: map[int]devnet.Behaviour{
		0: validator.Silent, 1: validator.Refusing(-4, "no"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	msg := d.Message(0)
	for run := range 3 {
		p := serveIn(t, d, dir, noIndex)
		if run == 0 {
			status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x","quorumPercentage":100}`, msg.Bytes()))
			if status == http.StatusCreated {
				t.Fatalf("signed: %v", answer)
			}
		}
		status, page := browse(t, p.url+"/signatures/"+msg.ID().String(), nil)
		if status != http.StatusOK || !strings.Contains(page, ">silent<") || !strings.Contains(page, "code -4") {
			t.Errorf("run %d: status %d, the page does not say who is missing", run, status)
		}
		for _, v := range d.World().Validators() {
			if !strings.Contains(page, v.NodeID.String()) {
				t.Errorf("run %d: the page does not name %v", run, v.NodeID)
			}
		}
		p.stop(t)
	}
}
