package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"quorate/httpapi/door"
	"quorate/httpapi/sign"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	f := func(in, want string) {
		t.Helper()
		got := door.Excerpt([]byte(in))
		if got != want {
			t.Errorf("excerpt(%q) = %s, want %s", in, got, want)
		}
		if len(got) > door.MaxExcerpt {
			t.Errorf("excerpt(%q) has %d bytes", in, len(got))
		}
	}
	f("", `""`)
	f("fuji", `"fuji"`)
	f("a\"\n\xff\u00e9", `"a\"\n\xff\u00e9"`)
	f(strings.Repeat("x", 98), `"`+strings.Repeat("x", 98)+`"`)
	f(strings.Repeat("x", 99), `"`+strings.Repeat("x", 95)+`..."`)
	f(strings.Repeat("x", 1000), `"`+strings.Repeat("x", 95)+`..."`)
	f(strings.Repeat("\x00", 1000), `"`+strings.Repeat(`\x00`, 23)+`\x0..."`)
}

func TestRetrySeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{1: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90"} {
		if got := door.RetrySeconds(d); got != want {
			t.Errorf("retrySeconds(%v) = %s, want %s", d, got, want)
		}
	}
}

// FuzzErrorBody: whatever a message holds, the body is JSON that says it.
func FuzzErrorBody(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\n\x00\x1f\x7f", "\xff\xc3", "é\u2028\U0001f600", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, message string) {
		want := string([]rune(message)) // with U+FFFD for what is not UTF-8
		var data struct {
			Message    string
			StatusCode int
			Error      string
		}
		if err := json.Unmarshal(door.AppendError(nil, 503, message), &data); err != nil {
			t.Fatal(err)
		}
		if data.Message != want || data.StatusCode != 503 || data.Error != "Service Unavailable" {
			t.Fatalf("got %+v, want message %q", data, want)
		}
		var relayer struct{ Error string }
		if err := json.Unmarshal(sign.AppendError(nil, 400, message), &relayer); err != nil {
			t.Fatal(err)
		}
		if relayer.Error != want {
			t.Fatalf("got %q, want %q", relayer.Error, want)
		}
		if got := door.Excerpt([]byte(message)); len(got) > door.MaxExcerpt || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("excerpt %q", got)
		}
	})
}
