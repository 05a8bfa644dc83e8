package validator

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// liar runs one liar of a kind in a bubble, and a client of it.
func liar(t *testing.T, kind Kind, test func(f *fixture, c *client, message []byte)) {
	t.Helper()
	t.Run(string(kind), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, func(cfg *Config) {
				conduct, err := Lie(kind, Means{Own: cfg.Identity.Key, Wrong: cfg.World.WrongKey(1), FloodRate: 2000})
				if err != nil {
					t.Fatal(err)
				}
				cfg.Conduct = conduct
			})
			f.hostile = true
			defer f.stop()
			test(f, f.join(), f.world.Message(9).Bytes())
		})
	})
}

// TestSignatureLies: what a client gets as the signature, kind by kind.
func TestSignatureLies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind  Kind
		len   int
		fault error // of decoding
	}{
		{WrongKey, 96, nil},
		{WrongMessage, 96, nil},
		{OutsideSubgroup, 96, nil},
		{Cancelling, 96, nil},
		{Garbage, 96, bls.ErrEncoding},
		{Infinity, 96, bls.ErrInfinity},
		{Length0, 0, bls.ErrLength},
		{Length1, 1, bls.ErrLength},
		{Length95, 95, bls.ErrLength},
		{Length97, 97, bls.ErrLength},
	} {
		liar(t, tc.kind, func(f *fixture, c *client, message []byte) {
			t := f.t
			m := c.ask(c.request(f.world.CChainID(), message, nil))
			if m == nil || m.Kind != wire.KindAppResponse {
				t.Fatalf("answer %+v", m)
			}
			body := m.AppResponse.Bytes
			sig := body[max(len(body)-tc.len, 0):]
			if len(sig) != tc.len || !bytes.Equal(body, wire.AppendSignatureResponse(nil, sig)) {
				t.Fatalf("%x is not an answer with %d bytes", body, tc.len)
			}
			if _, err := bls.DecodeSignature(sig); !errors.Is(err, tc.fault) {
				t.Errorf("decoding: %v, want %v", err, tc.fault)
			}
			if tc.fault == nil && f.valid(m, message) {
				t.Error("the signature is valid")
			}
			again := c.ask(c.request(f.world.CChainID(), message, nil))
			if again == nil || !bytes.Equal(again.AppResponse.Bytes, m.AppResponse.Bytes) {
				t.Errorf("the second answer differs: %+v", again)
			}
			if m := c.ask(c.request(f.world.CChainID(), f.world.Message(1<<40).Bytes(), nil)); m == nil || m.Kind != wire.KindAppError {
				t.Errorf("a message that was never emitted: %+v", m)
			}
		})
	}
}

// TestCancellingPair: each of two signatures is invalid and their sum is valid.
func TestCancellingPair(t *testing.T) {
	t.Parallel()
	first, second := bls.SecretKeyFromSeed([]byte("first")), bls.SecretKeyFromSeed([]byte("second"))
	wrong := bls.SecretKeyFromSeed([]byte("wrong"))
	var shifts [][]byte
	for _, message := range [][]byte{[]byte("one message"), []byte("another")} {
		h := bls.HashMessage(message)
		sign := func(key *bls.SecretKey, negative bool) *bls.Signature {
			sig := key.Sign(message)
			r := cancelling(wrong, negative)(&Request{Message: message}, func() Reply {
				return Reply{Outcome: Answered, Signature: sig[:]}
			})
			lied, err := bls.DecodeSignature(r.Signature)
			if err != nil {
				t.Fatal(err)
			}
			public := bls.SumKeys([]*bls.PublicKey{key.PublicKey()})
			if alone := bls.SumSignatures([]*bls.Signature{lied}); bls.Verify(&public, h, &alone) {
				t.Error("valid alone")
			}
			shifts = append(shifts, r.Signature)
			return lied
		}
		sum := bls.SumSignatures([]*bls.Signature{sign(first, false), sign(second, true)})
		keys := bls.SumKeys([]*bls.PublicKey{first.PublicKey(), second.PublicKey()})
		if !bls.Verify(&keys, h, &sum) {
			t.Error("the sum is not valid")
		}
	}
	if bytes.Equal(shifts[0], shifts[2]) {
		t.Error("the same point for all messages")
	}
}

// TestOutsideSubgroup multiplies by the order of the subgroup less one, which
// gives the negative of exactly the points inside.
func TestOutsideSubgroup(t *testing.T) {
	t.Parallel()
	order, _ := new(big.Int).SetString("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001", 16)
	order.Sub(order, big.NewInt(1))
	inside := func(point [bls.SignatureLen]byte) bool {
		add := func(a, b [bls.SignatureLen]byte) [bls.SignatureLen]byte {
			p, err := bls.DecodeSignature(a[:])
			q, err2 := bls.DecodeSignature(b[:])
			if err = errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			return bls.SumSignatures([]*bls.Signature{p, q}).Bytes()
		}
		product := point
		for i := order.BitLen() - 2; i >= 0; i-- {
			if product = add(product, product); order.Bit(i) == 1 {
				product = add(product, point)
			}
		}
		product[0] ^= signBit
		return product == point
	}
	if !inside(bls.SecretKeyFromSeed([]byte("any")).Sign([]byte("message"))) {
		t.Fatal("a signature is not in the subgroup: the test is wrong")
	}
	if inside(outsideSubgroup()) {
		t.Error("the point is in the subgroup")
	}
}

