package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	json "github.com/goccy/go-json"
)

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

// maxMembers bounds the members of an object that have names.
const maxMembers = 8

type (
	memberNames [maxMembers]string
	members     [maxMembers]value
)

// value is one JSON value as it was sent, without space around it; the zero value is absent.
type value struct{ raw json.RawMessage }

func (v value) kind() kind {
	if len(v.raw) == 0 {
		return absent
	}
	switch v.raw[0] {
	case '"':
		return text
	case '{':
		return object
	case '[':
		return array
	case 't', 'f':
		return boolean
	case 'n':
		return absent
	}
	return number
}

// bytes returns a string's content. Like other decoders it lets bytes pass that are not
// UTF-8: what they are used for is checked later.
func (v value) bytes() []byte {
	if v.kind() != text {
		return nil
	}
	if inner := v.raw[1 : len(v.raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if err := json.Unmarshal(v.raw, &s); err != nil {
		return nil // it was read before
	}
	return []byte(s)
}

// each calls f with the items of an array.
func (v value) each(f func(item value) error) error {
	var items []json.RawMessage
	if err := json.Unmarshal(v.raw, &items); err != nil {
		return notJSON(err)
	}
	for _, item := range items {
		if err := f(value{item}); err != nil {
			return err
		}
	}
	return nil
}

var errEmptyBody = badRequest("the body is empty; a JSON object is expected")

// parseObject reads a JSON object (RFC 8259) and returns the members called names.
// The last of several members of a name counts; the names of others go to other, if
// it is not nil, and of their values only the syntax is checked. A lenient one is read
// as Go's own decoder reads a stream into a struct: names in any case, a null leaves
// what was there, and what follows the object is not looked at. No value aliases body.
func parseObject(body []byte, names *memberNames, lenient bool, other func(name []byte)) (members members, err error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return members, errEmptyBody
	}
	var whole value
	if lenient {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(&whole.raw)
	} else {
		err = json.Unmarshal(body, &whole.raw)
	}
	if err != nil {
		return members, notJSON(err)
	}
	if k := whole.kind(); k != object {
		return members, badRequest("the body must be a JSON object, not " + k.String())
	}
	d := json.NewDecoder(bytes.NewReader(whole.raw))
	if _, err := d.Token(); err != nil { // the brace
		return members, notJSON(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return members, notJSON(err)
		}
		var v value
		if err := d.Decode(&v.raw); err != nil {
			return members, notJSON(err)
		}
		n, _ := name.(string) // it cannot be anything else
		i := names.index(n, lenient)
		switch {
		case i < 0 && other != nil:
			other([]byte(n))
		case i >= 0 && (!lenient || v.kind() != absent):
			members[i] = v
		}
	}
	return members, nil
}

// index returns which of the names n is, -1 for none.
func (names *memberNames) index(n string, anyCase bool) int {
	for i, name := range names {
		if name != "" && (n == name || anyCase && strings.EqualFold(n, name)) {
			return i
		}
	}
	return -1
}

// notJSON says where a body is no JSON.
func notJSON(err error) *failure {
	const most = 100 // of what the decoder says, in bytes: it may quote the body
	what := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.HasPrefix(what, "unexpected end") {
		return badRequest("the body is not valid JSON: it ends too early")
	}
	if len(what) > most {
		what = what[:most] + "..."
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset > 0 {
		what = fmt.Sprintf("%s at byte %d", what, syntax.Offset-1)
	}
	return badRequest("the body is not valid JSON: " + what)
}
