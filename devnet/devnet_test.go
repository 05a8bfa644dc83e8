package devnet

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p/wire"
)

// start runs a network until the test ends, or the returned function is called. Its
// EVM chains are short where the test does not say how long.
func start(t *testing.T, cfg Config) (*Devnet, func()) {
	t.Helper()
	if cfg.Blocks == 0 {
		cfg.Blocks = 20
	}
	cfg.Drain = time.Minute // however busy the machine
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-d.Ready():
	case err := <-ended:
		cancel()
		t.Fatalf("run ended early: %v", err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	return d, stop
}

// TestSignaturesOfAll asks every validator for a signature over TCP and checks
// their aggregate against the set that the node API gives.
func TestSignaturesOfAll(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 4, Weights: Zipf, Seed: 11})
	u := d.Message(77)
	var sigs []*bls.Signature
	var keys []*bls.PublicKey
	for i, v := range d.World().Validators() {
		c := dial(t, d, i)
		sig := c.sign(t, d.World().CChainID(), u.Bytes(), nil)
		if sig == nil {
			t.Fatalf("validator %d does not sign", i)
		}
		sigs = append(sigs, sig)
		key, err := bls.ParsePublicKey(v.PublicKey[:])
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		if n := d.RequestCount(i); n != 1 {
			t.Errorf("validator %d counts %d requests", i, n)
		}
	}
	sum, aggregate := bls.SumKeys(keys), bls.SumSignatures(sigs)
	if !bls.Verify(&sum, bls.HashMessage(u.Bytes()), &aggregate) {
		t.Error("the aggregate is not valid")
	}
	if n := d.MessageRequests(u.ID()); n != 4 {
		t.Errorf("%d requests for the message, want 4", n)
	}
	if n := d.MessageRequests(d.Message(78).ID()); n != 0 {
		t.Errorf("%d requests for another message", n)
	}
}

func TestExpiredRegistration(t *testing.T) {
	t.Parallel()
	for _, l1s := range []int{0, 1} {
		d, _ := start(t, Config{Validators: 2, L1s: l1s})
		u, justification, err := d.ExpiredRegistration()
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, d, 1)
		if c.sign(t, chain.PlatformChainID, u.Bytes(), justification) == nil {
			t.Errorf("%d L1s: not signed", l1s)
		}
		if got := d.Facts("").Signature.Justification; got != "0x"+hex.EncodeToString(justification) {
			t.Errorf("the facts have another justification: %s", got)
		}
	}
}

func TestSilentShare(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 5, Silent: 0.4, Behaviours: map[int]Behaviour{0: validator.Refusing(-4, "no")}})
	u := d.Message(0)
	var signed, silent, refused int
	for i := range 5 {
		switch m := dial(t, d, i).ask(t, d.World().CChainID(), u.Bytes(), nil); {
		case m == nil:
			silent++
		case m.Kind == wire.KindAppError:
			refused++
		default:
			signed++
		}
	}
	if signed != 2 || silent != 2 || refused != 1 {
		t.Errorf("%d signed, %d silent, %d refused; want 2, 2, 1", signed, silent, refused)
	}
}

func TestStopStartHang(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 2})
	u := d.Message(5)
	c := dial(t, d, 1)
	addr := d.World().Validators()[1].NodeID
	before := live{d}.Address(1)
	d.Stop(1)
	d.Stop(1) // twice is once
	if !c.ended() {
		t.Error("the connection outlives its validator")
	}
	if _, err := tryDial(t, d, 1); err == nil {
		t.Error("a stopped validator accepts connections")
	}
	if (live{d}).Online(1) {
		t.Error("a stopped validator is online")
	}
	if err := d.Start(1); err != nil {
		t.Fatal(err)
	}
	if got := (live{d}).Address(1); got != before {
		t.Errorf("validator %s came back on %s, was on %s", addr, got, before)
	}
	c = dial(t, d, 1)
	if c.sign(t, d.World().CChainID(), u.Bytes(), nil) == nil {
		t.Error("not signed after the restart")
	}
	d.Hang(1)
	answer := c.later(t, d.World().CChainID(), d.Message(6).Bytes())
	if err := d.Start(1); err != nil {
		t.Fatal(err)
	}
	if m := <-answer; m == nil || m.Kind != wire.KindAppResponse {
		t.Errorf("after hanging: %+v", m)
	}
	d.SetBehaviour(1, d.WrongKey(1))
	if m := c.ask(t, d.World().CChainID(), u.Bytes(), nil); m == nil || m.Kind != wire.KindAppResponse {
		t.Errorf("with the wrong key: %+v", m)
	}
}

