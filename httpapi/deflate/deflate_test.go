package deflate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	fast "github.com/klauspost/compress/gzip"
)

// unpack reads a gzip stream that has one member.
func unpack(t testing.TB, packed []byte) []byte {
	t.Helper()
	in := bytes.NewReader(packed)
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	out, err := io.ReadAll(r)
	if err != nil || in.Len() != 0 {
		t.Fatal(err, in.Len(), "bytes left over")
	}
	return out
}

// page is about what a page of transactions looks like.
func page(rows int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return fmt.Sprintf("0x%x", b)
	}
	var b strings.Builder
	b.WriteString(`{"transactions":[`)
	for i := range rows {
		fmt.Fprintf(&b, `{"blockNumber":"%d","blockTimestamp":%d,"blockHash":"%s","chainId":"43114","blockIndex":%d,"txHash":"%s","txStatus":"1",`+
			`"txType":%d,"gasLimit":"%d","gasUsed":"%d","gasPrice":"25000000000","nonce":"%d","from":{"address":"%s"},"to":{"address":"%s"},`+
			`"method":{"callType":"CONTRACT_CALL","methodHash":"%s"},"value":"%d"},`, 4000000+i/9, 1735689600+i/9*2, hex(32), i%9, hex(32),
			i%3, 100000, rnd.IntN(90000), rnd.IntN(300), hex(20), hex(20), hex(4), rnd.Uint64())
	}
	return []byte(strings.TrimSuffix(b.String(), ",") + `],"nextPageToken":"AQEA8SRGUOPsDbsAAAAAAAAADgAAAAAAAAAOAAAAAMB2s9Jc66xM"}`)
}

func TestAppendGzip(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	holders := []byte(`{"addresses":[`)
	for i := range 60 { // a match that ends just behind the place where it began
		holders = fmt.Appendf(holders, `{"address":"0x%040x","sortKey":%d},`, i*7919*7919*7919, i*i)
	}
	input := []byte(`{"input":"0x` + strings.Repeat(strings.Repeat("0", 56)+"12345678", 400) + `"}`)
	if n := len(AppendGzip(nil, input)); n > len(input)/20 {
		t.Errorf("an input of %d bytes is packed to %d", len(input), n)
	}
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	quotes := bytes.Repeat([]byte{'"'}, 70_000)
	far := append(append([]byte(`"a long name of a member":`), bytes.Repeat([]byte{'x'}, window-26)...), `"a long name of a member":`...)
	tooFar := append(append([]byte(`"a long name of a member":`), bytes.Repeat([]byte{'x'}, window-25)...), `"a long name of a member":`...)
	for name, src := range map[string][]byte{
		"holders": holders, "nothing": {}, "a byte": {'"'}, "short": []byte(`"abcdefg`), "every byte": every, "noise": noise, "quotes": quotes, "far": far, "too far": tooFar,
		"zeros": make([]byte, 300), "a zero": []byte("{\"name\":\"a\x00b\",\"name\":\"a\x00bcd\x00\"}  "), "input": input, "page": page(100), "large": page(8000), "text": []byte(strings.Repeat("no quotation marks at all ", 5000)),
	} {
		packed := AppendGzip([]byte("before"), src)
		if got := unpack(t, packed[6:]); string(packed[:6]) != "before" || !bytes.Equal(got, src) {
			t.Errorf("%s: %d bytes came out as %d others", name, len(src), len(got))
		}
	}
	four := page(4)
	for n := 0; n < 1200; n++ { // matches of each length, at each place
		src := bytes.Repeat(four[:n], 2)
		if got := unpack(t, AppendGzip(nil, src)); !bytes.Equal(got, src) {
			t.Fatalf("twice %d bytes came out as others", n)
		}
	}
}

// TestAppendGzipMixed: every pair of bytes, at every place in the eight that are written
// at once; matches that begin long before the quotation mark where they are found; and
// output that has no room yet, or just some.
func TestAppendGzipMixed(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	var pairs []byte
	for a := range 256 {
		for b := range 256 {
			pairs = append(pairs, byte(a), byte(b))
		}
		pairs = append(pairs, '"')
	}
	alphabets := []string{"0123456789abcdef", "0123456789abcdefABCDEF", "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ123456789", "\x00a\"", "\xff\x80z\"", "\"", "{}[]:,\""}
	for i := range 3000 {
		src := append([]byte(nil), pairs[rnd.IntN(len(pairs)):]...)
		src = src[:min(len(src), rnd.IntN(50))]
		for range 5 + rnd.IntN(60) {
			if rnd.IntN(3) == 0 && len(src) > 0 { // what was there before
				n := rnd.IntN(len(src))
				src = append(src, src[n:n+rnd.IntN(min(len(src)-n, 400)+1)]...)
				continue
			}
			set := alphabets[rnd.IntN(len(alphabets))]
			for range rnd.IntN(90) {
				src = append(src, set[rnd.IntN(len(set))])
			}
			src = append(src, '"')
		}
		dst := make([]byte, 0, rnd.IntN(len(src)+1))
		if got := unpack(t, AppendGzip(dst, src)); !bytes.Equal(got, src) {
			t.Fatalf("%d: %q came out as %q", i, src, got)
		}
	}
	if got := unpack(t, AppendGzip(nil, pairs)); !bytes.Equal(got, pairs) {
		t.Fatal("pairs came out as others")
	}
}

// TestSize: what is packed is not much larger than a general compressor makes it.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{3, 10, 100, 1000} {
		src := page(rows)
		ours, other := len(AppendGzip(nil, src)), len(general(t, nil, src))
		if ours > other*110/100+60 {
			t.Errorf("%d rows: %d bytes packed to %d, a general compressor needs %d", rows, len(src), ours, other)
		}
	}
}

func general(t testing.TB, w *fast.Writer, src []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if w == nil {
		var err error
		if w, err = fast.NewWriterLevel(&out, fast.BestSpeed); err != nil {
			t.Fatal(err)
		}
	}
	w.Reset(&out)
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func FuzzAppendGzip(f *testing.F) {
	f.Add([]byte(`{"a":"b","a":"b","a":"b"}`))
	f.Add(page(3))
	f.Fuzz(func(t *testing.T, src []byte) {
		if got := unpack(t, AppendGzip(nil, src)); !bytes.Equal(got, src) {
			t.Errorf("%d bytes came out as %d others", len(src), len(got))
		}
	})
}

// BenchmarkAppendGzip packs a page of 100 transactions; the others are general
// compressors: at their fastest level with matches, without state, and without matches.
func BenchmarkAppendGzip(b *testing.B) {
	src := page(100)
	b.Run("of=ours", func(b *testing.B) {
		var dst []byte
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			dst = AppendGzip(dst[:0], src)
		}
		b.ReportMetric(float64(len(dst)), "B/packed")
	})
	for _, other := range []struct {
		name  string
		level int
	}{{"general", fast.BestSpeed}, {"stateless", fast.StatelessCompression}, {"huffman", fast.HuffmanOnly}} {
		b.Run("of="+other.name, func(b *testing.B) {
			w, err := fast.NewWriterLevel(nil, other.level)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(src)))
			n := 0
			for b.Loop() {
				n = len(general(b, w, src))
			}
			b.ReportMetric(float64(n), "B/packed")
		})
	}
}
