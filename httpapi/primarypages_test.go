package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/reply"
)

// TestPrimaryPages: pages of any size, in either order, have each row once.
func TestPrimaryPages(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary())
	for path, member := range everyPrimary() {
		path = strings.Replace(path, "?pageSize=100", "", 1)
		for _, order := range []string{"", "&sortOrder=asc"} {
			if order != "" && (member == "blocks" || strings.Contains(path, "l1Val") || strings.HasSuffix(path, "/vertices")) {
				continue
			}
			whole := walkPrimary(t, s, path, member, "100", order, nil)
			for size := range 5 {
				if got := walkPrimary(t, s, path, member, fmt.Sprint(size+1), order, nil); !slices.Equal(got, whole) {
					t.Errorf("%s by %d%s: %d rows, want %d", path, size+1, order, len(got), len(whole))
				}
			}
			if len(whole) < 2 {
				t.Errorf("%s has only %d rows", path, len(whole))
			}
		}
	}
}

// walkPrimary returns the rows of all pages; between is called between them.
func walkPrimary(t *testing.T, s *Server, path, member, size, order string, between func()) (rows []string) {
	t.Helper()
	sep := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
	path += sep + "pageSize=" + size + order
	for token := ""; ; {
		var page map[string]json.RawMessage
		getJSON(t, s, path+token, &page)
		var list []json.RawMessage
		if err := json.Unmarshal(page[member], &list); err != nil {
			t.Fatal(err)
		}
		for _, row := range list {
			rows = append(rows, string(row))
		}
		var next string
		if page["nextPageToken"] == nil {
			return rows
		}
		if err := json.Unmarshal(page["nextPageToken"], &next); err != nil || next == "" {
			t.Fatalf("token %q: %v", page["nextPageToken"], err)
		}
		token = "&pageToken=" + next
		if between != nil {
			between()
		}
	}
}

// TestPrimaryWalkWhileBlocksCome: blocks that arrive meanwhile make no row come twice,
// and none go missing.
func TestPrimaryWalkWhileBlocksCome(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	path := onFuji + "/blockchains/p-chain/blocks"
	before := walkPrimary(t, s, path, "blocks", "100", "", nil)
	got := walkPrimary(t, s, path, "blocks", "2", "", func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		h := uint64(len(n.blocks[primary.PChain]))
		n.blocks[primary.PChain] = append(n.blocks[primary.PChain], primary.BlockInfo{Height: h, ID: chain.ID(numbered(h, 1))})
		n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.height++ })
	})
	if !slices.Equal(got, before) {
		t.Errorf("%d rows, want %d", len(got), len(before))
	}
}

