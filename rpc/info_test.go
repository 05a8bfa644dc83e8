package rpc

import (
	"fmt"
	"strings"
	"testing"
)

// TestInfo: what wallets and relayers ask the info API for is passed on; what names the node
// is not, in mode safe.
func TestInfo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		units  int // 0: refused
	}{
		{"info.getNetworkID", unitsCheap},
		{"info.getNetworkName", unitsCheap},
		{"info.getBlockchainID", unitsCheap},
		{"info.isBootstrapped", unitsCheap},
		{"info.getNodeVersion", unitsCheap},
		{"info.getVMs", unitsCheap},
		{"info.getTxFee", unitsCheap},
		{"info.upgrades", unitsCheap},
		{"info.peers", unitsDear},

		{"info.getNodeID", 0},
		{"info.getNodeIP", 0},
		{"info.uptime", 0},
		{"info.acps", 0},
		{"info.GetNetworkID", 0},
		{"info.", 0},
		{"admin.alias", 0},
		{"health.health", 0},
		{"debug_traceTransaction", 0},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"alias":"X"}}`, c.method)
		s, node := withMode(t, Safe)
		resp := do(s, "POST", "/ext/info", body)
		got := string(resp.Body())
		switch {
		case resp.StatusCode() != 200:
			t.Errorf("%s: status %d", c.method, resp.StatusCode())
		case c.units > 0 && (len(node.sent) != 1 || node.sent[0] != infoPath+" "+body || !strings.Contains(got, `"node"`)):
			t.Errorf("%s: sent %q, answered %s", c.method, node.sent, got)
		case c.units == 0 && (len(node.sent) != 0 || got != strings.Replace(failure("the method "+c.method+
			" is not available here: this server passes on what tells of the network, not what names the node behind it"), `"id":1`, `"id":7`, 1)):
			t.Errorf("%s: sent %q, answered %s", c.method, node.sent, got)
		}
		if units := costOf(s, "/ext/info", body); units != max(unitsLeast, c.units) {
			t.Errorf("%s costs %d", c.method, units)
		}
		all, node := withMode(t, All)
		if do(all, "POST", "/ext/info", body); len(node.sent) != 1 || node.sent[0] != infoPath+" "+body {
			t.Errorf("mode all, %s: sent %q", c.method, node.sent)
		}
		off, node := withMode(t, Off)
		if resp := do(off, "POST", "/ext/info", body); resp.StatusCode() != 404 || len(node.sent) != 0 {
			t.Errorf("mode off, %s: status %d, sent %q", c.method, resp.StatusCode(), node.sent)
		}
	}
}

// TestInfoPaths: there is nothing below the info API, it takes no alias of its own name, and an
// alias of it is no operator's.
func TestInfoPaths(t *testing.T) {
	t.Parallel()
	s, node := withMode(t, Safe)
	const body = `{"jsonrpc":"2.0","id":1,"method":"info.getNetworkID"}`
	for _, path := range []string{"/ext/info/", "/ext/info/x", "/ext/Info"} {
		if resp := do(s, "POST", path, body); resp.StatusCode() != 404 {
			t.Errorf("%s: status %d", path, resp.StatusCode())
		}
	}
	if err := s.alias("health", "info"); err == nil || err.Error() != "failed to create endpoint as /ext/info already exists" {
		t.Errorf("an alias called info: %v", err)
	}
	if err := s.alias("info", "bc/facts"); err != nil {
		t.Fatal(err)
	}
	if units, operator := s.Cost(request("POST", "/ext/bc/facts", body)); units != unitsCheap || operator {
		t.Errorf("an alias costs %d, operator %v", units, operator)
	}
	if do(s, "POST", "/ext/bc/facts", body); len(node.sent) != 1 || node.sent[0] != infoPath+" "+body {
		t.Errorf("sent %q", node.sent)
	}
}
