package httpapi

import (
	"context"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/httpapi/sign"
)

// TestOrigin: the aggregator hears for whom a request is, and since when: a
// request counts from its first byte, however slowly the rest of it comes.
func TestOrigin(t *testing.T) {
	seen := make(chan aggregator.Request, 1)
	agg := fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		seen <- *req
		return &aggregator.Result{Signed: []byte("signed")}, nil
	})
	s, url := start(t, Config{
		Networks: networks{agg},
	})
	for i, path := range []string{sdkPath, sign.RelayerPath} {
		c := dial(t, url)
		raw := post(path, `{"message":"`+warpHex+`"}`)
		before := time.Now()
		c.send(raw[:1])
		eventually(t, "the first byte is read", func() bool {
			s.conns.mu.Lock()
			defer s.conns.mu.Unlock()
			used := 0
			for c := range s.conns.open {
				if c.used.Load() {
					used++
				}
			}
			return used == i+1
		})
		rest := time.Now()
		c.send(raw[1:])
		c.reply("POST")
		req := <-seen
		if req.Received.Before(before) || !req.Received.Before(rest) {
			t.Errorf("%s: received %v after the start, %v before the rest", path, req.Received.Sub(before), rest.Sub(req.Received))
		}
		if req.Client != "127.0.0.1" {
			t.Errorf("%s: client %q", path, req.Client)
		}
	}
}
