package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net/netip"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

func TestFrames(t *testing.T) {
	var stream []byte
	sizes := []int{0, 1, 5, firstRead - 1, firstRead, firstRead + 1, 100_000, MaxMessageSize, 3}
	for i, n := range sizes {
		stream = AppendFrame(stream, fill(n, byte(i)))
	}
	for name, r := range map[string]io.Reader{
		"whole":    bytes.NewReader(stream),
		"halves":   iotest.HalfReader(bytes.NewReader(stream)),
		"data+EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		var buf []byte
		var err error
		for i, n := range sizes {
			buf, err = ReadFrame(r, buf)
			if err != nil || !bytes.Equal(buf, fill(n, byte(i))) {
				t.Fatalf("%s: frame %d: %d bytes, %v", name, i, len(buf), err)
			}
		}
		if _, err := ReadFrame(r, buf); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestBadFrames(t *testing.T) {
	f := func(stream []byte, want error) {
		t.Helper()
		buf, err := ReadFrame(bytes.NewReader(stream), nil)
		if !errors.Is(err, want) {
			t.Errorf("%x: got %v, want %v", stream, err, want)
		}
		if cap(buf) > 2*firstRead {
			t.Errorf("%x: a lying length made us allocate %d bytes", stream, cap(buf))
		}
	}
	f([]byte{0, 0}, io.ErrUnexpectedEOF)
	f([]byte{0, 0, 0, 1}, io.ErrUnexpectedEOF)
	f([]byte{0, 0x20, 0, 0, 1, 2, 3}, io.ErrUnexpectedEOF)
	f([]byte{0, 0x20, 0, 1}, ErrTooLarge)
	f([]byte{0xff, 0xff, 0xff, 0xff}, ErrTooLarge)
}

func TestMalformedMessages(t *testing.T) {
	c := newCodec(t)
	var m Message
	f := func(b []byte, want error) {
		t.Helper()
		if err := c.Parse(b, &m); !errors.Is(err, want) {
			t.Errorf("%.40x: got %v, want %v", b, err, want)
		}
		if m.Kind != KindOther {
			t.Errorf("%.40x: kind %v after an error", b, m.Kind)
		}
	}
	nested := func(num protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
	}
	f([]byte{0xff}, ErrMalformed)
	f([]byte{0x5a, 5, 1}, ErrMalformed)                               // length beyond the end
	f(nested(fieldPing, []byte{0x0a, 0}), ErrMalformed)               // uptime as bytes
	f(nested(fieldAppResponse, nil), ErrMalformed)                    // no chain
	f(nested(fieldAppResponse, nested(1, fill(31, 1))), ErrMalformed) // short chain
	f(nested(fieldAppError, []byte{0x18, 1}), ErrMalformed)
	f(nested(fieldAppRequest, []byte{0x10, 1}), ErrMalformed)
	f(nested(fieldHandshake, nested(3, fill(5, 1))), ErrMalformed) // address of 5 bytes
	f(nested(fieldHandshake, nested(8, fill(33, 1))), ErrMalformed)
	f(nested(fieldHandshake, nested(9, []byte{1})), ErrMalformed)
	f(nested(fieldHandshake, nested(12, []byte{1})), ErrMalformed)
	f(nested(fieldHandshake, nested(10, fill(maxACPs+1, 1))), ErrMalformed)
	f(nested(fieldHandshake, bytes.Repeat(nested(8, fill(32, 1)), maxSubnets+1)), ErrMalformed)
	f(nested(fieldPeerList, bytes.Repeat(nested(1, nil), maxPeers+1)), ErrMalformed)
	f(nested(fieldPeerList, nested(1, []byte{0x18, 0x80, 0x80, 4})), ErrMalformed) // port 65536
	f(nested(fieldGetPeerList, nested(1, []byte{0x0a, 9})), ErrMalformed)
	f(make([]byte, MaxMessageSize+1), ErrTooLarge)

	// Empty messages and members that are unknown are no errors.
	f(nil, nil)
	f(nested(15, fill(8, 0xff)), nil)
	f(nested(200, fill(8, 0xff)), nil)
	// An unknown field behind the member does not hide it.
	if err := c.Parse(append(Pong{}.Append(nil), nested(200, nil)...), &m); err != nil || m.Kind != KindPong {
		t.Errorf("pong and an unknown field: %v, %v", m.Kind, err)
	}
}

func TestZstd(t *testing.T) {
	c := newCodec(t)
	var m Message
	for _, n := range []int{0, 1, 98, 4000, 300_000, MaxMessageSize - 64} {
		r := AppResponse{ChainID: testChain, RequestID: 3, Bytes: fill(n, 0x5a)}
		if err := c.Parse(c.Compress(nil, r.Append(nil)), &m); err != nil || !m.Compressed || !bytes.Equal(m.AppResponse.Bytes, r.Bytes) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	m.Trim(1 << 10)
	if m.plain != nil {
		t.Error("Trim kept a large buffer")
	}
	wrap := func(stream []byte) []byte {
		dst, start := open(nil, fieldZstd)
		return shut(append(dst, stream...), start)
	}
	encode := func(b []byte, opts ...zstd.EOption) []byte {
		enc, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return enc.EncodeAll(b, nil)
	}
	f := func(name string, b []byte, want error) {
		t.Helper()
		if err := c.Parse(b, &m); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if cap(m.plain) > 2*MaxMessageSize {
			t.Errorf("%s: %d bytes allocated", name, cap(m.plain))
		}
	}
	f("bomb that says so", wrap(encode(make([]byte, 64<<20))), ErrTooLarge)
	var stream bytes.Buffer // a stream does not state its size beforehand
	enc, err := zstd.NewWriter(&stream, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.ReadFrom(io.LimitReader(zeros{}, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	f("bomb that does not", wrap(stream.Bytes()), ErrMalformed)
	f("many small bombs", wrap(bytes.Repeat(encode(make([]byte, 1<<20)), 64)), ErrMalformed)
	f("one byte too many", wrap(encode(make([]byte, MaxMessageSize+1))), ErrTooLarge)
	f("no zstd", wrap([]byte("no zstd at all")), ErrMalformed)
	f("empty", wrap(nil), ErrMalformed)
	f("cut", wrap(encode(fill(5000, 1))[:12]), ErrMalformed)
	f("compressed twice", c.Compress(nil, c.Compress(nil, Pong{}.Append(nil))), ErrMalformed)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestFramed(t *testing.T) {
	c := newCodec(t)
	f := func(payload []byte, packed bool) {
		t.Helper()
		r := AppRequest{RequestID: 1, Bytes: payload}
		rand.Read(r.ChainID[:])
		msg := r.Append(nil)
		frame := c.Framed(msg)
		got, err := ReadFrame(bytes.NewReader(frame), nil)
		if err != nil || len(got)+FrameHeaderSize != len(frame) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(frame), err)
		}
		var m Message
		if err := c.Parse(got, &m); err != nil || !bytes.Equal(m.AppRequest.Bytes, payload) {
			t.Fatalf("%+v, %v", m, err)
		}
		if m.Compressed != packed || len(got) > len(msg) {
			t.Errorf("compressed %v, %d bytes of %d", m.Compressed, len(got), len(msg))
		}
	}
	noise := make([]byte, compressFrom)
	rand.Read(noise)
	f(noise, false)
	f(make([]byte, compressFrom), true)
	f(make([]byte, compressFrom-100), false)
}

func certificate(t *testing.T, key any, public any) []byte {
	t.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestClaims(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort("192.0.2.1:9651")
	good := ClaimedIP{Certificate: certificate(t, key, key.Public()), Addr: addr, Timestamp: 5}
	if good.Signature, err = SignClaim(key, addr, 5); err != nil {
		t.Fatal(err)
	}
	if err := good.Verify(); err != nil {
		t.Fatalf("good claim: %v", err)
	}
	mapped := good
	mapped.Addr = netip.MustParseAddrPort("[::ffff:192.0.2.1]:9651")
	if err := mapped.Verify(); err != nil {
		t.Errorf("the same address, IPv4 in IPv6: %v", err)
	}
	f := func(name string, want error, change func(c *ClaimedIP)) {
		t.Helper()
		c := good
		change(&c)
		if err := c.Verify(); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	f("other port", ErrClaimSignature, func(c *ClaimedIP) { c.Addr = netip.MustParseAddrPort("192.0.2.1:9652") })
	f("other time", ErrClaimSignature, func(c *ClaimedIP) { c.Timestamp = 6 })
	f("no signature", ErrClaimSignature, func(c *ClaimedIP) { c.Signature = nil })
	f("no address", ErrMalformed, func(c *ClaimedIP) { c.Addr = netip.AddrPort{} })
	f("no certificate", ErrCertificate, func(c *ClaimedIP) { c.Certificate = nil })
	f("large certificate", ErrCertificate, func(c *ClaimedIP) { c.Certificate = append(c.Certificate, make([]byte, MaxCertificateLen)...) })
	f("cut certificate", ErrCertificate, func(c *ClaimedIP) { c.Certificate = c.Certificate[:100] })
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f("P-384", ErrCertificate, func(c *ClaimedIP) { c.Certificate = certificate(t, p384, p384.Public()) })
	odd, err := rsa.GenerateKey(rand.Reader, 1536)
	if err != nil {
		t.Fatal(err)
	}
	f("RSA 1536", ErrCertificate, func(c *ClaimedIP) { c.Certificate = certificate(t, odd, odd.Public()) })
}

func TestBloom(t *testing.T) {
	r := mrand.New(mrand.NewPCG(1, 2))
	const items = 1000
	filter := NewBloom(items, r.Uint64)
	for i := range uint64(items) {
		filter.Add(ClaimHash(chain.NodeID{1}, i, nil))
	}
	back, err := ParseBloom(filter.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	falsely := 0
	for i := range uint64(items) {
		if !back.Contains(ClaimHash(chain.NodeID{1}, i, nil)) {
			t.Fatalf("item %d is lost", i)
		}
		if back.Contains(ClaimHash(chain.NodeID{2}, i, nil)) {
			falsely++
		}
	}
	if falsely > items/50 {
		t.Errorf("%d false positives of %d", falsely, items)
	}
	if _, err := ParseBloom(NewBloom(0, r.Uint64).Append(nil)); err != nil {
		t.Errorf("a filter of nothing: %v", err)
	}
	for _, b := range [][]byte{nil, {0, 1}, {17}, append([]byte{1}, fill(8, 0)...), append([]byte{16}, fill(128, 0)...)} {
		if _, err := ParseBloom(b); !errors.Is(err, ErrBloom) {
			t.Errorf("%x: %v", b, err)
		}
	}
}

// An answer is the hot path: it must not allocate, compressed or not.
func TestParseDoesNotAllocate(t *testing.T) {
	c := newCodec(t)
	var m Message
	plain := testResponse.Append(nil)
	packed := c.Compress(nil, plain)
	for name, b := range map[string][]byte{"plain": plain, "zstd": packed} {
		if n := testing.AllocsPerRun(100, func() {
			if err := c.Parse(b, &m); err != nil || m.Kind != KindAppResponse {
				t.Fatal(m.Kind, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
