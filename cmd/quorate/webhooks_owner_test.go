package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/httpapi/limit"
)

// TestWebhooksOfBefore: a webhook that was made without an API key is delivered on by a
// server that asks for one; log and health name it and the way, and with that a key has it.
func TestWebhooksOfBefore(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 2, Blocks: 10, TxsPerBlock: 4})
	c, number := cChain(d)
	told := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case told <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	key, hash := limit.NewKey()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	text := "tiers: [{name: a, unitsPerMinute: 100000}]\nkeys: [{name: acme, tier: a, hash: " + hash + "}]\n"
	if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIn(t, d, dir, "--limits", "webhooks-private=true,webhooks-keyless=true")
	awaitIndexed(t, p.url, c)
	var made struct{ ID string }
	callAPI(t, http.MethodPost, p.url+"/v1/webhooks", fmt.Sprintf(`{"eventType":"address_activity","url":%q,"chainId":%q,"metadata":{"addresses":[%q]}}`,
		receiver.URL, number, d.Facts("").Address), http.StatusCreated, &made)
	p.stop(t)

	p = serveIn(t, d, dir, "--limits", "webhooks-private=true", "--health-check-frequency", "50ms")
	poll(t, 50*time.Millisecond, "the webhook is delivered on", func() bool {
		advance(c, 1)
		select {
		case <-told:
			return true
		default:
			return false
		}
	})
	const way = "--webhooks-owner 127.0.0.1=NAME"
	poll(t, 50*time.Millisecond, "health names the way", func() bool {
		code, out, _ := quorate(t, "", "health", "--url", p.url)
		return code == exitDone && strings.Contains(out, "webhooks: webhooks that were made without an API key: 1, by 127.0.0.1") && strings.Contains(out, way)
	})
	if !strings.Contains(p.stderr.String(), way) {
		t.Errorf("the log does not name the way:\n%s", p.stderr)
	}
	var refused struct{ Message string }
	if callAPI(t, http.MethodGet, p.url+"/v1/webhooks/"+made.ID, "", http.StatusUnauthorized, &refused); !strings.Contains(refused.Message, "quorate key") {
		t.Errorf("refused with %q", refused.Message)
	}
	p.stop(t)

	p = serveIn(t, d, dir, "--limits", "webhooks-private=true", "--api-keys-file", keys, "--webhooks-owner", "127.0.0.1=acme")
	status, _, answer := ask(t, http.MethodGet, p.url+"/v1/webhooks/"+made.ID, "", limit.HeaderKey, key)
	var got struct{ ID string }
	if err := json.Unmarshal(answer, &got); err != nil || got != made {
		t.Errorf("the key's webhook: %+v, %d, %v", got, status, err)
	}
}
