package operation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// packer compresses the rows of a file, chunk by chunk. What a chunk becomes depends on
// nothing before it but sums that the position has: a file that is continued after a
// kill is byte for byte the one that was never interrupted.
type packer interface {
	// chunk appends a chunk; at is where the file ends so far.
	chunk(dst, raw []byte, at *position) ([]byte, error)
	// end appends what comes after the last chunk.
	end(dst []byte, at *position) ([]byte, error)
}

func newPacker(c Compression) (packer, error) {
	if c == Zstd {
		return newZstd()
	}
	w, err := flate.NewWriter(nil, flateLevel)
	if err != nil {
		return nil, fmt.Errorf("operation: gzip: %w", err)
	}
	return &gzipPacker{w: w}, nil
}

// flateLevel: 6 takes half as long again for 5% less.
const flateLevel = 5

// gzipPacker writes one member (RFC 1952) of many deflate blocks. Browsers read only the
// first member of a file; so chunks are ended by a flush, which ends on a byte, and the
// next one starts with an empty window.
type gzipPacker struct {
	w   *flate.Writer
	out bytes.Buffer
}

// gzipHead has no name, no time and an unknown system: the same rows give the same bytes.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func (p *gzipPacker) chunk(dst, raw []byte, at *position) ([]byte, error) {
	if at.Offset == 0 {
		dst = append(dst, gzipHead...)
	}
	p.out.Reset()
	p.w.Reset(&p.out)
	if _, err := p.w.Write(raw); err != nil {
		return dst, err
	}
	if err := p.w.Flush(); err != nil {
		return dst, err
	}
	at.Sum = crc32.Update(at.Sum, crc32.IEEETable, raw)
	return append(dst, p.out.Bytes()...), nil
}

func (p *gzipPacker) end(dst []byte, at *position) ([]byte, error) {
	p.out.Reset()
	p.w.Reset(&p.out)
	if err := p.w.Close(); err != nil {
		return dst, err
	}
	dst = append(dst, p.out.Bytes()...)
	dst = binary.LittleEndian.AppendUint32(dst, at.Sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(at.Raw)), nil // modulo 2^32, as the format has it
}

// zstdPacker writes a frame for each chunk (RFC 8878): a file is any number of frames.
type zstdPacker struct{ w *zstd.Encoder }

func newZstd() (*zstdPacker, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("operation: zstd: %w", err)
	}
	return &zstdPacker{w}, nil
}

func (p *zstdPacker) chunk(dst, raw []byte, _ *position) ([]byte, error) {
	return p.w.EncodeAll(raw, dst), nil
}

func (p *zstdPacker) end(dst []byte, _ *position) ([]byte, error) { return dst, nil }
