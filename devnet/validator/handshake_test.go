package validator

import (
	"crypto/elliptic"
	"crypto/tls"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

func TestHandshakeAccepted(t *testing.T) {
	cases := map[string]func(*client, *wire.Handshake){
		"as it is":               func(*client, *wire.Handshake) {},
		"clock 59 s fast":        func(_ *client, h *wire.Handshake) { h.MyTime += 59 },
		"clock 59 s slow":        func(_ *client, h *wire.Handshake) { h.MyTime -= 59 },
		"address signed long go": func(c *client, h *wire.Handshake) { h.IPSigningTime -= 365 * 86400; c.resign(h) },
		"later minor version":    func(_ *client, h *wire.Handshake) { h.Client.Minor = 99 },
		"lowest version":         func(_ *client, h *wire.Handshake) { h.Client.Patch = 0 },
		"other client name":      func(_ *client, h *wire.Handshake) { h.Client.Name = "quorate" },
		"sixteen subnets":        func(_ *client, h *wire.Handshake) { h.TrackedSubnets = make([]chain.ID, 16) },
		"IPv6 address": func(c *client, h *wire.Handshake) {
			h.Addr = netip.MustParseAddrPort("[2001:db8::1]:9651")
			c.resign(h)
		},
		"known peers": func(_ *client, h *wire.Handshake) {
			h.Filter, h.Salt = append([]byte{1}, make([]byte, 9)...), make([]byte, 32)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				defer f.stop()
				c := f.connect(newCertificate(t, elliptic.P256()))
				h := c.hello()
				change(c, h)
				c.send(h.Append(nil))
				msgs, open := c.pending()
				if !open || len(msgs) != 2 || msgs[0].Kind != wire.KindHandshake || msgs[1].Kind != wire.KindPeerList {
					t.Fatalf("got %d messages, connection open: %v; want a handshake and a peer list", len(msgs), open)
				}
				if n := len(msgs[1].PeerList.Peers); n != 2 {
					t.Errorf("the peer list has %d addresses, want those of the 2 others", n)
				}
			})
		})
	}
}

func TestHandshakeContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.connect(newCertificate(t, elliptic.P256()))
		m := c.until(wire.KindHandshake)
		if m == nil {
			t.Fatal("no handshake")
		}
		h, v := m.Handshake, f.v.cfg.Identity
		if h.NetworkID != 12345 || h.Client.String() != "avalanchego/1.14.2" || h.Addr != f.v.claim.Load().claim.Addr {
			t.Errorf("handshake %+v", h)
		}
		key, err := wire.PublicKey(c.tls.ConnectionState().PeerCertificates[0].Raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.VerifyClaim(key, h.Addr, h.IPSigningTime, h.IPNodeIDSig); err != nil {
			t.Error(err)
		}
		if want := v.Key.SignProof(wire.AppendClaim(nil, h.Addr, h.IPSigningTime)); string(want[:]) != string(h.IPBLSSig) {
			t.Error("the BLS signature is not of the claim")
		}
		if id := chain.NodeIDFromCert(c.tls.ConnectionState().PeerCertificates[0].Raw); id != v.NodeID {
			t.Errorf("node ID %s, want %s", id, v.NodeID)
		}
	})
}

func TestHandshakeRefused(t *testing.T) {
	cases := map[string]func(*client, *wire.Handshake){
		"wrong network":            func(_ *client, h *wire.Handshake) { h.NetworkID = 1 },
		"clock 62 s fast":          func(_ *client, h *wire.Handshake) { h.MyTime += 62 },
		"clock 62 s slow":          func(_ *client, h *wire.Handshake) { h.MyTime -= 62 },
		"clock at the end of time": func(_ *client, h *wire.Handshake) { h.MyTime = 1<<64 - 1 },
		"address of the future":    func(c *client, h *wire.Handshake) { h.IPSigningTime += 62; c.resign(h) },
		"port 0":                   func(c *client, h *wire.Handshake) { h.Addr = netip.MustParseAddrPort("1.2.3.4:0"); c.resign(h) },
		"no address":               func(_ *client, h *wire.Handshake) { h.Addr = netip.AddrPort{} },
		"address signature":        func(_ *client, h *wire.Handshake) { h.IPNodeIDSig[len(h.IPNodeIDSig)-1] ^= 1 },
		"signature of other time":  func(_ *client, h *wire.Handshake) { h.IPSigningTime-- },
		"seventeen subnets":        func(_ *client, h *wire.Handshake) { h.TrackedSubnets = make([]chain.ID, 17) },
		"no BLS signature":         func(_ *client, h *wire.Handshake) { h.IPBLSSig = nil },
		"BLS signature no point":   func(_ *client, h *wire.Handshake) { h.IPBLSSig = make([]byte, 96) },
		"minor version too low":    func(_ *client, h *wire.Handshake) { h.Client.Minor, h.Client.Patch = 13, 5 },
		"major version too high":   func(_ *client, h *wire.Handshake) { h.Client.Major, h.Client.Minor = 2, 0 },
		"major version too low":    func(_ *client, h *wire.Handshake) { h.Client.Major = 0 },
		"known peers malformed":    func(_ *client, h *wire.Handshake) { h.Filter = []byte{0} },
		"salt too long": func(_ *client, h *wire.Handshake) {
			h.Filter, h.Salt = append([]byte{1}, make([]byte, 9)...), make([]byte, 33)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				defer f.stop()
				c := f.connect(newCertificate(t, elliptic.P256()))
				h := c.hello()
				change(c, h)
				c.send(h.Append(nil))
				msgs, open := c.pending()
				if open {
					t.Error("the connection is still open")
				}
				for _, m := range msgs {
					if m.Kind == wire.KindPeerList {
						t.Error("the handshake was answered")
					}
				}
			})
		})
	}
}

