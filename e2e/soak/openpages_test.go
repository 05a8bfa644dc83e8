package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	openPages = 500
	// openCost is what they may take of a core, beside what the chain takes by itself.
	openCost = 0.03
	// A page has itself rendered again after an event, keptFor later, and every
	// refreshEvery at most (httpapi/ui/assets/quorate.js).
	keptFor, refreshEvery = 1300 * time.Millisecond, 5 * time.Second
	// ticks is how many of the units in which Linux counts CPU time are a second.
	ticks = 100
)

// TestOpenPages has 500 first pages open, each with its stream of events and rendered
// again when something happens, as in a browser. None fails; with QUORATE_SOAK set, on a
// machine that nothing else uses, they take 3% of a core at most. Elsewhere it prints
// what they took.
func TestOpenPages(t *testing.T) {
	length := 5 * time.Second
	whole := os.Getenv(soakFor) != ""
	if whole {
		length = time.Minute
	}
	r := start(t, world{blocks: 500, txs: 20, every: 2 * time.Second}, "--limits", "events-per-client="+strconv.Itoa(openPages))
	sleep(t, refreshEvery) // the primary network is read
	before := r.share(length)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tabs := &tabs{url: r.server.URL, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: openPages, DisableCompression: true}}}
	var wg sync.WaitGroup
	for range openPages {
		wg.Go(func() { tabs.open(ctx, t) })
	}
	r.await("all pages are open", func() bool { return tabs.live.Load() == openPages })
	sleep(t, refreshEvery)
	rendered := tabs.rendered.Load()
	with := r.share(length)
	rendered = tabs.rendered.Load() - rendered
	cancel()
	wg.Wait()
	sleep(t, refreshEvery)
	after := r.share(length)
	cost := with - max(before, after)
	t.Logf("%.2f%% and %.2f%% of a core without pages, %.2f%% with %d: %.2f%%; %.1f events and %.1f pages a second", 100*before, 100*after, 100*with, openPages,
		100*cost, float64(tabs.events.Load())/length.Seconds(), float64(rendered)/length.Seconds())
	if rendered == 0 {
		t.Error("no page was rendered again")
	}
	if whole && cost > openCost {
		t.Errorf("%.2f%% of a core", 100*cost)
	}
}

// share returns the part of a core that the server takes for a while.
func (r *rig) share(length time.Duration) float64 {
	r.t.Helper()
	taken, began := r.cpu(), time.Now()
	sleep(r.t, length)
	return (r.cpu() - taken).Seconds() / time.Since(began).Seconds()
}

// cpu returns the server's CPU time.
func (r *rig) cpu() time.Duration {
	r.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.server.PID()))
	if err != nil {
		r.t.Fatal(err)
	}
	// The name, in parentheses, may have blanks; user and system time are the 12th and the 13th behind it.
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		r.t.Fatalf("stat: %s", raw)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		r.t.Fatalf("stat: %s", raw)
	}
	return time.Duration(user+system) * time.Second / ticks
}

// tabs are the open pages of one server.
type tabs struct {
	url                    string
	http                   *http.Client
	live, events, rendered atomic.Int64
}

// open has a page open until ctx ends.
func (p *tabs) open(ctx context.Context, t *testing.T) {
	happened := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { p.refresh(ctx, t, happened) })
	stream, err := p.get(ctx, "/v1/events?topics=health,blocks&chainId=43112", "text/event-stream")
	if err != nil {
		t.Error(err)
		return
	}
	defer stream.Close() // it is read until it ends
	p.live.Add(1)
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "event: ") {
			continue
		}
		p.events.Add(1)
		select {
		case happened <- struct{}{}:
		default:
		}
	}
	if ctx.Err() == nil {
		t.Errorf("a stream has ended: %v", lines.Err())
	}
}

// refresh has a page rendered again when something has happened.
func (p *tabs) refresh(ctx context.Context, t *testing.T, happened <-chan struct{}) {
	var last time.Time
	for {
		select {
		case <-happened:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(max(keptFor, refreshEvery-time.Since(last)) + rand.N(700*time.Millisecond)):
		case <-ctx.Done():
			return
		}
		last = time.Now()
		body, err := p.get(ctx, "/", "text/html")
		if err == nil {
			_, err = io.Copy(io.Discard, body)
			_ = body.Close() // read whole
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		p.rendered.Add(1)
	}
}

func (p *tabs) get(ctx context.Context, path, accept string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "gzip, deflate")
	if accept == "text/event-stream" {
		req.Header.Set("Accept-Encoding", "identity")
	}
	res, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close() // the status says it
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	return res.Body, nil
}
