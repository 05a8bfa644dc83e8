package nftmeta

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
)

func at(host string) func(id int) string {
	return func(id int) string { return fmt.Sprintf("https://%s/%d", host, id) }
}

// TestFetch: the documents of all tokens are fetched once, and served after a restart
// without asking again.
func TestFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 150, at("a.example"))
		w.add(addr(2), 3, func(id int) string {
			return []string{"", "data:application/json;base64,eyJuYW1lIjoieCJ9", "ftp://x", "ipfs://" + cid0 + "/{id}"}[id]
		})
		w.add(addr(3), 2, func(id int) string { return []string{"", "", "https://10.0.0.1/"}[id] })
		w.multi[addr(2)] = true
		m, stop := w.run()
		w.settle(2 * time.Minute)
		for id := range uint64(150) {
			if got := token(t, m, addr(1), id+1); got.Status != Indexed || got.Name != fmt.Sprintf("/%d", id+1) || got.UpdatedAt == 0 {
				t.Fatalf("%d: %+v", id+1, got)
			}
		}
		for _, c := range []struct {
			of, id uint64
			status Status
			name   string
		}{
			{2, 1, Indexed, "x"}, {2, 2, InvalidScheme, ""}, {2, 3, Indexed, "/ipfs/" + cid0 + "/" + strings.Repeat("0", 63) + "3"},
			{3, 1, InvalidURI, ""}, {3, 2, Unreachable, ""}, {3, 9, Unindexed, ""},
		} {
			if got := token(t, m, addr(byte(c.of)), c.id); got.Status != c.status || got.Name != c.name || (got.UpdatedAt > 0) != (c.status == Indexed) {
				t.Errorf("%d of %d: %+v, want %s", c.id, c.of, got, c.status)
			}
		}
		stop()
		if n := len(w.requests()); n != 151 {
			t.Errorf("%d requests", n)
		}
		m, stop = w.run()
		w.settle(8 * time.Minute) // a pass and a half
		if n := len(w.requests()); n != 151 {
			t.Errorf("%d requests after a restart", n)
		}
		if got := token(t, m, addr(1), 150); got.Status != Indexed {
			t.Errorf("%+v", got)
		}
		stop()
	})
}

// TestAges: documents are looked at again after their age, failures earlier and ever more
// seldom, and what was fetched stays while its server is down.
func TestAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Refresh = 2 * time.Hour
		w.add(addr(1), 1, at("good.example"))
		w.add(addr(2), 1, at("gone.example"))
		down, name := false, "old"
		w.web = func(r *http.Request) (int, string, http.Header) {
			switch {
			case r.URL.Host == "gone.example":
				return 404, "", nil
			case down:
				return 0, "", nil
			}
			return 200, `{"name":"` + name + `"}`, nil
		}
		count := func(host string) (n int) {
			for _, u := range w.requests() {
				if strings.Contains(u, host) {
					n++
				}
			}
			return n
		}
		m, stop := w.run()
		defer stop()
		w.settle(time.Minute)
		first := token(t, m, addr(1), 1)
		if first.Name != "old" || token(t, m, addr(2), 1).Status != Unreachable {
			t.Errorf("%+v, %+v", first, token(t, m, addr(2), 1))
		}
		w.settle(90 * time.Minute)
		if n := count("good"); n != 1 {
			t.Errorf("%d requests within the age", n)
		}
		if n := count("gone"); n < 3 || n > 5 { // after 10, 20, 40, ... minutes
			t.Errorf("%d requests for what is not there", n)
		}
		w.mu.Lock()
		down = true
		w.mu.Unlock()
		w.settle(time.Hour)
		if got := token(t, m, addr(1), 1); count("good") < 2 || got != first {
			t.Errorf("%d requests, %+v", count("good"), got)
		}
		w.mu.Lock()
		down, name = false, "new"
		w.mu.Unlock()
		w.settle(90 * time.Minute)
		if got := token(t, m, addr(1), 1); got.Name != "new" || got.UpdatedAt <= first.UpdatedAt {
			t.Errorf("%+v", got)
		}
	})
}

