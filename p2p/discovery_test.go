package p2p

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/p2p/wire"
)

func now() uint64 { return uint64(time.Now().Unix()) }

// One known node leads to all others, each known to the one before only.
func TestGossipFindsAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		remotes := []*remote{newRemote(t)}
		first := w.put("127.0.0.1:9000", remotes[0])
		for i := 1; i < 5; i++ {
			r := newRemote(t)
			a := w.put(fmt.Sprintf("127.0.0.1:%d", 9000+i), r)
			remotes[i-1].peers = []wire.ClaimedIP{r.claim(a.Addr, now())}
			remotes = append(remotes, r)
		}
		n.SetWanted(ids(remotes...))
		synctest.Wait()
		if s := n.Stats(); s.Connected != 0 || n.Status(remotes[0].id).HasAddress {
			t.Fatalf("stats %+v", s)
		}
		n.AddAddresses([]Address{first})
		pass(time.Minute)
		if s := n.Stats(); s.Ready != 5 || metric.Value(n.ins.claims) != 4 {
			t.Errorf("stats %+v, %v claims", s, metric.Value(n.ins.claims))
		}
	})
}

// A claim that comes later than the connection is asked for.
func TestGossipAsksWhileAddressesAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		known, missing := newRemote(t), newRemote(t)
		var seen wire.GetPeerList
		var greeting wire.Handshake
		asked := 0
		known.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind == wire.KindHandshake {
				greeting = m.Handshake
				greeting.Filter, greeting.Salt = slices.Clone(greeting.Filter), slices.Clone(greeting.Salt)
			}
			if m.Kind == wire.KindGetPeerList {
				seen = m.GetPeerList
				seen.Filter, seen.Salt = slices.Clone(seen.Filter), slices.Clone(seen.Salt)
				if asked++; asked == 2 {
					c.send((&wire.PeerList{Peers: []wire.ClaimedIP{missing.claim(w.put("127.0.0.1:9100", missing).Addr, 5)}}).Append(nil))
				}
			}
			return m.Kind == wire.KindGetPeerList
		}
		w.connect(n, known)
		n.SetWanted(ids(known, missing))
		pass(10 * time.Second)
		if !n.Status(missing.id).Ready {
			t.Fatalf("status %+v after %d questions", n.Status(missing.id), asked)
		}
		// From now on there is a question a minute, and the claim is in its filter.
		pass(10 * time.Minute)
		if total := known.count(wire.KindGetPeerList) + missing.count(wire.KindGetPeerList); total < 9 || total > 15 {
			t.Errorf("%d questions in ten minutes", total)
		}
		filter, err := wire.ParseBloom(seen.Filter)
		if err != nil || !seen.AllSubnets || len(seen.Salt) == 0 {
			t.Fatalf("question %+v, %v", seen, err)
		}
		if !filter.Contains(wire.ClaimHash(missing.id, 5, seen.Salt)) {
			t.Error("a known claim is not in the filter")
		}
		// A new link's Handshake tells what is known, too.
		greeting = wire.Handshake{}
		known.cut()
		pass(time.Second)
		if filter, err = wire.ParseBloom(greeting.Filter); err != nil || !filter.Contains(wire.ClaimHash(missing.id, 5, greeting.Salt)) {
			t.Errorf("handshake %+v, %v", greeting, err)
		}
	})
}

// Questions without news become rare.
func TestGossipBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		n.SetWanted(append(ids(r), chain.NodeID{1}))
		pass(10 * time.Minute)
		if got := r.count(wire.KindGetPeerList); got < 10 || got > 20 {
			t.Errorf("%d questions in ten minutes", got)
		}
	})
}

