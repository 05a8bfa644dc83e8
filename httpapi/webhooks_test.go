package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/evm"
	"quorate/engine/primary"
	"quorate/engine/webhook"
	"quorate/httpapi/limit"
	"quorate/httpapi/shape"
)

// hookID is that of the webhook that samples have.
const hookID = "2f1b9cfe-0f5e-4b5e-9d39-0c4f7c1f2a11"

// fakeHooks keeps webhooks in memory.
type fakeHooks struct {
	mu      sync.Mutex
	list    []webhook.Hook
	secrets map[string]string
	err     error // of all calls
}

// sampleHooks has one of whoever asks without a network.
func sampleHooks() *fakeHooks {
	return &fakeHooks{
		list: []webhook.Hook{{
			ID: hookID, Client: "0.0.0.0", URL: "https://app.example/hook", Name: "one", Addresses: []evm.Address{alice, bob},
			Status: webhook.Active, Created: time.Unix(1_700_000_000, 0),
		}, {
			ID: "primary", Client: "0.0.0.0", Type: webhook.PrimaryActivity, URL: "https://app.example/hook", Status: webhook.Active, Network: "fuji",
			On: primary.XChain, Told: []webhook.Sub{webhook.BalanceChange, webhook.BalanceLow}, Keys: []address.Address{ann}, Low: &webhook.Low{Balance: "unlocked", Least: 5},
		}, {
			ID: "validators", Client: "0.0.0.0", Type: webhook.ValidatorActivity, URL: "https://app.example/hook", Status: webhook.Inactive, Network: "fuji", On: primary.PChain,
			Told: []webhook.Sub{webhook.L1Low}, Validators: &webhook.Validators{Subnet: &chain.ID{2}, Nodes: []chain.NodeID{nodeOne}, Subnets: []chain.ID{{2}}, Least: new(uint64)},
		}},
		secrets: map[string]string{"0.0.0.0": strings.Repeat("ab", 32)},
	}
}

func (h *fakeHooks) find(client, id string) int {
	return slices.IndexFunc(h.list, func(n webhook.Hook) bool { return n.ID == id && n.Client == client })
}

func (h *fakeHooks) Create(_ context.Context, n webhook.Hook) (webhook.Hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := errors.Join(h.err, webhook.CheckURL(n.URL, false)); err != nil {
		return n, err
	}
	n.ID, n.Status, n.Created = "id"+strconv.Itoa(len(h.list)), webhook.Active, time.Unix(1_700_000_000, 0)
	h.list = append(h.list, n)
	return n, nil
}

func (h *fakeHooks) List(client string) (list []webhook.Hook, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.list {
		if n.Client == client {
			list = append(list, n)
		}
	}
	return list, h.err
}

func (h *fakeHooks) Get(client, id string) (webhook.Hook, error) {
	return h.Update(context.Background(), client, id, func(*webhook.Hook) error { return nil })
}

func (h *fakeHooks) Update(_ context.Context, client, id string, edit func(n *webhook.Hook) error) (webhook.Hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.find(client, id)
	if i < 0 || h.err != nil {
		return webhook.Hook{}, errors.Join(h.err, webhook.ErrNotFound)
	}
	n := h.list[i]
	n.Addresses = slices.Clone(n.Addresses)
	if err := edit(&n); err != nil {
		return n, err
	}
	h.list[i] = n
	return n, nil
}

func (h *fakeHooks) Delete(_ context.Context, client, id string) (webhook.Hook, error) {
	n, err := h.Get(client, id)
	return n, err // samples are asked for again
}

func (h *fakeHooks) Secret(client string) (string, error) {
	if s := h.secrets[client]; s != "" {
		return s, h.err
	}
	return "", errors.Join(h.err, webhook.ErrNotFound)
}

func (h *fakeHooks) Rotate(context.Context, string) (string, error) {
	return strings.Repeat("cd", 32), h.err
}

const goodHook = `{"eventType":"address_activity","url":"https://app.example/hook","name":"mine","chainId":"43112","metadata":{"addresses":["0x00000000000000000000000000000000000000a1"]},"includeInternalTxs":true}`

