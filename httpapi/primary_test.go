package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/door"
)

const onFuji = "/v1/networks/fuji"

// primaryServer serves the primary networks of a test.
func primaryServer(t testing.TB, n *fakePrimary) *Server {
	t.Helper()
	t.Cleanup(func() {
		if n.open != 0 {
			t.Errorf("%d views are still open", n.open)
		}
	})
	return dataServer(t, Config{Primary: primaries{"fuji": n, "testnet": n}})
}

// everyPrimary returns a request to each route of the primary network that lists
// something, with the member that holds the list.
func everyPrimary() map[string]string {
	return map[string]string{
		onFuji + "/subnets":                                                  "subnets",
		onFuji + "/rewards?nodeIds=" + one():                                 "historicalRewards",
		onFuji + "/delegators?pageSize=100":                                  "delegators",
		onFuji + "/blockchains/p-chain/blocks":                               "blocks",
		onFuji + "/blockchains/x-chain/vertices:listByHeight?vertexHeight=8": "vertices",
		onFuji + "/blockchains":                                              "blockchains",
		onFuji + "/validators":                                               "validators",
		onFuji + "/validators/" + two():                                      "validators",
		onFuji + "/l1Validators?includeInactiveL1Validators=true":            "validators",
		onFuji + "/rewards:listPending?nodeIds=" + one():                     "pendingRewards",
		onFuji + "/blockchains/X/vertices":                                   "vertices",
	}
}

func one() string { return nodeOne.String() }
func two() string { return nodeTwo.String() }

// TestPrimaryBodies compares the answer of each endpoint with what was checked by hand,
// in both dialects.
func TestPrimaryBodies(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary())
	paths := []string{
		onFuji + "/subnets",
		onFuji + "/subnets?sortOrder=asc&pageSize=1",
		onFuji + "/rewards?nodeIds=" + one(),
		onFuji + "/rewards?currency=eur&addresses=" + ben.Text("fuji") + "&sortOrder=asc&pageSize=1",
		onFuji + "/delegators",
		onFuji + "/delegators?delegationStatus=active&nodeIds=" + two(),
		"/v1/networks/testnet/blockchains/p-chain/blocks?pageSize=3",
		onFuji + "/blockchains/c-chain/blocks?startTimestamp=1700000000&endTimestamp=1700000010",
		onFuji + "/blockchains/x-chain/vertices:listByHeight?vertexHeight=8",
		onFuji + "/blockchains/x-chain/vertices:listByHeight?vertexHeight=9&sortOrder=asc",
		onFuji,
		onFuji + "/subnets/" + chain.ID{2}.String(),
		onFuji + "/blockchains?pageSize=1",
		onFuji + "/blockchains/" + chain.ID{6}.String(),
		onFuji + "/validators",
		onFuji + "/validators?subnetId=" + chain.ID{2}.String(),
		onFuji + "/validators/" + two() + "?validationStatus=completed",
		onFuji + "/l1Validators?includeInactiveL1Validators=true",
		onFuji + "/rewards:listPending?pageSize=1&nodeIds=" + one(),
		onFuji + "/blockchains/p-chain/blocks/11",
		onFuji + "/blockchains/p-chain/nodes/" + one() + "/blocks",
		onFuji + "/blockchains/x-chain/vertices?pageSize=2",
		onFuji + "/blockchains/x-chain/vertices/" + chain.ID{0x52}.String(),
		"/v2/validators/metrics/totalCumulativeFeesDaily?pageSize=2",
		"/v2/subnet/" + chain.ID{5}.String() + "/metrics/perSubnetPayingValidators?pageSize=1&startTimestamp=1700000000",
	}
	goldenAnswers(t, s, "primary.txt", paths)
}

