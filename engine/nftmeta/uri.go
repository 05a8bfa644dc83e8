package nftmeta

import (
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/holiman/uint256"
	"golang.org/x/net/publicsuffix"

	"quorate/engine/outbound"
)

// maxIDs bounds how often an ID is put into a URI.
const maxIDs = 16

// place is where a document is.
type place struct {
	inline []byte // the document itself, of a data: URI
	url    string
	// site is what shares a turn and a back-off: a registered domain, an address, or the
	// gateway.
	site    string
	gateway bool
}

// cid matches what can be a content identifier: in any of the usual encodings, and with the
// content itself for a hash.
var cid = regexp.MustCompile(`^[A-Za-z0-9]{8,128}$`)

// place returns where a token's URI leads, or why nowhere. [Unindexed]: this server has no
// way there.
func (c *Config) place(uri string, id *uint256.Int, multi bool) (p place, s Status) {
	uri = strings.TrimSpace(uri)
	if multi {
		var ok bool
		if uri, ok = withID(uri, id); !ok {
			return p, InvalidURI
		}
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return p, InvalidURI
	}
	switch strings.ToLower(scheme) {
	case "data":
		p.inline, s = inline(rest)
		return p, s
	case "ipfs":
		return c.gateway(rest)
	case "https", "http":
		return c.web(uri)
	}
	return p, InvalidScheme
}

// web returns the place of a document that a web server has.
func (c *Config) web(uri string) (p place, s Status) {
	u, err := url.Parse(uri)
	if err != nil || strings.Trim(u.Hostname(), ".") == "" || len(uri) > outbound.MaxURL {
		return p, InvalidURI
	}
	if u.Scheme == "http" && !c.HTTP {
		return p, InvalidScheme
	}
	rules := c.rules()
	if rules.Check(u) != nil {
		return p, Unreachable
	}
	u.Fragment, u.RawFragment = "", ""
	return place{url: u.String(), site: siteOf(u)}, ""
}

// siteOf returns who answers for a host, as far as its name says: who owns a domain can make
// any number of names below it.
func siteOf(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is6() { // a customer has as many of these
			host = netip.PrefixFrom(a, 64).Masked().String()
		}
	} else if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// gateway returns the place of a document of IPFS.
func (c *Config) gateway(rest string) (p place, s Status) {
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "//"), "ipfs/") // written by many
	rest, _, _ = strings.Cut(rest, "?")
	id, file, _ := strings.Cut(rest, "/")
	if text, err := url.PathUnescape(file); err == nil {
		file = text
	}
	if !cid.MatchString(id) || strings.ContainsAny(file, "\\\x00") || len(file) > outbound.MaxURL {
		return p, InvalidURI
	}
	for part := range strings.SplitSeq(file, "/") {
		if part == ".." || part == "." {
			return p, InvalidURI
		}
	}
	if c.ipfs == nil {
		return p, Unindexed
	}
	u := *c.ipfs
	u.Path, u.RawPath = path.Join(u.Path, "ipfs", id, file), ""
	if strings.HasSuffix(rest, "/") {
		u.Path += "/"
	}
	if p = (place{url: u.String(), site: "ipfs", gateway: true}); len(p.url) > outbound.MaxURL {
		return p, InvalidURI
	}
	return p, ""
}

// inline returns the document that a data: URI holds. What is not encoded is taken as it
// stands, as contracts often have it.
func inline(rest string) ([]byte, Status) {
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, InvalidURI
	}
	head = strings.ToLower(strings.TrimSpace(head))
	kind, _, _ := strings.Cut(head, ";")
	if !isJSON(strings.TrimSpace(kind)) {
		return nil, InvalidMetadata
	}
	if text, err := url.PathUnescape(body); err == nil {
		body = text
	}
	if !strings.HasSuffix(head, ";base64") {
		return []byte(body), ""
	}
	body = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(body), "="))
	doc, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, InvalidURI
	}
	return doc, ""
}

// isJSON reports whether a document of a media type can be JSON. Many servers do not know
// their files' types.
func isJSON(media string) bool {
	switch media {
	case "", "application/json", "text/json", "text/plain", "application/octet-stream", "binary/octet-stream":
		return true
	}
	return strings.HasSuffix(media, "+json")
}

// withID puts a token's ID where an ERC-1155 URI wants it: 64 hex digits.
func withID(text string, id *uint256.Int) (string, bool) {
	const hole = "{id}"
	text = strings.NewReplacer("%7Bid%7D", hole, "%7bid%7d", hole).Replace(text)
	n := strings.Count(text, hole)
	if n == 0 {
		return text, true
	}
	word := id.Bytes32()
	return strings.ReplaceAll(text, hole, hex.EncodeToString(word[:])), n <= maxIDs
}
