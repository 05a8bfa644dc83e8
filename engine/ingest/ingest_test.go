package ingest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain/evm"
)

// run starts an Ingest within a synctest bubble; stop ends it and waits.
func run(t *testing.T, cfg Config[*evm.Block]) (i *Ingest[*evm.Block], stop func()) {
	t.Helper()
	i, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- i.Run(ctx) }()
	return i, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// after lets d pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// mustHave checks that the sink has exactly the chain's blocks up to a height.
func mustHave(t *testing.T, s *fakeSink, blocks []*evm.Block, height int, traced bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.blocks) != height+1 {
		t.Fatalf("%d blocks are committed, want %d", len(s.blocks), height+1)
	}
	for n, b := range s.blocks {
		if b.Hash != blocks[n].Hash || traced && len(b.Txs) > 0 && (!b.Traced || len(b.Balances) != len(blocks[n].Balances)) {
			t.Fatalf("block %d is not what it should be: traced %v", n, b.Traced)
		}
	}
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	for _, group := range []int{1, 7, 64, 1000} {
		for _, trace := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				blocks, sink := chainOf(700), &fakeSink{}
				var told []uint64
				var progress []Progress
				node := newNode(blocks, 699)
				var completer Completer[*evm.Block]
				if trace {
					completer = node
				}
				i, stop := run(t, Config[*evm.Block]{
					Name: "c", Source: node, Sink: sink, Completer: completer, Group: group, Span: 16,
					OnBlock:    func(b *evm.Block) { told = append(told, b.Number) },
					OnProgress: func(p Progress) { progress = append(progress, p) },
				})
				after(time.Second)
				s := i.Status()
				stop()
				mustHave(t, sink, blocks, 699, trace)
				if len(told) != 700 || !slices.IsSorted(told) {
					t.Errorf("told of %d blocks", len(told))
				}
				if slices.Max(sink.groups) > group {
					t.Errorf("a group of %d", slices.Max(sink.groups))
				}
				if n := len(progress); n == 0 || progress[n-1].Share() != 1 || progress[n-1].Height != 699 {
					t.Errorf("progress %+v", progress)
				}
				if s.Err != nil || s.Behind() != 0 || s.Height != 699 || s.Waiting != 0 || !s.Started || s.Progress.IsZero() || s.Tip.Height != 699 {
					t.Errorf("status %+v", s)
				}
			})
		}
	}
}

// At the head a block is committed as soon as it is there, by itself, whether
// the node tells or not.
func TestHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{}
		node := newNode(blocks, 20)
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, TipEvery: 5 * time.Second})
		after(0)
		if sink.height() != 20 {
			t.Fatalf("height %d", sink.height())
		}
		sink.groups = nil
		for range 30 {
			node.accept()
			after(0) // no time passes
		}
		mustHave(t, sink, blocks, 50, true)
		if len(sink.groups) != 30 {
			t.Errorf("30 blocks in groups of %v", sink.groups)
		}
		node.set(func() { node.quiet = true })
		node.accept()
		after(6 * time.Second)
		mustHave(t, sink, blocks, 51, true)
		stop()
	})
}

// A tip that a node makes up does not delay the blocks that there are.
func TestHeadBelowFalseTip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{}
		node := newNode(blocks, 20)
		node.claim = 900
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node})
		after(time.Minute)
		if sink.height() != 20 {
			t.Fatalf("height %d", sink.height())
		}
		node.set(func() { node.calls = 0 })
		for n := range 30 {
			node.accept()
			after(0) // no time passes
			if sink.height() != 21+n {
				t.Fatalf("height %d after %d blocks", sink.height(), n+1)
			}
		}
		if node.calls > 200 {
			t.Errorf("%d fetches for 30 blocks", node.calls)
		}
		mustHave(t, sink, blocks, 50, true)
		stop()
	})
}

// A restart goes on after the last committed block.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(300), &fakeSink{}
		node := newNode(blocks, 99)
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink})
		after(time.Second)
		stop()
		mustHave(t, sink, blocks, 99, false)
		node.set(func() { node.tip = 299 })
		_, stop = run(t, Config[*evm.Block]{Source: node, Sink: sink})
		after(time.Second)
		stop()
		mustHave(t, sink, blocks, 299, false)
	})
}