func TestBadClaims(t *testing.T) {
	cfg := testConfig(t, nil)
	cfg.NetworkID = chain.MainnetID
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	public := netip.MustParseAddrPort("8.8.8.8:9651")
	victim := newRemote(t)
	n.SetWanted(ids(victim))
	f := func(name string, accepted bool, c wire.ClaimedIP) {
		t.Helper()
		n.book = newBook(100)
		if err := n.peer(victim.id).learn([]wire.ClaimedIP{c}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(n.book.addresses(victim.id)) == 1; got != accepted {
			t.Errorf("%s: accepted %v", name, got)
		}
	}
	good := victim.claim(public, now())
	f("good", true, good)
	forged := good
	forged.Addr = netip.MustParseAddrPort("8.8.8.9:9651")
	f("other address than signed", false, forged)
	stolen := newRemote(t).claim(public, now())
	stolen.Certificate = good.Certificate
	f("signed by another node", false, stolen)
	f("from the future", false, victim.claim(public, now()+120))
	f("private address", false, victim.claim(netip.MustParseAddrPort("10.0.0.1:9651"), now()))
	f("loopback", false, victim.claim(netip.MustParseAddrPort("127.0.0.1:9651"), now()))
	f("no port", false, victim.claim(netip.MustParseAddrPort("8.8.8.8:0"), now()))
	large := good
	large.Certificate = append(append([]byte{}, good.Certificate...), make([]byte, wire.MaxCertificateLen)...)
	f("large certificate", false, large)
	if metric.Value(n.ins.badClaims) != 7 || metric.Value(n.ins.claims) != 1 {
		t.Errorf("%v bad, %v good", metric.Value(n.ins.badClaims), metric.Value(n.ins.claims))
	}
}

// A full book forgets nodes that nobody wants, and has room for those wanted.
func TestFullBook(t *testing.T) {
	cfg := testConfig(t, nil)
	cfg.MaxAddresses = 2
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort("127.0.0.1:9000")
	id := func(i byte) chain.NodeID { return chain.NodeID{i} }
	n.AddAddresses([]Address{{id(1), addr}, {id(2), addr}, {id(3), addr}})
	n.SetWanted([]chain.NodeID{id(1), id(3)})
	n.AddAddresses([]Address{{id(4), addr}})
	for i, want := range []bool{1: true, 2: false, 3: false, 4: true} {
		if got := len(n.book.addresses(id(byte(i)))) > 0; got != want {
			t.Errorf("node %d: known %v", i, got)
		}
	}
	n.AddAddresses([]Address{{id(3), addr}})
	if !n.Status(id(3)).HasAddress || !n.Status(id(1)).HasAddress {
		t.Error("a wanted node's address is not known")
	}
}

func TestDialable(t *testing.T) {
	f := func(addr string, anywhere, public bool) {
		t.Helper()
		a := netip.MustParseAddrPort(addr)
		local, main := Config{AllowPrivate: true}, Config{}
		if got := local.dialable(a); got != anywhere {
			t.Errorf("%s on a local network: %v", addr, got)
		}
		if got := main.dialable(a); got != public {
			t.Errorf("%s on mainnet: %v", addr, got)
		}
	}
	f("8.8.8.8:9651", true, true)
	f("[2600::1]:9651", true, true)
	f("8.8.8.8:0", false, false)
	f("0.0.0.0:9651", false, false)
	f("[::]:9651", false, false)
	f("224.0.0.1:9651", false, false)
	f("127.0.0.1:9651", true, false)
	f("[::1]:9651", true, false)
	f("10.1.2.3:9651", true, false)
	f("192.168.0.1:9651", true, false)
	f("169.254.169.254:80", true, false)
	f("100.64.0.1:9651", true, false)
	f("[fc00::1]:9651", true, false)
	f("[fe80::1]:9651", true, false)
	f("[::ffff:8.8.8.8]:9651", true, true)
	for _, a := range []string{
		"[64:ff9b::7f00:1]:9651", "[2002:7f00:1::]:9651", "[fec0::1]:9651", "0.1.2.3:9651", "240.0.0.1:9651", "255.255.255.255:9651",
		"198.18.0.1:9651", "192.0.0.192:9651", "[2001::1]:9651", "[2001:db8::1]:9651", "[100::1]:9651", "[::7f00:1]:9651", "[::ffff:127.0.0.1]:9651",
	} {
		f(a, true, false)
	}
}

func TestDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := newRemote(t), newRemote(t)
		var mu sync.Mutex // guards list and calls
		list := []Address{w.put("127.0.0.1:9000", a)}
		calls := 0
		called := func() int { mu.Lock(); defer mu.Unlock(); return calls }
		n := w.run(func(c *Config) {
			c.DiscoverEvery = time.Minute
			c.Discover = func(context.Context) ([]Address, error) {
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls == 1 {
					return nil, errors.New("the node is starting")
				}
				return list, nil
			}
		})
		synctest.Wait()
		n.SetWanted(ids(a, b))
		pass(2 * pollPause)
		// The wanted node without an address brought the second call forward.
		if !n.Status(a.id).Ready || called() != 2 || metric.Value(n.ins.discoverFailures) != 1 {
			t.Fatalf("status %+v after %d calls", n.Status(a.id), called())
		}
		mu.Lock()
		list = append(list, w.put("127.0.0.1:9001", b))
		mu.Unlock()
		pass(10 * time.Minute)
		if !n.Status(b.id).Ready || called() < 11 || called() > 13 {
			t.Errorf("status %+v after %d calls", n.Status(b.id), called())
		}
	})
}

// Discover that hangs is given up, and does not keep Run from ending.
func TestDiscoverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		calls := 0
		w.run(func(c *Config) {
			c.Discover = func(ctx context.Context) ([]Address, error) {
				calls++
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		pass(2*(pollTimeout+defaultDiscoverEvery) + time.Second)
		if calls != 3 { // the third is under way
			t.Errorf("%d calls", calls)
		}
	})
}

