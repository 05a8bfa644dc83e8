package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/proto/pb/platformvm"
	"github.com/ava-labs/avalanchego/utils/constants"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"
	"github.com/ava-labs/libevm/ethclient"
	"google.golang.org/protobuf/proto"

	"quorate/e2e/emit"
	"quorate/e2e/l1"
	"quorate/e2e/localnet"
	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

// TestL1 has a server sign for two L1s whose validators are not on the primary
// network, from before their conversion on and through every change that the
// P-Chain knows. Each step begins where the one before has ended.
func TestL1(t *testing.T) {
	w := useNetwork(t)
	ctx, cancel := context.WithTimeout(t.Context(), l1Wait+testWait+time.Duration(epochTurns())*turnWait)
	defer cancel()
	x := newL1s(ctx, t, w)
	s := x.serve(t, x.identity, "--node-url", w.entry())
	s.waitConnected(t, localnet.MaxNodes)

	step := func(name string, do func(context.Context, *testing.T, *server)) {
		if t.Failed() && ctx.Err() != nil {
			return
		}
		begin := time.Now()
		t.Run(name, func(t *testing.T) { do(ctx, t, s) })
		t.Logf("%s took %v", name, time.Since(begin).Round(time.Millisecond))
	}
	step("not converted", x.testNotConverted)
	step("converted", x.testConverted)
	if err := x.WaitGuests(ctx, x.guests); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.home, err = emit.DialChain(ctx, x.guests[heavy].URL, x.open.Chain.String()); err != nil {
		t.Fatal(err)
	}
	defer x.home.Close()

	step("cold", x.testCold)
	step("private", x.testPrivate)
	step("register", x.testRegister)
	step("chain RPC", x.testChainRPC)
	step("quiet", x.testQuiet)
	step("tracked", x.testTracked)
	step("epoch turned", x.testEpochTurned)
	step("remove", x.testRemove)
	step("disable and top up", x.testDisable)
	step("away", x.testAway)
}

// testNotConverted: what the P-Chain refuses for certain is told at once.
func (x *l1World) testNotConverted(ctx context.Context, t *testing.T, s *server) {
	answer := s.post(t, l1Conversion(x.open))
	failure, err := answer.Failure()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d after %v: %s", answer.Status, answer.Took.Round(time.Millisecond), failure.Message)
	if answer.Took > certainWait {
		t.Errorf("told only after %v", answer.Took)
	}
}

// testConverted has the P-Chain's validators sign that the subnets were converted.
func (x *l1World) testConverted(ctx context.Context, t *testing.T, s *server) {
	x.convert(ctx, t)
	for _, l := range []*l1.L1{x.open, x.private} {
		want, err := l.Conversion()
		if err != nil {
			t.Fatal(err)
		}
		signed := signedBy(t, s, want, constants.PrimaryNetworkID, 0, l.Subnet[:])
		mustVerify(t, x.oracle, signed, want)
		// The subnet's ID alone says what to sign.
		again, err := s.post(t, l1Conversion(l)).Signed()
		if err != nil {
			t.Errorf("by the justification alone: %v", err)
		} else {
			mustVerify(t, x.oracle, again, want)
		}
	}
}

// l1Conversion asks for the conversion's message by its justification alone.
func l1Conversion(l *l1.L1) (r quorate.Request) {
	r = request(nil, 0)
	r.Justification, r.SigningSubnetID = hex.EncodeToString(l.Subnet[:]), constants.PrimaryNetworkID.String()
	return r
}

// testCold has the first messages signed by validators that were never dialled.
func (x *l1World) testCold(ctx context.Context, t *testing.T, s *server) {
	unsigned := x.fromHome(ctx, t, payloads(1)[0])
	answer := s.post(t, request(unsigned, 0))
	signed, err := answer.Signed()
	if err != nil {
		t.Fatalf("the first request: %v\n%s", err, s.LogTail())
	}
	t.Logf("the first message of the L1 after %v", answer.Took.Round(time.Millisecond))
	mustVerify(t, x.set(ctx, t, x.open.Subnet, verify.Proposed), signed, unsigned)
	x.settled(ctx, t, s, func() []byte { return x.fromHome(ctx, t, payloads(1)[0]) }, x.open, heavy, second, third)
	// Messages of other chains, signed by the L1, are what it receives.
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third)
}