// The calls of the SDKs make, change, list and delete webhooks.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{WebhooksKeyless: true, Webhooks: &fakeHooks{secrets: map[string]string{}}}, sampleChain())
	ask := func(method, path, body string, status int) (w shape.Webhook) {
		t.Helper()
		resp := send(s, method, path, body)
		if resp.StatusCode() != status {
			t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode(), resp.Body())
		}
		if status < 300 {
			if err := json.Unmarshal(resp.Body(), &w); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	made := ask("POST", "/v1/webhooks", goodHook, 201)
	if made.ChainID != "43112" || made.Status != "active" || made.IncludeInternalTxs == nil || !*made.IncludeInternalTxs || made.EventType != "address_activity" || len(made.Metadata.Addresses) != 1 {
		t.Errorf("%+v", made)
	}
	at := "/v1/webhooks/" + made.ID
	if got := ask("GET", at, "", 200); got.URL != made.URL || got.Name != "mine" {
		t.Errorf("%+v", got)
	}
	if got := ask("PATCH", at, `{"name":"other","status":"inactive"}`, 200); got.Name != "other" || got.Status != "inactive" || got.URL != made.URL {
		t.Errorf("%+v", got)
	}
	more := `{"addresses":["` + bob.String() + `","` + alice.String() + `"]}`
	if got := ask("PATCH", at+"/addresses", more, 200); len(got.Metadata.Addresses) != 3 {
		t.Errorf("%+v", got)
	}
	var page shape.WebhookAddresses
	seen := 0
	for token := ""; ; token = "&pageToken=" + page.NextPageToken {
		page = shape.WebhookAddresses{}
		if err := json.Unmarshal(send(s, "GET", at+"/addresses?pageSize=2"+token, "").Body(), &page); err != nil {
			t.Fatal(err)
		}
		if seen += len(page.Addresses); page.TotalAddresses != 3 {
			t.Errorf("%+v", page)
		}
		if page.NextPageToken == "" {
			break
		}
	}
	if seen != 3 {
		t.Errorf("pages have %d addresses", seen)
	}
	if got := ask("DELETE", at+"/addresses", more, 200); len(got.Metadata.Addresses) != 1 {
		t.Errorf("%+v", got)
	}
	for range 4 {
		ask("POST", "/v1/webhooks", goodHook, 201)
	}
	for query, want := range map[string]int{"": 5, "?pageSize=2": 2, "?status=inactive": 1, "?status=active&pageSize=100": 4} {
		var list shape.Webhooks
		if err := json.Unmarshal(send(s, "GET", "/v1/webhooks"+query, "").Body(), &list); err != nil || len(list.Webhooks) != want {
			t.Errorf("%s: %+v, %v", query, list, err)
		}
	}
	ask("DELETE", at, "", 200)
	ask("GET", "/v1/webhooks/none", "", 404)
	ask("GET", "/v1/webhooks:getSharedSecret", "", 404)
	ask("POST", "/v1/webhooks:generateOrRotateSharedSecret", "", 201)
}

// What is not possible is refused with the reason.
func TestWebhooksRefused(t *testing.T) {
	t.Parallel()
	hooks := sampleHooks()
	s := dataServer(t, Config{WebhooksKeyless: true, Webhooks: hooks}, sampleChain())
	with := func(old, text string) string { return strings.Replace(goodHook, old, text, 1) }
	for body, status := range map[string]int{
		`{`: 400, `[]`: 400, `{}`: 400,
		with("address_activity", "x"):                                     400,
		with("https://app.example/hook", ""):                              400,
		with("https://app.example/hook", "http://127.0.0.1/"):             400,
		with("https://app.example/hook", "file:///etc/passwd"):            400,
		with("43112", ""):                                                 400,
		with("43112", "999"):                                              404,
		with(`"0x00000000000000000000000000000000000000a1"`, ""):          400,
		with(`0x00000000000000000000000000000000000000a1`, "0x12"):        400,
		with(`"mine"`, `"`+strings.Repeat("x", 2000)+`"`):                 400,
		with(`"includeInternalTxs":true`, `"includeLogs":true`):           400,
		with(`"metadata":{`, `"metadata":{"eventSignatures":["0x1234"],`): 400,
	} {
		if resp := send(s, "POST", "/v1/webhooks", body); resp.StatusCode() != status {
			t.Errorf("%.120s: %d %s", body, resp.StatusCode(), resp.Body())
		}
	}
	at := "/v1/webhooks/" + hookID
	for path, body := range map[string]string{
		at: `{"status":"x"}`, at + "/addresses": `{"addresses":[]}`, at + "?": `{"url":1}`, at + "/addresses?": `{"addresses":["x"]}`,
	} {
		if resp := send(s, "PATCH", path, body); resp.StatusCode() != 400 {
			t.Errorf("%s %s: %d %s", path, body, resp.StatusCode(), resp.Body())
		}
	}
	if resp := send(s, "DELETE", at+"/addresses", `{"addresses":["`+alice.String()+`","`+bob.String()+`"]}`); resp.StatusCode() != 400 {
		t.Errorf("the last addresses: %d %s", resp.StatusCode(), resp.Body())
	}
	for err, status := range map[error]int{
		webhook.ErrQuota: 429, webhook.ErrFull: 503, webhook.ErrStopping: 503, webhook.ErrChain: 503, errors.New("disk"): 503,
	} {
		hooks.err = err
		if resp := send(s, "POST", "/v1/webhooks", goodHook); resp.StatusCode() != status || len(resp.Header.Peek(fasthttp.HeaderRetryAfter)) == 0 {
			t.Errorf("%v: %d %s", err, resp.StatusCode(), resp.Body())
		}
	}
}

