package httpapi

import (
	"fmt"
	"strconv"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// TestValidatorAddresses: who gets the rewards of validators whose time meets a frame, the
// latest start first, in pages; delegators, other subnets and those without rewards are
// not among them.
func TestValidatorAddresses(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	n.stakers = nil
	owner := func(i int) address.Address { return address.Address{1, byte(i)} }
	add := func(i int, subnet chain.ID, from, to, removed uint64, delegator bool) {
		s := primary.Staker{TxID: chain.ID{0x31, byte(i)}, Subnet: subnet, Node: nodeOne, Delegator: delegator, Status: primary.Completed, Start: from, End: to,
			RewardOwners: utxo.Owners{Threshold: 1, Addresses: []address.Address{owner(i)}}}
		if removed > 0 {
			s.Status, s.RemovedAt = primary.Removed, removed
		}
		n.stakers = append(n.stakers, s)
	}
	type span struct {
		i        int
		from, to uint64
	}
	var spans []span
	for i := range 20 {
		from := 1_000_000 + uint64(i*100)
		to := from + uint64(i%7+1)*150
		add(i, chain.PrimaryNetworkID, from, to, 0, false)
		spans = append(spans, span{i, from, to})
	}
	add(20, chain.PrimaryNetworkID, 1_003_000, 1_009_000, 1_004_000, false)
	spans = append(spans, span{20, 1_003_000, 1_004_000})
	add(21, chain.PrimaryNetworkID, 1_003_000, 1_009_000, 0, true)
	add(22, chain.ID{2}, 1_003_000, 1_009_000, 0, false)
	n.stakers = append(n.stakers, primary.Staker{TxID: chain.ID{0x99}, Node: nodeTwo, Status: primary.Active, Start: 1_003_500, End: 1_009_000})
	s := primaryServer(t, n)
	type answer struct {
		NextPageToken string
		Addresses     []struct {
			Addresses []string
			SortKey   string
		}
	}
	read := func(subnet, query string) (got []string) {
		t.Helper()
		for token := ""; ; {
			var page answer
			getJSON(t, s, "/v2/subnets/"+subnet+"/validators:getAddresses?"+query+token, &page)
			for _, a := range page.Addresses {
				got = append(got, fmt.Sprint(a.Addresses, a.SortKey))
			}
			if page.NextPageToken == "" {
				return got
			}
			token = "&pageToken=" + page.NextPageToken
		}
	}
	wanted := func(since, until uint64) (want []string) {
		for i := len(spans) - 1; i >= 0; i-- {
			if p := spans[i]; p.to > since && (until == 0 || p.from < until) {
				want = append(want, fmt.Sprint([]string{owner(p.i).Text("fuji")}, strconv.FormatUint(p.from, 10)))
			}
		}
		return want
	}
	primaryID := chain.PrimaryNetworkID.String()
	for _, size := range []int{1, 3, 5000} {
		page := fmt.Sprintf("pageSize=%d", size)
		sameTexts(t, read(primaryID, page), wanted(0, 0))
		for _, at := range []uint64{999_999, 1_000_000, 1_000_150, 1_000_151, 1_001_234, 1_003_999, 1_004_000, 1_010_000} {
			sameTexts(t, read(primaryID, fmt.Sprintf("%s&startTimestamp=%d", page, at)), wanted(at, 0))
			sameTexts(t, read(primaryID, fmt.Sprintf("%s&endTimestamp=%d&network=fuji", page, at)), wanted(0, at))
			sameTexts(t, read(primaryID, fmt.Sprintf("%s&startTimestamp=%d&endTimestamp=%d", page, at-500, at)), wanted(at-500, at))
		}
		sameTexts(t, read(primaryID, page+"&startTimestamp=1002000&endTimestamp=1002000"), nil)
	}
	if got := read(chain.ID{2}.String(), ""); len(got) != 1 {
		t.Errorf("of another subnet: %v", got)
	}
	path := "/v2/subnets/" + primaryID + "/validators:getAddresses"
	for query, status := range map[string]int{
		path + "?network=mainnet": 404, path + "?network=x": 400, path + "?pageSize=5001": 400, path + "?startTimestamp=x": 400, path + "?pageToken=x": 400,
		"/v2/subnets/" + chain.ID{0x77}.String() + "/validators:getAddresses": 404, "/v2/subnets/x/validators:getAddresses": 400,
	} {
		if resp := get(s, query); resp.StatusCode() != status {
			t.Errorf("%s: %d %s, want %d", query, resp.StatusCode(), resp.Body(), status)
		}
	}
}

func sameTexts(t *testing.T, got, want []string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v, want %v", got, want)
	}
}
