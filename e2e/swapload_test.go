package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/libevm/rpc"

	"quorate/e2e/quorate"
)

// pageWalker is a program that walks pages until its input ends.
type pageWalker struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	input  io.Closer
	output bytes.Buffer
	stderr bytes.Buffer
}

func startWalker(t *testing.T, program, factsPath, url string) *pageWalker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkWait)
	w := &pageWalker{cancel: cancel, cmd: exec.CommandContext(ctx, "node", filepath.Join(program, "walk.mjs"), factsPath, url)}
	w.cmd.Stdout, w.cmd.Stderr, w.cmd.WaitDelay = &w.output, &w.stderr, time.Second
	input, err := w.cmd.StdinPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w.input = input
	return w
}

// end waits for the last walks, and returns what each has listed, by the list.
func (w *pageWalker) end(t *testing.T) map[string][][]string {
	t.Helper()
	defer w.cancel()
	if err := errors.Join(w.input.Close(), w.cmd.Wait()); err != nil || w.stderr.Len() > 0 {
		t.Errorf("the program that walks pages: %v\n%s", err, w.stderr.Bytes())
	}
	walks, sdks := map[string][][]string{}, map[string]int{}
	lines := bufio.NewScanner(&w.output)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l struct {
			sdkCall
			Listed []string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("the program printed %.200s: %v", lines.Bytes(), err)
		}
		if l.Error != nil {
			t.Errorf("%s %s %s: %+v", l.SDK, l.Call, l.Request, *l.Error)
			continue
		}
		if l.Pages < 2 {
			t.Errorf("%s %s has %d pages", l.SDK, l.Call, l.Pages)
		}
		sdks[l.SDK]++
		walks[l.Call] = append(walks[l.Call], l.Listed)
	}
	if lines.Err() != nil || len(sdks) != 2 {
		t.Errorf("walks %v: %v", sdks, lines.Err())
	}
	return walks
}

// swapEvent is an event of one of the streams.
type swapEvent struct {
	name, line string
	block      int // of a block
}

// follow reads a stream of events of the C-Chain until ctx ends.
func (s *swap) follow(ctx context.Context, query string) {
	s.follows.Go(func() {
		if err := s.read(ctx, s.server.URL+"/v1/events?chainId="+s.facts.ChainID+"&"+query); ctx.Err() == nil {
			s.t.Errorf("the stream %s has ended: %v", query, err)
		}
	})
}

func (s *swap) read(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			s.told(name, value)
		}
	}
	return lines.Err()
}

// told keeps what an event says.
func (s *swap) told(name, data string) {
	var d struct {
		Block   struct{ BlockNumber, BlockHash string }
		Message struct {
			TxHash, SignedMessage, Error string
			LogIndex                     int
		}
		Transaction listedTx
	}
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		s.t.Errorf("%s %s: %v", name, data, err)
		return
	}
	e := swapEvent{name: name}
	switch name {
	case "block":
		e.line = d.Block.BlockNumber + " " + d.Block.BlockHash
		var err error
		if e.block, err = strconv.Atoi(d.Block.BlockNumber); err != nil {
			s.t.Errorf("%s: %v", data, err)
		}
	case "message":
		if e.line = fmt.Sprintf("%s 0x%x", d.Message.TxHash, d.Message.LogIndex); d.Message.SignedMessage == "" {
			s.t.Errorf("a message was not signed: %s", d.Message.Error)
		}
	case "transaction":
		e.line = d.Transaction.NativeTransaction.TxHash
	default: // nothing goes back here, and the streams do not end
		s.t.Errorf("event %s: %s", name, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// reached reports whether all events were told: those of the last block, if the next one
// was, and the transactions of the other stream.
func (s *swap) reached(tr *swapTruth) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	txs, further := 0, false
	for _, e := range s.events {
		if e.name == "transaction" {
			txs++
		}
		further = further || e.name == "block" && e.block > tr.tip()
	}
	return further && txs >= len(tr.address)
}

// checkEvents checks that the streams had all that there is, once and in order.
func (s *swap) checkEvents(tr *swapTruth) {
	s.t.Helper()
	var blocks []string
	for _, b := range tr.blocks {
		blocks = append(blocks, b.line)
	}
	for name, want := range map[string][]string{"block": blocks, "message": tr.messages, "transaction": tr.address} {
		var got []string
		for _, e := range s.events {
			if e.name == name {
				got = append(got, e.line)
			}
		}
		if len(want) == 0 || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			s.t.Errorf("%d events %s, not the %d that there are", len(got), name, len(want))
		}
	}
}

// hookReceiver is a client's server that is told by webhooks.
type hookReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	ids   map[string]bool
	lines map[string][]string // by webhook
}

func (r *hookReceiver) told(id string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines[id])
}

// startHooks makes two webhooks: of the address, and of all that is delegated.
func (s *swap) startHooks() {
	s.t.Helper()
	r := &hookReceiver{ids: map[string]bool{}, lines: map[string][]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			WebhookID, MessageID string
			Event                struct {
				EventType   string
				Transaction listedTx
			}
		}
		if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
			s.t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ids[m.MessageID] {
			s.t.Errorf("message %s of a webhook came twice", m.MessageID)
		}
		r.ids[m.MessageID] = true
		r.lines[m.WebhookID] = append(r.lines[m.WebhookID], m.Event.Transaction.TxHash+m.Event.Transaction.NativeTransaction.TxHash)
	}))
	s.t.Cleanup(r.Close)
	hook := func(kind, of string) string {
		a, err := s.server.client.Post(s.t.Context(), "/v1/webhooks", []byte(`{"eventType":"`+kind+`","url":"`+r.URL+`",`+of+`}`))
		var made struct{ ID string }
		if err == nil {
			err = json.Unmarshal(a.Body, &made)
		}
		if err != nil || a.Status != http.StatusCreated {
			s.t.Fatalf("%v: %s", err, a)
		}
		return made.ID
	}
	s.hooks = r
	s.hooked = hook("address_activity", `"chainId":"`+s.facts.ChainID+`","metadata":{"addresses":["`+s.facts.Address+`"]}`)
	s.staked = hook("validator_activity", `"network":"fuji","metadata":{"keyType":"subnetId","keys":["`+constants.PrimaryNetworkID.String()+`"],`+
		`"subEvents":{"validatorActivitySubEvents":["delegator_stake"]}}`)
	s.after, s.since = s.height("C"), s.height("P")
}

