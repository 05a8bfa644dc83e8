package aggregator

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

func equal(n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		w[i] = 20
	}
	return w
}

// want asks and returns the result and the number of its signers.
func (b *bed) want(t *testing.T, req *Request) (*Result, int) {
	t.Helper()
	res, err := b.Aggregate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res, verified(t, b.sets.set.Load(), res.Signed, req.Quorum)
}

func (b *bed) wantError(t *testing.T, req *Request, kind Kind) *Error {
	t.Helper()
	_, err := b.Aggregate(t.Context(), req)
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v, want kind %v", err, kind)
	}
	return e
}

func (b *bed) asks() []int {
	var out []int
	for _, v := range b.peers.vals {
		out = append(out, v.asks())
	}
	return out
}

func TestAllSign(t *testing.T) {
	for _, n := range []int{1, 5, 64, 65, 200} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, newFakePeers(equal(n)...), nil)
			if _, signers := b.want(t, request(t, 1, 67, 33)); signers != n {
				t.Errorf("%d validators: %d signers", n, signers)
			}
			b.stop()
		})
	}
}

func TestQuorumOnlyAsksFew(t *testing.T) {
	b := newBed(t, newFakePeers(50, 20, 10, 10, 10), nil)
	b.want(t, request(t, 1, 50, 0))
	if got := b.asks(); got[2]+got[3]+got[4] != 0 {
		t.Errorf("asked %v: the two heaviest are enough", got)
	}
}

// TestZeroQuorum: nothing is ever signed by nobody.
func TestZeroQuorum(t *testing.T) {
	b := newBed(t, newFakePeers(equal(5)...), nil)
	if _, signers := b.want(t, request(t, 1, 0, 0)); signers == 0 {
		t.Error("no signers")
	}
}

func TestRepeatAsksNobody(t *testing.T) {
	b := newBed(t, newFakePeers(equal(5)...), nil)
	fresh, repeated := request(t, 1, 67, 0), request(t, 1, 67, 0)
	first, _ := b.want(t, fresh)
	before := b.asks()
	again, _ := b.want(t, repeated)
	if fresh.Asked != 5 || repeated.Asked != 0 {
		t.Errorf("%d and %d validators are said to be asked, want 5 and 0", fresh.Asked, repeated.Asked)
	}
	if !bytes.Equal(first.Signed, again.Signed) {
		t.Error("second answer is not the kept first one")
	}
	for i, n := range b.asks() {
		if n != before[i] {
			t.Errorf("validator %d was asked again", i)
		}
	}
}

// TestManyCallersOneRound is the promise that identical requests at the same
// time cause one question to each validator.
func TestManyCallersOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(after(50*time.Millisecond, signs))
		}
		b := newBed(t, peers, nil)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { b.want(t, request(t, 1, 67, 33)) })
		}
		wg.Wait()
		for i, n := range b.asks() {
			if n != 1 {
				t.Errorf("validator %d was asked %d times", i, n)
			}
		}
		b.stop()
	})
}

// TestWindow: a silent validator delays an answer by the window and no more.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		peers.vals[3].set(keepsSilent)
		b := newBed(t, peers, nil)
		start := time.Now()
		if _, signers := b.want(t, request(t, 1, 67, 33)); signers != 4 {
			t.Errorf("%d signers", signers)
		}
		if took := time.Since(start); took > b.cfg.Timing.Window {
			t.Errorf("took %v, the window is %v", took, b.cfg.Timing.Window)
		}
		// The quorum alone is not held up at all, and the buffer is not tried for again at once.
		start = time.Now()
		b.want(t, request(t, 1, 67, 33))
		b.want(t, request(t, 2, 67, 0))
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
		b.stop()
	})
}

// TestBufferTriedAgain: after a while a missing buffer is tried for again, and
// only the missing validator is asked.
func TestBufferTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		peers.vals[3].set(keepsSilent)
		b := newBed(t, peers, nil)
		b.want(t, request(t, 1, 67, 33))
		peers.vals[3].set(signs)
		<-time.After(b.cfg.RetryBuffer)
		if _, signers := b.want(t, request(t, 1, 67, 33)); signers != 5 {
			t.Errorf("%d signers after the second try", signers)
		}
		if got := b.asks(); got[0] != 1 || got[3] != 2 {
			t.Errorf("asked %v", got)
		}
		b.stop()
	})
}

