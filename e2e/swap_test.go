package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/constants"

	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

const (
	// swapAfter is how long after its start the network activates Helicon: the server has to
	// have its chains and to be used for some time before.
	swapAfter = 55 * time.Second
	// swapFrom is how long before the activation the server closes its WebSocket, and
	// swapPause how long some validators wait then. The last block of the old kind is that
	// of the first tick from ten seconds before on, by which time the pause has begun.
	swapFrom  = 15 * time.Second
	swapPause = 15 * time.Second
	// swapUntil is when all is as usual again: some seconds after the pause.
	swapUntil = 10 * time.Second
	// swapLoad is how long after the activation the server is used.
	swapLoad = 30 * time.Second
	// swapWait bounds what is to come after the load.
	swapWait = 20 * time.Second

	swapValidators = 20
	swapMessages   = 3000
	// signEvery is the time between two messages that are signed: 20 a second.
	signEvery = 50 * time.Millisecond
	// slower is how many times its usual time signing may take outside the pause. Below
	// these times it is the machine that is measured: once it does something else for a
	// moment, one message in a hundred is late.
	slower                  = 3
	leastMedian, leastWorst = 50 * time.Millisecond, 300 * time.Millisecond
)

// swap is a server that is used while the network that it follows activates Helicon.
type swap struct {
	t      *testing.T
	node   *server
	server *server
	facts  facts
	at     time.Time // of the activation
	busy   context.Context
	load   sync.WaitGroup

	mu      sync.Mutex // guards events and signed while they come
	events  []swapEvent
	follows sync.WaitGroup // of the streams of events
	hooks   *hookReceiver
	hooked  string // the webhook of an address
	staked  string // that of all delegations
	after   uint64 // the C-Chain's height when there were both
	since   uint64 // the P-Chain's
	signed  []signing
	heads   []int // by a WebSocket
	files   []exportFile
	walker  *pageWalker
}

// TestSwap: while a network activates Helicon, a server that follows it is used in all ways:
// both SDKs walk pages, there are streams of events, webhooks and exports, and 20 fresh
// messages a second are signed. Nothing fails, is missing or comes twice, no message waits
// longer than validators do at most while their software is replaced, and signing is as
// quick as before afterwards.
func TestSwap(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	s := startSwap(t)
	usual := time.Now()
	busy, end := context.WithDeadline(t.Context(), s.at.Add(swapLoad))
	defer end()
	s.busy = busy
	s.startHooks()
	s.walker = startWalker(t, program, s.facts.path, s.server.URL)
	following, unfollow := context.WithCancel(t.Context())
	defer unfollow()
	s.follow(following, "topics=blocks,messages&startBlock=0")
	s.follow(following, "topics=transactions&startBlock=0&addresses="+s.facts.Address)
	s.load.Go(s.sign)
	s.load.Go(s.export)
	s.load.Go(s.watchHealth)
	s.load.Go(s.watchHeads)
	s.load.Wait()
	walks := s.walker.end(t)
	truth := s.readTruth(walks)
	s.await("the events of all blocks", func() bool { return s.reached(truth) })
	s.await("the messages of all webhooks", func() bool {
		return len(s.hooks.told(s.hooked)) >= len(truth.hooked) && len(s.hooks.told(s.staked)) >= len(truth.staked)
	})
	unfollow()
	s.follows.Wait()

	truth.crosses(s.at)
	s.checkWalks(walks, truth)
	s.checkEvents(truth)
	s.checkHooks(truth)
	s.checkFiles(truth)
	s.checkHeads(truth)
	s.checkSigned(usual)
	s.checkLog()
	s.server.waitConnected(t, swapValidators)
	s.server.awaitMetric(t, "quorate_settled_height", "C", float64(truth.late))
}

