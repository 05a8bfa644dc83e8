package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
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
	s := dataServer(t, Config{Webhooks: &fakeHooks{secrets: map[string]string{}}}, sampleChain())
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
	if made.ChainID != "43112" || made.Status != "active" || !made.IncludeInternalTxs || made.EventType != "address_activity" || len(made.Metadata.Addresses) != 1 {
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
	s := dataServer(t, Config{Webhooks: hooks}, sampleChain())
	with := func(old, text string) string { return strings.Replace(goodHook, old, text, 1) }
	for body, status := range map[string]int{
		`{`: 400, `[]`: 400, `{}`: 400,
		with("address_activity", "validator_activity"):                    400,
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
	s := dataServer(t, Config{Webhooks: hooks, Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})}, sampleChain())
	if resp := send(s, "POST", "/v1/webhooks", goodHook); resp.StatusCode() != 401 || len(hooks.list) != 0 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}
