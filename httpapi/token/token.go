// Package token makes and reads page tokens: the places where a listing goes
// on. A token says all by itself, so that nothing is kept for it: which route
// and which filters it belongs to, the chain's height when the first page was
// made, and the last row of the page before. It is signed, so that what it says
// is what was once given out, and opaque to clients.
//
// Layout, in base64url without padding; integers are big-endian:
//
//	u8  version, 1
//	u8  route
//	u8  flags: 1 = ascending
//	[8] filters: a hash of all parameters but pageToken and pageSize
//	u64 tip: the height that the whole walk is pinned at
//	[n] position of the last row, 1 to 128 bytes
//	[8] MAC: the first bytes of HMAC-SHA256 over all of the above
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

const (
	version       = 1
	flagAscending = 1
	headLen       = 3 + FiltersLen + 8
	macLen        = 8
	// FiltersLen is the length of Filters in bytes.
	FiltersLen = 8
	// MaxPosition bounds the length of a position in bytes.
	MaxPosition = 128
	maxRaw      = headLen + MaxPosition + macLen
	// MaxLen bounds the length of a token's text.
	MaxLen = (maxRaw*8 + 5) / 6
	// MinKey is the least length of a key in bytes.
	MinKey = 16
)

var (
	// ErrInvalid means that a token was not made here, or not with this key.
	ErrInvalid = errors.New("it was not made by this server")
	// ErrOther means that a token is genuine but belongs to another request.
	ErrOther = errors.New("it belongs to a request with another path or other parameters")
	// ErrKey means that a key is too short.
	ErrKey = errors.New("token: the key must have at least 16 bytes")
)

// Filters is a hash of what a listing selects.
type Filters [FiltersLen]byte

// HashFilters hashes the parameters of a request in a form in which equal
// requests have equal bytes.
func HashFilters(canonical []byte) (f Filters) {
	sum := sha256.Sum256(canonical)
	copy(f[:], sum[:])
	return f
}

// Token is the content of a token.
type Token struct {
	Route     uint8
	Filters   Filters
	Tip       uint64
	Ascending bool
	// Position is that of the last row given. It has 1 to MaxPosition bytes.
	Position []byte
}

// Codec signs tokens with its key, and checks them. It does not change after New.
type Codec struct {
	inner, outer [sha256.BlockSize]byte
	older        *Codec // whose tokens are taken, too
}

// New returns the codec of a secret key, which also takes tokens of others.
func New(key []byte, older ...[]byte) (*Codec, error) {
	if len(key) < MinKey {
		return nil, ErrKey
	}
	if len(key) > sha256.BlockSize {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	c := &Codec{}
	if len(older) > 0 {
		var err error
		if c.older, err = New(older[0], older[1:]...); err != nil {
			return nil, err
		}
	}
	copy(c.inner[:], key)
	copy(c.outer[:], key)
	for i := range c.inner {
		c.inner[i] ^= 0x36
		c.outer[i] ^= 0x5c
	}
	return c, nil
}

// Append appends the text of t. Positions are made by the index and are never
// too long; of one that is there is no text.
func (c *Codec) Append(dst []byte, t *Token) []byte {
	if len(t.Position) == 0 || len(t.Position) > MaxPosition {
		return dst
	}
	var buf [maxRaw]byte
	raw := append(buf[:0], version, t.Route, 0)
	if t.Ascending {
		raw[2] = flagAscending
	}
	raw = append(raw, t.Filters[:]...)
	raw = binary.BigEndian.AppendUint64(raw, t.Tip)
	raw = append(raw, t.Position...)
	mac := c.mac(raw)
	raw = append(raw, mac[:]...)
	return base64.RawURLEncoding.AppendEncode(dst, raw)
}

// Parse reads a token that must belong to route and filters. The position is
// kept in buf, which is grown if need be. Errors are ErrInvalid and ErrOther.
func (c *Codec) Parse(buf, text []byte, route uint8, filters Filters) (Token, error) {
	t, err := c.parse(buf, text, route, filters)
	for of := c.older; of != nil && errors.Is(err, ErrInvalid); of = of.older {
		t, err = of.parse(buf, text, route, filters)
	}
	return t, err
}

// parse is Parse with the codec's own key.
func (c *Codec) parse(buf, text []byte, route uint8, filters Filters) (Token, error) {
	if len(text) > MaxLen {
		return Token{}, ErrInvalid
	}
	raw, err := strict.AppendDecode(buf[:0], text)
	// The decoder passes line breaks over: a token has one form only.
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(text) || len(raw) <= headLen+macLen {
		return Token{}, ErrInvalid
	}
	body, given := raw[:len(raw)-macLen], raw[len(raw)-macLen:]
	mac := c.mac(body)
	if !hmac.Equal(mac[:], given) || body[0] != version || body[2] > flagAscending {
		return Token{}, ErrInvalid
	}
	t := Token{
		Route: body[1], Filters: Filters(body[3 : 3+FiltersLen]), Tip: binary.BigEndian.Uint64(body[3+FiltersLen:]),
		Ascending: body[2] == flagAscending, Position: body[headLen:],
	}
	if t.Route != route || t.Filters != filters {
		return Token{}, ErrOther
	}
	return t, nil
}

var strict = base64.RawURLEncoding.Strict()

// mac is HMAC-SHA256, cut. It works on the stack, which crypto/hmac does not.
func (c *Codec) mac(msg []byte) (out [macLen]byte) {
	var buf [sha256.BlockSize + maxRaw]byte
	in := append(append(buf[:0], c.inner[:]...), msg...)
	sum := sha256.Sum256(in)
	in = append(append(buf[:0], c.outer[:]...), sum[:]...)
	sum = sha256.Sum256(in)
	copy(out[:], sum[:])
	return out
}
