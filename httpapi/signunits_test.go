package httpapi

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/httpapi/limit"
	"quorate/httpapi/sign"
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
	for _, path := range []string{sdkPath, sign.RelayerPath} {
		good, bad := 201, 503
		if path == sign.RelayerPath {
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

// TestWarpIDUnits: a warp message whose ID no EVM chain has is looked for among those of all
// validators of L1s, which costs as much as they do.
func TestWarpIDUnits(t *testing.T) {
	t.Parallel()
	const burst, rows, perUnit = 1000, 200 * 5, 5
	n := samplePrimary().withTxs()
	for i := range rows {
		v := n.l1[0]
		v.ValidationID = chain.ID{1, byte(i), byte(i >> 8)}
		n.l1 = append(n.l1, v)
	}
	s := dataServer(t, Config{
		Primary: primaries{"fuji": n}, Networks: networks{fake(nil)}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst}),
	}, sampleChain())
	resp := send(s, "GET", sdkPath+"/"+chain.ID{9}.String(), "")
	left, err := strconv.Atoi(string(resp.Header.Peek("RateLimit-Remaining")))
	if paid := burst - left; resp.StatusCode() != 404 || err != nil || paid < rows/perUnit || paid > rows/perUnit+10 {
		t.Errorf("%d for %d units, want about %d: %s", resp.StatusCode(), paid, rows/perUnit, resp.Body())
	}
}
