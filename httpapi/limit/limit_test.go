package limit

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
)

// TestAdmit goes through who is let in, and with which answer who is not.
func TestAdmit(t *testing.T) {
	t.Parallel()
	file := newKeysFile(t, content(entry("s", "small"), entry("n", "narrow"), disabled("d", "large")))
	open := newLimiter(t, Config{KeysFile: file.path})
	closed := newLimiter(t, Config{KeysFile: file.path, RequireKey: true})
	f := func(l *Limiter, h headers, r Route, status int, tier, message string) {
		t.Helper()
		d := l.Admit(h.get, clientA, r, 1)
		if d.status() != status || d.Tier != tier || !strings.Contains(d.Message, message) || d.RetryAfter != 0 {
			t.Errorf("%v %s: %+v; want %d, tier %q, %q", h, r.Pattern, d, status, tier, message)
		}
	}
	for _, l := range []*Limiter{open, closed} {
		f(l, withKey("s"), dataRoute, 200, "small", "")
		f(l, headers{HeaderKeySDK: "s"}, dataRoute, 200, "small", "")
		f(l, headers{HeaderKey: "n", HeaderKeySDK: "unknown"}, dataRoute, 200, "narrow", "")
		f(l, headers{HeaderKey: "unknown", HeaderKeySDK: "n"}, dataRoute, 401, "", "not known")
		f(l, withKey(strings.Repeat("x", maxKey+1)), dataRoute, 401, "", "not known")
		f(l, withKey(Hash("s")), dataRoute, 401, "", "not known") // the hash is no key
		f(l, withKey("d"), dataRoute, 403, "large", "disabled")
		f(l, withKey("n"), Route{Pattern: "/v1/exact"}, 200, "narrow", "")
		f(l, withKey("n"), Route{Pattern: "/v1/exactly"}, 403, "narrow", "this route")
		f(l, withKey("n"), Route{Pattern: dataRoute.Pattern, Chain: named("8")}, 403, "narrow", "this chain")
		f(l, withKey("n"), Route{Pattern: dataRoute.Pattern, Chain: named("7")}, 200, "narrow", "")
		// Metrics never need a key, whatever is sent as one.
		f(l, headers{}, publicRoute, 200, "", "")
		f(l, withKey("unknown"), publicRoute, 200, "", "")
		f(l, withKey("d"), publicRoute, 200, "", "")
		f(l, withKey("n"), publicRoute, 200, "", "")
		f(l, withKey("s"), publicRoute, 200, "small", "")
	}
	f(open, headers{}, dataRoute, 200, "", "")
	f(open, headers{HeaderKey: ""}, dataRoute, 200, "", "")
	f(closed, headers{}, dataRoute, 401, "", "required")
	f(newLimiter(t, Config{}), withKey("s"), dataRoute, 200, "", "") // no keys at all: it is meant for another server
	f(newLimiter(t, Config{RequireKey: true}), withKey("s"), dataRoute, 401, "", "not known")
}

// TestRate: the bucket of a key and of an address, on a fake clock.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := metric.NewSet()
		file := newKeysFile(t, content(entry("s", "small"), entry("other", "small")))
		l := newLimiter(t, Config{KeysFile: file.path, UnitsPerMinute: 120, Burst: 4, Metrics: set})
		f := func(h headers, a netip.Addr, units int, wait time.Duration) {
			t.Helper()
			d := l.Admit(h.get, a, dataRoute, units)
			if d.RetryAfter != wait || d.Allow != (wait == 0) || (d.Status == 429) != (wait > 0) {
				t.Errorf("%v %s %d units: %+v, want a wait of %v", h, a, units, d, wait)
			}
		}
		// One unit a second, ten at once.
		f(withKey("s"), clientA, 6, 0)
		f(withKey("s"), clientB, 4, 0)
		f(withKey("s"), clientB, 1, time.Second)
		f(withKey("s"), clientB, 10, 10*time.Second)
		f(withKey("other"), clientB, 10, 0) // has a bucket of its own
		<-time.After(2500 * time.Millisecond)
		f(withKey("s"), clientA, 3, 500*time.Millisecond)
		f(withKey("s"), clientA, 2, 0)
		f(withKey("s"), clientA, 1, 500*time.Millisecond)
		// Worth more than a burst: no wait makes it possible, and it costs nothing.
		if d := l.Admit(withKey("s").get, clientA, dataRoute, 11); d.Status != 400 || d.RetryAfter != 0 || !strings.Contains(d.Message, "costs 11 compute units") || !strings.Contains(d.Message, "costs 10:") {
			t.Errorf("more than a burst: %+v", d)
		}
		<-time.After(500 * time.Millisecond)
		f(withKey("s"), clientA, 1, 0)
		// The same if only its second part shows it.
		<-time.After(10 * time.Second)
		first := l.Admit(withKey("s").get, clientA, dataRoute, 4)
		if d := l.More(first.Client, 4, 7); d.Status != 400 || !strings.Contains(d.Message, "costs 11 ") || l.More(first.Client, 4, 6).Status != 0 {
			t.Errorf("more than a burst in two parts: %+v", d)
		}
		if l.Owe(first.Client, 5); l.Most(first.Client) != 10 {
			t.Errorf("the most is %d", l.Most(first.Client))
		}
		f(withKey("s"), clientA, 1, 6*time.Second)
		// Without a key two units a second, four at once, for each address.
		f(headers{}, clientA, 4, 0)
		f(headers{}, clientA, 1, 500*time.Millisecond)
		f(headers{}, clientB, 4, 0)
		f(headers{}, clientB, 0, 0)
		<-time.After(time.Hour) // no more than a burst is ever saved
		f(headers{}, clientA, 4, 0)
		f(headers{}, clientA, 2, time.Second)
		if n := set.Value("quorate_limit_refused_total", "reason", "rate"); n != 9 {
			t.Errorf("%v refusals counted, want 9", n)
		}
	})
}

