package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
	"quorate/devnet/world"
)

// callAPI sends a request as the SDKs do, and reads the answer.
func callAPI(t *testing.T, method, url, body string, status int, into any) {
	t.Helper()
	got, _, raw := ask(t, method, url, body, "Content-Type", "application/json", "User-Agent", "speakeasy-sdk/test")
	if got != status {
		t.Fatalf("%s %s: %d %.500s", method, url, got, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// hookedTx is a transaction as lists and messages have it.
type hookedTx struct {
	TxHash, TxType, BlockNumber string
	SubnetID                    string `json:"subnetId"`
	ConsumedUtxos               []struct{ Addresses []string }
	NativeTransaction           struct{ TxHash, BlockNumber string }
}

// allTxs reads all pages of a list of transactions, the oldest first.
func allTxs(t *testing.T, list, query string) (all []hookedTx) {
	t.Helper()
	for token := ""; ; {
		var page struct {
			NextPageToken string
			Transactions  []hookedTx
		}
		callAPI(t, http.MethodGet, list+"?sortOrder=asc&pageSize=100&"+query+token, "", http.StatusOK, &page)
		if all = append(all, page.Transactions...); page.NextPageToken == "" {
			return all
		}
		token = "&pageToken=" + url.QueryEscape(page.NextPageToken)
	}
}

// hookReceiver is a client's server: up, slow, down, or lying about what it has taken.
type hookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	moods  *rand.Rand
	secret string
	ids    map[string]bool
	lines  map[string][]string // by webhook, in the order in which they came first
	last   map[string]any      // by webhook, the transaction of the last message
	taken  int
	twice  int
	got    chan struct{} // room for one
}

func newHookReceiver(t *testing.T) *hookReceiver {
	r := &hookReceiver{moods: rand.New(rand.NewPCG(5, 5)), ids: map[string]bool{}, lines: map[string][]string{}, last: map[string]any{}, got: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(t, w, req) }))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) serve(t *testing.T, w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the server was killed
	}
	r.mu.Lock()
	mood := r.moods.IntN(60)
	r.mu.Unlock()
	switch mood {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	case 2: // says that it has it, and breaks off
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "ok")
		return
	case 3:
		http.Redirect(w, req, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		return
	case 4, 5, 6:
		select {
		case <-time.After(300 * time.Millisecond):
		case <-req.Context().Done():
		}
	}
	var m struct {
		WebhookID, EventType, MessageID string
		Event                           struct {
			EventType   string
			Transaction hookedTx
		}
	}
	var whole struct{ Event struct{ Transaction any } }
	if err := errors.Join(json.Unmarshal(body, &m), json.Unmarshal(body, &whole)); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if key, err := hex.DecodeString(r.secret); err == nil && len(key) > 0 {
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); req.Header.Get("X-Signature") != want {
			t.Errorf("signature %s of %s", req.Header.Get("X-Signature"), body)
		}
	}
	r.taken++
	r.last[m.WebhookID] = whole.Event.Transaction
	if r.ids[m.MessageID] {
		r.twice++
	} else {
		r.ids[m.MessageID] = true
		r.lines[m.WebhookID] = append(r.lines[m.WebhookID], m.Event.EventType+" "+m.Event.Transaction.TxHash)
	}
	select {
	case r.got <- struct{}{}:
	default:
	}
}

func (r *hookReceiver) told(id string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines[id])
}

