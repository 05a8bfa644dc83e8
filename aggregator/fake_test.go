package aggregator

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

const testNetwork = 12345

var (
	errNop      = errors.New("not in this test")
	sourceChain = chain.ID{0xc}
)

// fakeSets serves one set, and knows one chain and one L1.
type fakeSets struct {
	set        atomic.Pointer[valset.Set]
	beside     []*valset.Set
	epochs     map[chain.ID]uint64
	conversion chain.ID
}

func (f *fakeSets) Current(subnet chain.ID) (*valset.Set, bool) {
	return f.set.Load(), subnet.IsZero()
}

func (f *fakeSets) At(_ context.Context, subnet chain.ID, height uint64) (*valset.Set, error) {
	switch {
	case !subnet.IsZero():
		return nil, valset.ErrUnknownSubnet
	case height > f.set.Load().Height:
		return nil, valset.ErrHeight
	}
	return f.set.Load(), nil
}

func (f *fakeSets) Beside(*valset.Set) []*valset.Set { return f.beside }

func (f *fakeSets) EpochHeight(id chain.ID) (height uint64, followed bool) {
	height, followed = f.epochs[id]
	return height, followed
}

func (f *fakeSets) Recheck(ctx context.Context, subnet chain.ID) (*valset.Set, error) {
	return f.At(ctx, subnet, 0)
}

func (f *fakeSets) SubnetOf(_ context.Context, id chain.ID) (chain.ID, error) {
	switch id {
	case sourceChain, chain.PlatformChainID:
		return chain.PrimaryNetworkID, nil
	case chain.ID{0xff}:
		return chain.ID{}, errNop
	}
	return chain.ID{}, valset.ErrUnknownChain
}

func (f *fakeSets) ConversionOf(_ context.Context, subnet chain.ID) (chain.ID, bool, error) {
	if subnet != (chain.ID{0x11}) {
		return chain.ID{}, false, valset.ErrUnknownSubnet
	}
	return f.conversion, !f.conversion.IsZero(), nil
}

// reply is what a fake validator does with a question: it calls deliver, now,
// later or never. It runs on a goroutine of its own.
type reply func(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer))

type fakeValidator struct {
	id     chain.NodeID
	key    *bls.SecretKey
	weight uint64

	mu     sync.Mutex
	reply  reply
	down   bool
	busy   bool
	asked  int
	lately time.Duration // latency it is known for

	awayFor time.Duration
	bad     bool
}

func (v *fakeValidator) set(r reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reply = r
}

func (v *fakeValidator) asks() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

// signed keeps what fake validators have signed, by the key and the message: tests ask
// the same validators for the same messages, and signing is what they spend most on.
var signed sync.Map

type signedBy struct {
	key     *bls.SecretKey
	message string
}

func (v *fakeValidator) sign(msg []byte) [bls.SignatureLen]byte {
	by := signedBy{v.key, string(msg)}
	sig, ok := signed.Load(by)
	if !ok {
		sig, _ = signed.LoadOrStore(by, v.key.Sign(msg))
	}
	return sig.([bls.SignatureLen]byte)
}

func signs(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
	sig := v.sign(msg.Bytes())
	deliver(Answer{From: v.id, Signature: sig[:]})
}

func keepsSilent(*fakeValidator, *warp.Unsigned, func(Answer)) {}

func sends(b []byte) reply {
	return func(v *fakeValidator, _ *warp.Unsigned, deliver func(Answer)) {
		deliver(Answer{From: v.id, Signature: b})
	}
}

func refuses(code int32) reply {
	return func(v *fakeValidator, _ *warp.Unsigned, deliver func(Answer)) {
		deliver(Answer{From: v.id, Refused: true, Code: code})
	}
}

// signsWrongly signs with a key that is not its own.
func signsWrongly(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
	sig := bls.SecretKeyFromSeed(append([]byte("quite another key, 32 bytes long"), v.id[:]...)).Sign(msg.Bytes())
	deliver(Answer{From: v.id, Signature: sig[:]})
}

func after(d time.Duration, r reply) reply {
	return func(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
		timer := time.NewTimer(d)
		<-timer.C
		r(v, msg, deliver)
	}
}

// fakePeers is a peer network of fake validators.
type fakePeers struct {
	vals []*fakeValidator
	byID map[chain.NodeID]*fakeValidator
	wg   sync.WaitGroup
	// closed makes Open fail.
	closed bool
}

// fakeKeys are the keys of fake validators, by their place.
var fakeKeys sync.Map

