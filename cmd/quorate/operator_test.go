package main

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/engine/chain/warp"
)

// browse asks for a page, or sends a form if there is one, as a browser does.
func browse(t *testing.T, at string, form url.Values, headers ...string) (int, string) {
	t.Helper()
	method, body := http.MethodGet, ""
	headers = append(headers, "Accept", "text/html")
	if form != nil {
		method, body = http.MethodPost, form.Encode()
		headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
	}
	status, _, text := ask(t, method, at, body, headers...)
	return status, string(text)
}

// TestOperatorPages: a message that is signed is on the page of signatures with its
// signers, the box takes it apart and verifies it, validators are listed, and the page of
// the administration changes a level. No other site's page can send these forms.
func TestOperatorPages(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", "0", "--data-dir", dir, "--api-admin-enabled", "--log-display-level", "off")
	facts, err := devnet.ReadFacts(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	status, answer := post(t, p.url+endpoint1, `{"message":"`+facts.Signature.Message+`","quorumPercentageBuffer":33}`)
	signed, _ := answer["signedMessage"].(string)
	if status != http.StatusCreated || signed == "" {
		t.Fatalf("status %d, %v", status, answer)
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(facts.Signature.Message, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	msg, err := warp.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := func(path string, form url.Values, status int, texts ...string) {
		t.Helper()
		got, page := browse(t, p.url+path, form)
		if got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s has no %q", path, text)
			}
		}
	}
	id := msg.ID().String()
	want("/signatures", nil, 200, "/signatures/"+id, "100.00%")
	all := []string{"signed", hex.EncodeToString(raw), strings.TrimPrefix(signed, "0x")}
	for _, v := range facts.Validators {
		all = append(all, v.NodeID)
	}
	want("/signatures/"+id, nil, 200, all...)
	want("/validators", nil, 200, append(all[3:], "100.00%", "of the stake is connected", "good")...)
	want("/signatures/message", url.Values{"input": {signed}, "do": {"verify"}}, 200, ">valid<", "100.00%")
	wrong := signed[:len(signed)-1] + map[bool]string{true: "0", false: "1"}[signed[len(signed)-1] != '0']
	want("/signatures/message", url.Values{"input": {wrong}, "do": {"verify"}}, 200, ">not valid<")
	want("/signatures/message", url.Values{"input": {facts.Signature.Messages[1]}, "do": {"sign"}, "quorum": {"80"}}, 200, "<h2><span class=\"badge ok\">signed")
	want("/", nil, 200, "Signing on Network 12345")
	want("/ops", nil, 200, "bootstrapped", "staker.pem", "admin.memoryProfile", "the simulated network")
	want("/ops", url.Values{"do": {"admin.setLoggerLevel"}, "loggerName": {"p2p"}, "logLevel": {"DEBUG"}}, 200, "The level is changed")
	status, answer = post(t, p.url+"/ext/admin", `{"jsonrpc":"2.0","id":1,"method":"admin.getLoggerLevel","params":{"loggerName":"p2p"}}`)
	if text, err := json.Marshal(answer); err != nil || status != 200 || !strings.Contains(string(text), `"logLevel":"DEBUG"`) {
		t.Errorf("%d %s %v", status, text, err)
	}
	// An alias works wherever the blockchain ID does, of whatever it is made.
	if _, failure := call(t, p.url, "admin.aliasChain", `{"chain":"C","alias":"7"}`); failure != "" {
		t.Error(failure)
	}
	if status, chain := get(t, p.url+"/v1/chains/7"); status != http.StatusOK {
		t.Errorf("the chain under its alias: %d %s", status, chain)
	}
	host := strings.TrimPrefix(p.url, "http://")
	refused := func(form url.Values, headers ...string) {
		t.Helper()
		if status, _ := browse(t, p.url+"/ops", form, headers...); status != http.StatusForbidden {
			t.Errorf("%v: status %d", headers, status)
		}
	}
	form := url.Values{"do": {"admin.lockProfile"}}
	refused(form, "Origin", "http://evil.example")
	refused(form, "Origin", "null")
	refused(form, "Sec-Fetch-Site", "cross-site", "Origin", p.url)
	refused(form, "Sec-Fetch-Site", "same-site", "Origin", "http://"+host)
	refused(nil, "Host", "evil.example")
	if status, page := browse(t, p.url+"/ops", form, "Sec-Fetch-Site", "same-origin", "Origin", p.url); status != 200 || !strings.Contains(page, "is done") {
		t.Errorf("our own form: status %d", status)
	}
	p.stop(t)
}

// TestOperatorPagesApart: operators' pages are never on a listener for clients.
func TestOperatorPagesApart(t *testing.T) {
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", "0", "--admin-addr", "127.0.0.1:0", "--data-dir", t.TempDir(), "--log-display-level", "off")
	for _, path := range []string{"/signatures", "/signatures/message", "/validators", "/ops"} {
		for _, form := range []url.Values{nil, {"do": {"sign"}, "input": {"00"}}} {
			if status, page := browse(t, p.url+path, form); status != http.StatusNotFound || strings.Contains(page, `href="/signatures"`) {
				t.Errorf("%s: status %d", path, status)
			}
		}
	}
	if _, page := browse(t, p.url+"/", nil); strings.Contains(page, "Signing on") {
		t.Error("clients see the signing")
	}
	p.stop(t)
}
