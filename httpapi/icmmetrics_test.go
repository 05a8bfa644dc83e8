package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/devnet/traffic"
	"quorate/engine/chain"
	store "quorate/engine/store/index"
	"quorate/httpapi/metrics"
	"quorate/rollup"
)

type icmPoint struct {
	Value                             int
	Timestamp                         int64
	SrcBlockchainID, DestBlockchainID string
}

// walkICMSeries reads a time series by pages of a size.
func walkICMSeries(t *testing.T, s *Server, query string, size int) (all []icmPoint) {
	t.Helper()
	for next := ""; ; {
		path := fmt.Sprintf("/v2/icm/timeseries?pageSize=%d%s", size, query)
		if next != "" {
			path += "&pageToken=" + next
		}
		resp := get(s, path)
		var p struct {
			Results       []icmPoint
			NextPageToken string
		}
		if err := decode(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
			t.Fatalf("%s: %d %s: %v", path, resp.StatusCode(), resp.Body(), err)
		}
		all = append(all, p.Results...)
		if next = p.NextPageToken; next == "" {
			return all
		}
	}
}

// TestICMSeries holds the time series, with all groupings and filters, against what the
// plan says, where all chains are followed and where one of them is not.
func TestICMSeries(t *testing.T) {
	t.Parallel()
	plan := &traffic.Plan{NetworkID: 5, Chains: []chain.ID{{1, 9}, {2, 8}, {3, 7}}}
	const height, step, begin = 140, 70_000, uint64(1_700_000_000)
	for _, followed := range []int{3, 2} {
		s, truth := trafficServer(t, plan, followed, height, step), trafficTruth(plan, followed, height, step)
		for _, interval := range []rollup.Interval{rollup.Hour, rollup.Day} {
			for _, group := range []string{"", "srcBlockchainId", "destBlockchainId", "srcBlockchainId,destBlockchainId"} {
				for _, source := range []string{"", plan.Chains[1].String()} {
					for _, window := range [][2]uint64{{}, {begin + 2000, begin + 6000}} {
						query, want, sum := "&timeInterval="+interval.String(), map[icmPoint]int{}, 0
						if group != "" {
							query += "&groupBy=" + group
						}
						if source != "" {
							query += "&srcBlockchainId=" + source
						}
						if window[1] > 0 {
							query += fmt.Sprintf("&startTimestamp=%d&endTimestamp=%d", window[0], window[1])
						}
						for _, m := range truth {
							at := begin + m.at/1000
							if source != "" && m.SourceBlockchainID != source || window[1] > 0 && (at < window[0] || at >= window[1]) {
								continue
							}
							p := icmPoint{Timestamp: interval.Start(interval.Number(at)), SrcBlockchainID: "all", DestBlockchainID: "all"}
							if source != "" {
								p.SrcBlockchainID = source
							}
							if strings.Contains(group, "src") {
								p.SrcBlockchainID = m.SourceBlockchainID
							}
							if strings.Contains(group, "dest") {
								p.DestBlockchainID = m.DestinationBlockchainID
							}
							want[p]++
							sum++
						}
						got, total := walkICMSeries(t, s, query, 100), 0
						for _, p := range got {
							total += p.Value
							key := p
							key.Value = 0
							if want[key] != p.Value {
								t.Errorf("%d followed, %s: %+v, want %d", followed, query, p, want[key])
							}
						}
						if total != sum || sum == 0 {
							t.Errorf("%d followed, %s: %d messages in all, want %d", followed, query, total, sum)
						}
						if pages := walkICMSeries(t, s, query, 1); !slices.Equal(pages, got) {
							t.Errorf("%d followed, %s by pages: %v, want %v", followed, query, pages, got)
						}
					}
				}
			}
		}
		for i := range followed {
			sent, came := 0, 0
			for _, m := range truth {
				if m.SourceBlockchainID == plan.Chains[i].String() {
					sent++
				}
				if m.DestinationBlockchainID == plan.Chains[i].String() && m.Status != "pending" {
					came++
				}
			}
			for metric, want := range map[string]int{"teleporterSourceTxnCount": sent, "teleporterDestinationTxnCount": came, "teleporterTotalTxnCount": sent + came} {
				resp := get(s, fmt.Sprintf("/v2/chains/%d/teleporterMetrics/%s", 50_000+i, metric))
				if got := string(resp.Body()); got != fmt.Sprintf(`{"result":{"value":%d}}`, want) {
					t.Errorf("%d followed, chain %d, %s: %s, want %d", followed, i, metric, got, want)
				}
			}
		}
	}
}

// TestICMSummary counts messages in windows that end now.
func TestICMSummary(t *testing.T) {
	t.Parallel()
	plan := &traffic.Plan{NetworkID: 5, Chains: []chain.ID{{1, 9}, {2, 8}}}
	s := trafficServer(t, plan, 2, 40, 700)
	for query, want := range map[string]string{
		"":                         `{{0 0 20 all all} []}`,
		"?groupBy=srcBlockchainId": fmt.Sprintf(`{{0 0 20 all all} [{10 %s all} {10 %s all}]}`, min(plan.Chains[0].String(), plan.Chains[1].String()), max(plan.Chains[0].String(), plan.Chains[1].String())),
		"?destBlockchainId=50001":  fmt.Sprintf(`{{0 0 10 all %s} []}`, plan.Chains[1]),
		"?groupBy=destBlockchainId&network=mainnet":   `{{0 0 0 all all} []}`,
		"?srcBlockchainId=" + chain.ID{0x55}.String(): fmt.Sprintf(`{{0 0 0 %s all} []}`, chain.ID{0x55}),
	} {
		var got struct {
			Result struct {
				LastHour, LastYear, AllTime       int
				SrcBlockchainID, DestBlockchainID string
			}
			Results []struct {
				AllTime                           int
				SrcBlockchainID, DestBlockchainID string
			}
		}
		resp := get(s, "/v2/icm/summary"+query)
		if err := decode(resp.Body(), &got); err != nil || resp.StatusCode() != 200 || fmt.Sprint(got) != want {
			t.Errorf("%s: %d %s: %v\nwant %s", query, resp.StatusCode(), resp.Body(), err, want)
		}
	}
	one := sampleChain()
	s = dataServer(t, Config{}, one, secondChain())
	if at := metrics.MilliBefore(time.Unix(7200, 0), 1); at != 3_600_000 {
		t.Errorf("an hour before 2 o'clock is %d", at)
	}
	if at := metrics.MilliBefore(time.Unix(7200, 0), 3); at != 0 {
		t.Errorf("before 1970 is %d", at)
	}
	for _, bad := range []string{"/v2/icm/summary?groupBy=x", "/v2/icm/summary?srcBlockchainId=moon", "/v2/icm/timeseries?timeInterval=year", "/v2/icm/timeseries?pageToken=x", "/v2/chains/43112/teleporterMetrics/x"} {
		if resp := get(s, bad); resp.StatusCode() != 400 {
			t.Errorf("%s: %d %s", bad, resp.StatusCode(), resp.Body())
		}
	}
	s = dataServer(t, Config{}, ownSample().older(store.TableICMTotals))
	for _, path := range []string{"/v2/icm/summary", "/v2/icm/timeseries", "/v2/chains/43112/teleporterMetrics/teleporterTotalTxnCount"} {
		if resp := get(s, path); resp.StatusCode() != 503 {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
}
