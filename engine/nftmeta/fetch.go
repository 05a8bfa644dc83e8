package nftmeta

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quorate/engine/outbound"
)

// answer is what came of asking a server.
type answer struct {
	raw    []byte
	status Status        // why there is none; empty: there is
	wait   time.Duration // what the server asks for, 0 if nothing
	faulty bool          // the server is at fault, and others of its documents will fail, too
}

// fetch asks a server for a document.
func (m *Metadata) fetch(ctx context.Context, p *place) answer {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return answer{status: InvalidURI}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "quorate-metadata")
	client := m.web
	if p.gateway {
		client = m.ipfs
	}
	resp, err := client.Do(req)
	if err != nil {
		// A gateway waits for what no node has: that it says nothing is the document's fault.
		var dial *net.OpError
		silent := p.gateway && !(errors.As(err, &dial) && dial.Op == "dial")
		return answer{status: Unreachable, faulty: !silent && !errors.Is(err, outbound.ErrRefused)}
	}
	defer func() { _ = resp.Body.Close() }() // of an answer
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return answer{status: Throttled, wait: retryAfter(resp.Header.Get("Retry-After")), faulty: true}
	case code != http.StatusOK:
		// A gateway says 504 of each document that no node has.
		return answer{status: Unreachable, faulty: code >= 500 && !p.gateway}
	}
	a := read(resp)
	a.faulty = a.faulty && !p.gateway
	return a
}

// read takes the body of an answer, as far as it may be a document.
func read(resp *http.Response) answer {
	if kind := resp.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || !isJSON(media) {
			return answer{status: InvalidMetadata}
		}
	}
	if resp.ContentLength > maxBytes {
		return answer{status: TooLarge}
	}
	body := io.Reader(resp.Body)
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip": // though it was not asked for
		z, err := gzip.NewReader(io.LimitReader(resp.Body, maxBytes))
		if err != nil {
			return answer{status: InvalidMetadata}
		}
		body = z
	default:
		return answer{status: InvalidMetadata}
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxBytes+1))
	switch {
	case int64(len(raw)) > maxBytes:
		return answer{status: TooLarge}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return answer{status: InvalidMetadata}
	case err != nil:
		return answer{status: Unreachable, faulty: true}
	}
	return answer{raw: raw}
}

// retryAfter reads a Retry-After, which may ask for a day at most.
func retryAfter(text string) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, maxRetry)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), maxRetry)
	}
	return 0
}