// TestPrimaryTokens: a token is good for its own request alone.
func TestPrimaryTokens(t *testing.T) {
	t.Parallel()
	n, other := samplePrimary(), samplePrimary()
	other.id = 12345
	s := dataServer(t, Config{Primary: primaries{"fuji": n, "testnet": other}})
	token := func(path string) string {
		var page struct{ NextPageToken string }
		getJSON(t, s, path, &page)
		if page.NextPageToken == "" {
			t.Fatalf("%s has one page", path)
		}
		return "&pageToken=" + page.NextPageToken
	}
	f := func(path, token string, status int) {
		t.Helper()
		if resp := get(s, path+token); resp.StatusCode() != status {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
	const blocks, delegators = "/blockchains/p-chain/blocks?pageSize=2", "/delegators?pageSize=1"
	next := token(onFuji + blocks)
	f(onFuji+blocks, next, 200)
	f(onFuji+"/blockchains/P/blocks?pageSize=7", next, 200)
	f("/v1/networks/testnet"+blocks, next, 400)
	f(onFuji+"/blockchains/c-chain/blocks?pageSize=2", next, 400)
	f(onFuji+blocks+"&startTimestamp=1", next, 400)
	f(onFuji+delegators, next, 400)
	next = token(onFuji + delegators)
	f(onFuji+delegators, next, 200)
	f(onFuji+delegators+"&nodeIds="+one()+","+two(), next, 400)
	f(onFuji+delegators+"&rewardAddresses="+ann.Text("fuji"), next, 400)
	f(onFuji+delegators+"&delegationStatus=active", next, 400)
	f(onFuji+delegators+"&sortOrder=asc", next, 400)
}

// TestPrimaryFrames: a frame without time in it has an empty list.
func TestPrimaryFrames(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary())
	f := func(query string, want int) {
		t.Helper()
		var page struct {
			Blocks    []json.RawMessage
			ChainInfo struct{ ChainName, Network string }
		}
		getJSON(t, s, onFuji+"/blockchains/x-chain/blocks?pageSize=100"+query, &page)
		if len(page.Blocks) != want || page.Blocks == nil || page.ChainInfo.ChainName != "x-chain" || page.ChainInfo.Network != "fuji" {
			t.Errorf("%s: %+v, want %d", query, page, want)
		}
	}
	f("", 12)
	f("&startTimestamp=1700000000&endTimestamp=1700000020", 2)
	f("&startTimestamp=1700000110", 1)
	f("&endTimestamp=0", 0)
	f("&startTimestamp=5&endTimestamp=5", 0)
	f("&startTimestamp=6&endTimestamp=5", 0)
}

// TestPrimaryBounds: hostile rows make no page of any size, and no work without end.
func TestPrimaryBounds(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	big := []byte(`{"config":{"chainId":7},"extraData":"` + strings.Repeat("f", 1<<20) + `"}`)
	n.subnets, n.genesis = nil, map[chain.ID][]byte{}
	for i := range byte(40) {
		s := primary.Subnet{ID: chain.ID{1, i}, Owners: utxo.Owners{Threshold: 1}}
		for j := range byte(8) {
			id := chain.ID{2, i, j}
			s.Blockchains = append(s.Blockchains, primary.Blockchain{ID: id, Subnet: s.ID})
			n.genesis[id] = big
		}
		n.subnets = append(n.subnets, s)
	}
	s := primaryServer(t, n)
	resp := get(s, onFuji+"/subnets?pageSize=10000")
	var page struct {
		Subnets []struct {
			Blockchains []struct{ GenesisData json.RawMessage }
		}
		NextPageToken string
	}
	if err := decode(resp.Body(), &page); err != nil || page.NextPageToken == "" || len(resp.Body()) > 2*reply.MaxPage+1<<20 {
		t.Fatalf("%d bytes, %v", len(resp.Body()), err)
	}
	shown := 0
	for _, c := range page.Subnets[0].Blockchains {
		if c.GenesisData != nil {
			shown++
		}
	}
	if len(page.Subnets[0].Blockchains) != 8 || shown != 4 {
		t.Errorf("%d of %d chains with genesis data", shown, len(page.Subnets[0].Blockchains))
	}
}

// FuzzPrimaryQuery: whatever the parameters are, the answer is 200, or a 400 or 404
// with the documented body.
func FuzzPrimaryQuery(f *testing.F) {
	n := samplePrimary()
	s, err := New(Config{Networks: networks{signs("x")}, Primary: primaries{"fuji": n}, AnswerBytes: 1})
	if err != nil {
		f.Fatal(err)
	}
	routes := new(primaryapi.Room).Routes()
	for i := range routes {
		for _, p := range routes[i].Query {
			for _, v := range []string{"1", one(), ben.Text("fuji"), "P-" + ann.Text("fuji"), "active", "asc", "-1", "%", ",", "x,y"} {
				f.Add(uint8(i), "x-chain", p.Name, v)
			}
		}
	}
	f.Fuzz(func(t *testing.T, route uint8, id, name, v string) {
		r := &routes[int(route)%len(routes)]
		path := strings.NewReplacer("{network}", "fuji", "{blockchainId}", url.PathEscape(id)).Replace(r.Pattern)
		resp := get(s, path+"?"+name+"="+url.QueryEscape(v)+"&vertexHeight=8")
		var body struct {
			Message    string
			StatusCode int
		}
		if err := decode(resp.Body(), &body); err != nil {
			t.Fatalf("%s %s=%s: %v", path, name, v, err)
		}
		switch code := resp.StatusCode(); {
		case code == fasthttp.StatusOK:
		case code != 400 && code != 404, body.Message == "", body.StatusCode != code:
			t.Fatalf("%s %s=%s: %d %s", path, name, v, code, resp.Body())
		}
		if n.open != 0 {
			t.Fatal("a view stays open")
		}
	})
}