func TestPeersOfPeers(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 20})
	d.Stop(3)
	c := dial(t, d, 0)
	if n := len(c.peers); n != 15 {
		t.Errorf("%d addresses after the handshake, want 15", n)
	}
	seen := map[chain.NodeID]bool{}
	for i := range c.peers {
		p := &c.peers[i]
		if err := p.Verify(); err != nil {
			t.Error(err)
		}
		v, ok := d.World().Validator(p.NodeID())
		if !ok || v.Index == 0 || v.Index == 3 || seen[v.NodeID] || p.Addr != (live{d}).Address(v.Index) {
			t.Errorf("address %s of %s", p.Addr, p.NodeID())
		}
		seen[p.NodeID()] = true
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	messages := 1200
	d, _ := start(t, Config{Validators: 3, Messages: messages, L1s: 1})
	path := filepath.Join(t.TempDir(), "facts.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := d.Facts("http://example:1")
	if err := written.Write(path); err != nil {
		t.Fatal(err)
	}
	facts, err := ReadFacts(path)
	if err != nil || !reflect.DeepEqual(facts, written) {
		t.Fatalf("read back something else: %v", err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if facts.BaseURL != "http://example:1" || facts.Network != "fuji" || facts.ChainID != "43112" ||
		facts.BlockchainID != d.World().CChainID().String() || facts.SubnetID != d.World().L1s()[0].SubnetID.String() {
		t.Errorf("%+v", facts)
	}
	if d.Facts("").BaseURL != d.NodeURL() {
		t.Error("the default base URL is not the node API's")
	}
	if len(facts.Signature.Messages) != messages || facts.Signature.Message != facts.Signature.Messages[0] {
		t.Errorf("%d messages", len(facts.Signature.Messages))
	}
	distinct := map[string]bool{}
	for _, m := range facts.Signature.Messages {
		raw, err := hex.DecodeString(strings.TrimPrefix(m, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		u, err := warp.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := d.World().MessageIndex(u); !ok {
			t.Errorf("nobody signs %s", m)
		}
		distinct[m] = true
	}
	if len(distinct) != messages {
		t.Errorf("%d distinct messages", len(distinct))
	}
	if len(facts.Validators) != 3 || facts.Validators[2].NodeID != facts.NodeIDs[2] ||
		!strings.HasPrefix(facts.Validators[0].StakingAddress, "P-local1") {
		t.Errorf("%+v", facts.Validators)
	}
	body, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"rewardAddresses", "vertexHeight"} {
		if _, ok := members[absent]; ok {
			t.Errorf("the facts tell of %s, which does not exist", absent)
		}
	}
	if err := facts.Write(filepath.Join(t.TempDir(), "no", "such", "folder")); err == nil {
		t.Error("writing into a folder that does not exist succeeded")
	}
}

// TestSameSeedSameFacts: the facts of two networks differ only in their port.
func TestSameSeedSameFacts(t *testing.T) {
	t.Parallel()
	encoded := func(seed uint64) []byte {
		d, err := New(Config{Validators: 4, Seed: seed, Messages: 50, L1s: 1, Blocks: 20})
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(d.Facts("http://here"))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	first := encoded(1)
	if !bytes.Equal(first, encoded(1)) {
		t.Error("the same seed gives other facts")
	}
	if bytes.Equal(first, encoded(2)) {
		t.Error("another seed gives the same facts")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Validators: -1}, {Validators: 5000}, {Weights: "odd"}, {Messages: -1}, {Messages: 2_000_000},
		{Latency: -1}, {Silent: 1.5}, {Silent: -0.1}, {HTTPHost: "localhost"}, {L1s: 99},
		{StakingPort: 65535}, {Behaviours: map[int]Behaviour{5: validator.Silent}},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	d, stop := start(t, Config{Validators: 2})
	if err := d.Run(t.Context()); err == nil {
		t.Error("a network runs twice at a time")
	}
	taken := live{d}.Address(0).Port()
	other, err := New(Config{Validators: 1, StakingPort: taken})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Run(t.Context()); err == nil {
		t.Error("two networks share a port")
	}
	if err := other.Start(0); !errors.Is(err, ErrNotRunning) {
		t.Errorf("start after the end: %v", err)
	}
	stop()
	if err := d.Start(0); !errors.Is(err, ErrNotRunning) {
		t.Errorf("start after the end: %v", err)
	}
}

// goroutines returns the stacks of all goroutines but those of the HTTP library's
// pools, which look every ten seconds whether their server has ended.
func goroutines() []string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	return slices.DeleteFunc(strings.Split(string(all), "\n\n"), func(stack string) bool {
		return strings.Contains(stack, "fasthttp.(*workerPool).Start") || strings.Contains(stack, "fasthttp.updateServerDate")
	})
}

// TestNothingIsLeft: after the end there are as many goroutines as before.
func TestNothingIsLeft(t *testing.T) { // counts the goroutines of the process
	before := len(goroutines())
	for range 20 { // what tests before this one have closed needs a moment to end
		<-time.After(5 * time.Millisecond)
		before = min(before, len(goroutines()))
	}
	d, stop := start(t, Config{Validators: 6, Latency: time.Hour})
	d.Hang(4)
	d.Stop(5)
	for i := range 4 {
		c := dial(t, d, i)
		_ = c.later(t, d.World().CChainID(), d.Message(1).Bytes())
	}
	if _, err := tryDialTCP(t, d, 4); err != nil {
		t.Fatal(err)
	}
	if len(goroutines()) <= before+12 {
		t.Error("a network of six has not even a goroutine for each listener and connection")
	}
	stop()
	closeClients(t)
	var left []string
	for range 1000 { // goroutines of the runtime and of closed sockets need a moment
		if left = goroutines(); len(left) <= before {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before:\n%s", len(left), before, strings.Join(left, "\n\n"))
}
