package reply

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/kept"
	"quorate/httpapi/view"
)

const (
	// DefaultBytes bounds the bodies that are kept by default, answerSlots their number.
	DefaultBytes = 32 << 20
	answerSlots  = 1 << 12
	// maxAnswer is the largest body that is kept, in bytes.
	maxAnswer = 1 << 20
	// answerAge is how old an answer may be in what its chain does not say: prices,
	// what tokens call themselves. It is what files are looked at for changes, too.
	answerAge = time.Second
	// SeenSlots is the number of requests that are remembered as asked for once.
	SeenSlots = 1 << 13
)

// Answers keeps complete bodies for as long as nothing in them can have
// changed: a body goes with the last block of each chain it shows, or, where one
// seek reports, with the first block that brings something to its list. Only what is
// asked for a second time is kept, so that reading a chain page by page costs no
// memory and pushes nothing out.
type Answers struct {
	kept *kept.Cache[answer]
	seed maphash.Seed
	seen [SeenSlots]atomic.Uint64 // hashes
}

// answer is a body and what it belongs to.
type answer struct {
	Key
	encoding string // the body's, "" for none
	body     []byte
	about    Marked
	marks    []Mark
	shows    Shown
	until    time.Time

	same atomic.Pointer[evm.Hash] // a later block at which shows was found unchanged
}

// Shown is what a body shows of its chain, if that is not all of it.
type Shown struct {
	// Still returns the last block of the chain, and reports whether the blocks since Height
	// brought nothing to what is shown; nil: any block may.
	Still  func(s *Shown, chain Marked) (tip evm.Hash, ok bool)
	List   uint8 // which of the chain's lists, as Still knows them
	Of     evm.Address
	Height uint64 // of the chain at the time of the answer
}

// Key names what was asked for. uri is the client's own text: two
// spellings of the same request are two answers.
type Key struct {
	uri     []byte
	hash    uint64
	dialect view.Dialect
	accept  string // the best encoding that the client takes
}

// Mark is the last block of a chain at the time of an answer.
type Mark struct {
	Chain Marked
	Tip   evm.Hash
}

// Marked is what can tell whether it is still at a mark, and how far it is.
type Marked interface {
	Cursor() (number uint64, hash evm.Hash, ok bool)
	Syncing() (height uint64, behind bool)
	Gaps() (gaps []view.Gap, header string)
}

// Bytes returns how many bytes are kept.
func (a *Answers) Bytes() int64 { return a.kept.Bytes() }

func newAnswers(size int64) *Answers {
	return &Answers{kept: kept.New[answer](size, answerSlots), seed: maphash.MakeSeed()}
}

// Key returns the key of a request. It aliases the request.
func (a *Answers) Key(ctx *fasthttp.RequestCtx, d view.Dialect) Key {
	h := &ctx.Request.Header
	k := Key{uri: h.RequestURI(), dialect: d}
	if accept := h.Peek(fasthttp.HeaderAcceptEncoding); len(accept) > 0 {
		k.accept = Encoding(accept)
	}
	k.hash = kept.Mix(maphash.Bytes(a.seed, k.uri), uint64(k.dialect)<<8|uint64(len(k.accept)))
	return k
}

// Find returns the answer to a request, nil if none is kept that still holds.
func (a *Answers) Find(k *Key, now time.Time) *answer {
	found := a.kept.Get(k.hash)
	if found == nil || found.dialect != k.dialect || found.accept != k.accept || !bytes.Equal(found.uri, k.uri) ||
		now.After(found.until) || !hold(found.marks) && !found.unchanged() {
		return nil
	}
	return found
}

// unchanged reports whether the blocks since the answer brought nothing to it.
func (a *answer) unchanged() bool {
	if a.shows.Still == nil || len(a.marks) != 1 {
		return false
	}
	of := a.marks[0].Chain
	_, now, ok := of.Cursor()
	if !ok {
		return false
	}
	if last := a.same.Load(); last != nil && *last == now {
		return true
	}
	tip, ok := a.shows.Still(&a.shows, of)
	if ok {
		a.same.Store(&tip)
	}
	return ok
}

// hold reports whether all chains are still at their marks.
func hold(marks []Mark) bool {
	for i := range marks {
		if _, tip, ok := marks[i].Chain.Cursor(); !ok || tip != marks[i].Tip {
			return false
		}
	}
	return true
}

// offer keeps a copy of the body that answers a request if the same was asked for before.
func (a *Answers) offer(k *Key, body, encoding []byte, r *Request, now time.Time) {
	if seen := &a.seen[k.hash%SeenSlots]; seen.Load() != k.hash {
		seen.Store(k.hash)
		return
	}
	if len(body) > maxAnswer || !hold(r.Marks) {
		return
	}
	n := &answer{Key: *k, encoding: string(encoding), body: bytes.Clone(body), about: r.about, marks: append([]Mark(nil), r.Marks...), shows: r.Shows, until: now.Add(answerAge)}
	n.uri = bytes.Clone(k.uri)
	a.kept.Put(k.hash, n, len(n.body)+len(n.uri)+Overhead)
}

// Overhead is about what an answer takes besides its body and its URI.
const Overhead = 256
