package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

// maxEventDelay is how many times what pages and collections take events may take.
const maxEventDelay = 1.5

// pollEvery is how often a relayer without a subscription asks its node for new blocks.
const pollEvery = 100 * time.Millisecond

// BenchmarkEvents measures in one run, in turns, how long after a block's acceptance by
// a simulated node the server, in a process of its own, tells of it: until the page has
// the block (page-ms), until a subscriber has it (block-ms), and until a subscriber
// (message-ms), a relayer that is told of heads by the node (relayer-ms) and one that
// polls it (polling-ms) have the signed message of the block. Both relayers read the
// block's logs from the node and ask the server to sign. collection-ms is a new message,
// asked for alone. All are medians. block/page and message/sum, the message against page
// and collection together, have bounds.
func BenchmarkEvents(b *testing.B) {
	for _, validators := range []int{5, 100} {
		b.Run(fmt.Sprint("validators=", validators), func(b *testing.B) { benchmarkEvents(b, validators) })
	}
}

func benchmarkEvents(b *testing.B, validators int) {
	r := newEventRig(b, validators)
	took := make(map[string][]float64)
	note := func(what string, d time.Duration) {
		took[what] = append(took[what], float64(d.Microseconds())/1e3)
	}
	for b.Loop() {
		page, block := r.page(b)
		note("page", page)
		note("block", block)
		note("message", r.message(b, r.streamed))
		note("relayer", r.relayed(b, r.heads))
		note("polling", r.relayed(b, r.polls))
		note("collection", r.collect(b))
	}
	p50 := make(map[string]float64)
	for what, list := range took {
		slices.Sort(list)
		p50[what] = list[len(list)/2]
		b.ReportMetric(p50[what], what+"-ms")
	}
	blocks, messages := p50["block"]/p50["page"], p50["message"]/(p50["page"]+p50["collection"])
	b.ReportMetric(blocks, "block/page")
	b.ReportMetric(messages, "message/sum")
	b.ReportMetric(p50["message"]/p50["relayer"], "message/relayer")
	b.ReportMetric(0, "ns/op")
	if b.N > 10 && (blocks > maxEventDelay || messages > maxEventDelay) {
		b.Errorf("block/page %.2f, message/sum %.2f; at most %.1f are promised", blocks, messages, maxEventDelay)
	}
}

// eventRig is a server with subscribers and relayers.
type eventRig struct {
	d      *devnet.Devnet
	c      *evmchain.Chain
	number string
	reader *evmsource.Client
	server *child
	next   uint64 // message of the network, none of a block

	streamed, heads, polls *arrivals
	blocks                 *arrivals
}

func newEventRig(b *testing.B, validators int) *eventRig {
	b.Helper()
	d := startNetwork(b, devnet.Config{Validators: validators, Blocks: 50, TxsPerBlock: 20})
	r := &eventRig{d: d, next: 1 << 30, blocks: newArrivals(), streamed: newArrivals(), heads: newArrivals(), polls: newArrivals()}
	r.c, r.number = cChain(d)
	r.reader = chainClient(b, d, r.c)
	r.server = startChild(b, d, b.TempDir(), "--rate-limit", "off")
	awaitIndexed(b, r.server.url, r.c)
	poll(b, 10*time.Millisecond, "all validators are connected", func() bool {
		return total(counters(b, r.server.url), "quorate_p2p_peers_connected") >= float64(validators)
	})
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	b.Cleanup(func() { cancel(); wg.Wait() })
	run := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		})
	}
	run(func(ctx context.Context) error { return r.subscribe(ctx, "blocks", r.blocks) })
	run(func(ctx context.Context) error { return r.subscribe(ctx, "messages", r.streamed) })
	run(r.watch)
	run(r.poll)
	r.blocks.ready(b)
	r.streamed.ready(b)
	r.heads.ready(b)
	return r
}

