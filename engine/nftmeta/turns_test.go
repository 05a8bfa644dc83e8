package nftmeta

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
)

// TestDeadSite: a site that does not answer, at the head of a collection, does not delay
// the tokens behind it.
func TestDeadSite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 400, func(id int) string {
			if id <= 300 {
				return fmt.Sprintf("https://dead.example/%d", id)
			}
			return fmt.Sprintf("https://live.org/%d", id)
		})
		w.down["dead.example"] = true
		m, stop := w.run()
		defer stop()
		w.settle(3 * time.Minute)
		for id := uint64(301); id <= 400; id++ {
			if got := token(t, m, addr(1), id); got.Status != Indexed {
				t.Fatalf("%d waits for a dead site: %+v", id, got)
			}
		}
		w.mu.Lock()
		delete(w.down, "dead.example")
		w.mu.Unlock()
		w.settle(3 * time.Hour)
		for id := range uint64(300) {
			if got := token(t, m, addr(1), id+1); got.Status != Indexed {
				t.Fatalf("%d is not found when its site is back: %+v", id+1, got)
			}
		}
		if n := len(w.requests()); n > 430 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestReindexUnderWay: asking while a document is on its way has it fetched again, as it
// may have changed since it was sent, also after a kill.
func TestReindexUnderWay(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.add(addr(1), 1, at("a.example"))
			name := "old"
			w.web = func(*http.Request) (int, string, http.Header) {
				w.mu.Lock()
				sent := name
				w.mu.Unlock()
				<-time.After(10 * time.Second)
				return 200, `{"name":"` + sent + `"}`, nil
			}
			m, stop := w.run()
			w.settle(2 * time.Minute)
			reindex := func() {
				if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(1)); err != nil {
					t.Fatal(err)
				}
			}
			reindex()
			w.settle(5 * time.Second) // the old one is on its way
			w.mu.Lock()
			name = "new"
			w.mu.Unlock()
			reindex()
			if killed {
				w.settle(6 * time.Second) // it is there
				left := w.store.killed()
				stop()
				w.store = left
				m, stop = w.run()
			}
			w.settle(2 * time.Minute)
			stop()
			if got := token(t, m, addr(1), 1); got.Name != "new" || len(m.asked) > 0 {
				t.Errorf("killed %t: %+v, %d are asked for", killed, got, len(m.asked))
			}
		})
	}
}

// TestReindexAsksAgain: a contract is asked for the URI again after a restart, and once a
// minute until the document was fetched. Without room nothing is acknowledged.
func TestReindexAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 1, at("a.example"))
		w.web = func(*http.Request) (int, string, http.Header) {
			<-time.After(10 * time.Second)
			return 200, `{"name":"x"}`, nil
		}
		reindex := func(m *Metadata) error { return m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(1)) }
		asked := func() (n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			n, w.asked = len(w.asked), nil
			return n
		}
		m, stop := w.run()
		w.settle(2 * time.Minute)
		if err := reindex(m); err != nil {
			t.Fatal(err)
		}
		left := w.store.killed() // before the document is there
		stop()
		asked()
		w.store = left
		m, stop = w.run()
		w.settle(30 * time.Second)
		k := key{home, index.NFT{Token: addr(1), ID: *uint256.NewInt(1)}}
		if _, waits := m.askedAt(&k); waits {
			t.Error("the token still waits")
		}
		if n := asked(); n != 1 {
			t.Errorf("after a restart the contract was asked %d times", n)
		}
		w.settle(2 * time.Hour)
		stop()

		chains := w.cfg.Chains()
		chains[0].View = func() (View, error) { return nil, errFull } // nothing is fetched
		w.cfg.Chains = func() []Chain { return chains }
		full := errors.New("full")
		var room atomic.Pointer[error]
		w.cfg.Room = func() error {
			if err := room.Load(); err != nil {
				return *err
			}
			return nil
		}
		m, stop = w.run()
		defer stop()
		w.settle(time.Second / 2)
		asked()
		if err := reindex(m); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Minute)
		if n := asked(); n < 9 || n > 11 {
			t.Errorf("the contract was asked %d times in ten minutes", n)
		}
		room.Store(&full)
		if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(2)); !errors.Is(err, ErrNoRoom) || !errors.Is(err, full) {
			t.Errorf("without room: %v", err)
		}
	})
}

