package ui

import (
	"net/http"
	"strings"
	"testing"
)

// TestLogs: a transaction shows its logs, and names events only by topics that are known.
func TestLogs(t *testing.T) {
	t.Parallel()
	const transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	if knownEvents()[transfer] != "Transfer(address,address,uint256)" {
		t.Errorf("%s is %q", transfer, knownEvents()[transfer])
	}
	list := []Log{
		{Index: 4, Address: coinsOf, Topics: []string{transfer, "0x" + strings.Repeat("0", 64)}, Data: "0x01"},
		{Index: 5, Address: warpPrecompile, Data: "0x" + strings.Repeat("ab", maxLogData)},
	}
	var asked string
	var answer error
	s := newSite(t, Config{API: sampleEVM(), Logs: func(chain, block, tx string) ([]Log, error) {
		asked = strings.Join([]string{chain, block, tx}, " ")
		return list, answer
	}})
	at := "/chain/43112/tx/" + txID
	text := page(t, visit(t, s, at, false), 200, "<code>Transfer</code>", "an event of no known name", transfer, "1 byte<", "2\u202f048 bytes", "Topic 1", "…</span>")
	if !strings.HasPrefix(asked, "43112 ") || !strings.HasSuffix(asked, " "+txID) || len(strings.Fields(asked)) != 3 {
		t.Errorf("asked for %q", asked)
	}
	if len(text) > 60_000 {
		t.Errorf("%d bytes", len(text))
	}
	for len(list) <= maxLogs+6 {
		list = append(list, list[0])
	}
	page(t, visit(t, s, at, false), 200, "7 further logs are in the receipt")
	list = nil
	page(t, visit(t, s, at, false), 200, "This transaction made no logs.")
	answer = &Error{http.StatusNotFound, "the archive does not have <it>"}
	page(t, visit(t, s, at, false), 200, "Not available: the archive does not have &lt;it&gt;.", "eth_getTransactionReceipt")
}

// TestLogsTellWarp: whether a message was sent is known from logs, also without calls.
func TestLogsTellWarp(t *testing.T) {
	t.Parallel()
	api := fakeAPI{onC: chainJSON, onC + "/transactions/" + txID: `{"nativeTransaction":{` + nativeJSON + `},"networkTokenDetails":{"networkToken":{"symbol":"AVAX","decimals":18}}}`}
	for _, sent := range []bool{true, false} {
		s := newSite(t, Config{API: api, Logs: func(string, string, string) ([]Log, error) {
			if sent {
				return []Log{{Address: warpPrecompile}}, nil
			}
			return nil, nil
		}})
		text := page(t, visit(t, s, "/chain/43112/tx/"+txID, false), 200)
		if strings.Contains(text, "sent a warp message: the warp precompile made a log") != sent || strings.Contains(text, "sent no warp message") == sent {
			t.Errorf("sent %v: %s", sent, text)
		}
	}
}
