package httpapi

import (
	"strings"
	"testing"

	"quorate/httpapi/sign"
)

// TestIgnored: what a route does not know is told, and refused if it looks like a
// mistyped name.
func TestIgnored(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	f := func(path string, status int, header, part string) {
		t.Helper()
		for range 3 { // also once the answer is kept
			resp := get(s, path)
			if resp.StatusCode() != status || string(resp.Header.Peek("X-Ignored")) != header || !strings.Contains(string(resp.Body()), part) {
				t.Errorf("%s: %d, X-Ignored %q: %.300s", path, resp.StatusCode(), resp.Header.Peek("X-Ignored"), resp.Body())
			}
		}
	}
	f(base+"/transactions?pageSize=1", 200, "", "transactions")
	f(base+"/transactions?pageSize=1&_=17&utm_source=x&utm_source=y", 200, "_, utm_source, utm_source", "transactions")
	f(base+"/transactions?a%0d%0ab=1&%ff=2&=3", 200, "a??b, ?", "transactions")
	f(base+"/transactions?"+strings.Repeat("x", 500)+"=1", 200, strings.Repeat("x", 40), "transactions")
	f(base+"/transactions?"+strings.Repeat("a&", 40), 200, strings.TrimSuffix(strings.Repeat("a, ", 16), ", "), "transactions")
	f(base+"/transactions?pagesize=1", 400, "", `parameter \"pagesize\" is unknown; did you mean pageSize?`)
	f(base+"/transactions?page_size=1", 400, "", "did you mean pageSize?")
	f(base+"/transactions?statu=failed", 200, "statu", "transactions") // five letters
	f("/v1/chains?networks=fuji", 400, "", "did you mean network?")
	f(asAlice+"/balances:listErc721?contractAddresses=x", 400, "", "did you mean contractAddress?")

	_, addr := start(t, Config{})
	c := dial(t, addr)
	g := func(path, body string, status int, header, part string) {
		t.Helper()
		c.send(post(path, body))
		resp, answer := c.reply("POST")
		if resp.StatusCode != status || resp.Header.Get("X-Ignored") != header || !strings.Contains(answer, part) {
			t.Errorf("%s %s: %d, X-Ignored %q: %s", path, body, resp.StatusCode, resp.Header.Get("X-Ignored"), answer)
		}
	}
	msg := `{"message":"` + warpHex + `"`
	g(sdkPath, msg+`,"note":1,"quorumPercentage":50}`, 201, "note", "signedMessage")
	g(sdkPath, msg+`,"quorumPercent":50}`, 201, "quorumPercent", "signedMessage") // three letters away
	g(sdkPath, msg+`,"quorumpercentage":50}`, 400, "", `member \"quorumpercentage\" is unknown; did you mean quorumPercentage?`)
	g(sdkPath, msg+`,"signingSubnetID":"x"}`, 400, "", "did you mean signingSubnetId?")
	g(sdkPath, msg+`,"quorum-percentage":50}`, 400, "", "did you mean quorumPercentage?")
	g(sign.RelayerPath, msg+`,"quorumPercentage":50}`, 200, "quorumPercentage", "signed-message") // as the original
	g(sign.RelayerPath, msg+`,"pchain-heights":50}`, 200, "pchain-heights", "signed-message")
	g(sign.RelayerPath, msg+`,"x":{"quorum-percentages":1}}`, 200, "x", "signed-message")
}
