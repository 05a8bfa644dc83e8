package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
)

// maxBody bounds an answer.
const maxBody = 64 << 20

// sdkAgent begins the user agent of the official SDKs, which asks for their form.
const sdkAgent = "speakeasy-sdk/typescript"

// client asks the server.
type client struct {
	base     string
	http     *http.Client
	sdk      bool
	requests int
}

func newClient(base string, sdk bool) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	return &client{base: base, sdk: sdk, http: &http.Client{Transport: transport}}
}

// get returns the status and the body of an answer in JSON.
func (c *client) get(ctx context.Context, path string, query url.Values) (int, map[string]any, error) {
	where := path
	if len(query) > 0 {
		where += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+where, nil)
	if err != nil {
		return 0, nil, err
	}
	if c.sdk {
		req.Header.Set("User-Agent", sdkAgent)
	}
	c.requests++
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", where, err)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return 0, nil, fmt.Errorf("%s: content type %q", where, resp.Header.Get("Content-Type"))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var body map[string]any
	if err := d.Decode(&body); err != nil {
		return 0, nil, fmt.Errorf("%s: %w: %.200s", where, err, b)
	}
	return resp.StatusCode, body, nil
}

// ok returns the body of an answer that must be 200.
func (c *client) ok(ctx context.Context, path string, query url.Values) (map[string]any, error) {
	status, body, err := c.get(ctx, path, query)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s?%s: status %d: %s", path, query.Encode(), status, show(body))
	}
	return body, err
}

// A walk is all pages of a list, or the first ones.
type walk struct {
	rows  []any
	first map[string]any // the first page without its rows and its token
	pages int
	whole bool // the last page was reached
}

// walk goes from page to page until a list ends or has limit rows. size 0 leaves the page
// size to the server, which must then give the usual rows a page; 0 of them are all.
func (c *client) walk(ctx context.Context, l *list, size, limit int) (*walk, error) {
	path, query, name := l.path, l.query, l.name
	q := url.Values{}
	for k, v := range query {
		q[k] = v
	}
	if size > 0 {
		q.Set("pageSize", strconv.Itoa(size))
	} else {
		size = l.usual
	}
	w := &walk{}
	for {
		body, err := c.ok(ctx, path, q)
		if err != nil {
			return nil, err
		}
		where := fmt.Sprintf("%s?%s: page %d", path, q.Encode(), w.pages+1)
		rows, isList := body[name].([]any)
		token, more := body["nextPageToken"].(string)
		_, present := body["nextPageToken"]
		delete(body, name)
		delete(body, "nextPageToken")
		if w.first == nil {
			w.first = body
		} else if d := diff(nil, where, plain(w.first), body); len(d) > 0 {
			return nil, fmt.Errorf("not as on the first page: %s", d[0])
		}
		switch {
		case !isList:
			return nil, fmt.Errorf("%s: no list %s", where, name)
		case present != more || more && token == "":
			return nil, fmt.Errorf("%s: nextPageToken is not a token", where)
		case size > 0 && len(rows) > size, !l.loose && (more && len(rows) != size || !more && len(rows) == 0 && w.pages > 0):
			return nil, fmt.Errorf("%s: %d rows on a page of %d, more to come: %v", where, len(rows), size, more)
		}
		w.rows, w.pages, w.whole = append(w.rows, rows...), w.pages+1, !more
		if !more || len(w.rows) >= limit {
			return w, nil
		}
		q.Set("pageToken", token)
	}
}

// plain makes an expectation of what was decoded.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := object{}
		for k, m := range v {
			o[k] = plain(m)
		}
		return o
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}
