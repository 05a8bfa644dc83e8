package door

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

var testNames = MemberNames{"message", "justification", "c", "n", "o", "é", "p", "q"}

var jsonSeeds = []string{
	`{}`, ` { } `, `{"message":"0x00"}`, `{"message":"a","message":"b"}`, `{"message":"a","message":null}`,
	`{"mess\u0061ge":"x\u00e9\n\"\\\/\b\f\r\t"}`, `{"c":"\ud83d\ude00\ud800\ud800\u0041\udc00x"}`, `{"\u00e9":1,"é":2}`,
	`{"n":67.0,"o":[1,{"a":[]},"",true,false,null]}`, `{"n":-0}`, `{"n":6.7e1}`, `{"n":1E+2}`, `{"n":670e-1}`,
	`{"n":01}`, `{"n":+1}`, `{"n":.5}`, `{"n":1.}`, `{"n":1e}`, `{"n":-}`, `{"n":0x1}`, `{"n":NaN}`, `{"n":18446744073709551616}`,
	`{"n":tru}`, `{"n":nul`, `{"n":TRUE}`, `{"message":"a`, `{"message":"\`, `{"message":"\x"}`, `{"message":"\u12g4"}`, "{\"message\":\"\n\"}",
	`{"message" "a"}`, `{"message":}`, `{"message":"a",}`, `{,}`, `{"a":1 "b":2}`, `{message:"a"}`, `{'message':'a'}`, `{"o":[1,]}`, `{"o":[1 2]}`, `{"o":[`,
	`{}{}`, `{} x`, `[]`, `"x"`, `1`, `null`, `true`, ``, ` `, "\xef\xbb\xbf{}", "{\"message\":\"\xff\xfe\"}", "{}\x00", "\x00",
	`{"message":"0123456789abcdef0123456789abcdef"}`, `{"message":"01234567\"9abcdef"}`, `{"message":"0123456\\89"}`, `{"message":"01234567é9abcdef\u00e9"}`,
	"{\"message\":\"0123456789ab\x1fcdef012345\"}", "{\"message\":\"0123456789ab\x7f\x80\xa2\xdc\x01\"}", `{"message":"0123456789`, `{"message":"01234567`,
	`{"n":1e-99999999999999999999}`, `{"n":0e99999999999999999999}`, "{\"\\u006d\\u0065ssage\":\"\x7f\"}",
}

// TestParseObject holds what is read of a body against the standard library.
func TestParseObject(t *testing.T) {
	t.Parallel()
	for _, s := range jsonSeeds {
		compareJSON(t, []byte(s))
	}
}

func FuzzParseObject(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(compareJSON)
}

func compareJSON(t *testing.T, body []byte) {
	var want map[string]json.RawMessage
	wantErr := json.Unmarshal(body, &want)
	if wantErr == nil && want == nil { // null
		wantErr = ErrEmptyBody
	}
	got, err := ParseObject(body, &testNames, false, nil)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, encoding/json says %v", body, err, wantErr)
	}
	if err != nil {
		return
	}
	for i, name := range testNames {
		compareValue(t, got[i], want[name])
	}
}

func compareValue(t *testing.T, got Value, raw json.RawMessage) {
	t.Helper()
	var want any
	if raw != nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
	}
	wantKind := Absent
	switch want := want.(type) {
	case string:
		wantKind = Text
		// The standard library puts U+FFFD for what is not UTF-8.
		if s := string([]rune(string(got.Bytes()))); s != want {
			t.Fatalf("%s: string %q, want %q", raw, s, want)
		}
	case json.Number:
		wantKind = Number
		compareInteger(t, got.Raw)
	case bool:
		wantKind = Boolean
	case []any:
		wantKind = Array
	case map[string]any:
		wantKind = Object
	}
	if got.Kind() != wantKind {
		t.Fatalf("%s: taken for %s, want %s", raw, got.Kind(), wantKind)
	}
	if raw != nil && got.Kind() != Text && got.Kind() != Absent && !bytes.Equal(got.Raw, raw) {
		t.Fatalf("raw value %q, want %q", got.Raw, raw)
	}
}

// compareInteger holds integer against exact arithmetic.
func compareInteger(t *testing.T, raw []byte) {
	t.Helper()
	if _, exp, _ := strings.Cut(strings.ToLower(string(raw)), "e"); len(raw) > 64 || len(exp) > 4 {
		if n, ok := Integer(raw); ok && strconv.FormatUint(n, 10) != string(raw) {
			t.Fatalf("integer(%s) = %d; it is too long to be looked at", raw, n)
		}
		return // exact arithmetic would take too long
	}
	want, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		t.Fatalf("%s is no number", raw)
	}
	n, ok := Integer(raw)
	fits := want.IsInt() && want.Num().IsUint64()
	if fits != ok || fits && want.Num().Uint64() != n {
		t.Fatalf("integer(%s) = %d, %v", raw, n, ok)
	}
}

func TestInteger(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0", "-0", "0.0", "-0.000e5", "0e99", "67", "67.0", "67.000", "6.7e1", "6.7E+1", "670e-1", "0.067e3", "6700e-2", "67.5", "6.75e1", "-1", "-1e-5",
		"1e19", "1e20", "18446744073709551615", "18446744073709551616", "1844674407370955161500e-2", "184467440737095516150e-1", "1.8446744073709551615e19",
		"99999999999999999999", "9007199254740993", "1e-1", "10e-1", "10e-2", "0.1", "123456789012345678901234567890e-29", "100000000000000000000000000000e-29",
	} {
		compareInteger(t, []byte(s))
	}
	for s, want := range map[string]bool{"1e999999999999999999999": false, "1e-999999999999999999999": false, "1e-0999": false,
		"0e999999999999999999999": false, "67." + strings.Repeat("0", 60): true, "67." + strings.Repeat("0", 62): false} {
		if _, ok := Integer([]byte(s)); ok != want {
			t.Errorf("integer(%s): %v", s, ok)
		}
	}
}

// TestDepth: nesting is bounded, as in the standard library, and a body full of brackets
// does not exhaust the stack.
func TestDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{9_998, 20_000} {
		compareJSON(t, []byte(`{"x":`+strings.Repeat(`[`, depth)+strings.Repeat(`]`, depth)+`}`))
	}
	if _, err := ParseObject([]byte(strings.Repeat(`{"":[`, 1<<18)), &testNames, false, nil); err == nil {
		t.Error("a million levels were accepted")
	}
}
