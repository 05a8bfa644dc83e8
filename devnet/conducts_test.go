package devnet

import (
	"encoding/hex"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/hostile"
	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p/wire"
)

// TestGroups: who does what depends on the seed, is disjoint and is told in the facts.
func TestGroups(t *testing.T) {
	t.Parallel()
	cfg := Config{Validators: 100, Silent: 0.05, Byzantine: 0.2, Slow: 0.1, Flapping: 0.1, Seed: 8, Blocks: 20}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Liars()) != 20 || !reflect.DeepEqual(d.Liars(), again.Liars()) {
		t.Errorf("%d liars, the same again: %v", len(d.Liars()), reflect.DeepEqual(d.Liars(), again.Liars()))
	}
	facts := d.Facts("http://here")
	if !reflect.DeepEqual(facts, again.Facts("http://here")) {
		t.Error("the facts differ")
	}
	kinds := map[Kind]bool{}
	for k, l := range d.Liars() {
		v := d.World().Validators()[l.Index]
		if f := facts.Liars[k]; l.Index == 0 || l.NodeID != v.NodeID || f.NodeID != v.NodeID.String() || f.Kind != l.Kind {
			t.Errorf("liar %d: %+v, in the facts %+v", k, l, f)
		}
		kinds[l.Kind] = true
	}
	if len(kinds) != len(hostile.Kinds()) {
		t.Errorf("%d kinds among 20 liars", len(kinds))
	}
	conducts, _, err := d.cfg.conducts(d.World())
	if _, zero := conducts[0]; err != nil || len(conducts) != 45 || zero {
		t.Errorf("%d validators are not honest or not well, want 45 (%v)", len(conducts), err)
	}
	cfg.Behaviours = map[int]Behaviour{d.Liars()[0].Index: validator.Honest, 0: validator.Silent}
	if d, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if len(d.Liars()) != 19 {
		t.Errorf("%d liars besides one that behaves by itself", len(d.Liars()))
	}
}

func TestHostileConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Byzantine: 1.1}, {Slow: -1}, {Flapping: 2}, {SlowDelay: -1}, {FlapEvery: -1}, {HeightInterval: -1},
		{Refusing: -1}, {Late: 1.1}, {LateBy: -1}, {Jitter: -1}, {ReadRate: -1}, {Silent: 0.5, Refusing: 0.4, Late: 0.2},
		{Kinds: []Kind{"odd"}}, {Silent: 0.5, Byzantine: 0.5, Slow: 0.1},
		{L1Inactive: 1}, {L1s: 1, L1Members: 9}, {SharedKeys: 3}, {Keyless: 5},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if _, err := New(Config{Validators: 10, Silent: 0.7, Byzantine: 0.2, Flapping: 0.1}); err != nil {
		t.Errorf("shares of 1 in all: %v", err)
	}
}

