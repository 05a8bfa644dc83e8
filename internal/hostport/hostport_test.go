package hostport

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	f := func(s, host string, port uint16, wrong string) {
		t.Helper()
		h, p, err := Split(s)
		if h != host || p != port || (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %q, %d, %v; want %q, %d, %q", s, h, p, err, host, port, wrong)
		}
		if err == nil && net.JoinHostPort(h, strconv.Itoa(int(p))) != s {
			t.Errorf("%q joined again is %q", s, net.JoinHostPort(h, strconv.Itoa(int(p))))
		}
	}
	const form, noHost, noPort = "not of the form HOST:PORT", "neither an IP address nor a name", "is no port"
	for host, plain := range map[string]string{
		"127.0.0.1": "127.0.0.1", "[::1]": "::1", "[fe80::1%eth0]": "fe80::1%eth0", "[::ffff:10.0.0.1]": "::ffff:10.0.0.1",
		"localhost": "localhost", "Validator-1.example": "Validator-1.example", "name.example.": "name.example.", "my_db": "my_db", "7.example": "7.example",
		long + ".example": long + ".example", "": "", "0.0.0.0": "0.0.0.0", "[::]": "::",
	} {
		f(host+":9650", plain, 9650, "")
		f(host+":0", plain, 0, "")
		f(host+":65535", plain, 65535, "")
		for _, port := range []string{"65536", "-1", "+1", "http", " 80", "1e3", "0x50"} {
			f(host+":"+port, "", 0, noPort)
		}
		f(host+":", "", 0, noPort)
		if host != "" {
			f(host, "", 0, form)
		}
	}
	for _, host := range []string{
		"[127.0.0.1]", "[localhost]", "[]", "127.0.0.256", "1.2.3", "2130706433", "0x7f.1", "127.1.", "0X", "a.99999999999999999999", "a b", "http//x", "user@host", "-a", "a-", "a..b", ".", "ex\u00e4mple", "a\x00",
		long + "a", strings.Repeat(long+".", 4) + "com",
	} {
		f(host+":80", "", 0, noHost)
	}
	for _, s := range []string{"", ":", "::1:80", "[::1", "::1]:80", "[::1]80", "a:80:80", "80", "http://a:80"} {
		f(s, "", 0, form)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[::1]": "::1", "::1": "::1", "[fe80::1%eth0]": "fe80::1%eth0", "127.0.0.1": "127.0.0.1", "localhost": "localhost", "": "",
	} {
		if got, err := Host(in); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"[127.0.0.1]", "[::1", "::1]", "[[::1]]", "127.0.0.1:80", "a:80", "http://x", "*", "*.example", "/", " "} {
		if got, err := Host(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}
