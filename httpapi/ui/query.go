package ui

import (
	"net/url"
	"strings"
)

// query is that of an address, in the order in which its parameters are added.
type query struct{ b strings.Builder }

// add adds a parameter, unless it is empty.
func (q *query) add(name, value string) {
	if value == "" {
		return
	}
	if q.b.Len() > 0 {
		q.b.WriteByte('&')
	}
	q.b.WriteString(name + "=" + url.QueryEscape(value))
}

// of returns the path with the query behind it.
func (q *query) of(path string) string {
	if q.b.Len() == 0 {
		return path
	}
	return path + "?" + q.b.String()
}
