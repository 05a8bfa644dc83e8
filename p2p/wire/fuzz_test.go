package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	f.Add(AppendFrame(nil, []byte("abc")))
	f.Add(AppendFrame(AppendFrame(nil, nil), Pong{}.Append(nil)))
	f.Add(AppendFrame(nil, recorded(f, "handshake")))
	f.Add([]byte{0, 0x20, 0, 0, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		var again, buf []byte
		var err error
		for {
			if buf, err = ReadFrame(r, buf); err != nil {
				break
			}
			again = AppendFrame(again, buf)
		}
		if !bytes.HasPrefix(stream, again) {
			t.Fatalf("%x read as %x", stream, again)
		}
		if err == io.EOF && len(again) != len(stream) {
			t.Fatalf("clean end after %d of %d bytes", len(again), len(stream))
		}
	})
}

// FuzzParse checks that no bytes make the parser fail badly, and that what it
// reads means the same when it is written and read again.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"handshake", "ping100", "pong", "peerlist2", "peerlist0", "getpeerlist",
		"apprequest", "appresponse", "apperror", "apperrormin", "pullquery", "pushquery", "appgossip", "zstd", "rsaclaim"} {
		f.Add(golden(f, name))
	}
	for _, name := range []string{"handshake", "peerlist", "appresponse"} {
		f.Add(recorded(f, name))
	}
	c := newCodec(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, back Message
		if err := c.Parse(b, &m); err != nil {
			if m.Kind != KindOther || !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("kind %v, error %v", m.Kind, err)
			}
			return
		}
		if m.Kind == KindOther {
			return
		}
		raw := m.appendMember(nil)
		if err := c.Parse(raw, &back); err != nil {
			t.Fatalf("%x, written as %x: %v", b, raw, err)
		}
		// Compare what is written: absent and empty are alike on the wire.
		if again := back.appendMember(nil); back.Kind != m.Kind || !bytes.Equal(again, raw) {
			t.Fatalf("%x becomes %x", raw, again)
		}
		for i := range m.PeerList.Peers {
			_ = m.PeerList.Peers[i].Verify()
		}
	})
}

func FuzzZstd(f *testing.F) {
	f.Add(golden(f, "zstd")[2:])
	f.Add(recorded(f, "appresponse")[3:])
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0xff})
	c := newCodec(f)
	f.Fuzz(func(t *testing.T, stream []byte) {
		out, err := c.decompress(nil, stream)
		if err == nil && len(out) > MaxMessageSize {
			t.Fatalf("%d bytes", len(out))
		}
		if cap(out) > 2*MaxMessageSize {
			t.Fatalf("%d bytes allocated", cap(out))
		}
		// Any bytes survive compression.
		packed := c.Compress(nil, stream)
		var m Message
		if err := c.Parse(packed, &m); err == nil && !bytes.Equal(m.plain, stream) {
			t.Fatalf("%x becomes %x", stream, m.plain)
		}
	})
}

func FuzzSignatureRequest(f *testing.F) {
	f.Add(golden(f, "sigrequest"))
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, j, err := ParseSignatureRequest(b)
		if err != nil {
			return
		}
		m2, j2, err := ParseSignatureRequest(AppendSignatureRequest(nil, m, j))
		if err != nil || !bytes.Equal(m, m2) || !bytes.Equal(j, j2) {
			t.Fatalf("%x, %x become %x, %x, %v", m, j, m2, j2, err)
		}
	})
}

func FuzzSignatureResponse(f *testing.F) {
	f.Add(golden(f, "sigresponse"))
	f.Add([]byte{})
	f.Add([]byte{0x0a, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		sig, err := ParseSignatureResponse(b)
		if err != nil {
			return
		}
		if len(sig) != 0 && len(sig) != SignatureLen {
			t.Fatalf("%d bytes", len(sig))
		}
		if again, err := ParseSignatureResponse(AppendSignatureResponse(nil, sig)); err != nil || !bytes.Equal(again, sig) {
			t.Fatalf("%x becomes %x, %v", sig, again, err)
		}
	})
}

func FuzzBloom(f *testing.F) {
	f.Add(golden(f, "filter"), uint64(1))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, hash uint64) {
		filter, err := ParseBloom(b)
		if err != nil {
			return
		}
		if !bytes.Equal(filter.Append(nil), b) {
			t.Fatalf("%x becomes %x", b, filter.Append(nil))
		}
		filter.Add(hash)
		if !filter.Contains(hash) {
			t.Fatal("an added item is missing")
		}
	})
}
