package webhook

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain"
)

// about having it, and breaks off, though the server is killed at any moment, and though
// the chain goes back or what was told of it was false.
func TestDelivery(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	rnd, moods := rand.New(rand.NewPCG(3, 3)), rand.New(rand.NewPCG(4, 4))
	var mu sync.Mutex
	r.mu.Lock()
	r.treat = func(rw http.ResponseWriter, req *http.Request) bool {
		mu.Lock()
		n := moods.IntN(12)
		mu.Unlock()
		switch n {
		case 0:
			rw.WriteHeader(http.StatusInternalServerError)
		case 1:
			rw.WriteHeader(http.StatusTooManyRequests)
		case 2: // says that it has all of it, and breaks off
			rw.Header().Set("Content-Length", "100")
			rw.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(rw, "ok")
		case 3:
			panic(http.ErrAbortHandler)
		case 4:
			http.Redirect(rw, req, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	}
	r.mu.Unlock()
	h, stop := w.run()
	w.create(h, r, accounts[0], accounts[1])
	for range torture.Pick(30, 400) {
		switch rnd.IntN(6) {
		case 0:
			next := w.store.killed() // what is committed; deliveries on their way are not
			stop()
			w.store = next
			h, stop = w.run()
		case 1:
			w.back(1 + rnd.IntN(2))
			w.grow(4)
		case 2:
			w.correct(1 + rnd.IntN(3))
		}
		w.grow(1 + rnd.IntN(2))
	}
	r.await(t, w.want(4, accounts[0], accounts[1]))
	if list, err := h.List("me"); err != nil || len(list) != 1 || list[0].Status != Active {
		t.Errorf("%+v, %v", list, err)
	}
}

// What was taken back and is told again is no repeat to a receiver that knows messages by
// their IDs, though it is about the same blocks; over a restart neither.
func TestToldAgain(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	h, stop := w.run()
	w.create(h, r, accounts[0], accounts[1])
	w.grow(5)
	r.await(t, w.want(4, accounts[0], accounts[1]))
	for n := 1; n <= 4; n++ {
		w.correct(n)
		w.grow(1)
		r.await(t, w.want(4, accounts[0], accounts[1]))
		w.store = w.store.killed()
		stop()
		h, stop = w.run()
	}
	if list, err := h.List("me"); err != nil || len(list) != 1 || list[0].Status != Active {
		t.Errorf("%+v, %v", list, err)
	}
}

// Webhooks of clients are apart, and can be changed while they deliver.
func TestChanges(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.cfg.PerClient = 2
	h, _ := w.run()
	n := w.create(h, r, accounts[0])
	if _, err := h.Get("other", n.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another client's: %v", err)
	}
	ctx := t.Context()
	for _, bad := range []string{"ftp://a", "x", "http://", "http://u:p@h/", "http:opaque", "https://" + strings.Repeat("a", 3000)} {
		if _, err := h.Create(ctx, Hook{Client: "me", URL: bad, Chain: chain.ID{1}}); !errors.Is(err, ErrURL) {
			t.Errorf("%.20s: %v", bad, err)
		}
	}
	if _, err := h.Create(ctx, Hook{Client: "me", URL: r.URL, Chain: chain.ID{9}}); !errors.Is(err, ErrChain) {
		t.Errorf("of no chain: %v", err)
	}
	w.grow(3)
	r.await(t, w.want(4, accounts[0]))
	edit := func(f func(n *Hook)) {
		t.Helper()
		if _, err := h.Update(ctx, "me", n.ID, func(n *Hook) error { f(n); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	begin := uint64(len(w.blocks))
	edit(func(n *Hook) { n.Addresses = append(n.Addresses, accounts[1]) })
	w.grow(3)
	mixed := append(slices.DeleteFunc(w.want(4, accounts[0]), func(s string) bool { return s >= fmt.Sprintf("%06d", begin) }), w.want(begin, accounts[0], accounts[1])...)
	r.await(t, mixed)
	edit(func(n *Hook) { n.Status = Inactive })
	w.grow(3)
	edit(func(n *Hook) { n.Status = Active })
	begin = uint64(len(w.blocks))
	w.grow(3)
	r.await(t, append(mixed, w.want(begin, accounts[0], accounts[1])...))
	second := w.create(h, r, accounts[2])
	if _, err := h.Create(ctx, Hook{Client: "me", URL: r.URL, Chain: chain.ID{1}}); !errors.Is(err, ErrQuota) {
		t.Errorf("a third one: %v", err)
	}
	if gone, err := h.Delete(ctx, "me", second.ID); err != nil || gone.Status != Inactive {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := h.Update(ctx, "me", second.ID, func(*Hook) error { return nil }); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that is deleted: %v", err)
	}
	old := r.secret
	next, err := h.Rotate(ctx, "me")
	if err != nil || next == old || len(next) != 64 {
		t.Errorf("the next secret is %q: %v", next, err)
	}
}

// A receiver that takes nothing for too long, or says that it is gone, ends its webhook
// with a reason. One that is slow is waited for no longer than the time for a delivery.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		treat  func(w http.ResponseWriter, r *http.Request) bool
		reason string
	}{
		"gone": {func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusGone); return true }, "answered 410"},
		"down": {func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "taken nothing since"},
		"slow": {func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "taken nothing since"},
		"away": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusPermanentRedirect)
			return true
		}, "redirects (308)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newWorld(t), newReceiver(t)
			w.cfg.Patience = 20 * time.Millisecond
			if name == "slow" { // the others answer, if the machine is busy some time later
				w.cfg.Timeout = 50 * time.Millisecond
			}
			r.mu.Lock()
			r.treat = c.treat
			r.mu.Unlock()
			h, _ := w.run()
			n := w.create(h, r, accounts[0], accounts[1], accounts[2])
			w.grow(3)
			for begun := time.Now(); ; <-time.After(time.Millisecond) {
				got, err := h.Get("me", n.ID)
				if err != nil {
					t.Fatal(err)
				}
				if got.Status == Inactive {
					if !strings.Contains(got.Reason, c.reason) {
						t.Errorf("the reason is %q", got.Reason)
					}
					return
				}
				if time.Since(begun) > time.Minute {
					t.Fatal("it is still active")
				}
			}
		})
	}
}

