package nftmeta

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/outbound"
)

const (
	cid0 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"
	cid1 = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
)

// open returns a filled configuration with a gateway.
func open(t testing.TB, change func(*Config)) *Config {
	t.Helper()
	c := &Config{Store: newKept(), Chains: func() []Chain { return nil }, Gateway: "http://127.0.0.1:8080/ipfs/"}
	if change != nil {
		change(c)
	}
	if err := c.fill(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	c := open(t, func(c *Config) { c.HTTP = true })
	strict := open(t, func(c *Config) { c.Gateway = "" })
	id, far := uint256.NewInt(0x2a), strings.Repeat("0", 62)+"2a"
	gw := "http://127.0.0.1:8080/ipfs/"
	for uri, want := range map[string]place{
		"ipfs://" + cid0:                                              {url: gw + cid0, site: "ipfs", gateway: true},
		"ipfs://ipfs/" + cid1 + "/1.json":                             {url: gw + cid1 + "/1.json", site: "ipfs", gateway: true},
		"IPFS://" + cid0 + "/a b/%23é":                                {url: gw + cid0 + "/a%20b/%23%C3%A9", site: "ipfs", gateway: true},
		"ipfs://" + cid0 + "/Token #1?x=y":                            {url: gw + cid0 + "/Token%20%231", site: "ipfs", gateway: true},
		"ipfs://" + cid0 + "/":                                        {url: gw + cid0 + "/", site: "ipfs", gateway: true},
		"ipfs://" + cid0 + "/{id}.json":                               {url: gw + cid0 + "/" + far + ".json", site: "ipfs", gateway: true},
		" https://a.b.example.co.uk/x#frag ":                          {url: "https://a.b.example.co.uk/x", site: "example.co.uk"},
		"https://EXAMPLE.com./%7Bid%7D?a={id}":                        {url: "https://EXAMPLE.com./" + far + "?a=" + far, site: "example.com"},
		"http://8.8.8.8/1":                                            {url: "http://8.8.8.8/1", site: "8.8.8.8"},
		`data:application/json,{"name":"a,b"}`:                        {inline: []byte(`{"name":"a,b"}`)},
		`data:application/json;utf8,{"n":"5%"}`:                       {inline: []byte(`{"n":"5%"}`)},
		"data:application/json;charset=utf-8,%7B%22name%22%3A1%7D":    {inline: []byte(`{"name":1}`)},
		"DATA:Application/JSON;Base64,eyJuYW1lIjoi8J+YgD8ifQ==":       {inline: []byte(`{"name":"😀?"}`)},
		"data:application/json;base64,eyJuYW1lIjoi8J-YgD8ifQ":         {inline: []byte(`{"name":"😀?"}`)},
		"data:application/ld+json;base64,eyJuYW1lIjoi8J%2BYgD8ifQ%3D": {inline: []byte(`{"name":"😀?"}`)},
		"data:,": {inline: []byte("")},
	} {
		got, s := c.place(uri, id, true)
		if s != "" || got.url != want.url || got.site != want.site || got.gateway != want.gateway || string(got.inline) != string(want.inline) {
			t.Errorf("%q: %+v %s", uri, got, s)
		}
	}
	for uri, want := range map[string]Status{
		"": InvalidURI, "none": InvalidURI, "ar://x": InvalidScheme, "javascript:alert(1)": InvalidScheme, "file:///etc/passwd": InvalidScheme,
		"gopher://a.example/": InvalidScheme, "ftp://a.example/": InvalidScheme, "http://a.example/": InvalidScheme, "https://": InvalidURI, "https://.": InvalidURI,
		"https://\x7f/": InvalidURI, "https://a.example/" + strings.Repeat("x", outbound.MaxURL): InvalidURI,
		"https://127.0.0.1/": Unreachable, "https://169.254.169.254/latest": Unreachable, "https://[::1]/": Unreachable, "https://[::ffff:10.0.0.1]/": Unreachable,
		"https://user:pass@a.example/": Unreachable, "https://a.example:22/": Unreachable, "https://a.example:8443/": Unreachable,
		"data:": InvalidURI, "data:text/html,<b>": InvalidMetadata, "data:image/svg+xml;base64,AAAA": InvalidMetadata, "data:application/json;base64,$$$": InvalidURI,
		"ipfs://": InvalidURI, "ipfs://../x": InvalidURI, "ipfs://" + cid0 + "/../../api/v0/shutdown": InvalidURI, "ipfs://" + cid0 + "/%2e%2e/x": InvalidURI,
		"ipfs://" + cid0 + "/a\\b": InvalidURI, "ipfs://" + cid0 + "@evil.example/": InvalidURI, "ipfs://short/1": InvalidURI, "ipfs://" + cid0: Unindexed,
		"https://a.example/" + strings.Repeat("{id}", maxIDs+1): InvalidURI,
	} {
		if got, s := strict.place(uri, id, true); s != want {
			t.Errorf("%.80q: %+v %s, want %s", uri, got, s, want)
		}
	}
	if got, s := c.place("https://a.example/{id}", id, false); s != "" || got.url != "https://a.example/%7Bid%7D" {
		t.Errorf("an ERC-721 URI: %+v %s", got, s)
	}
}

func TestGateways(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://ipfs.example": "", "http://127.0.0.1:8080/": "", "https://gw.example/base/ipfs/": "/base",
	} {
		if u, err := ParseGateway(text); err != nil || u.Path != want {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "ipfs.example", "ftp://a.example", "https://", "https://user@a.example", "https://a.example/?x=y", "https://a.example/#f"} {
		if _, err := ParseGateway(text); err == nil {
			t.Errorf("%q is a gateway", text)
		}
	}
}

// FuzzPlace: whatever a contract says, a request goes to the gateway below /ipfs/, or by
// HTTPS to what the rules allow.
func FuzzPlace(f *testing.F) {
	for _, uri := range []string{
		"ipfs://" + cid0 + "/1", "ipfs://ipfs/" + cid1, "https://a.example/{id}", "data:application/json;base64,e30=", "data:application/json,{}",
		"https://[::1]/", "https://a.example:99/", "ipfs://" + cid0 + "/%2e%2e/", "https://a.example\\@b.example/", "https://a.example/\r\nHost: x", "https://.",
	} {
		f.Add(uri, uint64(7), true)
	}
	c := open(f, nil)
	f.Fuzz(func(t *testing.T, uri string, n uint64, multi bool) {
		p, s := c.place(uri, uint256.NewInt(n), multi)
		switch {
		case s != "":
			return
		case p.url == "":
			if len(p.inline) > len(uri)+maxIDs*64 {
				t.Fatalf("%d bytes of %d", len(p.inline), len(uri))
			}
			return
		}
		u, err := url.Parse(p.url)
		if err != nil || len(p.url) > outbound.MaxURL || p.site == "" || strings.ContainsAny(p.url, "\r\n ") {
			t.Fatalf("%q: %+v, %v", uri, p, err)
		}
		if p.gateway {
			if u.Host != "127.0.0.1:8080" || !strings.HasPrefix(u.Path, "/ipfs/") || strings.Contains(u.Path+"/", "/../") || u.RawQuery != "" || u.User != nil {
				t.Fatalf("%q: %s", uri, u)
			}
			return
		}
		if rules := c.rules(); rules.Check(u) != nil || u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q: %s", uri, u)
		}
	})
}

// kept is a store in memory that can refuse.
var errFull, errLarge = errors.New("the disk is full"), errors.New("too large for the database")

var _ Store = (*kept)(nil)
