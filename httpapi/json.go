package httpapi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values in a body.
const maxDepth = 64

// kind is the type of a JSON value.
type kind uint8

const (
	absent kind = iota // no such member, or null
	text
	number
	boolean
	object
	array
)

func (k kind) String() string {
	return [...]string{"null", "a string", "a number", "a boolean", "an object", "an array"}[k]
}

// value is one JSON value. raw aliases the body: a string's content between the
// quotes, any other value as it stands.
type value struct {
	kind    kind
	escaped bool // raw holds backslashes
	raw     []byte
}

// bytes returns a string's content.
func (v value) bytes() []byte {
	if v.escaped {
		return unquote(v.raw)
	}
	return v.raw
}

// parseObject reads a JSON object (RFC 8259) and returns the members called names.
// The last of several members of a name counts; the names of others go to other, if
// it is not nil, and of their values only the syntax is checked. A lenient one is read
// as Go's own decoder reads a stream into a struct: names in any case, a null leaves
// what was there, and what follows the object is not looked at.
func parseObject(body []byte, names *memberNames, lenient bool, other func(name []byte)) (members members, err error) {
	p := parser{b: body}
	p.space()
	switch {
	case p.i == len(body):
		return members, errEmptyBody
	case body[p.i] != '{':
		return members, p.notObject()
	}
	err = p.object(1, func(name, v value) {
		n := name.bytes()
		for i := range names {
			if string(n) == names[i] || lenient && len(names[i]) > 0 && bytes.EqualFold(n, []byte(names[i])) {
				if !lenient || v.kind != absent {
					members[i] = v
				}
				return
			}
		}
		if other != nil {
			other(n)
		}
	})
	if err != nil || lenient {
		return members, err
	}
	return members, p.end()
}

var errEmptyBody = badRequest("the body is empty; a JSON object is expected")

// parser reads one JSON text. i is the next byte.
type parser struct {
	b []byte
	i int
}

func (p *parser) fail(what string) error {
	if p.i >= len(p.b) {
		return badRequest("the body is not valid JSON: it ends too early")
	}
	return badRequest(fmt.Sprintf("the body is not valid JSON: %s at byte %d", what, p.i))
}

// notObject tells valid JSON of another type from what is no JSON.
func (p *parser) notObject() error {
	v, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return err
	}
	return badRequest("the body must be a JSON object, not " + v.kind.String())
}

func (p *parser) end() error {
	if p.space(); p.i < len(p.b) {
		return p.fail("something follows the value")
	}
	return nil
}