// TestLargeDocuments: what there is no room for in the database is left out, so that the
// rest of a document is kept and what a client asked for comes to its end.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 3, at("a.example"))
		embedded := func(c string) string { return "data:image/png," + strings.Repeat(c, maxEmbedded-20) }
		w.web = func(r *http.Request) (int, string, http.Header) {
			switch r.URL.Path {
			case "/1": // characters that HTML escapes to six
				return 200, fmt.Sprintf(`{"name":"a","description":%q,"image":%q,"animation_url":%[2]q}`, strings.Repeat("<", maxDescription), embedded("<")), nil
			case "/2":
				return 200, fmt.Sprintf(`{"name":"a","image":%q,"animation_url":%[1]q,"properties":{"a":"b"}}`, embedded(`"`)), nil
			}
			return 200, fmt.Sprintf(`{"image":%q,"animation_url":%[1]q}`, embedded(`"`)), nil
		}
		m, stop := w.run()
		defer stop()
		w.settle(2 * time.Minute)
		for id := range uint64(3) {
			if err := m.Reindex(t.Context(), home, addr(1), *uint256.NewInt(id + 1)); err != nil {
				t.Fatal(err)
			}
		}
		w.settle(2 * time.Minute)
		if got := token(t, m, addr(1), 1); got.Status != Indexed || got.ImageURI != embedded("<") || got.AnimationURI != got.ImageURI || len(got.Description) != maxDescription {
			t.Errorf("%.300q", fmt.Sprint(got))
		}
		if got := token(t, m, addr(1), 2); got.Status != Indexed || got.Name != "a" || got.AnimationURI != "" || got.ImageURI != embedded(`"`) || got.Properties == "" {
			t.Errorf("%.300q", fmt.Sprint(got))
		}
		if got := token(t, m, addr(1), 3); got.Status != Indexed || got.ImageURI == "" {
			t.Errorf("%.300q", fmt.Sprint(got))
		}
		if state, err := m.Check(t.Context()); err != nil || fmt.Sprint(state) != "{3 0 false}" || len(w.requests()) != 6 {
			t.Errorf("%+v, %v, %d requests", state, err, len(w.requests()))
		}
	})
}

// TestNobodyHas: documents that a gateway does not find in time do not keep it from being
// asked for others, whoever says that they have changed, but a gateway that nothing connects to rests.
func TestNobodyHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 100, func(id int) string { return fmt.Sprintf("ipfs://%s/nobody/%d", cid0, id) })
		w.add(addr(2), 100, func(id int) string { return fmt.Sprintf("ipfs://%s/cut/%d", cid0, id) })
		w.add(addr(3), 100, func(id int) string { return fmt.Sprintf("ipfs://%s/%d", cid0, id) })
		w.web = func(r *http.Request) (int, string, http.Header) {
			switch {
			case strings.Contains(r.URL.Path, "nobody"):
				<-r.Context().Done()
				return 0, "", nil
			case strings.Contains(r.URL.Path, "cut"):
				return 0, "", nil
			}
			return 200, `{"name":"x"}`, nil
		}
		m, stop := w.run()
		var dead []index.NFT
		for id := range uint64(100) {
			dead = append(dead, index.NFT{Token: addr(1), ID: *uint256.NewInt(id + 1)})
		}
		for range 40 {
			m.Changed(home, dead)
			w.settle(time.Second)
		}
		for id := range uint64(100) {
			if got := token(t, m, addr(3), id+1); got.Status != Indexed {
				t.Fatalf("%d waits for others: %+v", id+1, got)
			}
		}
		stop()
		w.add(addr(4), 100, func(id int) string { return fmt.Sprintf("ipfs://%s/later/%d", cid0, id) })
		w.mu.Lock()
		w.down["gw.example"] = true
		before := len(w.log)
		w.mu.Unlock()
		_, stop = w.run()
		w.settle(10 * time.Minute)
		stop()
		if n := len(w.requests()) - before; n < 3 || n > 60 {
			t.Errorf("a gateway that is down was asked %d times", n)
		}
	})
}
