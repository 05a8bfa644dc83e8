package platform

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/source"
)

// The answers below marked "live" are those of avalanchego v1.14.2, network "local".

const (
	key1 = "900c9b119b5c82d781d4b49be78c3fc7ae65f2b435b7ed9e3a8b9a03e475edff86d8a64827fec8db23a6f236afbf127d"
	key2 = "a058ff27a4c570664bfa28e34939368539a1340867951943d0f56fa8aac13bc09ff64f341acf8cc0cef74202c2d6f9c0"
	node1,
	node2 = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ"
	primary = "11111111111111111111111111111111LpoYY"
	someID  = "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM"
)

// script answers each method with a fixed body: a result, or an error message
// if it starts with "error: ".
type script map[string]string

func (s script) client(t *testing.T) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req struct {
			ID     uint64
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		want := map[string]string{"info": "/ext/info", "platform": "/ext/bc/P"}
		api, _, _ := strings.Cut(req.Method, ".")
		answer, ok := s[req.Method+string(req.Params)]
		if !ok {
			answer, ok = s[req.Method]
		}
		if !ok || r.URL.Path != want[api] {
			answer = `error: rpc: can't find method "` + req.Method + `"`
		}
		if msg, failed := strings.CutPrefix(answer, "error: "); failed {
			text, _ := json.Marshal(msg)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":%s,"data":null},"id":%d}`, text, req.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","result":%s,"id":%d}`, answer, req.ID)
	}))
	t.Cleanup(srv.Close)
	caller, err := source.Open(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(caller.Close)
	return New(caller)
}

func nodeID(tb testing.TB, s string) chain.NodeID {
	tb.Helper()
	id, err := chain.ParseNodeID(s)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func parseID(tb testing.TB, s string) chain.ID {
	tb.Helper()
	id, err := chain.ParseID(s)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func raw(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// want fails the test unless got, err is as wanted.
func want[T any](t *testing.T, what string, got T, err error, exp T) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, exp) {
		t.Errorf("%s: got %+v, %v, want %+v", what, got, err, exp)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	c := script{ // live
		"info.getNetworkID":                       `{"networkID":"12345"}`,
		"info.getNodeID":                          `{"nodeID":"` + node1 + `","nodePOP":{"publicKey":"0x` + key1 + `","proofOfPossession":"0x8b"}}`,
		"info.getNodeIP":                          `{"ip":"127.0.0.1:29653"}`,
		"info.getNodeVersion":                     `{"version":"avalanchego/1.14.2","databaseVersion":"v1.4.5","rpcProtocolVersion":"45","gitCommit":"","vmVersions":{"avm":"avalanchego/1.14.2","evm":"v1.14.2","platform":"avalanchego/1.14.2"}}`,
		"info.peers{}":                            `{"numPeers":"1","peers":[{"ip":"127.0.0.1:35494","publicIP":"127.0.0.1:29655","nodeID":"` + node2 + `","version":"avalanchego/1.14.2","upgradeTime":1607144400,"lastSent":"2026-11-20T21:30:23Z","lastReceived":"2026-11-20T21:30:23Z","observedUptime":"0","trackedSubnets":["` + primary + `"],"supportedACPs":[],"objectedACPs":[],"benched":[]}]}`,
		`info.peers{"nodeIDs":["` + node1 + `"]}`: `{"numPeers":"0","peers":[]}`,
		`info.getBlockchainID{"alias":"C"}`:       `{"blockchainID":"` + someID + `"}`,
		"info.getBlockchainID":                    "error: there is no ID with alias: nope",
		`info.isBootstrapped{"chain":"P"}`:        `{"isBootstrapped":true}`,
		"info.isBootstrapped":                     "error: there is no chain with alias/ID 'nope'",
	}.client(t)
	ctx := t.Context()
	network, err := c.NetworkID(ctx)
	want(t, "network ID", network, err, 12345)
	id, err := c.NodeID(ctx)
	want(t, "node ID", id, err, nodeID(t, node1))
	ip, err := c.NodeIP(ctx)
	want(t, "node IP", ip.String(), err, "127.0.0.1:29653")
	v, err := c.Program(ctx)
	want(t, "program", v, err, Program{Version{"avalanchego", 1, 14, 2}, 45})
	want(t, "version text", v.String(), nil, "avalanchego/1.14.2")
	peers, err := c.Peers(ctx)
	if err != nil || len(peers) != 1 || peers[0].NodeID != nodeID(t, node2) ||
		peers[0].PublicIP.String() != "127.0.0.1:29655" || peers[0].IP.Port() != 35494 || peers[0].Version != "avalanchego/1.14.2" {
		t.Errorf("peers: got %+v, %v", peers, err)
	}
	peers, err = c.Peers(ctx, nodeID(t, node1))
	want(t, "peers by ID", peers, err, []Peer{})
	bc, err := c.BlockchainID(ctx, "C")
	want(t, "blockchain ID", bc, err, parseID(t, someID))
	if _, err := c.BlockchainID(ctx, "nope"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown alias: got %v", err)
	}
	done, err := c.IsBootstrapped(ctx, "P")
	want(t, "bootstrapped", done, err, true)
	if _, err := c.IsBootstrapped(ctx, "nope"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown chain: got %v", err)
	}
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	l1 := `{"isPermissioned":false,"controlKeys":["P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"],"threshold":"1","locktime":"0","subnetTransformationTxID":"` + primary +
		`","conversionID":"` + someID + `","managerChainID":"` + someID + `","managerAddress":"0x0feedc0de0000000000000000000000000000000"}`
	plain := `{"isPermissioned":true,"controlKeys":[],"threshold":"0","locktime":"0","subnetTransformationTxID":"` + primary +
		`","conversionID":"` + primary + `","managerChainID":"` + primary + `","managerAddress":null}`
	c := script{
		"platform.getHeight":                                     `{"height":"17"}`,                                                  // live
		"platform.getProposedHeight":                             `{"height":"12"}`,                                                  // live
		`platform.validatedBy{"blockchainID":"` + primary + `"}`: `{"subnetID":"` + primary + `"}`,                                   // live
		"platform.validatedBy":                                   `error: problem retrieving blockchain "` + someID + `": not found`, // live
		`platform.getSubnet{"subnetID":"` + someID + `"}`:        l1,
		`platform.getSubnet{"subnetID":"` + primary + `"}`:       plain,
		"platform.getSubnet":                                     "error: not found", // live
	}.client(t)
	ctx := t.Context()
	h, err := c.Height(ctx)
	want(t, "height", h, err, 17)
	h, err = c.ProposedHeight(ctx)
	want(t, "proposed height", h, err, 12)
	id, err := c.SubnetOf(ctx, chain.PlatformChainID)
	want(t, "subnet of the P-Chain", id, err, chain.PrimaryNetworkID)
	if _, err = c.SubnetOf(ctx, chain.ID{9}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown blockchain: got %v", err)
	}
	s, err := c.Subnet(ctx, parseID(t, someID))
	want(t, "L1", s, err, &Subnet{
		ConversionID: parseID(t, someID), ManagerChainID: parseID(t, someID),
		ManagerAddress: raw(t, "0feedc0de0000000000000000000000000000000"),
	})
	if s != nil && !s.IsL1() {
		t.Error("an L1 is none")
	}
	id, err = c.ConversionOf(ctx, parseID(t, someID))
	want(t, "conversion", id, err, parseID(t, someID))
	id, err = c.ConversionOf(ctx, chain.PrimaryNetworkID)
	want(t, "conversion of a plain subnet", id, err, chain.ID{})
	s, err = c.Subnet(ctx, chain.PrimaryNetworkID)
	want(t, "subnet", s, err, &Subnet{Permissioned: true})
	if s != nil && s.IsL1() {
		t.Error("a plain subnet is an L1")
	}
	if _, err = c.Subnet(ctx, chain.ID{9}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown subnet: got %v", err)
	}
}

func TestSets(t *testing.T) {
	t.Parallel()
	c := script{
		`platform.getAllValidatorsAt{"height":"5"}`: `{"validatorSets":{"` + primary + `":{"validators":[` +
			`{"publicKey":"0x` + key2 + `","weight":"7","nodeIDs":["` + node2 + `","` + node1 + `"]},` +
			`{"publicKey":"0x` + key1 + `","weight":"3","nodeIDs":["NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN"]}],"totalWeight":"15"},` +
			`"` + someID + `":{"validators":[],"totalWeight":"0"}}}`,
		"platform.getAllValidatorsAt": "error: failed to get validator sets at 100: failed to fetch validator set at unfinalized height: current P-chain height (0) < requested P-Chain height (100)", // live
		`platform.getValidatorsAt{"height":"5","subnetID":"` + primary + `"}`: `{"` + node2 + `":{"publicKey":null,"weight":"7"},"` +
			node1 + `":{"publicKey":"0x` + key1 + `","weight":"18446744073709551615"}}`,
		`platform.getValidatorsAt{"height":"5","subnetID":"` + someID + `"}`: `{}`, // live
		"platform.getValidatorsAt": "error: failed to get validator set: failed to fetch validator set at unfinalized height with SubnetID = " + primary + ": current P-chain height (0) < requested P-Chain height (100)",
	}.client(t)
	ctx := t.Context()
	all, err := c.AllValidatorsAt(ctx, 5)
	want(t, "all sets", all, err, map[chain.ID][]Member{
		chain.PrimaryNetworkID: {
			{nodeID(t, node2), raw(t, key2), 7},
			{nodeID(t, node1), raw(t, key2), 0},
			{nodeID(t, "NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN"), raw(t, key1), 3},
			{Weight: 5},
		},
		parseID(t, someID): {},
	})
	if _, err = c.AllValidatorsAt(ctx, 100); !errors.Is(err, ErrFutureHeight) || errors.Is(err, ErrNotFound) {
		t.Errorf("future height: got %v", err)
	}
	if _, err = c.ValidatorsAt(ctx, chain.PrimaryNetworkID, 100); !errors.Is(err, ErrFutureHeight) {
		t.Errorf("future height of one subnet: got %v", err)
	}
	one, err := c.ValidatorsAt(ctx, chain.PrimaryNetworkID, 5)
	members := []Member{{nodeID(t, node1), raw(t, key1), math.MaxUint64}, {nodeID(t, node2), nil, 7}}
	slices.SortFunc(members, func(a, b Member) int { return slices.Compare(a.NodeID[:], b.NodeID[:]) })
	want(t, "one set", one, err, members)
	one, err = c.ValidatorsAt(ctx, parseID(t, someID), 5)
	want(t, "empty set", one, err, []Member{})
}

func TestOldNode(t *testing.T) {
	t.Parallel()
	c := script{}.client(t)
	if _, err := c.AllValidatorsAt(t.Context(), 5); !errors.Is(err, ErrNoMethod) || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	var rpc *source.RPCError
	if _, err := c.NodeIP(t.Context()); !errors.Is(err, ErrNoMethod) || !errors.As(err, &rpc) {
		t.Errorf("got %v", err)
	}
}

func TestCurrentValidators(t *testing.T) {
	t.Parallel()
	c := script{
		"platform.getCurrentValidators": `{"validators":[` +
			`{"txID":"` + someID + `","startTime":"1791000000","endTime":"1822514400","weight":"20","nodeID":"` + node1 + `"},` +
			`{"nodeID":"` + node2 + `","weight":"30","startTime":"1791000000","validationID":"` + someID + `","publicKey":"0x` + key2 +
			`","remainingBalanceOwner":{"locktime":"0","threshold":"1","addresses":[]},"minNonce":"0","balance":"2047"}]}`,
	}.client(t)
	got, err := c.CurrentValidators(t.Context(), chain.ID{1})
	want(t, "validators", got, err, []CurrentValidator{
		{NodeID: nodeID(t, node1), Weight: 20},
		{NodeID: nodeID(t, node2), Weight: 30, L1: true, Balance: 2047, ValidationID: parseID(t, someID)},
	})
}

func TestL1Validators(t *testing.T) {
	t.Parallel()
	entry := func(node, balance string) string {
		return `{"nodeID":"` + node + `","weight":"1","validationID":"` + someID + `","balance":"` + balance + `"}`
	}
	c := script{
		"platform.getCurrentValidators": `{"validators":[` + strings.Join([]string{
			entry(node1, "5"), entry(node1, "0"), entry(node2, "9"), `{"nodeID":"` + node2 + `","weight":"1"}`,
		}, ",") + `]}`,
	}.client(t)
	got, err := c.L1Validators(t.Context(), chain.ID{1})
	want(t, "L1 validators", got, err, []L1Validator{{nodeID(t, node1), 1, 5}, {nodeID(t, node1), 1, 0}})
	if _, err := (script{}).client(t).L1Validators(t.Context(), chain.ID{1}); !errors.Is(err, ErrNoMethod) {
		t.Errorf("got %v", err)
	}
}

// Packages that cannot import this one go by the methods.
func TestRefusalMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                              error
		notFound, futureHeight, noMethod bool
	}{{ErrNotFound, true, false, false}, {ErrFutureHeight, false, true, false}, {ErrNoMethod, false, false, true}} {
		var kind interface {
			NotFound() bool
			FutureHeight() bool
			NoMethod() bool
		}
		if !errors.As(fmt.Errorf("wrapped: %w", c.err), &kind) || kind.NotFound() != c.notFound ||
			kind.FutureHeight() != c.futureHeight || kind.NoMethod() != c.noMethod {
			t.Errorf("%v: got %+v", c.err, kind)
		}
	}
}