// TestChanged: a URI that changed is fetched within a minute, and what the old one led to
// is not served in the place of a new one that leads nowhere.
func TestChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 1, at("a.example"))
		m, stop := w.run()
		defer stop()
		w.settle(2 * time.Minute)
		change := func(uri string) {
			w.mu.Lock()
			w.tokens[addr(1)][1] = uri
			w.mu.Unlock()
			m.Changed(home, []index.NFT{{Token: addr(1), ID: *uint256.NewInt(1)}})
		}
		change("https://b.example/new")
		w.settle(5 * time.Second)
		if got := token(t, m, addr(1), 1); got.Name != "/new" {
			t.Errorf("%+v", got)
		}
		change("https://b.example/newer") // too soon: the next pass finds it
		w.settle(5 * time.Second)
		if got := token(t, m, addr(1), 1); got.Name != "/new" {
			t.Errorf("%+v", got)
		}
		w.settle(6 * time.Minute)
		if got := token(t, m, addr(1), 1); got.Name != "/newer" {
			t.Errorf("%+v", got)
		}
		w.web = func(*http.Request) (int, string, http.Header) { return 500, "", nil }
		change("https://b.example/none")
		w.settle(5 * time.Second)
		if got := token(t, m, addr(1), 1); got != (Token{Status: Unreachable}) {
			t.Errorf("%+v", got)
		}
		w.mu.Lock()
		w.tokens[addr(1)][2] = "data:,%7B%22name%22:%22found%22%7D"
		w.mu.Unlock()
		w.settle(6 * time.Minute) // behind a pass
		w.mu.Lock()
		w.tokens[addr(1)][3] = w.tokens[addr(1)][2]
		w.mu.Unlock()
		m.Changed(home, make([]index.NFT, maxChanged+1)) // more than there is room for
		w.settle(2 * passSoon)
		if got := token(t, m, addr(1), 3); got.Name != "found" {
			t.Errorf("after hints were dropped: %+v", got)
		}
	})
}

// TestTurns: a collection of many tokens on a slow server delays no other, and no server
// is asked more often than it may be, under however many names.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for n := byte(1); n <= 4; n++ { // before the others in the index
			w.add(addr(n), 2000, func(id int) string { return fmt.Sprintf("https://n%d-%d.slow.example/%d", n, id, id) })
		}
		w.add(addr(100), 20, at("quick.org"))
		w.web = func(r *http.Request) (int, string, http.Header) {
			if strings.HasSuffix(r.URL.Host, "slow.example") {
				select {
				case <-time.After(19 * time.Second):
				case <-r.Context().Done():
				}
			}
			return 200, `{"name":"x"}`, nil
		}
		m, stop := w.run()
		w.settle(20 * time.Second)
		for id := uint64(1); id <= 20; id++ {
			if got := token(t, m, addr(100), id); got.Status != Indexed {
				t.Errorf("%d waits for others: %+v", id, got)
			}
		}
		w.settle(10 * time.Minute)
		stop()
		slow := 0
		for _, u := range w.requests() {
			if strings.Contains(u, "slow.example") {
				slow++
			}
		}
		// Two under way, each for 19 s, in 620 s.
		if slow < 60 || slow > 70 {
			t.Errorf("%d requests to the slow site", slow)
		}
	})
}

// TestSites: a site is asked PerSite times at once and rests between; one that fails or
// asks for it rests ever longer, a gateway is not to blame for what nobody has.
func TestSites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 100, at("busy.example"))
		w.add(addr(2), 100, at("down.org"))
		w.add(addr(3), 50, func(id int) string { return fmt.Sprintf("ipfs://%s/%d", cid0, id) })
		w.add(addr(4), 1, at("a.github.io"))
		w.add(addr(5), 1, at("b.github.io"))
		times := map[string][]time.Time{}
		w.web = func(r *http.Request) (int, string, http.Header) {
			w.mu.Lock()
			times[r.URL.Host] = append(times[r.URL.Host], time.Now())
			w.mu.Unlock()
			switch r.URL.Host {
			case "busy.example":
				return 429, "", http.Header{"Retry-After": {"100"}}
			case "gw.example":
				return 504, "", nil
			case "a.github.io":
				return 0, "", nil
			}
			return 500, "", nil
		}
		m, stop := w.run()
		w.settle(30 * time.Minute)
		stop()
		for host, most := range map[string]int{"busy.example": 30, "down.org": 14} { // 1800/100 and with doubling
			if n := len(times[host]); n < 6 || n > most {
				t.Errorf("%s was asked %d times", host, n)
			}
		}
		throttled := 0
		for id := range uint64(100) {
			if token(t, m, addr(1), id+1).Status == Throttled {
				throttled++
			}
		}
		if throttled == 0 {
			t.Error("no token says that its server wants to be left alone")
		}
		if len(times["b.github.io"]) == 0 {
			t.Error("a site of a public suffix was taken for its neighbour")
		}
		gw := slices.SortedFunc(slices.Values(times["gw.example"]), time.Time.Compare)
		if len(gw) < 50 {
			t.Fatalf("the gateway was asked %d times", len(gw))
		}
		if d := gw[49].Sub(gw[0]); d < 2*time.Second || d > 30*time.Second {
			t.Errorf("50 documents took the gateway %s", d)
		}
	})
}

