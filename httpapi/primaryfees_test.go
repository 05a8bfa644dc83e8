package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

// TestFeeMetrics: each metric of the fees of L1 validators, by whom the path names: all
// its days on one page, and on pages of seven.
func TestFeeMetrics(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60
	s := primaryServer(t, samplePrimary())
	last := uint64(1_700_043_200 / day)
	node := chain.NodeID{3}
	paid := func(n uint64) uint64 { return n * 1e9 }
	today := func(n uint64) uint64 { return 2 * n }
	paying := func(n uint64) uint64 { return n }
	for path, m := range map[string]struct {
		of    uint64
		value func(n uint64) uint64
	}{
		"/v2/validators/metrics/totalCumulativeFeesDaily":                                              {0, paid},
		"/v2/validators/metrics/totalValidatorFeesDaily":                                               {0, today},
		"/v2/validators/metrics/totalPayingValidatorsDaily":                                            {0, paying},
		"/v2/validator/" + node.String() + "/metrics/perNodeCumulativeFeesPaid":                        {3, paid},
		"/v2/validator/" + node.String() + "/metrics/perNodeDailyFeesPaid":                             {3, today},
		"/v2/subnet/" + chain.ID{5}.String() + "/metrics/perSubnetCumulativeFeesPaid":                  {5, paid},
		"/v2/subnet/" + chain.ID{5}.String() + "/metrics/perSubnetDailyFeesPaid":                       {5, today},
		"/v2/subnet/" + chain.ID{5}.String() + "/metrics/perSubnetPayingValidators":                    {5, paying},
		"/v2/validation/" + chain.ID{7}.String() + "/metrics/validationCumulativeFeesDaily":            {7, paid},
		"/v2/validation/" + chain.ID{7}.String() + "/metrics/validationFeesDaily?startTimestamp=86400": {7, today},
	} {
		for _, query := range []string{"", "pageSize=7&"} {
			n := uint64(0)
			for token := ""; ; {
				sep := "?"
				if strings.Contains(path, "?") {
					sep = "&"
				}
				status, body := fetch(s, path+sep+query+token)
				var page struct {
					Results       []struct{ Value, Timestamp uint64 }
					NextPageToken string
				}
				if err := json.Unmarshal(body, &page); err != nil || status != fasthttp.StatusOK {
					t.Fatalf("%s: %d, %s", path, status, body)
				}
				for _, p := range page.Results {
					if at := last - n; p.Timestamp != at*day || p.Value != m.value(at%1000+m.of) {
						t.Errorf("%s: point %d is %+v", path, n, p)
					}
					n++
				}
				if page.NextPageToken == "" {
					break
				}
				token = "pageToken=" + page.NextPageToken
			}
			if n != 40 {
				t.Errorf("%s: %d points", path, n)
			}
		}
	}
}

// TestFeeMetricForms: what is wrong with a request is said.
func TestFeeMetricForms(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	one, other := "/v2/subnet/"+chain.ID{5}.String(), "/v2/subnet/"+chain.ID{6}.String()
	_, body := fetch(s, one+"/metrics/perSubnetDailyFeesPaid?pageSize=1")
	_, token, _ := strings.Cut(string(body), `"nextPageToken":"`)
	token, _, _ = strings.Cut(token, `"`)
	for path, want := range map[string]string{
		"/v2/validators/metrics/perNodeDailyFeesPaid":                                  "metric must be one of totalCumulativeFeesDaily, totalValidatorFeesDaily and totalPayingValidatorsDaily, not",
		"/v2/validator/NodeID-x/metrics/perNodeDailyFeesPaid":                          "nodeId",
		"/v2/validator/" + chain.NodeID{1}.String() + "/metrics/x":                     "perNodeCumulativeFeesPaid and perNodeDailyFeesPaid",
		"/v2/subnet/x/metrics/perSubnetDailyFeesPaid":                                  "subnetId",
		"/v2/validation/x/metrics/validationFeesDaily":                                 "l1ValidationId",
		"/v2/validators/metrics/totalValidatorFeesDaily?pageSize=2161":                 "pageSize",
		"/v2/validators/metrics/totalValidatorFeesDaily?startTimestamp=x":              "startTimestamp",
		other + "/metrics/perSubnetDailyFeesPaid?pageSize=1&pageToken=" + token:        "pageToken",
		one + "/metrics/perSubnetCumulativeFeesPaid?pageSize=1&pageToken=" + token:     "pageToken",
		"/v2/validators/metrics/totalValidatorFeesDaily?pageSize=1&pageToken=" + token: "pageToken",
	} {
		if status, body := fetch(s, path); status != fasthttp.StatusBadRequest || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
	if status, body := fetch(s, one+"/metrics/perSubnetDailyFeesPaid?pageSize=1&pageToken="+token); status != fasthttp.StatusOK {
		t.Errorf("the token itself: %d, %s", status, body)
	}
	n.inexact = true
	if status, body := fetch(primaryServer(t, n), one+"/metrics/perSubnetDailyFeesPaid"); status != fasthttp.StatusNotFound || !strings.Contains(string(body), "--genesis-file") {
		t.Errorf("without a genesis: %d, %s", status, body)
	}
}
