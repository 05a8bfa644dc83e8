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

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
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

// sized is an LRU bounded by the bytes of its values. Beyond alwaysKept of them it
// forgets what was not used for unusedFor, when something is put to it.
type sized[K comparable, V any] struct {
	lru       *simplelru.LRU[K, *dated[V]]
	size      func(V) int
	used, cap int
	now       func() time.Time
}

type dated[V any] struct {
	value V
	used  time.Time
}

func newSized[K comparable, V any](capBytes int, size func(V) int) *sized[K, V] {
	s := &sized[K, V]{size: size, cap: capBytes, now: time.Now}
	lru, err := simplelru.NewLRU[K, *dated[V]](1<<31-1, func(_ K, d *dated[V]) { s.used -= size(d.value) })
	if err != nil {
		panic(err) // the size is a positive constant
	}
	s.lru = lru
	return s
}

func (s *sized[K, V]) get(k K) (v V, ok bool) {
	d, ok := s.lru.Get(k)
	if !ok {
		return v, false
	}
	d.used = s.now()
	return d.value, true
}

func (s *sized[K, V]) put(k K, v V) {
	now := s.now()
	s.lru.Remove(k)
	s.lru.Add(k, &dated[V]{v, now})
	s.used += s.size(v)
	for s.used > min(s.cap, alwaysKept) && s.lru.Len() > 1 {
		if _, oldest, _ := s.lru.GetOldest(); s.used <= s.cap && now.Sub(oldest.used) < unusedFor {
			return
		}
		s.lru.RemoveOldest()
	}
}
