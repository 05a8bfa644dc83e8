package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmrpc"
)

// joinedLine is an event of a block, or a message of a webhook about one.
type joinedLine struct {
	height uint64
	text   string
}

// joinedLog is what a client was told, less what was taken back.
type joinedLog struct {
	mu     sync.Mutex
	lines  []joinedLine
	void   []joinedLine // what was taken back
	stands uint64       // the lowest block to which it was
	times  int          // how often
}

var blockNumber = regexp.MustCompile(`"blockNumber":"(\d+)"`)

// take adds what a client is told. Names of tokens may come late, and not all validators
// sign each time.
func (l *joinedLog) take(t *testing.T, name string, raw []byte) (height uint64) {
	match := blockNumber.FindSubmatch(raw)
	var data any
	if err := json.Unmarshal(raw, &data); err != nil || match == nil {
		t.Errorf("%s: %s: %v", name, raw, err)
		return 0
	}
	height, err := strconv.ParseUint(string(match[1]), 10, 64)
	if err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if name != "retraction" {
		text := strings.TrimSpace(quoted(t, without(data, "name", "symbol", "signedMessage", "decimals", "valueWithDecimals", "ownerAddress", "metadata", "tokenUri")))
		l.lines = append(l.lines, joinedLine{height, name + " " + text})
		return height
	}
	at := len(l.lines)
	for at > 0 && l.lines[at-1].height > height {
		at--
	}
	if l.times++; l.times == 1 || height < l.stands {
		l.stands = height
	}
	l.void = append(l.void, l.lines[at:]...)
	l.lines = l.lines[:at]
	return 0
}

// last returns the height of the last line.
func (l *joinedLog) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return 0
	}
	return l.lines[len(l.lines)-1].height
}

// without takes members away, wherever they are.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			without(v[i], names...)
		}
	case map[string]any:
		maps.DeleteFunc(v, func(name string, _ any) bool { return slices.Contains(names, name) })
		for name := range v {
			without(v[name], names...)
		}
	}
	return v
}

// mustBe checks that in the end a client knows what is true. It returns how much was taken
// back that is not.
func (l *joinedLog) mustBe(t *testing.T, who string, truth []joinedLine) (lies int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	known := make(map[joinedLine]bool, len(truth))
	for _, line := range truth {
		known[line] = true
	}
	for _, line := range l.void {
		if !known[line] {
			lies++
		}
	}
	t.Logf("%s: %d lines, %d times %d taken back of which %d are false", who, len(l.lines), l.times, len(l.void), lies)
	if slices.Equal(l.lines, truth) {
		return lies
	}
	for i, line := range l.lines {
		if i >= len(truth) || line != truth[i] {
			t.Fatalf("%s: %d lines, not %d; line %d is\n%v\nand not\n%v", who, len(l.lines), len(truth), i, line, truth[min(i, len(truth)-1)])
		}
	}
	t.Fatalf("%s has only the first %d of %d lines", who, len(l.lines), len(truth))
	return lies
}

// subscriber follows a stream of events over its ends, up to a block.
type subscriber struct {
	joinedLog
	query string
	end   uint64
	leave func(at uint64) bool // after each event
	back  <-chan struct{}      // when one comes back who has left
}

func (s *subscriber) run(ctx context.Context, t *testing.T, url *atomic.Pointer[string]) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	id, at := "", uint64(0)
	for at != s.end && ctx.Err() == nil {
		left := false
		err := subscribe(ctx, client, *url.Load(), s.query, id, func(e told) bool {
			if e.id != "" {
				id = e.id
			}
			switch e.name {
			case "":
				return true
			case "block", "transaction", "transfer", "message", "retraction":
				at = s.take(t, e.name, []byte(e.data))
			case "end":
				if !strings.Contains(e.data, "stopping") {
					t.Errorf("a stream has ended: %s", e.data)
				}
				return false
			default:
				t.Errorf("event %s: %s", e.name, e.data)
			}
			left = s.leave(at)
			return at != s.end && !left
		})
		var refused *net.OpError
		away := errors.As(err, &refused) || errors.Is(err, errNoStream) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !away && ctx.Err() == nil {
			t.Errorf("a stream: %v", err)
		}
		on := s.back
		if !left {
			again := make(chan struct{})
			time.AfterFunc(20*time.Millisecond, func() { close(again) }) // the server may be away
			on = again
		}
		select {
		case <-ctx.Done():
		case <-on:
		}
	}
}

// listeners are clients of all kinds that hear what happens on a chain: up to a block, whose
// transactions they need not know.
type listeners struct {
	url  atomic.Pointer[string] // of the server
	subs []*subscriber
	hook joinedLog
	from uint64 // the last block when the webhook was made
	end  uint64
	done sync.WaitGroup
}

