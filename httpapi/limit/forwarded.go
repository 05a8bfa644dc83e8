package limit

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// maxHops bounds how many proxies are followed back to a client.
const maxHops = 16

// client returns the address that a request counts for.
func (l *Limiter) client(header func(string) []byte, remote netip.Addr) netip.Addr {
	remote = remote.Unmap()
	if !l.trusts(remote) {
		return remote
	}
	list := header(HeaderForwarded)
	for range maxHops {
		if len(list) == 0 {
			break
		}
		// Each proxy appends the peer that it saw: what counts is at the end.
		i := bytes.LastIndexByte(list, ',')
		hop, ok := parseHop(bytes.TrimSpace(list[i+1:]))
		if !ok {
			break
		}
		if remote = hop; !l.trusts(remote) {
			break
		}
		list = list[:max(i, 0)]
	}
	return remote
}

func (l *Limiter) trusts(a netip.Addr) bool {
	for _, p := range l.cfg.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Trusts reports whether an address is that of a trusted proxy. A nil Limiter trusts none.
func (l *Limiter) Trusts(a netip.Addr) bool { return l != nil && l.trusts(a.Unmap()) }

// HasKey reports whether a request has an API key in a header, be it known or not.
func HasKey(h *fasthttp.RequestHeader) bool {
	return len(h.Peek(HeaderKey)) > 0 || len(h.Peek(HeaderKeySDK)) > 0
}

// parseHop reads an address, with or without a port.
func parseHop(b []byte) (netip.Addr, bool) {
	// Nothing of text outlives the call: errors are not kept, and zones are copied.
	text := unsafe.String(unsafe.SliceData(b), len(b))
	a, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		a = withPort.Addr()
	}
	return a.Unmap().WithZone(""), true
}

// Header returns a header's value as [Limiter.Admit] asks for it.
func Header(h *fasthttp.RequestHeader, name string) []byte {
	switch lines := h.PeekAll(name); len(lines) {
	case 0:
		return nil
	case 1:
		return lines[0]
	default:
		return bytes.Join(lines, []byte(","))
	}
}
