package main

import (
	"path/filepath"
	"testing"
)

// withEncodingJSON are the folders whose product code has not been moved to the one JSON
// library yet. The list only gets shorter.
var withEncodingJSON = map[string]bool{"httpapi": true}

// TestOneJSON: goccy/go-json is the one library that reads and writes JSON. End-to-end
// tests are a program of their own, and tests compare with the standard library.
func TestOneJSON(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range files {
		if f.isTest() || topFolder(f.path) == "e2e" {
			continue
		}
		for _, path := range f.imports {
			if path == "encoding/json" {
				used[filepath.Dir(f.path)] = true
			}
		}
	}
	for dir := range used {
		if !withEncodingJSON[dir] {
			t.Errorf("%s imports encoding/json: use github.com/goccy/go-json", dir)
		}
	}
	for dir := range withEncodingJSON {
		if !used[dir] {
			t.Errorf("%s does not import encoding/json any more: take it off the list", dir)
		}
	}
}