// TestBufferTriedAgainAfterChange: the same where the result is made of signatures
// that were collected for the set before.
func TestBufferTriedAgainAfterChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		peers.vals[3].set(keepsSilent)
		b := newBed(t, peers, nil)
		b.want(t, request(t, 1, 67, 33))
		synctest.Wait() // a collection keeps its signatures a moment after its answer
		b.sets.set.Store(peers.validatorSet(t, 8, valset.Member{NodeID: chain.NodeID{0xee}, Weight: 1}))
		if _, signers := b.want(t, request(t, 1, 67, 30)); signers != 4 {
			t.Errorf("%d signers after the change", signers)
		}
		peers.vals[3].set(signs)
		<-time.After(b.cfg.RetryBuffer)
		if _, signers := b.want(t, request(t, 1, 67, 30)); signers != 5 {
			t.Errorf("%d signers after the second try", signers)
		}
		b.stop()
	})
}

// TestHeavierResultStays: when a signer was caught lying since, trying again for a
// buffer brings less than is known. That is not answered, nor tried again at once.
func TestHeavierResultStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(10)...)
		peers.vals[9].set(keepsSilent)
		b := newBed(t, peers, nil)
		b.want(t, request(t, 1, 67, 33))
		peers.vals[0].set(signsWrongly)
		b.want(t, request(t, 2, 67, 33))
		<-time.After(b.cfg.RetryBuffer)
		for range 2 {
			if _, signers := b.want(t, request(t, 1, 67, 33)); signers != 9 {
				t.Errorf("%d signers", signers)
			}
		}
		if got := b.asks(); got[9] > 3 {
			t.Errorf("asked %v: the buffer was tried for at once again", got)
		}
		b.stop()
	})
}

func TestNotAcceptedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals[:3] {
			v.set(refuses(2))
		}
		b := newBed(t, peers, nil)
		time.AfterFunc(120*time.Millisecond, func() {
			for _, v := range peers.vals {
				v.set(signs)
			}
		})
		start := time.Now()
		b.want(t, request(t, 1, 67, 0))
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("took %v", took)
		}
		b.stop()
	})
}

func TestFailures(t *testing.T) {
	down := func(v *fakeValidator) { v.down = true }
	with := func(r reply) func(*fakeValidator) { return func(v *fakeValidator) { v.reply = r } }
	cases := []struct {
		name   string
		break2 func(*fakeValidator) // what is wrong with two of five
		kind   Kind
		says   string
	}{
		{"unreachable", down, Unreachable, "connected 60.0%, signed 60.0%, unreachable 40.0%"},
		{"silent", with(keepsSilent), Unreachable, "connected 100.0%, signed 60.0%, silent 40.0%"},
		{"refused", with(refuses(2)), Refused, "refused 40.0% (code 2: 40.0%)"},
		{"empty", with(refuses(0)), Refused, "refused 40.0% (code 0: 40.0%)"},
		{"garbage", with(sends([]byte("no signature"))), Invalid, "invalid 40.0%"},
		{"wrong key", with(signsWrongly), Invalid, "invalid 40.0%"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := newFakePeers(equal(5)...)
				c.break2(peers.vals[1])
				c.break2(peers.vals[4])
				long := time.Now().Add(-time.Hour)
				b := newBed(t, peers, func(cfg *Config) { cfg.History = fakeHistory{message(t, 1).ID(): long} })
				start := time.Now()
				e := b.wantError(t, request(t, 1, 67, 0), c.kind)
				if !strings.Contains(e.Msg, c.says) {
					t.Errorf("message %q does not say %q", e.Msg, c.says)
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
				for _, v := range peers.vals {
					v.down, v.reply = false, signs
				}
				<-time.After(time.Second)
				b.want(t, request(t, 1, 67, 0))
				b.stop()
			})
		})
	}
}

