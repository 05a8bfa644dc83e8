package httpapi

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"quorate/aggregator"
	"quorate/httpapi/limit"
)

// TestSignUnits: a message that is signed anew costs by its set of validators, also if too few
// sign; one that is known costs a unit.
func TestSignUnits(t *testing.T) {
	t.Parallel()
	asked, fails := 1000, false
	agg := fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		req.Asked = asked
		if fails {
			return nil, &aggregator.Error{Kind: aggregator.Unreachable, Msg: "too few", Err: errors.New("too few")}
		}
		return &aggregator.Result{Signed: []byte("signed")}, nil
	})
	one := sampleChain()
	one.mine(t, 1_700_000_000, 1)
	s := dataServer(t, Config{Networks: networks{agg}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 1000})}, one)
	left := 1000
	f := func(path string, status, units int) {
		t.Helper()
		resp := send(s, "POST", path, `{"message":"`+warpHex+`"}`)
		left -= units
		if got := string(resp.Header.Peek("RateLimit-Remaining")); resp.StatusCode() != status || got != strconv.Itoa(left) {
			t.Errorf("%s: %d, %s units left, want %d and %d: %s", path, resp.StatusCode(), got, status, left, resp.Body())
		}
	}
	for _, path := range []string{sdkPath, relayerPath} {
		good, bad := 201, 503
		if path == relayerPath {
			good, bad = 200, 500
		}
		asked, fails = 1000, false
		f(path, good, 20+50)
		asked = 5
		f(path, good, 20)
		asked = 0 // known
		f(path, good, 1)
		f(path, good, 1)
		asked, fails = 400, true
		f(path, bad, 20+20)
		asked = 0 // refused before
		f(path, bad, 20)
	}
}