// TestPrimaryForms: each parameter in all of its good forms gives the same answer, and
// in bad ones a 400 whose message begins with its name.
func TestPrimaryForms(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary())
	same := func(paths ...string) {
		t.Helper()
		want := get(s, onFuji+paths[0])
		if want.StatusCode() != 200 || len(want.Body()) < 100 {
			t.Fatalf("%s: %d %s", paths[0], want.StatusCode(), want.Body())
		}
		for _, path := range paths[1:] {
			if got := get(s, onFuji+path); got.StatusCode() != 200 || string(got.Body()) != string(want.Body()) {
				t.Errorf("%s: %d %s", path, got.StatusCode(), got.Body())
			}
		}
	}
	text := ben.Text("fuji")
	same("/rewards?addresses="+text, "/rewards?addresses=P-"+text, "/rewards?addresses=X-"+text, "/rewards?addresses="+strings.ToUpper(text),
		"/rewards?addresses=P-"+text+"%2CX-"+text, "/rewards?addresses=%20"+text+"%20,"+text,
		"/rewards?addresses="+text+",+"+text)
	same("/delegators?rewardAddresses="+text+","+ann.Text("fuji"), "/delegators?rewardAddresses=X-"+ann.Text("fuji")+"%2CP-"+text,
		"/delegators?nodeIds="+one()+","+two(), "/delegators?nodeIds="+two()+"%2C"+one()+","+two(), "/delegators?sortOrder=desc")
	same("/blockchains/p-chain/blocks", "/blockchains/P/blocks", "/blockchains/11111111111111111111111111111111LpoYY/blocks",
		"/blockchains/p-chain/blocks?startTimestamp=0")
	same("/blockchains/p-chain/blocks?pageSize=100", "/blockchains/p%2Dchain/blocks?endTimestamp=9000000000&pageSize=100")
	same("/blockchains/x-chain/blocks", "/blockchains/X/blocks", "/blockchains/"+fujiX.String()+"/blocks")
	same("/blockchains/c-chain/blocks", "/blockchains/C/blocks", "/blockchains/"+chain.ID{0x20}.String()+"/blocks")
	same("/blockchains/x-chain/vertices:listByHeight?vertexHeight=8", "/blockchains/X/vertices:listByHeight?vertexHeight=08",
		"/blockchains/"+fujiX.String()+"/vertices:listByHeight?vertexHeight=8&sortOrder=desc")

	bad := func(path, name, why string) {
		t.Helper()
		resp := get(s, onFuji+path)
		var body struct {
			Message, Error string
			StatusCode     int
		}
		err := json.Unmarshal(resp.Body(), &body)
		if err != nil || resp.StatusCode() != 400 || body.StatusCode != 400 || body.Error != "Bad Request" ||
			!strings.HasPrefix(body.Message, name+" ") || !strings.Contains(body.Message, why) {
			t.Errorf("%s: %d %s, want %s … %s", path, resp.StatusCode(), resp.Body(), name, why)
		}
	}
	wrong := []byte(text)
	wrong[len(wrong)-1] ^= 1
	for name, path := range map[string]string{"addresses": "/rewards?addresses=", "rewardAddresses": "/delegators?rewardAddresses="} {
		bad(path, name, "empty")
		bad(path+string(wrong), name, `must be an address that starts with fuji1, P-fuji1 or X-fuji1`)
		bad(path+ben.Text("avax"), name, "which is of another network")
		bad(path+"C-"+text, name, "which is of another chain")
		bad(path+"p-"+text, name, "which is of another chain")
		bad(path+"0x"+strings.Repeat("a1", 20), name, "must be an address")
		bad(path+one(), name, "must be an address")
		bad(path+text+",", name, "has an item that")
		bad(path+","+text, name, "has an item that")
		bad(path+strings.ToUpper(text[:8])+text[8:], name, "must be an address") // mixed case
		bad(path+strings.Repeat("q", 2000), name, "must be an address")
		bad(path+"%00", name, "must be an address")
		bad(path+"%zz", name, "percent-encoded")
		bad(path+text+"&"+name+"="+text, name, "more than once")
	}
	for _, path := range []string{"/rewards?nodeIds=", "/delegators?nodeIds="} {
		bad(path, "nodeIds", "empty")
		for _, v := range []string{one()[7:], "NodeID-", "NodeID-1", one() + "1", "nodeid-" + one()[7:], one() + ";" + two(), one() + ",", chain.ID{1}.String(), "NodeID-" + strings.Repeat("1", 70), "%F0%9F%92%A5"} {
			bad(path+v, "nodeIds", "must be a node ID")
		}
	}
	bad("/rewards", "addresses", "or nodeIds is required")
	bad("/rewards?sortOrder=asc", "addresses", "or nodeIds is required")
	bad("/rewards?nodeIds="+one()+"&currency=btc", "currency", "must be one of usd")
	for _, v := range []string{"Active", "done", "removed", "active,pending"} {
		bad("/delegators?delegationStatus="+v, "delegationStatus", "must be completed, active or pending")
	}
	for _, path := range []string{"/subnets?", "/delegators?", "/rewards?nodeIds=" + one() + "&", "/blockchains/X/vertices:listByHeight?vertexHeight=1&"} {
		bad(path+"sortOrder=up", "sortOrder", "must be asc or desc")
		bad(path+"pageToken=AAAA", "pageToken", "is not valid")
	}
	for _, v := range []string{"-1", "1.5", "1e3", "0x7", "x", "9223372036854775808", "%31%2E"} {
		bad("/blockchains/x-chain/vertices:listByHeight?vertexHeight="+v, "vertexHeight", "whole number")
		bad("/blockchains/p-chain/blocks?startTimestamp="+v, "startTimestamp", "Unix seconds")
		bad("/blockchains/p-chain/blocks?endTimestamp="+v, "endTimestamp", "Unix seconds")
	}
	for _, v := range []string{"1678089600000", "100000000000", "99999999999999"} {
		bad("/blockchains/p-chain/blocks?startTimestamp="+v, "startTimestamp", "looks like milliseconds")
		bad("/blockchains/p-chain/transactions?endTimestamp="+v, "endTimestamp", "looks like milliseconds")
	}
	for _, v := range []string{"99999999999", "100000000000000", "9007199254740991"} {
		if resp := get(s, onFuji+"/blockchains/p-chain/blocks?endTimestamp="+v); resp.StatusCode() != 200 {
			t.Errorf("endTimestamp %s: %d %s", v, resp.StatusCode(), resp.Body())
		}
	}
	bad("/blockchains/x-chain/vertices:listByHeight", "vertexHeight", "is required")
	for _, v := range []string{"y-chain", "P-Chain", "p", "43114", "%20", fujiX.String() + "1", "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByN"} {
		bad("/blockchains/"+v+"/blocks", "blockchainId", "must be p-chain, x-chain or c-chain")
	}
	for _, v := range []string{"p-chain", "C", "11111111111111111111111111111111LpoYY"} {
		bad("/blockchains/"+v+"/vertices:listByHeight?vertexHeight=1", "blockchainId", "must be x-chain")
	}
	for _, v := range []string{"x", "1", chain.ID{1}.String() + "1", "0x12", one()} {
		bad("/subnets/"+v, "subnetId", "must be an ID")
		bad("/blockchains/"+v, "blockchainId", "must be an ID")
		bad("/blockchains/X/vertices/"+v, "vertexHash", "must be an ID")
		bad("/validators?subnetId="+v, "subnetId", "must be an ID")
		bad("/l1Validators?l1ValidationId="+v, "l1ValidationId", "must be an ID")
	}
	for _, v := range []string{"x", "NodeID-1", chain.ID{1}.String()} {
		bad("/validators/"+v, "nodeId", "must be a node ID")
		bad("/blockchains/P/nodes/"+v+"/blocks", "nodeId", "must be a node ID")
		bad("/l1Validators?nodeId="+v, "nodeId", "must be a node ID")
	}
	bad("/blockchains/P/blocks/"+one(), "blockId", "must be the height of a block")
	bad("/blockchains/P/blocks/-1", "blockId", "must be the height of a block")
	bad("/blockchains/P/blocks/latest", "blockId", "must be the height of a block")
	bad("/validators?validationStatus=done", "validationStatus", "must be completed")
	bad("/validators?sortBy=delegationCapacity", "sortBy", "must be blockIndex")
	bad("/l1Validators?includeInactiveL1Validators=1", "includeInactiveL1Validators", "must be true or false")
	bad("/rewards:listPending", "addresses", "or nodeIds is required")
	hash := chain.ID(numbered(11, byte(primary.PChain)))
	same("/blockchains/p-chain/blocks/11", "/blockchains/P/blocks/"+hash.String(), fmt.Sprintf("/blockchains/P/blocks/0x%x", hash[:]),
		"/blockchains/P/blocks/"+chain.ID(numbered(11, 0x80)).String())
	same("/subnets/"+chain.ID{3}.String(), fmt.Sprintf("/subnets/%x", append([]byte{3}, make([]byte, 31)...)))
	for path, most := range map[string]int{"/subnets?": 10000, "/delegators?": 100, "/rewards?nodeIds=" + one() + "&": 100, "/blockchains/p-chain/blocks?": 100,
		"/blockchains/X/vertices:listByHeight?vertexHeight=1&": 100} {
		for _, v := range []string{"0", "-1", fmt.Sprint(most + 1), "ten", "1.0"} {
			bad(path+"pageSize="+v, "pageSize", fmt.Sprintf("from 1 to %d", most))
		}
		if resp := get(s, onFuji+path+"pageSize="+fmt.Sprint(most)); resp.StatusCode() != 200 {
			t.Errorf("%s: %s", path, resp.Body())
		}
	}
}

