package limit

import (
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
)

// requestHeader returns the header of a request as it comes from a client.
func requestHeader(key, forwarded string) *fasthttp.RequestHeader {
	h := new(fasthttp.RequestHeader)
	h.Set("User-Agent", "speakeasy-sdk/typescript")
	h.Set("Accept", "application/json")
	if key != "" {
		h.Set(HeaderKeySDK, key)
	}
	if forwarded != "" {
		h.Set(HeaderForwarded, forwarded)
	}
	return h
}

// benchmarkLimiter returns a limiter and requests of all the ways to be admitted.
func benchmarkLimiter(t testing.TB) (*Limiter, map[string]*fasthttp.RequestHeader) {
	key, hash := NewKey()
	file := newKeysFile(t, "tiers: [{name: t, unitsPerMinute: 100000000}]\nkeys: [{hash: "+hash+", tier: t}]")
	l := newLimiter(t, Config{KeysFile: file.path, UnitsPerMinute: MaxRate,
		TrustedProxies: []netip.Prefix{netip.PrefixFrom(clientB, 32)}})
	return l, map[string]*fasthttp.RequestHeader{
		"key": requestHeader(key, ""), "address": requestHeader("", ""), "proxy": requestHeader("", "2001:db8::1234:5678:9abc"),
	}
}

func (l *Limiter) admitHeader(h *fasthttp.RequestHeader, remote netip.Addr) Decision {
	return l.Admit(func(name string) []byte { return Header(h, name) }, remote, dataRoute, 1)
}

// TestAllocs: admitting a client that is known takes no memory.
func TestAllocs(t *testing.T) {
	l, requests := benchmarkLimiter(t)
	for name, h := range requests {
		if n := testing.AllocsPerRun(100, func() { l.admitHeader(h, clientB) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	l, requests := benchmarkLimiter(b)
	for name, h := range requests {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.admitHeader(h, clientB)
			}
		})
	}
	b.Run("addresses", func(b *testing.B) { // of many clients, on all cores
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			h := requestHeader("", "")
			for i := 0; pb.Next(); i++ {
				l.admitHeader(h, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
			}
		})
	})
}