// A key that is not good for a chain makes no webhook of it.
func TestWebhookKeys(t *testing.T) {
	t.Parallel()
	hooks := &fakeHooks{}
	s := dataServer(t, Config{WebhooksKeyless: true, Webhooks: hooks, Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})}, sampleChain())
	if resp := send(s, "POST", "/v1/webhooks", goodHook); resp.StatusCode() != 401 || len(hooks.list) != 0 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}

// goodPrimaryHooks are requests for webhooks of the types of the primary network.
func goodPrimaryHooks() map[string]string {
	ofPrimary := func(kind, more, metadata string) string {
		return `{"eventType":"` + kind + `","url":"https://app.example/hook","network":"fuji",` + more + `"metadata":{` + metadata + `}}`
	}
	const addresses = `"subEvents":{"addressActivitySubEvents":["balance_change","balance_threshold","reward_distribution"]},"keyType":"addresses"`
	const validators = `"subEvents":{"validatorActivitySubEvents":["validator_stake","l1_validator_balance_threshold"]},"l1ValidatorFeeBalanceThreshold":"7"`
	return map[string]string{
		"p-chain": ofPrimary("primary_network_address_activity", `"chainId":"p-chain",`,
			addresses+`,"keys":["P-`+ann.Text("fuji")+`","`+ann.Text("fuji")+`"],"balanceThresholdFilter":{"balanceType":"unlockedUnstaked","balanceThreshold":"1000"}`),
		"x-chain": ofPrimary("primary_network_address_activity", `"chainId":"x-chain",`,
			addresses+`,"keys":["`+ann.Text("fuji")+`"],"balanceThresholdFilter":{"balanceType":"locked","balanceThreshold":"0"}`),
		"node":   ofPrimary("validator_activity", "", validators+`,"keyType":"nodeId","keys":["`+nodeOne.String()+`"],"subnetIds":["`+chain.ID{2}.String()+`"]`),
		"subnet": ofPrimary("validator_activity", `"chainId":"p-chain",`, validators+`,"keyType":"subnetId","keys":["`+chain.ID{2}.String()+`"],"nodeIds":["`+nodeOne.String()+`"]`),
	}
}

// Webhooks of the primary network are made, shown as they were asked for, changed and
// deleted; addresses are changed of the others alone, as the SDKs say.
func TestPrimaryWebhooks(t *testing.T) {
	t.Parallel()
	hooks := &fakeHooks{secrets: map[string]string{}}
	s := dataServer(t, Config{WebhooksKeyless: true, Webhooks: hooks, Primary: samplePrimaries()}, sampleChain())
	for name, body := range goodPrimaryHooks() {
		resp := send(s, "POST", "/v1/webhooks", body)
		var want, got map[string]any
		if err := errors.Join(json.Unmarshal(resp.Body(), &got), json.Unmarshal([]byte(body), &want)); err != nil || resp.StatusCode() != 201 {
			t.Fatalf("%s: %d %s, %v", name, resp.StatusCode(), resp.Body(), err)
		}
		if name == "p-chain" { // the same address twice
			want["metadata"].(map[string]any)["keys"] = []any{ann.Text("fuji")}
		}
		if want["chainId"] == nil {
			want["chainId"] = "p-chain"
		}
		for member, v := range want {
			if !reflect.DeepEqual(got[member], v) {
				t.Errorf("%s: %s is %v, not %v", name, member, got[member], v)
			}
		}
		at := "/v1/webhooks/" + got["id"].(string)
		if resp := send(s, "PATCH", at, `{"name":"other","status":"inactive"}`); resp.StatusCode() != 200 {
			t.Errorf("%s: %d %s", name, resp.StatusCode(), resp.Body())
		}
		more := `{"addresses":["` + bob.String() + `"]}`
		for _, c := range [][3]string{
			{"PATCH", at + "/addresses", more}, {"DELETE", at + "/addresses", more}, {"GET", at + "/addresses", ""}, {"PATCH", at, `{"includeInternalTxs":true}`},
		} {
			if resp := send(s, c[0], c[1], c[2]); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "address_activity") {
				t.Errorf("%s: %s: %d %s", name, c, resp.StatusCode(), resp.Body())
			}
		}
	}
	if resp := send(s, "GET", "/v1/webhooks", ""); resp.StatusCode() != 200 || strings.Count(string(resp.Body()), "subEvents") != 4 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}

