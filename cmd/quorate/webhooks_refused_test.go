package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"quorate/devnet"
)

// TestWebhooksRefused: a receiver that is not of the internet is refused when it is named,
// however it is written, and by its name, too.
func TestWebhooksRefused(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 2, Blocks: 10})
	c, number := cChain(d)
	p := serveIn(t, d, t.TempDir(), "--limits", "webhooks-keyless=true")
	awaitIndexed(t, p.url, c)
	create := func(url string, status int, into any) {
		t.Helper()
		callAPI(t, http.MethodPost, p.url+"/v1/webhooks", fmt.Sprintf(`{"eventType":"address_activity","url":%q,"chainId":%q,"metadata":{"addresses":[%q]}}`,
			url, number, d.Facts("").Address), status, into)
	}
	var made struct{ ID, URL string }
	create("http://"+publicName+"/hook", http.StatusCreated, &made)
	at := p.url + "/v1/webhooks/" + made.ID
	for _, host := range []string{
		"2130706433", "0x7f.1", "127.0.0.1", "[::1]", "localhost", "169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", metadataName, "nowhere.test",
	} {
		url := "http://" + host + "/hook"
		var refused struct{ Message string }
		if create(url, http.StatusBadRequest, &refused); !strings.Contains(refused.Message, "url") {
			t.Errorf("%s is refused with %q, which does not name the member", host, refused.Message)
		}
		callAPI(t, http.MethodPatch, at, fmt.Sprintf(`{"url":%q}`, url), http.StatusBadRequest, &refused)
	}
	var got struct{ ID, URL string }
	if callAPI(t, http.MethodGet, at, "", http.StatusOK, &got); got != made {
		t.Errorf("%+v after refused changes, want %+v", got, made)
	}
	var list struct{ Webhooks []struct{ ID string } }
	if callAPI(t, http.MethodGet, p.url+"/v1/webhooks", "", http.StatusOK, &list); len(list.Webhooks) != 1 {
		t.Errorf("%d webhooks after refused ones, want 1", len(list.Webhooks))
	}
}

// The names that testResolver knows, apart from those of the machine.
const (
	metadataName = "metadata.test"
	publicName   = "receiver.test"
)

// testResolver knows two names: nothing here depends on the name servers of the machine.
func testResolver() *net.Resolver {
	known := map[string][4]byte{metadataName + ".": {169, 254, 169, 254}, publicName + ".": {1, 1, 1, 1}}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			for answerName(server, known) == nil {
			}
		}()
		return client, nil
	}}
}

// answerName answers one question to a name server, in the form of TCP.
func answerName(conn io.ReadWriter, known map[string][4]byte) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	raw := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, raw); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		return err
	}
	m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
	a, ok := known[m.Questions[0].Name.String()]
	switch {
	case !ok:
		m.RCode = dnsmessage.RCodeNameError
	case m.Questions[0].Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60},
			Body:   &dnsmessage.AResource{A: a},
		}}
	}
	out, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = conn.Write(out)
	return err
}
