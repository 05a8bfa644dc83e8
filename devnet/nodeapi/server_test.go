package nodeapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/devnet/world"
	"quorate/engine/chain"
)

// fakeLive runs all validators but those in stopped.
type fakeLive struct{ stopped map[int]bool }

func (l *fakeLive) Online(i int) bool { return !l.stopped[i] }

func (l *fakeLive) Address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(9650+i))
}

func newServer(t *testing.T) (*Server, *world.World, *fakeLive) {
	t.Helper()
	w, err := world.New(world.Params{Validators: 3, Seed: 1, L1s: 1})
	if err != nil {
		t.Fatal(err)
	}
	live := &fakeLive{stopped: map[int]bool{}}
	return New(Config{World: w, Live: live}), w, live
}

// names replaces what the seed decides in expected bodies.
func names(w *world.World) *strings.Replacer {
	v, l := w.Validators(), w.L1s()[0]
	key := func(i int) string { return "0x" + hex.EncodeToString(v[i].PublicKey[:]) }
	proof := func(i int) string { p := v[i].Proof(); return "0x" + hex.EncodeToString(p[:]) }
	return strings.NewReplacer(
		"{C}", w.CChainID().String(), "{X}", w.XChainID().String(), "{P}", chain.PlatformChainID.String(),
		"{N0}", v[0].NodeID.String(), "{N1}", v[1].NodeID.String(), "{N2}", v[2].NodeID.String(),
		"{K0}", key(0), "{K1}", key(1), "{K2}", key(2), "{S0}", proof(0), "{S1}", proof(1), "{S2}", proof(2),
		"{T1}", v[1].TxID.String(), "{A1}", v[1].RewardAddress,
		"{L}", l.SubnetID.String(), "{LB}", l.ChainID.String(), "{LC}", l.ConversionID.String(), "{LK}", l.ControlKey,
		"{LM}", "0x"+hex.EncodeToString(l.ManagerAddress[:]),
		"{V1}", l.Members[1].ValidationID.String(),
	)
}

