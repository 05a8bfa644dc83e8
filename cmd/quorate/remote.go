package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"

	"github.com/goccy/go-json"

	"quorate/httpapi/limit"
)

const (
	defaultServer = "http://127.0.0.1:9750"
	// maxAnswer bounds an answer of the server in bytes.
	maxAnswer = 1 << 20
)

// remote is a running server that a command asks.
type remote struct {
	base   *url.URL
	key    string // of the API, empty for none
	client *http.Client
}

// newRemote returns the server at the address that --url gives.
func newRemote(address string) (*remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{fmt.Errorf("--url %q is not of the form http://HOST:PORT", address)}
	}
	return &remote{base: u, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}}, nil
}

// ask sends a request, with a body of JSON if there is one, and reads the whole answer.
func (r *remote) ask(ctx context.Context, method string, body []byte, path ...string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.base.JoinPath(path...).String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		req.Header.Set(limit.HeaderKey, r.key)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, noServer(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing is left to be lost
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, causeOf(ctx, fmt.Errorf("read the answer of %s: %w", r.base, err))
	case len(answer) > maxAnswer:
		return nil, nil, fmt.Errorf("the answer of %s has more than %d bytes", r.base, maxAnswer)
	}
	return resp, answer, nil
}

// noServer is causeOf for requests to a server of ours, with a way out where that is known.
func noServer(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the server speaks HTTP, not HTTPS, so give --url with http://: %w", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("there is no server: start it with quorate serve, or give its --url: %w", err)
	}
	return err
}

// causeOf puts the reason for which ctx ended in place of an error that only
// says that it did.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// serverError says what an answer with an error status says.
func serverError(resp *http.Response, answer []byte) error {
	var body struct {
		Message string `json:"message"`
	}
	text := fmt.Sprintf("%.200q", answer)
	if err := json.Unmarshal(answer, &body); err == nil && body.Message != "" {
		text = body.Message
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += fmt.Sprintf(" (try again in %s s)", after)
	}
	return fmt.Errorf("the server answered %s: %s", resp.Status, text)
}
