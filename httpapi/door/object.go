package door

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	json "github.com/goccy/go-json"
)

// kind is the type of a JSON value.
type kind uint8

const (
	Absent kind = iota // no such member, or null
	Text
	Number
	Boolean
	Object
	Array
)

func (k kind) String() string {
	return [...]string{"null", "a string", "a number", "a boolean", "an object", "an array"}[k]
}

// maxMembers bounds the members of an object that have names.
const maxMembers = 8

type (
	MemberNames [maxMembers]string
	Members     [maxMembers]Value
)

// Value is one JSON value as it was sent, without space around it; the zero value is absent.
type Value struct{ Raw json.RawMessage }

func (v Value) Kind() kind {
	if len(v.Raw) == 0 {
		return Absent
	}
	switch v.Raw[0] {
	case '"':
		return Text
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Boolean
	case 'n':
		return Absent
	}
	return Number
}

// Bytes returns a string's content. Like other decoders it lets bytes pass that are not
// UTF-8: what they are used for is checked later.
func (v Value) Bytes() []byte {
	if v.Kind() != Text {
		return nil
	}
	if inner := v.Raw[1 : len(v.Raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if err := json.Unmarshal(v.Raw, &s); err != nil {
		return nil // it was read before
	}
	return []byte(s)
}

// Each calls f with the items of an array.
func (v Value) Each(f func(item Value) error) error {
	var items []json.RawMessage
	if err := json.Unmarshal(v.Raw, &items); err != nil {
		return notJSON(err)
	}
	for _, item := range items {
		if err := f(Value{item}); err != nil {
			return err
		}
	}
	return nil
}

var ErrEmptyBody = BadRequest("the body is empty; a JSON object is expected")

// ParseObject reads a JSON object (RFC 8259) and returns the members called names.
// The last of several members of a name counts; the names of others go to other, if
// it is not nil, and of their values only the syntax is checked. A lenient one is read
// as Go's own decoder reads a stream into a struct: names in any case, a null leaves
// what was there, and what follows the object is not looked at. No value aliases body.
func ParseObject(body []byte, names *MemberNames, lenient bool, other func(name []byte)) (members Members, err error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return members, ErrEmptyBody
	}
	var whole Value
	if lenient {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(&whole.Raw)
	} else {
		err = json.Unmarshal(body, &whole.Raw)
	}
	if err != nil {
		return members, notJSON(err)
	}
	if k := whole.Kind(); k != Object {
		return members, BadRequest("the body must be a JSON object, not " + k.String())
	}
	d := json.NewDecoder(bytes.NewReader(whole.Raw))
	if _, err := d.Token(); err != nil { // the brace
		return members, notJSON(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return members, notJSON(err)
		}
		var v Value
		if err := d.Decode(&v.Raw); err != nil {
			return members, notJSON(err)
		}
		n, _ := name.(string) // it cannot be anything else
		i := names.index(n, lenient)
		switch {
		case i < 0 && other != nil:
			other([]byte(n))
		case i >= 0 && (!lenient || v.Kind() != Absent):
			members[i] = v
		}
	}
	return members, nil
}

// index returns which of the names n is, -1 for none.
func (names *MemberNames) index(n string, anyCase bool) int {
	for i, name := range names {
		if name != "" && (n == name || anyCase && strings.EqualFold(n, name)) {
			return i
		}
	}
	return -1
}

// notJSON says where a body is no JSON.
func notJSON(err error) *Failure {
	const most = 100 // of what the decoder says, in bytes: it may quote the body
	what := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.HasPrefix(what, "unexpected end") {
		return BadRequest("the body is not valid JSON: it ends too early")
	}
	if len(what) > most {
		what = what[:most] + "..."
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset > 0 {
		what = fmt.Sprintf("%s at byte %d", what, syntax.Offset-1)
	}
	return BadRequest("the body is not valid JSON: " + what)
}

// Integer returns the exact value of a JSON number if it is an integer that 64 bits hold,
// however it is written: 67, 67.0, 6.7e1 and 670e-1 are the same.
func Integer(raw []byte) (uint64, bool) {
	if n, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		return n, true // nearly all
	}
	// Nobody writes such a number, and it would take long to find out what it is.
	const maxDigits, maxExponent = 64, len("+999")
	text := strings.ToLower(string(raw))
	if _, exponent, _ := strings.Cut(text, "e"); len(text) > maxDigits || len(exponent) > maxExponent {
		return 0, false
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() {
		return 0, false
	}
	return n.Num().Uint64(), n.Num().IsUint64()
}
