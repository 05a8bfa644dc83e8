package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the files")

// The files that quorate's codecs are tested with hold what avalanchego's make.

func TestConsensusFile(t *testing.T) {
	t.Parallel()
	file(t, Make, "evm", "consensus", "testdata", "libevm.json")
}

func TestPlatformFile(t *testing.T) {
	t.Parallel()
	file(t, MakePlatform, "platform", "testdata", "avalanchego.json")
}

func TestExchangeFile(t *testing.T) {
	t.Parallel()
	file(t, MakeExchange, "avm", "testdata", "avalanchego.json")
}

func TestProposerFile(t *testing.T) {
	t.Parallel()
	file(t, MakeProposer, "proposer", "testdata", "avalanchego.json")
}

func TestAddressFile(t *testing.T) {
	t.Parallel()
	file(t, MakeAddresses, "address", "testdata", "avalanchego.json")
}

func TestGenesisFile(t *testing.T) {
	t.Parallel()
	file(t, MakeGeneses, "genesis", "testdata", "avalanchego.json")
}

// file compares what is made with the file at a path below engine/chain, or writes it.
func file[T any](t *testing.T, makeAll func() (T, error), path ...string) {
	t.Helper()
	all, err := makeAll()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", " ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(append([]string{"..", "..", "engine", "chain"}, path...)...)
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s differs from what avalanchego makes: run with -update and look at the difference", name)
	}
}

func TestRulesFile(t *testing.T) {
	t.Parallel()
	file(t, MakeRules, "platform", "rules", "testdata", "avalanchego.json")
}

func TestFieldsFile(t *testing.T) {
	t.Parallel()
	file(t, MakeFields, "evm", "consensus", "testdata", "fields.json")
}
