package p2p

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// Nodes that take connections and then say nothing, as many as one likes to
// name, do not keep others from being dialed: neither ones that were connected
// before nor new ones.
func TestTarpitsDoNotStarveDials(t *testing.T) {
	const tokens = 4
	tarpits := 400
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex // guards hanging
		var hanging []net.Conn
		n := w.run(func(c *Config) {
			c.MaxDials = tokens
			c.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				if addr.Port() < 10000 {
					return w.dial(ctx, addr)
				}
				ours, theirs := net.Pipe()
				mu.Lock()
				defer mu.Unlock()
				hanging = append(hanging, theirs)
				return ours, nil
			}
		})
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range hanging {
				c.Close()
			}
		}()
		old, fresh := newRemote(t), newRemote(t)
		w.connect(n, old)
		wanted := ids(old)
		for i := range tarpits {
			id := chain.NodeID{0xff, byte(i), byte(i >> 8)}
			n.AddAddresses([]Address{{NodeID: id, Addr: netip.MustParseAddrPort(fmt.Sprintf("127.0.0.1:%d", 10000+i))}})
			wanted = append(wanted, id)
		}
		n.SetWanted(wanted)
		synctest.Wait()
		old.cut()
		n.AddAddresses([]Address{w.put("127.0.0.1:9500", fresh)})
		n.SetWanted(append(slices.Clone(wanted), fresh.id))
		// Each of the first dials has its token for a second, and then goes on without.
		pass(time.Duration(tarpits/tokens+2) * time.Second)
		if !n.Status(old.id).Ready || !n.Status(fresh.id).Ready {
			t.Errorf("beside the first dials: old %+v, new %+v", n.Status(old.id), n.Status(fresh.id))
		}
		// From then on the tarpits have half of the tokens.
		for range 3 {
			old.cut()
			fresh.cut()
			pass(2 * time.Minute) // as long as failed dials are repeated
			old.cut()
			pass(5 * time.Second)
			if !n.Status(old.id).Ready || !n.Status(fresh.id).Ready {
				t.Fatalf("later: old %+v, new %+v", n.Status(old.id), n.Status(fresh.id))
			}
		}
		mu.Lock()
		dials := len(hanging)
		mu.Unlock()
		if dials < 2*tarpits {
			t.Errorf("only %d dials of tarpits", dials)
		}
	})
}

// Nodes that close the link right after TLS again and again, while others do
// not let us in either, have one with our identity already.
func TestIdentityInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		identity := newIdentity(t)
		n := w.run(func(c *Config) { c.Certificate = identity })
		remotes := []*remote{newRemote(t), newRemote(t), newRemote(t)}
		var taken atomic.Bool
		taken.Store(true)
		for _, r := range remotes {
			r.hello = func(c *remoteConn) {
				if taken.Load() {
					c.raw.Close()
					return
				}
				c.sayHello(testNetwork)
			}
		}
		w.connect(n, remotes...)
		if s := n.Stats(); s.TurnedAway != 0 || s.Connected != 0 {
			t.Errorf("after one link each: %+v", s)
		}
		pass(10 * time.Second)
		if s := n.Stats(); s.TurnedAway != 3 || s.Ready != 0 || !n.Status(remotes[0].id).TurnedAway {
			t.Errorf("after some links each: %+v", s)
		}
		if n.suspected.Load() == 0 {
			t.Error("the log does not say so")
		}
		n.suspected.Store(0)
		taken.Store(false)
		pass(time.Minute)
		if s := n.Stats(); s.TurnedAway != 0 || s.Ready != 3 || n.suspected.Load() != 0 {
			t.Errorf("after the other server has gone: %+v", s)
		}
	})
}

// Other reasons for the end of a link say nothing about the identity.
func TestIdentityNotInUse(t *testing.T) {
	f := func(name string, hello func(c *remoteConn)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := w.run(nil)
				r := newRemote(t)
				r.hello = hello
				w.connect(n, r)
				pass(time.Minute)
				if s := n.Stats(); s.TurnedAway != 0 || r.accepted() < 2 {
					t.Errorf("%+v after %d links", s, r.accepted())
				}
			})
		})
	}
	f("another network", func(c *remoteConn) { c.sayHello(1) })
	f("a word before the end", func(c *remoteConn) { c.send(wire.Pong{}.Append(nil)); c.raw.Close() })
	f("a late end", func(c *remoteConn) {
		<-time.After(turnedAwayWithin)
		c.raw.Close()
	})
	f("greeted", func(c *remoteConn) { c.sayHello(testNetwork); c.raw.Close() })
}

// A node that does not like our certificate says so.
func TestRefusedCertificateIsNoIdentityInUse(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	r := newRemote(t)
	go func() {
		defer theirs.Close()
		server := tls.Server(theirs, &tls.Config{
			Certificates: []tls.Certificate{r.cert}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13,
			VerifyConnection: func(tls.ConnectionState) error { return wire.ErrCertificate },
		})
		_ = server.Handshake()
	}()
	n, err := New(testConfig(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(ours, n.tls)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	p := newPeer(n, r.id, nil)
	l := newLink(p, conn, ours)
	l.read()
	if l.err == nil || l.turnedAway() {
		t.Errorf("turned away: %v", l.err)
	}
}

func TestTrack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.NetworkID = testNetwork })
		n.cfg.AllowPrivate = false // as on mainnet
		tracked, other := newRemote(t), newRemote(t)
		n.Track([]Address{w.put("127.0.0.1:9000", tracked)})
		synctest.Wait()
		if s := n.Status(tracked.id); !s.Ready {
			t.Errorf("tracked: %+v", s)
		}
		// It stays whatever is wanted, and what others say of it comes second.
		n.AddAddresses([]Address{w.put("8.8.8.8:9000", other)})
		n.AddAddresses([]Address{{NodeID: tracked.id, Addr: netip.MustParseAddrPort("8.8.8.8:9001")}})
		n.SetWanted(ids(other))
		synctest.Wait()
		n.SetWanted(nil)
		tracked.cut()
		pass(time.Second)
		if s := n.Stats(); s.Wanted != 1 || s.Ready != 1 || len(w.dialed("8.8.8.8:9001")) != 0 {
			t.Errorf("stats %+v", s)
		}
		// Saying the same again asks nobody for addresses.
		for len(n.search) > 0 {
			<-n.search
		}
		n.Track([]Address{{NodeID: tracked.id, Addr: netip.MustParseAddrPort("127.0.0.1:9000")}})
		if len(n.search) > 0 {
			t.Error("the poller was woken")
		}
		// The operator moves it.
		w.put("127.0.0.1:9000", nil)
		n.Track([]Address{w.put("127.0.0.1:9007", tracked)})
		tracked.cut()
		pass(time.Second)
		if s := n.Status(tracked.id); !s.Ready || tracked.accepted() != 3 {
			t.Errorf("moved: %+v", s)
		}
	})
}
