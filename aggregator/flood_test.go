package aggregator

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// What a validator takes of one identity: so many questions open at a time, and
// one after the other so long each.
const (
	floodWindow  = 400
	floodService = time.Millisecond
)

// queuedPeers are fake validators that take their time, one question at a time.
type queuedPeers struct {
	*fakePeers
	mu   sync.Mutex
	free map[chain.NodeID]time.Time // when each has done what it was asked
}

type queuedQuestion struct {
	of    *queuedPeers
	inner Question
}

func (p *queuedPeers) Open(msg *warp.Unsigned, justification []byte, ttl time.Duration, deliver func(Answer)) (Question, error) {
	late := func(a Answer) {
		p.mu.Lock()
		at := p.free[a.From]
		p.mu.Unlock()
		if left := time.Until(at); left > 0 { // the race detector may crash on a timer that has expired (golang/go#78156)
			<-time.After(left)
		}
		deliver(a)
	}
	inner, err := p.fakePeers.Open(msg, justification, ttl, late)
	return &queuedQuestion{p, inner}, err
}

func (q *queuedQuestion) Ask(id chain.NodeID) error {
	q.of.mu.Lock()
	at := q.of.free[id]
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if time.Until(at) > floodWindow*floodService {
		q.of.mu.Unlock()
		return ErrBusy
	}
	q.of.free[id] = at.Add(floodService)
	q.of.mu.Unlock()
	return q.inner.Ask(id)
}

func (q *queuedQuestion) Close() { q.inner.Close() }

// floodSource is a node that takes 2 ms for each question, and 20 ms for a set
// of the past.
type floodSource struct{ members []valset.Member }

func (s *floodSource) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *floodSource) ProposedHeight(ctx context.Context) (uint64, error) {
	return 100_000, s.wait(ctx, 2*time.Millisecond)
}

func (s *floodSource) AllValidatorsAt(ctx context.Context, _ uint64) (map[chain.ID][]valset.Member, error) {
	all := map[chain.ID][]valset.Member{chain.PrimaryNetworkID: s.members}
	for i := range byte(40) {
		all[chain.ID{0x50, i}] = s.members
	}
	return all, s.wait(ctx, 20*time.Millisecond)
}

func (s *floodSource) ValidatorsAt(ctx context.Context, _ chain.ID, _ uint64) ([]valset.Member, error) {
	return s.members, s.wait(ctx, 20*time.Millisecond)
}

func (s *floodSource) L1Validators(ctx context.Context, _ chain.ID) ([]valset.L1Validator, error) {
	return nil, s.wait(ctx, 2*time.Millisecond)
}

func (s *floodSource) L1Fee(ctx context.Context) (uint64, error) {
	return 1, s.wait(ctx, 2*time.Millisecond)
}

func (s *floodSource) SubnetOf(ctx context.Context, id chain.ID) (chain.ID, error) {
	if err := s.wait(ctx, 2*time.Millisecond); err != nil || id == sourceChain {
		return chain.PrimaryNetworkID, err
	}
	return chain.ID{}, noChain{}
}

func (s *floodSource) ConversionOf(ctx context.Context, _ chain.ID) (chain.ID, error) {
	return chain.ID{}, s.wait(ctx, 2*time.Millisecond)
}

func (s *floodSource) EpochOf(context.Context, chain.ID) (uint64, uint64, error) { return 0, 0, nil }

type noChain struct{}

func (noChain) Error() string  { return "no such chain" }
func (noChain) NotFound() bool { return true }

// floodRequest returns request i of a flood: a quarter each of invented chains over 40
// subnets, random payloads of a known chain, those with a justification as large
// as may be, and those for old heights.
func floodRequest(t testing.TB, i int) *Request {
	r := invented(t, i, fmt.Sprintf("127.0.0.%d", 2+i/4%8))
	subnet := chain.ID{0x50, byte(i / 4 % 40)}
	switch i % 4 {
	case 0:
		m, err := warp.New(testNetwork, chain.ID{0xee, byte(i >> 16), byte(i >> 8), byte(i)}, []byte("payload"))
		if err != nil {
			t.Fatal(err)
		}
		r.Message, r.SigningSubnetID = m.Bytes(), &subnet
	case 1:
		if i%8 == 1 {
			r.SigningSubnetID = &subnet
		}
	case 2:
		r.Justification = binary.BigEndian.AppendUint64(make([]byte, 2040), uint64(i))
	case 3:
		r.PChainHeight = 99_000 - uint64(i)
	}
	return r
}

// TestFloodOfGarbage: 500 requests a second that nobody can answer, from eight
// clients, do not hurt one who asks for 20 a second (of 5 validators) or 2 a
// second (of 200, the whole way of 1,000). Time is fake: what is measured is waiting
// for one another, not this machine.
func TestFloodOfGarbage(t *testing.T) {
	for _, c := range []struct {
		validators, perSecond int
		seconds               int
	}{{5, 20, 6}, {torture.Pick(200, 1000), 2, 4}} {
		t.Run(fmt.Sprint(c.validators), func(t *testing.T) {
			quiet, quietFailed := floodRun(t, c.validators, c.perSecond, c.seconds, 0)
			flooded, failed := floodRun(t, c.validators, c.perSecond, c.seconds, 500)
			if quietFailed != 0 || failed != 0 {
				t.Errorf("honest requests failed: %d without the flood, %d with it", quietFailed, failed)
			}
			t.Logf("p99 %v without the flood, %v with it", quiet, flooded)
			if flooded > 3*quiet {
				t.Errorf("p99 %v, which is %.1f times %v", flooded, float64(flooded)/float64(quiet), quiet)
			}
		})
	}
}

// floodRun asks for messages at a steady rate beside a flood and returns the
// 99th percentile of the time to an answer, and how many had none.
func floodRun(t *testing.T, validators, perSecond, seconds, flood int) (p99 time.Duration, failed int) {
	synctest.Test(t, func(t *testing.T) {
		peers := &queuedPeers{fakePeers: newFakePeers(equal(validators)...), free: make(map[chain.NodeID]time.Time)}
		for _, v := range peers.vals {
			v.set(after(5*time.Millisecond, signsKnown))
		}
		keeper, err := valset.NewKeeper(valset.Config{Source: &floodSource{peers.members()}, MaxLookback: 4096})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- keeper.Run(ctx) }()
		b := newBed(t, peers.fakePeers, func(c *Config) { c.Sets, c.Peers = keeper, peers })
		<-time.After(time.Second)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var took []time.Duration
		first := request(t, 5000, 67, 0) // whoever asks has asked before
		first.Client = "127.0.0.1"
		if _, err := b.Aggregate(ctx, first); err != nil {
			t.Fatal(err)
		}
		if flood > 0 {
			wg.Go(func() {
				for i := range flood * seconds {
					wg.Go(func() { _, _ = b.Aggregate(ctx, floodRequest(t, i)) })
					<-time.After(time.Second / time.Duration(flood))
				}
			})
		}
		for i := range perSecond * seconds {
			wg.Go(func() {
				req := request(t, i, 67, 0)
				req.Client = "127.0.0.1"
				began := time.Now()
				_, err := b.Aggregate(ctx, req)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(began))
				if err != nil {
					failed++
					t.Log(err)
				}
			})
			<-time.After(time.Second / time.Duration(perSecond))
		}
		wg.Wait()
		slices.Sort(took)
		p99 = took[len(took)*99/100]
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.stop()
	})
	return p99, failed
}
