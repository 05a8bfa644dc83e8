package httpapi

import (
	"strings"
	"testing"

	"quorate/aggregator"
)

// TestSigningSet: the set is answered in canonical order with what quorums are measured
// against, at the height and for the subnet that were asked for.
func TestSigningSet(t *testing.T) {
	t.Parallel()
	const path = "/v1/signatureAggregator/fuji/validators"
	s, err := New(Config{Networks: networks{signs("")}})
	if err != nil {
		t.Fatal(err)
	}
	subnet := testSubnet()
	for query, want := range map[string]string{
		"": `{"subnetId":"11111111111111111111111111111111LpoYY","pChainHeight":7,"totalWeight":"9223372036854775850","validators":[` +
			`{"publicKey":"0x`,
		"?height=9&subnet=" + subnet.String(): `{"subnetId":"` + subnet.String() + `","pChainHeight":9,`,
		"?height=0":                           `"pChainHeight":7,`,
	} {
		resp := get(s, path+query)
		if body := string(resp.Body()); resp.StatusCode() != 200 || !strings.Contains(body, want) || !strings.Contains(body, `"weight":"42","nodeIds":["NodeID-`) {
			t.Errorf("%s: %d %s", query, resp.StatusCode(), body)
		}
	}
	for query, status := range map[string]int{"?height=-1": 400, "?subnet=x": 400, "?heigth=1": 400} {
		if resp := get(s, path+query); resp.StatusCode() != status {
			t.Errorf("%s: %d %s", query, resp.StatusCode(), resp.Body())
		}
	}
	s, err = New(Config{Networks: networks{fails(&aggregator.Error{Kind: aggregator.NotFound, Msg: "no such subnet"})}})
	if err != nil {
		t.Fatal(err)
	}
	if resp := get(s, path); resp.StatusCode() != 404 {
		t.Errorf("an unknown subnet: %d", resp.StatusCode())
	}
}