// TestPrimaryLists: how many items a list may have.
func TestPrimaryLists(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := dataServer(t, Config{Primary: primaries{"fuji": n}, MaxHeader: 64 << 10})
	list := func(count int) string {
		items := make([]string, count)
		for i := range items {
			items[i] = chain.NodeID{byte(i), 1}.String()
		}
		return onFuji + "/delegators?nodeIds=" + strings.Join(items, "%2C")
	}
	if resp := get(s, list(door.MaxListed)); resp.StatusCode() != 200 {
		t.Errorf("%d nodes: %s", door.MaxListed, resp.Body())
	}
	if resp := get(s, list(door.MaxListed)+","+chain.NodeID{0, 1}.String()); resp.StatusCode() != 200 {
		t.Errorf("a node that is named twice counts twice: %s", resp.Body())
	}
	if resp := get(s, list(door.MaxListed+1)); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "nodeIds has more than 100 items") {
		t.Errorf("%d nodes: %s", door.MaxListed+1, resp.Body())
	}
}

// TestPrimaryAbsent: what is not there is a 404 or a 503 that says why.
func TestPrimaryAbsent(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	f := func(path string, status int, message string) {
		t.Helper()
		resp := get(s, path)
		if resp.StatusCode() != status || !strings.Contains(string(resp.Body()), message) {
			t.Errorf("%s: %d %s, want %d %s", path, resp.StatusCode(), resp.Body(), status, message)
		}
		if (len(resp.Header.Peek("Retry-After")) > 0) != (status == 503) {
			t.Errorf("%s: %s", path, &resp.Header)
		}
	}
	f("/v1/networks/local/subnets", 404, `network \"local\" is unknown; there are mainnet, fuji and testnet`)
	f("/v1/networks/Fuji/blockchains/p-chain/blocks", 404, `network \"Fuji\" is unknown`)
	f("/v1/networks/mainnet/subnets", 404, "no node of network mainnet is followed here")
	f(onFuji+"/blockchains/2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM/blocks", 404, "is not a chain of the primary network of fuji")
	f("/v1/networks/fuji/none", 404, "nothing is served")
	f(onFuji+"/subnets/"+chain.ID{9}.String(), 404, "does not exist or is not indexed yet")
	f(onFuji+"/blockchains/"+chain.ID{9}.String(), 404, "does not exist or is not indexed yet")
	f(onFuji+"/blockchains/X/vertices/"+chain.ID{9}.String(), 404, "does not exist or is not indexed yet")
	f(onFuji+"/blockchains/X/blocks/12", 404, "block 12 does not exist or is not indexed yet")
	f(onFuji+"/blockchains/X/blocks/"+chain.ID{9}.String(), 404, "does not exist or is not indexed yet")

	other := dataServer(t, Config{Primary: primaries{}})
	if resp := get(other, onFuji+"/subnets"); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "the primary network of fuji is not followed here") {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
	if resp := get(dataServer(t, Config{}), onFuji+"/subnets"); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "nothing is served at") {
		t.Errorf("without a primary network: %d %s", resp.StatusCode(), resp.Body())
	}
	delete(n.chains, primary.XChain)
	f(onFuji+"/blockchains/x-chain/blocks", 404, "the x-chain of fuji is not followed here")

	n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.empty = true })
	f(onFuji+"/subnets", 503, "the p-chain of fuji is not indexed yet")
	n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.down = errDown })
	f(onFuji+"/subnets", 503, "its node does not answer")
	n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.empty = false })
	f(onFuji+"/subnets", 200, `"subnets":[{`) // what is there is served all the same
	n.broken = errors.New("disk")
	f(onFuji+"/delegators", 500, "internal error")
}

