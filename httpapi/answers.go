package httpapi

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/kept"
	"quorate/httpapi/view"
)

const (
	// answerBytes bounds the bodies that are kept by default, answerSlots their number.
	answerBytes = 32 << 20
	answerSlots = 1 << 12
	// maxAnswer is the largest body that is kept, in bytes.
	maxAnswer = 1 << 20
	// answerAge is how old an answer may be in what its chain does not say: prices,
	// what tokens call themselves. It is what files are looked at for changes, too.
	answerAge = time.Second
	// seenSlots is the number of requests that are remembered as asked for once.
	seenSlots = 1 << 13
)

// answers keeps complete bodies for as long as nothing in them can have
// changed: a body goes with the last block of each chain it shows, or, where one
// seek reports, with the first block that brings something to its list. Only what is
// asked for a second time is kept, so that reading a chain page by page costs no
// memory and pushes nothing out.
type answers struct {
	kept *kept.Cache[answer]
	seed maphash.Seed
	seen [seenSlots]atomic.Uint64 // hashes
}

// answer is a body and what it belongs to.
type answer struct {
	answerKey
	encoding string // the body's, "" for none
	body     []byte
	marks    []mark
	shows    shown
	until    time.Time

	same atomic.Pointer[evm.Hash] // a later block at which shows was found unchanged
}

// shown is what a body shows of its chain, unless it is nothing in particular.
type shown struct {
	list   index.List // 0: what no further block changes
	addr   evm.Address
	height uint64 // of the chain at the time of the answer
	known  bool
}

// answerKey names what was asked for. uri is the client's own text: two
// spellings of the same request are two answers.
type answerKey struct {
	uri     []byte
	hash    uint64
	dialect view.Dialect
	accept  string // the best encoding that the client takes
}

// mark is the last block of a chain at the time of an answer.
type mark struct {
	chain marked
	tip   evm.Hash
}

// marked is what can tell whether it is still at a mark, and how far it is.
type marked interface {
	Cursor() (number uint64, hash evm.Hash, ok bool)
	Syncing() (height uint64, behind bool)
	Gaps() (gaps []view.Gap, header string)
}

func newAnswers(size int64) *answers {
	return &answers{kept: kept.New[answer](size, answerSlots), seed: maphash.MakeSeed()}
}

// key returns the key of a request. It aliases the request.
func (a *answers) key(ctx *fasthttp.RequestCtx, d view.Dialect) answerKey {
	h := &ctx.Request.Header
	k := answerKey{uri: h.RequestURI(), dialect: d}
	if accept := h.Peek(fasthttp.HeaderAcceptEncoding); len(accept) > 0 {
		k.accept = pickEncoding(accept)
	}
	k.hash = mix(maphash.Bytes(a.seed, k.uri), uint64(k.dialect)<<8|uint64(len(k.accept)))
	return k
}

// find returns the answer to a request, nil if none is kept that still holds.
func (a *answers) find(k *answerKey, now time.Time) *answer {
	found := a.kept.Get(k.hash)
	if found == nil || found.dialect != k.dialect || found.accept != k.accept || !bytes.Equal(found.uri, k.uri) ||
		now.After(found.until) || !hold(found.marks) && !found.unchanged() {
		return nil
	}
	return found
}

// unchanged reports whether the blocks since the answer brought nothing to it.
func (a *answer) unchanged() bool {
	if !a.shows.known || len(a.marks) != 1 {
		return false
	}
	c, ok := a.marks[0].chain.(Chain)
	if !ok {
		return false
	}
	_, now, ok := c.Cursor()
	if !ok {
		return false
	}
	if last := a.same.Load(); last != nil && *last == now {
		return true
	}
	v, err := c.View(nil)
	if err != nil {
		return false
	}
	defer v.Close()
	tip := v.Tip()
	if tip.Number < a.shows.height {
		return false
	}
	if a.shows.list != 0 {
		if height, found, err := v.Newest(a.shows.list, a.shows.addr); err != nil || found && height > a.shows.height {
			return false
		}
	}
	a.same.Store(&tip.Hash)
	return true
}

// hold reports whether all chains are still at their marks.
func hold(marks []mark) bool {
	for i := range marks {
		if _, tip, ok := marks[i].chain.Cursor(); !ok || tip != marks[i].tip {
			return false
		}
	}
	return true
}

// offer keeps a copy of a body if the same was asked for before.
func (a *answers) offer(k *answerKey, body, encoding []byte, marks []mark, shows shown, now time.Time) {
	if seen := &a.seen[k.hash%seenSlots]; seen.Load() != k.hash {
		seen.Store(k.hash)
		return
	}
	if len(body) > maxAnswer || !hold(marks) {
		return
	}
	n := &answer{answerKey: *k, encoding: string(encoding), body: bytes.Clone(body), marks: append([]mark(nil), marks...), shows: shows, until: now.Add(answerAge)}
	n.uri = bytes.Clone(k.uri)
	a.kept.Put(k.hash, n, len(n.body)+len(n.uri)+answerOverhead)
}

// answerOverhead is about what an answer takes besides its body and its URI.
const answerOverhead = 256

// sendKept answers from what is kept, and reports whether it did.
func (s *Server) sendKept(ctx *fasthttp.RequestCtx, k *answerKey) bool {
	found := s.answers.find(k, timeOf(ctx))
	if found == nil {
		return false
	}
	s.dataHeaders(ctx)
	if len(found.marks) > 0 {
		if of := found.marks[0].chain; len(found.marks) == 1 || isPrimary(of) { // the others are beside it
			tellSync(ctx, of)
		}
	}
	if found.encoding != "" {
		ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, found.encoding)
	}
	ctx.Response.SetBodyRaw(found.body)
	return true
}

// keep offers the answer that was just written. One that tells what was ignored is
// not worth it.
func (s *Server) keep(ctx *fasthttp.RequestCtx, k *answerKey, c *call) {
	if len(c.q.Ignored.Names) > 0 || c.passing {
		return
	}
	s.answers.offer(k, ctx.Response.Body(), ctx.Response.Header.ContentEncoding(), c.marks, c.shows, timeOf(ctx))
}
