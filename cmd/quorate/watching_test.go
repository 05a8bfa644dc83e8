package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestWatchingStopsNothing: chains of nodes without sybil protection, which wait for the votes
// of every peer, go on while a server follows them, with and without its index. It has
// messages signed there, and health says how it is connected.
func TestWatchingStopsNothing(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 3, Blocks: 5, BlockInterval: 20 * time.Millisecond, NoSybilProtection: true})
	var servers []*program
	for _, args := range [][]string{{noIndex}, nil} {
		servers = append(servers, serveIn(t, d, t.TempDir(), append(args, "--health-check-frequency", "50ms")...))
	}
	c, number := cChain(d)
	for i, p := range servers {
		poll(t, 50*time.Millisecond, "health says that links are open only for the time of a request", func() bool {
			var msg struct{ ConnectedPeers, PeersOnRequest int }
			check := awaitHealth(t, p.url, http.StatusOK).Checks["network"]
			if err := json.Unmarshal(check.Message, &msg); err != nil {
				t.Fatal(err)
			}
			return msg.PeersOnRequest == 3 && msg.ConnectedPeers == 3 && strings.Contains(string(check.Message), "--sybil-protection-enabled=false")
		})
		for k := range 3 {
			body := fmt.Sprintf(`{"message":%q,"quorumPercentageBuffer":33}`, hex.EncodeToString(d.Message(uint64(10*i+k)).Bytes()))
			if status, answer := post(t, p.url+endpoint1, body); status != http.StatusCreated {
				t.Errorf("status %d: %v", status, answer)
			}
		}
	}
	if status, page := get(t, servers[0].url+"/validators"); status != http.StatusOK || strings.Count(string(page), "linked on request") != 3 {
		t.Errorf("the page of the validators, status %d, does not say how they are connected: %s", status, page)
	}
	const blocks = 100
	tip := c.Tip()
	poll(t, 20*time.Millisecond, "the chain goes on", func() bool { return c.Tip() >= tip+blocks })
	poll(t, 50*time.Millisecond, "its blocks are indexed", func() bool { return indexed(t, servers[1].url, number) >= tip+blocks })
	for i, p := range servers {
		if errs := p.stderr.String(); strings.Count(errs, "takes this server for a validator") != 3 {
			t.Errorf("server %d does not say which nodes poll it: %s", i, errs)
		}
		p.stop(t)
	}
}
