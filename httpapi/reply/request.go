package reply

import (
	"sync"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
)

// The bounds of pageSize that several rooms have.
var (
	PagesOf100 = door.PageSize{Min: 1, Max: 100, Def: 10}
	// PagesOfPoints is that of endpoint 4.
	PagesOfPoints = door.PageSize{Min: 1, Max: 2160, Def: 100}
)

// MaxPage is how long a body may get, in bytes, before its page ends early: with
// one row more than that at most, and a token to go on.
const MaxPage = 4 << 20

// RowsPerUnit is how many rows that are not of the answer a unit is good for.
const RowsPerUnit = 40

// Request is what all requests for data have. Rooms embed it in theirs, see [Calls].
type Request struct {
	*Desk
	Ctx   *fasthttp.RequestCtx
	Route *door.Route
	// Params are the parameters of the path, and the client.
	Params door.Params
	Q      door.Query

	Tip   uint64 // the height that the answer is of
	Marks []Mark // what the answer changes with; none if it is pinned
	Shows Shown  // of the chain, if that is less than all of it
	// Looked counts what was read beyond the rows of the answer: who asks for few rows of
	// many pays for those, too.
	Looked int
	// Passing: the answer says what changes without a block, so that it is not kept.
	Passing bool
	about   Marked // the chain that the headers are about, nil for none
	awaits  bool   // blocks that exist are awaited
	least   uint64 // the height that the answer must not be older than

	Filters token.Filters // what the page token is bound to
	After   []byte        // position of the page before; nil on the first page

	W   view.Writer
	Err error // the first one met while looking up what a row does not say

	// Room that is kept from request to request.
	Scratch, Spare []byte
	position       []byte
}

// Base returns the request itself, for who has the room's.
func (r *Request) Base() *Request { return r }

// Emptied returns a request that keeps nothing of r but its room.
func (r *Request) Emptied() Request {
	clear(r.Marks)
	return Request{
		Desk: r.Desk, Q: door.Query{Own: r.Q.Own},
		Marks: r.Marks[:0], Scratch: r.Scratch, Spare: r.Spare, position: r.position,
	}
}

// Call is a request of a room, which embeds a [Request].
type Call[T any] interface {
	*T
	Base() *Request
	// Forget makes the call one that keeps nothing of its request: see [Request.Emptied].
	Forget()
}

// Calls has the requests of a room answered. Calls are used again.
type Calls[T any, C Call[T]] struct {
	Desk *Desk
	// New makes a call; what it sets [Call.Forget] keeps.
	New func() C
	// OneForm: answers are the same in all dialects.
	OneForm bool
	pool    sync.Pool
}

// Get returns a call for a request, to be given back by Put.
func (k *Calls[T, C]) Get(ctx *fasthttp.RequestCtx, route *door.Route) C {
	c, _ := k.pool.Get().(C)
	if c == nil {
		c = k.New()
	}
	r := c.Base()
	r.Desk, r.Ctx, r.Route = k.Desk, ctx, route
	return c
}

// Put takes a call back.
func (k *Calls[T, C]) Put(c C) {
	c.Forget()
	k.pool.Put(c)
}

// Make makes the handler of a route. run checks a request and writes the body.
func (k *Calls[T, C]) Make(run func(c C) *door.Failure) door.Maker {
	return func(route *door.Route) door.Handler {
		return func(ctx *fasthttp.RequestCtx, p door.Params) { k.answer(ctx, route, &p, run) }
	}
}

// answer answers a request, from what is kept if it can.
func (k *Calls[T, C]) answer(ctx *fasthttp.RequestCtx, route *door.Route, p *door.Params, run func(c C) *door.Failure) {
	d, form := k.Desk, view.Contract
	if !k.OneForm {
		form = d.DialectOf(ctx)
	}
	awaits, least, wrong := d.minHeight(ctx)
	if wrong != nil {
		door.Fail(ctx, wrong)
		return
	}
	key := d.Answers.Key(ctx, form)
	keep := route.Method == fasthttp.MethodGet // what a body asks for is not in the key
	if keep && d.sendKept(ctx, &key, awaits, least) {
		return
	}
	c := k.Get(ctx, route)
	r := c.Base()
	r.awaits, r.least = awaits, least
	r.Params, r.W.Dialect = *p, form
	r.W.B = ctx.Response.SwapBody(nil)[:0]
	if f := run(c); f != nil {
		ctx.Response.SwapBody(r.W.B[:0])
		door.Fail(ctx, f)
	} else {
		d.headers(ctx)
		r.Q.Ignored.Tell(ctx)
		r.Spare = d.Packers.Pack(ctx, r.W.B, r.Spare)
		if r.Looked > 0 {
			d.Owe(ctx, &r.Params, r.Looked/RowsPerUnit)
		}
		if keep {
			d.keep(ctx, &key, r)
		}
	}
	k.Put(c)
}

// Parse reads the query.
func (r *Request) Parse() *door.Failure {
	return r.Q.Parse(r.Ctx.URI().QueryString(), r.Route.Query, r.Route.Size)
}

// About says that the answer is about a chain, whose state its headers have.
func (r *Request) About(chain Marked) {
	r.about = chain
	TellSync(r.Ctx, chain, r.awaits)
}

// Mark binds the answer to the last block of a chain.
func (r *Request) Mark(m Mark) { r.Marks = append(r.Marks, m) }

// ReadToken reads the page token, if there is one. list stands for what is listed, and
// becomes the room for it. The blocks that the token proves to exist, and those that the request
// asks for by its header, are awaited.
func (r *Request) ReadToken(list []byte) *door.Failure {
	r.Scratch, r.Filters = list, token.HashFilters(list)
	if r.Q.PageToken == nil {
		return r.await(r.least)
	}
	if r.position == nil {
		r.position = make([]byte, 0, token.MaxLen)
	}
	t, err := r.Tokens.Parse(r.position, r.Q.PageToken, r.Route.ID, r.Filters)
	if err != nil {
		return door.BadRequest("pageToken is not valid: " + err.Error())
	}
	r.After, r.Tip = t.Position, t.Tip
	return r.await(max(r.least, t.Tip))
}

// NextPage writes the page token if there is a next page: next is the position of the last
// row, and tip the height that the list is of.
func (r *Request) NextPage(next []byte, tip uint64) {
	if next == nil {
		return
	}
	r.W.Member("nextPageToken")
	r.W.Raw(`"`)
	r.W.B = r.Tokens.Append(r.W.B, &token.Token{Route: r.Route.ID, Filters: r.Filters, Tip: tip, Ascending: r.Q.Ascending, Position: next})
	r.W.Raw(`"`)
}

// List opens the body of a list.
func (r *Request) List(name string) {
	r.W.Raw("{")
	r.Rows(name)
}

// Rows opens a list in a body.
func (r *Request) Rows(name string) {
	r.W.Member(name)
	r.W.Raw("[")
}

// Room reports whether the page has room for another row.
func (r *Request) Room() bool { return len(r.W.B) < MaxPage }

// Note keeps the first error of a look-up: the answer is an error then.
func (r *Request) Note(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Figure writes a number.
func (r *Request) Figure(name string, v uint64) {
	r.W.Member(name)
	r.W.B = view.AppendUint(r.W.B, v)
}

// Word writes a text.
func (r *Request) Word(name, v string) {
	r.W.Member(name)
	r.W.B = view.AppendString(r.W.B, v)
}
