package aggregator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// answerGrace is what a collection is given beyond a request's deadline to say
// what became of it.
const answerGrace = 250 * time.Millisecond

// collectionKey names what is collected: a message and the content of the set that
// signs. The height is not part of it, since the same set gives the same answer.
type collectionKey struct {
	msg    chain.ID
	digest [32]byte
}

// with returns the key of the result for a share, at most 100 or anyPercent.
func (k collectionKey) with(percent int) resultKey { return resultKey{k, uint8(percent)} }

// resultKey names a result. Each share that is asked for has its own, so that what
// needs little never comes with the signers of what needed much.
type resultKey struct {
	collectionKey
	percent uint8 // quorum and buffer
}

// key returns the key of the result for a share.
func (at *attempt) key(percent int) resultKey {
	return collectionKey{at.msg.ID(), at.set.Digest}.with(percent)
}

// anyPercent is the percent of results of earlier releases, which kept the heaviest alone.
const anyPercent = 255

func (k resultKey) bytes() []byte {
	b := make([]byte, 0, len(k.msg)+len(k.digest)+1)
	b = append(append(b, k.msg[:]...), k.digest[:]...)
	if k.percent != anyPercent {
		b = append(b, k.percent)
	}
	return b
}

// kept is a verified result. It is immutable, but for row and other.
type kept struct {
	row     atomic.Pointer[row]    // of the journal, which sets it; nil: it has none
	other   atomic.Pointer[Result] // the same with the last height that differed
	result  Result
	signers warp.Bits
	sum     [bls.SignatureLen]byte
	reached int       // percent of the stake that has signed
	percent int       // quorum and buffer that were tried for
	at      time.Time // when they were
}

// resultAt returns the result with the height of the set that it was asked for at, which
// has the same content.
func (k *kept) resultAt(height uint64) *Result {
	if k.result.Height == height {
		return &k.result
	}
	r := k.other.Load()
	if r == nil || r.Height != height {
		r = new(Result)
		*r = k.result
		r.Height = height
		k.other.Store(r)
	}
	return r
}

// percentOf returns how many whole percent a weight is of a total that is not 0.
func percentOf(weight, total uint64) int {
	hi, lo := bits.Mul64(min(weight, total), 100)
	q, _ := bits.Div64(hi, lo, total)
	return int(q) // at most 100
}

func newKept(msg *warp.Unsigned, set *valset.Set, signers warp.Bits, sum [bls.SignatureLen]byte, percent int, at time.Time) *kept {
	wire, weight := signers.Signers(), set.Weight(signers)
	signed := make([]byte, 0, warp.SignedLen(msg.Bytes(), wire))
	return &kept{
		result:  Result{Signed: warp.AppendSigned(signed, msg.Bytes(), wire, &sum), Weight: weight, Total: set.TotalWeight, Height: set.Height},
		signers: signers, sum: sum, reached: percentOf(weight, set.TotalWeight), percent: percent, at: at,
	}
}

// Record layout, version 1, big-endian:
//
//	u8 1 | u8 percent | i64 at (unix s) | 96 aggregate | signers (to the end)
//
// Weights are not stored: they follow from the set, whose digest is in the key.
const (
	recordVersion = 1
	recordHead    = 1 + 1 + 8 + bls.SignatureLen
)

var errRecord = errors.New("unreadable record")

func (k *kept) record() []byte {
	signers := k.signers.Signers()
	b := make([]byte, 0, recordHead+len(signers))
	b = append(b, recordVersion, byte(k.percent)) // 0..100
	b = binary.BigEndian.AppendUint64(b, uint64(k.at.Unix()))
	b = append(b, k.sum[:]...)
	return append(b, signers...)
}

func parseRecord(b []byte, msg *warp.Unsigned, set *valset.Set) (*kept, error) {
	if len(b) < recordHead || b[0] != recordVersion || b[1] > 100 {
		return nil, fmt.Errorf("%w: %d bytes", errRecord, len(b))
	}
	signers, ok := warp.BitsFromSigners(b[recordHead:], len(set.Validators))
	if !ok || signers.Count() == 0 {
		return nil, fmt.Errorf("%w: signers do not fit the set", errRecord)
	}
	at := time.Unix(int64(binary.BigEndian.Uint64(b[2:])), 0) // written by record
	return newKept(msg, set, signers, [bls.SignatureLen]byte(b[10:]), int(b[1]), at), nil
}

