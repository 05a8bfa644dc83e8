package aggregator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/metric"
)

func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(after(time.Second, signs))
		}
		b := newBed(t, peers, func(c *Config) { c.MaxJobs = 2 })
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() { b.want(t, request(t, i, 67, 0)) })
		}
		synctest.Wait()
		if e := b.wantError(t, request(t, 9, 67, 0), Overloaded); e.RetryAfter == 0 {
			t.Error("no word on when to try again")
		}
		wg.Wait()
		b.want(t, request(t, 9, 67, 0))
		b.stop()
	})
}

func TestStopAnswersEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(keepsSilent)
		}
		b := newBed(t, peers, nil)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() { b.wantError(t, request(t, i%3, 67, 0), Stopping) })
		}
		synctest.Wait()
		b.stop()
		wg.Wait()
		b.wantError(t, request(t, 1, 67, 0), Stopping)
	})
}

func TestCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(keepsSilent)
		}
		b := newBed(t, peers, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.Aggregate(ctx, request(t, 1, 67, 0)); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		if n := b.jobs.len(); n != 0 {
			t.Errorf("%d jobs still run for nobody", n)
		}
		b.stop()
	})
}

// TestTooManyCallers: the bound is on those who wait, not on those who are queued.
func TestTooManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(after(time.Second, signs))
		}
		b := newBed(t, peers, func(c *Config) { c.MaxCallers = 3 })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Aggregate(ctx, request(t, 1, 67, 0)); err == nil {
				t.Error("given up, and answered all the same")
			}
		})
		for range 2 {
			wg.Go(func() { b.want(t, request(t, 1, 67, 0)) })
		}
		synctest.Wait() // all have been taken out of the mailbox
		if e := b.wantError(t, request(t, 1, 67, 0), Overloaded); e.RetryAfter == 0 {
			t.Error("no word on when to try again")
		}
		cancel() // makes room
		synctest.Wait()
		wg.Go(func() { b.want(t, request(t, 1, 67, 0)) })
		wg.Wait()
		b.want(t, request(t, 1, 67, 0)) // kept: never refused
		b.stop()
	})
}

// TestNoQuestion: callers of a message that cannot be asked for are told so,
// and not sent round in circles.
func TestNoQuestion(t *testing.T) {
	set := metric.NewSet()
	peers := newFakePeers(equal(5)...)
	peers.closed = true
	b := newBed(t, peers, func(c *Config) { c.Metrics = set })
	e := b.wantError(t, request(t, 1, 67, 0), Overloaded)
	if e.RetryAfter == 0 || !errors.Is(e, errNop) {
		t.Error(e)
	}
	if n := set.Value("quorate_aggregator_requests_total", "answer", "collected"); n != 1 {
		t.Errorf("%v collections for one request", n)
	}
}

// TestBusyValidators: what was accepted is finished though validators take the
// question only after a while, longer than one that is away is waited for.
func TestBusyValidators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.busy = true
		}
		b := newBed(t, peers, nil)
		time.AfterFunc(b.cfg.Timing.ConnectWait+time.Second, func() {
			for _, v := range peers.vals {
				v.mu.Lock()
				v.busy = false
				v.mu.Unlock()
			}
		})
		if _, signers := b.want(t, request(t, 1, 67, 33)); signers != 5 {
			t.Errorf("%d signers", signers)
		}
		for _, v := range peers.vals {
			v.busy = true
		}
		if e := b.wantError(t, request(t, 2, 67, 0), Unreachable); e.Stake.Pending != e.Stake.Total {
			t.Errorf("never asked, but %v", e.Stake)
		}
		b.stop()
	})
}

// subnetJob returns an empty job for a set of n validators.
func subnetJob(i int, subnet byte, n int) *job {
	j := &job{set: &valset.Set{SubnetID: chain.ID{subnet}, Validators: make([]valset.Validator, n)}}
	j.holders = holdersOf(fmt.Sprint("client of ", subnet), chain.ID{0xc, subnet}, j.set.SubnetID)
	j.key.msg[0], j.key.msg[1] = byte(i), subnet
	return j
}

// TestFairShare: a subnet that holds all it can leaves room for others.
func TestFairShare(t *testing.T) {
	r := newRegistry(1000, 10_000, 10)
	fill := func(subnet byte, size int) (n int) {
		for ; ; n++ {
			j := subnetJob(n, subnet, size)
			if j.cost = max(size, r.least); !r.admits(j) {
				return n
			}
			r.hold(j)
		}
	}
	if got := fmt.Sprint(fill(1, 10), fill(2, 10), fill(3, 5), fill(4, 1)); got != "800 160 32 7" {
		t.Errorf("shares %s", got)
	}
	small, job := newRegistry(2048, 100, 10), subnetJob(0, 1, 5000)
	job.cost = 5000
	if !small.admits(job) {
		t.Error("the only job is refused")
	}
	small.used = 1
	if small.admits(job) {
		t.Error("a job larger than the whole is let in beside others")
	}
}

// TestSignatureBound: large sets take more of the room than small ones.
func TestSignatureBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(50)...)
		for _, v := range peers.vals {
			v.set(after(time.Second, signs))
		}
		b := newBed(t, peers, func(c *Config) { c.MaxSignatures = 199 })
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { b.want(t, request(t, i, 67, 0)) })
		}
		synctest.Wait()
		b.wantError(t, request(t, 9, 67, 0), Overloaded)
		wg.Wait()
		synctest.Wait() // a collection ends a moment after its last answer
		b.jobs.mu.Lock()
		if b.jobs.used != 0 || len(b.jobs.held) != 0 {
			t.Errorf("%d still held, %v", b.jobs.used, b.jobs.held)
		}
		b.jobs.mu.Unlock()
		b.want(t, request(t, 9, 67, 0))
		b.stop()
	})
}
