package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
	"quorate/httpapi/sign"
)

// The members of bodies, in the order of each other.
var (
	sdkNames = door.MemberNames{"message", "justification", "signingSubnetId",
		"quorumPercentage", "quorumPercentageBuffer", "pChainHeight", "pChainHeight", "destinationBlockchainId"}
	relayerNames = door.MemberNames{"message", "justification", "signing-subnet-id",
		"quorum-percentage", "quorum-percentage-buffer", "pchain-height", "p-chain-height", "destination-blockchain-id"}
)

// bodyCases are bodies of endpoint 1 that are refused, and a few that are not.
var bodyCases = []struct{ name, body string }{
	{"good", `{"message":"` + warpHex + `"}`},
	{"empty", ``},
	{"spaces", " \r\n\t"},
	{"null", `null`},
	{"array", `[{"message":"ab"}]`},
	{"string", `"message"`},
	{"number", `1`},
	{"not JSON", `message=ab`},
	{"broken array", `[1,`},
	{"trailing garbage", `{"message":"ab"} x`},
	{"second object", `{"message":"ab"}{}`},
	{"cut off", `{"message":"ab"`},
	{"cut off in a string", `{"message":"ab`},
	{"control character", "{\"message\":\"a\nb\"}"},
	{"nothing to sign", `{}`},
	{"nothing to sign, null", `{"message":null,"justification":null}`},
	{"nothing to sign, empty", `{"message":"","justification":"0x"}`},
	{"message not a string", `{"message":12}`},
	{"message an object", `{"message":{"hex":"ab"}}`},
	{"message odd", `{"message":"0xabc"}`},
	{"message bad digit", `{"message":"0xabxy"}`},
	{"message bad first digit", `{"message":"g0"}`},
	{"message capital prefix", `{"message":"0Xab"}`},
	{"message two prefixes", `{"message":"0x0xab"}`},
	{"message space", `{"message":" ab "}`},
	{"message not UTF-8", "{\"message\":\"\xff\xfe\"}"},
	{"message lone surrogate", `{"message":"a\ud800"}`},
	{"message last wins", `{"message":"ab","message":"xy"}`},
	{"message too long", `{"message":"` + strings.Repeat("ab", warp.MaxPayload+257) + `"}`},
	{"justification not a string", `{"message":"ab","justification":true}`},
	{"justification odd", `{"justification":"a"}`},
	{"justification bad digit", `{"justification":"zz"}`},
	{"justification too long", `{"justification":"` + strings.Repeat("ab", 2<<10+1) + `"}`},
	{"subnet not a string", `{"message":"ab","signingSubnetId":1}`},
	{"subnet bad checksum", `{"message":"ab","signingSubnetId":"11111111111111111111111111111111LpoYZ"}`},
	{"subnet not base58", `{"message":"ab","signingSubnetId":"0OIl"}`},
	{"subnet short hex", `{"message":"ab","signingSubnetId":"0x0102"}`},
	{"subnet bad hex", `{"message":"ab","signingSubnetId":"` + strings.Repeat("zz", 32) + `"}`},
	{"subnet hostile", `{"message":"ab","signingSubnetId":"` + strings.Repeat(`\"<é\u0000`, 300) + `"}`},
	{"quorum fraction", `{"message":"ab","quorumPercentage":67.5}`},
	{"quorum string", `{"message":"ab","quorumPercentage":"67"}`},
	{"quorum boolean", `{"message":"ab","quorumPercentage":true}`},
	{"quorum negative", `{"message":"ab","quorumPercentage":-1}`},
	{"quorum 101", `{"message":"ab","quorumPercentage":101}`},
	{"quorum huge", `{"message":"ab","quorumPercentage":1e400}`},
	{"quorum long", `{"message":"ab","quorumPercentage":` + strings.Repeat("9", 500) + `}`},
	{"buffer fraction", `{"message":"ab","quorumPercentageBuffer":0.1}`},
	{"buffer array", `{"message":"ab","quorumPercentageBuffer":[1]}`},
	{"buffer 101", `{"message":"ab","quorumPercentage":0,"quorumPercentageBuffer":101}`},
	{"sum 101", `{"message":"ab","quorumPercentage":67,"quorumPercentageBuffer":34}`},
	{"sum 101 with default", `{"message":"ab","quorumPercentageBuffer":34}`},
	{"height negative", `{"message":"ab","pChainHeight":-1}`},
	{"height fraction", `{"message":"ab","pChainHeight":1.5}`},
	{"height string", `{"message":"ab","pChainHeight":"7"}`},
	{"height 2^53", `{"message":"ab","pChainHeight":9007199254740992}`},
	{"height proposed", `{"message":"ab","pChainHeight":18446744073709551615}`},
}