// post returns status and body of one request.
func post(s *Server, path, contentType, body string) (int, string) {
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod(fasthttp.MethodPost)
	ctx.Request.Header.SetContentType(contentType)
	ctx.Request.SetRequestURI(path)
	ctx.Request.SetBodyString(body)
	s.handle(&ctx)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

func rpcCall(s *Server, path, name, params string) (int, string) {
	return post(s, path, "application/json", `{"jsonrpc":"2.0","id":1,"method":"`+name+`","params":`+params+`}`)
}

const unknownChain = "29uVeLPJB1eQJkzRemU8g8wZDw5uJRqpab5U2mX9euieVwiEbL"

// TestBodies compares with bodies of a real node (avalanchego 1.14.2) but for
// the values that belong to the network.
func TestBodies(t *testing.T) {
	const info, p = "/ext/info", "/ext/bc/P"
	fail := func(text string) string { return `"error":{"code":-32000,"message":"` + text + `","data":null}` }
	argument := fail("couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for example calls")
	primary := `{"id":"{P}","controlKeys":[],"threshold":"0"}`
	l1 := `{"id":"{L}","controlKeys":["{LK}"],"threshold":"1"}`
	staker := `{"txID":"{T1}","startTime":"1735689600","endTime":"2366841600","weight":"2000000000000000","nodeID":"{N1}",` +
		`"validationRewardOwner":{"locktime":"0","threshold":"1","addresses":["{A1}"]},` +
		`"delegationRewardOwner":{"locktime":"0","threshold":"1","addresses":["{A1}"]},` +
		`"potentialReward":"0","accruedDelegateeReward":"0","delegationFee":"2.0000","uptime":"99.5000","connected":true,` +
		`"signer":{"publicKey":"{K1}","proofOfPossession":"{S1}"},"delegatorCount":"0","delegatorWeight":"0","delegators":[]}`
	member := `{"nodeID":"{N1}","weight":"100","startTime":"1735689600","validationID":"{V1}","publicKey":"{K1}",` +
		`"remainingBalanceOwner":{"locktime":"0","threshold":"1","addresses":["{A1}"]},` +
		`"deactivationOwner":{"locktime":"0","threshold":"1","addresses":["{A1}"]},"minNonce":"0","balance":"1000000000"}`
	cases := []struct{ path, method, params, want string }{
		{info, "info.getNodeVersion", `{}`, `"result":{"version":"avalanchego/1.14.2","databaseVersion":"v1.4.5","rpcProtocolVersion":"45","gitCommit":"","vmVersions":{"avm":"avalanchego/1.14.2","evm":"v1.14.2","platform":"avalanchego/1.14.2"}}`},
		{info, "info.getNetworkID", `null`, `"result":{"networkID":"12345"}`},
		{info, "info.getNetworkName", `[]`, `"result":{"networkName":"local"}`},
		{info, "info.getBlockchainID", `5`, argument},
		{info, "info.getNetworkName", `[{}]`, `"result":{"networkName":"local"}`},
		{info, "info.getNodeID", `{}`, `"result":{"nodeID":"{N0}","nodePOP":{"publicKey":"{K0}","proofOfPossession":"{S0}"}}`},
		{info, "info.getNodeIP", `{}`, `"result":{"ip":"127.0.0.1:9650"}`},
		{info, "info.getBlockchainID", `{"alias":"C"}`, `"result":{"blockchainID":"{C}"}`},
		{info, "info.getBlockchainID", `{"alias":"X"}`, `"result":{"blockchainID":"{X}"}`},
		{info, "info.getBlockchainID", `{"alias":"{X}"}`, fail("there is no ID with alias: {X}")},
		{info, "info.getBlockchainID", `{"alias":"{C}"}`, `"result":{"blockchainID":"{C}"}`},
		{info, "info.getBlockchainID", `{"alias":"P"}`, `"result":{"blockchainID":"{P}"}`},
		{info, "info.getBlockchainID", `{"alias":"Q"}`, fail("there is no ID with alias: Q")},
		{info, "info.getVMs", `{}`, `"result":{"vms":{"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq":["avm"],` +
			`"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6":["evm"],"rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT":["platform"],` +
			`"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy":[]},"fxs":{"qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT":"nftfx",` +
			`"rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy":"propertyfx","spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ":"secp256k1fx"}}`},
		{info, "info.getTxFee", `{}`, `"result":{"txFee":"1000000","createAssetTxFee":"1000000","createSubnetTxFee":"100000000",` +
			`"transformSubnetTxFee":"100000000","createBlockchainTxFee":"100000000","addPrimaryNetworkValidatorFee":"0",` +
			`"addPrimaryNetworkDelegatorFee":"0","addSubnetValidatorFee":"1000000","addSubnetDelegatorFee":"1000000"}`},
		{info, "info.isBootstrapped", `{"chain":"P"}`, `"result":{"isBootstrapped":true}`},
		{info, "info.isBootstrapped", `{"chain":"{LB}"}`, `"result":{"isBootstrapped":true}`},
		{info, "info.isBootstrapped", `{"chain":"X"}`, `"result":{"isBootstrapped":false}`},
		{info, "info.isBootstrapped", `{"chain":"{X}"}`, fail("there is no chain with alias/ID '{X}'")},
		{info, "info.isBootstrapped", `{"chain":"zz"}`, fail("there is no chain with alias/ID 'zz'")},
		{info, "info.isBootstrapped", `{}`, fail("argument 'chain' not given")},
		{info, "info.peers", `{"nodeIDs":["{N0}"]}`, `"result":{"numPeers":"0","peers":[]}`},
		{info, "info.peers", `{"nodeIDs":["x"]}`, argument},
		{info, "info.nope", `{}`, fail(`rpc: can't find method \"info.Nope\"`)},
		{info, "platform.getHeight", `{}`, fail(`rpc: can't find service \"platform.GetHeight\"`)},
		{info, "info.GetNodeID", `{}`, fail("method must start with a non-uppercase letter")},
		{info, "nodot", `{}`, fail(`rpc: service/method request ill-formed: \"nodot\"`)},
		{"/ext/P", "platform.getHeight", `{}`, `"result":{"height":"0"}`},
		{"/ext/bc/{P}", "platform.getProposedHeight", `{}`, `"result":{"height":"0"}`},
		{p, "platform.getAllValidatorsAt", `{"height":99}`, fail(`failed to get validator sets at 99: failed to fetch validator set at unfinalized height: current P-chain height (0) \u003c requested P-Chain height (99)`)},
		{p, "platform.getAllValidatorsAt", `{"height":"x"}`, argument},
		{p, "platform.getAllValidatorsAt", `{"height":"18446744073709551615"}`, argument},
		{p, "platform.getValidatorsAt", `{"height":"proposed","subnetID":"` + unknownChain + `"}`, `"result":{}`},
		{p, "platform.getValidatorsAt", `{"height":"99"}`, fail(`failed to get validator set at 99: failed to fetch validator set at unfinalized height with SubnetID = {P}: current P-chain height (0) \u003c requested P-Chain height (99)`)},
		{p, "platform.getCurrentValidators", `{"nodeIDs":["{N1}"]}`, `"result":{"validators":[` + staker + `]}`},
		{p, "platform.getCurrentValidators", `{"nodeIDs":["{N1}"],"subnetID":"{L}"}`, `"result":{"validators":[` + member + `]}`},
		{p, "platform.getCurrentValidators", `{"subnetID":"` + unknownChain + `"}`, `"result":{"validators":[]}`},
		{p, "platform.getL1Validator", `{"validationID":"{V1}"}`, `"result":` + strings.TrimSuffix(member, "}") + `,"subnetID":"{L}","height":"0"}`},
		{p, "platform.getL1Validator", `{"validationID":"` + unknownChain + `"}`, fail(`fetching L1 validator \"` + unknownChain + `\" failed: not found`)},
		{p, "platform.validatedBy", `{"blockchainID":"{C}"}`, `"result":{"subnetID":"{P}"}`},
		{p, "platform.validatedBy", `{"blockchainID":"{P}"}`, `"result":{"subnetID":"{P}"}`},
		{p, "platform.validatedBy", `{"blockchainID":"` + unknownChain + `"}`, fail(`problem retrieving blockchain \"` + unknownChain + `\": not found`)},
		{p, "platform.validates", `{}`, `"result":{"blockchainIDs":["{C}","{X}"]}`},
		{p, "platform.validates", `{"subnetID":"{L}"}`, `"result":{"blockchainIDs":["{LB}"]}`},
		{p, "platform.validatedBy", `{"blockchainID":"{LB}"}`, `"result":{"subnetID":"{L}"}`},
		{p, "platform.getBlockchainStatus", `{"blockchainID":"{LB}"}`, `"result":{"status":"Validating"}`},
		{info, "info.getBlockchainID", `{"alias":"{LB}"}`, `"result":{"blockchainID":"{LB}"}`},
		{"/ext/bc/{LB}/proposervm", "proposervm.getProposedHeight", `{}`, `"result":{"height":"0"}`},
		{p, "platform.validates", `{"subnetID":"` + unknownChain + `"}`, fail(`problem retrieving subnet \"` + unknownChain + `\": not found`)},
		{p, "platform.getSubnet", `{"subnetID":"{P}"}`, fail("the primary network isn't a subnet")},
		{p, "platform.getSubnet", `{"subnetID":"` + unknownChain + `"}`, fail("not found")},
		{p, "platform.getSubnet", `{"subnetID":"{L}"}`, `"result":{"isPermissioned":false,"controlKeys":["{LK}"],"threshold":"1","locktime":"0","subnetTransformationTxID":"{P}","conversionID":"{LC}","managerChainID":"{C}","managerAddress":"{LM}"}`},
		{p, "platform.getSubnets", `{}`, `"result":{"subnets":[` + l1 + `,` + primary + `]}`},
		{p, "platform.getSubnets", `{"ids":["{P}","{L}","{P}"]}`, `"result":{"subnets":[` + primary + `,` + l1 + `]}`},
		{p, "platform.getSubnets", `{"ids":["` + unknownChain + `"]}`, `"result":{"subnets":null}`},
		{p, "platform.getBlockchains", `{}`, `"result":{"blockchains":[{"id":"{LB}","name":"L1 1","subnetID":"{L}","vmID":"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"},{"id":"{C}","name":"C-Chain","subnetID":"{P}","vmID":"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"},{"id":"{X}","name":"X-Chain","subnetID":"{P}","vmID":"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq"}]}`},
		{p, "platform.getBlockchainStatus", `{"blockchainID":"C"}`, `"result":{"status":"Validating"}`},
		{p, "platform.getBlockchainStatus", `{"blockchainID":"{X}"}`, `"result":{"status":"Created"}`},
		{p, "platform.validatedBy", `{"blockchainID":"{X}"}`, `"result":{"subnetID":"{P}"}`},
		{p, "platform.getBlockByHeight", `{"height":1}`, fail("couldn't get block at height 1: not found")},
		{p, "platform.getBlockByHeight", `{"height":"proposed"}`, argument},
		{p, "platform.getBlockByHeight", `{"encoding":"cb58"}`, argument},
		{p, "platform.getBlockByHeight", `{"encoding":7}`, argument},
		{p, "platform.getBlockchainStatus", `{"blockchainID":"P"}`, `"result":{"status":"Syncing"}`},
		{p, "platform.getBlockchainStatus", `{"blockchainID":"` + unknownChain + `"}`, `"result":{"status":"Unknown"}`},
		{p, "platform.getBlockchainStatus", `{}`, fail("argument 'blockchainID' not given")},
		{p, "platform.getTimestamp", `{}`, `"result":{"timestamp":"2025-01-01T00:00:00Z"}`},
		{"/ext/bc/C/proposervm", "proposervm.getCurrentEpoch", `{}`, `"result":{"number":"1","startTime":"1735689600","pChainHeight":"0"}`},
		{"/ext/bc/P/proposervm", "proposervm.getProposedHeight", `{}`, `"result":{"height":"0"}`},
	}
	s, w, _ := newServer(t)
	r := names(w)
	for _, tc := range cases {
		status, body := rpcCall(s, r.Replace(tc.path), tc.method, r.Replace(tc.params))
		want := r.Replace(`{"jsonrpc":"2.0",`+tc.want+`,"id":1}`) + "\n"
		if status != 200 || body != want {
			t.Errorf("%s %s: status %d\n got %s\nwant %s", tc.method, tc.params, status, body, want)
		}
	}
}

func TestEnvelope(t *testing.T) {
	s, _, _ := newServer(t)
	const jsonType = "application/json"
	for _, tc := range []struct {
		path, contentType, body string
		status                  int
		want                    string
	}{
		{"/ext/info", jsonType, `{bad`, 200, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"invalid character 'b' looking for beginning of object key string","data":{"jsonrpc":"","method":"","params":null,"id":null}},"id":null}` + "\n"},
		{"/ext/info", jsonType, `{"id":1,"method":"info.getNodeID"}`, 200, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc must be 2.0","data":{"jsonrpc":"","method":"info.getNodeID","params":null,"id":1}},"id":1}` + "\n"},
		{"/ext/info", jsonType, `{"jsonrpc":"2.0","method":"info.getNetworkID"}`, 200, ""},
		{"/ext/info", jsonType, `{"jsonrpc":"2.0","id":null,"method":"info.getNetworkID"}`, 200, ""},
		{"/ext/info", jsonType + "; charset=utf-8", `{"jsonrpc":"2.0","id":"abc","method":"info.getNetworkID"}`, 200, `{"jsonrpc":"2.0","result":{"networkID":"12345"},"id":"abc"}` + "\n"},
		{"/ext/info", "text/plain", `{}`, 415, "rpc: unrecognized Content-Type: text/plain"},
		{"/ext/nope", jsonType, `{}`, 404, "404 page not found\n"},
		{"/ext/bc/C/rpc", jsonType, `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`, 404, "404 page not found\n"},
		{"/ext/bc/C", jsonType, `{}`, 404, "404 page not found\n"},
		{"/ext/bc/P/", jsonType, `{}`, 404, "404 page not found\n"},
		{"/ext/bc/X", jsonType, `{"jsonrpc":"2.0","id":1,"method":"avm.getHeight"}`, 404, "404 page not found\n"},
		{"/ext/bc/X/proposervm", jsonType, `{}`, 404, "404 page not found\n"},
		{"/ext/bc/zz/proposervm", jsonType, `{}`, 404, "404 page not found\n"},
		{"/", jsonType, `{}`, 404, "404 page not found\n"},
	} {
		status, body := post(s, tc.path, tc.contentType, tc.body)
		if status != tc.status || body != tc.want {
			t.Errorf("%s %s: %d %s\nwant %d %s", tc.path, tc.body, status, body, tc.status, tc.want)
		}
	}
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI("/ext/info")
	s.handle(&ctx)
	if got := string(ctx.Response.Body()); ctx.Response.StatusCode() != 405 || got != "rpc: POST method required, received GET" {
		t.Errorf("GET: %d %s", ctx.Response.StatusCode(), got)
	}
	if id := string(ctx.Response.Header.Peek("Node-Id")); id != s.nodeID {
		t.Errorf("Node-Id %q", id)
	}
}

