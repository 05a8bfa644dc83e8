package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
)

// fleetPair are two servers of one fleet, in processes of their own, the first of which is the
// home.
type fleetPair struct {
	t     *testing.T
	d     *devnet.Devnet
	args  [][]string
	dirs  []string
	urls  []string
	child []*child
	turn  atomic.Uint64
}

func newFleetPair(t *testing.T, d *devnet.Devnet, args ...string) *fleetPair {
	t.Helper()
	path, ports := newFleet(t, 2)
	p := &fleetPair{t: t, d: d}
	for i, port := range ports {
		p.args = append(p.args, append([]string{"--http-port", port, "--fleet", path, "--rate-limit", "off"}, args...))
		p.dirs, p.urls = append(p.dirs, t.TempDir()), append(p.urls, "http://127.0.0.1:"+port)
		p.child = append(p.child, nil)
		p.start(i)
	}
	return p
}

func (p *fleetPair) start(i int) {
	p.t.Helper()
	p.child[i] = startChild(p.t, p.d, p.dirs[i], p.args[i]...)
}

// retrying is a client as SDKs are by default: what is refused for now, or not answered, is asked
// of the next server, longer and longer after.
type retrying struct {
	client  http.Client
	pair    *fleetPair
	tries   int
	retried atomic.Int64
}

// ask sends a request to the servers in turns and returns the first answer that is no reason to
// retry.
func (r *retrying) ask(method, path, body string) (status int, answer []byte, err error) {
	wait, first := 100*time.Millisecond, int(r.pair.turn.Add(1)%2)
	for n := range r.tries {
		if n > 0 {
			r.retried.Add(1)
			<-time.After(wait)
			wait = min(2*wait, time.Second)
		}
		to := r.pair.urls[(first+n)%2]
		status, answer, err = r.once(method, to+path, body)
		if err == nil && status < 500 && status != http.StatusTooManyRequests {
			return status, answer, nil
		}
	}
	return status, answer, err
}

func (r *retrying) once(method, url, body string) (int, []byte, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, answer, err
}

