package forward

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

const (
	// patience is for how long a member is waited for before the next one is asked, too.
	patience = 250 * time.Millisecond
	// memberTime bounds the answering of a request by members.
	memberTime = 28 * time.Second
	// maxAnswer bounds an answer of a member in bytes.
	maxAnswer = 64 << 20
)

// order returns the members in the order in which they are asked about a message: by
// rendezvous hash, so that all servers ask one of them, which collects the signatures once.
func order(members []string, message []byte) []string {
	sum := sha256.Sum256(message)
	rank := func(member string) uint64 {
		of := sha256.Sum256(append(sum[:len(sum):len(sum)], member...))
		return binary.BigEndian.Uint64(of[:])
	}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b string) int { return cmp.Compare(rank(b), rank(a)) })
	return members
}

// answer is what a member has answered.
type answer struct {
	resp *http.Response
	body []byte
	err  error
}

// good reports whether the next member could not do better.
func (a *answer) good() bool {
	return a.err == nil && a.resp.StatusCode < fasthttp.StatusInternalServerError
}

// ask sends a request to a member and reads its answer.
func (f *Fleet) ask(ctx context.Context, member string, r request) (a answer) {
	if a.resp, a.err = f.send(ctx, member, r); a.err != nil {
		return a
	}
	a.body, a.err = io.ReadAll(io.LimitReader(a.resp.Body, maxAnswer+1))
	a.err = errors.Join(a.err, a.resp.Body.Close())
	if len(a.body) > maxAnswer {
		a.err = errors.New("the answer is too long")
	}
	return a
}

// toMember has a member answer a request that this server lacks something for.
func (f *Fleet) toMember(work context.Context, ctx *fasthttp.RequestCtx, p *door.Params) {
	if p.Forwarded {
		f.loop(ctx)
		return
	}
	r := requestOf(ctx, p)
	message := r.body
	if len(message) == 0 {
		message = []byte(r.uri)
	}
	work, cancel := context.WithTimeout(work, memberTime)
	defer cancel()
	a := f.first(work, order(f.cfg.Members, message), r)
	if a.err != nil || a.resp.StatusCode == fasthttp.StatusLoopDetected {
		f.failed.Inc()
		f.cfg.Logger.Debug("no member of the fleet answers", "err", a.err)
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: retry,
			Message: "this server lacks what the request needs, and no other server of the fleet could answer it"})
		return
	}
	f.atMember.Inc()
	head(ctx, a.resp)
	if len(a.body) <= small {
		ctx.Response.SetBodyRaw(a.body)
		return
	}
	ctx.Response.SetBodyStream(bytes.NewReader(a.body), len(a.body)) // its price is that of what nodes answer
}

// first returns the first good answer of members, or the last of all. The next one is asked
// when one fails or takes too long.
func (f *Fleet) first(ctx context.Context, members []string, r request) (last answer) {
	answers := make(chan answer, len(members))
	next, waiting := 0, 0
	ask := func() {
		if next < len(members) {
			member := members[next]
			next, waiting = next+1, waiting+1
			go func() { answers <- f.ask(ctx, member, r) }()
		}
	}
	ask()
	late := time.NewTimer(patience)
	defer late.Stop()
	for waiting > 0 {
		select {
		case last = <-answers:
			if waiting--; last.good() {
				return last
			}
			ask()
		case <-late.C:
			ask()
			late.Reset(patience)
		}
	}
	return last
}
