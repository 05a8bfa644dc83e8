package reply

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"quorate/httpapi/deflate"
	"quorate/httpapi/door"
)

// Packers pack bodies for clients that ask for it, fast rather than well: JSON
// of this kind shrinks to a fifth already so.
type Packers struct {
	min  int           // bodies below go as they are, in bytes
	zstd *zstd.Encoder // EncodeAll may be called at once
}

// NewPackers returns packers of bodies of at least so many bytes.
func NewPackers(least int) (*Packers, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	return &Packers{min: least, zstd: enc}, nil
}

// Zstd returns a body packed by zstd.
func (c *Packers) Zstd(body []byte) []byte { return c.zstd.EncodeAll(body, nil) }

// encode appends the packed body to dst and returns the name of its encoding, or
// "" when the body should go as it is.
func (c *Packers) encode(dst, body, accept []byte) ([]byte, string) {
	if len(body) < c.min || len(accept) == 0 {
		return dst, ""
	}
	name := Encoding(accept)
	switch name {
	case "zstd":
		dst = c.zstd.EncodeAll(body, dst)
	case "gzip":
		dst = deflate.AppendGzip(dst, body)
	default:
		return dst, ""
	}
	if len(dst) >= len(body) {
		return dst, ""
	}
	return dst, name
}

// Encoding returns the better of gzip and zstd that an Accept-Encoding header
// allows, the one with the greater weight, and zstd of equals; "" for neither.
func Encoding(accept []byte) string {
	best, name := 0, ""
	star := -1
	weights := [2]int{-1, -1}
	names := [2]string{"zstd", "gzip"}
	for len(accept) > 0 {
		var item []byte
		item, accept, _ = bytes.Cut(accept, door.Comma)
		coding, attrs, _ := bytes.Cut(item, []byte(";"))
		coding = bytes.TrimSpace(coding)
		q := Weight(attrs)
		if string(coding) == "*" {
			star = q
		}
		for i := range names {
			if bytes.EqualFold(coding, []byte(names[i])) || i == 1 && bytes.EqualFold(coding, []byte("x-gzip")) {
				weights[i] = q
			}
		}
	}
	for i, q := range weights {
		if q < 0 {
			q = star
		}
		if q > best {
			best, name = q, names[i]
		}
	}
	return name
}

// Weight reads the q of an Accept-Encoding item in thousandths. What cannot be
// read counts as no wish for that coding.
func Weight(attrs []byte) int {
	attrs = bytes.TrimSpace(attrs)
	if len(attrs) == 0 {
		return 1000
	}
	name, v, _ := bytes.Cut(attrs, door.Equals)
	if v = bytes.TrimSpace(v); !bytes.EqualFold(bytes.TrimSpace(name), []byte("q")) || len(v) == 0 || len(v) > 5 {
		return 0
	}
	if v[0] != '0' && v[0] != '1' || len(v) > 1 && v[1] != '.' {
		return 0
	}
	q, unit := int(v[0]-'0')*1000, 100
	for _, c := range v[min(2, len(v)):] {
		if c < '0' || c > '9' {
			return 0
		}
		q += int(c-'0') * unit
		unit /= 10
	}
	return min(q, 1000)
}

// Pack replaces a complete body by a packed one if the client asks for that and
// it is worthwhile. It returns the buffer that is free now.
func (c *Packers) Pack(ctx *fasthttp.RequestCtx, body, spare []byte) []byte {
	packed, name := c.encode(spare[:0], body, ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))
	if name == "" {
		ctx.Response.SwapBody(body)
		return packed
	}
	ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, name)
	ctx.Response.SwapBody(packed)
	return body
}
