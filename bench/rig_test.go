package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// What the benchmarks are made of: validators that have signed one message
// before the clock starts, and an aggregator above them.

const rigNetwork = 12345

var errRig = errors.New("not in this benchmark")

// rig is an aggregator whose validators answer at once. It implements
// [aggregator.Sets] and [aggregator.Peers].
type rig struct {
	*aggregator.Aggregator
	set  *valset.Set
	jobs [4]job
	turn atomic.Int64
	asks chan ask
}

// job is a message and what validators answer.
type job struct {
	msg  *warp.Unsigned
	raw  [][]byte                // signatures in the order of the set
	byID map[chain.NodeID][]byte // the same
	req  *aggregator.Request     // wants all to sign
}

// ask is a question on its way to a validator.
type ask struct {
	of      *job
	from    chain.NodeID
	deliver func(aggregator.Answer)
}

func newJob(t testing.TB, i byte) job {
	t.Helper()
	payload := make([]byte, 400) // about a teleporter message
	payload[0] = i
	msg, err := warp.New(rigNetwork, chain.ID{0xc}, warp.AddressedCall{SourceAddress: make([]byte, 20), Payload: payload}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return job{
		msg: msg, byID: make(map[chain.NodeID][]byte),
		req: &aggregator.Request{Message: msg.Bytes(), Quorum: 100},
	}
}

// newRig starts an aggregator with n validators of equal weight. Without kept
// it has room for one message only, and four take turns, since signatures are put
// into memory after the answer was given: so every request is fresh.
func newRig(t testing.TB, n int, kept bool) *rig {
	t.Helper()
	r := &rig{asks: make(chan ask, n)}
	for i := range r.jobs {
		r.jobs[i] = newJob(t, byte(i))
	}
	var members []valset.Member
	for i := range n {
		key := bls.SecretKeyFromSeed(binary.BigEndian.AppendUint64([]byte("validator of a benchmark, 32 byte"), uint64(i)))
		pub, id := key.PublicKey().Compressed(), chain.NodeID{1, byte(i >> 8), byte(i)}
		for k := range r.jobs {
			sig := key.Sign(r.jobs[k].msg.Bytes())
			r.jobs[k].byID[id] = sig[:]
		}
		members = append(members, valset.Member{NodeID: id, PublicKey: pub[:], Weight: 1000})
	}
	var err error
	if r.set, err = valset.New(chain.PrimaryNetworkID, 7, members, nil); err != nil {
		t.Fatal(err)
	}
	for i := range r.set.Validators {
		for k := range r.jobs {
			r.jobs[k].raw = append(r.jobs[k].raw, r.jobs[k].byID[r.set.Validators[i].NodeIDs[0]])
		}
	}
	cfg := aggregator.Config{NetworkID: rigNetwork, Sets: r, Peers: r}
	if !kept {
		cfg.KeptBytes, cfg.PartBytes = 1, 1
	}
	if r.Aggregator, err = aggregator.New(cfg); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	return r
}

func (r *rig) start(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) { // as many connections' readers as can run at once
		readers.Go(func() {
			for a := range r.asks {
				a.deliver(aggregator.Answer{From: a.from, Signature: a.of.byID[a.from]})
			}
		})
	}
	<-r.Running()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(r.asks)
		readers.Wait()
	})
}

func (r *rig) Current(subnet chain.ID) (*valset.Set, bool) { return r.set, subnet.IsZero() }
func (r *rig) At(context.Context, chain.ID, uint64) (*valset.Set, error) {
	return r.set, nil
}
func (r *rig) Beside(*valset.Set) []*valset.Set { return nil }

func (r *rig) EpochHeight(chain.ID) (height uint64, followed bool) { return 0, false }

func (r *rig) Recheck(ctx context.Context, subnet chain.ID) (*valset.Set, error) {
	return r.At(ctx, subnet, 0)
}

func (r *rig) SubnetOf(context.Context, chain.ID) (chain.ID, error) {
	return chain.PrimaryNetworkID, nil
}
func (r *rig) ConversionOf(context.Context, chain.ID) (chain.ID, bool, error) {
	return chain.ID{}, false, errRig
}

func (r *rig) Status(chain.NodeID) aggregator.PeerStatus {
	return aggregator.PeerStatus{Connected: true, Latency: 50 * time.Millisecond}
}

func (r *rig) Open(msg *warp.Unsigned, _ []byte, _ time.Duration, deliver func(aggregator.Answer)) (aggregator.Question, error) {
	for i := range r.jobs {
		if r.jobs[i].msg.ID() == msg.ID() {
			return rigQuestion{r, &r.jobs[i], deliver}, nil
		}
	}
	return nil, errRig
}

type rigQuestion struct {
	r       *rig
	of      *job
	deliver func(aggregator.Answer)
}

func (q rigQuestion) Ask(id chain.NodeID) error {
	q.r.asks <- ask{q.of, id, q.deliver}
	return nil
}
func (q rigQuestion) Close() {}