// Of two addresses the second is tried when the first fails.
func TestSecondAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		right := w.put("127.0.0.1:9000", r)
		stale := Address{NodeID: r.id, Addr: netip.MustParseAddrPort("[::ffff:127.0.0.1]:9001")}
		n.AddAddresses([]Address{stale})
		n.SetWanted(ids(r))
		synctest.Wait()
		if s := n.Status(r.id); !s.Down {
			t.Fatalf("status %+v", s)
		}
		r.each(func(c *remoteConn) { t.Error("connected at a stale address") })
		if err := n.peer(r.id).learn([]wire.ClaimedIP{r.claim(right.Addr, 1)}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if s := n.Status(r.id); !s.Ready || len(w.dialed("127.0.0.1:9001")) == 0 {
			t.Errorf("status %+v", s)
		}
		// And the right one again after the link was lost.
		before := len(w.dialed("127.0.0.1:9001"))
		r.cut()
		pass(time.Second)
		if s := n.Status(r.id); !s.Ready || len(w.dialed("127.0.0.1:9001")) != before {
			t.Errorf("status %+v", s)
		}
	})
}

func TestBook(t *testing.T) {
	b := newBook(2)
	id := func(i byte) chain.NodeID { return chain.NodeID{i} }
	x, y := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	f := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	f("first claim", b.claim(id(1), x, 10), true)
	f("older claim", b.claim(id(1), y, 9), false)
	f("same time", b.claim(id(1), y, 10), false)
	f("older is not newer", b.newer(id(1), 9), false)
	f("newer claim, same address", b.claim(id(1), x, 11), false)
	f("hint of the same address", b.hint(Address{id(1), x}, false), false)
	f("one address", b.addresses(id(1)), []netip.AddrPort{x})
	f("other hint", b.hint(Address{id(1), y}, false), true)
	f("two addresses", b.addresses(id(1)), []netip.AddrPort{y, x})
	f("second node", b.hint(Address{id(2), x}, false), true)
	f("book full", b.hint(Address{id(3), x}, false), false)
	f("any claim of an unknown node is newer", b.newer(id(3), 1), true)
	f("wanted when full", b.claim(id(3), x, 1), true)
	f("nothing known", b.addresses(id(9)), []netip.AddrPort(nil))
	f("progress", b.progress(), 3)
	b.heard(id(9), 5)
	b.heard(id(9), 5)
	f("heard of once", b.progress(), 4)
	f("and not kept", len(b.entries), 3)
	k := b.filter(time.Now())
	filter, err := wire.ParseBloom(k.filter)
	f("filter", err, nil)
	for claim, node := range map[uint64]byte{11: 1, 1: 3, 5: 9} {
		f("in the filter", filter.Contains(wire.ClaimHash(id(node), claim, k.salt)), true)
	}
	f("pinned", b.pin(Address{id(3), y}), true)
	f("pinned first", b.addresses(id(3)), []netip.AddrPort{y, x})
	b.setWanted(map[chain.NodeID]*peer{id(3): {}}, true)
	f("forgotten in a full book", len(b.addresses(id(1))), 0)
	f("kept", len(b.addresses(id(3))), 2)
	filter, err = wire.ParseBloom(b.filter(time.Now()).filter)
	f("filter", err, nil)
	f("asked for again", filter.Contains(wire.ClaimHash(id(9), 5, b.seen.salt)), false)
	b.setWanted(nil, false)
	f("the claim of a node that nobody wants", b.addresses(id(3)), []netip.AddrPort{y})
}

// An address that was heard of when nobody wanted the node is asked for again
// as soon as somebody does.
func TestGossipOfNodesWantedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		known, later := newRemote(t), newRemote(t)
		claim := later.claim(w.put("127.0.0.1:9100", later).Addr, 5)
		known.peers = []wire.ClaimedIP{claim}
		// As real nodes do, it leaves out what the filter holds.
		known.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind != wire.KindGetPeerList {
				return false
			}
			filter, err := wire.ParseBloom(m.GetPeerList.Filter)
			if err != nil {
				t.Error(err)
			}
			if !filter.Contains(wire.ClaimHash(later.id, claim.Timestamp, m.GetPeerList.Salt)) {
				c.send((&wire.PeerList{Peers: known.peers}).Append(nil))
			}
			return true
		}
		w.connect(n, known)
		pass(10 * time.Minute)
		if s := n.Stats(); s.Wanted != 1 || len(n.book.entries) != 1 {
			t.Fatalf("stats %+v, %d nodes in the book", s, len(n.book.entries))
		}
		n.SetWanted(ids(known, later))
		pass(2 * gossipFast)
		if !n.Status(later.id).Ready {
			t.Errorf("status %+v", n.Status(later.id))
		}
	})
}
