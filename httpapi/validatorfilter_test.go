package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestValidatorFilters: each bound by itself, at its edges, and several together; who has
// no such value is out as soon as one is given.
func TestValidatorFilters(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	f := func(query string, want ...byte) {
		t.Helper()
		var page struct{ Validators []struct{ TxHash string } }
		getJSON(t, s, onFuji+"/validators?sortOrder=asc&"+query, &page)
		var got, names []string
		for _, v := range page.Validators {
			got = append(got, v.TxHash)
		}
		for _, st := range n.stakers {
			if slices.Contains(want, st.TxID[0]) {
				names = append(names, st.TxID.String())
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", query, got, names)
		}
	}
	of2 := "subnetId=" + n.subnets[0].ID.String() + "&"
	f("", 0x31, 0x36, 0x37)
	f(of2, 0x38, 0x39)
	f("minFeePercentage=50")
	f("minFeePercentage=2&maxFeePercentage=2.0", 0x31, 0x36, 0x37)
	f("minFeePercentage=2.0001")
	f("maxFeePercentage=1.9999")
	f(of2 + "maxFeePercentage=100") // they have none
	f("minUptimePerformance=99.9876", 0x31)
	f("minUptimePerformance=99.9877")
	f("maxUptimePerformance=99.9876", 0x31)
	f("minUptimePerformance=0", 0x31) // nobody has seen the others
	f(of2 + "minUptimePerformance=0")
	// Five times 2000 less 2000 and 25; five times 2200 less 2200.
	f("minDelegationCapacity=7975000000000", 0x31, 0x37)
	f("minDelegationCapacity=7975000000001", 0x37)
	f("maxDelegationCapacity=8799999999999", 0x31)
	f("maxDelegationCapacity=8800000000000", 0x31, 0x37)
	const now = 1_700_043_200 // as the fake says
	left := n.stakers[0].End - now
	f("minTimeRemaining="+fmt.Sprint(left), 0x31, 0x37)
	f("minTimeRemaining="+fmt.Sprint(left+1), 0x37)
	f("maxTimeRemaining=" + fmt.Sprint(left-1))
	f("minTimeRemaining=0&maxTimeRemaining=9223372036854775807", 0x31, 0x37)
	f("minTimeRemaining=9&maxTimeRemaining=8")

	id := two()
	f("nodeIds="+id, 0x36, 0x37)
	f("nodeIds="+id[7:20], 0x36, 0x37)
	f("nodeIds="+id[:12]+","+one()[9:25], 0x31, 0x36, 0x37)
	f("nodeIds="+id[9:25]+","+one(), 0x31, 0x36, 0x37)
	f("nodeIds=NodeID-", 0x31, 0x36, 0x37)
	f("nodeIds=" + strings.ToUpper(id[7:20]))
	f("nodeIds="+id[9:25]+"&validationStatus=pending", 0x37)
	f("rewardAddresses="+ann.Text("fuji"), 0x31, 0x36, 0x37)

	bad := func(query, part string) {
		t.Helper()
		if resp := get(s, onFuji+"/validators?"+query); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), part) {
			t.Errorf("%s: %d %s", query, resp.StatusCode(), resp.Body())
		}
	}
	for _, v := range []string{"-1", "100.1", "NaN", "Inf", "1e1", "0x1", "x", "1.2.3"} {
		bad("minFeePercentage="+v, "minFeePercentage must be a number from 0 to 100")
		bad("maxUptimePerformance="+v, "maxUptimePerformance must be a number from 0 to 100")
	}
	for _, v := range []string{"-1", "1.5", "x"} {
		bad("minDelegationCapacity="+v, "minDelegationCapacity must be a whole number")
		bad("maxTimeRemaining="+v, "maxTimeRemaining must be a whole number")
	}
	bad("nodeIds="+id[:len(id)-1]+"x", "must be a node ID") // mistyped
	bad("nodeIds=a_b", "must be a node ID")
}

// TestFilteredPages: pages of a filtered list join to the whole, and a page's token is good
// for its own filter only.
func TestFilteredPages(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary())
	type answer struct {
		Validators    []struct{ TxHash string }
		NextPageToken string
	}
	var whole, first, second answer
	const filter = onFuji + "/validators?minFeePercentage=1"
	getJSON(t, s, filter, &whole)
	getJSON(t, s, filter+"&pageSize=2", &first)
	getJSON(t, s, filter+"&pageSize=2&pageToken="+first.NextPageToken, &second)
	if len(whole.Validators) != 3 || !slices.Equal(whole.Validators, append(first.Validators, second.Validators...)) || second.NextPageToken != "" {
		t.Errorf("%v, %v, %v", whole, first, second)
	}
	if resp := get(s, onFuji+"/validators?minFeePercentage=1.5&pageToken="+first.NextPageToken); resp.StatusCode() != 400 {
		t.Errorf("the token of another filter: %d", resp.StatusCode())
	}
}