func TestPeers(t *testing.T) {
	s, w, live := newServer(t)
	_, body := rpcCall(s, "/ext/info", "info.peers", "{}")
	stamp := regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
	got := stamp.ReplaceAllString(body, `"now"`)
	one := func(i string, port string) string {
		return `{"ip":"127.0.0.1:` + port + `","publicIP":"127.0.0.1:` + port + `","nodeID":"{N` + i + `}","version":"avalanchego/1.14.2",` +
			`"upgradeTime":1607144400,"lastSent":"now","lastReceived":"now","observedUptime":"100","trackedSubnets":["{P}","{L}"],` +
			`"supportedACPs":[],"objectedACPs":[],"benched":[]}`
	}
	want := names(w).Replace(`{"jsonrpc":"2.0","result":{"numPeers":"2","peers":[`+one("1", "9651")+`,`+one("2", "9652")+`]},"id":1}`) + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	live.stopped[1] = true
	var reply struct {
		Result struct {
			NumPeers string
			Peers    []struct{ NodeID string }
		}
	}
	_, body = rpcCall(s, "/ext/info", "info.peers", "{}")
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	if r := reply.Result; r.NumPeers != "1" || len(r.Peers) != 1 || r.Peers[0].NodeID != w.Validators()[2].NodeID.String() {
		t.Errorf("with one stopped: %s", body)
	}
}