// TestPrivate: nothing is sent to addresses that are not of the internet; see package
// outbound for what those are.
func TestPrivate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	resp, err := newClient(&Config{Timeout: 30 * time.Second}).Post(s.URL, "application/json", strings.NewReader("{}"))
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || asked.Load() > 0 {
		t.Errorf("the receiver was asked %d times: %v", asked.Load(), err)
	}
	if err := CheckURL("http://127.0.0.1:80/", false); !errors.Is(err, ErrURL) {
		t.Errorf("got %v", err)
	}
	if err := resolveURL(t.Context(), "http://localhost/", false); !errors.Is(err, ErrURL) {
		t.Errorf("got %v", err)
	}
	if err := CheckURL("http://127.0.0.1:80/", true); err != nil {
		t.Error(err)
	}
}

// Messages have the form that their signature is checked in.
func TestCanonical(t *testing.T) {
	t.Parallel()
	got, err := canonical(object{"b": "<&>\u00e9\"\n", "a": []object{{"y": 1, "x": "0"}}, "c": plain("a\u2028b\xff")})
	if want := `{"a":[{"x":"0","y":1}],"b":"<&>é\"\n","c":"a b?"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, c := range []struct {
		n        uint64
		decimals uint8
		want     string
	}{{0, 18, "0"}, {1, 18, "0.000000000000000001"}, {1500, 3, "1.5"}, {12, 0, "12"}, {1000, 3, "1"}} {
		v := uint256.NewInt(c.n)
		if got := scaled(v, c.decimals); got != c.want {
			t.Errorf("%d with %d decimals is %s, not %s", c.n, c.decimals, got, c.want)
		}
	}
}

// What is a part of a message as the API writes it comes to the same form: weights of 64
// bits as receivers' doubles have them.
func TestParsed(t *testing.T) {
	t.Parallel()
	v, err := parsed([]byte(`{"weight":18446744073709551615,"b":[9007199254740993,1700000000,"x\u2028"],"a":2.0}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := canonical(object{"v": v})
	if want := `{"v":{"a":2,"b":[9007199254740992,1700000000,"x "],"weight":18446744073709552000}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := parsed([]byte(`{`)); err == nil {
		t.Error("half an object was read")
	}
}

// A record that cannot be written is delivered again, not lost.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	h, stop := w.run()
	w.create(h, r, accounts[0], accounts[1])
	n := 0
	w.store.mu.Lock()
	w.store.fails = func() error {
		if n++; n%3 == 0 {
			return errors.New("the disk is full")
		}
		return nil
	}
	w.store.mu.Unlock()
	w.grow(2)
	r.await(t, w.want(4, accounts[0], accounts[1]))
	stop()
	if n := w.hub.Followers(); n != 0 {
		t.Errorf("%d still follow the chain", n)
	}
}

// TestListWhileRemoved: a webhook that is being removed, which may take as long as the
// disk does, keeps nobody from reading the list.
func TestListWhileRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	h, stop := w.run()
	defer stop()
	n := w.create(h, r, accounts...)
	listed := make(chan error, 1)
	w.store.removing = func() {
		go func() {
			_, err := h.List("me")
			listed <- err
		}()
		select {
		case err := <-listed:
			listed <- err
		case <-time.After(30 * time.Second):
		}
	}
	if _, err := h.Delete(t.Context(), "me", n.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-listed; err != nil {
		t.Error(err)
	}
}
