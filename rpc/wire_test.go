package rpc

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// What only a real connection shows: bytes as they are sent.
func TestWire(t *testing.T) {
	t.Parallel()
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{Handler: New(fullConfig(t)).Handler, NoDefaultServerHeader: true, NoDefaultContentType: true, NoDefaultDate: true}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(), <-served); err != nil {
			t.Error(err)
		}
	})
	const tail = "Vary: Origin\r\nNode-Id: " + nodeID + "\r\n"
	const text = "Content-Type: text/plain; charset=utf-8\r\n"
	for _, c := range []struct{ name, request, want string }{
		{"no content type", "POST /ext/admin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
			"HTTP/1.1 415 Unsupported Media Type\r\n" + text + "Content-Length: 32\r\n" + tail +
				"X-Content-Type-Options: nosniff\r\n\r\nrpc: unrecognized Content-Type: "},
		{"head", "HEAD /ext/health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 29\r\n" + tail + "Cache-Control: no-store\r\n\r\n"},
		{"notification", "POST /ext/health HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + tail + "\r\n"},
		{"chunked", "POST /ext/health HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnull\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + tail + "\r\n"},
		{"redirect", "GET /ext//health?tag=C HTTP/1.1\r\nHost: localhost\r\n\r\n",
			"HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\n" + tail + "Location: /ext/health?tag=C\r\n\r\n"},
		{"no host", "GET /ext/health/liveness HTTP/1.0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 29\r\n" + tail + "Cache-Control: no-store\r\n\r\n" +
				`{"checks":{},"healthy":true}` + "\n"},
		{"another host in the address", "GET http://evil.example/ext/health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n",
			"HTTP/1.1 403 Forbidden\r\n" + text + "Content-Length: 155\r\n" + tail + "X-Content-Type-Options: nosniff\r\n\r\n" +
				`invalid host specified: "evil.example" is not a name of this server. Use an IP address or localhost, or have the operator name it in --http-allowed-hosts.` + "\n"},
	} {
		conn, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		if got := exchange(t, conn, c.request); got != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// exchange sends a request and reads until the server closes.
func exchange(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	if _, err := conn.Write([]byte(head + "\r\nConnection: close\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Error(err)
	}
	return strings.Replace(string(got), "Connection: close\r\n", "", 1)
}
