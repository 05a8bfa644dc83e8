package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"quorate/e2e/quorate"
)

const generatedDir = "testdata/generated"

// TestGeneratedClient: a generator that knows nothing of us makes a client in Go of
// /openapi.json, which is valid: all of it compiles, and it lists the transactions that
// the server has.
func TestGeneratedClient(t *testing.T) {
	beside(t)
	s, path, f := serveDevnet(t)
	s.waitIndexed(t, f)
	c := quorate.NewClient(s.URL)
	t.Cleanup(c.Close)
	dir := filepath.Join(testDir(t), "generated")
	if err := os.CopyFS(dir, os.DirFS(generatedDir)); err != nil {
		t.Fatal(err)
	}
	description := filepath.Join(dir, "openapi.json")
	answer, err := c.Get(t.Context(), "/openapi.json")
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%v: %v", err, answer)
	}
	doc, err := openapi3.NewLoader().LoadFromData(answer.Body)
	if err == nil {
		err = doc.Validate(t.Context())
	}
	if err != nil {
		t.Errorf("the description is not valid: %v", err)
	}
	if err := os.WriteFile(description, answer.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "client"), 0o700); err != nil {
		t.Fatal(err)
	}
	output(t, "..", "go", "tool", "-modfile=tools.mod", "oapi-codegen", "-generate", "types,client", "-package", "client",
		"-o", filepath.Join(dir, "client", "client.go"), description)
	var facts struct{ Address string }
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &facts)
	}
	if err != nil || facts.Address == "" {
		t.Fatalf("facts file: %v", err)
	}
	want := addressHashes(t, c, f, facts.Address)
	if len(want) < 30 {
		t.Errorf("the address has only %d transactions", len(want))
	}
	got := strings.Split(strings.TrimSpace(string(output(t, dir, "go", "run", ".", s.URL, f.ChainID, facts.Address, fmt.Sprint(f.EndBlock)))), "\n")
	if last := got[len(got)-1]; !strings.HasPrefix(last, "refused: chain \"nosuch\"") {
		t.Errorf("the error is read as %q", last)
	}
	if got = got[:len(got)-1]; !slices.Equal(got, want) {
		t.Errorf("the generated client lists %d transactions, the server has %d:\n%.300s\n%.300s", len(got), len(want), got, want)
	}
}

// addressHashes reads the transactions of an address from pages of another size.
func addressHashes(t *testing.T, c *quorate.Client, f sdkFacts, address string) (list []string) {
	t.Helper()
	for token := ""; ; {
		path := fmt.Sprintf("/v1/chains/%s/addresses/%s/transactions?pageSize=100&sortOrder=asc&endBlock=%d", f.ChainID, address, f.EndBlock)
		if token != "" {
			path += "&pageToken=" + token
		}
		answer, err := c.Get(t.Context(), path)
		if err != nil || answer.Status != http.StatusOK {
			t.Fatalf("%v: %v", err, answer)
		}
		var page struct {
			NextPageToken string
			Transactions  []struct{ NativeTransaction struct{ TxHash string } }
		}
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, tx := range page.Transactions {
			list = append(list, tx.NativeTransaction.TxHash)
		}
		if token = page.NextPageToken; token == "" {
			return list
		}
	}
}