// testPrivate has the private L1 sign for the identity that it admits, beside the
// open one, and not for another.
func (x *l1World) testPrivate(ctx context.Context, t *testing.T, s *server) {
	home, err := emit.DialChain(ctx, x.guests[third].URL, x.private.Chain.String())
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	fresh := func() []byte {
		messages, err := home.Send(ctx, payloads(1))
		if err != nil {
			t.Fatal(err)
		}
		return messages[0].Unsigned
	}
	x.settled(ctx, t, s, fresh, x.private, third, late)
	x.settled(ctx, t, s, x.fromC(t), x.private, third, late)
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third)

	stranger := x.serve(t, nil, "--node-url", x.entry(), "--limits", "request-timeout=3s")
	stranger.waitConnected(t, localnet.MaxNodes)
	answer := stranger.post(t, request(fresh(), 0))
	if failure, err := answer.Failure(); err != nil || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("for an identity that is not admitted: %d, %+v, %v", answer.Status, failure, err)
	} else {
		t.Logf("for an identity that is not admitted, %d after %v: %s", answer.Status, answer.Took, failure.Message)
	}
}

// testRegister adds a validator by messages that the server has signed, and
// changes its weight: what the P-Chain accepts is the proof.
func (x *l1World) testRegister(ctx context.Context, t *testing.T, s *server) {
	proof, err := x.guests[late].Possession()
	if err != nil {
		t.Fatal(err)
	}
	member := l1.Member{Node: x.guests[late], Weight: openWeights[late]}
	asked, err := x.open.Registration(x.wallet, member, proof)
	if err != nil {
		t.Fatal(err)
	}
	x.joined, x.joinedBy = asked.ValidationID(), asked.Bytes()
	converted := x.height(ctx, t)
	unsigned := x.fromHome(ctx, t, asked.Bytes())
	x.issue(ctx, t, s, unsigned, converted, func(signed []byte) error { return x.wallet.Register(ctx, proof, signed) })
	x.confirmed(t, s, x.open.Registered, x.joined, true, nil)
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third, late)

	change, err := x.open.Weight(x.joined, x.changes, lateWeight)
	if err != nil {
		t.Fatal(err)
	}
	x.changes++
	unsigned = x.fromHome(ctx, t, change)
	x.issue(ctx, t, s, unsigned, converted, func(signed []byte) error { return x.wallet.SetWeight(ctx, signed) })
	want, err := x.open.Confirmed(change)
	if err != nil {
		t.Fatal(err)
	}
	mustVerify(t, x.oracle, signedBy(t, s, want, constants.PrimaryNetworkID, 0, nil), want)
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third, late)
}

