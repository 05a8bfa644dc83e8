package ui

import (
	"net/http"
	"net/url"
	"strings"
)

func (s *Site) keyPages() []Page {
	if s.cfg.KeyKnown == nil {
		return nil
	}
	return []Page{{Pattern: keyPath, Open: true, Units: 1, Serve: serveKey, Post: postKey}}
}

// keyPath is the page that takes an API key.
const keyPath = "/key"

// keyPage is the form for an API key.
type keyPage struct {
	Next     string // where the form leads, one of our paths
	Error    string
	Required bool
}

func serveKey(r *Request) error {
	return r.Render("key", "API key", &keyPage{Next: ownPath(r.Query("next")), Required: r.site.cfg.KeysRequired})
}

// postKey has the browser keep a key that is known, or forget the one that it has.
func postKey(r *Request) error {
	next, key := ownPath(r.Form("next")), r.Form("key")
	if r.Form("do") == "forget" {
		key = ""
	} else if !r.site.cfg.KeyKnown(key) {
		return r.Render("key", "API key", &keyPage{Next: next, Required: r.site.cfg.KeysRequired, Error: "The API key is not known."})
	}
	if err := r.Redirect(next); err != nil {
		return err
	}
	r.out.Key = &key
	return nil
}

// ownPath returns a path with its query if it is one of ours, or else that of the first
// page: a form must not lead to another host.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(text, "\\\r\n") || u.Path == keyPath {
		return "/"
	}
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

// errorPage is the page of an error.
type errorPage struct {
	*Error
	Key string // path of the form for an API key, where one may help; else empty
}

// keyFor returns where an API key can be given for a page that was refused, empty if that
// is of no use.
func (s *Site) keyFor(in Input, status int) string {
	if s.cfg.KeyKnown == nil || status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
		return ""
	}
	at := in.Path
	if in.RawQuery != "" {
		at += "?" + in.RawQuery
	}
	return keyPath + "?" + url.Values{"next": {ownPath(at)}}.Encode()
}
