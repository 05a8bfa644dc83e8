package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/torture"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
)

// told is an event of a stream, as a subscriber reads it.
type told struct {
	at             time.Time
	id, name, data string
}

// errNoStream is what a server says that opens no stream now.
var errNoStream = errors.New("no stream")

// subscribe reads a stream of events until take returns false, the stream breaks off or
// ctx ends.
func subscribe(ctx context.Context, client *http.Client, url, query, id string, take func(told) bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/events?"+query, http.NoBody)
	if err != nil {
		return err
	}
	if id != "" {
		req.Header.Set("Last-Event-ID", id)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errNoStream, resp.Status)
	}
	var e told
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.at, e.data = time.Now(), value
		case line == "": // an event is whole with the line after it, not before
			if (e.id != "" || e.name != "") && !take(e) {
				return nil
			}
			e = told{}
		}
	}
	return lines.Err()
}

// chainEvent is what the data of blocks and messages say.
type chainEvent struct {
	Block   struct{ BlockNumber, BlockHash string }
	Message struct{ BlockNumber, MessageID, SignedMessage, Error string }
}

// chainLog is the log of a subscriber who comes back whenever a stream has ended.
type chainLog struct {
	id     string
	lines  []string
	signed map[string]string // by message ID
	broken int               // streams that ended without the subscriber's will
	ended  bool
}

// take adds an event to the log, which ends with the last block.
func (l *chainLog) take(t *testing.T, e told, last uint64) {
	if e.id != "" {
		l.id = e.id
	}
	var c chainEvent
	switch e.name {
	case "block", "message":
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			t.Error(err)
		}
	case "", "end":
		return
	default: // nothing goes back here, and nobody starts over
		t.Errorf("event %s: %s", e.name, e.data)
	}
	if l.ended = last > 0 && c.Block.BlockNumber == strconv.FormatUint(last+1, 10); l.ended {
		return
	}
	if e.name == "block" {
		l.lines = append(l.lines, "block "+c.Block.BlockNumber+" "+c.Block.BlockHash)
		return
	}
	l.lines = append(l.lines, "message "+c.Message.BlockNumber+" "+c.Message.MessageID+c.Message.Error)
	l.signed[c.Message.MessageID] = c.Message.SignedMessage
}

// chainTruth returns what logs must have, and the messages by ID, by what the node says.
func chainTruth(t *testing.T, d *devnet.Devnet, c *evmchain.Chain, tip uint64) (lines []string, messages map[string]*warp.Unsigned) {
	t.Helper()
	blocks, err := chainClient(t, d, c).Fetch(t.Context(), 0, tip)
	if err != nil {
		t.Fatal(err)
	}
	messages = make(map[string]*warp.Unsigned)
	for _, b := range blocks {
		lines = append(lines, fmt.Sprint("block ", b.Number, " ", b.Hash))
		for i := range b.Txs {
			for k := range b.Txs[i].Logs {
				raw, ok := index.WarpMessage(&b.Txs[i].Logs[k])
				if !ok {
					continue
				}
				m, err := warp.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprint("message ", b.Number, " ", m.ID()))
				messages[m.ID().String()] = m
			}
		}
	}
	return lines, messages
}

// TestKillEvents: subscribers whose server is killed while it tells them what happens,
// and who leave at random themselves, have each block and each signed message once and
// in order.
func TestKillEvents(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills, subscribers := killCount(t, 50), torture.Pick(6, 60)
	d := startNetwork(t, devnet.Config{Validators: 4, Blocks: 30, TxsPerBlock: 6})
	c, number := cChain(d)
	dir, query := t.TempDir(), "topics=blocks,messages&startBlock=0&chainId="+number
	var url atomic.Pointer[string]
	var events, last atomic.Uint64
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	logs := make([]chainLog, subscribers)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	serve := func() *child {
		s := startChild(t, d, dir, "--rate-limit", "off")
		url.Store(&s.url)
		return s
	}
	s := serve()
	rnd := rand.New(rand.NewPCG(uint64(kills), 12))
	for i := range logs {
		l, own := &logs[i], rand.New(rand.NewPCG(12, uint64(i)))
		l.signed = make(map[string]string)
		wg.Go(func() {
			for !l.ended && ctx.Err() == nil {
				left := false
				err := subscribe(ctx, client, *url.Load(), query, l.id, func(e told) bool {
					l.take(t, e, last.Load())
					events.Add(1)
					left = l.ended || own.IntN(30) == 0
					return !left
				})
				var refused *net.OpError
				if !left && !errors.Is(err, errNoStream) && !errors.As(err, &refused) {
					l.broken++
				}
				if err != nil {
					select { // the server is away
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
		})
	}
	for range kills {
		grown, before := 1+rnd.IntN(4), events.Load()
		advance(c, grown)
		wanted := before + 1 + uint64(rnd.IntN(grown*subscribers))
		poll(t, time.Millisecond, "subscribers are told of new blocks", func() bool { return events.Load() >= wanted })
		s.kill(t)
		advance(c, rnd.IntN(3))
		s = serve()
	}
	last.Store(c.Tip())
	advance(c, 1)
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("not all subscribers have all there is")
	}
	s.stop(t)
	want, messages := chainTruth(t, d, c, last.Load())
	broken, judge := 0, newJudge(t, d)
	signed := make(map[string]string)
	for i := range logs {
		if !slices.Equal(logs[i].lines, want) {
			t.Errorf("subscriber %d has %d lines, not %d:\n%s", i, len(logs[i].lines), len(want), strings.Join(logs[i].lines, "\n"))
		}
		broken += logs[i].broken
		for id, text := range logs[i].signed {
			if signed[id] == text {
				continue
			}
			signed[id] = text
			if err := judge.valid(text, messages[id], 67); err != nil {
				t.Errorf("message %s: %v", id, err)
			}
		}
	}
	if broken < kills || len(signed) == 0 {
		t.Errorf("%d kills broke %d streams off, %d messages", kills, broken, len(signed))
	}
	t.Logf("%d kills, %d streams broken off, %d events for %d subscribers, %d messages", kills, broken, len(want), subscribers, len(signed))
}
