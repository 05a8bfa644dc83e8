package ui

import (
	"net/http"
	"strings"

	"quorate/httpapi/ui/sheet"
)

func (s *Site) filePages() []Page {
	return []Page{{Pattern: "/csv", Units: 20, Serve: serveCSV}}
}

// files returns the links to what the API has at a path: as a sheet, as JSON, and as a
// command for a shell.
func (r *Request) files(path string) pager {
	return pager{
		CSV:  r.in.Prefix + withQuery("/csv", "path", path),
		JSON: r.in.Prefix + path,
		Curl: "curl " + shellQuote(r.in.Base+path),
	}
}

// serveCSV answers with a page of a list of the API as a sheet.
func serveCSV(r *Request) error {
	path := r.Query("path")
	if !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/v2/") {
		return errorf(http.StatusBadRequest, "path must be that of a list of the API, such as /v1/chains")
	}
	a := r.Ask(path)
	var none struct{}
	if err := a.decode(path, &none); err != nil {
		return err
	}
	text, err := sheet.Append(nil, a.Body)
	if err != nil {
		return errorf(http.StatusBadRequest, "%s cannot be a sheet: %v", path, err)
	}
	return r.Download("text/csv; charset=utf-8", "list.csv", text)
}