// TestReindex: what a client asks for is fetched again, after its contract was asked, once
// an hour.
func TestReindex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 2, at("a.example"))
		name := "old"
		w.web = func(*http.Request) (int, string, http.Header) { return 200, `{"name":"` + name + `"}`, nil }
		reindex := func(m *Metadata, id uint64) error {
			return m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id))
		}
		if err := reindex(w.actor(), 1); !errors.Is(err, ErrStopping) {
			t.Errorf("before it runs: %v", err)
		}
		m, stop := w.run()
		w.settle(2 * time.Minute)
		name = "new"
		if err := errors.Join(reindex(m, 1), reindex(m, 1)); err != nil { // the second one joins
			t.Fatal(err)
		}
		w.settle(10 * time.Second)
		if got := token(t, m, addr(1), 1); got.Name != "new" || token(t, m, addr(1), 2).Name != "old" || !slices.Equal(w.asked, []uint64{1}) {
			t.Errorf("%+v, contract asked for %v", got, w.asked)
		}
		var soon *TooSoonError
		if err := reindex(m, 1); !errors.As(err, &soon) || soon.Wait > time.Hour || soon.Wait < 55*time.Minute {
			t.Errorf("again: %v", err)
		}
		stop()
		m, stop = w.run()
		w.settle(time.Minute)
		if err := reindex(m, 1); !errors.As(err, &soon) {
			t.Errorf("after a restart: %v", err)
		}
		w.settle(time.Hour)
		if err := errors.Join(reindex(m, 1), reindex(m, 99)); err != nil {
			t.Error(err)
		}
		w.settle(10 * time.Second)
		if err := reindex(m, 99); !errors.As(err, &soon) {
			t.Errorf("a token without a URI, again: %v", err)
		}
		if n := len(m.asked); n > 0 {
			t.Errorf("%d are still asked for", n)
		}
		stop()
		if n := len(w.requests()); n != 4 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestReindexBound: clients cannot have any number of tokens wait.
func TestReindexBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Chains = func() []Chain { return nil } // nothing is fetched
		m, stop := w.run()
		synctest.Wait()
		for id := range uint64(maxAsked) {
			if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(maxAsked)); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		stop()
	})
}

// TestKilled: wherever the process ends, and whatever the disk refuses, what was
// acknowledged is fetched in the end, and nothing is that need not be.
func TestKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 40, at("a.example"))
		version := 0
		w.web = func(*http.Request) (int, string, http.Header) {
			<-time.After(50 * time.Millisecond)
			w.mu.Lock()
			defer w.mu.Unlock()
			return 200, fmt.Sprintf(`{"name":"%d"}`, version), nil
		}
		n := 0
		m, stop := w.run()
		w.settle(2 * time.Minute)
		for round := range 8 {
			w.mu.Lock()
			version = round + 1
			w.mu.Unlock()
			w.store.mu.Lock()
			w.store.fails = func() bool { n++; return n%3 == 0 }
			w.store.mu.Unlock()
			var acknowledged []uint64
			for id := uint64(1); id <= 40; id++ {
				if m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id)) == nil {
					acknowledged = append(acknowledged, id)
				}
			}
			w.settle(time.Duration(round*211) * time.Millisecond)
			left := w.store.killed() // as the disk is now
			stop()
			w.store = left
			m, stop = w.run()
			w.settle(3 * time.Minute)
			for _, id := range acknowledged {
				if got := token(t, m, addr(1), id); got.Name != fmt.Sprint(version) {
					t.Fatalf("round %d: token %d was acknowledged, and is that of version %s", round, id, got.Name)
				}
			}
			if len(acknowledged) < 20 {
				t.Fatalf("%d acknowledged", len(acknowledged))
			}
			w.settle(reindexEvery)
		}
		stop()
	})
}

// TestStoreFails: what cannot be kept is said by the check, and fetched again later.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 3, at("a.example"))
		full := true
		w.store.fails = func() bool { return full }
		m, stop := w.run()
		defer stop()
		w.settle(time.Minute)
		if _, err := m.Check(t.Context()); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
		if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(1)); !errors.Is(err, errFull) {
			t.Errorf("acknowledged: %v", err)
		}
		w.store.mu.Lock()
		full = false
		w.store.mu.Unlock()
		w.settle(10 * time.Minute)
		if state, err := m.Check(t.Context()); err != nil || token(t, m, addr(1), 3).Status != Indexed {
			t.Errorf("%+v, %v", state, err)
		}
	})
}

// TestStop: an actor ends at once though servers do not answer.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 30, at("a.example"))
		w.web = func(r *http.Request) (int, string, http.Header) { <-r.Context().Done(); return 0, "", nil }
		_, stop := w.run()
		w.settle(5 * time.Second)
		begun := time.Now()
		stop()
		if d := time.Since(begun); d > time.Second {
			t.Errorf("it took %s", d)
		}
		if n := w.store.count(); n > 0 {
			t.Errorf("%d records of what was broken off", n)
		}
	})
}

// TestRecordsOfOthers: a record that cannot be read is made again.
func TestRecordsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 2, at("a.example"))
		k := key{home, index.NFT{Token: addr(1), ID: *uint256.NewInt(1)}}
		k2 := key{home, index.NFT{Token: addr(1), ID: *uint256.NewInt(2)}}
		err := errors.Join(w.store.Put(context.Background(), k.bytes(), []byte("?")), w.store.Put(context.Background(), k2.bytes(), []byte(`{"v":9}`)))
		if err != nil {
			t.Fatal(err)
		}
		m, stop := w.run()
		defer stop()
		w.settle(time.Minute)
		if token(t, m, addr(1), 1).Status != Indexed || token(t, m, addr(1), 2).Status != Indexed {
			t.Error("they were not made again")
		}
	})
}
