package e2e

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// besideTimes is how many times as long as alone the slowest hundredth of pages may take
	// beside a client that spends its whole rate, and besideLeast what is not counted as long:
	// two processes and the client share two cores.
	besideTimes = 2
	besideLeast = 5 * time.Millisecond
	besideTries = 4
	besideTime  = time.Second // of a measurement
	pageEvery   = 5 * time.Millisecond
	wholeRate   = 100 // units a second that a client has without a key
)

// TestPricesBeside has a client spend its whole rate on each of the requests that cost the
// most once, and holds how long pages take others meanwhile.
func TestPricesBeside(t *testing.T) {
	s, f := startPriced(t)
	p := &pricing{server: s, facts: f, http: &http.Client{Timeout: testWait}}
	defer p.http.CloseIdleConnections()
	pages := &pager{url: s.URL + "/v1/chains/" + f.ChainID + "/transactions?pageSize=25&n=", http: &http.Client{Timeout: testWait}}
	defer pages.http.CloseIdleConnections()
	pages.p99(t) // connections are made once
	for _, r := range p.known() {
		units := p.measure(t, r).units
		best := 0.0
		var alone, beside time.Duration
		for try := range besideTries {
			a := pages.p99(t)
			stop := p.spend(t, r, max(1, units))
			b := pages.p99(t)
			if stop() == 0 {
				t.Errorf("%s: none was answered, so pages had nothing beside them", r.name)
			}
			if times := float64(b) / float64(max(a, besideLeast)); try == 0 || times < best {
				best, alone, beside = times, a, b
			}
			if best <= besideTimes {
				break
			}
		}
		t.Logf("p99 of pages %v alone, %v beside %s (%d units)", alone.Round(10*time.Microsecond), beside.Round(10*time.Microsecond), r.name, units)
		if best > besideTimes {
			t.Errorf("beside %s pages take %.1f times as long", r.name, best)
		}
	}
}

// spend sends a request again and again, as often as the rate of a client allows. stop ends it,
// and returns how many were answered with a success.
func (p *pricing) spend(t *testing.T, r priced, units int) (stop func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tick := time.NewTicker(time.Second * time.Duration(units) / wholeRate)
	var wg sync.WaitGroup
	var answered atomic.Int64
	send := func() {
		req, err := p.request(ctx, r)
		if err != nil {
			return // of a test that has ended
		}
		wg.Go(func() {
			if resp, err := p.http.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode == r.status || r.status == 0 && resp.StatusCode < http.StatusMultipleChoices {
					answered.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			send()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() int64 {
		tick.Stop()
		cancel()
		<-done
		wg.Wait()
		return answered.Load()
	}
}

// pager asks for pages that nobody has asked for before.
type pager struct {
	url  string
	http *http.Client
	n    int
}

// p99 asks for pages at a steady rate for a while, and returns what 99 of 100 take at most.
func (p *pager) p99(t *testing.T) time.Duration {
	t.Helper()
	tick := time.NewTicker(pageEvery)
	defer tick.Stop()
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < besideTime; <-tick.C {
		p.n++
		sent := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+strconv.Itoa(p.n), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-service-api-key", priceKey)
		resp, err := p.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		took = append(took, time.Since(sent))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