// TestValidatorProvesItself: the BLS signature of a client counts only when it is a validator.
func TestValidatorProvesItself(t *testing.T) {
	for _, honest := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, nil)
			defer f.stop()
			other := f.world.Validators()[2]
			c := f.connect(other.Certificate)
			h := c.hello()
			if honest {
				proof := other.Key.SignProof(wire.AppendClaim(nil, h.Addr, h.IPSigningTime))
				h.IPBLSSig = proof[:]
			}
			c.send(h.Append(nil))
			if _, open := c.pending(); open != honest {
				t.Errorf("BLS signature valid: %v, connection open: %v", honest, open)
			}
		})
	}
}

// TestClosers are messages after the handshake that end the connection.
func TestClosers(t *testing.T) {
	item := func(f *fixture, change func(*wire.ClaimedIP)) []byte {
		claim := signedClaim(f.world.Validators()[0].Certificate, 5)
		change(&claim)
		return (&wire.PeerList{Peers: []wire.ClaimedIP{claim}}).Append(nil)
	}
	cases := map[string]struct {
		message func(*client) []byte
		closes  bool
	}{
		"second handshake":   {func(c *client) []byte { return c.hello().Append(nil) }, true},
		"pong without ping":  {func(*client) []byte { return wire.Pong{}.Append(nil) }, true},
		"uptime above 100":   {func(*client) []byte { return wire.Ping{Uptime: 101}.Append(nil) }, true},
		"uptime 100":         {func(*client) []byte { return wire.Ping{Uptime: 100}.Append(nil) }, false},
		"second peer list":   {func(*client) []byte { return (&wire.PeerList{}).Append(nil) }, false},
		"junk":               {func(*client) []byte { return []byte{0xff, 0xff, 0xff} }, false},
		"empty frame":        {func(*client) []byte { return nil }, false},
		"answer never asked": {func(*client) []byte { return (&wire.AppResponse{RequestID: 1}).Append(nil) }, false},
		"request without filter": {func(*client) []byte {
			return (&wire.GetPeerList{}).Append(nil)
		}, true},
		"request with long salt": {func(*client) []byte {
			return (&wire.GetPeerList{Filter: append([]byte{1}, make([]byte, 9)...), Salt: make([]byte, 33)}).Append(nil)
		}, true},
		"peer list with a good claim": {func(c *client) []byte { return item(c.fixture, func(*wire.ClaimedIP) {}) }, false},
		"peer list with a bad certificate": {func(c *client) []byte {
			return item(c.fixture, func(p *wire.ClaimedIP) { p.Certificate = []byte{1, 2, 3} })
		}, true},
		"peer list with port 0": {func(c *client) []byte {
			return item(c.fixture, func(p *wire.ClaimedIP) { p.Addr = netip.AddrPortFrom(p.Addr.Addr(), 0) })
		}, true},
		"peer list with a bad signature": {func(c *client) []byte {
			return item(c.fixture, func(p *wire.ClaimedIP) { p.Timestamp++ })
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				defer f.stop()
				c := f.join()
				c.send(tc.message(c))
				if _, open := c.pending(); open == tc.closes {
					t.Errorf("connection open: %v, want %v", open, !tc.closes)
				}
			})
		})
	}
}

func TestOversizedFrameCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		_, _ = c.tls.Write([]byte{0, 0x20, 0, 1})
		if _, open := c.pending(); open {
			t.Error("a frame above 2 MiB left the connection open")
		}
	})
}

func TestSecondConnectionOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		first := f.join()
		second := f.connect(first.cert)
		if _, open := second.pending(); open {
			t.Error("a second connection of the same node stays open")
		}
		if _, open := first.pending(); !open {
			t.Error("the first connection was closed")
		}
		_ = first.tls.Close()
		synctest.Wait()
		third := f.connect(first.cert)
		if _, open := third.pending(); !open {
			t.Error("the node cannot come back")
		}
		own := f.connect(f.v.cfg.Identity.Certificate)
		if _, open := own.pending(); open {
			t.Error("the validator speaks with itself")
		}
	})
}

func TestTransportRefused(t *testing.T) {
	cases := map[string]func(*testing.T, *tls.Config){
		"TLS 1.2":        func(_ *testing.T, c *tls.Config) { c.MinVersion, c.MaxVersion = 0, tls.VersionTLS12 },
		"no certificate": func(_ *testing.T, c *tls.Config) { c.Certificates = nil },
		"P-384 key": func(t *testing.T, c *tls.Config) {
			c.Certificates = []tls.Certificate{newCertificate(t, elliptic.P384())}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				defer f.stop()
				good := newCertificate(t, elliptic.P256())
				c := f.connectWith(good, func(cfg *tls.Config) { change(t, cfg) })
				if msgs, open := c.pending(); open || len(msgs) > 0 {
					t.Errorf("open: %v, %d messages", open, len(msgs))
				}
			})
		})
	}
}

func TestUpgradeTakesAtMost15Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		start := time.Now()
		done := f.silentPipe()
		<-done
		if took := time.Since(start); took != upgradeTimeout {
			t.Errorf("a client without TLS was dropped after %s, want %s", took, upgradeTimeout)
		}
	})
}
