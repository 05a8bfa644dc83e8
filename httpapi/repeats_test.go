package httpapi

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/reply"
	"quorate/httpapi/sign"
)

// signers is a real aggregator whose validators answer at once. It is its own
// [aggregator.Sets] and [aggregator.Peers].
type signers struct {
	*aggregator.Aggregator
	set  atomic.Pointer[valset.Set]
	keys map[chain.NodeID]*bls.SecretKey
	asks atomic.Int64
}

var (
	signersChain = chain.ID{0xc}
	errSigners   = errors.New("not in this test")
)

func newSigners(t testing.TB) *signers {
	t.Helper()
	s := &signers{keys: make(map[chain.NodeID]*bls.SecretKey)}
	s.validators(t, 1)
	var err error
	if s.Aggregator, err = aggregator.New(aggregator.Config{NetworkID: 12345, Sets: s, Peers: s, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-s.Running()
	return s
}

// validators has two validators sign from now on, of keys of that generation.
func (s *signers) validators(t testing.TB, generation byte) {
	t.Helper()
	var members []valset.Member
	for i := range byte(2) {
		id := chain.NodeID{generation, i}
		s.keys[id] = bls.SecretKeyFromSeed([]byte{31: 1, 30: generation, 29: i})
		key := s.keys[id].PublicKey().Compressed()
		members = append(members, valset.Member{NodeID: id, PublicKey: key[:], Weight: 10})
	}
	set, err := valset.New(chain.PrimaryNetworkID, uint64(generation), members, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.set.Store(set)
}

func (s *signers) Current(subnet chain.ID) (*valset.Set, bool) {
	set := s.set.Load()
	return set, set != nil && subnet.IsZero()
}

func (s *signers) At(_ context.Context, _ chain.ID, height uint64) (*valset.Set, error) {
	if set := s.set.Load(); set != nil {
		at := *set
		if height != 0 {
			at.Height = height
		}
		return &at, nil
	}
	return nil, valset.ErrNoValidators
}

func (s *signers) Recheck(ctx context.Context, id chain.ID) (*valset.Set, error) {
	return s.At(ctx, id, 0)
}

func (s *signers) Beside(*valset.Set) []*valset.Set { return nil }

// EpochHeight knows one chain, whose epoch is at height 7.
func (s *signers) EpochHeight(id chain.ID) (height uint64, followed bool) {
	return 7, id == signersChain
}

func (s *signers) SubnetOf(_ context.Context, id chain.ID) (chain.ID, error) {
	if id != signersChain {
		return chain.ID{}, valset.ErrUnknownChain
	}
	return chain.PrimaryNetworkID, nil
}

func (s *signers) ConversionOf(context.Context, chain.ID) (chain.ID, bool, error) {
	return chain.ID{}, false, errSigners
}

func (s *signers) Status(chain.NodeID) aggregator.PeerStatus {
	return aggregator.PeerStatus{Connected: true}
}

func (s *signers) Open(msg *warp.Unsigned, _ []byte, _ time.Duration, deliver func(aggregator.Answer)) (aggregator.Question, error) {
	return question{s, msg, deliver}, nil
}

type question struct {
	s       *signers
	msg     *warp.Unsigned
	deliver func(aggregator.Answer)
}

func (q question) Ask(id chain.NodeID) error {
	q.s.asks.Add(1)
	sig := q.s.keys[id].Sign(q.msg.Bytes())
	go q.deliver(aggregator.Answer{From: id, Signature: sig[:]})
	return nil
}

func (question) Close() {}

// serves returns a server before the aggregator.
func (s *signers) serves(t testing.TB, change func(*Config)) *Server {
	t.Helper()
	cfg := Config{Networks: networks{s.Aggregator}}
	if change != nil {
		change(&cfg)
	}
	srv, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// signable returns a message that is signed, in hex.
func signable(t testing.TB, i byte) string {
	t.Helper()
	msg, err := warp.New(12345, signersChain, warp.AddressedCall{SourceAddress: make([]byte, 20), Payload: []byte{i}}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(msg.Bytes())
}

// answered returns an answer as it is sent, without what tells requests apart.
func answered(s *Server, path, body string) string {
	ctx := posted(path, body)
	s.handle(ctx)
	h := &ctx.Response.Header
	for _, name := range []string{headerRequestID, reply.HeaderRateRemaining, reply.HeaderRateReset} {
		h.Del(name)
	}
	h.SetNoDefaultContentType(true)
	h.Del(fasthttp.HeaderDate)
	return h.String() + string(ctx.Response.Body())
}

func posted(path, body string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(path)
	req.Header.SetContentType(door.ContentJSON)
	req.SetBodyString(body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	return ctx
}

// isKept reports whether a body is answered without being read again.
func (s *Server) isKept(path, body string) bool { return s.sign.Keeps(path, []byte(body)) }

// TestRepeats: the answer to a body that is kept is the one to a body that is read.
func TestRepeats(t *testing.T) {
	t.Parallel()
	a := newSigners(t)
	s := a.serves(t, nil)
	message := signable(t, 1)
	for _, c := range []struct {
		path, body string
		kept       bool
	}{
		{sdkPath, `{"message":"` + message + `"}`, true},
		{sdkPath, ` {"message":"0x` + strings.ToUpper(message) + `","quorumPercentage":100, "colour":1,"taste":[]}`, true},
		{sdkPath, `{"message":"` + message + `","pChainHeight":1}`, false},
		{sdkPath, `{"message":"` + message + `","padding":"` + strings.Repeat(" ", 8<<10) + `"}`, false},
		{sdkPath, `{"message":"` + message + `","quorumPercentag":80}`, false},
		{sdkPath, `{"message":"` + warpHex + `"}`, false}, // of a chain that is not known
		{sign.RelayerPath, `{"message":"` + message + `"}`, true},
		{sign.RelayerPath, `{"message":"` + message + `","quorum-percentage":0,"signing-subnet-id":""}`, true},
		{sign.RelayerPath, `{"message":"` + strings.Repeat("00", 5) + `01"}`, false},
	} {
		first := answered(s, c.path, c.body)
		for i := range 4 {
			if again := answered(s, c.path, c.body); again != first {
				t.Errorf("%s: answered %s\nand then %s", c.body, first, again)
			}
			if got := s.isKept(c.path, c.body); got != c.kept {
				t.Errorf("%s: kept after %d repeats: %v", c.body, i+1, got)
			}
		}
	}
	for _, path := range []string{"/v1/signatureAggregator/mainnet/aggregateSignatures", sign.RelayerPath} { // the body is kept for others
		if got := answered(s, path, `{"message":"`+message+`","quorumPercentage":100}`); strings.Contains(got, "signedMessage") {
			t.Errorf("%s: %s", path, got)
		}
	}
	ctx := posted(sdkPath, `{"message":"`+message+`"}`)
	ctx.Request.Header.SetContentType("text/plain")
	if s.handle(ctx); ctx.Response.StatusCode() != fasthttp.StatusBadRequest {
		t.Errorf("a kept body of another type: status %d", ctx.Response.StatusCode())
	}
}

// TestRepeatsFollowTheSet: a kept body is answered as the validators of the moment make
// it: when they change, when they are not known, and when they are the same again.
func TestRepeatsFollowTheSet(t *testing.T) {
	t.Parallel()
	a := newSigners(t)
	s := a.serves(t, nil)
	body := `{"message":"` + signable(t, 1) + `","quorumPercentage":100}`
	old := answered(s, sdkPath, body)
	for range 3 {
		answered(s, sdkPath, body)
	}
	was, before := a.set.Load(), a.asks.Load()
	if !s.isKept(sdkPath, body) {
		t.Fatal("the body is not kept")
	}
	a.validators(t, 2)
	changed := answered(s, sdkPath, body)
	if changed == old || a.asks.Load() == before || !strings.Contains(changed, "signedMessage") {
		t.Errorf("other validators: %d were asked, answered %s", a.asks.Load()-before, changed)
	}
	before = a.asks.Load()
	for range 3 {
		if got := answered(s, sdkPath, body); got != changed {
			t.Errorf("again: %s, want %s", got, changed)
		}
	}
	a.set.Store(nil)
	if got := answered(s, sdkPath, body); !strings.Contains(got, "404") || strings.Contains(got, "signedMessage") {
		t.Errorf("no validators: %s", got)
	}
	a.set.Store(was)
	if got := answered(s, sdkPath, body); got != old {
		t.Errorf("the first validators again: %s, want %s", got, old)
	}
	if n := a.asks.Load(); n != before {
		t.Errorf("%d validators were asked for what is kept", n-before)
	}
}

// TestRepeatsAreCharged: a kept body costs its units.
func TestRepeatsAreCharged(t *testing.T) {
	t.Parallel()
	s := newSigners(t).serves(t, func(c *Config) {
		l, err := limit.New(limit.Config{UnitsPerMinute: 1, Burst: 200})
		if err != nil {
			t.Fatal(err)
		}
		c.Limits = l
	})
	body := `{"message":"` + signable(t, 1) + `"}`
	status := 0
	for i := 0; i < 300 && status != fasthttp.StatusTooManyRequests; i++ {
		ctx := posted(sdkPath, body)
		s.handle(ctx)
		status = ctx.Response.StatusCode()
	}
	if status != fasthttp.StatusTooManyRequests || !s.isKept(sdkPath, body) {
		t.Errorf("status %d", status)
	}
}

// TestRepeatsAreBounded: bodies that come once take no room, those that come twice no more
// than there is, and what is in use stays.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	const room = 64 << 10
	s := newSigners(t).serves(t, func(c *Config) { c.AnswerBytes = repeatShare * room })
	message := signable(t, 1)
	variant := func(i int) string { return fmt.Sprintf(`{"message":"%s","tag":%d}`, message, i) }
	for i := range 200 {
		answered(s, sdkPath, variant(i))
	}
	if n := s.sign.Bytes(); n != 0 {
		t.Errorf("%d bytes for bodies that came once", n)
	}
	used := `{"message":"` + message + `"}`
	for range 2 {
		answered(s, sdkPath, used)
	}
	lost := 0
	for i := range 1000 {
		for range 2 {
			answered(s, sdkPath, variant(1000+i))
		}
		if !s.isKept(sdkPath, used) {
			lost++
		}
		answered(s, sdkPath, used)
		if n := s.sign.Bytes(); n > room || n == 0 {
			t.Fatalf("%d bytes", n)
		}
	}
	if lost > 20 {
		t.Errorf("the body in use was lost %d times", lost)
	}
}

// TestQuorumNote: a quorum of 0 is answered with what it means, also when it is repeated,
// and no other is.
func TestQuorumNote(t *testing.T) {
	t.Parallel()
	s := newSigners(t).serves(t, nil)
	const note0 = "a quorum of 0 is reached by any signature; chains that check the message ask for more and refuse it"
	for body, note := range map[string]string{`,"quorumPercentage":0`: note0, `,"quorumPercentage":0,"quorumPercentageBuffer":100`: note0, `,"quorumPercentage":1`: "", ``: ""} {
		ctx := posted(sdkPath, `{"message":"`+signable(t, 1)+`"`+body+`}`)
		for range 4 {
			s.handle(ctx)
			if got := string(ctx.Response.Header.Peek("X-Quorum-Note")); ctx.Response.StatusCode() != fasthttp.StatusCreated || got != note {
				t.Errorf("%s: %d, note %q", body, ctx.Response.StatusCode(), got)
			}
		}
	}
	ctx := posted(sign.RelayerPath, `{"message":"`+signable(t, 1)+`","quorum-percentage":0}`) // the default there
	if s.handle(ctx); len(ctx.Response.Header.Peek("X-Quorum-Note")) > 0 {
		t.Error("a note about the default")
	}
}

// TestRepeatAllocations: what is kept is sent without an allocation.
func TestRepeatAllocations(t *testing.T) {
	s := newSigners(t).serves(t, nil)
	ctx := posted(sdkPath, `{"message":"`+signable(t, 1)+`"}`)
	for range 2 {
		s.handle(ctx)
	}
	if n := testing.AllocsPerRun(100, func() { s.handle(ctx) }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
	if ctx.Response.StatusCode() != fasthttp.StatusCreated {
		t.Errorf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}

// FuzzRepeats: whatever a body is, keeping it changes nothing about its answer.
func FuzzRepeats(f *testing.F) {
	message := signable(f, 1)
	for _, c := range bodyCases {
		f.Add([]byte(c.body), false)
		f.Add([]byte(c.body), true)
	}
	for _, more := range []string{``, `,"message":"` + signable(f, 2) + `"`, `,"quorumPercentage":50,"quorumPercentageBuffer":50`,
		`,"quorum-percentage":6.7e1`, `,"signingSubnetId":"11111111111111111111111111111111LpoYY"`, `,"x":{"message":1}`, `,"justification":"0xab"`} {
		f.Add([]byte(`{"message":"0x`+message+`"`+more+`}`), false)
		f.Add([]byte("{ \"message\" :\t\"\\u0030"+message[1:]+`"`+more+`}`), true)
	}
	a := newSigners(f)
	keeps, reads := a.serves(f, nil), a.serves(f, nil)
	reads.sign.Use(reads.desk, 0)
	for i := range byte(2) { // by all, so that the result grows no more
		answered(reads, sdkPath, `{"message":"`+signable(f, i+1)+`","quorumPercentage":100}`)
	}
	f.Fuzz(func(t *testing.T, body []byte, relayer bool) {
		path := sdkPath
		if relayer {
			path = sign.RelayerPath
		}
		want := answered(reads, path, string(body))
		for range 4 {
			got := answered(keeps, path, string(body))
			if got != want { // a result that was new may have grown meanwhile
				want = answered(reads, path, string(body))
				got = answered(keeps, path, string(body))
			}
			if got != want {
				t.Fatalf("%q: answered %s, want %s", body, got, want)
			}
		}
		if reads.sign.Bytes() != 0 {
			t.Error("the server without room keeps something")
		}
	})
}

// TestHeightHeader: an answer says at which height its validators are, also when it is a
// repeat; a destination sets it, under both forms' names, and so do both names of the height.
func TestHeightHeader(t *testing.T) {
	t.Parallel()
	s := newSigners(t).serves(t, nil)
	unknown := chain.ID{0xdd}
	for _, c := range []struct {
		path, members, want string
		status              int
	}{
		{sdkPath, ``, "1", 201},
		{sdkPath, `,"destinationBlockchainId":"` + signersChain.String() + `"`, "7", 201},
		{sdkPath, `,"destinationBlockchainId":"` + unknown.String() + `"`, "", 400},
		{sdkPath, `,"destinationBlockchainId":"` + unknown.String() + `","pChainHeight":9`, "9", 201},
		{sign.RelayerPath, `,"destination-blockchain-id":"` + signersChain.String() + `"`, "7", 200},
		{sign.RelayerPath, `,"pchain-height":8`, "8", 200},
		{sign.RelayerPath, `,"p-chain-height":8`, "8", 200},
		{sign.RelayerPath, `,"p-chain-height":8,"pchain-height":8`, "8", 200},
		{sign.RelayerPath, `,"p-chain-height":8,"pchain-height":9`, "", 400},
	} {
		body := `{"message":"` + signable(t, 1) + `"` + c.members + `}`
		for range 4 { // the last from what is known of the body
			resp := postTo(s, c.path, body)
			if resp.StatusCode() != c.status || string(resp.Header.Peek(sign.HeaderPChainHeight)) != c.want {
				t.Errorf("%s%s: %d at %q, want %d at %q", c.path, c.members, resp.StatusCode(), resp.Header.Peek(sign.HeaderPChainHeight), c.status, c.want)
			}
		}
	}
}
