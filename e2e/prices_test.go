package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// mostTimes is how many times the median of all routes a unit may cost in processor
	// time, and mostFresh so for a message that has to be signed.
	mostTimes = 10
	mostFresh = 100
	// mostSent is how many bytes a unit may bring, before compression: the server reckons
	// with 8 KiB, or with what they are when they are compressed.
	mostSent = 16 << 10
	// priceTries is how often each request is measured: the least counts, as other work of
	// the machine can only add to it.
	priceTries = 3
	priceTime  = 40 * time.Millisecond // of a measurement
	priceKey   = "a key of the test of prices"
	// ranked is how many requests the log shows.
	ranked = 12
)

// priced is a request that is measured again and again. What it asks for differs each
// time, so that no answer is a kept one.
type priced struct {
	name         string
	method, path string
	body         func(i int) []byte
	most         float64 // times the median
	bytes        int     // of the answer for a unit at most; 0: what the node says is the node's part
	limit        int     // how often it may be sent in all; 0 is as often as one likes
	status       int     // 0: any success
}

// cost is what a request was measured to cost.
type cost struct {
	priced
	cpu   time.Duration // of the server, for one
	sent  int           // bytes of the answer
	units int
}

func (c *cost) perUnit() float64 { return float64(c.cpu) / float64(max(1, c.units)) }

// TestPrices asks every address of the server's own description for the most that it
// gives, and what has been found to cost more than its price, and holds what a unit costs
// the server: all within a bound of the median of this run. The node is another process.
func TestPrices(t *testing.T) {
	s, f := startPriced(t)
	p := &pricing{server: s, facts: f, http: &http.Client{Timeout: testWait}}
	defer p.http.CloseIdleConnections()
	list := p.described(t)
	list = append(list, p.known()...)
	var costs []cost
	for _, r := range list {
		costs = append(costs, p.measure(t, r))
	}
	slices.SortFunc(costs, func(a, b cost) int { return int(b.perUnit() - a.perUnit()) })
	median := costs[len(costs)/2].perUnit()
	t.Logf("%d requests; the median of a unit is %.1f µs", len(costs), median/1e3)
	for i, c := range costs {
		times := c.perUnit() / median
		for try := 1; try < priceTries && times > c.most; try++ { // other work passes, a price that is too low stays
			if again := p.measure(t, c.priced); again.perUnit() < c.perUnit() {
				c = again
			}
			times = c.perUnit() / median
		}
		if i < ranked {
			t.Logf("%5.1f times: %v for %d units, %d bytes: %s", times, c.cpu.Round(time.Microsecond), c.units, c.sent, c.name)
		}
		if times > c.most {
			t.Errorf("%s costs %v for %d units, %.1f times the median of a unit; may cost %.0f times", c.name, c.cpu, c.units, times, c.most)
		}
		if c.bytes > 0 && c.sent > c.bytes*max(1, c.units) {
			t.Errorf("%s sends %d bytes for %d units, may send %d for each", c.name, c.sent, c.units, c.bytes)
		}
	}
}

// priceFacts are the members of the facts file that requests are made of.
type priceFacts struct {
	Network, ChainID, BlockchainID, Address, NFTContract, ERC20Token string
	NFTOwner, ERC1155Contract, Contract, BlockID, TxHash, WarpTxHash string
	VertexHeight                                                     uint64
	NodeIDs, RewardAddresses, BlockchainIDs                          []string
	EVMChains                                                        []struct{ SubnetID string }
	Signature                                                        struct{ Messages []string }
}