// TestPrimarySyncing: while a chain is still indexed, the answers about it say so.
func TestPrimarySyncing(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	for _, path := range []string{onFuji + "/subnets", onFuji + "/subnets", onFuji + "/blockchains/c-chain/blocks"} {
		n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.target = 7000 })
		h := &get(s, path).Header
		want := map[bool]string{true: "20 7000", false: " "}[strings.Contains(path, "subnets")]
		if got := fmt.Sprintf("%s %s", h.Peek("X-Indexed-Height"), h.Peek("X-Chain-Height")); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestPrimaryKept: an answer is kept until the chain that it shows has another block.
func TestPrimaryKept(t *testing.T) {
	t.Parallel()
	n := samplePrimary()
	s := primaryServer(t, n)
	ask := func() string { return string(get(s, onFuji+"/delegators").Body()) }
	first := ask()
	ask() // what is asked for twice is kept
	n.stakers[5].Gross = 101
	n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.height++ })
	if ask() != first {
		t.Error("a block of another chain changed the answer")
	}
	n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.height++ })
	if ask() == first {
		t.Error("a block of the chain did not change the answer")
	}
}

// TestPrimaryTold: what no block says is as a node says it, and absent where none does, or
// 0 for the SDKs, which demand it.
func TestPrimaryTold(t *testing.T) {
	t.Parallel()
	validator := func(n *fakePrimary, agent string) (object map[string]any) {
		t.Helper()
		var page struct{ Validators []map[string]any }
		getJSON(t, primaryServer(t, n), onFuji+"/validators?validationStatus=active", &page, "User-Agent", agent)
		if len(page.Validators) != 1 {
			t.Fatalf("%v", page)
		}
		return page.Validators[0]
	}
	f := func(told primary.Told, agent string, uptime, version any) {
		t.Helper()
		n := samplePrimary()
		n.told = told
		v := validator(n, agent)
		if v["uptimePerformance"] != uptime || v["avalancheGoVersion"] != version {
			t.Errorf("%+v, %s: %v, %v", told, agent, v["uptimePerformance"], v["avalancheGoVersion"])
		}
	}
	f(primary.Told{}, "", nil, nil)
	f(primary.Told{}, sdkUser, 0.0, nil)
	seen := func(uptime uint32) primary.Told {
		return primary.Told{Uptimes: map[chain.NodeID]uint32{nodeOne: uptime}}
	}
	f(seen(1_000_000), "", 100.0, nil)
	f(seen(1), sdkUser, 0.0001, nil)
	f(seen(0), "", 0.0, nil)
	f(primary.Told{Versions: map[chain.NodeID]string{nodeOne: "a/1.2.3"}}, "", nil, "a/1.2.3")
	f(primary.Told{Uptimes: map[chain.NodeID]uint32{nodeTwo: 7}, Versions: map[chain.NodeID]string{nodeTwo: "a/1.2.3"}}, "", nil, nil)

	ratio := func(inexact bool, told primary.Told, agent string, want any) {
		t.Helper()
		n := samplePrimary()
		n.inexact, n.told = inexact, told
		var details struct{ ValidatorDetails map[string]any }
		getJSON(t, primaryServer(t, n), onFuji, &details, "User-Agent", agent)
		if got := details.ValidatorDetails["stakingRatio"]; got != want {
			t.Errorf("%v, %+v: %v, want %v", inexact, told, got, want)
		}
	}
	half := primary.Told{Supply: 10, Staked: 5}
	ratio(false, half, "", "0.000002") // from the blocks
	ratio(true, half, "", "0.5")
	ratio(true, primary.Told{}, "", nil)
	ratio(true, primary.Told{}, sdkUser, "")
}