// A node that answers nonsense must be told from one that refuses.
func TestNonsense(t *testing.T) {
	t.Parallel()
	set := func(s string) string { return `{"validatorSets":{"` + primary + `":` + s + `}}` }
	entry := func(key, weight, ids string) string {
		return set(`{"validators":[{"publicKey":"` + key + `","weight":` + weight + `,"nodeIDs":[` + ids + `]}],"totalWeight":"9"}`)
	}
	all := func(ctx context.Context, c *Client) error { _, err := c.AllValidatorsAt(ctx, 1); return err }
	one := func(ctx context.Context, c *Client) error { _, err := c.ValidatorsAt(ctx, chain.ID{}, 1); return err }
	current := func(ctx context.Context, c *Client) error { _, err := c.CurrentValidators(ctx, chain.ID{}); return err }
	height := func(ctx context.Context, c *Client) error { _, err := c.Height(ctx); return err }
	version := func(ctx context.Context, c *Client) error { _, err := c.Program(ctx); return err }
	network := func(ctx context.Context, c *Client) error { _, err := c.NetworkID(ctx); return err }
	subnet := func(ctx context.Context, c *Client) error { _, err := c.Subnet(ctx, chain.ID{1}); return err }
	validatedBy := func(ctx context.Context, c *Client) error { _, err := c.SubnetOf(ctx, chain.ID{1}); return err }
	peers := func(ctx context.Context, c *Client) error { _, err := c.Peers(ctx); return err }
	for _, c := range []struct {
		name, method, answer string
		ask                  func(context.Context, *Client) error
	}{
		{"no sets", "platform.getAllValidatorsAt", `{}`, all},
		{"subnet ID", "platform.getAllValidatorsAt", `{"validatorSets":{"x":{"validators":[],"totalWeight":"0"}}}`, all},
		{"no total", "platform.getAllValidatorsAt", set(`{"validators":[]}`), all},
		{"short key", "platform.getAllValidatorsAt", entry("0x12", `"1"`, `"`+node1+`"`), all},
		{"key without 0x", "platform.getAllValidatorsAt", entry(key1, `"1"`, `"`+node1+`"`), all},
		{"key not hex", "platform.getAllValidatorsAt", entry("0x"+strings.Repeat("z", 96), `"1"`, `"`+node1+`"`), all},
		{"weight above total", "platform.getAllValidatorsAt", entry("0x"+key1, `"10"`, `"`+node1+`"`), all},
		{"negative weight", "platform.getAllValidatorsAt", entry("0x"+key1, `"-1"`, `"`+node1+`"`), all},
		{"huge weight", "platform.getAllValidatorsAt", entry("0x"+key1, `"18446744073709551616"`, `"`+node1+`"`), all},
		{"no node", "platform.getAllValidatorsAt", entry("0x"+key1, `"1"`, ``), all},
		{"node ID", "platform.getAllValidatorsAt", entry("0x"+key1, `"1"`, `"x"`), all},
		{"node ID", "platform.getValidatorsAt", `{"x":{"publicKey":null,"weight":"1"}}`, one},
		{"no weight", "platform.getValidatorsAt", `{"` + node1 + `":{"publicKey":null}}`, one},
		{"null entry", "platform.getValidatorsAt", `{"` + node1 + `":null}`, one},
		{"key", "platform.getValidatorsAt", `{"` + node1 + `":{"publicKey":"0x","weight":"1"}}`, one},
		{"list", "platform.getValidatorsAt", `[]`, one},
		{"none", "platform.getCurrentValidators", `{}`, current},
		{"node ID", "platform.getCurrentValidators", `{"validators":[{"nodeID":"x","weight":"1"}]}`, current},
		{"validation ID", "platform.getCurrentValidators", `{"validators":[{"nodeID":"` + node1 + `","weight":"1","balance":"1"}]}`, current},
		{"no height", "platform.getHeight", `{}`, height},
		{"height", "platform.getHeight", `{"height":"proposed"}`, height},
		{"reserved height", "platform.getHeight", `{"height":"18446744073709551615"}`, height},
		{"version", "info.getNodeVersion", `{"version":"1.14.2"}`, version},
		{"version number", "info.getNodeVersion", `{"version":"avalanchego/1.14.x"}`, version},
		{"network ID", "info.getNetworkID", `{"networkID":"4294967296"}`, network},
		{"no network ID", "info.getNetworkID", `{}`, network},
		{"conversion ID", "platform.getSubnet", `{"conversionID":"x"}`, subnet},
		{"manager", "platform.getSubnet", `{"managerAddress":"0xz"}`, subnet},
		{"subnet ID", "platform.validatedBy", `{"subnetID":"x"}`, validatedBy},
		{"peer", "info.peers", `{"peers":[{"nodeID":"x"}]}`, peers},
	} {
		t.Run(c.method+" "+c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.ask(t.Context(), script{c.method: c.answer}.client(t)); !errors.Is(err, source.ErrBadAnswer) {
				t.Errorf("got %v", err)
			}
		})
	}
}

