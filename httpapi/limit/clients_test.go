package limit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestClients: which addresses are one client.
func TestClients(t *testing.T) {
	t.Parallel()
	f := func(a, b string, same bool) {
		t.Helper()
		if got := clientOf(netip.MustParseAddr(a), 0) == clientOf(netip.MustParseAddr(b), 0); got != same {
			t.Errorf("%s and %s: one client %v, want %v", a, b, got, same)
		}
	}
	f("192.0.2.1", "192.0.2.1", true)
	f("192.0.2.1", "192.0.2.2", false)
	f("192.0.2.1", "::ffff:192.0.2.1", true)
	f("::ffff:192.0.2.1", "::ffff:192.0.2.2", false)
	f("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true)
	f("2001:db8::1", "2001:db8:0:1::1", false)
	f("fe80::1%eth0", "fe80::1%eth1", true)
	if clientOf(netip.Addr{}, 0) != (address{}) {
		t.Error("a peer without an address must be one client")
	}
}

// TestForwarded: whose address counts behind proxies.
func TestForwarded(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}})
	f := func(remote, forwarded, want string) {
		t.Helper()
		got := l.client(headers{HeaderForwarded: forwarded}.get, netip.MustParseAddr(remote))
		if got.String() != want {
			t.Errorf("from %s, forwarded %q: %s, want %s", remote, forwarded, got, want)
		}
	}
	f("192.0.2.9", "198.51.100.1", "192.0.2.9") // not a proxy: not believed
	f("10.0.0.1", "", "10.0.0.1")
	f("10.0.0.1", "198.51.100.1", "198.51.100.1")
	f("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1")
	f("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1") // what the client says of itself
	f("10.0.0.1", "1.1.1.1, 198.51.100.1 ,10.2.2.2", "198.51.100.1")
	f("2001:db8:1::1", "2001:db8:2::5", "2001:db8:2::5")
	f("10.0.0.1", "198.51.100.1:4711", "198.51.100.1")
	f("10.0.0.1", "[2001:db8:2::5]:4711", "2001:db8:2::5")
	f("10.0.0.1", "fe80::1%eth0", "fe80::1")
	f("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3")
	f("10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "10.0.0.2") // no further than what can be read
	f("10.0.0.1", "198.51.100.1,", "10.0.0.1")
	f("10.0.0.1", ",,,", "10.0.0.1")
}

// TestHeader: a client's own line never hides the one that a proxy adds.
func TestHeader(t *testing.T) {
	t.Parallel()
	var h fasthttp.RequestHeader
	if v := Header(&h, HeaderForwarded); v != nil {
		t.Errorf("absent header: %q", v)
	}
	h.Add("x-forwarded-for", "1.1.1.1")
	if v := Header(&h, HeaderForwarded); string(v) != "1.1.1.1" {
		t.Errorf("one line: %q", v)
	}
	h.Add("x-forwarded-for", "198.51.100.1")
	if v := Header(&h, HeaderForwarded); string(v) != "1.1.1.1,198.51.100.1" {
		t.Errorf("two lines: %q", v)
	}
}

// TestEviction: the table is bounded, and keeps who comes often.
func TestEviction(t *testing.T) {
	t.Parallel()
	var c clients
	c.init(2 * clientShards)
	regular := c.bucket(clientOf(clientA, 0))
	for i := range 10_000 {
		c.bucket(clientOf(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 0))
		if c.bucket(clientOf(clientA, 0)) != regular {
			t.Fatalf("a client that comes all the time was forgotten after %d others", i+1)
		}
	}
	total := 0
	for i := range c.shards {
		total += c.shards[i].recent.Len()
	}
	if total > 2*clientShards {
		t.Errorf("%d clients remembered, at most %d asked for", total, 2*clientShards)
	}
}

