package vm

import (
	"errors"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes string
		into  message
		want  message // nil: malformed
	}{
		{"", &initializeRequest{9, "x"}, &initializeRequest{}},
		{"\x08\x2d\x12\x0f127.0.0.1:50001", &initializeRequest{}, &initializeRequest{45, "127.0.0.1:50001"}},
		{"\x12\x01a\x08\x01\x12\x01b\x08\x02", &initializeRequest{}, &initializeRequest{2, "b"}}, // the last one counts
		{"\x18\x07\x22\x01z\x08\x2d", &initializeRequest{}, &initializeRequest{45, ""}},          // unknown fields
		{"\x0a\x01a\x10\x05", &initializeRequest{}, &initializeRequest{}},                        // other types
		{"\x08\xff\xff\xff\xff\x10", &initializeRequest{}, nil},                                  // above 32 bits
		{"\x12\x02\xff\xfe", &initializeRequest{}, nil},
		{"\x12\x05ab", &initializeRequest{}, nil},
		{"\x08", &initializeRequest{}, nil},
		{"\x00", &initializeRequest{}, nil},
		{"\x0b", &empty{}, nil}, // a group without end
		{"\x0a\x06v1.2.3", &versionResponse{}, &versionResponse{"v1.2.3"}},
		{"\x0a\x01\xc0", &versionResponse{}, nil},
		{"\x0a\x01a", &empty{}, &empty{}},
	} {
		err := codec{}.Unmarshal(sliceOf(c.bytes), c.into)
		if c.want == nil {
			if !errors.Is(err, errMessage) {
				t.Errorf("%q: got %v", c.bytes, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(c.into, c.want) {
			t.Errorf("%q: got %+v, %v, want %+v", c.bytes, c.into, err, c.want)
		}
	}
	if err := (codec{}).Unmarshal(nil, new(string)); err == nil {
		t.Error("a string was decoded into")
	}
	if _, err := (codec{}).Marshal("x"); err == nil {
		t.Error("a string was encoded")
	}
}

// FuzzMessages: no bytes make the decoders panic, what they accept comes back
// the same from its own encoding, and they accept only well-formed messages.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "\x08\x2d\x12\x0f127.0.0.1:50001", "\x0a\x06v1.2.3", "\x0b\x0c", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x12\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		wellFormed := true
		for rest := src; len(rest) > 0 && wellFormed; {
			_, _, n := protowire.ConsumeField(rest)
			wellFormed = n >= 0
			rest = rest[max(n, 0):]
		}
		for _, pair := range [][2]message{
			{&initializeRequest{}, &initializeRequest{}}, {&versionResponse{}, &versionResponse{}}, {&empty{}, &empty{}},
		} {
			m, again := pair[0], pair[1]
			if err := m.parse(src); err != nil {
				continue
			}
			if !wellFormed {
				t.Errorf("%T accepts %x", m, src)
			}
			if err := again.parse(m.append(nil)); err != nil || !reflect.DeepEqual(m, again) {
				t.Errorf("%+v comes back as %+v, %v", m, again, err)
			}
		}
	})
}

func TestTail(t *testing.T) {
	t.Parallel()
	var w tail
	var all string
	for i, n := range []int{0, 3, maxText - 4, 1, 1, 5, maxText, maxText + 7, 2} {
		part := string(rune('a'+i)) + "123456789"
		for len(part) < n {
			part += part
		}
		part = part[:n]
		if k, err := w.Write([]byte(part)); k != n || err != nil {
			t.Fatalf("wrote %d, %v", k, err)
		}
		all += part
		if want := all[max(0, len(all)-maxText):]; w.String() != want {
			t.Fatalf("after %d bytes: got %d bytes, %.20q, want %.20q", len(all), len(w.String()), w.String(), want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"a\nb\x1b[31m\x00c\n":   "a b [31m c",
		"\xffö\xc3":             "ö",
		"0123456789abcdeö":      "0123456789abcde",
		"one\u2028two\u202ethr": "one two thr",
	} {
		if got := clean(in, 16); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"": "", "\n \n": "", "a": "a", "a\nb\r\n\n": "b"} {
		var w tail
		w.Write([]byte(in))
		if got := w.lastLine(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := hide("/plugins/x: not found, /plugins2/y", "/plugins"); got != "x: not found, /plugins2/y" {
		t.Errorf("got %q", got)
	}
	if got := hide("/x", "/"); got != "/x" {
		t.Errorf("got %q", got)
	}
}