// results is the memory of kept results and of single signatures, bounded by
// bytes, with the store behind it. Safe for concurrent use.
type results struct {
	store Store // may be nil
	count *counters
	log   *slog.Logger
	// stalled is set while the store's last write took too long.
	stalled atomic.Bool

	mu    sync.Mutex // guards what follows
	kept  *sized[resultKey, *kept]
	parts *sized[chain.ID, keptParts]
}

// keptPart is a single signature by key, for use with another set, quorum or
// buffer. Unless proven, its validity is known at most as part of a sum, so
// that whoever uses it must check the new sum.
type keptPart struct {
	key  [bls.PublicKeyLen]byte
	part *part
	set  [32]byte // digest of the set that it was collected for
}

// keptParts are those of a message.
type keptParts []keptPart

// of returns the parts by validators of a set, but for unproven ones of those who are held
// in quarantine. They are copies: whether one is proven is not shared.
func (known keptParts) of(set *valset.Set, held func(i int) bool) []*part {
	byKey := make(map[[bls.PublicKeyLen]byte]*part, len(known))
	for _, p := range known {
		byKey[p.key] = p.part
	}
	out := make([]*part, len(set.Validators))
	for i := range out {
		if p := byKey[set.Validators[i].Key.Compressed()]; p != nil && (p.proven || !held(i)) {
			own := *p
			out[i] = &own
		}
	}
	return out
}

const (
	keptOverhead = 512 // bytes besides the signed message, about
	partSize     = 400 // bytes of one kept part, about
)

// storeWait bounds the wait for the disk before a result is given out, and
// stalledWait the same while the disk has just been found to hang.
const (
	storeWait   = time.Second
	stalledWait = 20 * time.Millisecond
)

func newResults(keptBytes, partBytes int, store Store, count *counters, log *slog.Logger) *results {
	return &results{
		store: store, count: count, log: log,
		kept:  newSized[resultKey](keptBytes, func(k *kept) int { return len(k.result.Signed) + keptOverhead }),
		parts: newSized[chain.ID](partBytes, func(p keptParts) int { return len(p)*partSize + keptOverhead }),
	}
}

func (r *results) get(key resultKey) *kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, _ := r.kept.get(key)
	return k
}

func (r *results) put(key resultKey, k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept.put(key, k)
}

// read returns a result that is on disk, nil if there is none. It has to be verified.
func (r *results) read(key resultKey, msg *warp.Unsigned, set *valset.Set) (*kept, error) {
	if r.store == nil {
		return nil, nil
	}
	raw, found, err := r.store.Get(key.bytes(), nil)
	if err != nil || !found {
		return nil, err
	}
	return parseRecord(raw, msg, set)
}

// publish writes a result to the store and then makes it known, so that no one
// gets an answer that a kill of the process would take back. A store that hangs
// or fails does not hold back verified answers for ever: after storeWait they are
// given out all the same, and after a kill would be collected again.
func (r *results) publish(ctx context.Context, key resultKey, k *kept) {
	if r.store != nil {
		r.write(ctx, key, k)
	}
	r.put(key, k)
}

// heavier returns k or, where the buffer was not reached, the signers of an earlier
// result if they weigh more, tried for as lately as k: it shows that no more can be had
// at the moment.
func (r *results) heavier(key resultKey, k *kept) *kept {
	old := r.get(key)
	if k.reached >= k.percent || old == nil || old.result.Weight <= k.result.Weight {
		return k
	}
	return &kept{result: old.result, signers: old.signers, sum: old.sum, reached: old.reached, percent: k.percent, at: k.at}
}

