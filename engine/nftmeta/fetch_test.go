package nftmeta

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holiman/uint256"
)

// packed is a part of a body that unpacks to a thousand times as much.
var packed = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, 1<<19))
	_ = z.Close()
	return b.Bytes()
})

// hostile answers as servers of hostile contracts do.
func hostile(w http.ResponseWriter, r *http.Request) {
	endless := func(out io.Writer) {
		for r.Context().Err() == nil {
			if _, err := out.Write(bytes.Repeat([]byte(" "), 1<<12)); err != nil {
				return
			}
		}
	}
	header := w.Header()
	switch strings.TrimPrefix(r.URL.Path, "/ipfs/"+cid0+"/") {
	case "good":
		header.Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"name":"good"}`)
	case "gzip":
		header.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"name":"packed"}`)
		_ = z.Close()
	case "bomb":
		header.Set("Content-Encoding", "gzip")
		for r.Context().Err() == nil {
			if _, err := w.Write(packed()); err != nil {
				return
			}
		}
	case "not gzip":
		header.Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, `{"name":"x"}`)
	case "br":
		header.Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, `{"name":"x"}`)
	case "endless":
		endless(w)
	case "long":
		header.Set("Content-Length", "10000000000")
	case "cut":
		header.Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"name":`)
	case "deep":
		_, _ = io.WriteString(w, strings.Repeat(`{"a":[`, 10_000))
	case "html":
		header.Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `{"name":"x"}`)
	case "headers":
		for i := range 2000 {
			header.Set(fmt.Sprint("X-Header-", i), strings.Repeat("x", 100))
		}
	case "silent":
		<-r.Context().Done()
	case "slow":
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			select {
			case <-time.After(10 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	case "metadata":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	case "inside":
		http.Redirect(w, r, "http://localhost:1/", http.StatusFound)
	case "round":
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	case "one":
		http.Redirect(w, r, "/ipfs/"+cid0+"/good", http.StatusFound)
	case "file":
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	case "busy":
		header.Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// TestHostile: what servers can do to a client costs it bounded time and memory, and has
// a status of its own.
func TestHostile(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Referer") != "" {
			t.Errorf("sent %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		hostile(w, r)
	}))
	t.Cleanup(s.Close)
	actor := func(timeout time.Duration) *Metadata {
		w := newWorld(t)
		w.cfg.Gateway, w.cfg.timeout, w.cfg.Store = s.URL, timeout, newKept()
		m, err := New(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	patient, brief := actor(2*time.Minute), actor(500*time.Millisecond)
	// What the gateway may, a contract may not.
	for _, uri := range []string{strings.Replace(s.URL, "http:", "https:", 1) + "/good", s.URL + "/good"} {
		if p, status := patient.cfg.place(uri, uint256.NewInt(1), false); status == "" {
			t.Errorf("%s leads to %+v", uri, p)
		}
		if a := patient.fetch(t.Context(), &place{url: uri}); a.status != Unreachable || a.faulty {
			t.Errorf("%s: %+v", uri, a)
		}
	}
	if asked.Load() > 0 {
		t.Error("the gateway's address was asked for a contract")
	}
	for path, want := range map[string]Status{
		"good": "", "gzip": "", "one": "", "bomb": TooLarge, "not gzip": InvalidMetadata, "br": InvalidMetadata, "endless": TooLarge, "long": TooLarge,
		"cut": Unreachable, "deep": InvalidMetadata, "html": InvalidMetadata, "headers": Unreachable, "silent": Unreachable, "slow": Unreachable,
		"metadata": Unreachable, "inside": Unreachable, "round": Unreachable, "file": Unreachable, "busy": Throttled, "none": Unreachable,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			m := patient
			if path == "silent" || path == "slow" {
				m = brief
			}
			p, status := m.cfg.place("ipfs://"+cid0+"/"+path, uint256.NewInt(1), false)
			if status != "" {
				t.Fatal(status)
			}
			a := m.fetch(context.Background(), &p)
			if a.status == "" {
				_, a.status = parseDocument(a.raw, uint256.NewInt(1), false)
			}
			if a.status != want || int64(len(a.raw)) > maxBytes {
				t.Errorf("%s, %d bytes, want %s", a.status, len(a.raw), want)
			}
			if path == "busy" && a.wait != 7*time.Second {
				t.Errorf("it waits %s", a.wait)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "-5": 0, "30": 30 * time.Second, "4000000000": maxRetry, "99999999999999": 0, "Mon, 02 Jan 2006 15:04:05 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": maxRetry,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