func (r *hookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// payers returns the addresses that paid most transactions.
func payers(txs []hookedTx, n int) []string {
	count := map[string]int{}
	for i := range txs {
		for _, u := range txs[i].ConsumedUtxos {
			for _, a := range u.Addresses {
				count[a]++
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	return list[:min(n, len(list))]
}

// lasting takes away what becomes of outputs later.
func lasting(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			lasting(v[i])
		}
	case map[string]any:
		for name := range v {
			if strings.HasPrefix(name, "consuming") {
				delete(v, name)
			}
			lasting(v[name])
		}
	}
	return v
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestKillWebhooks: webhooks of all types whose server is killed while it delivers, to a
// receiver that fails in all ways, tell all that happens in the order of their chains.
func TestKillWebhooks(t *testing.T) {
	campaign(t)
	t.Parallel()
	kills := killCount(t, 50)
	d := startNetwork(t, devnet.Config{
		Validators: 2, Blocks: 10, TxsPerBlock: 4, PrimaryBlocks: torture.Pick(120, 400), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	c, number := cChain(d)
	dir, r := t.TempDir(), newHookReceiver(t)
	genesis := filepath.Join(t.TempDir(), "genesis")
	if err := os.WriteFile(genesis, d.Genesis(), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func() *child {
		return startChild(t, d, dir, "--rate-limit", "off", "--limits", "webhooks-private=true,webhooks-keyless=true", "--genesis-file", fmt.Sprint(world.NetworkID, "=", genesis))
	}
	s := serve()
	awaitIndexed(t, s.url, c)
	awaitPrimary(t, d, s.url)
	busy := d.Facts("").Address
	accounts := "/v1/chains/" + number + "/addresses/" + busy + "/transactions"
	const platform = "/v1/networks/fuji/blockchains/p-chain/transactions"
	keys := payers(allTxs(t, s.url+platform, ""), 40)
	begin := map[string]uint64{accounts: c.Tip(), platform: d.Primary().Height()}
	hook := func(kind, of string) string {
		var made struct{ ID string }
		callAPI(t, http.MethodPost, s.url+"/v1/webhooks", `{"eventType":"`+kind+`","url":"`+r.URL+`",`+of+`}`, http.StatusCreated, &made)
		return made.ID
	}
	onChain := hook("address_activity", `"chainId":"`+number+`","metadata":{"addresses":["`+busy+`"]}`)
	onPlatform := hook("primary_network_address_activity", `"network":"fuji","chainId":"p-chain","metadata":{"keyType":"addresses","keys":`+
		quoted(t, keys)+`,"subEvents":{"addressActivitySubEvents":["balance_change"]}}`)
	ofValidators := hook("validator_activity", `"network":"fuji","metadata":{"keyType":"subnetId","keys":["11111111111111111111111111111111LpoYY"],`+
		`"subEvents":{"validatorActivitySubEvents":["validator_stake","delegator_stake","l1_validator_disabled"]}}`)
	callAPI(t, http.MethodGet, s.url+"/v1/webhooks:getSharedSecret", "", http.StatusOK, &struct{ Secret *string }{&r.secret})
	rnd := rand.New(rand.NewPCG(uint64(kills), 13))
	grow := func() {
		advance(c, 1+rnd.IntN(3))
		for range 1 + rnd.IntN(3) {
			d.Primary().Grow(60)
		}
	}
	for range kills {
		wanted := r.count() + 1 + rnd.IntN(6)
		poll(t, 50*time.Millisecond, "the receiver is told of new blocks", func() bool {
			grow()
			return r.count() >= wanted
		})
		s.kill(t)
		grow()
		s = serve()
	}
	awaitIndexed(t, s.url, c)
	awaitPrimary(t, d, s.url)
	want := map[string][]string{}
	for _, tx := range allTxs(t, s.url+accounts, "") {
		if n, err := strconv.ParseUint(tx.NativeTransaction.BlockNumber, 10, 64); err != nil || n > begin[accounts] {
			want[onChain] = append(want[onChain], " "+tx.NativeTransaction.TxHash)
		}
	}
	for _, tx := range allTxs(t, s.url+platform, "addresses="+url.QueryEscape(strings.Join(keys, ","))) {
		if n, err := strconv.ParseUint(tx.BlockNumber, 10, 64); err != nil || n > begin[platform] {
			want[onPlatform] = append(want[onPlatform], "balance_change "+tx.TxHash)
		}
	}
	for _, tx := range allTxs(t, s.url+platform, "") {
		sub := map[string]string{"AddPermissionlessValidatorTx": "validator_stake", "AddPermissionlessDelegatorTx": "delegator_stake"}[tx.TxType]
		if n, err := strconv.ParseUint(tx.BlockNumber, 10, 64); (err != nil || n > begin[platform]) && sub != "" && tx.SubnetID == "11111111111111111111111111111111LpoYY" {
			want[ofValidators] = append(want[ofValidators], sub+" "+tx.TxHash)
		}
	}
	for id, lines := range want {
		limit := time.After(patience)
		for !slices.Equal(r.told(id), lines) {
			select {
			case <-r.got:
			case <-limit:
				t.Fatalf("webhook %s was told %v, not %v", id, r.told(id), lines)
			}
		}
	}
	for _, id := range []string{onPlatform, ofValidators} {
		var now any
		r.mu.Lock()
		told := r.last[id]
		r.mu.Unlock()
		tx, _ := told.(map[string]any)
		callAPI(t, http.MethodGet, s.url+platform+"/"+fmt.Sprint(tx["txHash"]), "", http.StatusOK, &now)
		if lasting(told); !reflect.DeepEqual(told, lasting(now)) {
			t.Errorf("%s was told as %v, its transaction is %v", id, told, now)
		}
	}
	if len(want) != 3 {
		t.Errorf("only %d webhooks have something to tell", len(want))
	}
	t.Logf("%d kills, %d, %d and %d messages, %d repeats", kills, len(want[onChain]), len(want[onPlatform]), len(want[ofValidators]), r.twice)
	s.stop(t)
}
