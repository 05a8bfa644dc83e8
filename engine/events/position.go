package events

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// hashLen is how many bytes of a hash a position carries.
const hashLen = 6

// distances are how far below a position the blocks are whose hashes it carries. A chain
// goes back 1,024 blocks at most.
var distances = [...]uint64{0, 1, 4, 16, 64, 256, 1024}

// distance returns one of the distances from a height, and reports whether there is such a
// block. The first that goes beyond block 0 stands for that one.
func distance(i int, height uint64) (uint64, bool) {
	if i > 0 && distances[i-1] >= height {
		return 0, false
	}
	return min(distances[i], height), true
}

// Trail has the beginnings of the hashes of a block and of some before it, as far as
// there are such. The zero value has none.
type Trail struct {
	n      int
	hashes [len(distances)][hashLen]byte
	// corrected is the chain's last correction when the block was read: later ones make
	// what was delivered void though the chain has the same blocks.
	corrected [hashLen]byte
}

// Position is a place between two events of a chain.
type Position struct {
	Height uint64
	// Passed is how many events of the block at Height come before.
	Passed uint32
	Trail  Trail
}

// whole as [Position.Passed] means that all events of the block come before.
const whole = math.MaxUint32

// ErrPosition means that a text is no position.
var ErrPosition = errors.New("not a position")

// Before returns the position before the first event of a block.
func Before(height uint64) Position { return Position{Height: height} }

var encoding = base64.RawURLEncoding

// Append appends the position as text: HEIGHT.PASSED.TRAIL, and behind another point the
// last correction, if there was one. PASSED is empty behind the last event of a block.
func (p *Position) Append(dst []byte) []byte {
	dst = append(strconv.AppendUint(dst, p.Height, 10), '.')
	if p.Passed != whole {
		dst = strconv.AppendUint(dst, uint64(p.Passed), 10)
	}
	dst = append(dst, '.')
	for i := range p.Trail.n {
		dst = encoding.AppendEncode(dst, p.Trail.hashes[i][:])
	}
	if p.Trail.corrected != ([hashLen]byte{}) {
		dst = encoding.AppendEncode(append(dst, '.'), p.Trail.corrected[:])
	}
	return dst
}

// String returns the position as text.
func (p *Position) String() string { return string(p.Append(nil)) }

// ParsePosition reads what [Position.Append] wrote.
func ParsePosition(s string) (p Position, err error) {
	height, rest, ok := strings.Cut(s, ".")
	passed, trail, more := strings.Cut(rest, ".")
	if !ok || !more {
		return p, ErrPosition
	}
	if p.Height, err = strconv.ParseUint(height, 10, 63); err != nil {
		return p, ErrPosition
	}
	p.Passed = whole
	if passed != "" {
		n, err := strconv.ParseUint(passed, 10, 32)
		if err != nil || n == whole {
			return p, ErrPosition
		}
		p.Passed = uint32(n)
	}
	trail, corrected, is := strings.Cut(trail, ".")
	if is {
		raw, err := encoding.DecodeString(corrected)
		if err != nil || len(raw) != hashLen || [hashLen]byte(raw) == [hashLen]byte{} {
			return p, ErrPosition
		}
		p.Trail.corrected = [hashLen]byte(raw)
	}
	raw, err := encoding.DecodeString(trail)
	if err != nil || len(raw)%hashLen != 0 || len(raw) > len(distances)*hashLen {
		return p, ErrPosition
	}
	p.Trail.n = len(raw) / hashLen
	for i := range p.Trail.n {
		copy(p.Trail.hashes[i][:], raw[i*hashLen:])
	}
	// Without a hash a position could be of any chain: only one that has delivered nothing may.
	if p.Trail.n == 0 && p.Passed != 0 {
		return p, ErrPosition
	}
	if p.Trail.n > 0 {
		if _, ok := distance(p.Trail.n-1, p.Height); !ok {
			return p, ErrPosition
		}
	}
	return p, nil
}

// has reports whether the trail's hash at a place is that of a block.
func (t *Trail) has(i int, h *evm.Hash) bool { return [hashLen]byte(h[:hashLen]) == t.hashes[i] }

// fits reports whether the position is behind a block, or has delivered nothing yet.
func (p *Position) fits(h *evm.Hash) bool { return p.Trail.n == 0 || p.Trail.has(0, h) }

// trailOf reads the trail of a block.
func trailOf(v *index.View, h *index.Header) (t Trail, err error) {
	t.corrected = v.Corrected()
	for i := range distances {
		d, ok := distance(i, h.Number)
		if !ok || h.Number-d < v.First() {
			break
		}
		hash := h.Hash
		switch d {
		case 0:
		case 1:
			hash = h.Parent
		default:
			b, found, err := v.Block(h.Number - d)
			if err != nil {
				return t, err
			}
			if !found {
				return t, errMissing(h.Number - d)
			}
			hash = b.Hash
		}
		copy(t.hashes[i][:], hash[:])
		t.n++
	}
	return t, nil
}
