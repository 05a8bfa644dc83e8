package aggregator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// TestSourceChainMustBeKnown: no validator is asked about a chain that does not
// exist, also when the request says who is to sign.
func TestSourceChainMustBeKnown(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	b := newBed(t, peers, nil)
	m, err := warp.New(testNetwork, chain.ID{0xee}, []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	subnet := chain.PrimaryNetworkID
	for _, signing := range []*chain.ID{nil, &subnet} {
		b.wantError(t, &Request{Message: m.Bytes(), SigningSubnetID: signing, Quorum: 67}, NotFound)
	}
	for i, v := range peers.vals {
		if n := v.asks(); n != 0 {
			t.Errorf("validator %d was asked %d times", i, n)
		}
	}
}

// slowSets take their time.
type slowSets struct {
	Sets
	wait time.Duration
}

func (s slowSets) SubnetOf(ctx context.Context, id chain.ID) (chain.ID, error) {
	if s.wait > 0 {
		<-time.After(s.wait)
	}
	return s.Sets.SubnetOf(ctx, id)
}

// TestOneDeadline: a request is answered in its time from its first byte on,
// whatever that went for.
func TestOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(keepsSilent)
		}
		b := newBed(t, peers, func(c *Config) {
			c.Sets = slowSets{c.Sets, 3 * time.Second}
			c.Timing.AskTimeout = time.Minute
		})
		req := request(t, 1, 67, 0)
		req.Received = time.Now().Add(-2 * time.Second) // the body came slowly
		began := time.Now()
		e := b.wantError(t, req, Unreachable)
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second+answerGrace {
			t.Errorf("answered after %v: %v", took, e)
		}
		req.Received = time.Now().Add(-time.Minute)
		began = time.Now()
		b.wantError(t, req, Unreachable)
		if took := time.Since(began); took > 3*time.Second+answerGrace {
			t.Errorf("a request that came too late was answered after %v", took)
		}
		b.stop()
	})
}

// paidSets has a validator that is underfunded until somebody looks again.
type paidSets struct {
	Sets
	poor, rich *valset.Set
}

func (s paidSets) Current(chain.ID) (*valset.Set, bool) { return s.poor, true }
func (s paidSets) Recheck(context.Context, chain.ID) (*valset.Set, error) {
	return s.rich, nil
}

// TestPaidMeanwhile: a quorum that needs an underfunded validator is not refused
// on the word of a balance that was read some time ago.
func TestPaidMeanwhile(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	rich := peers.validatorSet(t, 7)
	poor := *rich
	poor.Validators = append([]valset.Validator(nil), rich.Validators...)
	poor.Validators[1].Underfunded, poor.Validators[2].Underfunded = true, true
	b := newBed(t, peers, func(c *Config) { c.Sets = paidSets{c.Sets, &poor, rich} })
	b.want(t, request(t, 1, 100, 0))
}

// TestDisabled: stake of L1 validators without balance goes by that name.
func TestDisabled(t *testing.T) {
	peers := newFakePeers(equal(5)...)
	b := newBed(t, peers, nil)
	set := *peers.validatorSet(t, 7, valset.Member{Weight: 500})
	set.Inactive = 500
	set.OutOfBalance = []valset.L1Validator{{NodeID: chain.NodeID{77}, Weight: 300}, {NodeID: chain.NodeID{78}, Weight: 201}}
	b.sets.set.Store(&set)
	_, err := b.Aggregate(t.Context(), request(t, 1, 100, 0))
	var e *Error
	if !errors.As(err, &e) || e.Stake == nil {
		t.Fatal(err)
	}
	if e.Stake.Underfunded != 500 || e.Stake.Keyless != 0 || !strings.Contains(e.Msg, "out of balance") {
		t.Errorf("%s", e.Msg)
	}
	// They are named, although they are not in the set; one that was not out of balance at
	// the height of the set is not.
	d := only(t, b, message(t, 1))
	if n := len(d.Votes); d.Keyless != 0 || n != 7 || d.Votes[5].NodeIDs[0] != (chain.NodeID{77}) || d.Votes[5].Weight != 300 || d.Votes[5].State != VoteUnderfunded ||
		d.Votes[6].NodeIDs != nil || d.Votes[6].Weight != 200 || d.Votes[6].State != VoteUnderfunded {
		t.Errorf("%+v", d)
	}
}

// Who asks for one subnet more than are followed is told so, and to come again.
func TestTooManySubnets(t *testing.T) {
	t.Parallel()
	err := setError(fmt.Errorf("%w: 64", valset.ErrSubnets), "the subnet")
	if err.Kind != Overloaded || err.RetryAfter <= 0 || !strings.Contains(err.Msg, "other subnets") {
		t.Errorf("%+v", err)
	}
}

// TestErrorsSayWhy: what looks like another member's or server's fault is named.
func TestErrorsSayWhy(t *testing.T) {
	t.Parallel()
	m, err := warp.New(testNetwork, chain.ID{0xee}, []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	signed := warp.AppendSigned(nil, m.Bytes(), []byte{1}, &[warp.SignatureLen]byte{0xc0})
	a := &Aggregator{cfg: Config{NetworkID: testNetwork}}
	f := func(message []byte, part string) {
		t.Helper()
		if _, err := a.message(t.Context(), &Request{Message: message}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%x: %v, want %q", message, err, part)
		}
	}
	f(signed, fmt.Sprintf("is signed already; what validators sign are its first %d bytes", len(m.Bytes())))
	f(signed[:len(signed)-1], "is not an unsigned warp message")
	f([]byte("hello"), "is not an unsigned warp message")
	e := setError(fmt.Errorf("%w: 1 is more than 4096 below 9000", valset.ErrLookback), "subnet x")
	if e.Kind != BadRequest || e.Msg != "the P-Chain's height is too far back: 1 is more than 4096 below 9000" {
		t.Errorf("%v", e)
	}
}

// TestSharesAddUp: what is written of the stake adds up to all of it.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`(\d+\.\d)%`)
	for _, s := range []Stake{
		{Total: 10_000, Connected: 9_960, Signed: 9_935, Pending: 25, Keyless: 40},
		{Total: 3, Connected: 3, Signed: 1, Silent: 1, Unreachable: 1},
		{Total: 7, Signed: 1, Invalid: 1, Silent: 1, Unreachable: 1, Pending: 1, Underfunded: 1, Keyless: 1},
		{Total: 1<<64 - 1, Signed: 1 << 62, Pending: 1 << 62, Keyless: 1<<63 - 1},
	} {
		sum := 0.0
		for _, m := range number.FindAllStringSubmatch(s.String(), -1)[1:] { // the first is connected
			n, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if math.Round(sum*10) != 1000 {
			t.Errorf("%s: together %v", &s, sum)
		}
	}
}
