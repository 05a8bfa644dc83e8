package wire

import (
	"bytes"
	"crypto/rand"
	"testing"
)

func BenchmarkParseResponse(b *testing.B) {
	c := newCodec(b)
	var m Message
	sig := make([]byte, SignatureLen)
	rand.Read(sig)
	r := AppResponse{ChainID: testChain, RequestID: 1<<31 + 1, Bytes: AppendSignatureResponse(nil, sig)}
	plain := r.Append(nil)
	for name, raw := range map[string][]byte{"plain": plain, "zstd": c.Compress(nil, plain)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if err := c.Parse(raw, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFramed encodes a request whose message holds a little that repeats,
// as addressed calls do, and reports its size.
func BenchmarkFramed(b *testing.B) {
	c := newCodec(b)
	message := make([]byte, 180)
	rand.Read(message[6:38])
	rand.Read(message[60:140])
	msg := (&AppRequest{ChainID: testChain, RequestID: 1, Deadline: 5e9, Bytes: AppendSignatureRequest(nil, message, nil)}).Append(nil)
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(c.Framed(msg))
	}
	b.ReportMetric(float64(len(msg)), "plainB")
	b.ReportMetric(float64(size), "frameB")
}

func BenchmarkReadFrame(b *testing.B) {
	stream := AppendFrame(nil, testResponse.Append(nil))
	var buf []byte
	r := bytes.NewReader(stream)
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(stream)
		var err error
		if buf, err = ReadFrame(r, buf); err != nil {
			b.Fatal(err)
		}
	}
}
