package aggregator

import (
	"errors"
	"testing"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

// twoHeights has a set of three validators at the proposed height 7, and of two at 5.
func twoHeights(t *testing.T) (b *bed, peers *fakePeers) {
	t.Helper()
	peers = newFakePeers(40, 30, 30)
	before, err := valset.New(chain.PrimaryNetworkID, 5, peers.members()[:2], nil)
	if err != nil {
		t.Fatal(err)
	}
	return newBed(t, peers, func(c *Config) { c.Sets = twoSets{c.Sets.(*fakeSets), before} }), peers
}

// icmTo returns an interchain message to a chain, sent by a contract at from.
func icmTo(t *testing.T, to chain.ID, from evm.Address) []byte {
	t.Helper()
	m := icm.Message{Destination: to, Data: []byte{1}}
	msg, err := warp.New(testNetwork, sourceChain, warp.AddressedCall{SourceAddress: from[:], Payload: m.Append(nil)}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return msg.Bytes()
}

// TestHeightOfDestination: a message is signed by the validators of the epoch of the
// chain that is going to check it, if the client names it or the message does; by those
// of a height that is written out; and else by those of the proposed height.
func TestHeightOfDestination(t *testing.T) {
	l1, young, unknown := chain.ID{0x1}, chain.ID{0x2}, chain.ID{0x3}
	plain := message(t, 1).Bytes()
	toL1 := icmTo(t, l1, icm.Messengers[0])
	for name, c := range map[string]struct {
		req  Request
		want uint64 // 0: refused
	}{
		"nothing is known":                 {Request{Message: plain}, 7},
		"a chain is named":                 {Request{Message: plain, Destination: &l1}, 5},
		"one without epochs":               {Request{Message: plain, Destination: &young}, 7},
		"one that is not followed":         {Request{Message: plain, Destination: &unknown}, 0},
		"the message names it":             {Request{Message: toL1}, 5},
		"both do":                          {Request{Message: toL1, Destination: &young}, 7},
		"the message's is not followed":    {Request{Message: icmTo(t, unknown, icm.Messengers[0])}, 7},
		"another contract's message":       {Request{Message: icmTo(t, l1, evm.Address{9})}, 7},
		"the proposed height in writing":   {Request{Message: toL1, AtHeight: true}, 7},
		"a height in writing":              {Request{Message: plain, PChainHeight: 5, AtHeight: true, Destination: &young}, 5},
		"a height beside an unknown chain": {Request{Message: plain, PChainHeight: 5, Destination: &unknown}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			b, peers := twoHeights(t)
			fake := b.sets
			fake.epochs = map[chain.ID]uint64{l1: 5, young: 0}
			c.req.Quorum = 67
			res, err := b.Aggregate(t.Context(), &c.req)
			if c.want == 0 {
				var e *Error
				if !errors.As(err, &e) || e.Kind != BadRequest {
					t.Errorf("%v, %v", res, err)
				}
				return
			}
			if err != nil || res.Height != c.want {
				t.Fatalf("%+v, %v; want height %d", res, err, c.want)
			}
			r := b.Repeatable(&c.req)
			if r == nil {
				return
			}
			if got := b.Again(r); got == nil || got.Height != c.want {
				t.Errorf("again: %+v, want height %d", got, c.want)
			}
			if n := testing.AllocsPerRun(100, func() { b.Again(r) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
			// The same validators at another height: nobody is asked, and the height is the new one.
			asked := 0
			for _, v := range peers.vals {
				asked += v.asks()
			}
			fake.set.Store(peers.validatorSet(t, 9))
			if c.want == 7 {
				if got := b.Again(r); got == nil || got.Height != 9 {
					t.Errorf("at the next height: %+v", got)
				}
			}
			for _, v := range peers.vals {
				asked -= v.asks()
			}
			if asked != 0 {
				t.Errorf("%d were asked again", -asked)
			}
		})
	}
}
