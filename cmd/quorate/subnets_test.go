package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestQuietL1: a followed L1 whose messages nobody asks for is healthy, its
// validators, of whom most are none of the primary network, are connected; and no
// client can make the server follow another.
func TestQuietL1(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, EVMChains: 2, Blocks: 30, L1Own: 4})
	followed, other := d.World().L1s()[0], d.World().L1s()[1]
	facts := d.Facts("").EVMChains[1]
	file := writeFile(t, "chains.yaml", fmt.Sprintf("chains:\n- {rpc: '%s', ws: '%s', blockchain-id: %s, subnet-id: %s, names: [games]}\n",
		facts.RPCURL, facts.WSURL, facts.BlockchainID, facts.SubnetID))
	p := serveIndexed(t, d, "--chains-file", file, "--health-check-frequency", "250ms", "--sign-ahead=false",
		"--allowed-subnets", followed.SubnetID.String())
	awaitHealth(t, p.url, http.StatusOK)
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	ask := func(more string) (int, string) {
		t.Helper()
		body := fmt.Appendf(nil, `{"message":"%x"%s}`, d.Message(0).Bytes(), more)
		resp, err := client.Post(p.url+endpoint1, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, body := ask(fmt.Sprintf(`,"signingSubnetId":"%s"`, followed.SubnetID)); status != http.StatusCreated {
		t.Errorf("the followed L1: %d %s", status, body)
	}
	if status, body := ask(fmt.Sprintf(`,"signingSubnetId":"%s"`, other.SubnetID)); status != http.StatusBadRequest || !strings.Contains(body, "not among the subnets") {
		t.Errorf("another L1: %d %s", status, body)
	}
	p.stop(t)
}

// TestConvertedMeanwhile: a subnet that becomes an L1 while the server runs signs as
// soon as it has validators, and is refused with the reason until then.
func TestConvertedMeanwhile(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, L1s: 1, L1Own: 5, L1After: time.Hour, Blocks: 20})
	l1 := d.World().L1s()[0]
	p := launch(t, "quorate ready", "serve", noIndex, "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(),
		"--track-subnets", l1.SubnetID.String(), "--log-display-level", "error", "--limits", "request-timeout=2s")
	body := fmt.Sprintf(`{"message":"%x"}`, d.L1Message(0, 1).Bytes())
	if status, answer := post(t, p.url+endpoint1, body); status < 400 || fmt.Sprint(answer["message"]) == "" {
		t.Errorf("before the conversion: %d %v", status, answer)
	}
	d.ConvertL1()
	poll(t, 200*time.Millisecond, "the new L1 signs", func() bool {
		status, _ := post(t, p.url+endpoint1, body)
		return status == http.StatusCreated
	})
	p.stop(t)
}

// TestSubnetFlags: mistakes are told before anything starts.
func TestSubnetFlags(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--track-subnets", "--allowed-subnets"} {
		code, _, errs := quorate(t, "", "serve", "--devnet", "--data-dir", t.TempDir(), flag, "nonsense")
		if code != exitUsage || !strings.Contains(errs, flag) || !strings.Contains(errs, "nonsense") {
			t.Errorf("%s: exit %d, %q", flag, code, errs)
		}
	}
}
