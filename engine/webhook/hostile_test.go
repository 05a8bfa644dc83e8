package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
)

// silent is a receiver that takes connections and never says anything.
func silent(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// within waits until something is true.
func within(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			t.Fatal(what)
		}
	}
}

// Many webhooks, each with as many addresses as there may be, whose receivers never
// answer: they take a few goroutines each and no memory that grows with what happens,
// can be changed and deleted meanwhile, and leave nothing behind when they are stopped.
func TestSilentReceivers(t *testing.T) { // alone: it counts goroutines
	w := newPrimaryWorld(t)
	w.grow(primary.PChain, w.h.late())
	keys := w.busiest(primary.PChain, MaxAddresses)
	for i := len(keys); i < MaxAddresses; i++ {
		keys = append(keys, address.Address{byte(i), 0xff})
	}
	w.cfg.Most, w.cfg.PerClient, w.cfg.Timeout = 1000, 1000, time.Minute
	base := runtime.NumGoroutine()
	h, stop := w.run()
	url, count := silent(t), torture.Pick(60, 1000)
	var ids []string
	for i := range count {
		n := Hook{Client: "me", Network: "fuji", On: primary.PChain, URL: url, Type: PrimaryActivity, Keys: keys, Told: []Sub{BalanceChange}}
		if i%2 == 1 {
			n.Type, n.Keys, n.Told, n.Validators = ValidatorActivity, nil, ValidatorActivity.Subs(), &Validators{Subnet: &chain.PrimaryNetworkID}
		}
		n, err := h.Create(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, n.ID)
	}
	w.grow(primary.PChain, 40)
	transport := h.client.Transport
	within(t, "not all webhooks deliver", func() bool { return runtime.NumGoroutine() >= base+count })
	w.grow(primary.PChain, 100)
	// One delivers, one each reads and writes the connection, one connects, one sends.
	if n := runtime.NumGoroutine(); n > base+6*count+50 {
		t.Errorf("%d goroutines for %d webhooks", n-base, count)
	}
	begun := time.Now()
	for i, id := range ids[:20] {
		var err error
		if i%2 == 0 {
			_, err = h.Delete(t.Context(), "me", id)
		} else {
			_, err = h.Update(t.Context(), "me", id, func(n *Hook) error { n.Status = Inactive; return nil })
		}
		if err != nil {
			t.Error(err)
		}
	}
	stop()
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("they were changed and stopped in %s", took)
	}
	if c, ok := transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	within(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= base+2 })
}

// A webhook whose chain is not the one that it was made for, or begins above where it is,
// is made inactive with the reason; one whose rows are not all there again waits for them.
func TestPrimaryPosition(t *testing.T) {
	t.Parallel()
	world := newPrimaryWorld(t) // nothing is added to it
	last := world.h.late()
	world.grow(primary.PChain, last)
	const trail = ".0.0011223344556677"
	for name, c := range map[string]struct{ position, reason string }{
		"strange": {fmt.Sprint(last-10, trail), "not the one that it was made for"},
		"below":   {"0.0.", "begins above"},
		"no form": {"x", "cannot be read"},
		"ahead":   {fmt.Sprint(last+10, trail), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *world
			w.t, w.store = t, &kept{}
			asked := make(chan struct{}, 1)
			s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
			}))
			defer s.Close()
			h, stop := w.run()
			n, err := h.Create(t.Context(), Hook{
				Client: "me", Type: ValidatorActivity, URL: s.URL, Network: "fuji", On: primary.PChain, Told: []Sub{ValidatorStake, DelegatorStake, RewardPaid},
				Validators: &Validators{Subnet: &chain.PrimaryNetworkID},
			})
			if err != nil {
				t.Fatal(err)
			}
			k, err := h.find("me", n.ID)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.change(context.Background(), k, func(r *record) error { r.Position = c.position; return nil }); err != nil {
				t.Fatal(err)
			}
			stop()
			h, _ = w.run()
			if c.reason == "" {
				if v, err := h.Get("me", n.ID); err != nil || v.Status != Active {
					t.Errorf("%+v, %v", v, err)
				}
				return
			}
			within(t, "it is still active", func() bool {
				v, err := h.Get("me", n.ID)
				if err != nil {
					t.Fatal(err)
				}
				return v.Status == Inactive && strings.Contains(v.Reason, c.reason)
			})
			if len(asked) > 0 {
				t.Error("something was told")
			}
		})
	}
}

// Clients who ask for secrets and have no webhooks do not fill the database.
func TestSecretsBounded(t *testing.T) {
	t.Parallel()
	w := newPrimaryWorld(t)
	w.cfg.Most = 2
	w.grow(primary.PChain, 10)
	h, _ := w.run()
	for i := range secretsPer * w.cfg.Most {
		if _, err := h.Rotate(t.Context(), fmt.Sprint("client ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Create(t.Context(), Hook{
		Client: "client 0", Type: ValidatorActivity, URL: "https://hooks.example/", Network: "fuji", On: primary.PChain, Told: []Sub{ValidatorStake},
		Validators: &Validators{Subnet: &chain.PrimaryNetworkID},
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * secretsPer {
		if _, err := h.Rotate(t.Context(), fmt.Sprint("stranger ", i)); err != nil {
			t.Errorf("stranger %d: %v", i, err)
		}
	}
	if n := len(h.secrets); n != secretsPer*w.cfg.Most {
		t.Errorf("%d secrets", n)
	}
	if _, err := h.Secret("client 0"); err != nil {
		t.Errorf("the secret of a webhook: %v", err)
	}
}

// Points are read as they are written, and nothing else is one.
func TestPoint(t *testing.T) {
	t.Parallel()
	for _, p := range []point{{}, {height: 7, taken: 3, trail: "00ff"}, {height: 1<<64 - 1}} {
		if got, err := parsePoint(p.String()); err != nil || got != p {
			t.Errorf("%+v is read as %+v, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "1", "1.2", "-1.0.", "1.-2.", "1.x.", "x.1."} {
		if p, err := parsePoint(s); err == nil {
			t.Errorf("%q is %+v", s, p)
		}
	}
	for _, b := range [][]byte{nil, {2}, {1, 0, 0, 0, 5}} {
		if w, err := decodeWatch(b); err == nil {
			t.Errorf("%x is %+v", b, w)
		}
	}
	w := &watch{limits: map[chain.ID]uint64{{1}: 5, {2}: 1 << 63}}
	w.fees.Active, w.fees.Excess, w.fees.Accrued = 1, 2, 3
	if got, err := decodeWatch(w.encode()); err != nil || fmt.Sprint(got) != fmt.Sprint(w) {
		t.Errorf("%v, %v", got, err)
	}
	for i := range maxWatched {
		w.fund(chain.ID{3, byte(i), byte(i >> 8)}, 1)
	}
	if err := w.bounded(); err == nil {
		t.Errorf("%d validators are watched", len(w.limits))
	}
}