// kindCases are the failures that an aggregator answers.
func kindCases() []struct {
	name string
	err  error
} {
	e := func(k aggregator.Kind, msg string) *aggregator.Error { return &aggregator.Error{Kind: k, Msg: msg} }
	return []struct {
		name string
		err  error
	}{
		{"bad request", e(aggregator.BadRequest, "message is not an unsigned warp message")},
		{"not found", e(aggregator.NotFound, "signing subnet is not known")},
		{"refused", e(aggregator.Refused, "quorum of 67% of the stake not reached: connected 90.0%, signed 20.0%, refused 70.0% (code 2: 70.0%), unreachable 10.0%")},
		{"not yet", &aggregator.Error{Kind: aggregator.NotYet, RetryAfter: time.Second, Msg: "quorum of 67% of the stake not reached"}},
		{"keyless", e(aggregator.Keyless, "quorum of 67% of the stake not reached")},
		{"unreachable", &aggregator.Error{Kind: aggregator.Unreachable, RetryAfter: 1500 * time.Millisecond, Msg: "quorum of 67% of the stake not reached"}},
		{"unreachable, no time", e(aggregator.Unreachable, "quorum of 67% of the stake not reached")},
		{"invalid", e(aggregator.Invalid, "validators sent invalid signatures")},
		{"overloaded", &aggregator.Error{Kind: aggregator.Overloaded, RetryAfter: time.Millisecond, Msg: "too many messages are being signed at once"}},
		{"node failed", &aggregator.Error{Kind: aggregator.NodeFailed, Msg: "the node does not answer", Err: errors.New("dial tcp 10.0.0.1: secret")}},
		{"stopping", e(aggregator.Stopping, "the server is stopping")},
		{"unknown kind", e(99, "odd")},
		{"wrapped", fmt.Errorf("outer: %w", e(aggregator.NotFound, "no such height"))},
		{"foreign error", errors.New("secret of the inside")},
		{"message not UTF-8", e(aggregator.BadRequest, "bad \xff \"quotes\" \\ \x00 \u2028 <b>")},
	}
}

// describe returns what of an answer the golden files hold.
func describe(name string, resp *http.Response, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n%s\n", name, resp.Status)
	for _, h := range []string{"Content-Type", "Retry-After", "Allow", "Connection", "Server"} {
		if v := resp.Header.Get(h); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", h, v)
		}
	}
	if resp.Close {
		b.WriteString("(connection closed)\n")
	}
	return b.String() + body + "\n\n"
}

const sdkPath = "/v1/signatureAggregator/fuji/aggregateSignatures"

// TestBodies holds the answers to all bodies, on one connection, against the
// golden files: an error must not end or disturb a connection.
func TestBodies(t *testing.T) {
	t.Parallel()
	for _, dialect := range []struct {
		file, path string
		names      *door.MemberNames
	}{{"sdk_bodies.txt", sdkPath, &sdkNames}, {"relayer_bodies.txt", sign.RelayerPath, &relayerNames}} {
		_, addr := start(t, Config{Networks: networks{signs("\x00signed\xff")}})
		c := dial(t, addr)
		var got bytes.Buffer
		for _, bc := range bodyCases {
			body := bc.body
			for i := range sdkNames {
				body = strings.ReplaceAll(body, `"`+sdkNames[i]+`"`, `"`+dialect.names[i]+`"`)
			}
			c.send(post(dialect.path, body))
			resp, answer := c.reply("POST")
			got.WriteString(describe(bc.name, resp, answer))
		}
		golden(t, dialect.file, got.Bytes())
	}
}

func TestKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	for _, dialect := range []struct{ file, path string }{{"sdk_kinds.txt", sdkPath}, {"relayer_kinds.txt", sign.RelayerPath}} {
		var got bytes.Buffer
		for _, kc := range kindCases() {
			_, addr := start(t, Config{Networks: networks{fails(kc.err)}})
			c := dial(t, addr)
			c.send(post(dialect.path, `{"message":"`+warpHex+`"}`))
			resp, answer := c.reply("POST")
			got.WriteString(describe(kc.name, resp, answer))
		}
		golden(t, dialect.file, got.Bytes())
	}
}

// TestRequests covers everything about a request but its body's members.
func TestRequests(t *testing.T) {
	t.Parallel()
	good := `{"message":"` + warpHex + `"}`
	sdk := func(network string) string { return "/v1/signatureAggregator/" + network + "/aggregateSignatures" }
	_, addr := start(t, Config{})
	c := dial(t, addr)
	var got bytes.Buffer
	f := func(name, raw string) {
		t.Helper()
		c.send(raw)
		method, _, _ := strings.Cut(raw, " ")
		resp, body := c.reply(method)
		got.WriteString(describe(name, resp, body))
	}
	f("testnet", post(sdk("testnet"), good))
	f("network not followed", post(sdk("mainnet"), good))
	f("network unknown", post(sdk("devnet"), good))
	f("network in capitals", post(sdk("FUJI"), good))
	f("network hostile", post(sdk("%22%00%ff"+strings.Repeat("x", 300)), good))
	f("network before body", post(sdk("mainnet"), "{"))
	f("query is ignored", post(sdkPath+"?network=mainnet&a=http://x//y", good))
	f("content type absent", request("POST", sdkPath, good))
	f("content type with parameter", request("POST", sdkPath, good, "Content-Type: Application/JSON ; charset=utf-8"))
	f("content type text", request("POST", sdkPath, good, "Content-Type: text/plain"))
	f("content type form", request("POST", sdkPath, good, "Content-Type: application/x-www-form-urlencoded"))
	f("content type multipart", request("POST", sdkPath, good, "Content-Type: multipart/form-data; boundary=x"))
	f("content type longer", request("POST", sdkPath, good, "Content-Type: application/jsonp"))
	f("content encoding", request("POST", sdkPath, good, "Content-Type: application/json", "Content-Encoding: gzip"))
	f("content encoding identity", request("POST", sdkPath, good, "Content-Encoding: identity"))
	f("as the SDK sends it", request("POST", sdkPath, good, "Content-Type: application/json", "Accept: application/json", "cookie: ",
		"x-glacier-api-key: k", "user-agent: speakeasy-sdk/typescript 0.13.0", "Accept-Encoding: gzip, deflate"))
	f("chunked", "POST "+sdkPath+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"+
		fmt.Sprintf("5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", good[:5], len(good)-5, good[5:]))
	f("get", request("GET", sdkPath, ""))
	f("head", request("HEAD", sdkPath, ""))
	f("put", request("PUT", sdkPath, good))
	f("options", request("OPTIONS", sdkPath, ""))
	f("options of all", request("OPTIONS", "*", ""))
	f("unknown path", request("GET", "/v1/nothing", ""))
	f("unknown path, head", request("HEAD", "/v1/nothing", ""))
	f("root", request("GET", "/", ""))
	f("trailing slash", post(sdkPath+"/", good))
	f("doubled slash", post("/"+sdkPath, good))
	f("below", post(sdkPath+"/0x00", good))
	f("ext without handler", request("GET", "/ext/metrics", ""))
	f("relayer", request("POST", sign.RelayerPath, good))
	f("relayer, any content type", request("POST", sign.RelayerPath, good, "Content-Type: application/x-www-form-urlencoded"))
	f("relayer, get", request("GET", sign.RelayerPath, ""))
	f("relayer, trailing slash", post(sign.RelayerPath+"/", good))
	f("relayer, other network", post(sign.RelayerPath, `{"message":"000000000001`+strings.Repeat("00", 36)+`"}`))
	f("relayer, no message", post(sign.RelayerPath, `{"justification":"ab"}`))
	f("relayer, other codec", post(sign.RelayerPath, `{"message":"000100003039`+strings.Repeat("00", 36)+`"}`))
	f("relayer, buffer above default", post(sign.RelayerPath, `{"message":"`+warpHex+`","quorum-percentage":0,"quorum-percentage-buffer":50}`))
	f("the connection is still good", post(sdkPath, good))
	golden(t, "requests.txt", got.Bytes())
}