// fresh is a whole collection, signature bytes in, signed message out.
func (r *rig) fresh(t testing.TB) {
	req := r.jobs[r.turn.Add(1)%int64(len(r.jobs))].req
	req.Asked = 0
	res, err := r.Aggregate(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if req.Asked == 0 || res.Weight != res.Total {
		t.Fatalf("%d were asked, %d of %d signed", req.Asked, res.Weight, res.Total)
	}
}

// byHand is the floor of fresh: the same cryptography on one core and nothing
// else. (The raw library may be used by package bls alone. Its functions here
// are thin: decode is one call into it, a sum is one, and verify is a subgroup
// check, two Miller loops and a final exponentiation.)
func (r *rig) byHand(t testing.TB) {
	sigs := make([]bls.Signature, len(r.jobs[0].raw))
	ptrs := make([]*bls.Signature, len(r.jobs[0].raw))
	all := warp.NewBits(len(ptrs))
	for i, raw := range r.jobs[0].raw {
		if err := bls.DecodeSignatureInto(&sigs[i], raw); err != nil {
			t.Fatal(err)
		}
		ptrs[i] = &sigs[i]
		all.Set(i)
	}
	key, sum := r.set.KeySum(all), bls.SumSignatures(ptrs)
	if !bls.Verify(&key, bls.HashMessage(r.jobs[0].msg.Bytes()), &sum) {
		t.Fatal("invalid")
	}
}

// oneByOne is what aggregators usually do: every signature is verified by
// itself, on one core, and the valid ones are summed up.
func (r *rig) oneByOne(t testing.TB) {
	for i, raw := range r.jobs[0].raw {
		key := bls.SumKeys([]*bls.PublicKey{r.set.Validators[i].Key})
		sig, err := bls.DecodeAggregate(raw)
		if err != nil || !bls.Verify(&key, bls.HashMessage(r.jobs[0].msg.Bytes()), &sig) {
			t.Fatal("invalid", err)
		}
	}
}

// clock returns a time of which only differences mean something.
type clock func() time.Duration

// wall is the time on the wall.
func wall() clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// cpu is the CPU time of this process, all cores together. What else the
// machine does disturbs it less than the time on the wall. It waits a moment
// first: Linux adds a thread's time to the account when it goes to sleep.
func cpu() time.Duration {
	<-time.After(time.Millisecond)
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no way to fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perGroup is the number of rounds that one ratio of [against] is made of.
const perGroup = 5

// against returns how many times as long ours takes as base, see [costRatio]. Both
// are done once before.
func against(now clock, groups int, ours, base func()) float64 {
	ours()
	base()
	timed := func(f func()) func() float64 {
		return func() float64 {
			start := now()
			f()
			return float64(now() - start)
		}
	}
	return costRatio(groups, perGroup, timed(ours), timed(base))
}

// costRatio returns how many times the cost of base ours has: the median over
// groups of rounds. In each round both are done, in turns, so that what else the
// machine does touches both; a group counts the median cost of each.
func costRatio(groups, rounds int, ours, base func() float64) float64 {
	do := [2]func() float64{ours, base}
	var v []float64
	for range groups {
		var costs [2][]float64
		for i := range rounds {
			for turn := range 2 {
				who := (i + turn) % 2
				costs[who] = append(costs[who], do[who]())
			}
		}
		v = append(v, median(costs[0])/median(costs[1]))
	}
	return median(v)
}

// settle waits until this process is at rest: databases go on for a while after
// the last commit, and would be measured with what comes next: one of 10,000,000
// transactions for minutes.
func settle() {
	const look, idle, longest = 200 * time.Millisecond, 10 * time.Millisecond, 3 * time.Minute
	for start := time.Now(); time.Since(start) < longest; {
		before := cpu()
		<-time.After(look)
		if cpu()-before < idle {
			return
		}
	}
}

// allocations returns the allocations of one call of f, on all goroutines: the
// median of several runs, as a garbage collection in between empties pools.
func allocations(runs, calls int, f func()) float64 {
	f()
	var v []float64
	for range runs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			f()
		}
		runtime.ReadMemStats(&after)
		v = append(v, float64(after.Mallocs-before.Mallocs)/float64(calls))
	}
	return median(v)
}

func TestAgainst(t *testing.T) {
	t.Parallel()
	var order []byte
	note := func(b byte) func() { return func() { order = append(order, b) } }
	if got := against(wall(), 2, note('a'), note('b')); got <= 0 || string(order) != "ab"+"abbaabbaab"+"abbaabbaab" {
		t.Errorf("%v, order %s", got, order)
	}
	if m := median([]float64{5, 1, 2, 4}); m != 3 || slices.Max([]float64{m}) != 3 {
		t.Errorf("median %v", m)
	}
}

// TestRig: a benchmark of something that does not work would be worthless.
func TestRig(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, false)
	for range 3 { // fresh every time
		r.fresh(t)
	}
	r.byHand(t)
	r.oneByOne(t)
}
