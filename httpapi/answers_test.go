package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// TestAnswers: a body is kept from the second time on that it was asked for, and
// is found for the very same request only, as long as its chains do not move.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	first, second := evm.Hash{1}, evm.Hash{2}
	c.head.Store(&first)
	a, now := newAnswers(answerBytes), time.Now()
	key := func(uri, accept string, d view.Dialect) answerKey {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetRequestURI(uri)
		ctx.Request.Header.Set(fasthttp.HeaderAcceptEncoding, accept)
		return a.key(ctx, d)
	}
	k := key("/v1/x?a=1", "gzip", view.Contract)
	marks := []mark{{c, first}}
	put := func() { a.offer(&k, []byte("body"), []byte("gzip"), marks, shown{}, now) }
	put()
	if a.find(&k, now) != nil {
		t.Error("kept at the first time")
	}
	put()
	found := a.find(&k, now)
	if found == nil || string(found.body) != "body" || found.encoding != "gzip" {
		t.Fatalf("%+v", found)
	}
	for _, other := range []answerKey{
		key("/v1/x?a=2", "gzip", view.Contract), key("/v1/x?a=1", "", view.Contract),
		key("/v1/x?a=1", "zstd", view.Contract), key("/v1/x?a=1", "gzip", view.SDK),
	} {
		if a.find(&other, now) != nil {
			t.Errorf("found for %s %q %d", other.uri, other.accept, other.dialect)
		}
		other.hash = k.hash // by chance
		if a.find(&other, now) != nil {
			t.Errorf("a hash alone decides for %s %q %d", other.uri, other.accept, other.dialect)
		}
	}
	if a.find(&k, now.Add(answerAge)) == nil || a.find(&k, now.Add(answerAge+1)) != nil {
		t.Error("the age is wrong")
	}
	c.head.Store(&second)
	if a.find(&k, now) != nil {
		t.Error("it outlives its block")
	}
	put()
	if a.find(&k, now) != nil {
		t.Error("kept although the chain has moved on")
	}
	large := make([]byte, maxAnswer+1)
	marks = nil
	k = key("/v1/large", "", view.Contract)
	a.offer(&k, large, nil, nil, shown{}, now)
	a.offer(&k, large, nil, nil, shown{}, now)
	if a.find(&k, now) != nil {
		t.Error("too large, and kept")
	}
}

// TestAnswersServed: what is answered from memory is the same answer, header by
// header, and a new block shows at once.
func TestAnswersServed(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	head := numbered(c.tip, 0xb)
	c.head.Store(&head)
	s := dataServer(t, Config{}, c)
	path := "/v1/chains/" + c.info.ChainID + "/transactions"
	plain := get(s, path)
	want := plain.String()
	for range 3 {
		if got := get(s, path).String(); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	}
	if s.answers.kept.Bytes() == 0 {
		t.Error("nothing was kept")
	}
	tx := *c.txs[0]
	tx.Hash = evm.Hash{0xaa}
	c.grow(&tx)
	next := numbered(c.tip, 0xb)
	c.head.Store(&next)
	if got := string(get(s, path).Body()); got == string(plain.Body()) {
		t.Error("a new block does not show")
	}
}

// TestTokenVersion: what a token says of itself is read again when the chain has
// another version of it, and only then.
func TestTokenVersion(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	s := dataServer(t, Config{}, c)
	path := "/v1/chains/" + c.info.ChainID + "/tokens/" + gold.String() + "/transfers"
	before := get(s, path).String()
	meta := c.tokens[gold]
	meta.Name = "renamed"
	c.tokens[gold] = meta
	if get(s, path).String() != before {
		t.Error("read again without need")
	}
	c.version.Add(1)
	if got := get(s, path).String(); got == before || !strings.Contains(got, "renamed") {
		t.Errorf("not read again: %s", got)
	}
}