// reachP waits for the epoch of the P-Chain, by which it judges what it is sent.
func (x *l1World) reachP(ctx context.Context, t *testing.T, height uint64) uint64 {
	t.Helper()
	return x.reach(ctx, t, x.entry(), "P", height, func() {
		if err := x.wallet.Tick(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// issue has the open L1 sign a message for the P-Chain's epoch, which is at a height
// or above, and the P-Chain take it. When the epoch turns in between, other validators
// judge, and the message is signed once more, as a relayer does.
func (x *l1World) issue(ctx context.Context, t *testing.T, s *server, unsigned []byte, height uint64, send func(signed []byte) error) {
	t.Helper()
	for at := x.reachP(ctx, t, height); ; {
		err := send(signedBy(t, s, unsigned, x.open.Subnet, at, nil))
		if err == nil {
			return
		}
		if err := x.wallet.Tick(ctx); err != nil { // a block tells the epoch that it was judged in
			t.Fatal(err)
		}
		before := at
		if at = x.reachP(ctx, t, height); at == before {
			t.Fatalf("the P-Chain does not take the signed message at height %d: %v", at, err)
		}
		t.Logf("the epoch turned to height %d meanwhile: %v", at, err)
	}
}

// confirmed has the primary network sign what the P-Chain says of a validation.
func (x *l1World) confirmed(t *testing.T, s *server, message func(ids.ID, bool) ([]byte, error), validation ids.ID, there bool, justification []byte) {
	t.Helper()
	want, err := message(validation, there)
	if err != nil {
		t.Fatal(err)
	}
	mustVerify(t, x.oracle, signedBy(t, s, want, constants.PrimaryNetworkID, 0, justification), want)
}

// testChainRPC follows two nodes, of which only the second runs the L1: the first
// requests after the server is ready reach it.
func (x *l1World) testChainRPC(ctx context.Context, t *testing.T, _ *server) {
	s := x.serve(t, nil, "--node-url", x.entry(), "--node-url", x.guests[heavy].URL)
	for range 12 {
		client, err := ethclient.DialContext(ctx, s.URL+"/ext/bc/"+x.open.Chain.String()+"/rpc")
		if err != nil {
			t.Fatal(err)
		}
		number, err := client.ChainID(ctx)
		client.Close()
		if err != nil || number.Uint64() != openNumber {
			t.Errorf("chain ID %v, %v", number, err)
		}
	}
}

// testQuiet follows the L1 without asking for anything: the server is healthy all the same.
func (x *l1World) testQuiet(ctx context.Context, t *testing.T, _ *server) {
	s := x.serve(t, nil, "--node-url", x.entry(), "--chains-file", x.chainsFile(t))
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	last := ""
	await(ctx, t, "a server that was asked for nothing is healthy", func() (string, bool) {
		status, body, err := getBody(ctx, s.URL+"/ext/health")
		if err == nil {
			last = string(body)
		}
		return last, err == nil && status == http.StatusOK
	})
	client, err := ethclient.DialContext(ctx, s.URL+"/ext/bc/"+x.open.Chain.String()+"/rpc")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if number, err := client.ChainID(ctx); err != nil || number.Uint64() != openNumber {
		t.Errorf("by the rpc of the chains file: chain ID %v, %v", number, err)
	}
}

// testTracked names the L1 to a server that knows of no chain: it dials the
// validators before anyone asks, and the first request finds all of them.
func (x *l1World) testTracked(ctx context.Context, t *testing.T, _ *server) {
	s := x.serve(t, nil, "--node-url", x.entry(), "--track-subnets", x.open.Subnet.String())
	s.waitConnected(t, localnet.MaxNodes+guestCount)
	unsigned := x.fromHome(ctx, t, payloads(1)[0])
	answer := s.post(t, request(unsigned, fullBuffer))
	signed, err := answer.Signed()
	if err != nil {
		t.Fatal(err)
	}
	report := mustVerify(t, x.set(ctx, t, x.open.Subnet, verify.Proposed), signed, unsigned)
	if !x.are(report.Signers, []int{heavy, second, third, late}) {
		t.Errorf("signed by %v", report.Signers)
	}
	t.Logf("the first message of a tracked L1 after %v", answer.Took.Round(time.Millisecond))
}

// testEpochTurned has a message signed for one epoch, and for each epoch that follows, with
// other validators every time: the chain accepts it in all of them, and nobody is asked a
// second time. A new message that names no height is signed for the epoch that its
// destination is in.
func (x *l1World) testEpochTurned(ctx context.Context, t *testing.T, s *server) {
	chain, url := x.open.Chain.String(), x.guests[heavy].URL
	both := x.serve(t, nil, "--node-url", x.entry(), "--node-url", url, "--track-subnets", x.open.Subnet.String())
	block := func() { x.fromHome(ctx, t, payloads(1)[0]) }
	before := x.reach(ctx, t, url, chain, 0, block)
	unsigned := x.fromC(t)()
	r := request(unsigned, fullBuffer)
	r.SigningSubnetID, r.PChainHeight = x.open.Subnet.String(), before
	signed, err := s.post(t, r).Signed()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.home.Accept(ctx, signed); err != nil {
		t.Errorf("in the epoch at %d: %v", before, err)
	}
	x.signedInEpoch(ctx, t, both, block)
	for turn := range epochTurns() {
		// Epochs have the set of before the change and the one of after it in turn.
		x.reweigh(ctx, t, s, lateWeight+uint64(turn%2)+1)
		after := x.reach(ctx, t, url, chain, x.height(ctx, t), block)
		if changed := verify.Same(x.set(ctx, t, x.open.Subnet, platformapi.Height(before)).Set, x.set(ctx, t, x.open.Subnet, platformapi.Height(after)).Set); changed == nil {
			t.Errorf("the epochs at %d and %d have the same validators", before, after)
		} else {
			t.Logf("turn %d, from height %d to %d: %v", turn+1, before, after, changed)
		}
		asked := s.metric(t, metricRequests)
		signed = signedBy(t, s, unsigned, x.open.Subnet, after, nil)
		if now := s.metric(t, metricRequests); now != asked {
			t.Errorf("%v validators were asked again after the epoch had turned", now-asked)
		}
		if err := x.home.Accept(ctx, signed); err != nil {
			t.Errorf("in the epoch at %d: %v", after, err)
		}
		x.signedInEpoch(ctx, t, both, block)
		before = after
	}
	// The other way, and what must not be accepted.
	home := x.fromHome(ctx, t, payloads(1)[0])
	c := x.reach(ctx, t, x.entry(), "C", x.height(ctx, t), func() { x.emit(t, 1) })
	signed = signedBy(t, s, home, x.open.Subnet, c, nil)
	if err := x.emitter.Accept(ctx, signed); err != nil {
		t.Errorf("the C-Chain in the epoch at %d: %v", c, err)
	}
	signed[len(signed)-1] ^= 1
	if err := x.emitter.Accept(ctx, signed); !errors.Is(err, emit.ErrNotValid) {
		t.Errorf("a broken signature: %v", err)
	}
}

// signedInEpoch has a new message signed for the open L1 in its running epoch: by the set at
// its height, and the chain accepts it.
func (x *l1World) signedInEpoch(ctx context.Context, t *testing.T, s *server, block func()) {
	t.Helper()
	chain, url := x.open.Chain.String(), x.guests[heavy].URL
	unsigned := x.fromC(t)()
	var height uint64
	signed := x.signedFor(ctx, t, s, unsigned, chain, func() uint64 {
		height = x.reach(ctx, t, url, chain, 0, block)
		return height
	})
	mustVerify(t, x.set(ctx, t, x.open.Subnet, platformapi.Height(height)), signed, unsigned)
	if err := x.home.Accept(ctx, signed); err != nil {
		t.Errorf("signed for the L1 in its epoch at %d: %v", height, err)
	}
}

// reweigh gives the guest that joined another weight.
func (x *l1World) reweigh(ctx context.Context, t *testing.T, s *server, weight uint64) {
	t.Helper()
	change, err := x.open.Weight(x.joined, x.changes, weight)
	if err != nil {
		t.Fatal(err)
	}
	x.changes++
	unsigned := x.fromHome(ctx, t, change)
	x.issue(ctx, t, s, unsigned, 0, func(signed []byte) error { return x.wallet.SetWeight(ctx, signed) })
}

// signedFor has a message signed by the open L1 for a destination without naming a height,
// until the server has taken the height of the destination's epoch.
func (x *l1World) signedFor(ctx context.Context, t *testing.T, s *server, unsigned []byte, destination string, epoch func() uint64) (signed []byte) {
	t.Helper()
	r := request(unsigned, fullBuffer)
	r.SigningSubnetID, r.DestinationBlockchain = x.open.Subnet.String(), destination
	await(ctx, t, "the server signs for the epoch of "+destination, func() (string, bool) {
		answer := s.post(t, r)
		var err error
		if signed, err = answer.Signed(); err != nil {
			return answer.String(), false // the chain, or its validators, are not known yet
		}
		height, want := answer.Header.Get("X-P-Chain-Height"), strconv.FormatUint(epoch(), 10)
		return "signed at " + height + ", the epoch is at " + want, height == want
	})
	return signed
}

// testRemove removes the guest that joined.
func (x *l1World) testRemove(ctx context.Context, t *testing.T, s *server) {
	x.reweigh(ctx, t, s, 0)
	justification, err := proto.Marshal(&platformvm.L1ValidatorRegistrationJustification{
		Preimage: &platformvm.L1ValidatorRegistrationJustification_RegisterL1ValidatorMessage{RegisterL1ValidatorMessage: x.joinedBy},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.confirmed(t, s, x.open.Registered, x.joined, false, justification)
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third)
}

// testDisable takes a validator's balance and gives it again.
func (x *l1World) testDisable(ctx context.Context, t *testing.T, s *server) {
	validation, _, err := x.open.Initial(x.guests[second].NodeID)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.wallet.Disable(ctx, validation); err != nil {
		t.Fatal(err)
	}
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, third)
	// Its weight still counts: 70% is all that can be had.
	r := request(x.fromC(t)(), 0)
	r.SigningSubnetID, r.QuorumPercentage = x.open.Subnet.String(), 71
	answer := s.post(t, r)
	failure, err := answer.Failure()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("without the disabled one, %d after %v: %s", answer.Status, answer.Took.Round(time.Millisecond), failure.Message)
	if answer.Took > certainWait {
		t.Errorf("a quorum that cannot be had is told after %v", answer.Took)
	}
	if !strings.Contains(failure.Message, "out of balance 30.0%") {
		t.Errorf("the disabled one is not called out of balance: %s", failure.Message)
	}
	if err := x.wallet.TopUp(ctx, validation); err != nil {
		t.Fatal(err)
	}
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second, third)
}

// testAway ends one validator: the others' 70% are enough, but no more can be had.
func (x *l1World) testAway(ctx context.Context, t *testing.T, s *server) {
	x.guests[third].Stop()
	x.settled(ctx, t, s, x.fromC(t), x.open, heavy, second)
	r := request(x.fromC(t)(), 0)
	r.SigningSubnetID, r.QuorumPercentage = x.open.Subnet.String(), 71
	answer := s.post(t, r)
	failure, err := answer.Failure()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("without the one that is away, %d after %v: %s", answer.Status, answer.Took.Round(time.Millisecond), failure.Message)
	if answer.Status != http.StatusServiceUnavailable || answer.Took > certainWait {
		t.Errorf("a quorum that cannot be had: %d after %v", answer.Status, answer.Took)
	}
}