// subscribe notes when a subscriber has blocks, or signed messages.
func (r *eventRig) subscribe(ctx context.Context, topic string, to *arrivals) error {
	var failed error
	err := subscribe(ctx, r.server.client, r.server.url, "topics="+topic+"&chainId="+r.number, "", func(e told) bool {
		var c chainEvent
		if e.data == "" {
			return true
		}
		failed = json.Unmarshal([]byte(e.data), &c)
		switch {
		case e.name == "snapshot":
			to.open()
		case e.name == "block":
			to.put(c.Block.BlockNumber, e.at)
		case c.Message.SignedMessage == "":
			failed = fmt.Errorf("event %s: %s", e.name, e.data)
		default:
			to.put(c.Message.MessageID, e.at)
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// accept has the node accept a block, and returns when that was.
func (r *eventRig) accept(b *testing.B) (height string, at time.Time) {
	b.Helper()
	r.c.Advance()
	return fmt.Sprint(r.c.Tip()), time.Now()
}

// page returns how long after a block's acceptance a page and a subscriber have it.
func (r *eventRig) page(b *testing.B) (page, block time.Duration) {
	b.Helper()
	height, at := r.accept(b)
	for tick := time.NewTicker(500 * time.Microsecond); ; <-tick.C {
		if status, _ := get(b, r.server.url+"/v1/chains/"+r.number+"/blocks/"+height+"/transactions?pageSize=1"); status == http.StatusOK {
			page = time.Since(at)
			tick.Stop()
			break
		}
	}
	return page, r.blocks.await(b, height).Sub(at)
}

// message returns how long after the acceptance of a block its signed message is there.
func (r *eventRig) message(b *testing.B, from *arrivals) time.Duration {
	b.Helper()
	for {
		height, at := r.accept(b)
		r.blocks.await(b, height)
		if list := sentBy(b, r.reader, r.c.Tip(), r.c.Tip()); len(list) > 0 {
			return from.await(b, list[0].msg.ID().String()).Sub(at)
		}
	}
}

// relayed is message for a relayer, which works only meanwhile.
func (r *eventRig) relayed(b *testing.B, by *arrivals) time.Duration {
	b.Helper()
	by.turn(true)
	defer by.turn(false)
	return r.message(b, by)
}

// collect returns how long a message takes that was never asked for.
func (r *eventRig) collect(b *testing.B) time.Duration {
	b.Helper()
	m := r.d.Message(r.next)
	r.next++
	begun := time.Now()
	if err := r.sign(b.Context(), m); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

// sign has the server sign a message.
func (r *eventRig) sign(ctx context.Context, m *warp.Unsigned) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.url+endpoint1, strings.NewReader(fmt.Sprintf(`{"message":"%x"}`, m.Bytes())))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.server.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct{ SignedMessage, Message string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.SignedMessage == "" {
		return fmt.Errorf("message %s: %s %s %w", m.ID(), resp.Status, answer.Message, err)
	}
	return nil
}

// watch is a relayer that its node tells of each head.
func (r *eventRig) watch(ctx context.Context) error {
	conn, _, err := websocket.Dial(ctx, r.d.Facts("").EVMChains[0].WSURL, nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)); err != nil {
		return err
	}
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var note struct {
			Params struct{ Result struct{ Number string } }
		}
		if err := json.Unmarshal(text, &note); err != nil {
			return err
		}
		if r.heads.open(); r.heads.working() && note.Params.Result.Number != "" {
			if err := r.relay(ctx, note.Params.Result.Number, r.heads); err != nil {
				return err
			}
		}
	}
}

// poll is a relayer that asks its node for new blocks.
func (r *eventRig) poll(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if !r.polls.working() {
			last = ""
			continue
		}
		var tip string
		if err := r.node(ctx, "eth_blockNumber", `[]`, &tip); err != nil {
			return err
		}
		if tip == last {
			continue
		}
		if last = tip; r.relay(ctx, tip, r.polls) != nil {
			return fmt.Errorf("block %s cannot be relayed", tip)
		}
	}
}

// relay has the messages of a block signed.
func (r *eventRig) relay(ctx context.Context, number string, to *arrivals) error {
	var logs []struct {
		Address, Data string
		Topics        []string
	}
	params := fmt.Sprintf(`[{"fromBlock":%q,"toBlock":%q,"address":"0x0200000000000000000000000000000000000005"}]`, number, number)
	if err := r.node(ctx, "eth_getLogs", params, &logs); err != nil {
		return err
	}
	for i := range logs {
		log := evm.Log{Address: evm.Address{0: 2, 19: 5}}
		for _, text := range append(logs[i].Topics, logs[i].Data) {
			raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
			if err != nil {
				return err
			}
			if log.Data = raw; len(log.Topics) < len(logs[i].Topics) {
				log.Topics = append(log.Topics, evm.Hash(raw))
			}
		}
		raw, ok := index.WarpMessage(&log)
		if !ok {
			continue
		}
		m, err := warp.Parse(raw)
		if err == nil {
			err = r.sign(ctx, m)
		}
		if err != nil {
			return err
		}
		to.put(m.ID().String(), time.Now())
	}
	return nil
}

// node calls a method of the node.
func (r *eventRig) node(ctx context.Context, method, params string, to any) error {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.d.Facts("").EVMChains[0].RPCURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.server.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct{ Result any }{to}
	return json.NewDecoder(resp.Body).Decode(&answer)
}

// arrivals are the times when something was there, by its name.
type arrivals struct {
	mu     sync.Mutex
	times  map[string]time.Time
	change chan struct{} // closed by what comes next
	opened bool
	works  bool
}

func newArrivals() *arrivals {
	return &arrivals{times: make(map[string]time.Time), change: make(chan struct{})}
}

func (a *arrivals) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.change)
	a.change = make(chan struct{})
}

func (a *arrivals) put(name string, at time.Time) { a.set(func() { a.times[name] = at }) }
func (a *arrivals) open()                         { a.set(func() { a.opened = true }) }
func (a *arrivals) turn(works bool)               { a.set(func() { a.works = works }) }

func (a *arrivals) working() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.works
}

// ready waits until what arrives here is listened to.
func (a *arrivals) ready(b *testing.B) { b.Helper(); a.wait(b, func() bool { return a.opened }) }

// await waits until something is there.
func (a *arrivals) await(b *testing.B, name string) (at time.Time) {
	b.Helper()
	a.wait(b, func() (ok bool) { at, ok = a.times[name]; return ok })
	return at
}

func (a *arrivals) wait(b *testing.B, ok func() bool) {
	b.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		a.mu.Lock()
		done, change := ok(), a.change
		a.mu.Unlock()
		if done {
			return
		}
		select {
		case <-change:
		case <-limit.C:
			b.Fatal("something did not arrive")
		}
	}
}
