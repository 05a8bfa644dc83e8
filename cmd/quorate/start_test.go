package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// reopen listens again where the pit listened before, and passes on.
func (p *pit) reopen(t *testing.T) *pit {
	t.Helper()
	var ln net.Listener
	poll(t, 20*time.Millisecond, "the address is free again", func() (ok bool) {
		var err error
		ln, err = net.Listen("tcp", p.ln.Addr().String())
		return err == nil
	})
	return servePit(t, ln, "http://"+p.to, passing)
}

// TestDeadNodes: nodes that refuse connections or never answer hold up nothing:
// not the start, whichever comes first, nor the other nodes' chains and names.
func TestDeadNodes(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 20})
	gone, mute := newPit(t, d.NodeURL(), passing), newPit(t, d.NodeURL(), silent)
	gone.close()
	for _, urls := range [][]string{{gone.url(), mute.url(), d.NodeURL()}, {d.NodeURL(), mute.url()}, {mute.url(), d.NodeURL()}} {
		args := []string{"serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "error"}
		for _, u := range urls {
			args = append(args, "--node-url", u)
		}
		p := launch(t, "quorate ready", args...)
		status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, d.Message(1).Bytes()))
		if status != http.StatusCreated {
			t.Errorf("%v: status %d: %v", urls, status, answer)
		}
		// The chains of the network that answers have the plain names at once.
		if status, body := get(t, p.url+"/v1/chains/C/transactions"); status == http.StatusNotFound {
			t.Errorf("%v: status %d: %s", urls, status, body)
		}
		c, _ := cChain(d)
		awaitIndexed(t, p.url, c)
		p.stop(t)
	}
}

// TestNodeAnswersLater: a node that is down at the start joins while the server
// runs, and stands in for the one that goes down then.
func TestNodeAnswersLater(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 20})
	first, later := newPit(t, d.NodeURL(), passing), newPit(t, d.NodeURL(), passing)
	later.close()
	p := launch(t, "quorate ready", "serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "info",
		"--node-url", first.url(), "--node-url", later.url())
	c, _ := cChain(d)
	awaitIndexed(t, p.url, c)
	later = later.reopen(t)
	awaitLine(t, p.stderr, `following node node=`+later.url())
	first.close()
	advance(c, 3)
	awaitIndexed(t, p.url, c)
	p.stop(t)
}

// contractSays finds what a receiver says of itself: name, symbol and decimals.
var contractSays = regexp.MustCompile(`"to":\{.*?"address":`)

// TestRestartWithoutNode: what the database has is served at once after a
// restart though the node is down, and goes on when it comes back.
func TestRestartWithoutNode(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{EVMChains: 1, Blocks: 40, TxsPerBlock: 3})
	l1 := d.EVMChain(d.World().L1s()[0].ChainID)
	c, number := cChain(d)
	node := newPit(t, d.NodeURL(), passing)
	text, err := os.ReadFile(chainsFile(t, d, "games"))
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "chains.yaml", strings.ReplaceAll(string(text), d.NodeURL(), node.url()))
	args := []string{"serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "error",
		"--node-url", node.url(), "--chains-file", file, "--public-url", "http://public:1"}
	pages := func(url string) (list []string) {
		for _, path := range []string{"/v1/chains", "/v1/chains/" + number + "/transactions?pageSize=5", "/v1/chains/C/transactions?pageSize=9",
			"/v1/chains/games/transactions", "/v2/chains/" + number + "/metrics/txCount?timeInterval=day&pageSize=3"} {
			status, body := get(t, url+path)
			// What contracts say of themselves is known some time after their blocks.
			body = contractSays.ReplaceAll(body, []byte(`"to":{"address":`))
			list = append(list, fmt.Sprintf("%s: %d %s", path, status, body))
		}
		return list
	}
	p := launch(t, "quorate ready", args...)
	awaitIndexed(t, p.url, c)
	awaitIndexed(t, p.url, l1)
	want := pages(p.url)
	message := func(url string, i uint64) (int, string) {
		status, answer := post(t, url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, d.Message(i).Bytes()))
		signed, _ := answer["signedMessage"].(string)
		return status, signed
	}
	status, signed := message(p.url, 1)
	if status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	p.stop(t)

	node.close()
	p = launch(t, "quorate ready", args...)
	for i, got := range pages(p.url) {
		if got != want[i] {
			at := 0
			for at < min(len(got), len(want[i])) && got[at] == want[i][at] {
				at++
			}
			from := max(0, at-200)
			t.Errorf("byte %d, without the node: %.400s\nwith it: %.400s", at, got[from:], want[i][from:])
		}
		if strings.Contains(got, ": 404 ") {
			t.Errorf("not served: %.300s", got)
		}
	}
	// What was signed is served, and checked against the validators known last.
	if status, again := message(p.url, 1); status != http.StatusCreated || again != signed {
		t.Errorf("a kept message: status %d, the same: %v", status, again == signed)
	}
	if status, _ := message(p.url, 2); status != http.StatusServiceUnavailable {
		t.Errorf("a new message: status %d", status)
	}
	// What needs the node says that it is down, and not that there is no such chain.
	status, body := get(t, p.url+"/ext/health")
	var health healthReport
	if err := json.Unmarshal(body, &health); err != nil || status != http.StatusServiceUnavailable || health.Checks["C"].Error == "" {
		t.Errorf("health: status %d, %v, %s", status, err, body)
	}
	node.reopen(t)
	advance(c, 3)
	advance(l1, 2)
	awaitIndexed(t, p.url, c)
	awaitIndexed(t, p.url, l1)
	awaitHealth(t, p.url, http.StatusOK)
	p.stop(t)
}