// TestFleetWalks: while one of two servers is paused in turns, and one is killed and started
// again, walks through all pages see no error, miss no row, repeat none, and each page is the
// same from both.
func TestFleetWalks(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 2, Blocks: 100, TxsPerBlock: 3, BlockInterval: 500 * time.Millisecond})
	c, number := cChain(d)
	p := newFleetPair(t, d)
	var first [2]string // where all contracts are made
	same, last := 0, ""
	poll(t, 200*time.Millisecond, "both servers have asked what the tokens are", func() bool {
		for i, url := range p.urls {
			if !hasBlock(t, url, number, 100) || counters(t, url)[`quorate_tokens_queued{chain="C"}`] > 0 {
				return false
			}
			_, body := get(t, url+"/v1/chains/"+number+"/blocks/1/transactions?pageSize=100")
			first[i] = string(body)
		}
		if same++; first[0] != first[1] || first[0] != last {
			same, last = 0, first[0]
		}
		return strings.Contains(first[0], `"symbol":"`) && same >= 10
	})
	w := &walker{retrying: retrying{client: http.Client{Timeout: 2 * time.Second}, pair: p, tries: 40}, list: "/v1/chains/" + number + "/transactions?pageSize=25", pages: map[string][]byte{}}
	ended := make(chan struct{})
	var walks sync.WaitGroup
	for range 3 {
		walks.Go(func() {
			for walked := 0; ; walked++ {
				if err := w.walk(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	pause := time.Duration(torture.Pick(1000, 5000)) * time.Millisecond
	deadline := time.After(time.Duration(torture.Pick(8, 180)) * time.Second)
	for i, more := 0, true; more; i++ {
		victim := p.child[i%2].cmd.Process
		if err := victim.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(pause)
		if err := victim.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if i%4 == 1 {
			p.child[1].kill(t)
			<-time.After(pause / 2)
			p.start(1)
		}
		select {
		case <-deadline:
			more = false
		case <-time.After(pause / 5):
		}
	}
	close(ended)
	walks.Wait()
	if len(w.pages) < torture.Pick(20, 2000) {
		t.Errorf("only %d pages were read", len(w.pages))
	}
	before := len(w.walks)
	if err := w.walk(); err != nil {
		t.Fatal(err)
	}
	all := w.walks[before] // the newest first
	for _, seen := range w.walks {
		if len(seen) > len(all) || !slices.Equal(seen, all[len(all)-len(seen):]) {
			t.Errorf("a walk has %d transactions, which are not the last of %d", len(seen), len(all))
		}
	}
	for path, page := range w.pages {
		for _, url := range p.urls {
			status, body, err := w.once(http.MethodGet, url+path, "")
			if err != nil || status != http.StatusOK || !bytes.Equal(body, page) {
				t.Errorf("%s of %s: status %d, %v: %s, and was %s", path, url, status, err, body, page)
			}
		}
	}
	t.Logf("%d pages of %d walks to block %d, %d requests were retried", len(w.pages), len(w.walks), c.Tip(), w.retried.Load())
}

// walker reads lists of transactions to their ends.
type walker struct {
	retrying
	list string

	mu    sync.Mutex
	pages map[string][]byte // those that are pinned, by path
	walks [][]string        // all transactions that each has seen
}

// walk reads the whole list once.
func (w *walker) walk() error {
	var hashes []string
	next := w.list
	for next != "" {
		status, body, err := w.ask(http.MethodGet, next, "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("%s: status %d, %v: %s", next, status, err, body)
		}
		if strings.Contains(next, "pageToken=") {
			if err := w.note(next, body); err != nil {
				return err
			}
		}
		var page struct {
			NextPageToken string
			Transactions  []struct{ TxHash string }
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		for _, tx := range page.Transactions {
			hashes = append(hashes, tx.TxHash)
		}
		if next = ""; page.NextPageToken != "" {
			next = w.list + "&pageToken=" + url.QueryEscape(page.NextPageToken)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.walks = append(w.walks, hashes)
	return nil
}

// note compares a page with what it was before.
func (w *walker) note(path string, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, known := w.pages[path]; known && !bytes.Equal(before, body) {
		return fmt.Errorf("%s was %s, and is %s", path, before, body)
	}
	w.pages[path] = body
	return nil
}

// TestKillHome: webhooks that were made at any server of a fleet, whose home is killed again and
// again, are told all in order, each message by one ID.
func TestKillHome(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills := killCount(t, 20)
	d := startNetwork(t, devnet.Config{Validators: 2, Blocks: 10, TxsPerBlock: 4, BlockInterval: time.Hour})
	c, number := cChain(d)
	r := newHookReceiver(t)
	p := newFleetPair(t, d, "--webhooks-private", "--webhooks-keyless")
	client := &retrying{client: http.Client{Timeout: 20 * time.Second}, pair: p, tries: 40}
	awaitIndexed(t, p.urls[0], c)
	awaitIndexed(t, p.urls[1], c)
	busy := d.Facts("").Address
	var hooks []string
	for _, url := range p.urls {
		var made struct{ ID string }
		callAPI(t, http.MethodPost, url+"/v1/webhooks", fmt.Sprintf(`{"eventType":"address_activity","url":%q,"chainId":%q,"metadata":{"addresses":[%q]}}`, r.URL, number, busy), http.StatusCreated, &made)
		hooks = append(hooks, made.ID)
	}
	begin, rnd := c.Tip(), rand.New(rand.NewPCG(uint64(kills), 7))
	for range kills {
		wanted := r.count() + 1 + rnd.IntN(6)
		poll(t, 50*time.Millisecond, "the receiver is told of new blocks", func() bool {
			advance(c, 1+rnd.IntN(3))
			return r.count() >= wanted
		})
		p.child[0].kill(t)
		advance(c, 1)
		if status, _, err := client.once(http.MethodGet, p.urls[1]+"/v1/webhooks/"+hooks[0], ""); err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("without the home: status %d, %v", status, err)
		}
		p.start(0)
		for _, id := range hooks { // asked of both in turns
			if status, body, err := client.ask(http.MethodGet, "/v1/webhooks/"+id, ""); err != nil || status != http.StatusOK || !bytes.Contains(body, []byte(r.URL)) {
				t.Fatalf("webhook %s: status %d, %v: %s", id, status, err, body)
			}
		}
	}
	awaitIndexed(t, p.urls[0], c)
	var want []string
	for _, tx := range allTxs(t, p.urls[0]+"/v1/chains/"+number+"/addresses/"+busy+"/transactions", "") {
		if n, err := strconv.ParseUint(tx.NativeTransaction.BlockNumber, 10, 64); err != nil || n > begin {
			want = append(want, " "+tx.NativeTransaction.TxHash)
		}
	}
	for _, id := range hooks {
		poll(t, 50*time.Millisecond, "all was told", func() bool { return len(r.told(id)) >= len(want) })
		if got := r.told(id); !slices.Equal(got, want) {
			t.Errorf("webhook %s was told %v, not %v", id, got, want)
		}
	}
	t.Logf("%d kills, %d messages to each, %d repeats", kills, len(want), r.twice)
}

// TestFleetSigns: a client that has messages signed by two servers in turns, of which one is
// killed, sees no failure after one retry.
func TestFleetSigns(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 10})
	p := newFleetPair(t, d, "--index=false")
	client := &retrying{client: http.Client{Timeout: 20 * time.Second}, pair: p, tries: 2}
	messages := d.Facts("").Signature.Messages
	count := torture.Pick(60, 600)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var asks sync.WaitGroup
	for i := range count {
		<-tick.C
		if i == count/3 {
			p.child[0].kill(t)
		}
		if i == 2*count/3 {
			p.start(0)
		}
		asks.Go(func() {
			status, body, err := client.ask(http.MethodPost, "/v1/signatureAggregator/fuji/aggregateSignatures", fmt.Sprintf(`{"message":%q}`, messages[i%len(messages)]))
			if err != nil || status != http.StatusCreated {
				t.Errorf("message %d: status %d, %v: %s", i, status, err, body)
			}
		})
	}
	asks.Wait()
	if client.retried.Load() == 0 {
		t.Error("nothing was retried: no server was missed")
	}
	t.Logf("%d messages, %d were asked for twice", count, client.retried.Load())
}