// startSwap starts a network that activates Helicon soon, and a server that has all of it.
func startSwap(t *testing.T) *swap {
	t.Helper()
	s := &swap{t: t}
	s.node, s.facts = startDevnet(t, "--helicon", swapAfter.String(), "--validators", strconv.Itoa(swapValidators), "--weights", "zipf",
		"--blocks", "60", "--txs-per-block", "6", "--block-interval", "1s",
		"--scenario", fmt.Sprintf("{now: true, messages: %d, execution-delay: 200ms, primary-blocks: 300, height-interval: 1s}", swapMessages))
	dir := testDir(t)
	s.server = launch(t, quorate.Config{
		Args: append([]string{"serve", "--node-url", s.node.URL, "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", filepath.Join(dir, "data"), "--limits", "webhooks-private=true,webhooks-keyless=true", "--health-check-frequency", "5s"}, admitting...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
	s.server.waitConnected(t, swapValidators)
	s.server.waitIndexed(t, sdkFacts{ChainID: s.facts.ChainID, EndBlock: s.facts.EndBlock})
	s.server.waitPrimary(t)
	s.await("the server is healthy", func() bool {
		a, err := s.server.client.Get(t.Context(), "/ext/health")
		return err == nil && a.Status == 200
	})
	var upgrades struct {
		Result struct{ HeliconTime time.Time }
	}
	s.ask("/ext/info", "info.upgrades", "[]", &upgrades)
	s.at = upgrades.Result.HeliconTime
	if left := time.Until(s.at.Add(-swapFrom)); left < swapAfter/4 {
		t.Fatalf("%v are left until the pause: the server was ready too late", left)
	}
	return s
}

// ask calls a method of the node.
func (s *swap) ask(path, method, params string, into any) {
	s.t.Helper()
	a, err := s.node.client.Post(s.t.Context(), path, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(a.Body, into); err != nil || a.Status != 200 {
		s.t.Fatalf("%s: %v: %s", method, err, a)
	}
}

// get reads an answer of the server.
func (s *swap) get(path string, into any) {
	s.t.Helper()
	if err := json.Unmarshal(s.server.body(s.t.Context(), s.t, path), into); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

// await asks until ok returns true.
func (s *swap) await(what string, ok func() bool) {
	s.t.Helper()
	limit := time.After(swapWait)
	tick := time.NewTicker(connectEvery)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			s.t.Errorf("not within %v: %s", swapWait, what)
			return
		}
	}
}

// swapTruth is what there is, by the node; what concerns single addresses and validators is
// by the server's lists, which are held against the node's.
type swapTruth struct {
	t         *testing.T
	blocks    []swapBlock
	messages  []string // hash of the transaction and index of the log
	address   []string // the transactions of the address
	hooked    []string // those that its webhook has to tell at least
	delegated []string // all delegations
	staked    []string // those that a webhook has to tell at least
	late      int      // the first block of the new kind
}

type swapBlock struct {
	line string // number and hash
	at   int64  // Unix seconds
	txs  []string
}

func (tr *swapTruth) tip() int { return len(tr.blocks) - 1 }

// readTruth reads all blocks up to the highest that was listed. It is no longer than it was
// for what follows the chain: that has more.
func (s *swap) readTruth(walks map[string][][]string) *swapTruth {
	s.t.Helper()
	tr := &swapTruth{t: s.t}
	const evm = "/ext/bc/C/rpc"
	for n := range len(longest(walks["data.evm.blocks.listLatest"])) {
		var answer struct {
			Result struct {
				Hash, Timestamp string
				Transactions    []struct{ Hash, From, To string }
			}
		}
		s.ask(evm, "eth_getBlockByNumber", fmt.Sprintf(`["0x%x",true]`, n), &answer)
		b := &answer.Result
		at, err := strconv.ParseInt(b.Timestamp, 0, 64)
		if err != nil {
			s.t.Fatalf("block %d: %v", n, err)
		}
		block := swapBlock{line: fmt.Sprint(n, " ", b.Hash), at: at}
		for _, tx := range b.Transactions {
			block.txs = append(block.txs, tx.Hash)
		}
		tr.blocks = append(tr.blocks, block)
	}
	var logs struct {
		Result []struct{ TransactionHash, LogIndex string }
	}
	s.ask(evm, "eth_getLogs", fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"0x%x","address":"0x0200000000000000000000000000000000000005"}]`, tr.tip()), &logs)
	for _, l := range logs.Result {
		tr.messages = append(tr.messages, l.TransactionHash+" "+l.LogIndex)
	}
	for _, tx := range s.list("/v1/chains/" + s.facts.ChainID + "/addresses/" + s.facts.Address + "/transactions?") {
		n := s.number(tx.NativeTransaction.BlockNumber)
		if n > uint64(tr.tip()) {
			break
		}
		tr.address = append(tr.address, tx.NativeTransaction.TxHash)
		if n > s.after {
			tr.hooked = append(tr.hooked, tx.NativeTransaction.TxHash)
		}
	}
	listed := longest(walks["data.primaryNetwork.transactions.listLatest"])
	for _, tx := range s.list("/v1/networks/fuji/blockchains/p-chain/transactions?txTypes=AddPermissionlessDelegatorTx&") {
		if !slices.Contains(listed, tx.TxHash) {
			break
		}
		if tx.SubnetID != constants.PrimaryNetworkID.String() {
			continue
		}
		tr.delegated = append(tr.delegated, tx.TxHash)
		if s.number(tx.BlockNumber) > s.since {
			tr.staked = append(tr.staked, tx.TxHash)
		}
	}
	return tr
}

// listedTx is a transaction in a list of an EVM chain or of the P-Chain.
type listedTx struct {
	TxHash, BlockNumber string
	SubnetID            string `json:"subnetId"`
	NativeTransaction   struct{ TxHash, BlockNumber string }
}

func (s *swap) number(text string) uint64 {
	s.t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// list reads all pages of a list of transactions, the oldest first.
func (s *swap) list(path string) (all []listedTx) {
	s.t.Helper()
	for token := ""; ; {
		var page struct {
			NextPageToken string
			Transactions  []listedTx
		}
		s.get(path+"sortOrder=asc&pageSize=100"+token, &page)
		if all = append(all, page.Transactions...); page.NextPageToken == "" {
			return all
		}
		token = "&pageToken=" + url.QueryEscape(page.NextPageToken)
	}
}

// crosses checks that the blocks show an activation: none for ten seconds before it.
func (tr *swapTruth) crosses(at time.Time) {
	tr.t.Helper()
	i := slices.IndexFunc(tr.blocks, func(b swapBlock) bool { return b.at >= at.Unix() })
	if i < 1 || tr.blocks[i].at-tr.blocks[i-1].at < 8 || tr.tip() < i+10 {
		tr.t.Errorf("block %d of %d is the first one of the new kind", i, tr.tip())
	}
	tr.late = i
	tr.t.Logf("%d blocks, %d of the old kind, %d transactions of the address, %d messages", len(tr.blocks), i, len(tr.address), len(tr.messages))
}

// longest returns the longest of some walks.
func longest(walks [][]string) (most []string) {
	for _, w := range walks {
		if len(w) > len(most) {
			most = w
		}
	}
	return most
}

// checkWalks checks that each walk has listed the end of what the longest one has, which has
// all that the node has.
func (s *swap) checkWalks(walks map[string][][]string, tr *swapTruth) {
	s.t.Helper()
	var blocks, txs []string
	for _, b := range tr.blocks {
		blocks, txs = append(blocks, b.line), append(txs, b.txs...)
	}
	want := map[string][]string{
		"data.evm.blocks.listLatest": blocks, "data.evm.transactions.listLatest": txs, "data.evm.address.transactions.list": tr.address,
		"data.primaryNetwork.blocks.listLatest": nil, "data.primaryNetwork.transactions.listLatest": nil,
	}
	for name, truth := range want {
		most := slices.Clone(longest(walks[name]))
		slices.Reverse(most)
		if truth != nil && !slices.Equal(most[:min(len(most), len(truth))], truth) {
			s.t.Errorf("%s lists %d, not the %d that there are", name, len(most), len(truth))
		}
		if name == "data.primaryNetwork.blocks.listLatest" {
			for i, line := range most {
				if !strings.HasPrefix(line, strconv.Itoa(i)+" ") {
					s.t.Fatalf("%s: block %d is %s", name, i, line)
				}
			}
		}
		for _, walk := range walks[name] {
			walk = slices.Clone(walk)
			slices.Reverse(walk)
			if !slices.Equal(walk, most[:len(walk)]) {
				s.t.Errorf("%s: a walk of %d has others than one of %d", name, len(walk), len(most))
			}
		}
		if len(walks[name]) < 20 || len(most) <= len(walks[name][0]) {
			s.t.Errorf("%s was walked %d times, with %d of them in the end", name, len(walks[name]), len(most))
		}
		s.t.Logf("%s: %d walks, of %d in the end", name, len(walks[name]), len(most))
	}
}

// checkSigned checks all messages, with avalanchego's own code, and how long they took.
func (s *swap) checkSigned(usual time.Time) {
	s.t.Helper()
	// The stake of validators has changed a little meanwhile.
	const share = quorum - 2
	set, err := verify.Fetch(s.t.Context(), s.node.URL, constants.PrimaryNetworkID, verify.Proposed)
	if err != nil {
		s.t.Fatal(err)
	}
	var before, within, after []time.Duration
	for _, m := range s.signed {
		if m.err != nil {
			s.t.Errorf("a message %v after the activation, after %v: %v", m.at.Sub(s.at).Round(time.Millisecond), m.took, m.err)
			continue
		}
		if _, err := set.Verify(m.signed, m.unsigned, share, 100); err != nil {
			s.t.Errorf("avalanchego does not accept a message %v after the activation: %v", m.at.Sub(s.at).Round(time.Millisecond), err)
		}
		switch {
		case m.at.Before(s.at.Add(-swapFrom)):
			before = append(before, m.took)
		case m.at.Before(s.at.Add(swapUntil)):
			within = append(within, m.took)
		default:
			after = append(after, m.took)
		}
	}
	if len(before) < 200 || len(within) < 400 || len(after) < 300 {
		s.t.Fatalf("%d messages before, %d in the pause, %d after it", len(before), len(within), len(after))
	}
	s.t.Logf("%d messages from %v before the activation on, at most %v in the pause", len(s.signed), s.at.Sub(usual).Round(time.Second), slices.Max(within))
	if most := slices.Max(slices.Concat(before, within, after)); most > swapPause {
		s.t.Errorf("a message took %v", most)
	}
	for share, least := range map[int]time.Duration{50: leastMedian, 99: leastWorst} {
		was, is := percentile(before, share), percentile(after, share)
		s.t.Logf("%d%% of the messages within %v before, %v in the pause, %v after it: %.2f times", share, was, percentile(within, share), is, is.Seconds()/was.Seconds())
		if most := max(slower*was, least); is > most {
			s.t.Errorf("%d%% of the messages take %v after the pause, and took %v before: %v are allowed", share, is, was, most)
		}
	}
}

// percentile returns the time that so many of a hundred do not exceed.
func percentile(list []time.Duration, share int) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)*share/100].Round(time.Microsecond)
}

// checkLog checks that the server has closed its WebSocket in time, and complains of nothing.
func (s *swap) checkLog() {
	s.t.Helper()
	b, err := os.ReadFile(s.server.LogPath())
	if err != nil {
		s.t.Fatal(err)
	}
	closed := 0
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ") {
			s.t.Errorf("the server complains: %s", line)
		}
		if strings.Contains(line, "nodes replace the chain's API soon") {
			closed++
		}
	}
	if closed != 1 {
		s.t.Errorf("the WebSocket was closed %d times before the activation", closed)
	}
}