// listen has clients listen until the block end. Those who are away leave once they know
// the block awayAt, until the channel back is closed.
func listen(t *testing.T, url, number string, from, end, awayAt uint64, back <-chan struct{}, addresses []string) *listeners {
	t.Helper()
	l := &listeners{from: from, end: end}
	l.url.Store(&url)
	callAPI(t, http.MethodPost, url+"/v1/webhooks", `{"eventType":"address_activity","url":"`+l.receive(t)+`","chainId":"`+number+
		`","metadata":{"addresses":["`+strings.Join(addresses, `","`)+`"]},"includeInternalTxs":true}`, http.StatusCreated, new(any))
	now := make(chan struct{})
	close(now)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(func() {
		cancel()
		l.done.Wait()
	})
	for _, query := range []string{"topics=blocks,transactions,transfers&addresses=" + strings.Join(addresses, ","), "topics=blocks,messages"} {
		rnd, left := rand.New(rand.NewPCG(end, 3)), false
		l.subs = append(l.subs,
			&subscriber{query: query, leave: func(uint64) bool { return false }},
			&subscriber{query: query, back: now, leave: func(uint64) bool { return rnd.IntN(30) == 0 }},
			&subscriber{query: query, back: back, leave: func(at uint64) bool {
				leaves := !left && at == awayAt
				left = left || leaves
				return leaves
			}})
	}
	for _, s := range l.subs {
		s.query, s.end = s.query+"&startBlock=0&chainId="+number, end
		l.done.Go(func() { s.run(ctx, t, &l.url) })
	}
	return l
}

// receive starts the receiver of the webhook, which knows messages by their IDs.
func (l *listeners) receive(t *testing.T) (url string) {
	t.Helper()
	seen := make(map[string]bool)
	var mu sync.Mutex
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			EventType, MessageID string
			Event                json.RawMessage
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server has ended
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !seen[m.MessageID] {
			l.hook.take(t, m.EventType, m.Event)
		}
		seen[m.MessageID] = true
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL
}

// await waits until all subscribers know a block, and the webhook something from some other
// block on.
func (l *listeners) await(t *testing.T, block, hooked uint64) {
	t.Helper()
	poll(t, 20*time.Millisecond, fmt.Sprintf("clients know blocks %d and %d", block, hooked), func() bool {
		return l.hook.last() >= hooked && !slices.ContainsFunc(l.subs, func(s *subscriber) bool { return s.last() < block })
	})
}

// truth is what clients know in the end of a network in which nobody lies.
type truth struct {
	addresses []string
	subs      [][]joinedLine
	hook      []joinedLine
}

// honestly returns what clients know of the C-Chain of a network when it has grown by some
// blocks.
func honestly(t *testing.T, cfg devnet.Config, growth int) *truth {
	t.Helper()
	d := startNetwork(t, cfg)
	c, number := cChain(d)
	advance(c, growth)
	blocks, err := chainClient(t, d, c).Fetch(t.Context(), 0, c.Tip())
	if err != nil {
		t.Fatal(err)
	}
	w, seen := new(truth), map[string]bool{}
	for _, b := range blocks {
		for i := range b.Txs {
			if from := b.Txs[i].From.String(); !seen[from] && len(seen) < 100 {
				seen[from] = true
				w.addresses = append(w.addresses, from)
			}
		}
	}
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{AtMost: 1}) // webhooks begin at the last block
	server := serveIn(t, d, t.TempDir(), "--rate-limit", "off", "--limits", "webhooks-private=true,webhooks-keyless=true")
	poll(t, 50*time.Millisecond, "the first blocks are indexed", func() bool { return hasBlock(t, server.url, number, 1) })
	l := listen(t, server.url, number, 1, c.Tip(), c.Tip()+1, nil, w.addresses)
	d.SetEVMTraits(c.Config().ID, evmrpc.Traits{})
	l.await(t, c.Tip(), c.Tip())
	server.stop(t)
	for _, s := range l.subs {
		w.subs = append(w.subs, s.lines)
	}
	w.hook = l.hook.between(0, c.Tip())
	return w
}

// between returns the lines about blocks above one and below another.
func (l *joinedLog) between(above, below uint64) []joinedLine {
	return slices.DeleteFunc(slices.Clone(l.lines), func(line joinedLine) bool { return line.height <= above || line.height >= below })
}

// mustKnow checks that clients of a server that has ended know the truth, after those who
// hear of transactions were told what is false.
func (l *listeners) mustKnow(t *testing.T, w *truth) {
	t.Helper()
	for i, s := range l.subs {
		lies := s.mustBe(t, fmt.Sprint("subscriber ", i), w.subs[i])
		if lies == 0 && strings.Contains(s.query, "transactions") {
			t.Errorf("subscriber %d was told nothing false", i)
		}
	}
	l.hook.lines = l.hook.between(0, l.end)
	// It was told of blocks below those that it began with, if what stands is below them.
	if l.hook.mustBe(t, "the webhook", (&joinedLog{lines: w.hook}).between(min(l.from, l.hook.stands), l.end)) == 0 {
		t.Error("the webhook was told nothing false")
	}
}
