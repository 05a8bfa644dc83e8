package wire

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Codec parses and compresses messages. It is safe for use by many goroutines
// at once, which share its few zstd coders; it holds nothing to close.
type Codec struct {
	enc   *zstd.Encoder
	dec   *zstd.Decoder
	limit int // of decompressed messages
}

// codecWidth is how many messages one Codec compresses, and decompresses, at
// the same time; further callers wait. Each coder keeps up to 1 MB of tables.
const codecWidth = 4

// ErrAboveLimit is returned for a message that is within the protocol's bound
// when decompressed, but above that of its reader, see [NewCodecUpTo].
var ErrAboveLimit = errors.New("message is larger than this reader takes")

// NewCodec returns a codec for all messages of the protocol.
func NewCodec() (*Codec, error) { return NewCodecUpTo(MaxMessageSize) }

// NewCodecUpTo returns a codec that decompresses at most limit bytes: senders
// state the size, so that larger messages cost nothing but [ErrAboveLimit].
func NewCodecUpTo(limit int) (*Codec, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(codecWidth),
		zstd.WithWindowSize(MaxMessageSize),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(codecWidth),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(limit))) // bounds the window too
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return &Codec{enc: enc, dec: dec, limit: limit}, nil
}

// Compress appends the message that wraps msg as zstd. It can be longer than
// msg: the caller sends whichever is shorter.
func (c *Codec) Compress(dst, msg []byte) []byte {
	dst, start := open(dst, fieldZstd)
	dst = c.enc.EncodeAll(msg, dst)
	return shut(dst, start)
}

// decompress appends the content of a zstd stream to dst, at most the codec's
// limit of it, and refuses streams that hold or state more.
func (c *Codec) decompress(dst, stream []byte) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(stream); err != nil {
		return dst, fmt.Errorf("%w: zstd header: %w", ErrMalformed, err)
	}
	if h.HasFCS && h.FrameContentSize > MaxMessageSize {
		return dst, fmt.Errorf("%w: zstd states %d bytes", ErrTooLarge, h.FrameContentSize)
	}
	// Real nodes always state the size: who does not pays for what it turns out to be.
	if limit := uint64(c.limit); h.HasFCS && max(h.FrameContentSize, h.WindowSize) > limit && h.WindowSize <= MaxMessageSize {
		return dst, ErrAboveLimit
	}
	out, err := c.dec.DecodeAll(stream, dst)
	switch {
	case err == nil:
		return out, nil
	case out == nil: // the decoder gave our buffer up
		out = dst
	}
	return out, fmt.Errorf("%w: zstd: %w", ErrMalformed, err)
}

// compressFrom is the length in bytes from which compression is tried. Below, it
// costs more than the few bytes saved are worth: encoding takes 9 µs against
// 0.5, for each receiver decoding likewise.
const compressFrom = 512

// Framed returns the complete frame of msg, compressed when msg is long and that is shorter.
func (c *Codec) Framed(msg []byte) []byte {
	if len(msg) < compressFrom {
		return AppendFrame(make([]byte, 0, FrameHeaderSize+len(msg)), msg)
	}
	packed := c.Compress(make([]byte, FrameHeaderSize, FrameHeaderSize+len(msg)), msg)
	if len(packed)-FrameHeaderSize < len(msg) {
		putLength(packed)
		return packed
	}
	return AppendFrame(make([]byte, 0, FrameHeaderSize+len(msg)), msg)
}