// What a webhook of the primary network cannot be about is refused with the reason.
func TestPrimaryWebhooksRefused(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{WebhooksKeyless: true, Webhooks: &fakeHooks{}, Primary: samplePrimaries()}, sampleChain())
	good := goodPrimaryHooks()
	for _, c := range []struct {
		of, old, text string
		status        int
		says          string
	}{
		{"p-chain", `"network":"fuji",`, ``, 400, "network is required"},
		{"p-chain", `"network":"fuji"`, `"network":"local"`, 404, "unknown"},
		{"p-chain", `"network":"fuji"`, `"network":"mainnet"`, 404, "mainnet"},
		{"p-chain", `"chainId":"p-chain"`, `"chainId":"c-chain"`, 400, "p-chain or x-chain"},
		{"p-chain", `"chainId":"p-chain",`, ``, 400, "p-chain or x-chain"},
		{"p-chain", `"keyType":"addresses"`, `"keyType":"nodeId"`, 400, "keyType"},
		{"p-chain", "P-fuji1", "P-avax1", 400, "fuji1"},
		{"p-chain", "P-fuji1", "C-fuji1", 400, "another chain"},
		{"p-chain", "unlockedUnstaked", "unlocked", 400, "balanceType must be one of"},
		{"p-chain", "unlockedUnstaked", "atomicMemoryLocked", 400, "not watched"},
		{"p-chain", `"1000"`, `"-1"`, 400, "nAVAX"},
		{"p-chain", `balanceThresholdFilter`, `x`, 400, "is required for balance_threshold"},
		{"p-chain", `"balance_change"`, `"validator_stake"`, 400, "none of primary_network"},
		{"p-chain", `addressActivitySubEvents`, `validatorActivitySubEvents`, 400, "at least one"},
		{"p-chain", `"metadata":{`, `"metadata":{"addresses":["` + alice.String() + `"],`, 400, "metadata.addresses"},
		{"p-chain", `"metadata":{`, `"includeInternalTxs":true,"metadata":{`, 400, "includeInternalTxs"},
		{"p-chain", `"metadata":{`, `"includeLogs":true,"metadata":{`, 400, "includeLogs"},
		{"p-chain", `"https://app.example/hook"`, `"https://127.0.0.1/"`, 400, "url"},
		{"x-chain", `"locked"`, `"lockedStaked"`, 400, "balanceType must be one of unlocked, locked"},
		{"node", `"keyType":"nodeId"`, `"keyType":"addresses"`, 400, "keyType must be nodeId or subnetId"},
		{"node", `"keys":["`, `"keys":["` + nodeOne.String() + `","`, 400, "exactly one"},
		{"node", `"keys":["NodeID-`, `"keys":["`, 400, "no node ID"},
		{"node", `"l1ValidatorFeeBalanceThreshold":"7"`, `"nodeIds":[]`, 400, "l1ValidatorFeeBalanceThreshold"},
		{"subnet", `"keys":["`, `"keys":["1`, 400, "no subnet ID"},
		{"subnet", `"nodeIds":["NodeID-`, `"nodeIds":["NodeID-x`, 400, "no node ID"},
	} {
		body := strings.Replace(good[c.of], c.old, c.text, 1)
		if resp := send(s, "POST", "/v1/webhooks", body); body == good[c.of] || resp.StatusCode() != c.status || !strings.Contains(string(resp.Body()), c.says) {
			t.Errorf("%s with %s: %d %s, want %d %s", c.of, c.text, resp.StatusCode(), resp.Body(), c.status, c.says)
		}
	}
	var keys []string
	for i := range 101 {
		keys = append(keys, address.Address{byte(i), 1}.Text("fuji"))
	}
	body := strings.Replace(good["x-chain"], ann.Text("fuji"), strings.Join(keys, `","`), 1)
	if resp := send(s, "POST", "/v1/webhooks", body); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "100 at most") {
		t.Errorf("%d addresses: %d %s", len(keys), resp.StatusCode(), resp.Body())
	}
	other := dataServer(t, Config{WebhooksKeyless: true, Webhooks: &fakeHooks{err: webhook.ErrWatched}, Primary: samplePrimaries()}, sampleChain())
	if resp := send(other, "POST", "/v1/webhooks", good["node"]); resp.StatusCode() != 400 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}
