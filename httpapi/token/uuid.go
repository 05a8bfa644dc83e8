package token

import (
	"crypto/hmac"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"
)

// Page tokens in the form of a UUID have a fixed size, and end. Like the others
// they say all by themselves; what they belong to is not in them, but signed
// with them.
//
// Layout, a UUID of version 8 in its text form; integers are big-endian:
//
//	u36 time at which it was made, in Unix seconds
//	u12 position, upper half | u4 version, 8 | u12 position, lower half
//	u2  variant, 2
//	u62 MAC: the first bits of HMAC-SHA256 over u8 2 | u8 route | filters |
//	    u64 time | u32 position
const (
	uuidLen   = 36
	uuidBytes = 16
	// uuidMAC is the first byte of what is signed: no other token begins so.
	uuidMAC     = 2
	uuidVersion = 8
	uuidVariant = 2
	uuidTime    = 1<<36 - 1
	// MaxUUIDPosition bounds the position of a UUID.
	MaxUUIDPosition = 1<<24 - 1
	macBits         = 1<<62 - 1
)

// Lifetime is how long a UUID is good for.
const Lifetime = 24 * time.Hour

var (
	// ErrForeign means that a UUID was not made here, not with this key, or for
	// another request.
	ErrForeign = errors.New("it was not made by this server for this list")
	// ErrExpired means that a UUID is too old.
	ErrExpired = errors.New("it is older than 24 hours; start again from the first page, without pageToken")
)

// UUID is the content of a page token in the form of a UUID.
type UUID struct {
	Route   uint8
	Filters Filters
	// Position is that of the last row given, at most MaxUUIDPosition.
	Position uint32
}

// uuidGroups are the bytes between the text's hyphens.
var uuidGroups = [...]struct{ start, end int }{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, uuidBytes}}

// AppendUUID appends the text of u, made at a time.
func (c *Codec) AppendUUID(dst []byte, u *UUID, made time.Time) []byte {
	unix, pos := uint64(made.Unix())&uuidTime, uint64(u.Position)&MaxUUIDPosition
	var raw [uuidBytes]byte
	binary.BigEndian.PutUint64(raw[:], unix<<28|pos>>12<<16|uuidVersion<<12|pos&0xfff)
	binary.BigEndian.PutUint64(raw[8:], uuidVariant<<62|c.uuidMAC(u.Route, u.Filters, unix, pos))
	for i, g := range uuidGroups {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, raw[g.start:g.end])
	}
	return dst
}

// ParseUUID reads a UUID that must belong to route and filters, and returns its
// position. Letters may be of either case. Errors are ErrForeign and ErrExpired.
func (c *Codec) ParseUUID(text []byte, route uint8, filters Filters, now time.Time) (uint32, error) {
	pos, err := c.parseUUID(text, route, filters, now)
	for of := c.older; of != nil && errors.Is(err, ErrForeign); of = of.older {
		pos, err = of.parseUUID(text, route, filters, now)
	}
	return pos, err
}

// parseUUID is ParseUUID with the codec's own key.
func (c *Codec) parseUUID(text []byte, route uint8, filters Filters, now time.Time) (uint32, error) {
	var raw [uuidBytes]byte
	if len(text) != uuidLen {
		return 0, ErrForeign
	}
	for i, g := range uuidGroups {
		if i > 0 {
			if text[0] != '-' {
				return 0, ErrForeign
			}
			text = text[1:]
		}
		n := hex.EncodedLen(g.end - g.start)
		if _, err := hex.Decode(raw[g.start:g.end], text[:n]); err != nil {
			return 0, ErrForeign
		}
		text = text[n:]
	}
	hi, lo := binary.BigEndian.Uint64(raw[:]), binary.BigEndian.Uint64(raw[8:])
	unix, pos := hi>>28, hi>>16&0xfff<<12|hi&0xfff
	var want, given [8]byte
	binary.BigEndian.PutUint64(want[:], uuidVariant<<62|c.uuidMAC(route, filters, unix, pos))
	binary.BigEndian.PutUint64(given[:], lo)
	if !hmac.Equal(want[:], given[:]) || hi>>12&0xf != uuidVersion {
		return 0, ErrForeign
	}
	if now.Sub(time.Unix(int64(unix), 0)) >= Lifetime {
		return 0, ErrExpired
	}
	return uint32(pos), nil
}

func (c *Codec) uuidMAC(route uint8, filters Filters, unix, pos uint64) uint64 {
	var buf [2 + FiltersLen + 8 + 4]byte
	msg := append(append(buf[:0], uuidMAC, route), filters[:]...)
	msg = binary.BigEndian.AppendUint64(msg, unix)
	mac := c.mac(binary.BigEndian.AppendUint32(msg, uint32(pos)))
	return binary.BigEndian.Uint64(mac[:]) >> 2 & macBits
}
