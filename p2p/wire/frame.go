package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// MaxMessageSize bounds a message, in a frame and also after decompression.
	MaxMessageSize = 2 << 20
	// FrameHeaderSize is what a frame adds to its message.
	FrameHeaderSize = 4
	// firstRead bounds what a frame's stated length alone can make us allocate.
	firstRead = 4 << 10
)

// ErrTooLarge is returned for a frame or a message above [MaxMessageSize].
var ErrTooLarge = errors.New("message is larger than 2 MiB")

// AppendFrame appends msg with its length in front. msg must not be larger
// than [MaxMessageSize]: the receiver would close the connection.
func AppendFrame(dst, msg []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(msg)))
	return append(dst, msg...)
}

// ReadFrame reads one frame and returns its message. The message lies in buf
// when it fits, else in a larger slice, which the caller may pass the next
// time. Memory grows as bytes arrive, not by the stated length.
//
// It returns io.EOF only at the end of a stream between two frames,
// io.ErrUnexpectedEOF inside one, and [ErrTooLarge] without reading the content.
func ReadFrame(r io.Reader, buf []byte) ([]byte, error) {
	msg, _, err := ReadFrameUpTo(r, buf, MaxMessageSize)
	return msg, err
}

// ReadFrameUpTo is [ReadFrame] for a reader that has no use for messages above
// limit bytes: it reads past them, keeps nothing, and returns an empty message.
// length is what the frame states.
func ReadFrameUpTo(r io.Reader, buf []byte, limit int) (msg []byte, length int, err error) {
	// The header goes through buf, as a local array would escape to the heap.
	buf = slices.Grow(buf[:0], FrameHeaderSize)[:FrameHeaderSize]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf[:0], 0, err
	}
	length = int(binary.BigEndian.Uint32(buf))
	switch {
	case length > MaxMessageSize:
		return buf[:0], length, fmt.Errorf("%w: the frame states %d bytes", ErrTooLarge, length)
	case length > limit:
		_, err = io.CopyN(io.Discard, r, int64(length))
		return buf[:0], length, inFrame(err)
	}
	buf = slices.Grow(buf[:0], min(length, firstRead))
	for len(buf) < length {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, min(length-len(buf), cap(buf)))
		}
		have := len(buf)
		n, err := io.ReadFull(r, buf[have:min(length, cap(buf))])
		buf = buf[:have+n]
		if err != nil {
			return buf[:0], length, inFrame(err)
		}
	}
	return buf, length, nil
}

// inFrame is the error of a stream that ends within a frame.
func inFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// putLength fills in the header of a frame built in place.
func putLength(frame []byte) {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-FrameHeaderSize))
}