func TestWrongID(t *testing.T) {
	t.Parallel()
	liar(t, WrongID, func(f *fixture, c *client, message []byte) {
		req := c.request(f.world.CChainID(), message, nil)
		if m := c.ask(req); m != nil {
			f.t.Errorf("an answer to the request: %+v", m)
		}
		c.send(req.Append(nil))
		m := c.until(wire.KindAppResponse)
		if !f.valid(m, message) || m.AppResponse.RequestID == req.RequestID || m.AppResponse.RequestID%2 == 0 {
			f.t.Errorf("%+v", m)
		}
	})
}

func TestFlood(t *testing.T) {
	t.Parallel()
	liar(t, Flood, func(f *fixture, c *client, message []byte) {
		t := f.t
		answers := 0
		end := time.After(time.Second)
		for done := false; !done; {
			select {
			case m := <-c.in:
				if m.Kind == wire.KindAppResponse {
					answers++
				}
			case <-end:
				done = true
			}
		}
		if answers < 1900 || answers > 2000 {
			t.Errorf("%d answers in a second, want 2000", answers)
		}
		req := c.request(f.world.CChainID(), message, nil)
		req.RequestID = 1001 // in a flood of 2000 the IDs go to 39
		if m := c.ask(req); m != nil {
			t.Errorf("an answer to the request: %+v", m)
		}
	})
}

// fullPeer has no room for anything.
type fullPeer struct{ tried int }

func (p *fullPeer) Send([]byte) bool { p.tried++; return false }
func (p *fullPeer) Close()           {}

// TestFloodRate: rates below one batch in ten milliseconds hold too, and a peer
// without room changes nothing.
func TestFloodRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		peer := new(fullPeer)
		ctx, cancel := context.WithCancel(t.Context())
		go flood(3)(ctx, chain.ID{1}, peer)
		<-time.After(2100 * time.Millisecond)
		cancel()
		synctest.Wait()
		if peer.tried != 6 {
			t.Errorf("%d batches at three a second in 2.1 s", peer.tried)
		}
	})
}

func TestMidFrame(t *testing.T) {
	t.Parallel()
	liar(t, MidFrame, func(f *fixture, c *client, message []byte) {
		t := f.t
		if m := c.ask(c.request(f.world.CChainID(), message, nil)); m != nil {
			t.Errorf("answer %+v", m)
		}
		for range 4 { // requests keep the connection open; nothing more comes, not even a Pong or a Ping
			c.send(c.request(f.world.CChainID(), message, nil).Append(nil), wire.Ping{Uptime: 100}.Append(nil))
			<-time.After(20 * time.Second)
		}
		if msgs, open := c.pending(); len(msgs) != 0 || !open {
			t.Errorf("%d messages, open: %v", len(msgs), open)
		}
		_ = c.tls.NetConn().Close()
		synctest.Wait()
		if n := f.v.Connections(); n != 0 {
			t.Errorf("%d connections after the client's end", n)
		}
	})
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Oversized, Bomb} {
		liar(t, kind, func(f *fixture, c *client, message []byte) {
			c.send(c.request(f.world.CChainID(), message, nil).Append(nil))
			if m := c.until(wire.KindAppResponse); m != nil {
				f.t.Errorf("answer %+v", m)
			}
			want := wire.ErrTooLarge
			if kind == Bomb && !errors.Is(c.fault, want) {
				want = wire.ErrMalformed // a bomb that does not state its size
			}
			if !errors.Is(c.fault, want) {
				f.t.Errorf("the client sees %v", c.fault)
			}
		})
	}
}

// TestBombFrames: both are small, well-formed up to the limit, and refused.
func TestBombFrames(t *testing.T) {
	t.Parallel()
	codec, err := wire.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		stated bool
		want   string
	}{{true, "zstd states 67108864 bytes"}, {false, "decompressed size exceeds configured limit"}} {
		frame := bombFrame(tc.stated)
		if len(frame) > 4096 {
			t.Errorf("a bomb of %d bytes", len(frame))
		}
		var m wire.Message
		err := codec.Parse(frame[wire.FrameHeaderSize:], &m)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("stated %v: %v", tc.stated, err)
		}
	}
}

func TestFlapping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(cfg *Config) { cfg.Conduct.Unasked = Flapping(3 * time.Second) })
		defer f.stop()
		message := f.world.Message(9).Bytes()
		for range 3 {
			begin := time.Now()
			c := f.join()
			if m := c.ask(c.request(f.world.CChainID(), message, nil)); !f.valid(m, message) {
				t.Errorf("answer %+v", m)
			}
			if c.until(wire.KindAppResponse) != nil {
				t.Error("a second answer")
			}
			if up := c.closedAt.Sub(begin); up != 3*time.Second {
				t.Errorf("cut after %s", up)
			}
		}
	})
}

func TestKinds(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, kind := range Kinds() {
		if seen[kind] {
			t.Errorf("%s twice", kind)
		}
		seen[kind] = true
	}
	got, err := ParseKinds(" wrong-key, ,flood,wrong-key")
	if err != nil || !slices.Equal(got, []Kind{WrongKey, Flood, WrongKey}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := ParseKinds(""); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
	if _, err := ParseKinds("wrong-key,fast"); err == nil || !strings.Contains(err.Error(), `"fast"`) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := Lie("fast", Means{}); err == nil {
		t.Error("a lie of an unknown kind")
	}
}
