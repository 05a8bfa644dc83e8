package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/service"
	"quorate/httpapi/shape"
)

// unknowns are values of parameters that look right and name nothing on the servers of
// these tests.
var unknowns = map[string]string{
	"address": "0x00000000000000000000000000000000000dead1", "txHash": "0x" + strings.Repeat("ee", 32), "blockId": "987654321", "tokenId": "987654321",
	"nodeId": "NodeID-111111111111111111116DBWJs", "subnetId": chain.ID{0xee}.String(), "l1ValidationId": chain.ID{0xee}.String(),
	"assetId": chain.ID{0xee}.String(), "vertexHash": chain.ID{0xee}.String(), "messageId": "0x" + strings.Repeat("ee", 32),
	"blockchainId": chain.ID{0xee}.String(), "network": "mainnet", "chainId": "987654321",
}

// attempt is a request that differs in one value from one that succeeds.
type attempt struct{ path, body string }

// attempts returns requests to a route: one that succeeds, and then for each parameter some
// with a wrong, an empty and an unknown value. The last ones name unknown chains where no
// single parameter does.
func attempts(s *Server, r *door.Route) []attempt {
	path, body := sampleRequest(r)
	if r.Answer == shape.Binary {
		path = exportsOf(s).DownloadURL(opID, time.Now())
	}
	path, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query) // our own
	list := []attempt{{path + "?" + query, body}}
	segments := strings.Split(path, "/")
	for i, seg := range strings.Split((service.Line{Route: r}).Path(), "/") {
		name, _, ok := strings.Cut(strings.TrimPrefix(seg, "{"), "}")
		if !ok {
			continue
		}
		for _, value := range []string{"nosuch", "~", unknowns[name]} {
			if other := slices.Clone(segments); value != "" {
				other[i] = strings.Replace(seg, "{"+name+"}", value, 1)
				list = append(list, attempt{strings.Join(other, "/") + "?" + query, body})
			}
		}
	}
	for i := range r.Query {
		name := r.Query[i].Name
		before := values.Get(name)
		for _, value := range []string{"", "nosuch", unknowns[name]} {
			values.Set(name, value)
			list = append(list, attempt{path + "?" + values.Encode(), body})
		}
		if values.Set(name, before); before == "" {
			values.Del(name)
		}
	}
	if r.Body != nil {
		list = append(list, attempt{path, `{"x":`}, attempt{path, strings.Replace(body, "43112", unknowns["chainId"], 1)})
	}
	if r.Answer == shape.Binary {
		list = append(list, attempt{exportsOf(s).DownloadURL("nosuch", time.Now()), ""})
	}
	if r.Pattern == "/v1/events" {
		list = append(list, attempt{path + "?topics=blocks&chainId=" + unknowns["chainId"], ""})
	}
	return list
}

// TestStatusesSeen: of a success, 400 and 404 the description of each route lists those
// that requests see, and no others.
func TestStatusesSeen(t *testing.T) {
	t.Parallel()
	s := wholeServer(t, Config{})
	doc, err := wholeDoc()
	if err != nil {
		t.Fatal(err)
	}
	routes, count := 0, map[int]int{}
	for _, r := range Routes() {
		if r.Node {
			continue // its errors are those of whom it is passed on to
		}
		routes++
		seen := map[int]string{}
		for _, p := range attempts(s, &r) {
			seen[send(s, r.Method, p.path, p.body).StatusCode()] = p.path + " " + p.body
		}
		for _, status := range []int{r.Success(), 400, 404} {
			described := doc.Paths[(service.Line{Route: &r}).Path()][strings.ToLower(r.Method)].Responses[strconv.Itoa(status)] != nil
			switch by, is := seen[status]; {
			case is && !described:
				t.Errorf("%s %s: %d was seen (%s) and is not described: see Route.refused", r.Method, r.Pattern, status, by)
			case described && !is:
				t.Errorf("%s %s: %d is described and was not seen: give probes what leads there", r.Method, r.Pattern, status)
			case is:
				count[status]++
			}
		}
	}
	t.Logf("%d routes: statuses seen %v", routes, count)
}
