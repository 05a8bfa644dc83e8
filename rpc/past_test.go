package rpc

import (
	"context"
	"errors"
	"testing"

	"quorate/engine/chain"
)

// TestPast: calls about what is archived are answered without a node, in batches beside
// those that it answers, and with errors of their own.
func TestPast(t *testing.T) {
	t.Parallel()
	var asked []string
	cfg := fullConfig(t)
	cfg.Forward = forwardFunc(func(_ context.Context, _ chain.ID, _ string, body []byte) (int, string, []byte, error) {
		asked = append(asked, string(body))
		if body[0] == '[' {
			return 200, contentJSON, []byte(`[{"jsonrpc":"2.0","id":9,"result":"node"}]`), nil
		}
		return 200, contentJSON, []byte(`{"jsonrpc":"2.0","id":9,"result":"node"}`), nil
	})
	cfg.Past = func(ctx context.Context, id chain.ID, method string, params []byte) ([]byte, bool, error) {
		if _, ok := ctx.Deadline(); !ok || id != chainC {
			t.Errorf("chain %s, deadline %v", id, ok)
		}
		switch string(params) {
		case `["0x1"]`:
			return []byte(`{"of":"` + method + `"}`), true, nil
		case `["0x2"]`:
			return nil, true, errors.New("too much")
		}
		return nil, false, nil
	}
	const (
		here    = `{"jsonrpc":"2.0","id":"a","method":"eth_getLogs","params":["0x1"]}`
		answer  = `{"jsonrpc":"2.0","id":"a","result":{"of":"eth_getLogs"}}`
		failing = `{"jsonrpc":"2.0","id":2,"method":"eth_getLogs","params":["0x2"]}`
		failed  = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"too much","data":null},"id":2}`
		there   = `{"jsonrpc":"2.0","id":9,"method":"eth_chainId"}`
		node    = `{"jsonrpc":"2.0","id":9,"result":"node"}`
		silent  = `{"jsonrpc":"2.0","method":"eth_getLogs","params":["0x1"]}`
	)
	for _, mode := range []Mode{Safe, All} {
		cfg.ChainRPC = mode
		s := New(cfg)
		f := func(path, body, want, passed string) {
			t.Helper()
			asked = nil
			resp := do(s, "POST", path, body)
			if got := string(resp.Body()); resp.StatusCode() != 200 || got != want {
				t.Errorf("mode %d, %s: %d %s, want %s", mode, body, resp.StatusCode(), got, want)
			}
			if len(asked) > 1 || passed == "" != (len(asked) == 0) || passed != "" && asked[0] != passed {
				t.Errorf("mode %d, %s: passed on %q, want %s", mode, body, asked, passed)
			}
		}
		f("/ext/bc/C/rpc", here, answer+"\n", "")
		f("/ext/bc/C/rpc", failing, failed+"\n", "")
		f("/ext/bc/C/rpc", there, node, there)
		f("/ext/bc/C/rpc", "["+here+","+failing+"]", "["+answer+","+failed+"]\n", "")
		f("/ext/bc/C/rpc", "["+here+","+there+"]", "["+node+","+answer+"]", "["+there+"]")
		f("/ext/bc/C/rpc", silent, node, silent)
		f("/ext/bc/C/avax", here, node, here)
	}
}
