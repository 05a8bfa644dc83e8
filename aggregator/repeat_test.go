package aggregator

import (
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

// repeatable returns a request as it was read once, which it must be possible to do.
func (b *bed) repeatable(t *testing.T, req *Request) *Repeat {
	t.Helper()
	r := b.Repeatable(req)
	if r == nil {
		t.Fatal("the request is not repeatable")
	}
	return r
}

// TestAgain: Again returns what Aggregate does, the same result, and nothing before.
func TestAgain(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	peers.vals[3].set(keepsSilent)
	b := newBed(t, peers, nil)
	req := request(t, 1, 67, 0)
	r := b.repeatable(t, req)
	if b.Again(r) != nil {
		t.Error("an answer before anything was signed")
	}
	b.want(t, req)
	kept, _ := b.want(t, req)
	before := b.Rates().Kept
	if got := b.Again(r); got != kept {
		t.Errorf("%v, want the kept result", got)
	}
	if after := b.Rates().Kept; after != before+1 {
		t.Errorf("counted %d times", after-before)
	}
	if more := request(t, 1, 67, 33); b.Again(b.repeatable(t, more)) != nil {
		t.Error("an answer to a request for more stake than has signed")
	}
	other := newBed(t, b.peers, nil)
	if other.want(t, req); other.Again(r) != nil {
		t.Error("an answer to what another aggregator has read")
	}
	if n := testing.AllocsPerRun(100, func() { b.Again(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// unknownSets are sets of which none is at hand.
type unknownSets struct{ *fakeSets }

func (unknownSets) Current(chain.ID) (*valset.Set, bool) { return nil, false }

// TestAgainIsOutdated: a kept result is no answer once other validators sign, once it is
// forgotten, once the set is not known to be the present one, or is empty.
func TestAgainIsOutdated(t *testing.T) {
	b := newBed(t, newFakePeers(equal(5)...), nil)
	req := request(t, 1, 67, 0)
	b.want(t, req)
	r := b.repeatable(t, req)
	if b.Again(r) == nil {
		t.Fatal("no answer")
	}
	was := b.sets.set.Load()
	b.sets.set.Store(newFakePeers(20, 20, 20, 20, 21).validatorSet(t, 8))
	if b.Again(r) != nil {
		t.Error("an answer that other validators have signed")
	}
	b.sets.set.Store(&valset.Set{Height: 9, Digest: was.Digest})
	if b.Again(r) != nil {
		t.Error("an answer although nobody can sign")
	}
	b.sets.set.Store(newFakePeers(equal(5)...).validatorSet(t, 10)) // another height, the same content
	if b.Again(r) == nil {
		t.Error("no answer although the same validators sign")
	}
	b.Aggregator.sets = unknownSets{b.sets}
	if b.Again(r) != nil {
		t.Error("an answer although the set is not at hand")
	}
	b.Aggregator.sets = b.sets

	small := newBed(t, b.peers, func(c *Config) { c.KeptBytes = 1 }) // one result
	small.want(t, req)
	r = small.repeatable(t, req)
	if small.Again(r) == nil {
		t.Fatal("no answer")
	}
	small.want(t, request(t, 2, 67, 0))
	if small.Again(r) != nil {
		t.Error("an answer that was forgotten")
	}
}

// TestAgainTriesForTheBuffer: a result without the buffer serves for as long as the
// buffer was tried for just now, not longer.
func TestAgainTriesForTheBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		peers.vals[3].set(keepsSilent)
		b := newBed(t, peers, nil)
		req := request(t, 1, 67, 33)
		b.want(t, req)
		r := b.repeatable(t, req)
		if b.Again(r) == nil {
			t.Error("no answer although the buffer was tried for")
		}
		<-time.After(b.cfg.RetryBuffer)
		if b.Again(r) != nil {
			t.Error("an answer although the buffer is to be tried for again")
		}
		b.stop()
	})
}

// TestNotRepeatable: requests about which a node may have to be asked are not read once
// for all, nor are those that are refused.
func TestNotRepeatable(t *testing.T) {
	t.Parallel()
	b := newBed(t, newFakePeers(equal(5)...), nil)
	subnet := chain.ID{1}
	for name, change := range map[string]func(*Request){
		"height":        func(r *Request) { r.PChainHeight = 7 },
		"no message":    func(r *Request) { r.Message, r.Justification = nil, make([]byte, 32) },
		"garbage":       func(r *Request) { r.Message = r.Message[:20] },
		"unknown chain": func(r *Request) { r.Message[6] = 0xee },
		"shares":        func(r *Request) { r.Quorum, r.Buffer = 60, 50 },
	} {
		req := request(t, 1, 67, 0)
		change(req)
		if b.Repeatable(req) != nil {
			t.Errorf("%s: repeatable", name)
		}
	}
	req := request(t, 1, 67, 0)
	req.SigningSubnetID = &subnet
	if r := b.repeatable(t, req); r.subnet != subnet || r.Network() != testNetwork || r.Size() < len(req.Message) {
		t.Errorf("%+v", r)
	}
}
