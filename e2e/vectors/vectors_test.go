package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the file")

// The file that quorate's codec is tested with holds what libevm makes.
func TestFile(t *testing.T) {
	f, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", " ")
	if err := enc.Encode(f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "engine", "chain", "evm", "consensus", "testdata", "libevm.json")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the file differs from what libevm makes: run with -update and look at the difference")
	}
}
