package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	store "quorate/engine/store/index"
	"quorate/httpapi/metrics"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// windowsAnswer is an answer of rolling windows; numbers keep their text.
type windowsAnswer struct {
	Result map[string]json.Number
	Since  map[string]int64
}

func rollingPath(chain string, metric string) string {
	return "/v2/chains/" + chain + "/rollingWindowMetrics/" + metric
}

// rollingHours are the lengths of the windows.
var rollingHours = map[string]int64{"lastHour": 1, "lastDay": 24, "lastWeek": 168, "lastMonth": 720, "last90Days": 2160, "lastYear": 8760}

// TestRollingWindows: windows begin with full hours, have what the blocks from then on
// have, and those of several chains add up.
func TestRollingWindows(t *testing.T) {
	t.Parallel()
	// Bubbles begin in the year 2000, and nothing was before. Chains are made outside of them.
	const since = 700*24*time.Hour + 20*time.Minute + 5*time.Second
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(since).Unix()
	rnd := rand.New(rand.NewPCG(3, 3))
	blocks := map[string][][2]uint64{}
	var chains []*testChain
	for _, id := range []string{"1", "2"} {
		unix := uint64(now) - 640*day
		for unix < uint64(now) {
			blocks[id] = append(blocks[id], [2]uint64{unix, uint64(rnd.IntN(5))})
			unix += [...]uint64{60, 900, hour, 7 * hour, 3 * day, 20 * day}[rnd.IntN(6)] + rnd.Uint64N(100)
		}
		blocks[id] = append(blocks[id], [2]uint64{uint64(now) - 21*60, 3}, [2]uint64{uint64(now) - 5, 2})
		slices.SortFunc(blocks[id], func(a, b [2]uint64) int { return int(a[0]) - int(b[0]) })
		chains = append(chains, metricChain(t, id, blocks[id]...))
	}
	chains[1].info.IsTestnet = false
	idle := metricChain(t, "3", [2]uint64{uint64(now) - 100*day, 4})
	empty := metricChain(t, "4")
	synctest.Test(t, func(t *testing.T) {
		<-time.After(since)
		s := dataServer(t, Config{}, chains[0], chains[1], idle, empty)
		blocks["3"] = [][2]uint64{{uint64(now) - 100*day, 4}}
		for name, of := range map[string][]string{"1": {"1"}, "2": {"2"}, "3": {"3"}, "4": nil, "total": {"1", "2", "3"}, "mainnet": {"2"}, "testnet": {"1", "3"}} {
			for _, metric := range []string{"txCount", "gasUsed", "contracts", "activeSenders", "deployers"} {
				var got windowsAnswer
				getJSON(t, s, rollingPath(name, metric), &got)
				since := maps.Clone(got.Since)
				for window, hours := range rollingHours {
					if want := (now - 3600*hours) / 3600 * 3600; since[window] != want {
						t.Errorf("%s begins at %d, want %d", window, since[window], want)
					}
				}
				since["allTime"] = 0
				for window, from := range since {
					sum := 0
					for _, id := range of {
						sum += plainFigure(metric, blocks[id], uint64(from))
					}
					if got.Result[window].String() != fmt.Sprint(sum) {
						t.Errorf("%s of chain %s, %s: %s, want %d", metric, name, window, got.Result[window], sum)
					}
				}
			}
		}
	})
}

// plainFigure is what the blocks of a fake chain from a time on say.
func plainFigure(metric string, blocks [][2]uint64, from uint64) (n int) {
	senders, makers := map[[2]uint64]bool{}, map[[2]uint64]bool{}
	contracts := 0
	for _, b := range blocks {
		if b[0] < from {
			continue
		}
		n += int(b[1])
		for i := range b[1] {
			who := [2]uint64{b[0] >> 12 & 255, i}
			senders[who] = true
			if i%3 == 0 {
				contracts++
				makers[who] = true
			}
		}
	}
	switch metric {
	case "gasUsed":
		return 21_000 * n
	case "contracts":
		return contracts
	case "activeSenders":
		return len(senders)
	case "deployers":
		return len(makers)
	}
	return n
}

// TestRollingMetrics: all metrics that the SDKs know have all windows; of all time they
// are what a single bucket with all blocks has.
func TestRollingMetrics(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "43112", [2]uint64{noon, 2}, [2]uint64{noon + 3, 5}, [2]uint64{noon + 10, 1})
	s := dataServer(t, Config{}, c)
	want := map[string]string{
		"activeAddresses": "6", "activeSenders": "5", "contracts": "4", "deployers": "2", "gasUsed": "168000", "txCount": "8",
		"avgGps": "18000", "maxGps": "50000", "avgTps": "0.6", "maxTps": "1.6666666666666667", "avgGasPrice": "25000000403.125",
		"maxGasPrice": "25000000410", "feesPaid": "4200000067725000",
	}
	if got := metrics.WindowNames(); len(got) != len(want) {
		t.Errorf("metrics are %v", got)
	}
	for metric, figure := range want {
		var got windowsAnswer
		getJSON(t, s, rollingPath("43112", metric), &got)
		all := map[string]json.Number{"allTime": json.Number(figure)}
		for window := range rollingHours {
			all[window] = "0"
		}
		if !maps.Equal(got.Result, all) {
			t.Errorf("%s: %v, want %v", metric, got.Result, all)
		}
	}
}

// TestRollingNotThere: other metrics and chains, metrics that are not made, that are not
// known, and chains that begin above their first block.
func TestRollingNotThere(t *testing.T) {
	t.Parallel()
	c := metricChain(t, "1", [2]uint64{noon, 2})
	untraced := untracedChain("2", [2]uint64{noon, 2})
	late := metricChain(t, "3", [2]uint64{uint64(time.Now().Unix()) - 48*hour, 3})
	late.gaps = []view.Gap{{Kind: view.GapBelow, From: 0, To: 7}}
	s := dataServer(t, Config{}, c, untraced, late, emptyOf(view.ChainInfo{ChainID: "5", BlockchainID: "five"}))
	f := func(path string, status int, text string) {
		t.Helper()
		if resp := expect(t, s, path, status, ""); !strings.Contains(string(resp.Body()), text) {
			t.Errorf("%s: %s, want %s", path, resp.Body(), text)
		}
	}
	f(rollingPath("1", "cumulativeTxCount"), 400, "metric must be one of activeAddresses, activeSenders, contracts, ")
	f(rollingPath("1", "tps"), 400, `not \"tps\"`)
	f(rollingPath("1", "txCount")+"?pageSize=x", 200, "allTime") // no parameter of it
	f(rollingPath("9", "txCount"), 404, "not served here")
	f(rollingPath("2", "contracts"), 404, "does not trace")
	f(rollingPath("5", "txCount"), 503, "not indexed yet")
	if body := string(get(s, rollingPath("3", "txCount")).Body()); !strings.HasPrefix(body, `{"result":{"lastHour":0,"lastDay":0},"since":{"lastHour":`) {
		t.Error(body)
	}
	c = metricChain(t, "1", [2]uint64{noon, 2}, [2]uint64{noon + 40*day, 2}).older(store.TableHours)
	s = dataServer(t, Config{}, c)
	f(rollingPath("1", "deployers"), 503, "counted")
	f(rollingPath("total", "deployers"), 503, "counted")
	c.giveUp(1)
	f(rollingPath("1", "txCount"), 503, "computed again")
	if m, ok := rollup.ParseMetric("deployers"); !ok || !m.Distinct() {
		t.Error("deployers are not distinct")
	}
}
