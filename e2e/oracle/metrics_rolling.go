package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// windowHours are the windows that end now, and how long they are at least.
var windowHours = map[string]int64{"lastHour": 1, "lastDay": 24, "lastWeek": 7 * 24, "lastMonth": 30 * 24, "last90Days": 90 * 24, "lastYear": 365 * 24}

// Windows compares the metrics over windows that end now, of a chain or a group of
// chains that do not grow meanwhile.
func (k *Checker) Windows(ctx context.Context, chain string, m *Metrics) {
	for _, name := range MetricNames {
		path := "/v2/chains/" + chain + "/rollingWindowMetrics/" + name
		if strings.HasPrefix(name, "cumulative") {
			k.absent(ctx, path, nil, http.StatusBadRequest)
			continue
		}
		some := &Metrics{}
		for _, l := range m.lines {
			if l.traced || !slices.Contains(tracedMetrics, name) {
				some.lines = append(some.lines, l)
			}
		}
		if len(some.lines) == 0 && len(m.lines) > 0 {
			k.absent(ctx, path, nil, http.StatusNotFound)
			continue
		}
		k.windowsOf(ctx, path, name, some)
	}
	k.absent(ctx, "/v2/chains/"+chain+"/rollingWindowMetrics/tps", nil, http.StatusBadRequest)
}

func (k *Checker) windowsOf(ctx context.Context, path, name string, m *Metrics) {
	begin := time.Now()
	status, body, err := k.client.get(ctx, path, nil)
	end := time.Now()
	if err != nil || status != http.StatusOK {
		k.report(path, fmt.Sprintf("status %d, %v: %s", status, err, show(body)))
		return
	}
	result, _ := body["result"].(map[string]any)
	begins, _ := body["since"].(map[string]any)
	if len(result) != len(windowHours)+1 || len(begins) != len(windowHours) {
		k.report(path, "not all windows: "+show(body))
		return
	}
	for window, hours := range windowHours {
		at, _ := begins[window].(json.Number)
		since, err := at.Int64()
		if err != nil || since%3600 != 0 || since > end.Unix()-3600*hours || since <= begin.Unix()-3600*(hours+1) {
			k.report(path, fmt.Sprintf("%s begins at %d, and it is %s", window, since, end))
		}
		k.figure(path, window, result[window], m, name, since*1000)
	}
	k.figure(path, "allTime", result["allTime"], m, name, math.MinInt64)
}

func (k *Checker) figure(path, window string, got any, m *Metrics, name string, from int64) {
	if wrong := number(m.value(name, from, math.MaxInt64))(got, false); wrong != "" {
		k.report(path, window+": "+wrong)
	}
}
