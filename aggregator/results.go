package aggregator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// collectionKey names what is collected: a message and the content of the set that
// signs. The height is not part of it, since the same set gives the same answer.
type collectionKey struct {
	msg    chain.ID
	digest [32]byte
}

// with returns the key of the result for a wish.
func (k collectionKey) with(w wish) resultKey { return resultKey{k, uint8(w.percent())} } // at most 100

// resultKey names a result. Each share that is asked for has its own, so that what
// needs little never comes with the signers of what needed much.
type resultKey struct {
	collectionKey
	percent uint8 // quorum and buffer
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
	percent int       // quorum and buffer that were tried for
	at      time.Time // when they were
}

// serves reports whether k, made for the same quorum and buffer together, answers a
// wish: it has the weight, or the buffer was tried for, in vain, a short time ago.
func (k *kept) serves(now time.Time, of wish, again time.Duration) bool {
	return k.reaches(of.percent()) || k.reaches(of.quorum) && now.Sub(k.at) < again
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

// reaches reports whether so much of the stake has signed.
func (k *kept) reaches(percent int) bool { return k.result.Weight >= need(k.result.Total, percent) }

func newKept(msg *warp.Unsigned, set *valset.Set, signers warp.Bits, sum [bls.SignatureLen]byte, percent int, at time.Time) *kept {
	wire := signers.Signers()
	signed := make([]byte, 0, warp.SignedLen(msg.Bytes(), wire))
	return &kept{
		result: Result{
			Signed: warp.AppendSigned(signed, msg.Bytes(), wire, &sum),
			Weight: set.Weight(signers), Total: set.TotalWeight, Height: set.Height, Kept: true,
		},
		signers: signers, sum: sum, percent: percent, at: at,
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
	parts *sized[chain.ID, []keptPart]
}

// keptPart is a single signature by key, for use with another set, quorum or
// buffer. Unless proven, its validity is known at most as part of a sum, so
// that whoever uses it must check the new sum.
type keptPart struct {
	key  [bls.PublicKeyLen]byte
	part *part
	set  [32]byte // digest of the set that it was collected for
}

const (
	keptOverhead = 512 // bytes besides the signed message, about
	partSize     = 400 // bytes of one kept part, about
	// unusedFor is how long what nobody uses stays in memory where there is more than
	// alwaysKept bytes of it: a result is on disk, and whoever asks for what was signed
	// ahead does so within minutes. Otherwise a server that signs a few messages a second
	// would fill its share for hours.
	unusedFor  = 5 * time.Minute
	alwaysKept = 4 << 20
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
		parts: newSized[chain.ID](partBytes, func(p []keptPart) int { return len(p)*partSize + keptOverhead }),
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

// publish writes a result to the store and then makes it known, so that nobody
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
	if k.reaches(k.percent) || old == nil || old.result.Weight <= k.result.Weight {
		return k
	}
	return &kept{result: old.result, signers: old.signers, sum: old.sum, percent: k.percent, at: k.at}
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

func (r *results) getParts(msg chain.ID) []keptPart {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _ := r.parts.get(msg)
	return p
}

func (r *results) putParts(msg chain.ID, p []keptPart) {
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

// fromMemory returns a result in memory that serves a wish, or nil.
func (a *Aggregator) fromMemory(of wish, msg *warp.Unsigned, set *valset.Set) *Result {
	now := time.Now()
	k := a.results.get(collectionKey{msg.ID(), set.Digest}.with(of))
	if k == nil || !k.serves(now, of, a.cfg.RetryBuffer) {
		return nil
	}
	a.count.kept.Inc()
	a.journal.repeated(now, of, k, FromMemory, msg, set)
	return k.resultAt(set.Height)
}

// load reads a result of an earlier run. What comes from disk is verified
// before it is trusted, once.
func (a *Aggregator) load(ctx context.Context, key resultKey, msg *warp.Unsigned, set *valset.Set) *kept {
	if k := a.results.get(key); k != nil {
		return k
	}
	if a.cfg.Store == nil {
		return nil
	}
	raw, found, err := a.cfg.Store.Get(key.bytes(), nil)
	if err != nil {
		a.count.storeErrors.Inc()
		a.log.Warn("stored result could not be read", "message", key.msg, "err", err)
		return nil
	}
	if !found {
		return nil
	}
	k, err := parseRecord(raw, msg, set)
	if err == nil {
		err = a.verify(ctx, k, msg, set)
	}
	if err != nil {
		a.count.storeErrors.Inc()
		a.log.Warn("stored result is not usable", "message", key.msg, "err", err)
		return nil
	}
	a.results.put(key, k)
	return k
}

// verify checks a result as a destination chain would.
func (a *Aggregator) verify(ctx context.Context, k *kept, msg *warp.Unsigned, set *valset.Set) error {
	p := &part{raw: k.sum}
	if err := bls.DecodeSignatureInto(&p.sig, k.sum[:]); err != nil {
		return err
	}
	reply := actor.NewReply[bool]()
	t := &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: k.signers, parts: []*part{p}, whole: true}
	t.done = func(v *verdict) { reply.Answer(v.ok, nil) }
	ctx, cancel := context.WithTimeout(ctx, a.cfg.RequestTimeout)
	defer cancel()
	if err := a.verifier.submit(ctx, t); err != nil {
		return err
	}
	ok, err := reply.Wait(ctx)
	if err == nil && !ok {
		err = errors.New("aggregate signature is invalid")
	}
	return err
}

// reuse makes a result of signatures that are kept from a collection for another set or
// another quorum: at the turn of an epoch, or after a change of the validators, most of
// those who signed still count. The first result for a set may lack a buffer that the
// set before lacked too. It returns nil when they do not reach what is asked for, or when
// their sum is not valid; then the message has to be collected.
func (a *Aggregator) reuse(ctx context.Context, req *Request, key collectionKey, first bool, msg *warp.Unsigned, set *valset.Set) *kept {
	parts := a.results.getParts(key.msg)
	if len(parts) == 0 {
		return nil
	}
	byKey := make(map[[bls.PublicKeyLen]byte]*part, len(parts))
	for _, p := range parts {
		byKey[p.key] = p.part
	}
	now := time.Now()
	found := make([]*part, len(set.Validators))
	var have uint64
	var candidates []int32
	for i := range set.Validators {
		raw := set.Validators[i].Key.Compressed()
		if p := byKey[raw]; p != nil && (p.proven || !a.bad.holds(now, raw)) {
			own := *p // kept parts are shared, proven is not
			found[i] = &own
			candidates = append(candidates, int32(i)) // set sizes are bounded
			have += set.Validators[i].Weight          // at most the total
		}
	}
	want := need(set.TotalWeight, req.Quorum+req.Buffer)
	if first && parts[0].set != set.Digest {
		want = max(need(set.TotalWeight, req.Quorum), min(want, have))
	}
	if have < want {
		return nil
	}
	beside, covers := weighings(set, a.sets.Beside(set))
	weight := func(i int32) uint64 { return set.Validators[i].Weight }
	signers, sum := warp.NewBits(len(set.Validators)), []*part(nil)
	for _, i := range fewest(candidates, weight, aim{want, req.Quorum}, beside) {
		signers.Set(int(i))
		sum = append(sum, found[i])
	}
	reply := actor.NewReply[*verdict]()
	t := &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: signers, parts: sum}
	t.done = func(v *verdict) { reply.Answer(v, nil) }
	if a.verifier.submit(ctx, t) != nil {
		return nil
	}
	v, err := reply.Wait(ctx)
	if err != nil || !v.ok {
		return nil
	}
	k := newKept(msg, set, v.signers, v.sum, req.Quorum+req.Buffer, now)
	a.count.given(set, k, covers && covered(k.signers, beside, req.Quorum))
	a.results.publish(ctx, key.with(req.wish()), k)
	a.count.reused.Inc()
	return k
}

// any returns the result with the quorum that was tried for least, in memory or on disk.
func (a *Aggregator) any(ctx context.Context, of wish, msg *warp.Unsigned, set *valset.Set) *kept {
	key := collectionKey{msg.ID(), set.Digest}
	for p := of.quorum; p <= 100; p++ {
		if k := a.load(ctx, resultKey{key, uint8(p)}, msg, set); k != nil && k.reaches(of.quorum) { // at most 100
			return k
		}
	}
	if k := a.load(ctx, resultKey{key, anyPercent}, msg, set); k != nil && k.reaches(of.quorum) {
		return k
	}
	return nil
}

// lastKnown answers from what is kept when the node gave no validator set, as
// after a restart while it is down: a result of the last set that was known, if
// that has the quorum. It is checked against that set as always. Nobody is asked
// to sign: a set that may be old is good for what was signed under it alone.
func (a *Aggregator) lastKnown(ctx context.Context, req *Request, height uint64, msg *warp.Unsigned, cause error) (*Result, error) {
	var failure *Error
	if a.cfg.LastKnown == nil || height != 0 || !errors.As(cause, &failure) || failure.Kind != NodeFailed {
		return nil, cause
	}
	var subnet chain.ID
	if req.SigningSubnetID != nil {
		subnet = *req.SigningSubnetID
	} else if id, err := a.sets.SubnetOf(ctx, msg.SourceChainID); err == nil {
		subnet = id
	} else {
		return nil, cause
	}
	set, ok := a.cfg.LastKnown(subnet)
	if !ok {
		return nil, cause
	}
	k := a.any(ctx, req.wish(), msg, set)
	if k == nil {
		return nil, cause
	}
	a.count.loaded.Inc()
	a.journal.repeated(time.Now(), req.wish(), k, FromDisk, msg, set)
	return k.resultAt(set.Height), nil
}

// LastKnown returns the last set that was known of a subnet, in an earlier run too.
type LastKnown func(subnet chain.ID) (*valset.Set, bool)