// height returns the height of the index of a chain.
func (s *swap) height(chain string) uint64 {
	s.t.Helper()
	return uint64(s.server.metric(s.t, `quorate_index_height{chain="`+chain+`",network="12345"}`))
}

// checkHooks checks that the webhooks were told all that has happened since they were made,
// once and in order.
func (s *swap) checkHooks(tr *swapTruth) {
	s.t.Helper()
	for id, all := range map[string][]string{s.hooked: tr.address, s.staked: tr.delegated} {
		got := s.hooks.told(id)
		least := map[string][]string{s.hooked: tr.hooked, s.staked: tr.staked}[id]
		if len(least) == 0 || len(got) < len(least) {
			s.t.Errorf("a webhook was told %d, not %d", len(got), len(least))
			continue
		}
		from := slices.Index(all, got[0])
		if from < 0 || from > len(all)-len(least) {
			s.t.Errorf("a webhook was told first of number %d of %d, of which it has to have the last %d", from, len(all), len(least))
			continue
		}
		if all = all[from:]; !slices.Equal(got[:min(len(all), len(got))], all) {
			s.t.Errorf("a webhook was told %d, not the %d that there are: %v, not %v", len(got), len(all), got, all)
		}
	}
}

// signing is a message that was signed, or not.
type signing struct {
	at               time.Time
	took             time.Duration
	unsigned, signed []byte
	err              error
}

// sign has 20 fresh messages a second signed.
func (s *swap) sign() {
	tick := time.NewTicker(signEvery)
	defer tick.Stop()
	var open sync.WaitGroup
	defer open.Wait()
	for _, text := range s.facts.Signature.Messages {
		select {
		case <-tick.C:
		case <-s.busy.Done():
			return
		}
		unsigned, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
		if err != nil {
			s.t.Errorf("%s: %v", text, err)
			return
		}
		open.Go(func() {
			m := signing{at: time.Now(), unsigned: unsigned}
			answer, err := s.server.client.Aggregate(s.t.Context(), quorate.Request{Message: text})
			if m.took = time.Since(m.at); err == nil {
				m.signed, err = answer.Signed()
			}
			m.err = err
			s.mu.Lock()
			defer s.mu.Unlock()
			s.signed = append(s.signed, m)
		})
	}
	s.t.Error("there are no more messages")
}

// watchHeads has a client subscribe to heads by a WebSocket, which it opens again when it is
// closed: that is to happen once, before nodes replace the chain's software.
func (s *swap) watchHeads() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	closed := 0
	for {
		err := s.subscribed()
		text := fmt.Sprint(err)
		switch {
		case s.busy.Err() != nil:
			if closed != 1 {
				s.t.Errorf("a client's WebSocket was closed %d times", closed)
			}
			return
		case strings.Contains(text, "close 1012: nodes replace") && time.Now().Before(s.at.Add(-swapPause+time.Second)):
			closed++
		case strings.Contains(text, "503") && closed == 1:
		default:
			s.t.Errorf("a client's WebSocket %v after the activation: %s", time.Since(s.at).Round(time.Millisecond), text)
		}
		select {
		case <-tick.C:
		case <-s.busy.Done():
		}
	}
}

// subscribed reads heads until the WebSocket is closed.
func (s *swap) subscribed() error {
	client, err := rpc.DialContext(s.busy, "ws"+strings.TrimPrefix(s.server.URL, "http")+"/ext/bc/C/ws")
	if err != nil {
		return err
	}
	defer client.Close()
	heads := make(chan struct{ Number string })
	sub, err := client.EthSubscribe(s.busy, heads, "newHeads")
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	for {
		select {
		case head := <-heads:
			n, err := strconv.ParseInt(head.Number, 0, 64)
			if err != nil {
				return err
			}
			s.heads = append(s.heads, int(n))
		case err := <-sub.Err():
			return err
		case <-s.busy.Done():
			return nil
		}
	}
}

// checkHeads checks that the client had heads of both kinds, each once.
func (s *swap) checkHeads(tr *swapTruth) {
	s.t.Helper()
	for i, n := range s.heads {
		if i > 0 && n != s.heads[i-1]+1 && (n <= s.heads[i-1] || s.heads[i-1] >= tr.late) {
			s.t.Errorf("head %d after %d", n, s.heads[i-1])
		}
	}
	if n := len(s.heads); n < 20 || s.heads[0] >= tr.late || s.heads[n-1] < tr.late+10 {
		s.t.Errorf("heads %v, of the new kind from %d on", s.heads, tr.late)
	}
}

// watchHealth asks for the server's health.
func (s *swap) watchHealth() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.busy.Done():
			return
		}
		a, err := s.server.client.Get(s.t.Context(), "/ext/health")
		if err != nil || a.Status != http.StatusOK {
			s.t.Errorf("health %v after the activation: %v, %s", time.Since(s.at).Round(time.Millisecond), err, a)
		}
	}
}
