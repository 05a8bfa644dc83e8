package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask sends a request with headers, each a name and a value, and returns the answer. A body is
// JSON unless they say otherwise.
func ask(t testing.TB, method, url, body string, headers ...string) (status int, header http.Header, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, answer
}

// get reads url and returns status and body.
func get(t testing.TB, url string) (int, []byte) {
	t.Helper()
	status, _, body := ask(t, http.MethodGet, url, "")
	return status, body
}