// startPriced runs a simulated network in which nothing goes on any more, and a server
// that has indexed it, with a key whose units do not come back, so that they can be counted.
func startPriced(t *testing.T) (*server, *priceFacts) {
	t.Helper()
	dir := testDir(t)
	keys, genesis := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "genesis")
	d, public := startDevnet(t, "--validators", "20", "--evm-chains", "1", "--blocks", "3000", "--block-interval", "0",
		"--genesis-file", genesis, "--scenario", "{height-interval: 0}")
	text, err := os.ReadFile(public.path)
	if err != nil {
		t.Fatal(err)
	}
	f := &priceFacts{}
	if err := json.Unmarshal(text, f); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(priceKey))
	tier := "tiers: [{name: all, unitsPerMinute: 1, burst: 100000000}]\nkeys: [{tier: all, hash: " + hex.EncodeToString(hash[:]) + "}]\n"
	if err := os.WriteFile(keys, []byte(tier), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startIndexer(t, d.URL, "--api-keys-file", keys, "--rate-limit", "on", "--chain-rpc", "safe", "--sign-ahead=false",
		"--genesis-file", "12345="+genesis, "--log-level", "warn", "--log-display-level", "warn", "--limits", "webhooks-keyless=true")
	s.waitConnected(t, 20)
	s.waitPrimary(t)
	s.awaitMetric(t, "quorate_index_height", "C", 3000)
	return s, f
}

// pricing measures requests at a server.
type pricing struct {
	server *server
	facts  *priceFacts
	http   *http.Client
	sent   int // requests so far
}

// measure sends a request for a while, several times.
func (p *pricing) measure(t *testing.T, r priced) cost {
	t.Helper()
	c := cost{priced: r}
	first := p.send(t, r)
	for range priceTries {
		before, units := p.cpu(t), first.units
		begin, n := time.Now(), 0
		for n == 0 || time.Since(begin) < priceTime && (r.limit == 0 || n < r.limit) {
			now := p.send(t, r)
			c.units, c.sent = units-now.units, max(c.sent, now.sent)
			units = now.units
			n++
		}
		first.units = units
		if took := (p.cpu(t) - before) / time.Duration(n); c.cpu == 0 || took < c.cpu {
			c.cpu = took
		}
	}
	return c
}

// sentOnce is what one answer says.
type sentOnce struct{ units, sent int }

func (p *pricing) send(t *testing.T, r priced) sentOnce {
	t.Helper()
	req, err := p.request(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	if resp.StatusCode != r.status && (r.status != 0 || resp.StatusCode >= 300) {
		t.Fatalf("%s %s: status %d: %.200s", r.method, req.URL, resp.StatusCode, answer)
	}
	left, err := strconv.Atoi(resp.Header.Get("RateLimit-Remaining"))
	if err != nil {
		t.Fatalf("%s %s says nothing of units: %v", r.method, req.URL, err)
	}
	return sentOnce{units: left, sent: len(answer)}
}

// request is a request that no answer is kept of: no route knows the parameter that it has more.
func (p *pricing) request(ctx context.Context, r priced) (*http.Request, error) {
	p.sent++
	path := r.path + "?"
	if strings.Contains(r.path, "?") {
		path = r.path + "&"
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body(p.sent))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, p.server.URL+path+"nth="+strconv.Itoa(p.sent), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("x-service-api-key", priceKey)
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// cpu is the processor time that the server has taken, to the nanosecond.
func (p *pricing) cpu(t *testing.T) (sum time.Duration) {
	t.Helper()
	tasks := fmt.Sprintf("/proc/%d/task", p.server.PID())
	list, err := os.ReadDir(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		b, err := os.ReadFile(filepath.Join(tasks, task.Name(), "schedstat"))
		if err != nil {
			t.Fatal(err) // threads of Go do not end
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// get reads a member of the first row of a list, for requests that name one.
func (p *pricing) get(t *testing.T, path, list string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	answer, err := p.server.client.Get(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	var page map[string]json.RawMessage
	var rows []json.RawMessage
	if err = json.Unmarshal(answer.Body, &page); err == nil {
		err = json.Unmarshal(page[list], &rows)
	}
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %v: %s", path, err, answer)
	}
	if err := json.Unmarshal(rows[0], into); err != nil {
		t.Fatal(err)
	}
}

// query is the encoded form of what a request asks for.
func query(members map[string]string) string {
	v := url.Values{}
	for name, value := range members {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}
