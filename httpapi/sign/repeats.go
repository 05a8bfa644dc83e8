package sign

import (
	"bytes"
	"encoding/hex"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/httpapi/door"
	"quorate/httpapi/kept"
	"quorate/httpapi/reply"
)

const (
	// maxRepeat is the longest body that is kept, in bytes. A teleporter message has
	// about 500, twice as many in hex.
	maxRepeat = 8 << 10
	// repeatSlots bounds the number of repeats.
	repeatSlots = 1 << 12
	// repeatOverhead is about what a repeat takes besides its bytes.
	repeatOverhead = 256
)

// repeats keeps the bodies of requests for signed messages with what they ask for: a
// relayer that asks again sends the same bytes, and need not have them parsed. Whether
// there is a result that still serves the request the aggregator is asked each time.
//
// Only what is asked for a second time and was answered is kept: bodies that are all
// different push nothing out.
type repeats struct {
	kept *kept.Cache[repeat]
	seed maphash.Seed
	seen [reply.SeenSlots]atomic.Uint64 // hashes
}

// repeat is a body that was read. It does not change.
type repeat struct {
	form    *form
	body    []byte
	known   *aggregator.Repeat
	ignored []byte             // value of the header that names what of the body is ignored
	result  *aggregator.Result // what answer shows
	answer  []byte

	anyQuorum bool // it asks for a quorum of 0
}

// repeater is an [Aggregator] that can answer requests without reading them again.
// The methods are those of [aggregator.Aggregator].
type repeater interface {
	Repeatable(req *aggregator.Request) *aggregator.Repeat
	Again(r *aggregator.Repeat) *aggregator.Result
}

// form is how a route asks for a signed message, and answers with it.
type form struct {
	names   door.MemberNames
	lenient bool // reads what the relayers' own aggregator reads
	status  int
	open    string // the beginning of an answer, up to the signed message
}

var (
	sdkForm     = &form{names: sdkNames, status: fasthttp.StatusCreated, open: `{"signedMessage":"`}
	relayerForm = &form{names: relayerNames, lenient: true, status: fasthttp.StatusOK, open: `{"signed-message":"`}
)

// append appends the answer with a result.
func (f *form) append(dst []byte, res *aggregator.Result) []byte {
	dst = append(dst, f.open...)
	dst = hex.AppendEncode(dst, res.Signed)
	return append(dst, `"}`...)
}

// head sets the status and the headers of an answer.
func (f *form) head(ctx *fasthttp.RequestCtx, anyQuorum bool, res *aggregator.Result) {
	if anyQuorum {
		ctx.Response.Header.Set(HeaderQuorumNote, quorumNote)
	}
	ctx.Response.SetStatusCode(f.status)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	var height [20]byte
	ctx.Response.Header.SetBytesV(HeaderPChainHeight, strconv.AppendUint(height[:0], res.Height, 10))
}

// answer answers a request with a result.
func (f *form) answer(ctx *fasthttp.RequestCtx, req *aggregator.Request, res *aggregator.Result) {
	f.head(ctx, req.Quorum == 0, res)
	ctx.Response.SwapBody(f.append(ctx.Response.SwapBody(nil)[:0], res))
}

func newRepeats(size int64) *repeats {
	return &repeats{kept: kept.New[repeat](size, repeatSlots), seed: maphash.MakeSeed()}
}

// hash returns what a body is found by, 0 if it is too long to be kept.
func (r *repeats) hash(f *form, body []byte) uint64 {
	if len(body) > maxRepeat {
		return 0
	}
	return kept.Mix(maphash.Bytes(r.seed, body), uint64(f.status))
}

// find returns what is known of a body, nil if nothing is.
func (r *repeats) find(f *form, body []byte, hash uint64) *repeat {
	found := r.kept.Get(hash)
	if found == nil || found.form != f || !bytes.Equal(found.body, body) {
		return nil
	}
	return found
}

// Keeps reports whether a body that is sent to a path is answered without being read again.
func (m *Room) Keeps(path string, body []byte) bool {
	f := sdkForm
	if path == RelayerPath {
		f = relayerForm
	}
	return m.repeats.find(f, body, m.repeats.hash(f, body)) != nil
}

// send answers from what is known of a body, and reports whether it did.
func (r *repeats) send(ctx *fasthttp.RequestCtx, found *repeat, network Aggregator, hash uint64) bool {
	if found == nil {
		return false
	}
	a, ok := network.(repeater)
	if !ok {
		return false
	}
	res := a.Again(found.known)
	if res == nil {
		return false
	}
	if res != found.result {
		found = r.put(hash, found, res)
	}
	if len(found.ignored) > 0 {
		ctx.Response.Header.SetBytesV(door.HeaderIgnored, found.ignored)
	}
	found.form.head(ctx, found.anyQuorum, res)
	ctx.Response.SetBodyRaw(found.answer)
	return true
}

// put keeps what is known of a body with the answer to it.
func (r *repeats) put(hash uint64, of *repeat, res *aggregator.Result) *repeat {
	n := *of
	n.result, n.answer = res, of.form.append(make([]byte, 0, len(of.form.open)+2*len(res.Signed)+2), res)
	// The result may be kept by this alone.
	r.kept.Put(hash, &n, len(n.body)+len(n.answer)+len(res.Signed)+len(n.ignored)+n.known.Size()+repeatOverhead)
	return &n
}

// offer keeps a body that was answered with res, if it came before.
func (r *repeats) offer(body []byte, hash uint64, f *form, network Aggregator, req *aggregator.Request, rest *door.Ignored, res *aggregator.Result) {
	if hash == 0 {
		return
	}
	if seen := &r.seen[hash%reply.SeenSlots]; seen.Load() != hash {
		seen.Store(hash)
		return
	}
	a, ok := network.(repeater)
	if !ok {
		return
	}
	if known := a.Repeatable(req); known != nil {
		r.put(hash, &repeat{form: f, body: bytes.Clone(body), known: known, ignored: []byte(strings.Join(rest.Names, ", ")), anyQuorum: req.Quorum == 0}, res)
	}
}