func (p *parser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

// next skips space and gives the next byte, 0 at the end.
func (p *parser) next() byte {
	p.space()
	return p.peek()
}

func (p *parser) peek() byte {
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

// object reads an object, whose opening brace is next, at the given depth.
func (p *parser) object(depth int, member func(name, v value)) error {
	if depth > maxDepth {
		return p.fail("too many nested values")
	}
	p.i++
	if p.next() == '}' {
		p.i++
		return nil
	}
	for {
		if p.next() != '"' {
			return p.fail("a member name in quotes is missing")
		}
		name, err := p.string()
		if err != nil {
			return err
		}
		if p.next() != ':' {
			return p.fail("a colon is missing")
		}
		p.i++
		p.space()
		v, err := p.value(depth)
		if err != nil {
			return err
		}
		if member != nil {
			member(name, v)
		}
		switch p.next() {
		case ',':
			p.i++
		case '}':
			p.i++
			return nil
		default:
			return p.fail("a comma or closing brace is missing")
		}
	}
}

// array reads an array, whose opening bracket is next.
func (p *parser) array(depth int) error {
	if depth > maxDepth {
		return p.fail("too many nested values")
	}
	p.i++
	if p.next() == ']' {
		p.i++
		return nil
	}
	for {
		p.space()
		if _, err := p.value(depth); err != nil {
			return err
		}
		switch p.next() {
		case ',':
			p.i++
		case ']':
			p.i++
			return nil
		default:
			return p.fail("a comma or closing bracket is missing")
		}
	}
}

// value reads the value that is next, inside depth others.
func (p *parser) value(depth int) (value, error) {
	v := value{}
	start := p.i
	var err error
	switch c := p.peek(); {
	case c == '"':
		return p.string()
	case c == '{':
		v.kind, err = object, p.object(depth+1, nil)
	case c == '[':
		v.kind, err = array, p.array(depth+1)
	case c == '-' || c >= '0' && c <= '9':
		v.kind, err = number, p.number()
	case c == 't':
		v.kind, err = boolean, p.word("true")
	case c == 'f':
		v.kind, err = boolean, p.word("false")
	case c == 'n':
		v.kind, err = absent, p.word("null")
	default:
		err = p.fail("a value is missing")
	}
	v.raw = p.b[start:p.i]
	return v, err
}

func (p *parser) word(w string) error {
	for i := range len(w) {
		if p.peek() != w[i] {
			return p.fail("a value is misspelt")
		}
		p.i++
	}
	return nil
}

// number reads -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (p *parser) number() error {
	if p.peek() == '-' {
		p.i++
	}
	if p.peek() == '0' {
		p.i++
	} else if err := p.digits(); err != nil {
		return err
	}
	if p.peek() == '.' {
		p.i++
		if err := p.digits(); err != nil {
			return err
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.i++
		if c := p.peek(); c == '+' || c == '-' {
			p.i++
		}
		return p.digits()
	}
	return nil
}

// digits reads at least one digit.
func (p *parser) digits() error {
	start := p.i
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.i++
	}
	if p.i == start {
		return p.fail("a digit is missing")
	}
	return nil
}

// string reads a string, whose opening quote is next. Like other decoders it
// lets bytes pass that are not UTF-8: what they are used for is checked later.
func (p *parser) string() (value, error) {
	p.i++
	v := value{kind: text}
	start := p.i
	for p.i < len(p.b) {
		p.plain()
		switch c := p.peek(); {
		case p.i == len(p.b):
		case c == '"':
			v.raw = p.b[start:p.i]
			p.i++
			return v, nil
		case c == '\\':
			v.escaped = true
			if err := p.escape(); err != nil {
				return v, err
			}
		case c < ' ':
			return v, p.fail("a control character in a string")
		default:
			p.i++
		}
	}
	return v, p.fail("")
}

// plain skips what in a string stands for itself, eight bytes at a time. It may
// stop early, but never late.
func (p *parser) plain() {
	const ones = 0x0101010101010101
	// zero marks the lowest zero byte of w by its top bit; bytes above it may be
	// marked wrongly.
	zero := func(w uint64) uint64 { return (w - ones) &^ w }
	for p.i+8 <= len(p.b) {
		w := binary.LittleEndian.Uint64(p.b[p.i:])
		control := (w - ' '*ones) &^ w
		found := (control | zero(w^'"'*ones) | zero(w^'\\'*ones)) & (0x80 * ones)
		if found != 0 {
			p.i += bits.TrailingZeros64(found) / 8
			return
		}
		p.i += 8
	}
}

// escape reads an escape sequence, whose backslash is next.
func (p *parser) escape() error {
	p.i++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.i++
		return nil
	case 'u':
		p.i++
		for range 4 {
			if hexDigit(p.peek()) > 15 {
				return p.fail("an escape sequence is wrong")
			}
			p.i++
		}
		return nil
	}
	return p.fail("an escape sequence is wrong")
}

// unquote replaces the escape sequences of a string that was read before.
func unquote(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := rune16(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				// A lone half is no character; a pair is one.
				pair := rune(utf8.RuneError)
				if len(raw) > i+6 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					pair = utf16.DecodeRune(r, rune16(raw[i+3:]))
				}
				if r = pair; r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return out
}

// rune16 reads four hex digits.
func rune16(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 | rune(hexDigit(c))
	}
	return r
}
