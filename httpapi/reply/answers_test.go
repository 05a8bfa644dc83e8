package reply

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// chainAt is a chain at a block.
type chainAt struct{ head evm.Hash }

func (c *chainAt) Cursor() (uint64, evm.Hash, bool)  { return 1, c.head, true }
func (c *chainAt) Syncing() (uint64, bool)           { return 0, false }
func (c *chainAt) Gaps() (gaps []view.Gap, _ string) { return nil, "" }

// TestAnswers: a body is kept from the second time on that it was asked for, and
// is found for the very same request only, as long as its chains do not move.
func TestAnswers(t *testing.T) {
	t.Parallel()
	first, second := evm.Hash{1}, evm.Hash{2}
	c := &chainAt{first}
	a, now := newAnswers(DefaultBytes), time.Now()
	key := func(uri, accept string, d view.Dialect) Key {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetRequestURI(uri)
		ctx.Request.Header.Set(fasthttp.HeaderAcceptEncoding, accept)
		return a.Key(ctx, d)
	}
	k := key("/v1/x?a=1", "gzip", view.Contract)
	r := &Request{Marks: []Mark{{c, first}}}
	put := func() { a.offer(&k, []byte("body"), []byte("gzip"), r, now) }
	put()
	if a.Find(&k, now) != nil {
		t.Error("kept at the first time")
	}
	put()
	found := a.Find(&k, now)
	if found == nil || string(found.body) != "body" || found.encoding != "gzip" {
		t.Fatalf("%+v", found)
	}
	for _, other := range []Key{
		key("/v1/x?a=2", "gzip", view.Contract), key("/v1/x?a=1", "", view.Contract),
		key("/v1/x?a=1", "zstd", view.Contract), key("/v1/x?a=1", "gzip", view.SDK),
	} {
		if a.Find(&other, now) != nil {
			t.Errorf("found for %s %q %d", other.uri, other.accept, other.dialect)
		}
		other.hash = k.hash // by chance
		if a.Find(&other, now) != nil {
			t.Errorf("a hash alone decides for %s %q %d", other.uri, other.accept, other.dialect)
		}
	}
	if a.Find(&k, now.Add(answerAge)) == nil || a.Find(&k, now.Add(answerAge+1)) != nil {
		t.Error("the age is wrong")
	}
	c.head = second
	if a.Find(&k, now) != nil {
		t.Error("it outlives its block")
	}
	put()
	if a.Find(&k, now) != nil {
		t.Error("kept although the chain has moved on")
	}
	large := make([]byte, maxAnswer+1)
	r.Marks = nil
	k = key("/v1/large", "", view.Contract)
	a.offer(&k, large, nil, r, now)
	a.offer(&k, large, nil, r, now)
	if a.Find(&k, now) != nil {
		t.Error("too large, and kept")
	}
}
