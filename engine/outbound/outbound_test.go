package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// long is a timeout that no test waits for.
const long = time.Minute

// TestAddresses: what is of a machine, a network of its own or one link is not of the
// internet, however it is written.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "127.255.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "100.127.255.255",
		"224.0.0.1", "255.255.255.255", "198.18.0.1", "240.0.0.1", "192.0.0.192", "192.88.99.1", "::1", "::", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0",
		"fc00::1", "fd00:ec2::254", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
		"64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "ff02::1", "::7f00:1", "2001::1", "2001:db8::1", "::ffff:0:127.0.0.1", "100::1", "3fff::1",
	} {
		if err := CheckAddr(netip.MustParseAddr(a)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s counts as public: %v", a, err)
		}
		u := &url.URL{Scheme: "http", Host: net.JoinHostPort(a, "80")}
		if err := new(Config).Check(u); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is not refused: %v", u, err)
		}
		if err := (&Config{Private: true}).Check(u); err != nil {
			t.Error(err)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1", "100.128.0.1", "172.32.0.1"} {
		if err := CheckAddr(netip.MustParseAddr(a)); err != nil {
			t.Error(err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := Config{Schemes: []string{"https"}, Ports: []uint16{443}, Trusted: gatewayOf(t, "https://gateway.example:8080")}
	for text, ok := range map[string]bool{
		"https://a.example/x": true, "https://a.example:443/": true, "HTTPS://a.example": true, "https://gateway.example:8080/ipfs": true,
		"https://cid.ipfs.gateway.example:8080/": true,
		"https://a.example:444/":                 false, "http://a.example/": false, "file:///etc/passwd": false, "gopher://a.example/": false,
		"https://user:secret@a.example/": false, "https:///x": false, "https:a.example": false, "https://a.example:0/": false, "https://a.example:99999/": false,
		"https://127.0.0.1/": false, "https://[::1]/": false, "https://[::ffff:7f00:1]/": false, "": false, "//a.example": false,
		"https://gateway.example:8081/": false, "https://evilgateway.example:8080/": false, "https://gateway.example:8080.evil.example/": false,
		"https://user@gateway.example:8080/": false, "https://a.example/" + strings.Repeat("x", MaxURL): false, "https://a.example/\x00": false,
	} {
		if err := c.CheckText(text); ok != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// names stands in for the resolver: each look-up of a name takes the next of its answers,
// the last one for ever.
type names struct {
	mu    sync.Mutex
	list  map[string][][]string
	asked map[string]int
}

func (n *names) lookup(_ context.Context, _, host string) (out []netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	answers := n.list[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for _, a := range answers[min(n.asked[host], len(answers)-1)] {
		out = append(out, netip.MustParseAddr(a))
	}
	n.asked[host]++
	return out, nil
}

// onlyOne has 127.0.0.1 stand in for the internet, and all other addresses for what is not.
func onlyOne(a netip.Addr) error {
	if a.Unmap() != netip.MustParseAddr("127.0.0.1") {
		return fmt.Errorf("%w: %s", ErrRefused, a)
	}
	return nil
}

// listen serves on an address of this machine, and counts the requests.
func listen(t *testing.T, address string, h http.HandlerFunc) (port string, asked *atomic.Int32) {
	t.Helper()
	ln, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	if err := s.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	s.Listener = ln
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, asked
}

func get(t *testing.T, c *http.Client, u string) (string, error) {
	t.Helper()
	resp, err := c.Get(u)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b)), err
}

// TestRebinding: a name that means an address of the internet when it is asked for first,
// and this machine's later, leads nowhere but to the first: one look-up serves the check
// and the connection. A name with addresses of both kinds leads to those of the internet.
func TestRebinding(t *testing.T) {
	t.Parallel()
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	port, public := listen(t, "127.0.0.1:0", hello)
	_, private := listen(t, "127.0.0.2:"+port, hello)
	dns := &names{list: map[string][][]string{
		"turns.example": {{"127.0.0.1"}, {"127.0.0.2"}},
		"mixed.example": {{"127.0.0.2", "127.0.0.1"}},
		"bad.example":   {{"127.0.0.2", "169.254.169.254", "::1", "::ffff:7f00:2"}},
	}}
	c := New(Config{Timeout: long, lookup: dns.lookup, public: onlyOne})
	c.Transport.(*http.Transport).DisableKeepAlives = true
	if got, err := get(t, c, "http://turns.example:"+port); err != nil || got != "200 hello" {
		t.Errorf("%q, %v", got, err)
	}
	if n := dns.asked["turns.example"]; n != 1 {
		t.Errorf("the name was looked up %d times for one request", n)
	}
	if got, err := get(t, c, "http://turns.example:"+port); !errors.Is(err, ErrRefused) {
		t.Errorf("after the name has turned: %q, %v", got, err)
	}
	if got, err := get(t, c, "http://mixed.example:"+port); err != nil || got != "200 hello" {
		t.Errorf("%q, %v", got, err)
	}
	for _, host := range []string{"bad.example", "127.0.0.2", "[::1]", "[::ffff:127.0.0.2]"} {
		if got, err := get(t, c, "http://"+host+":"+port); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	if public.Load() != 2 || private.Load() != 0 {
		t.Errorf("asked %d times in public, %d in private", public.Load(), private.Load())
	}
}

// TestThisMachine: by the real rule and the real resolver nothing on this machine is
// reached, under any of its names.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	port, asked := listen(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) {})
	c := New(Config{Timeout: long})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1", "0", "[::1]", "[::]"} {
		if got, err := get(t, c, "http://"+host+":"+port); err == nil {
			t.Errorf("%s was connected to: %s", host, got)
		}
	}
	if asked.Load() > 0 {
		t.Error("the server was asked")
	}
	if got, err := get(t, New(Config{Timeout: long, Private: true}), "http://127.0.0.1:"+port); err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRedirects: each is checked as the first address was, they are few, and they carry
// nothing of where they came from.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var port string
	port, asked := listen(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer")+r.Header.Get("Cookie")+r.Header.Get("Authorization") != "" {
			t.Errorf("sent %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, "here")
		case "/far":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/far", http.StatusFound)
		case "/one":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		default:
			http.Redirect(w, r, "http://"+strings.TrimPrefix(r.URL.Path, "/to/"), http.StatusTemporaryRedirect)
		}
	})
	dns := &names{list: map[string][][]string{"a.example": {{"127.0.0.1"}}, "inside.example": {{"127.0.0.2"}}}}
	cfg := Config{Timeout: long, Redirects: 3, lookup: dns.lookup, public: onlyOne}
	c := New(cfg)
	base := "http://a.example:" + port
	if got, err := get(t, c, base+"/one"); err != nil || got != "200 here" {
		t.Errorf("%q, %v", got, err)
	}
	for _, path := range []string{"/to/169.254.169.254/latest/meta-data", "/to/inside.example:" + port, "/to/[::1]:" + port, "/to/127.0.0.2:" + port, "/to/user@a.example:" + port} {
		if got, err := get(t, c, base+path); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	before := asked.Load()
	if got, err := get(t, c, base+"/far"); !errors.Is(err, ErrRefused) || asked.Load()-before != 4 {
		t.Errorf("%q, %v, after %d requests", got, err, asked.Load()-before)
	}
	cfg.Redirects = 0
	if got, err := get(t, New(cfg), base+"/one"); err != nil || !strings.HasPrefix(got, "301 ") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTrusted: the host that the operator named may be anywhere, and so may those below
// its name; where it leads to elsewhere the rule holds.
func TestTrusted(t *testing.T) {
	t.Parallel()
	var port string
	port, _ = listen(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, r.Host)
		case "/below":
			http.Redirect(w, r, "http://cid.ipfs.gw.example:"+port+"/", http.StatusFound)
		default:
			http.Redirect(w, r, "http://127.0.0.1:"+port+"/", http.StatusFound)
		}
	})
	dns := &names{list: map[string][][]string{"gw.example": {{"127.0.0.1"}}, "cid.ipfs.gw.example": {{"127.0.0.1"}}}}
	c := New(Config{Timeout: long, Redirects: 3, Trusted: gatewayOf(t, "http://gw.example:"+port), lookup: dns.lookup})
	if got, err := get(t, c, "http://gw.example:"+port); err != nil || got != "200 gw.example:"+port {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := get(t, c, "http://gw.example:"+port+"/below"); err != nil || got != "200 cid.ipfs.gw.example:"+port {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := get(t, c, "http://gw.example:"+port+"/else"); !errors.Is(err, ErrRefused) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTrustedPort: an address without a port means that of its scheme, in the check and in
// the connection, whatever the way it is written; other ports of the host are those of
// strangers.
func TestTrustedPort(t *testing.T) {
	t.Parallel()
	dns := &names{list: map[string][][]string{"gw.example": {{"127.0.0.1"}}, "xn--gt-via.example": {{"127.0.0.1"}}}}
	for text, also := range map[string]string{
		"http://gw.example": "http://GW.example:80/x", "http://gw.example:80": "http://gw.example/", "https://gw.example": "https://gw.example:443",
		"http://[::1]": "http://[::1]:80/", "http://[0:0::1]:80": "http://[::1]/", "http://127.0.0.1": "http://127.0.0.1:80", "http://g\u00e4t.example": "http://xn--gt-via.example/",
	} {
		c := Config{Timeout: long, Trusted: gatewayOf(t, text), Schemes: []string{"https"}, Ports: []uint16{8443}, lookup: dns.lookup}
		for _, u := range []string{text, text + "/", also} {
			if err := c.CheckText(u); err != nil {
				t.Errorf("%s: %v", u, err)
			}
			// Something may listen there or not.
			if got, err := get(t, New(c), u); errors.Is(err, ErrRefused) {
				t.Errorf("%s: %q, %v", u, got, err)
			}
		}
	}
	c := Config{Trusted: gatewayOf(t, "https://gw.example"), Schemes: []string{"https"}, Ports: []uint16{443}}
	for text, ok := range map[string]bool{
		"https://cid.gw.example/": true, "http://gw.example/": false, "https://gw.example:8443/": false, "ftp://gw.example:443/": false,
		"http://a.example/": false, "https://a.example:8080/": false, "https://a.example/": true, "https://127.0.0.1/": false,
	} {
		if err := c.CheckText(text); ok != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", text, err)
		}
	}
	c = Config{Timeout: long, Trusted: gatewayOf(t, "http://127.0.0.1:81")}
	if err := c.CheckText("http://a.127.0.0.1:81/"); !errors.Is(err, ErrRefused) {
		t.Errorf("no name is below an address: %v", err)
	}
}

// gatewayOf reads an address.
func gatewayOf(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestCheckHost: a name that leads nowhere public is refused before anything is sent.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	dns := &names{list: map[string][][]string{
		"public.example": {{"10.0.0.1", "127.0.0.1"}}, "inside.example": {{"10.0.0.1", "fe80::1"}}, "empty.example": {{}},
	}}
	broken := func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	}
	for text, c := range map[string]struct {
		rule Config
		ok   bool
	}{
		"http://public.example/":  {Config{lookup: dns.lookup, public: onlyOne}, true},
		"http://inside.example/":  {Config{lookup: dns.lookup, public: onlyOne}, false},
		"http://empty.example/":   {Config{lookup: dns.lookup, public: onlyOne}, false},
		"http://nowhere.example/": {Config{lookup: dns.lookup, public: onlyOne}, false},
		"http://later.example/":   {Config{lookup: broken}, true},
		"http://private.example/": {Config{Private: true, lookup: dns.lookup}, true},
		"http://gw.example:8080/": {Config{Trusted: gatewayOf(t, "http://gw.example:8080"), lookup: dns.lookup}, true},
		"http://localhost/":       {Config{}, false}, // of the machine's own names
		"http://2130706433/":      {Config{lookup: broken}, false},
		"http://0x7f.1/":          {Config{lookup: broken}, false},
		"http://127.1./":          {Config{lookup: broken}, false},
		"http://1.example/":       {Config{lookup: broken}, true},
		"http://10.0.0.1/":        {Config{}, false},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.rule.CheckHost(t.Context(), u); c.ok != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
