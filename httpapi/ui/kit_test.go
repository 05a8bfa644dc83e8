package ui

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// fakeAPI answers by path with its query: bodies of successes, or Answers.
type fakeAPI map[string]any

func (f fakeAPI) Get(path string, _ bool) Answer {
	switch a := f[path].(type) {
	case Answer:
		return a
	case string:
		return Answer{Status: http.StatusOK, Body: []byte(a)}
	}
	body, _ := json.Marshal(map[string]any{"message": "nothing is served at " + path, "statusCode": 404})
	return Answer{Status: http.StatusNotFound, Body: body}
}

func newSite(t testing.TB, cfg Config) *Site {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// visit returns what is served at a path with its query; operator is that of the
// listener.
func visit(t testing.TB, s *Site, path string, operator bool) Output {
	t.Helper()
	return visitAt(t, s, path, Input{Operator: operator, Base: "http://localhost:9750"})
}

// visitAt is visit with more of the input.
func visitAt(t testing.TB, s *Site, path string, in Input) Output {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	in.Path, in.Query = u.EscapedPath(), u.Query().Get
	for _, p := range s.Pages() {
		params, ok := match(p.Pattern, u.EscapedPath())
		if !ok || p.Operator && !in.Operator {
			continue
		}
		in.Param = func(name string) string { return params[name] }
		return s.Serve(&p, in)
	}
	return s.Fail(in, http.StatusNotFound, "nothing is served at "+path)
}

// match returns the parameters of a path, as httpapi's router does.
func match(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	params := map[string]string{}
	if len(want) != len(got) {
		return nil, false
	}
	for i := range want {
		name, is := strings.CutPrefix(want[i], "{")
		seg, err := url.PathUnescape(got[i])
		switch {
		case err != nil || is && seg == "":
			return nil, false
		case is:
			params[strings.TrimSuffix(name, "}")] = seg
		case seg != want[i]:
			return nil, false
		}
	}
	return params, true
}
