package main

import "testing"

// TestOneJSON: goccy/go-json is the one library that reads and writes JSON. End-to-end
// tests are a program of their own, the client has no further modules, and tests compare
// with the standard library.
func TestOneJSON(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.isTest() || topFolder(f.path) == "e2e" || topFolder(f.path) == "client" {
			continue
		}
		for _, path := range f.imports {
			if path == "encoding/json" {
				t.Errorf("%s imports encoding/json: use github.com/goccy/go-json", f.path)
			}
		}
	}
}
