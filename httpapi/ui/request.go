package ui

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"quorate/httpapi/ui/plain"
)

// Input is what a page may know of its request.
type Input struct {
	// Path is that of the request, without the prefix and the query, which is RawQuery.
	Path, RawQuery string
	// Prefix is the path below which a proxy serves all of ours, empty for none.
	Prefix string
	// Base is the address of the server as the client wrote it, without a slash at its end.
	Base string
	// Operator: the listener serves operators.
	Operator bool
	// Charge takes compute units beyond the price of the page, and reports whether the
	// client has them, or else when it will; nil: nothing is charged.
	Charge func(units int) (wait time.Duration, ok bool)
	// Param and Query return a parameter of the pattern and one of the query, decoded,
	// empty if there is none.
	Param, Query func(name string) string
	// Form returns a field of the form that was sent; nil if none was. Remote is who sent
	// it, for the log.
	Form   func(name string) string
	Remote string
}

// Output is a complete answer.
type Output struct {
	Status int
	// Location is where the client is sent, empty for nowhere.
	Location string
	// RetryAfter, if not 0, is when asking again makes sense.
	RetryAfter time.Duration
	// Key, if not nil, is the API key that the browser is to keep, or empty for none.
	Key *string
	// HTML is the body.
	HTML []byte
	// Type and File are the media type and the name of a file, which is the body then;
	// empty for a page.
	Type, File string
}

// Error is what a page cannot be shown for. Its message is read by people.
type Error struct {
	Status  int
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// errorf returns an [Error].
func errorf(status int, format string, args ...any) *Error {
	return &Error{status, fmt.Sprintf(format, args...)}
}

// Request is one request for a page.
type Request struct {
	site *Site
	in   Input
	out  Output
	paid int           // units for which the API can be asked
	poor bool          // the client has no units left
	wait time.Duration // for those that it lacks
}

// Serve renders a page.
func (s *Site) Serve(p *Page, in Input) Output {
	r := &Request{site: s, in: in, paid: Discount * p.Units}
	serve := p.Serve
	if in.Form != nil {
		serve = p.Post
	}
	err := serve(r)
	if r.poor { // whatever the page made of it: half a page is none
		out := s.fail(in, errorf(http.StatusTooManyRequests, "there are too few compute units left for what this page asks; try again in %s", since(max(r.wait, time.Second))))
		out.RetryAfter = r.wait
		return out
	}
	if err != nil {
		return s.fail(in, err)
	}
	return r.out
}

// Fail renders the page of an error.
func (s *Site) Fail(in Input, status int, message string) Output {
	return s.fail(in, &Error{status, message})
}

func (s *Site) fail(in Input, cause error) Output {
	var e *Error
	if !errors.As(cause, &e) {
		s.cfg.Log.Error("a page failed by a defect", "path", in.Path, "err", cause)
		e = errorf(http.StatusInternalServerError, "internal error")
	}
	out := Output{Status: e.Status}
	r := &Request{site: s, in: in}
	if err := r.Render("error", http.StatusText(e.Status), &errorPage{e, s.keyFor(in, e.Status)}); err != nil {
		s.cfg.Log.Error("the page of an error failed by a defect", "path", in.Path, "err", err)
		return out
	}
	out.HTML = r.out.HTML
	return out
}

// Param returns a parameter of the page's pattern, decoded.
func (r *Request) Param(name string) string { return r.in.Param(name) }

// Query returns a parameter of the query, decoded, without the spaces around it; empty
// if there is none.
func (r *Request) Query(name string) string { return strings.TrimSpace(r.in.Query(name)) }

// Form returns a field of the form that was sent, without the spaces around it; empty if
// there is none.
func (r *Request) Form(name string) string {
	if r.in.Form == nil {
		return ""
	}
	return strings.TrimSpace(r.in.Form(name))
}

// Operator reports whether the request came to a listener that serves operators, and
// there is something to show to them.
func (r *Request) Operator() bool { return r.in.Operator && r.site.operators() }

// Base returns the address of the server as the client wrote it, with the path prefix.
func (r *Request) Base() string { return r.in.Base }

// Path returns the path of the request without the prefix.
func (r *Request) Path() string { return r.in.Path }

// Get asks the API and decodes what it returns. Any status but 2xx is an [Error] with the
// API's message.
func (r *Request) Get(path string, into any) error {
	a := r.Ask(path)
	return a.decode(path, into)
}

// Ask asks the API and returns what it says, whatever the status is.
func (r *Request) Ask(path string) Answer {
	if r.poor {
		return Answer{Status: http.StatusTooManyRequests}
	}
	a := r.site.cfg.API.Get(path, r.in.Operator)
	r.pay(a.Units)
	return a
}

// pay takes units for what was asked: of what the page has paid for, and then of the
// client's.
func (r *Request) pay(units int) {
	if r.paid -= units; r.paid < 0 && r.in.Charge != nil {
		wait, ok := r.in.Charge(-r.paid)
		r.poor, r.wait, r.paid = !ok, wait, 0
	}
}

// decode decodes a success.
func (a *Answer) decode(path string, into any) error {
	if a.Status < 200 || a.Status > 299 {
		var said struct{ Message string }
		if err := json.Unmarshal(a.Body, &said); err != nil || said.Message == "" {
			said.Message = http.StatusText(a.Status)
		}
		return &Error{a.Status, said.Message}
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Redirect sends the client to another of our paths.
func (r *Request) Redirect(path string) error {
	r.out = Output{Status: http.StatusSeeOther, Location: r.in.Prefix + path}
	return nil
}

// Download answers with a file. Its name is one of ours: it stands in a header.
func (r *Request) Download(mediaType, name string, body []byte) error {
	r.out = Output{Status: http.StatusOK, Type: mediaType, File: name, HTML: body}
	return nil
}

// Render executes templates/NAME.html within the layout.
func (r *Request) Render(name, title string, data any) error {
	page := r.site.views.pages[name]
	if page == nil {
		return fmt.Errorf("there is no template %s", name)
	}
	var b bytes.Buffer
	err := page.ExecuteTemplate(&b, "layout", &layout{
		Title: title, Version: r.site.cfg.Version, Path: r.in.Path, Operator: r.Operator(), Ops: r.Operator() && r.site.cfg.Operator.Ops() != nil,
		Section: section(r.in.Path), Keys: r.site.cfg.KeyKnown != nil, Data: data,
	})
	if err != nil {
		return err
	}
	html := bytes.ReplaceAll(b.Bytes(), []byte(prefixMark), []byte(r.in.Prefix))
	r.out.Status, r.out.HTML = http.StatusOK, plain.Page(html)
	return nil
}

// join returns a path with segments behind it, escaped.
func join(path string, segments ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(path, "/"))
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}
