package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// fetch returns the answer to a request.
func fetch(s *Server, path string) (status int, body []byte) {
	resp := get(s, path)
	return resp.StatusCode(), resp.Body()
}

// TestStakingMetrics: pages of any size have each day once, the newest first, and bounds
// of time and the subnet are kept to.
func TestStakingMetrics(t *testing.T) {
	t.Parallel()
	const (
		day  = 24 * 60 * 60
		last = 1_700_043_200 / day * day
	)
	s := primaryServer(t, samplePrimary())
	path := "/v2/networks/fuji/metrics/"
	type point struct{ Value, Timestamp uint64 }
	walk := func(query string) (points []point) {
		for token := ""; ; {
			status, body := fetch(s, path+query+token)
			var page struct {
				Results       []point
				NextPageToken string
			}
			if err := json.Unmarshal(body, &page); err != nil || status != fasthttp.StatusOK {
				t.Fatalf("%s: %d, %s", query, status, body)
			}
			points = append(points, page.Results...)
			if page.NextPageToken == "" {
				return points
			}
			token = "&pageToken=" + page.NextPageToken
		}
	}
	check := func(query string, days, first int, value func(n uint64) uint64) {
		t.Helper()
		points := walk(query)
		if len(points) != days {
			t.Errorf("%s: %d points, want %d", query, len(points), days)
		}
		for i, p := range points {
			at := uint64(last - (first+i)*day)
			if want := value(at / day % 1000); p.Timestamp != at || p.Value != want {
				t.Errorf("%s: point %d is %+v, want %d at %d", query, i, p, want, at)
			}
		}
	}
	same := func(n uint64) uint64 { return n }
	for _, size := range []int{1, 7, 20, 40, 100} {
		check(fmt.Sprintf("validatorCount?pageSize=%d", size), 40, 0, same)
	}
	check("validatorWeight?pageSize=9", 40, 0, func(n uint64) uint64 { return n * 1e9 })
	check("delegatorCount?pageSize=9", 40, 0, func(n uint64) uint64 { return 2 * n })
	check("delegatorWeight?pageSize=9", 40, 0, func(n uint64) uint64 { return 3 * n * 1e9 })
	check(fmt.Sprintf("validatorCount?pageSize=3&startTimestamp=%d", last-9*day), 10, 0, same)
	check(fmt.Sprintf("validatorCount?pageSize=3&startTimestamp=%d&endTimestamp=%d", last-9*day, last-4*day), 5, 5, same)
	for i, kind := range []string{"p", "x", "c"} {
		daily, sum := kind+"ChainFeesBurned", kind+"ChainCumulativeFeesBurned"
		if kind == "c" {
			daily, sum = "cChainAtomicFeesBurned", "cChainCumulativeAtomicFeesBurned"
		}
		check(daily+"?pageSize=9", 40, 0, func(n uint64) uint64 { return uint64(i+1) * n })
		check(fmt.Sprintf("%s?pageSize=3&endTimestamp=%d", sum, last-4*day), 35, 5, func(n uint64) uint64 { return 2 * uint64(i+1) * n })
	}
	subnet := "2N1GqiTz6Jiu2FZxX8WLTLf5GzEBZ8Tme1X2F1srxRzAVVY7xe"
	if points := walk("validatorCount?subnetId=" + subnet); len(points) != 40 || points[0].Value == last/day%1000 {
		t.Errorf("of a subnet: %d points, the first %+v", len(points), points[0])
	}
}

// TestStakingMetricForms: what is wrong with a request is said, and a token is good for
// its metric alone.
func TestStakingMetricForms(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	path := "/v2/networks/fuji/metrics/"
	_, body := fetch(s, path+"validatorCount?pageSize=1")
	_, token, _ := strings.Cut(string(body), `"nextPageToken":"`)
	token, _, _ = strings.Cut(token, `"`)
	for query, want := range map[string]string{
		"validators":                                                      "metric must be one of",
		"validatorCount?pageSize=2161":                                    "pageSize",
		"validatorCount?subnetId=x":                                       "subnetId",
		"validatorCount?startTimestamp=-1":                                "startTimestamp",
		"delegatorCount?pageSize=1&pageToken=" + token:                    "pageToken",
		"pChainFeesBurned?pageSize=1&pageToken=" + token:                  "pageToken",
		"xChainFeesBurned?pageSize=1&pageToken=" + token:                  "pageToken",
		"xChainFeesBurned?subnetId=11111111111111111111111111111111LpoYY": "subnetId goes with",
		"validatorCount?pageSize=1&pageToken=" + token[:9]:                "pageToken",
		"validatorCount?pageSize=1&endTimestamp=zwei&subnetId":            "endTimestamp",
	} {
		if status, body := fetch(s, path+query); status != fasthttp.StatusBadRequest || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, %s", query, status, body)
		}
	}
	n = samplePrimary()
	n.inexact = true
	if status, body := fetch(primaryServer(t, n), path+"validatorCount"); status != fasthttp.StatusNotFound || !strings.Contains(string(body), "--genesis-file") {
		t.Errorf("without a genesis: %d, %s", status, body)
	}
	n.oldRows = true
	if status, body := fetch(primaryServer(t, n), path+"xChainFeesBurned"); status != fasthttp.StatusNotFound || !strings.Contains(string(body), "made again") {
		t.Errorf("of old rows: %d, %s", status, body)
	}
}
