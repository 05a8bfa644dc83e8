package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

var own, wrong = bls.SecretKeyFromSeed([]byte("own")), bls.SecretKeyFromSeed([]byte("wrong"))

// told is what a liar of a kind does with a request that is to be signed.
func told(t *testing.T, kind Kind) (*validator.Request, validator.Reply) {
	t.Helper()
	conduct, err := Lie(kind, Means{Own: own, Wrong: wrong})
	if err != nil {
		t.Fatal(err)
	}
	req := &validator.Request{ChainID: chain.ID{7}, ID: 5, Message: []byte("message")}
	sig := own.Sign(req.Message)
	refusal := validator.Reply{Outcome: validator.Refused, Code: 2}
	if r := conduct.Reply(req, func() validator.Reply { return refusal }); r.Outcome == validator.Answered || r.Outcome == validator.Written {
		t.Errorf("%s: a refusal becomes %+v", kind, r)
	}
	return req, conduct.Reply(req, func() validator.Reply { return validator.Reply{Outcome: validator.Answered, Signature: sig[:]} })
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
		req, r := told(t, tc.kind)
		if r.Outcome != validator.Answered || len(r.Signature) != tc.len {
			t.Errorf("%s: %+v", tc.kind, r)
		}
		point, err := bls.DecodeSignature(r.Signature)
		if !errors.Is(err, tc.fault) {
			t.Errorf("%s: decoding: %v, want %v", tc.kind, err, tc.fault)
		}
		if tc.fault != nil {
			continue
		}
		key, sum := bls.SumKeys([]*bls.PublicKey{own.PublicKey()}), bls.SumSignatures([]*bls.Signature{point})
		if bls.Verify(&key, bls.HashMessage(req.Message), &sum) {
			t.Errorf("%s: the signature is valid", tc.kind)
		}
		if _, again := told(t, tc.kind); !bytes.Equal(again.Signature, r.Signature) {
			t.Errorf("%s: the second answer differs", tc.kind)
		}
	}
}

// TestFrames: what liars put on the connection, kind by kind.
func TestFrames(t *testing.T) {
	t.Parallel()
	req, r := told(t, WrongID)
	var m wire.Message
	codec, err := wire.NewCodec()
	if err == nil {
		err = codec.Parse(r.Raw[wire.FrameHeaderSize:], &m)
	}
	sig := own.Sign(req.Message)
	if err != nil || m.Kind != wire.KindAppResponse || m.AppResponse.RequestID == req.ID || m.AppResponse.RequestID%2 == 0 ||
		!bytes.Equal(m.AppResponse.Bytes, wire.AppendSignatureResponse(nil, sig[:])) {
		t.Errorf("%v: %+v", err, m.AppResponse)
	}
	_, r = told(t, MidFrame)
	if _, err := wire.ReadFrame(bytes.NewReader(r.Raw), nil); !errors.Is(err, io.ErrUnexpectedEOF) || r.After != validator.Stall {
		t.Errorf("half a frame: %v, then %v", err, r.After)
	}
	_, r = told(t, Oversized)
	if _, err := wire.ReadFrame(bytes.NewReader(r.Raw), nil); !errors.Is(err, wire.ErrTooLarge) || r.After != validator.Stall {
		t.Errorf("a frame above the limit: %v, then %v", err, r.After)
	}
}

// TestCancellingPair: each of two signatures is invalid and their sum is valid.
func TestCancellingPair(t *testing.T) {
	t.Parallel()
	first, second := bls.SecretKeyFromSeed([]byte("first")), bls.SecretKeyFromSeed([]byte("second"))
	var shifts [][]byte
	for _, message := range [][]byte{[]byte("one message"), []byte("another")} {
		h := bls.HashMessage(message)
		sign := func(key *bls.SecretKey, negative bool) *bls.Signature {
			sig := key.Sign(message)
			r := cancelling(wrong, negative)(&validator.Request{Message: message}, func() validator.Reply {
				return validator.Reply{Outcome: validator.Answered, Signature: sig[:]}
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

// TestFlood: a flood answers nothing, and sends at its rate.
func TestFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conduct, err := Lie(Flood, Means{FloodRate: 2000})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		peer := &counter{room: 1 << 10, stop: cancel}
		go conduct.Unasked(ctx, chain.ID{1}, peer)
		<-time.After(1005 * time.Millisecond)
		cancel()
		synctest.Wait()
		answers := 0
		for _, batch := range peer.batches {
			for r := (&reader{batch}); len(r.rest) > 0; answers++ {
				r.frame(t)
			}
		}
		if answers != 2000 {
			t.Errorf("%d answers in a second, want 2000", answers)
		}
		if r := conduct.Reply(&validator.Request{}, nil); r.Outcome != validator.Dropped {
			t.Errorf("an answer to a request: %+v", r)
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
