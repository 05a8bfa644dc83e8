package etherscan

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of actions to the documentation")

// TestTable: the documentation has the table of actions.
func TestTable(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/etherscan.md", "<!-- actions -->\n", "<!-- end of actions -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begin + Table() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s does not have the actions that there are: run go test ./httpapi/etherscan -update", page)
	}
}

// TestNames: no action is there twice.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range table {
		name := table[i].module + " " + table[i].name
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}
