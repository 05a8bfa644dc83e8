package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// answering is a node that answers with a result of so many bytes.
func answering(t *testing.T, size int) Endpoint {
	t.Helper()
	text := strings.Repeat("x", size)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id uint64
		body, _ := io.ReadAll(r.Body)
		_, at, _ := strings.Cut(string(body), `"id":`)
		if _, err := fmt.Sscan(strings.TrimRight(strings.SplitN(at, ",", 2)[0], "}"), &id); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush() // of unknown length
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":%q}`, id, text)
	}))
	t.Cleanup(s.Close)
	return at(t, s.URL)[0]
}

// hogging is a node that sends so many bytes of each answer and then nothing more, until
// its client goes away.
func hogging(t *testing.T, size int, sent func()) Endpoint {
	t.Helper()
	piece := []byte(strings.Repeat(" ", 32<<10))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for n := 0; n < size; n += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		sent()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return at(t, s.URL)[0]
}

// pooled returns a client of one node.
func pooled(t *testing.T, p *Pool, e Endpoint) *Client {
	t.Helper()
	return pooledTo(t, p, e, 4<<20)
}

// pooledTo returns a client of one node that reads so many bytes of an answer.
func pooledTo(t *testing.T, p *Pool, e Endpoint, most int) *Client {
	t.Helper()
	c, err := New(Config{Nodes: []Endpoint{e}, Pool: p, Passed: p, MaxBody: most, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestPoolHostile: nodes that answer on all lanes with as much as is read, and do not
// end, do not take more memory than the pool has, nor keep an honest node's answers out.
func TestPoolHostile(t *testing.T) { // not parallel: it looks at the heap
	const nodes, lanes = 3, 32
	part := 4 << 20 // what is read of an answer at most, and all sizes with it
	size, said := part-64<<10, 175*part>>10
	p := NewPool(3 * int64(part))
	p.patience = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var hogs sync.WaitGroup
	defer hogs.Wait()
	defer cancel()
	full := make(chan struct{}, 1<<20)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range nodes {
		hog := pooledTo(t, p, hogging(t, size, func() { full <- struct{}{} }), part)
		for range lanes {
			hogs.Go(func() {
				for ctx.Err() == nil {
					_ = hog.Call(ctx, "/", "m", nil, nil) // asked again when it was cut off
				}
			})
		}
	}
	<-full
	honest := pooledTo(t, p, answering(t, said), part)
	for range 6 {
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				var got string
				err := errCutOff
				for errors.Is(err, errCutOff) { // when the machine is slow
					err = honest.Call(ctx, "/", "m", nil, &got)
				}
				if err != nil || len(got) != said {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		calls.Wait()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	p.mu.Lock()
	most, cut := p.most, p.cut
	p.mu.Unlock()
	if most > p.total || cut == 0 {
		t.Errorf("%d bytes were held, more than %d; %d answers were cut off", most, p.total, cut)
	}
	limit := 2*p.total + 2*nodes*lanes*freeAnswer
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > limit {
		t.Errorf("the heap grew by %d bytes with a pool of %d", grown, p.total)
	}
	cancel()
	hogs.Wait()
}

// TestPoolEmpties: however calls end, nothing stays held.
func TestPoolEmpties(t *testing.T) {
	t.Parallel()
	p := NewPool(2 << 20)
	p.patience = time.Hour
	good := pooled(t, p, answering(t, 1<<20))
	long := pooled(t, p, answering(t, 3<<20))
	holding := make(chan struct{}, 8)
	hog := pooled(t, p, hogging(t, 600<<10, func() { holding <- struct{}{} }))
	if err := long.Call(t.Context(), "/", "m", nil, nil); !errors.Is(err, ErrTooLong) {
		t.Errorf("an answer longer than the pool: %v", err)
	}
	var bad int
	if err := good.Call(t.Context(), "/", "m", nil, &bad); !errors.Is(err, ErrBadAnswer) {
		t.Error(err)
	}
	passed, err := good.Forward(t.Context(), "/", []byte(`{"id":1}`), 0)
	if err != nil || len(passed.Body) < 1<<20 {
		t.Errorf("%d bytes, %v", len(passed.Body), err)
	}
	if held, _ := p.Held(); held < 1<<20-freeAnswer {
		t.Errorf("an answer that was not passed on yet has %d bytes", held)
	}
	passed.Release()
	passed.Release()
	if held, _ := p.Held(); held != 0 {
		t.Errorf("%d bytes are held with nothing under way", held)
	}
	// One holds half of the pool and a bit, and others wait for it.
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls sync.WaitGroup
	why := errors.New("why")
	for range 3 {
		calls.Go(func() {
			if err := hog.Call(ctx, "/", "m", nil, nil); !errors.Is(err, why) {
				t.Error(err)
			}
		})
	}
	<-holding
	cancel(why)
	calls.Wait()
	hog.Close() // waits for the rest
	if held, _ := p.Held(); held != 0 || len(p.waiting) != 0 || len(p.held) != 0 || len(p.of) != 0 {
		t.Errorf("%d bytes are held at the end, %d answers, %d waiting, %d nodes", held, len(p.held), len(p.waiting), len(p.of))
	}
	if err := good.Call(t.Context(), "/", "m", nil, nil); err != nil {
		t.Error(err)
	}
}

// TestPoolOrder: room goes to the node that holds least, of its answers to the smallest,
// and small answers do not wait.
func TestPoolOrder(t *testing.T) {
	t.Parallel()
	p := NewPool(1 << 20)
	p.patience = time.Hour
	deadline := time.Now().Add(time.Hour)
	var stopped []string
	begin := func(node string) *hold {
		return p.begin(node, func() { stopped = append(stopped, node) })
	}
	a1, a2, b := begin("a"), begin("a"), begin("b")
	for _, g := range []struct {
		*hold
		n int
	}{{a1, 700 << 10}, {a2, 300 << 10}, {b, 130 << 10}} {
		if err := g.grow(t.Context(), g.n, deadline); err != nil {
			t.Fatal(err)
		}
	}
	second, err := a2.ask(100 << 10) // came first, but its node holds more
	first, e := b.ask(100 << 10)
	if first == nil || second == nil || err != nil || e != nil {
		t.Fatal("there is room", err, e)
	}
	small := begin("c")
	if err := small.grow(t.Context(), freeAnswer, deadline); err != nil { // at once
		t.Fatal(err)
	}
	small.end()
	if p.press(); len(stopped) != 0 {
		t.Errorf("%v was cut off before its time", stopped)
	}
	p.patience = 1
	p.press()
	if len(stopped) != 1 || stopped[0] != "a" || !a1.wasLost() || a2.wasLost() {
		t.Errorf("cut off: %v", stopped)
	}
	p.press() // the first is not gone yet
	if len(stopped) != 1 {
		t.Errorf("cut off: %v", stopped)
	}
	free := func(n int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.give(a1, -n)
		p.serve()
	}
	free(50 << 10) // enough for one
	if err := <-first; err != nil || len(second) > 0 {
		t.Errorf("%v, and the other one was served: %v", err, len(second) > 0)
	}
	free(100 << 10)
	if err := <-second; err != nil {
		t.Error(err)
	}
	a1.end()
	if err := a1.grow(t.Context(), 1, deadline); !errors.Is(err, ErrTooLong) {
		t.Errorf("one that was cut off has got room: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.grow(ended, 2<<20, deadline); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := b.grow(t.Context(), 2<<20, time.Now()); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

// TestPoolUnpack: an answer that would become many times as long when it is decoded is
// refused before that.
func TestPoolUnpack(t *testing.T) {
	t.Parallel()
	list := func(n int) Endpoint {
		text := "[" + strings.Repeat("{},", n-1) + "{}]"
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, text)
		}))
		t.Cleanup(s.Close)
		return at(t, s.URL)[0]
	}
	p := NewPool(8 << 20)
	var got []struct{ A, B, C, D string }
	if err := pooled(t, p, list(1000)).Call(t.Context(), "/", "m", nil, &got); err != nil || len(got) != 1000 {
		t.Errorf("%d, %v", len(got), err)
	}
	got = nil
	if err := pooled(t, p, list(1_000_000)).Call(t.Context(), "/", "m", nil, &got); !errors.Is(err, ErrTooLong) || got != nil {
		t.Errorf("%d, %v", len(got), err)
	}
	if held, _ := p.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
