package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// What is above a reader's limit but within the protocol is no fault of the sender.
func TestLimits(t *testing.T) {
	t.Parallel()
	const limit = 4096
	all := newCodec(t)
	small, err := NewCodecUpTo(limit)
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, msg []byte, want error) {
		t.Helper()
		var m Message
		if err := small.Parse(msg, &m); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	message := func(size int) []byte { return (&GetPeerList{Filter: make([]byte, size)}).Append(nil) }
	f("below", all.Compress(nil, message(limit-50)), nil)
	f("above, size stated", all.Compress(nil, message(limit+50)), ErrAboveLimit)
	f("above the protocol's", all.Compress(nil, message(MaxMessageSize+1)), ErrTooLarge)

	var unstated bytes.Buffer
	w, err := zstd.NewWriter(&unstated, zstd.WithWindowSize(1<<10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(message(limit + 50)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Flush(), w.Close()); err != nil {
		t.Fatal(err)
	}
	msg, start := open(nil, fieldZstd)
	f("above, size not stated", shut(append(msg, unstated.Bytes()...), start), ErrMalformed)
}

func TestReadFrameUpTo(t *testing.T) {
	t.Parallel()
	stream := AppendFrame(AppendFrame(AppendFrame(nil, []byte("small")), make([]byte, 100)), []byte("next"))
	r := bytes.NewReader(stream)
	f := func(r io.Reader, want string, length int, wantErr error) {
		t.Helper()
		msg, n, err := ReadFrameUpTo(r, nil, 10)
		if string(msg) != want || n != length || !errors.Is(err, wantErr) {
			t.Errorf("%q of %d bytes, %v; want %q, %d, %v", msg, n, err, want, length, wantErr)
		}
	}
	f(r, "small", 5, nil)
	f(r, "", 100, nil) // read past
	f(r, "next", 4, nil)
	f(r, "", 0, io.EOF)
	f(bytes.NewReader(stream[9:50]), "", 100, io.ErrUnexpectedEOF)
}