func TestResolve(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	b := newBed(t, peers, nil)
	good := message(t, 1).Bytes()
	other, err := warp.New(5, sourceChain, nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := warp.New(testNetwork, chain.ID{0xaa}, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := warp.New(testNetwork, chain.ID{0xff}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		req  Request
		kind Kind
	}{
		{"nothing", Request{Quorum: 67}, BadRequest},
		{"not a message", Request{Message: []byte("hello"), Quorum: 67}, BadRequest},
		{"trailing bytes", Request{Message: append(good[:len(good):len(good)], 0), Quorum: 67}, BadRequest},
		{"other network", Request{Message: other.Bytes(), Quorum: 67}, BadRequest},
		{"unknown chain", Request{Message: stranger.Bytes(), Quorum: 67}, NotFound},
		{"node fails", Request{Message: broken.Bytes(), Quorum: 67}, NodeFailed},
		{"unknown subnet", Request{Message: good, SigningSubnetID: &chain.ID{9}, Quorum: 67}, NotFound},
		{"height above the tip", Request{Message: good, PChainHeight: 8, Quorum: 67}, BadRequest},
		{"too much", Request{Message: good, Quorum: 67, Buffer: 34}, BadRequest},
		{"negative", Request{Message: good, Quorum: -1}, BadRequest},
		{"bad justification", Request{Justification: []byte{0xff}, Quorum: 67}, BadRequest},
		{"justification of no subnet", Request{Justification: make([]byte, 32), Quorum: 67}, NotFound},
		{"justification of no L1", Request{Justification: append([]byte{0x11}, make([]byte, 31)...), Quorum: 67}, BadRequest},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { b.wantError(t, &c.req, c.kind) })
	}
	b.want(t, &Request{Message: good, PChainHeight: 7, Quorum: 67})
	if n := b.asks(); n[0] > 1 {
		t.Errorf("asked %v", n)
	}
}

// TestJustificationOnly: a request without message is for the P-Chain message
// that its justification is for.
func TestJustificationOnly(t *testing.T) {
	b := newBed(t, newFakePeers(equal(5)...), nil)
	b.sets.conversion = chain.ID{0x22}
	res, _ := b.want(t, &Request{Justification: append([]byte{0x11}, make([]byte, 31)...), Quorum: 67})
	want, err := warp.SubnetToL1Conversion(testNetwork, chain.ID{0x22})
	if err != nil || !bytes.HasPrefix(res.Signed, want.Bytes()) {
		t.Errorf("conversion: %v", err)
	}
	registration := []byte("bytes of a registration")
	res, _ = b.want(t, &Request{Justification: append([]byte{0x12, byte(len(registration))}, registration...), Quorum: 67})
	m, err := warp.ParseSigned(res.Signed)
	if err != nil {
		t.Fatal(err)
	}
	call, err := warp.ParseAddressedCall(m.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, registered, err := warp.ParseL1ValidatorRegistration(call.Payload); err != nil || registered {
		t.Errorf("registration: %v %v", registered, err)
	}
}

func TestKeptOverRestart(t *testing.T) {
	store := &mapStore{m: map[string][]byte{}}
	peers := newFakePeers(equal(5)...)
	first := newBed(t, peers, func(c *Config) { c.Store = store })
	want, _ := first.want(t, request(t, 1, 67, 0))
	first.stop()
	for _, v := range peers.vals {
		v.down = true
	}
	second := newBed(t, peers, func(c *Config) { c.Store = store })
	req := request(t, 1, 67, 0)
	got, _ := second.want(t, req)
	if !bytes.Equal(got.Signed, want.Signed) || req.Asked != 0 {
		t.Error("another answer after the restart")
	}
	second.stop()
	// A damaged record is not believed: it is collected again.
	for key, v := range store.m {
		for _, at := range []int{0, 20, len(v) - 1} {
			bad := bytes.Clone(v)
			bad[at] ^= 1
			store.m[key] = bad
			for _, p := range peers.vals {
				p.down = false
			}
			third := newBed(t, peers, func(c *Config) { c.Store = store })
			req := request(t, 1, 67, 0)
			if third.want(t, req); req.Asked == 0 {
				t.Errorf("damage at byte %d was served", at)
			}
			third.stop()
		}
	}
}

// TestSharedKey: two nodes with one key are one signer, asked once.
func TestSharedKey(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	twin := &fakeValidator{id: chain.NodeID{0xee}, key: peers.vals[0].key, weight: 20, reply: signs}
	peers.vals = append(peers.vals, twin)
	peers.byID[twin.id] = twin
	b := newBed(t, peers, nil)
	res, signers := b.want(t, request(t, 1, 67, 33))
	if signers != 5 || res.Weight != 120 || res.Total != 120 {
		t.Errorf("%d signers, weight %d of %d", signers, res.Weight, res.Total)
	}
	if n := peers.vals[0].asks() + twin.asks(); n != 1 {
		t.Errorf("shared key was asked for %d times", n)
	}
	// The other node answers when the first is away.
	peers.vals[0].down = true
	b.want(t, request(t, 2, 67, 33))
}

// TestKeyless: stake without a key counts in the total and makes a quorum impossible.
func TestKeyless(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	b := newBed(t, peers, nil)
	b.sets.set.Store(peers.validatorSet(t, 9, valset.Member{NodeID: chain.NodeID{1, 2}, Weight: 60}))
	e := b.wantError(t, request(t, 1, 67, 0), Keyless)
	if !strings.Contains(e.Msg, "without usable key 37.5%") {
		t.Error(e.Msg)
	}
	b.want(t, request(t, 1, 60, 0))
}
