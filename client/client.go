// Package client calls a Quorate server: it has warp messages signed, reads chains and
// metrics, and follows what happens.
//
//	c := client.New("http://127.0.0.1:9750")
//	signed, err := c.Aggregate(ctx, "fuji", client.AggregateRequest{Message: hex})
//
// Every operation of the API is a method, named as the official SDKs name it. Lists are
// iterators over all of their pages:
//
//	for tx, err := range c.ListTransactions(ctx, "43114", address, nil) {
//
// A call that the server puts off (429, 503), or that the network failed, is repeated until
// [Client.Patience] is over. What a server refuses is an [*Error].
//
// Sub-package warp checks signed messages without believing any server.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds the body of an answer in bytes.
const maxAnswer = 64 << 20

// Client calls one server. [New] makes it. It may be used by several goroutines at once; its fields must
// not be changed then.
type Client struct {
	// URL is the server's address, such as http://127.0.0.1:9750.
	URL string
	// Key is an API key, for servers that ask for one.
	Key string
	// Patience is for how long a call is repeated that may succeed later: [New] sets 30 s.
	// With 0 each call is made once. The context of a call can end it sooner.
	Patience time.Duration
	// HTTP makes the requests. That of [New] waits 2 min for the beginning of an answer:
	// streams of events have no other limit.
	HTTP *http.Client
}

// New returns a client of the server at an address.
func New(url string) *Client {
	return &Client{
		URL: strings.TrimRight(url, "/"), Patience: 30 * time.Second,
		HTTP: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 2 * time.Minute,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}},
	}
}

// Error is an answer that says what was wrong with a request, or with the server.
type Error struct {
	// Status is that of HTTP, and Message what the server says.
	Status  int
	Message string
	// RetryAfter is what the server asks to wait before the next try, 0 if it does not.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("HTTP %d: %s", e.Status, e.Message)
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool { return e.Status == http.StatusTooManyRequests || e.Status >= 500 }

// NotFound reports whether a call failed because what it names does not exist.
func NotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// call is one request, as generated methods make it.
type call struct {
	method, path string
	query        url.Values
	body         any
	// once: the request must not be repeated when it is not known whether it was served.
	once bool
}

// Aggregate has a warp message signed by a quorum. network is mainnet, fuji or testnet. The
// result is the signed message in hex, without 0x.
func (c *Client) Aggregate(ctx context.Context, network string, r AggregateRequest) (string, error) {
	answer, err := c.AggregateSignatures(ctx, network, r)
	if err != nil {
		return "", err
	}
	return answer.SignedMessage, nil
}

// do makes a call and decodes its answer into out, if that is not nil.
func (c *Client) do(ctx context.Context, r call, out any) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: unexpected answer: %w", r.method, r.path, err)
	}
	return nil
}

// one makes a call whose answer is a T.
func one[T any](ctx context.Context, c *Client, r call) (*T, error) {
	out := new(T)
	if err := c.do(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// send makes a call, again if need be, until it has an answer below 400.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	end := time.Now().Add(c.Patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		resp, err := c.once(ctx, r)
		if err == nil || !r.repeatable(err) {
			return resp, err
		}
		wait := pause
		if e := (*Error)(nil); errors.As(err, &e) {
			wait = max(wait, e.RetryAfter)
		}
		if time.Now().Add(wait).After(end) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// repeatable reports whether a call that failed can be made again.
func (r *call) repeatable(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable || e.Temporary() && !r.once
	}
	return !r.once && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// once makes a call once.
func (c *Client) once(ctx context.Context, r call) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := c.URL + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("X-Service-Api-Key", c.Key)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		return nil, failure(resp)
	}
	return resp, nil
}

// failure reads an answer that is an error.
func failure(resp *http.Response) error {
	defer resp.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an error whose text is lost is still one
	e := &Error{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	var body struct {
		Message any `json:"message"` // a list where several things are wrong
	}
	if json.Unmarshal(b, &body) == nil {
		switch m := body.Message.(type) {
		case string:
			e.Message = m
		case []any:
			e.Message = strings.Trim(fmt.Sprint(m...), "[]")
		}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// pages iterates over the items of all pages of a list. items and next read a page P.
func pages[P, T any](ctx context.Context, c *Client, r call, items func(*P) []T, next func(*P) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r := r // the iterator may be used again
		r.query = maps.Clone(r.query)
		for {
			var page P
			if err := c.do(ctx, r, &page); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items(&page) {
				if !yield(item, nil) {
					return
				}
			}
			token := next(&page)
			if token == "" {
				return
			}
			if r.query == nil {
				r.query = url.Values{}
			}
			r.query.Set("pageToken", token)
		}
	}
}

// query returns parameters by their names, without those that have their zero value.
func query(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		name, text := pairs[i].(string), ""
		switch v := pairs[i+1].(type) {
		case string:
			text = v
		case []string:
			text = strings.Join(v, ",")
		case int64:
			if v != 0 {
				text = strconv.FormatInt(v, 10)
			}
		case bool:
			if v {
				text = "true"
			}
		case *bool:
			if v != nil {
				text = strconv.FormatBool(*v)
			}
		}
		if text != "" {
			q.Set(name, text)
		}
	}
	return q
}