// Each fault keeps bad blocks out, shows in the status, and when it ends all is
// well again.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				blocks, sink := chainOf(200), &fakeSink{}
				if len(blocks[60].Txs) == 0 {
					t.Fatal("block 60 must have a transaction")
				}
				node := newNode(blocks, 40)
				i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Span: 16, TipEvery: time.Second, CallTimeout: 5 * time.Second})
				defer stop()
				after(time.Second)
				mustHave(t, sink, blocks, 40, true)
				node.set(func() { node.tip = 150; c.fault(node) })
				after(3 * time.Minute)
				if h := sink.height(); h > c.height {
					t.Fatalf("height %d despite the fault", h)
				}
				s := i.Status()
				said := errors.Is(s.Err, c.want) || c.want == errForeign && errors.Is(s.Err, ErrParent)
				if !said || s.Since.IsZero() || time.Since(s.Since) < 2*time.Minute || s.Failures < 3 {
					t.Errorf("status %+v, since %s", s, time.Since(s.Since))
				}
				node.set(func() {
					node.blocks, node.tip, node.fetch, node.trace, node.tipErr, node.hang = blocks, 150, nil, nil, nil, false
				})
				after(2 * time.Minute)
				mustHave(t, sink, blocks, 150, true)
				if s := i.Status(); s.Err != nil || s.Failures != 0 || s.Behind() != 0 {
					t.Errorf("status afterwards: %+v", s)
				}
			})
		})
	}
}

// A node that fails every third call slows it down and nothing else.
func TestFlaky(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(500), &fakeSink{}
		node := newNode(blocks, 499)
		node.fetch = func(uint64, uint64) ([]*evm.Block, error) {
			if node.calls%3 == 0 {
				return nil, errUnreachable
			}
			return nil, nil
		}
		_, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Span: 8})
		after(time.Minute)
		stop()
		mustHave(t, sink, blocks, 499, true)
	})
}

// Another chain behind the same address is found out before anything is fetched.
func TestOtherChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(50), &fakeSink{}
		sink.blocks = slices.Clone(blocks[:20])
		foreign := *blocks[19]
		foreign.Hash[0]++
		sink.blocks[19] = &foreign
		i, stop := run(t, Config[*evm.Block]{Source: newNode(blocks, 40), Sink: sink})
		after(time.Minute)
		stop()
		if s := i.Status(); !errors.Is(s.Err, ErrOtherChain) || sink.height() != 19 {
			t.Errorf("height %d, status %+v", sink.height(), s)
		}
	})
}

// Blocks that wait for the sink are bounded, and fetched no further.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(2000), &fakeSink{block: make(chan struct{})}
		total := 0
		for _, b := range blocks {
			total += b.Memory()
		}
		node := newNode(blocks, 1999)
		i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Span: 8, Fetchers: 2, WindowBytes: total / 10})
		after(10 * time.Second)
		s := i.Status()
		if s.Waiting == 0 || s.Waiting > 600 || s.WaitingFor != 10*time.Second || s.Started {
			t.Errorf("status %+v", s)
		}
		node.set(func() { node.calls = 0 })
		after(10 * time.Second)
		if node.calls != 0 {
			t.Errorf("%d further fetches", node.calls)
		}
		close(sink.block)
		after(10 * time.Second)
		stop()
		mustHave(t, sink, blocks, 1999, false)
	})
}

func TestSinkFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{fail: errors.New("disk full")}
		i, stop := run(t, Config[*evm.Block]{Source: newNode(blocks, 99), Sink: sink})
		after(time.Minute)
		if s := i.Status(); !errors.Is(s.Err, sink.fail) || s.Failures < 3 {
			t.Errorf("status %+v", s)
		}
		sink.mu.Lock()
		sink.fail = nil
		sink.mu.Unlock()
		after(time.Minute)
		stop()
		mustHave(t, sink, blocks, 99, false)
	})
}

func TestOptional(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{}
		node := newNode(blocks, 99)
		node.trace = func(*evm.Block) error { return ErrUnable }
		i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Optional: true})
		after(time.Minute)
		stop()
		mustHave(t, sink, blocks, 99, false)
		if s := i.Status(); s.Incomplete == 0 || s.Err != nil {
			t.Errorf("status %+v", s)
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config[*evm.Block]{
		{},
		{Source: newNode(nil, 0)},
		{Source: newNode(nil, 0), Sink: &fakeSink{}, Span: -1},
		{Source: newNode(nil, 0), Sink: &fakeSink{}, CallTimeout: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("no error from %+v", cfg)
		}
	}
}

// No node completes blocks for a minute: the chain waits and says so, and no block
// is committed without what is missing, though it may be while none ever was.
func TestUnableForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(100), &fakeSink{}
		node := newNode(blocks, 40)
		i, stop := run(t, Config[*evm.Block]{Source: node, Sink: sink, Completer: node, Optional: true})
		after(time.Second)
		node.set(func() { node.trace = func(*evm.Block) error { return ErrUnable } })
		for range 59 {
			node.accept()
		}
		after(time.Minute)
		if s := i.Status(); !errors.Is(s.Err, ErrUnable) || s.Height > 41 || s.Incomplete != 0 {
			t.Errorf("status %+v", s)
		}
		node.set(func() { node.trace = nil })
		after(time.Minute)
		stop()
		mustHave(t, sink, blocks, 99, true)
	})
}
