// Package pull reads JSON text in one pass and in place: the caller asks for
// the next key, string or element, so answers of known shape become structs
// without reflection and without a copy. It checks the grammar of what it is
// asked for; of values that are passed over it checks the nesting only.
package pull

import (
	"bytes"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of values that are passed over. A call trace nests
// twice for each of at most 1024 calls.
const maxDepth = 4096

// ErrSyntax is wrapped by all errors of a Parser.
var ErrSyntax = errors.New("malformed JSON")

// Parser reads one text. After an error all methods give zero values, so that
// Err need be asked only once, at the end. The zero value reads an empty text.
type Parser struct {
	buf   []byte
	pos   int
	err   error
	stack []byte // closing brackets that Skip waits for
}

// Reset makes p read buf, from its beginning.
func (p *Parser) Reset(buf []byte) {
	p.buf, p.pos, p.err = buf, 0, nil
}

// Err returns the first error.
func (p *Parser) Err() error { return p.err }

// Fail makes err the parser's error unless it has one.
func (p *Parser) Fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *Parser) syntax(what string) {
	p.Fail(fmt.Errorf("%w: want %s at byte %d of %d", ErrSyntax, what, p.pos, len(p.buf)))
}

// peek returns the next byte that is not white space, 0 at the end or after an error.
func (p *Parser) peek() byte {
	if p.err != nil {
		return 0
	}
	for p.pos < len(p.buf) {
		switch c := p.buf[p.pos]; c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
	return 0
}

func (p *Parser) open(c byte, what string) {
	if p.peek() != c {
		p.syntax(what)
		return
	}
	p.pos++
}

// more steps to the next member or element of what open has opened. first tells
// that none was read yet.
func (p *Parser) more(first bool, end byte) bool {
	c := p.peek()
	if c == end {
		p.pos++
		return false
	}
	if first {
		return p.err == nil
	}
	if c != ',' {
		p.syntax("a comma or the end")
		return false
	}
	p.pos++
	return true
}

// Members walks an object: key is called with each member's name and must read
// its value by one call of a method of p. The name is as written, escapes and all.
func (p *Parser) Members(key func(name []byte)) {
	p.open('{', "an object")
	for first := true; p.more(first, '}'); first = false {
		name := p.Text()
		if p.peek() != ':' {
			p.syntax("a colon")
			return
		}
		p.pos++
		key(name)
		if p.err != nil {
			return
		}
	}
}

// Elements walks an array: element must read one value by one call of a method of p.
func (p *Parser) Elements(element func(i int)) {
	p.open('[', "an array")
	i := 0
	for ; p.more(i == 0, ']'); i++ {
		element(i)
		if p.err != nil {
			return
		}
	}
}

// Null reads null and reports whether it was there. Otherwise nothing is read.
func (p *Parser) Null() bool {
	if p.peek() != 'n' {
		return false
	}
	if !bytes.HasPrefix(p.buf[p.pos:], []byte("null")) {
		p.syntax("null")
		return false
	}
	p.pos += len("null")
	return true
}

// Bool reads true or false.
func (p *Parser) Bool() bool {
	p.peek()
	switch rest := p.buf[p.pos:]; {
	case p.err != nil:
	case bytes.HasPrefix(rest, []byte("true")):
		p.pos += len("true")
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		p.pos += len("false")
		return false
	}
	p.syntax("true or false")
	return false
}

// Text reads a string and gives the bytes between its quotes as written: escapes
// stay. The bytes belong to the text that is read.
func (p *Parser) Text() []byte {
	if p.peek() != '"' {
		p.syntax("a string")
		return nil
	}
	p.pos++
	start := p.pos
	for {
		n := bytes.IndexByte(p.buf[p.pos:], '"')
		if n < 0 {
			p.pos = len(p.buf)
			p.syntax("the end of a string")
			return nil
		}
		p.pos += n + 1
		if !escaped(p.buf[start : p.pos-1]) {
			return p.buf[start : p.pos-1]
		}
	}
}

// escaped reports whether the byte after s is escaped: s ends with an odd number of backslashes.
func escaped(s []byte) bool {
	n := len(s)
	for n > 0 && s[n-1] == '\\' {
		n--
	}
	return (len(s)-n)%2 == 1
}

// Raw reads a value of any kind and gives its text.
func (p *Parser) Raw() []byte {
	p.peek()
	start := p.pos
	p.Skip()
	if p.err != nil {
		return nil
	}
	return p.buf[start:p.pos]
}

// Skip passes over a value of any kind.
func (p *Parser) Skip() {
	p.stack = p.stack[:0]
	for {
		switch c := p.peek(); c {
		case '{', '[':
			if len(p.stack) == maxDepth {
				p.syntax("less nesting")
				return
			}
			p.pos++
			p.stack = append(p.stack, c+2) // the closing one is two code points on
			continue
		case '}', ']':
			if n := len(p.stack); n == 0 || p.stack[n-1] != c {
				p.syntax("a value")
				return
			}
			p.pos++
			p.stack = p.stack[:len(p.stack)-1]
		case ',', ':':
			if len(p.stack) == 0 {
				p.syntax("a value")
				return
			}
			p.pos++
			continue
		case '"':
			p.Text()
		default:
			p.scalar()
		}
		if p.err != nil || len(p.stack) == 0 {
			return
		}
	}
}

// scalar passes over a number or a literal.
func (p *Parser) scalar() {
	start := p.pos
	for p.pos < len(p.buf) {
		c := p.buf[p.pos]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
			p.pos++
			continue
		}
		break
	}
	if p.pos == start {
		p.syntax("a value")
	}
}

// End reports whether nothing but white space is left, and fails otherwise.
func (p *Parser) End() bool {
	if p.peek(); p.err == nil && p.pos != len(p.buf) {
		p.syntax("the end")
	}
	return p.err == nil
}
