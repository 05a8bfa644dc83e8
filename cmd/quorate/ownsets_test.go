package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/world"
)

// TestSignWithoutNode: after a restart while the node is down, messages are signed by the
// validator sets of the own rows of the P-Chain, at any height that these have.
func TestSignWithoutNode(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 5, Validators: 4, PrimaryBlocks: 200, HeightInterval: time.Hour, BlockInterval: time.Hour})
	node := newPit(t, d.NodeURL(), passing)
	args := []string{"serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "fatal", "--node-url", node.url(),
		"--genesis-file", fmt.Sprintf("%d=%s", world.NetworkID, writeFile(t, "genesis", fmt.Sprintf("%x", d.Genesis())))}
	for id, address := range validatorAddresses(t, d) {
		args = append(args, "--track-peers", id+"@"+address)
	}
	ask := func(url string, message, height uint64) (int, map[string]any) {
		return post(t, url+endpoint1, fmt.Sprintf(`{"message":"%x","pChainHeight":%d}`, d.Message(message).Bytes(), height))
	}
	p := launch(t, "quorate ready", args...)
	awaitPrimary(t, d, p.url)
	// Sets that were loaded before rows had their height are not compared: a new height is.
	poll(t, 500*time.Millisecond, "sets of rows are the node's", func() bool {
		d.Primary().Grow(1)
		return total(counters(t, p.url), "quorate_valset_own_trusted") == 1
	})
	awaitPrimary(t, d, p.url)
	p.stop(t)
	tip := d.Primary().Height()

	node.close()
	p = launch(t, "quorate ready", args...)
	poll(t, 100*time.Millisecond, "validators are connected", func() bool { return total(counters(t, p.url), "quorate_p2p_peers_connected") == 4 })
	for i, height := range []uint64{tip, tip - 3, tip - 20} {
		if status, answer := ask(p.url, uint64(i), height); status != http.StatusCreated {
			t.Errorf("height %d: status %d, %v", height, status, answer)
		}
	}
	if status, answer := ask(p.url, 9, tip+1_000_000); status != http.StatusServiceUnavailable {
		t.Errorf("above the rows: status %d, %v", status, answer)
	}
	if n := total(counters(t, p.url), "quorate_valset_own_sets_total"); n < 3 {
		t.Errorf("%v answers from own rows", n)
	}
	p.stop(t)
}

// validatorAddresses returns where the validators of a simulated network listen, as its
// first node says it.
func validatorAddresses(t *testing.T, d *devnet.Devnet) map[string]string {
	t.Helper()
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	info := func(method string, result any) {
		t.Helper()
		answer := struct {
			Result any `json:"result"`
		}{result}
		resp, err := client.Post(d.NodeURL()+"/ext/info", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"info.`+method+`","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
	}
	var self struct {
		NodeID, IP string
		Peers      []struct{ NodeID, PublicIP string }
	}
	for _, method := range []string{"getNodeID", "getNodeIP", "peers"} {
		info(method, &self)
	}
	all := map[string]string{self.NodeID: self.IP}
	for _, p := range self.Peers {
		all[p.NodeID] = p.PublicIP
	}
	if len(all) != len(d.World().Validators()) {
		t.Fatalf("%d of %d validators", len(all), len(d.World().Validators()))
	}
	return all
}