func fakeKey(i int) *bls.SecretKey {
	key, ok := fakeKeys.Load(i)
	if !ok {
		seed := binary.BigEndian.AppendUint64([]byte("fake validator's seed of 32 bytes"), uint64(i))
		key, _ = fakeKeys.LoadOrStore(i, bls.SecretKeyFromSeed(seed))
	}
	return key.(*bls.SecretKey)
}

func newFakePeers(weights ...uint64) *fakePeers {
	p := &fakePeers{byID: make(map[chain.NodeID]*fakeValidator)}
	for i, w := range weights {
		v := &fakeValidator{key: fakeKey(i), weight: w, reply: signs}
		binary.BigEndian.PutUint64(v.id[:], uint64(i+1))
		p.vals = append(p.vals, v)
		p.byID[v.id] = v
	}
	return p
}

func (p *fakePeers) members() []valset.Member {
	var out []valset.Member
	for _, v := range p.vals {
		key := v.key.PublicKey().Compressed()
		out = append(out, valset.Member{NodeID: v.id, PublicKey: key[:], Weight: v.weight})
	}
	return out
}

func (p *fakePeers) validatorSet(t testing.TB, height uint64, extra ...valset.Member) *valset.Set {
	t.Helper()
	set, err := valset.New(chain.PrimaryNetworkID, height, append(p.members(), extra...), valset.NewKeyCache(1000))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (p *fakePeers) Status(id chain.NodeID) PeerStatus {
	v := p.byID[id]
	v.mu.Lock()
	defer v.mu.Unlock()
	return PeerStatus{Connected: !v.down, AwayFor: v.awayFor, Latency: v.lately}
}

func (p *fakePeers) Open(msg *warp.Unsigned, _ []byte, _ time.Duration, deliver func(Answer)) (Question, error) {
	if p.closed {
		return nil, errNop
	}
	return &fakeQuestion{p, msg, deliver}, nil
}

type fakeQuestion struct {
	peers   *fakePeers
	msg     *warp.Unsigned
	deliver func(Answer)
}

func (q *fakeQuestion) Ask(id chain.NodeID) error {
	v := q.peers.byID[id]
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.down:
		return errNop
	case v.busy:
		return ErrBusy
	}
	v.asked++
	r := v.reply
	q.peers.wg.Go(func() { r(v, q.msg, q.deliver) })
	return nil
}

func (q *fakeQuestion) Close() {}

// mapStore is a Store in memory.
type mapStore struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *mapStore) Get(key, dst []byte) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[string(key)]
	return append(dst, v...), ok, nil
}

func (s *mapStore) Put(_ context.Context, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

// bed is an aggregator with fake surroundings.
type bed struct {
	*Aggregator
	peers *fakePeers
	sets  *fakeSets
	stop  func()
}

func newBed(t testing.TB, peers *fakePeers, change func(*Config)) *bed {
	t.Helper()
	b := &bed{peers: peers, sets: &fakeSets{}}
	b.sets.set.Store(peers.validatorSet(t, 7))
	cfg := Config{NetworkID: testNetwork, Sets: b.sets, Peers: peers, Workers: 2}
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Aggregator = a
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	<-a.Running()
	var once sync.Once
	b.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			peers.wg.Wait()
		})
	}
	t.Cleanup(b.stop)
	return b
}

func message(t testing.TB, i int) *warp.Unsigned {
	t.Helper()
	m, err := warp.New(testNetwork, sourceChain, warp.AddressedCall{
		SourceAddress: make([]byte, 20), Payload: binary.BigEndian.AppendUint64(nil, uint64(i)),
	}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func request(t testing.TB, i, quorum, buffer int) *Request {
	t.Helper()
	return &Request{Message: message(t, i).Bytes(), Quorum: quorum, Buffer: buffer}
}

// verified checks a signed message from its bytes alone, as a destination
// chain would, and returns the number of signers.
func verified(t testing.TB, set *valset.Set, signed []byte, quorum int) int {
	t.Helper()
	m, err := warp.ParseSigned(signed)
	if err != nil {
		t.Fatal(err)
	}
	signers, ok := warp.BitsFromSigners(m.Signers, len(set.Validators))
	if !ok {
		t.Fatal("signers do not fit the set")
	}
	if w := set.Weight(signers); w < need(set.TotalWeight, quorum) {
		t.Fatalf("weight %d of %d is below the quorum", w, set.TotalWeight)
	}
	var keys []*bls.PublicKey
	signers.Each(func(i int) { keys = append(keys, set.Validators[i].Key) })
	sum := bls.SumKeys(keys)
	agg, err := bls.DecodeAggregate(m.Signature[:])
	if err != nil {
		t.Fatal(err)
	}
	if !bls.Verify(&sum, bls.HashMessage(m.Bytes()), &agg) {
		t.Fatal("aggregate signature is invalid")
	}
	return signers.Count()
}