// TestValidatorSets compares the two forms of a set over changing heights.
func TestValidatorSets(t *testing.T) {
	s, w, _ := newServer(t)
	if _, err := w.Advance(map[int]uint64{0: 5, 2: 0}); err != nil {
		t.Fatal(err)
	}
	type set struct {
		Validators []struct {
			PublicKey, Weight string
			NodeIDs           []string
		}
		TotalWeight string
	}
	for _, tc := range []struct {
		height, total string
		members       int
	}{
		{`"0"`, "6000000000000000", 3}, {`1`, "2000000000000005", 2}, {`"proposed"`, "2000000000000005", 2}, {`"0"`, "6000000000000000", 3},
	} {
		var all struct {
			Result struct{ ValidatorSets map[string]set }
		}
		_, body := rpcCall(s, "/ext/bc/P", "platform.getAllValidatorsAt", `{"height":`+tc.height+`}`)
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatal(err)
		}
		if len(all.Result.ValidatorSets) != 2 {
			t.Errorf("height %s: %d sets", tc.height, len(all.Result.ValidatorSets))
		}
		for subnet, got := range all.Result.ValidatorSets {
			var single struct {
				Result map[string]struct{ PublicKey, Weight string }
			}
			_, body := rpcCall(s, "/ext/bc/P", "platform.getValidatorsAt", `{"height":`+tc.height+`,"subnetID":"`+subnet+`"}`)
			if err := json.Unmarshal([]byte(body), &single); err != nil {
				t.Fatal(err)
			}
			if subnet == chain.PrimaryNetworkID.String() && (got.TotalWeight != tc.total || len(got.Validators) != tc.members) {
				t.Errorf("height %s: total %s of %d, want %s of %d", tc.height, got.TotalWeight, len(got.Validators), tc.total, tc.members)
			}
			if len(single.Result) != len(got.Validators) {
				t.Errorf("height %s, subnet %s: %d and %d members", tc.height, subnet, len(single.Result), len(got.Validators))
			}
			for _, v := range got.Validators {
				if m := single.Result[v.NodeIDs[0]]; m.PublicKey != v.PublicKey || m.Weight != v.Weight {
					t.Errorf("height %s, subnet %s: %+v and %+v", tc.height, subnet, m, v)
				}
			}
		}
	}
}

