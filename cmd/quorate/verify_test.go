package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/source/platform"
)

var (
	testChain  = chain.ID{0xc}
	testSubnet = chain.ID{0x5}
)

// fakeNode has one chain, of testSubnet, and one set for each subnet at height 7.
type fakeNode struct {
	network uint32
	sets    map[chain.ID][]valset.Member
	fault   error
}

func (n *fakeNode) NetworkID(context.Context) (uint32, error) { return n.network, n.fault }

func (n *fakeNode) ProposedHeight(context.Context) (uint64, error) { return 7, nil }

func (n *fakeNode) SubnetOf(_ context.Context, id chain.ID) (chain.ID, error) {
	if id != testChain {
		return chain.ID{}, fmt.Errorf("chain %s: %w", id, platform.ErrNotFound)
	}
	return testSubnet, nil
}

func (n *fakeNode) ValidatorsAt(_ context.Context, subnet chain.ID, height uint64) ([]valset.Member, error) {
	if height != 7 {
		return nil, platform.ErrFutureHeight
	}
	return n.sets[subnet], nil
}

// signers are test validators: each weighs 10, and one more, without a key, 5.
type signers struct {
	keys    []*bls.SecretKey
	members []valset.Member
	set     *valset.Set
}

func newSigners(t *testing.T, n int) *signers {
	t.Helper()
	s := &signers{members: []valset.Member{{NodeID: chain.NodeID{0xee}, Weight: 5}}}
	for i := range n {
		key := bls.SecretKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, 32))
		public := key.PublicKey().Compressed()
		s.keys = append(s.keys, key)
		s.members = append(s.members, valset.Member{NodeID: chain.NodeID{byte(i)}, PublicKey: public[:], Weight: 10})
	}
	var err error
	if s.set, err = valset.New(testSubnet, 7, s.members, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// sign returns the message signed by the given validators.
func (s *signers) sign(t *testing.T, msg *warp.Unsigned, who ...int) []byte {
	t.Helper()
	bits := warp.NewBits(len(s.keys))
	var sigs []*bls.Signature
	for _, i := range who {
		at, ok := s.set.Index(chain.NodeID{byte(i)})
		if !ok {
			t.Fatalf("validator %d is not in the set", i)
		}
		bits.Set(at)
		raw := s.keys[i].Sign(msg.Bytes())
		sig, err := bls.DecodeSignature(raw[:])
		if err != nil {
			t.Fatal(err)
		}
		sigs = append(sigs, sig)
	}
	sum := bls.SumSignatures(sigs).Bytes()
	return warp.AppendSigned(nil, msg.Bytes(), bits.Signers(), &sum)
}

func mustMessage(t *testing.T, network uint32, source chain.ID) *warp.Unsigned {
	t.Helper()
	msg, err := warp.New(network, source, warp.AddressedCall{Payload: []byte("payload")}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestVerify(t *testing.T) {
	t.Parallel()
	s := newSigners(t, 5)
	node := &fakeNode{network: 12345, sets: map[chain.ID][]valset.Member{
		testSubnet: s.members, chain.PrimaryNetworkID: s.members[:3],
		{9}: {{NodeID: chain.NodeID{1}, Weight: 4}},
	}}
	check := func(signed []byte, subnet *chain.ID, height uint64, quorum int) (string, error) {
		var out strings.Builder
		err := verify(t.Context(), node, signed, subnet, height, quorum, &out)
		if strings.HasSuffix(out.String(), "\nvalid\n") != (err == nil) {
			t.Errorf("error %v, but it printed %q", err, out.String())
		}
		return out.String(), err
	}
	rejects := func(want string, signed []byte, subnet *chain.ID, quorum int) {
		t.Helper()
		if _, err := check(signed, subnet, 0, quorum); !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a verdict with %q", err, want)
		}
	}
	msg := mustMessage(t, 12345, testChain)
	four := s.sign(t, msg, 0, 1, 3, 4)
	out, err := check(four, nil, 0, 67)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		msg.ID().String(), testSubnet.String() + " at P-Chain height 7", "signers 4 of 5, 72.72% of the stake",
		"  " + chain.NodeID{3}.String() + " 18.18%\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, chain.NodeID{2}.String()) {
		t.Errorf("a validator that did not sign is listed in\n%s", out)
	}
	if _, err := check(four, &testSubnet, 7, 72); err != nil { // 40 of 55 is 72.7 %
		t.Error(err)
	}
	rejects("72.72% of the stake signed, the quorum is 73%", four, nil, 73)
	rejects("0.00% of the stake signed", s.sign(t, msg), nil, 1)
	rejects("signers that are not among the 2 validators", four, &chain.PrimaryNetworkID, 67)
	rejects("has no validators", four, &chain.ID{9}, 67)
	rejects("has no validators", four, &chain.ID{8}, 67)
	rejects("it is of network 5, and the node's network is 12345", s.sign(t, mustMessage(t, 5, testChain), 0, 1, 2, 3), nil, 67)
	rejects("its source chain", s.sign(t, mustMessage(t, 12345, chain.ID{0xd}), 0, 1, 2, 3), nil, 67)
	rejects("malformed", four[:len(four)-1], nil, 67)
}

// A signed message with any one bit flipped is not valid.
func TestVerifyFlips(t *testing.T) {
	t.Parallel()
	s := newSigners(t, 5)
	node := &fakeNode{network: 12345, sets: map[chain.ID][]valset.Member{testSubnet: s.members}}
	signed := s.sign(t, mustMessage(t, 12345, testChain), 0, 1, 2, 3)
	for p := range signed {
		flipped := bytes.Clone(signed)
		flipped[p] ^= 1 << (p % 8)
		var out strings.Builder
		if err := verify(t.Context(), node, flipped, nil, 0, 50, &out); !errors.Is(err, errInvalid) {
			t.Errorf("bit %d of byte %d flipped: %v\n%s", p%8, p, err, out.String())
		}
	}
}

// Faults of the node are no verdict.
func TestVerifyNodeFails(t *testing.T) {
	t.Parallel()
	s := newSigners(t, 2)
	node := &fakeNode{network: 12345, sets: map[chain.ID][]valset.Member{testSubnet: s.members}}
	signed := s.sign(t, mustMessage(t, 12345, testChain), 0, 1)
	if err := verify(t.Context(), node, signed, nil, 8, 67, &strings.Builder{}); !errors.Is(err, platform.ErrFutureHeight) || errors.Is(err, errInvalid) {
		t.Errorf("height above the tip: %v", err)
	}
	node.fault = errors.New("out of order")
	if err := verify(t.Context(), node, signed, nil, 0, 67, &strings.Builder{}); !errors.Is(err, node.fault) || errors.Is(err, errInvalid) {
		t.Errorf("node that fails: %v", err)
	}
}

// The subnet of the P-Chain is known without a question.
func TestVerifyPlatformChain(t *testing.T) {
	t.Parallel()
	s := newSigners(t, 3)
	node := &fakeNode{network: 12345, sets: map[chain.ID][]valset.Member{chain.PrimaryNetworkID: s.members}}
	signed := s.sign(t, mustMessage(t, 12345, chain.PlatformChainID), 0, 1, 2)
	if err := verify(t.Context(), node, signed, nil, 0, 67, &strings.Builder{}); err != nil {
		t.Error(err)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight, total uint64
		want          string
	}{
		{0, 0, "0.00%"},
		{0, 3, "0.00%"},
		{2, 3, "66.66%"},
		{3, 3, "100.00%"},
		{669999, 1000000, "66.99%"},
		{1<<64 - 1, 1<<64 - 1, "100.00%"},
	} {
		if got := share(c.weight, c.total); got != c.want {
			t.Errorf("%d of %d: got %s, want %s", c.weight, c.total, got, c.want)
		}
	}
}