// TestAsked checks what reaches the aggregator.
func TestAsked(t *testing.T) {
	t.Parallel()
	asked := make(chan *aggregator.Request, 1)
	_, addr := start(t, Config{Networks: networks{fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		asked <- req
		return &aggregator.Result{}, nil
	})}})
	c := dial(t, addr)
	subnet := testSubnet()
	message := unhex(t, warpHex)
	f := func(path, body string, want aggregator.Request) {
		t.Helper()
		c.send(post(path, body))
		if resp, answer := c.reply("POST"); resp.StatusCode/100 != 2 {
			t.Fatalf("%s: %s %s", body, resp.Status, answer)
		}
		if got := <-asked; !equalRequests(got, &want) {
			t.Errorf("%s: asked %+v, want %+v", body, got, want)
		}
	}
	f(sdkPath, `{"message":"`+warpHex+`","justification":"01","signingSubnetId":"`+subnet.String()+`","quorumPercentage":50,"quorumPercentageBuffer":7,"pChainHeight":9}`,
		aggregator.Request{Message: message, Justification: []byte{1}, SigningSubnetID: &subnet, Quorum: 50, Buffer: 7, PChainHeight: 9, AtHeight: true})
	f(sdkPath, `{"justification":"01","quorumPercentage":0}`, aggregator.Request{Justification: []byte{1}})
	f(sign.RelayerPath, `{"message":"0x`+warpHex+`","quorum-percentage":0}`, aggregator.Request{Message: message, Quorum: 67})
	f(sign.RelayerPath, `{"message":"`+warpHex+`","quorum-percentage":50,"quorum-percentage-buffer":7,"pchain-height":9,"signing-subnet-id":"`+subnet.String()+`"}`,
		aggregator.Request{Message: message, SigningSubnetID: &subnet, Quorum: 50, Buffer: 7, PChainHeight: 9, AtHeight: true})
	// The data of the log that carries the message: offset, length, bytes, padding.
	logData := strings.Repeat("00", 31) + "20" + strings.Repeat("00", 31) + "2a" + warpHex + strings.Repeat("00", 22)
	f(sign.RelayerPath, `{"message":"`+logData+`"}`, aggregator.Request{Message: unhex(t, logData), Quorum: 67})
}

// testSubnet is the subnet ID whose bytes are 1 to 32.
func testSubnet() (id chain.ID) {
	for i := range id {
		id[i] = byte(i + 1)
	}
	return id
}

func equalRequests(a, b *aggregator.Request) bool {
	if (a.SigningSubnetID == nil) != (b.SigningSubnetID == nil) || a.SigningSubnetID != nil && *a.SigningSubnetID != *b.SigningSubnetID {
		return false
	}
	return bytes.Equal(a.Message, b.Message) && bytes.Equal(a.Justification, b.Justification) &&
		a.Quorum == b.Quorum && a.Buffer == b.Buffer && a.PChainHeight == b.PChainHeight && a.AtHeight == b.AtHeight &&
		(a.Destination == nil) == (b.Destination == nil) && (a.Destination == nil || *a.Destination == *b.Destination)
}