func (r *results) write(ctx context.Context, key resultKey, k *kept) {
	wait := storeWait
	if r.stalled.Load() {
		wait = stalledWait
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := r.store.Put(bounded, key.bytes(), k.record())
	late := bounded.Err() != nil && ctx.Err() == nil
	if was := r.stalled.Swap(late); late && !was {
		r.log.Warn("the results database is slow: answers are given out before they are on disk", "waited", wait)
	}
	if err != nil {
		r.count.storeErrors.Inc()
		if !late {
			r.log.Warn("result could not be stored", "message", key.msg, "err", err)
		}
	}
}

func (r *results) getParts(msg chain.ID) keptParts {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _ := r.parts.get(msg)
	return p
}

func (r *results) putParts(msg chain.ID, p keptParts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts.put(msg, p)
}

// held returns the bytes of all results and of all single signatures, about.
func (r *results) held() (kept, parts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.used, r.parts.used
}

// find returns the result that answers a request, and where it was found. It looks in one
// order, of which each place costs more than the one before:
//
//  1. In memory, for the result of this message, this set and this share of the stake.
//     [Aggregator.Again] looks nowhere else.
//  2. There and on disk, if need be for the set with the balances of this moment. What
//     comes from disk is verified once.
//  3. Among the single signatures in memory, those of collections for another set or
//     share, for some that suffice. Their sum is verified.
//  4. With the validators: in the collection that is under way for this message and set,
//     or in a new one. Whoever finds that it has just ended begins at 1 again.
//  5. When that fails, or the node does not say who the validators are, in memory and on
//     disk for results that were made for another share, see instead.
//
// What is found is at 1 for the next request.
func (a *Aggregator) find(ctx context.Context, at *attempt) (*kept, How, error) {
	if k := a.inMemory(at); k != nil {
		return k, FromMemory, nil
	}
	ctx, cancel := context.WithDeadline(ctx, at.deadline.Add(answerGrace))
	defer cancel()
	if at.height == 0 && percentOf(at.set.Able(), at.set.TotalWeight) < max(at.quorum, 1) {
		// Who was found underfunded may have been paid for meanwhile.
		if fresh, err := a.sets.Recheck(ctx, at.set.SubnetID); err == nil { // or what is known has to do
			at.set = fresh
		}
	}
	k := a.load(ctx, at, at.percent())
	if k != nil && a.serves(k, at.wish) {
		a.count.loaded.Inc()
		return k, FromDisk, nil
	}
	if k := a.reuse(ctx, at, k == nil); k != nil {
		a.count.reused.Inc()
		return k, Reused, nil
	}
	k, err := a.collect(ctx, at)
	if errors.Is(err, errEnded) {
		return a.find(ctx, at)
	}
	return k, Collected, err
}

// inMemory returns the result in memory that serves a request, or nil.
func (a *Aggregator) inMemory(at *attempt) *kept {
	k := a.results.get(at.key(at.percent()))
	if k == nil || !a.serves(k, at.wish) {
		return nil
	}
	a.count.kept.Inc()
	return k
}

// serves reports whether k, made for the same quorum and buffer together, answers a
// wish: it has the weight, or the buffer was tried for, in vain, a short time ago.
func (a *Aggregator) serves(k *kept, of wish) bool {
	return k.reached >= of.percent() || k.reached >= of.quorum && time.Since(k.at) < a.cfg.RetryBuffer
}

// load returns the result that was made for a share, from memory or from disk.
func (a *Aggregator) load(ctx context.Context, at *attempt, percent int) *kept {
	key := at.key(percent)
	if k := a.results.get(key); k != nil {
		return k
	}
	k, err := a.results.read(key, at.msg, at.set)
	if k != nil {
		err = a.verify(ctx, k, at.msg, at.set)
	}
	if err != nil {
		a.count.storeErrors.Inc()
		a.log.Warn("stored result is not usable", "message", key.msg, "err", err)
		return nil
	}
	if k != nil {
		a.results.put(key, k)
	}
	return k
}

// verify checks a result as a destination chain would.
func (a *Aggregator) verify(ctx context.Context, k *kept, msg *warp.Unsigned, set *valset.Set) error {
	p := &part{raw: k.sum}
	if err := bls.DecodeSignatureInto(&p.sig, k.sum[:]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.RequestTimeout)
	defer cancel()
	v, err := a.verifier.check(ctx, &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: k.signers, parts: []*part{p}, whole: true})
	if err == nil && !v.ok {
		err = errors.New("aggregate signature is invalid")
	}
	return err
}