// TestSetOfTheLastMoment: a message that was signed by a set of validators which came
// about a moment before the stop is served after a restart, though the node is down.
func TestSetOfTheLastMoment(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 5})
	c, _ := cChain(d)
	node := newPit(t, d.NodeURL(), passing)
	args := []string{"serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "error", "--node-url", node.url()}
	ask := func(url string) (int, any) {
		status, answer := post(t, url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, d.Message(1).Bytes()))
		return status, answer["signedMessage"]
	}
	p := launch(t, "quorate ready", args...)
	awaitIndexed(t, p.url, c)
	w := d.World()
	next, err := w.Advance(map[int]uint64{0: w.Validators()[0].Weight - 1})
	if err != nil {
		t.Fatal(err)
	}
	poll(t, 20*time.Millisecond, "the change is known", func() bool {
		return total(counters(t, p.url), "quorate_valset_height") == float64(next)
	})
	status, signed := ask(p.url)
	if status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	p.stop(t)
	node.close()
	p = launch(t, "quorate ready", args...)
	if status, again := ask(p.url); status != http.StatusCreated || again != signed {
		t.Errorf("after the restart: status %d, the same: %v", status, again == signed)
	}
	p.stop(t)
}

// TestReadyKnows: whoever asks right after the ready line finds every chain that
// the node has.
func TestReadyKnows(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{EVMChains: 2, Blocks: 5})
	p := launch(t, "quorate ready", "serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "error", "--node-url", d.NodeURL())
	paths := []string{"C"}
	for _, l1 := range d.World().L1s() {
		paths = append(paths, l1.ChainID.String())
	}
	for _, chain := range paths {
		status, answer := post(t, p.url+"/ext/bc/"+chain+"/rpc", `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`)
		if status != http.StatusOK || answer["result"] == nil {
			t.Errorf("%s: status %d, %v", chain, status, answer)
		}
	}
	_, number := cChain(d)
	if status, body := get(t, p.url+"/v1/chains/"+number+"/transactions"); status == http.StatusNotFound { // 503 while nothing is indexed
		t.Errorf("status %d: %s", status, body)
	}
	p.stop(t)
}

// TestChainsFileC: what the chains file says of the followed node's own C-Chain
// is applied.
func TestChainsFileC(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 10})
	c, _ := cChain(d)
	id := c.Config().ID.String()
	file := writeFile(t, "chains.yaml", fmt.Sprintf("chains:\n- {rpc: '%s/ext/bc/%s/rpc', blockchain-id: %s, name: Our C-Chain, names: [money], "+
		"token: {name: Coin, symbol: COIN}, explorer-url: 'http://explorer'}\n", d.NodeURL(), id, id))
	p := serveIndexed(t, d, "--chains-file", file)
	_, body := get(t, p.url+"/v1/chains")
	if text := string(body); strings.Count(text, `"chainId"`) != 1 || !strings.Contains(text, "Our C-Chain") ||
		!strings.Contains(text, "COIN") || !strings.Contains(text, "http://explorer") {
		t.Errorf("chains: %s", body)
	}
	if status, body := get(t, p.url+"/v1/chains/money/transactions"); status != http.StatusOK {
		t.Errorf("by its name of the file: status %d, %s", status, body)
	}
	p.stop(t)
}

// TestNetworkMadeAgain: a network that was made again under its old number is not
// mixed up with what is remembered of it.
func TestNetworkMadeAgain(t *testing.T) {
	campaign(t)
	t.Parallel()
	node := newPit(t, startNetwork(t, devnet.Config{Blocks: 5}).NodeURL(), passing)
	args := []string{"serve", "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "error", "--node-url", node.url()}
	launch(t, "quorate ready", args...).stop(t)
	node.close()
	other := startNetwork(t, devnet.Config{Blocks: 5, Seed: 7})
	node.to = strings.TrimPrefix(other.NodeURL(), "http://")
	node.reopen(t)
	code, _, errs := quorate(t, "", args...)
	if code != exitFailed || !strings.Contains(errs, "start again") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	p := launch(t, "quorate ready", args...)
	c, _ := cChain(other)
	awaitIndexed(t, p.url, c)
	p.stop(t)
}
