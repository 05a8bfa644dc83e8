package aggregator

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// gatedStore is a store whose writes hang until the gate is opened.
type gatedStore struct {
	mapStore
	gate chan struct{}
}

func (s *gatedStore) Put(ctx context.Context, key, value []byte) error {
	select {
	case <-s.gate:
		return s.mapStore.Put(ctx, key, value)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestOnDiskBeforeGivenOut: neither the first caller nor one who asks for the
// same meanwhile has an answer before the disk has it.
func TestOnDiskBeforeGivenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gatedStore{mapStore: mapStore{m: map[string][]byte{}}, gate: make(chan struct{})}
		b := newBed(t, newFakePeers(equal(5)...), func(c *Config) { c.Store = store })
		const delay = 500 * time.Millisecond
		time.AfterFunc(delay, func() { close(store.gate) })
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				<-time.After(time.Duration(i)*100*time.Millisecond + 1)
				b.want(t, request(t, 1, 67, 0))
				if took := time.Since(start); took < delay {
					t.Errorf("caller %d was answered after %v, the disk had it after %v", i, took, delay)
				}
			})
		}
		wg.Wait()
		if len(store.m) != 1 {
			t.Errorf("%d results on disk", len(store.m))
		}
		b.stop()
	})
}

// TestStalledDisk: a disk that hangs holds answers back for a second once, and
// no longer than a moment after that, until it works again.
func TestStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gatedStore{mapStore: mapStore{m: map[string][]byte{}}, gate: make(chan struct{})}
		b := newBed(t, newFakePeers(equal(5)...), func(c *Config) { c.Store = store })
		for i, most := range []time.Duration{storeWait, stalledWait, stalledWait} {
			start := time.Now()
			b.want(t, request(t, i, 67, 0))
			if took := time.Since(start); took != most {
				t.Errorf("message %d took %v, want %v", i, took, most)
			}
		}
		close(store.gate)
		b.want(t, request(t, 10, 67, 0))
		store.gate = make(chan struct{})
		start := time.Now()
		b.want(t, request(t, 11, 67, 0))
		if took := time.Since(start); took != storeWait {
			t.Errorf("after the disk has worked again: %v, want %v", took, storeWait)
		}
		b.stop()
	})
}

// TestSharedKeyWithASilentNode: of two nodes with one key the one that answers
// is found, and the key's stake counts.
func TestSharedKeyWithASilentNode(t *testing.T) {
	for name, bad := range map[string]reply{"silent": keepsSilent, "refuses": refuses(2), "refuses for good": refuses(codeNoHandler)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := newFakePeers(equal(5)...)
				peers.vals[0].set(bad)
				twin := &fakeValidator{id: chain.NodeID{0xee}, key: peers.vals[0].key, weight: 20, reply: signs}
				peers.vals = append(peers.vals, twin)
				peers.byID[twin.id] = twin
				b := newBed(t, peers, nil)
				start := time.Now()
				for i := range 6 {
					if _, signers := b.want(t, request(t, i, 100, 0)); signers != 5 {
						t.Errorf("message %d: %d signers", i, signers)
					}
				}
				if took := time.Since(start); took > 6*300*time.Millisecond {
					t.Errorf("took %v", took)
				}
				if twin.asks() != 6 {
					t.Errorf("the twin was asked %d times", twin.asks())
				}
				b.stop()
			})
		})
	}
}

// panickyPeers fails in a way that nobody has thought of.
type panickyPeers struct{ *fakePeers }

func (panickyPeers) Open(*warp.Unsigned, []byte, time.Duration, func(Answer)) (Question, error) {
	panic("nobody has thought of this")
}

// TestPanickingJob: a collection that panics ends once and for all, with an
// answer that does not blame the shutdown.
func TestPanickingJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs strings.Builder
		peers := newFakePeers(equal(5)...)
		b := newBed(t, peers, func(c *Config) {
			c.Peers = panickyPeers{peers}
			c.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		})
		b.wantError(t, request(t, 1, 67, 0), Internal)
		<-time.After(time.Minute)
		if n := strings.Count(logs.String(), "nobody has thought of this"); n != 1 {
			t.Errorf("%d log lines: %s", n, &logs)
		}
		b.stop()
	})
}

// TestFaultyCheck: when a check says that a sum is invalid but no part of it is,
// the collection fails, and nobody is quarantined for it.
func TestFaultyCheck(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	set, msg := peers.validatorSet(t, 1), message(t, 1)
	task := &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: warp.NewBits(5)}
	for i := range set.Validators {
		task.signers.Set(i)
		raw := peers.byID[set.Validators[i].NodeIDs[0]].key.Sign(msg.Bytes())
		p := &part{raw: raw}
		if err := bls.DecodeSignatureInto(&p.sig, raw[:]); err != nil {
			t.Fatal(err)
		}
		task.parts = append(task.parts, p)
	}
	v := newVerifier(1, 1, slog.New(slog.DiscardHandler), nil)
	if got := v.locate(task); !got.broken || len(got.bad) != 0 {
		t.Errorf("verdict %+v", got)
	}
	j := &job{}
	j.judged(&verdict{broken: true})
	if j.broken == nil || j.broken.Kind != Internal {
		t.Errorf("the collection goes on: %v", j.broken)
	}
}

// TestPanickingCheck: a check that panics ends its collections, and the slot is free again.
func TestPanickingCheck(t *testing.T) {
	v := newVerifier(1, 1, slog.New(slog.DiscardHandler), nil)
	for range 3 {
		var got *verdict
		task := &checkTask{signers: warp.NewBits(1), done: func(v *verdict) { got = v }} // without a set
		if err := v.submit(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		if got == nil || !got.broken {
			t.Fatalf("verdict %+v", got)
		}
	}
}
