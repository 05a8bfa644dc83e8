package forward

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var secret = []byte("a secret of tests")

// TestStamp: a header is good for its request, its time and its secret alone, and any bit of it
// counts.
func TestStamp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	header := Sign(secret, "POST", "/v1/webhooks", "me", "key:of ours", []byte("body"), now)
	reads := func(header, method, uri string, at time.Time, secrets ...[]byte) bool {
		s, ok := read(secrets, method, uri, header, at)
		return ok && s.client == "key:of ours" && s.sender == "me"
	}
	if !reads(header, "POST", "/v1/webhooks", now, []byte("older"), secret) {
		t.Fatal("it is not read")
	}
	for _, at := range []time.Duration{-maxSkew, maxSkew} {
		if !reads(header, "POST", "/v1/webhooks", now.Add(at), secret) || reads(header, "POST", "/v1/webhooks", now.Add(at+at/60), secret) {
			t.Errorf("%s: it ends at another time", at)
		}
	}
	if reads(header, "PUT", "/v1/webhooks", now, secret) || reads(header, "POST", "/v1/webhooks?a", now, secret) || reads(header, "POST", "/v1/webhooks", now, []byte("other")) {
		t.Error("it is read for another request, or with another secret")
	}
	for i := range len(header) {
		bad := []byte(header)
		if bad[i] ^= 1; reads(string(bad), "POST", "/v1/webhooks", now, secret) {
			t.Errorf("byte %d does not count", i)
		}
	}
	for _, text := range []string{"", "v1", strings.Repeat(" ", parts-1), strings.Repeat("v1 ", parts), header + " ", header[:len(header)-1]} {
		if reads(text, "POST", "/v1/webhooks", now, secret) {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	good := Sign(secret, "GET", "/", "me", "", nil, now)
	f.Add(good)
	f.Add("v1 1 2 3 4 5")
	f.Fuzz(func(t *testing.T, header string) {
		if _, ok := read([][]byte{secret}, "GET", "/", header, now); ok && header != good {
			t.Errorf("%q is read", header)
		}
	})
}

// TestOrder: all servers ask the same member about a message, each member is the first for
// about as many, and without one of them the order of the rest stays.
func TestOrder(t *testing.T) {
	t.Parallel()
	members := []string{"http://a:1", "http://b:1", "http://c:1"}
	first := map[string]int{}
	for i := range 3000 {
		message := fmt.Appendf(nil, "message %d", i)
		got := order(members, message)
		first[got[0]]++
		if again := order([]string{members[2], members[0], members[1]}, message); !slices.Equal(again, got) {
			t.Fatalf("%v, and %v", got, again)
		}
		if rest := order(members[:2], message); !slices.Equal(rest, slices.DeleteFunc(got, func(m string) bool { return m == members[2] })) {
			t.Fatalf("%v without the last", rest)
		}
	}
	for m, n := range first {
		if n < 850 || n > 1150 {
			t.Errorf("%s is the first for %d of 3000", m, n)
		}
	}
}