//go:embed testdata/recorded.txt
var recorded string

func FuzzSets(f *testing.F) {
	for line := range strings.Lines(recorded) {
		var answer struct{ Result json.RawMessage }
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(answer.Result))
	}
	f.Add([]byte(`{"validatorSets":{"` + primary + `":{"validators":[{"publicKey":"0x` + key1 + `","weight":"7","nodeIDs":["` + node1 + `"]}],"totalWeight":"9"}}}`))
	f.Add([]byte(`{"` + node1 + `":{"publicKey":null,"weight":"7"},"` + node2 + `":{"publicKey":"0x` + key2 + `","weight":3}}`))
	f.Add([]byte(`{"validators":[{"nodeID":"` + node1 + `","weight":"1","balance":"1","validationID":"` + someID + `"}]}`))
	f.Add([]byte(`{"peers":[{"nodeID":"` + node1 + `","publicIP":"[::1]:1","ip":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var all setsAnswer
		if json.Unmarshal(b, &all) == nil {
			if sets, err := all.sets(); err == nil {
				for id, members := range sets {
					checkMembers(t, id, members)
				}
			}
		}
		var one setAnswer
		if json.Unmarshal(b, &one) == nil {
			if members, err := one.members(); err == nil {
				checkMembers(t, chain.ID{}, members)
			}
		}
		var current currentAnswer
		if json.Unmarshal(b, &current) == nil {
			_, _ = current.validators()
		}
		var peers peersAnswer
		if json.Unmarshal(b, &peers) == nil {
			_, _ = peers.peers()
		}
	})
}

func checkMembers(t *testing.T, id chain.ID, members []Member) {
	t.Helper()
	for _, m := range members {
		if m.PublicKey != nil && len(m.PublicKey) != publicKeyLen {
			t.Fatalf("subnet %s: key of %d bytes", id, len(m.PublicKey))
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("avalanchego/1.14.2")
	f.Add("evm/v1.14.2")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		if back, err := ParseVersion(v.String()); err != nil || back != v {
			t.Fatalf("%q: got %v, %v", s, back, err)
		}
	})
}
