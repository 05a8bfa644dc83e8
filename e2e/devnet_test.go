package e2e

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/set"

	"quorate/e2e/quorate"
)

const (
	devnetValidators = 7
	devnetMessages   = 20
)

// facts are the members of the facts file that the tests use.
type facts struct {
	path      string   // of the file
	BaseURL   string   `json:"baseUrl"`
	ChainID   string   `json:"chainId"`
	Address   string   `json:"address"`
	EndBlock  uint64   `json:"endBlock"`
	NodeIDs   []string `json:"nodeIds"`
	Signature struct {
		Network  string   `json:"network"`
		Message  string   `json:"message"`
		Messages []string `json:"messages"`
	} `json:"signature"`
	Validators []struct {
		NodeID    string `json:"nodeId"`
		PublicKey string `json:"publicKey"`
	} `json:"validators"`
}

// startDevnet runs quorate devnet and reads its facts file.
func startDevnet(t *testing.T, args ...string) (*server, facts) {
	t.Helper()
	dir := testDir(t)
	path := filepath.Join(dir, "facts.json")
	s := launch(t, quorate.Config{
		Args:    append([]string{"devnet", "--seed", "1", "--http-port", freePort(t), "--facts-file", path}, args...),
		Ready:   "devnet ready",
		LogPath: filepath.Join(dir, "devnet.log"),
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the facts file must be there when the devnet is ready: %v", err)
	}
	var f facts
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("facts file: %v", err)
	}
	f.path = path
	return s, f
}

// TestDevnetClients asks the simulated network by avalanchego's own clients.
func TestDevnetClients(t *testing.T) {
	beside(t)
	s, f := startDevnet(t, "--validators", strconv.Itoa(devnetValidators), "--weights", "zipf")
	api := checkNodeAPI(t, s.URL, devnetValidators)
	if f.BaseURL != s.URL {
		t.Errorf("facts name %s as the node API, the ready line %s", f.BaseURL, s.URL)
	}
	if len(f.Signature.Messages) < 1000 {
		t.Errorf("facts have %d messages, want at least 1000", len(f.Signature.Messages))
	}
	known := map[string]bool{}
	for _, v := range api.set.Set.Validators {
		for _, id := range v.NodeIDs {
			known[id.String()] = true
		}
	}
	if len(f.Validators) != devnetValidators {
		t.Errorf("facts have %d validators, want %d", len(f.Validators), devnetValidators)
	}
	for _, v := range f.Validators {
		if !known[v.NodeID] {
			t.Errorf("facts name %s, which is no validator of the node API", v.NodeID)
		}
	}
}

// TestDevnetAggregate has messages of the simulated network signed through the
// product: avalanchego's own code accepts its keys and signatures. Each validator
// must have signed something; on a busy machine one may be late for a message.
func TestDevnetAggregate(t *testing.T) {
	beside(t)
	d, f := startDevnet(t, "--validators", strconv.Itoa(devnetValidators), "--weights", "zipf")
	api := checkNodeAPI(t, d.URL, devnetValidators)
	s := startServer(t, d.URL, devnetValidators)
	if len(f.Signature.Messages) < devnetMessages {
		t.Fatalf("facts have %d messages", len(f.Signature.Messages))
	}
	signers, complete := set.Set[ids.NodeID]{}, 0
	for i, message := range f.Signature.Messages[:devnetMessages] {
		unsigned, err := hex.DecodeString(strings.TrimPrefix(message, "0x"))
		if err != nil {
			t.Fatalf("message %d of the facts: %v", i, err)
		}
		signed, _ := s.aggregate(t, unsigned, fullBuffer)
		report := mustVerify(t, api.set, signed, unsigned)
		signers.Add(report.Signers...)
		if report.Weight == report.Total {
			complete++
		}
	}
	t.Logf("%d of %d messages are signed by all", complete, devnetMessages)
	if signers.Len() != devnetValidators || complete == 0 {
		t.Errorf("%d of %d validators have signed, %d of %d messages are signed by all",
			signers.Len(), devnetValidators, complete, devnetMessages)
	}
}
