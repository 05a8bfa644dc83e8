package network

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p"
	"quorate/p2p/wire"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	sig := bytes.Repeat([]byte{7}, 96)
	from := chain.NodeID{1}
	for name, c := range map[string]struct {
		in   p2p.Answer
		want aggregator.Answer
	}{
		"signature":       {p2p.Answer{Bytes: wire.AppendSignatureResponse(nil, sig)}, aggregator.Answer{Signature: sig}},
		"nothing":         {p2p.Answer{}, aggregator.Answer{Refused: true}},
		"empty signature": {p2p.Answer{Bytes: wire.AppendSignatureResponse(nil, nil)}, aggregator.Answer{Refused: true}},
		"garbage":         {p2p.Answer{Bytes: []byte{0xff}}, aggregator.Answer{}},
		"refusal":         {p2p.Answer{Err: p2p.ErrRefused, Code: 2}, aggregator.Answer{Refused: true, Code: 2}},
		"lost":            {p2p.Answer{Err: p2p.ErrDisconnected}, aggregator.Answer{Lost: true}},
	} {
		c.in.From, c.want.From = from, from
		got := translate(c.in)
		if got.From != c.want.From || got.Refused != c.want.Refused || got.Lost != c.want.Lost || got.Code != c.want.Code ||
			!bytes.Equal(got.Signature, c.want.Signature) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// FuzzTranslate: whatever a peer answers is a signature, a refusal or a lie, and
// never taken for a lost connection.
func FuzzTranslate(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(wire.AppendSignatureResponse(nil, bytes.Repeat([]byte{7}, 96)))
	f.Add(wire.AppendSignatureResponse(nil, bytes.Repeat([]byte{7}, 97)))
	f.Add([]byte{0x0a, 0x60, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		a := translate(p2p.Answer{Bytes: b})
		if a.Lost || a.Code != 0 || len(a.Signature) > len(b) || a.Refused && len(a.Signature) > 0 {
			t.Errorf("%x: %+v", b, a)
		}
		if len(a.Signature) > 0 && !bytes.Contains(b, a.Signature) {
			t.Errorf("%x: signature %x is not in it", b, a.Signature)
		}
	})
}

// TestQuestionErrors: a node that is away is told from one that is busy.
func TestQuestionErrors(t *testing.T) {
	t.Parallel()
	cert, err := p2p.LoadOrCreateCertificate(t.TempDir() + "/staker.pem")
	if err != nil {
		t.Fatal(err)
	}
	version := wire.Version{Name: "avalanchego", Major: 1, Minor: 14}
	proof := proofOfNothing()
	net, err := p2p.New(p2p.Config{NetworkID: 5, Certificate: cert, ClientVersion: version, IPProof: proof[:], MaxRequests: 1})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := warp.New(5, chain.ID{1}, []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	open := func() (aggregator.Question, error) {
		return peers{net}.Open(msg, nil, time.Second, func(aggregator.Answer) { t.Error("answered") })
	}
	q, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Ask(chain.NodeID{1}); err == nil || errors.Is(err, aggregator.ErrBusy) {
		t.Errorf("unknown node: %v", err)
	}
	if _, err := open(); !errors.Is(err, p2p.ErrBusy) {
		t.Errorf("above the bound: %v", err)
	}
	q.Close()
	if q, err = open(); err != nil {
		t.Fatal(err)
	}
	q.Close()
}