// reuse makes a result of signatures that are kept from a collection for another set or
// another quorum: at the turn of an epoch, or after a change of the validators, most of
// those who signed still count. The first result for a set may lack a buffer that the
// set before lacked too. It returns nil when they do not reach what is asked for, or when
// their sum is not valid; then the message has to be collected.
func (a *Aggregator) reuse(ctx context.Context, at *attempt, first bool) *kept {
	known := a.results.getParts(at.msg.ID())
	if len(known) == 0 {
		return nil
	}
	now, set := time.Now(), at.set
	found := known.of(set, func(i int) bool { return a.bad.holds(now, set.Validators[i].Key.Compressed()) })
	var have uint64
	var candidates []int32
	for i, p := range found {
		if p != nil {
			candidates = append(candidates, int32(i)) // set sizes are bounded
			have += set.Validators[i].Weight          // at most the total
		}
	}
	want := need(set.TotalWeight, at.percent())
	if first && known[0].set != set.Digest {
		want = max(need(set.TotalWeight, at.quorum), min(want, have))
	}
	if have < want {
		return nil
	}
	beside, covers := weighings(set, a.sets.Beside(set))
	weight := func(i int32) uint64 { return set.Validators[i].Weight }
	signers, sum := warp.NewBits(len(set.Validators)), []*part(nil)
	for _, i := range fewest(candidates, weight, aim{want, at.quorum}, beside) {
		signers.Set(int(i))
		sum = append(sum, found[i])
	}
	covers = covers && covered(signers, beside, at.quorum)
	v, err := a.verifier.check(ctx, &checkTask{set: set, msg: bls.HashMessage(at.msg.Bytes()), signers: signers, parts: sum})
	if err != nil || !v.ok {
		return nil
	}
	k := newKept(at.msg, set, v.signers, v.sum, at.percent(), now)
	a.count.given(set, k, covers)
	a.results.publish(ctx, at.key(at.percent()), k)
	return k
}

// instead answers with a result that has the quorum, whatever share it was made for, the
// least first, when a better one cannot be had.
//
// The cause may be that the node gave no validator set, as after a restart while it is
// down. Then it is a result of the last set that was known, checked against that as
// always. No validator is asked to sign: a set that may be old is good for what was signed
// under it alone.
func (a *Aggregator) instead(ctx context.Context, at *attempt, cause error) (*kept, How, error) {
	ctx, cancel := context.WithDeadline(ctx, at.deadline.Add(answerGrace))
	defer cancel()
	last := at.set == nil
	if last {
		if at.set = a.lastKnown(ctx, at, cause); at.set == nil {
			return nil, 0, cause
		}
	}
	for p := at.quorum; p <= anyPercent; p++ {
		if p == 101 {
			p = anyPercent
		}
		k := a.load(ctx, at, p)
		switch {
		case k == nil || k.reached < at.quorum:
		case last:
			a.count.loaded.Inc()
			return k, FromDisk, nil
		default:
			return k, FromMemory, nil
		}
	}
	if last {
		at.set = nil
	}
	return nil, 0, cause
}

// lastKnown returns the last set that was known, if the cause of a failure is that the
// node gave none.
func (a *Aggregator) lastKnown(ctx context.Context, at *attempt, cause error) *valset.Set {
	var failure *Error
	if a.cfg.LastKnown == nil || at.height != 0 || !errors.As(cause, &failure) || failure.Kind != NodeFailed {
		return nil
	}
	subnet := at.req.SigningSubnetID
	if subnet == nil {
		id, err := a.sets.SubnetOf(ctx, at.msg.SourceChainID)
		if err != nil {
			return nil
		}
		subnet = &id
	}
	if set, ok := a.cfg.LastKnown(*subnet); ok {
		return set
	}
	return nil
}
