package reply

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

// HeaderMinHeight is a request's header with a height that the answer must not be older than:
// that of an answer of another server, which may be ahead of this one.
const HeaderMinHeight = "X-Min-Height"

const (
	// awaitCommit is how long a block that exists is waited for, and awaitStep how often it is
	// looked for meanwhile.
	awaitCommit, awaitStep = 250 * time.Millisecond, 5 * time.Millisecond
	// awaitRetry is when asking again makes sense.
	awaitRetry = time.Second
)

// minHeight reads the header. With it, and always in a fleet, a block that exists and is not
// indexed here is awaited, and what is not found then is said not to be there yet.
func (d *Desk) minHeight(ctx *fasthttp.RequestCtx) (awaits bool, least uint64, f *door.Failure) {
	text := ctx.Request.Header.Peek(HeaderMinHeight)
	if len(text) == 0 {
		return d.InFleet && !Own(ctx), 0, nil // pages show how far chains are by themselves
	}
	least, ok := door.ParseUint(text)
	if !ok {
		f = door.BadRequest(HeaderMinHeight + " must be a height in decimal, not " + door.Excerpt(text))
	}
	return true, least, f
}

// await returns nil once the chain that the answer is about is indexed up to a height that it
// has, or why that cannot be waited for.
func (r *Request) await(height uint64) *door.Failure {
	if !r.awaits || r.about == nil || indexed(r.about, height) {
		return nil
	}
	look := time.NewTicker(awaitStep)
	defer look.Stop()
	for range awaitCommit / awaitStep {
		select {
		case <-look.C:
		case <-r.Work.Done():
			return notYet(height)
		}
		if indexed(r.about, height) {
			TellSync(r.Ctx, r.about, true)
			return nil
		}
	}
	return notYet(height)
}

// notYet is the answer about a block that exists, and is not indexed here yet.
func notYet(height uint64) *door.Failure {
	return &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: awaitRetry,
		Message: "block " + strconv.FormatUint(height, 10) + " exists and is not indexed here yet"}
}

// AwaitKnown is what openers of a block ask first: it waits for one that a node has told of.
func (r *Request) AwaitKnown(height uint64) *door.Failure {
	if !r.awaits || r.about == nil {
		return nil
	}
	if known, _ := r.about.Syncing(); height > known {
		return nil
	}
	return r.await(height)
}

// AwaitAll is asked before something is said not to exist: a node may have told of the block that
// has it.
func (r *Request) AwaitAll() *door.Failure {
	if !r.awaits || r.about == nil {
		return nil
	}
	known, _ := r.about.Syncing()
	if indexed(r.about, known) {
		return nil
	}
	return notYet(known)
}

// FleetTip is the height for a page token of a list that is not pinned: in a fleet the next page
// is not of an older state, or rows would be missed.
func (r *Request) FleetTip() uint64 {
	if r.InFleet {
		return r.Tip
	}
	return 0
}

func indexed(c Marked, height uint64) bool {
	now, _, ok := c.Cursor()
	return ok && now >= height
}