// TestLiars asks one liar of each kind over TCP: none gives a valid signature,
// and what comes instead is of its kind.
func TestLiars(t *testing.T) {
	t.Parallel()
	n := len(hostile.Kinds()) + 1
	d, _ := start(t, Config{Validators: 2 * n, Byzantine: 0.5, Seed: 3})
	u := d.Message(77)
	h := bls.HashMessage(u.Bytes())
	got := map[Kind]string{}
	var pair []*bls.Signature
	var pairKeys []*bls.PublicKey
	for _, l := range d.Liars() {
		c := dial(t, d, l.Index)
		patience := 20 * time.Second
		if l.Kind == hostile.MidFrame { // the only one to wait out
			patience = 200 * time.Millisecond
		}
		m, what := c.outcome(t, d.World().CChainID(), u.Bytes(), patience)
		if m != nil && m.Kind == wire.KindAppResponse {
			sig, err := wire.ParseSignatureResponse(m.AppResponse.Bytes)
			if err != nil || len(sig) != bls.SignatureLen {
				what = "length"
			} else if point, err := bls.DecodeSignature(sig); err != nil {
				what = "encoding"
			} else {
				what = "invalid"
				key := d.World().Validators()[l.Index].Key.PublicKey()
				sum, aggregate := bls.SumKeys([]*bls.PublicKey{key}), bls.SumSignatures([]*bls.Signature{point})
				if bls.Verify(&sum, h, &aggregate) {
					t.Errorf("%s: a valid signature", l.Kind)
				}
				if l.Kind == hostile.Cancelling {
					pair, pairKeys = append(pair, point), append(pairKeys, key)
				}
			}
		}
		got[l.Kind] = what
	}
	want := map[Kind]string{
		hostile.WrongKey: "invalid", hostile.WrongMessage: "invalid", hostile.OutsideSubgroup: "invalid",
		hostile.Cancelling: "invalid", hostile.Garbage: "encoding", hostile.Infinity: "encoding",
		hostile.Length0: "length", hostile.Length1: "length", hostile.Length95: "length", hostile.Length97: "length",
		hostile.WrongID: "another answer", hostile.Flood: "another answer", hostile.MidFrame: "silence",
		hostile.Oversized: "too large", hostile.Bomb: "too large",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	sum, aggregate := bls.SumKeys(pairKeys), bls.SumSignatures(pair)
	if len(pair) != 2 || !bls.Verify(&sum, h, &aggregate) {
		t.Errorf("the sum of a cancelling pair (%d signatures) is not valid", len(pair))
	}
}

// outcome returns the answer to a request, or what came instead of it.
func (c *client) outcome(t *testing.T, chainID chain.ID, message []byte, patience time.Duration) (*wire.Message, string) {
	t.Helper()
	id := c.request(t, chainID, message, nil, wire.Ping{}.Append(nil))
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for {
		buf, err := wire.ReadFrame(c.conn, nil)
		m := new(wire.Message)
		if err == nil {
			err = c.codec.Parse(buf, m)
		}
		switch {
		case errors.Is(err, wire.ErrTooLarge), err != nil && strings.Contains(err.Error(), "decompressed size"):
			return nil, "too large"
		case err != nil:
			return nil, "silence"
		case m.Kind == wire.KindAppResponse && m.AppResponse.RequestID != id:
			return nil, "another answer"
		case m.Kind == wire.KindAppResponse:
			return m, ""
		}
	}
}

// TestSlowAndFlapping: both kinds sign, one late and one until it cuts the connection.
func TestSlowAndFlapping(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	d, _ := start(t, Config{
		Validators: 5, Slow: 0.4, SlowDelay: delay, Flapping: 0.4, FlapEvery: 2 * time.Second, Seed: 2,
	})
	groups := d.World().Pick(0, 0, 0.4, 0.4)
	u := d.Message(1)
	for _, i := range groups[2] {
		c := dial(t, d, i)
		begin := time.Now()
		m, what := c.outcome(t, d.World().CChainID(), u.Bytes(), 20*time.Second)
		if took := time.Since(begin); m == nil || took < delay {
			t.Errorf("slow validator %d: %s after %s", i, what, took)
		}
	}
	for _, i := range groups[3] {
		for range 2 {
			if c := dial(t, d, i); !c.ended() {
				t.Errorf("flapping validator %d does not end", i)
			}
		}
	}
	if len(groups[2]) != 2 || len(groups[3]) != 2 {
		t.Errorf("groups %v", groups)
	}
}

// TestL1: the members of the L1, active or not, sign the messages of its chain,
// and nobody else answers for it.
func TestL1(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 5, L1s: 1, L1Members: 4, L1Inactive: 1, SharedKeys: 1, Messages: 20})
	l := d.World().L1s()[0]
	facts := d.Facts("")
	if facts.L1 == nil || facts.L1.SubnetID != l.SubnetID.String() || facts.L1.BlockchainID != l.ChainID.String() ||
		facts.SubnetID != facts.L1.SubnetID || len(facts.L1.Messages) != 20 {
		t.Fatalf("facts: %+v", facts.L1)
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(facts.L1.Messages[7], "0x"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := warp.Parse(raw)
	if err != nil || u.ID() != d.L1Message(0, 7).ID() || u.SourceChainID != l.ChainID {
		t.Fatalf("message 7 of the facts: %+v, %v", u, err)
	}
	var sigs []*bls.Signature
	var keys []*bls.PublicKey
	for i := range 5 {
		c := dial(t, d, i)
		sig := c.sign(t, l.ChainID, raw, nil)
		if (sig != nil) != (i < 4) {
			t.Errorf("validator %d signs for the L1: %v", i, sig != nil)
		}
		if sig != nil {
			sigs, keys = append(sigs, sig), append(keys, d.World().Validators()[i].Key.PublicKey())
		}
		for _, wrong := range []struct {
			chainID chain.ID
			message []byte
		}{{l.ChainID, d.Message(7).Bytes()}, {d.World().CChainID(), raw}} {
			if m := c.ask(t, wrong.chainID, wrong.message, nil); m != nil && m.Kind != wire.KindAppError {
				t.Errorf("validator %d signs for a chain what another has emitted", i)
			}
		}
		if c.sign(t, d.World().CChainID(), d.Message(7).Bytes(), nil) == nil {
			t.Errorf("validator %d does not sign for the C-Chain", i)
		}
	}
	sum, aggregate := bls.SumKeys(keys), bls.SumSignatures(sigs)
	if !bls.Verify(&sum, bls.HashMessage(raw), &aggregate) {
		t.Error("the aggregate of the L1 is not valid")
	}
	if without := mustNew(t, Config{Blocks: 20}).Facts("http://here"); without.L1 != nil || without.Liars != nil {
		t.Errorf("a network without L1 and liars tells of them: %+v", without)
	}
}

func mustNew(t *testing.T, cfg Config) *Devnet {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHeightInterval(t *testing.T) {
	t.Parallel()
	d, stop := start(t, Config{HeightInterval: 5 * time.Millisecond})
	eventually(t, "the P-Chain has grown by three", func() bool { return d.World().Height() >= 3 })
	stop()
	height := d.World().Height()
	<-time.After(20 * time.Millisecond)
	if d.World().Height() != height {
		t.Error("blocks after the end")
	}
}

// TestThousand: a thousand validators of every sort run in one process.
func TestThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand listeners")
	}
	t.Parallel()
	n := 1000
	d, _ := start(t, Config{
		Validators: n, Weights: Zipf, Byzantine: 0.2, Slow: 0.1, Flapping: 0.1, Silent: 0.1,
		L1s: 1, L1Members: n / 10, L1Inactive: n / 100, L1Underfunded: n / 100, SharedKeys: n / 20, Keyless: n / 20,
	})
	ports := map[uint16]bool{}
	for i := range n {
		ports[(live{d}).Address(i).Port()] = true
	}
	if len(ports) != n {
		t.Errorf("%d ports", len(ports))
	}
	if dial(t, d, 0).sign(t, d.World().CChainID(), d.Message(1).Bytes(), nil) == nil {
		t.Error("the first validator does not sign")
	}
}
