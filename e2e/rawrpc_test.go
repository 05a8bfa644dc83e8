package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// rawWait bounds one raw request.
const rawWait = 20 * time.Second

// rawCase is a request as it goes over the wire, to the node and to the product alike.
type rawCase struct {
	name   string
	line   string   // verb and path
	header []string // besides Host, Content-Length and, with a body, Content-Type
	body   string   // {C} stands for the C-Chain's ID
}

// host returns the Host header of a case that has one of its own.
func (c rawCase) host() (string, bool) {
	for _, h := range c.header {
		if v, ok := strings.CutPrefix(h, "Host: "); ok {
			return v, true
		}
	}
	return "", false
}

// request returns the bytes of the request.
func (c rawCase) request(address, chainID string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s HTTP/1.1\r\n", strings.ReplaceAll(c.line, "{C}", chainID))
	if host, ok := c.host(); ok {
		address = host
	}
	fmt.Fprintf(&b, "Host: %s\r\nConnection: close\r\n", address)
	body := strings.ReplaceAll(c.body, "{C}", chainID)
	typed := false
	for _, h := range c.header {
		if strings.HasPrefix(h, "Host: ") {
			continue
		}
		if h == noType {
			typed = true
			continue
		}
		typed = typed || strings.HasPrefix(h, "Content-Type:")
		b.WriteString(h + "\r\n")
	}
	if body != "" || strings.HasPrefix(c.line, "POST") {
		if !typed {
			b.WriteString("Content-Type: application/json\r\n")
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// noType as a header leaves out the content type.
const noType = "no content type"

// rawAnswer is what came back, taken apart into aspects that are compared one by one.
type rawAnswer map[string]string

// send returns the answer to a case.
func (c rawCase) send(p *party) (rawAnswer, error) {
	address := strings.TrimPrefix(p.url, "http://")
	conn, err := net.DialTimeout("tcp", address, dialWait)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(rawWait)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(c.request(address, p.c)); err != nil {
		return nil, err
	}
	verb, _, _ := strings.Cut(c.line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: verb})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a := rawAnswer{
		"status":  fmt.Sprint(resp.StatusCode),
		"type":    resp.Header.Get("Content-Type"),
		"nosniff": resp.Header.Get("X-Content-Type-Options"),
		"vary":    resp.Header.Get("Vary"),
		"to":      resp.Header.Get("Location"),
		"allow":   resp.Header.Get("Allow"),
		"cors":    resp.Header.Get("Access-Control-Allow-Origin"),
		"node ID": fmt.Sprint(strings.HasPrefix(resp.Header.Get("Node-Id"), "NodeID-")),
	}
	a.addBody(body)
	return a, nil
}

// addBody takes the members of a JSON-RPC answer and of a report apart; any other
// body is compared as it is.
func (a rawAnswer) addBody(body []byte) {
	d := json.NewDecoder(bytes.NewReader(body))
	order := memberOrder(body)
	var members map[string]json.RawMessage
	if d.Decode(&members) != nil {
		a["text"] = string(body)
		return
	}
	a["members"] = strings.Join(order, " ")
	a["end"] = fmt.Sprintf("%q", body[d.InputOffset():])
	for name, value := range members {
		switch name {
		case "error":
			var e struct {
				Code    json.RawMessage
				Message string
				Data    json.RawMessage
			}
			if err := json.Unmarshal(value, &e); err != nil {
				a["error"] = string(value)
				continue
			}
			a["code"], a["message"], a["data"] = string(e.Code), e.Message, string(e.Data)
			a["error members"] = strings.Join(memberOrder(value), " ")
		case "checks":
			a["checks"] = "a report" // its parts are compared elsewhere
		case "result":
			var result map[string]json.RawMessage
			if json.Unmarshal(value, &result) == nil {
				a["result"] = strings.Join(slices.Sorted(maps.Keys(result)), " ")
			} else {
				a["result"] = string(value)
			}
		default:
			a[name] = string(value)
		}
	}
}

// memberOrder returns the names of an object's members as they come.
func memberOrder(object []byte) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var names []string
	for d.More() {
		t, err := d.Token()
		if err != nil {
			break
		}
		names = append(names, fmt.Sprint(t))
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
	}
	return names
}

// differ returns the aspects in which two answers are not alike, in order.
func differ(a, b rawAnswer) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if b[name] != a[name] {
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok && b[name] != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestNodeRPCRaw sends the same raw requests to a real node and to the product.
// The answers are alike but for what is listed; what is listed must differ.
func TestNodeRPCRaw(t *testing.T) {
	w := useNetwork(t)
	real, ours, _ := w.parties(t, rawNode)
	differences, err := rawDifferences()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range slices.Concat(rawCases, moreRawCases) {
		if seen[c.name] {
			t.Fatalf("two cases are called %q", c.name)
		}
		seen[c.name] = true
		want, err := c.send(real)
		if err != nil {
			t.Errorf("%s: the node: %v", c.name, err)
			continue
		}
		got, err := c.send(ours)
		if err != nil {
			t.Errorf("%s: quorate: %v", c.name, err)
			continue
		}
		if got["nosniff"] != "nosniff" { // a node says so on some answers only
			t.Errorf("%s: the answer may be taken for a page", c.name)
		}
		delete(got, "nosniff")
		delete(want, "nosniff")
		checkDifference(t, c, differences[c.name], want, got)
	}
	for name := range differences {
		if !seen[name] {
			t.Errorf("a difference is listed for %q, which is no case", name)
		}
	}
	t.Logf("%d raw requests, %d of them with a listed difference", len(rawCases)+len(moreRawCases), len(differences))
}

// checkDifference wants exactly the listed aspects to differ.
func checkDifference(t *testing.T, c rawCase, listed rawDifference, want, got rawAnswer) {
	t.Helper()
	aspects := strings.Join(differ(want, got), ", ")
	if aspects == listed.in {
		return
	}
	var detail strings.Builder
	for _, name := range differ(want, got) {
		fmt.Fprintf(&detail, "\n  %s: node %q, quorate %q", name, want[name], got[name])
	}
	switch {
	case listed.in == "":
		t.Errorf("%s: differ in %s%s", c.name, aspects, detail.String())
	case aspects == "":
		t.Errorf("%s: listed as different in %s (%s), but alike", c.name, listed.in, listed.why)
	default:
		t.Errorf("%s: listed as different in %s, but differ in %s%s", c.name, listed.in, aspects, detail.String())
	}
}