// TestParallel: all at once no more than the burst passes, and the table of
// addresses and the keys file stand it.
func TestParallel(t *testing.T) {
	t.Parallel()
	file := newKeysFile(t, "tiers: [{name: slow, unitsPerMinute: 1, burst: 100}]\nkeys: [{hash: "+Hash("k")+", tier: slow}]")
	l := newLimiter(t, Config{KeysFile: file.path, UnitsPerMinute: 1, Burst: 50, MaxClients: 1000})
	var byKey, byAddress atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				if l.Admit(withKey("k").get, clientA, dataRoute, 1).Allow {
					byKey.Add(1)
				}
				if l.Admit(headers{}.get, clientA, dataRoute, 1).Allow {
					byAddress.Add(1)
				}
				l.Admit(headers{}.get, netip.AddrFrom4([4]byte{10, 0, byte(i), byte(j)}), dataRoute, 1)
				if j%25 == 0 {
					if err := l.Reload(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if byKey.Load() != 100 || byAddress.Load() != 50 {
		t.Errorf("%d passed by key and %d by address, want 100 and 50", byKey.Load(), byAddress.Load())
	}
}

// TestClient: a known key stands for its owner wherever that is; all else counts
// for the address.
func TestClient(t *testing.T) {
	t.Parallel()
	file := newKeysFile(t, content(entry("one", "small"), disabled("two", "small"), `  - {hash: `+Hash("three")+`, tier: small}`+"\n"))
	l := newLimiter(t, Config{KeysFile: file.path, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	f := func(h headers, remote, want string) {
		t.Helper()
		if got := l.Admit(h.get, netip.MustParseAddr(remote), publicRoute, 0).Client.String(); got != want {
			t.Errorf("%v from %s: %q, want %q", h, remote, got, want)
		}
	}
	f(withKey("one"), "192.0.2.1", "key:of small")
	f(headers{HeaderKeySDK: "one"}, "192.0.2.2", "key:of small")
	f(withKey("three"), "192.0.2.1", "key:"+Hash("three")[:16])
	f(withKey("two"), "192.0.2.1", "192.0.2.1")
	f(withKey("invented"), "192.0.2.1", "192.0.2.1")
	f(headers{}, "::ffff:192.0.2.1", "192.0.2.1")
	f(headers{}, "2001:db8::5", "2001:db8::/64")
	f(headers{HeaderForwarded: "198.51.100.1"}, "10.0.0.1", "198.51.100.1")
	if got := l.Admit(headers{}.get, netip.Addr{}, publicRoute, 0).Client.String(); got != "unknown" {
		t.Errorf("no address: %q", got)
	}
}

// TestNetworks: who has a whole network of IPv6 has no more than a few clients' rate; what one
// of its addresses is refused for costs it nothing.
func TestNetworks(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, Config{UnitsPerMinute: 1, Burst: 10})
	at := func(subnet, host int) netip.Addr {
		a := netip.MustParseAddr("2001:db8:1::").As16()
		a[6], a[7], a[15] = byte(subnet>>8), byte(subnet), byte(host)
		return netip.AddrFrom16(a)
	}
	spend := func(a netip.Addr) (units int) {
		for l.Admit(headers{}.get, a, dataRoute, 1).Allow {
			units++
		}
		return units
	}
	if n := spend(at(0, 1)) + spend(at(0, 2)); n != 10 {
		t.Errorf("a /64 has %d units, want 10", n)
	}
	of56 := 10
	for subnet := 1; subnet < 256; subnet++ {
		of56 += spend(at(subnet, 1))
	}
	if of56 != 40 {
		t.Errorf("a /56 has %d units, want 40", of56)
	}
	of48 := of56
	for net := 1; net < 256; net++ {
		for subnet := range 8 {
			of48 += spend(at(net<<8|subnet, 1))
		}
	}
	if of48 != 160 {
		t.Errorf("a /48 has %d units, want 160", of48)
	}
	// The refusals of its networks have taken nothing of its own.
	fresh := at(255<<8|255, 1)
	if d := l.Admit(headers{}.get, fresh, dataRoute, 1); d.Allow || d.Status != 429 || d.RetryAfter <= 0 || d.Remaining != 0 {
		t.Errorf("in a network without units: %+v", d)
	}
	own := l.purseOf(ClientAt(fresh))
	if left, _ := own.buckets[0].left(time.Since(l.start), own.rates[0]); left != 10 {
		t.Errorf("it has %d units of its own, want 10", left)
	}
	for _, other := range []string{"2001:db8:2::1", "::1", "203.0.113.7", "::ffff:203.0.113.8"} {
		if n := spend(netip.MustParseAddr(other)); n != 10 {
			t.Errorf("%s has %d units, want 10", other, n)
		}
	}
}