// TestDefaultRate: 6,000 units a minute without a key.
func TestDefaultRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, Config{})
		admitted := 0
		for range 500 {
			if l.Admit(headers{}.get, clientA, dataRoute, 20).Allow {
				admitted++
			}
		}
		if d := l.Admit(headers{}.get, clientA, dataRoute, 20); admitted != 300 || d.RetryAfter != 200*time.Millisecond {
			t.Errorf("%d requests of 20 units passed, then %+v", admitted, d)
		}
		off := newLimiter(t, Config{NoLimit: true, RequireKey: true})
		for range 1000 {
			if d := off.Admit(headers{}.get, clientA, publicRoute, 20); !d.Allow {
				t.Fatalf("limited though switched off: %+v", d)
			}
		}
		if d := off.Admit(headers{}.get, clientA, dataRoute, 20); d.Status != 401 {
			t.Errorf("no key asked for: %+v", d)
		}
	})
}

// TestExtremes: no rate and no cost makes times overflow.
func TestExtremes(t *testing.T) {
	t.Parallel()
	for _, r := range []rate{{1, 1}, {1, MaxRate}, {MaxRate, 1}, {MaxRate, MaxRate}} {
		for _, units := range []int64{-1, 0, 1, MaxRate, 1 << 62} {
			var b bucket
			now := 100 * 365 * 24 * time.Hour
			if wait := b.take(now, r, units); wait != 0 {
				t.Errorf("%+v, %d units: waits %v at a full bucket", r, units, wait)
			}
			if wait := b.take(now, r, 1); wait < 0 {
				t.Errorf("%+v, 1 after %d units: waits %v", r, units, wait)
			}
			if full := b.full.Load(); full < int64(now) {
				t.Errorf("%+v, %d units: full at %d", r, units, full)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"rate":    {UnitsPerMinute: -1},
		"too big": {UnitsPerMinute: MaxRate + 1},
		"burst":   {Burst: -5},
		"clients": {MaxClients: -1},
		"proxies": {TrustedProxies: make([]netip.Prefix, 1)},
		"no file": {KeysFile: "/nowhere/keys.yaml"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestUseByKey: what each key was used for is counted by its name, with a limit or
// without, over changes of the file; what was refused is not.
func TestUseByKey(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	file := newKeysFile(t, content(entry("s", "small"), entry("l1", "large"), entry("l2", "large")))
	l := newLimiter(t, Config{KeysFile: file.path, Metrics: set})
	use := func(key string, units int) Decision { return l.Admit(withKey(key).get, clientA, dataRoute, units) }
	use("l1", 7)
	use("l2", 5) // of the same name: another value of one key
	use("s", 10)
	use("s", 10) // above its burst
	if wait, ok := l.Charge(use("l1", 1).Client, 30); !ok || wait != 0 {
		t.Errorf("charge: %v, %v", wait, ok)
	}
	l.Admit(headers{}.get, clientA, dataRoute, 3)
	want := func(key string, requests, units float64) {
		t.Helper()
		if r, u := set.Value("quorate_limit_key_requests_total", "key", key), set.Value("quorate_limit_key_units_total", "key", key); r != requests || u != units {
			t.Errorf("%s: %v requests, %v units; want %v, %v\n%s", key, r, u, requests, units, set)
		}
	}
	want("of small", 1, 10)
	want("of large", 3, 43)
	file.write(t, content(entry("l1", "large")))
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	use("l1", 2)
	want("of small", 0, 0)
	want("of large", 3, 40)
}