func TestCurrentValidators(t *testing.T) {
	s, w, live := newServer(t)
	live.stopped[2] = true
	var reply struct {
		Result struct {
			Validators []struct {
				NodeID    string
				Connected bool
			}
		}
	}
	_, body := rpcCall(s, "/ext/bc/P", "platform.getCurrentValidators", "{}")
	if strings.Contains(body, `"delegators"`) {
		t.Error("delegators are listed though nobody is asked for alone")
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.Result.Validators) != 3 {
		t.Fatalf("%s", body)
	}
	for i, v := range reply.Result.Validators {
		if v.NodeID != w.Validators()[i].NodeID.String() || v.Connected != (i != 2) {
			t.Errorf("validator %d: %+v", i, v)
		}
	}
}

func TestHealth(t *testing.T) {
	s, _, live := newServer(t)
	get := func(path string) (int, string) {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI(path)
		s.handle(&ctx)
		return ctx.Response.StatusCode(), string(ctx.Response.Body())
	}
	if status, body := get("/ext/health"); status != 200 || !strings.HasSuffix(body, `"healthy":true}`+"\n") {
		t.Errorf("healthy: %d %s", status, body)
	}
	live.stopped[1] = true
	status, body := get("/ext/health")
	if status != 503 || !strings.Contains(body, "connected to 66.666667%; required at least 80.000000%") {
		t.Errorf("unhealthy: %d %s", status, body)
	}
	if status, _ := get("/ext/health/readiness"); status != 200 {
		t.Errorf("readiness: %d", status)
	}
	if status, body := get("/ext/health/liveness"); status != 200 || body != `{"checks":{},"healthy":true}`+"\n" {
		t.Errorf("liveness: %d %s", status, body)
	}
	if _, body := rpcCall(s, "/ext/health", "health.health", "{}"); !strings.Contains(body, `"healthy":false`) {
		t.Errorf("by RPC: %s", body)
	}
}

// TestServe goes through a socket, and ends while a client keeps its connection and
// another one has one to spare.
func TestServe(t *testing.T) {
	s, _, _ := newServer(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	spare, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer spare.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://"+ln.Addr().String()+"/ext/info", "application/json",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"info.getNetworkID"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if string(body) != `{"jsonrpc":"2.0","result":{"networkID":"12345"},"id":1}`+"\n" ||
		resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%v %s", resp.Header, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for range 20 { // to be stopped before it has begun
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	w, err := world.New(world.Params{Validators: 2, L1s: 1})
	if err != nil {
		f.Fatal(err)
	}
	s := New(Config{World: w, Live: &fakeLive{}})
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"platform.getAllValidatorsAt","params":{"height":"0"}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"platform.getSubnets","params":[{"ids":["x"]}]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, svc := range []*service{s.info, s.platform, s.proposers[w.CChainID()], s.health} {
			answer, err := svc.answer([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if answer != nil && !json.Valid(answer) {
				t.Errorf("answer is not JSON: %s", answer)
			}
		}
	})
}
