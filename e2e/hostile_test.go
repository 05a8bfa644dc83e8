package e2e

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ava-labs/avalanchego/utils/constants"

	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

const (
	farmValidators = 100
	farmCallers    = 8
	// farmConnected is how many of the farm must be connected: some liars spoil
	// their own connections.
	farmConnected = 70
)

// farm starts a simulated network in which a share of the stake lies, a server
// that follows it, and avalanchego's verifier of its validator set.
func farm(t *testing.T, args ...string) (*server, facts, *verify.Verifier) {
	t.Helper()
	d, f := startDevnet(t, append([]string{"--validators", strconv.Itoa(farmValidators)}, args...)...)
	oracle, err := verify.Fetch(t.Context(), d.URL, constants.PrimaryNetworkID, verify.Proposed)
	if err != nil {
		t.Fatal(err)
	}
	return startServer(t, d.URL, farmConnected), f, oracle
}

// signAll has n messages signed, several at a time, and each verified by avalanchego.
func signAll(t *testing.T, s *server, f facts, oracle *verify.Verifier, n int) {
	t.Helper()
	todo := make(chan string)
	var wg sync.WaitGroup
	for range farmCallers {
		wg.Go(func() {
			for message := range todo {
				if err := signOne(t, s, oracle, message); err != "" {
					t.Errorf("message %.40s...: %s", message, err)
				}
			}
		})
	}
	for _, message := range f.Signature.Messages[:n] {
		todo <- message
	}
	close(todo)
	wg.Wait()
}

func signOne(t *testing.T, s *server, oracle *verify.Verifier, message string) string {
	unsigned, err := hex.DecodeString(strings.TrimPrefix(message, "0x"))
	if err != nil {
		return err.Error()
	}
	answer, err := s.client.Aggregate(t.Context(), request(unsigned, 0))
	if err != nil {
		return err.Error()
	}
	signed, err := answer.Signed()
	if err != nil {
		return err.Error()
	}
	if _, err := oracle.Verify(signed, unsigned, quorum, 100); err != nil {
		return "avalanchego does not accept it: " + err.Error()
	}
	return ""
}

// TestLiars: a fifth of the stake of 100 validators lies in every way there is,
// then a third; every message is signed, and valid by avalanchego's own code.
func TestLiars(t *testing.T) {
	beside(t)
	for share, messages := range map[string]int{"0.2": 1000, "0.33": 200} {
		t.Run(share, func(t *testing.T) {
			s, f, oracle := farm(t, "--byzantine", share)
			signAll(t, s, f, oracle, messages)
			t.Logf("%d messages signed with %s of the stake lying", messages, share)
		})
	}
}

// TestTooManyLiars: with more of the stake lying than the quorum can spare, a
// clear error comes in bounded time. Pairs that cancel are left out: with both
// of one, a sum is valid.
func TestTooManyLiars(t *testing.T) {
	beside(t)
	s, f, _ := farm(t, "--byzantine", "0.34", "--scenario", "{kinds: [wrong-key, wrong-message, length-1, length-95, outside-subgroup, infinity]}")
	unsigned, err := hex.DecodeString(strings.TrimPrefix(f.Signature.Message, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	answer := s.post(t, quorate.Request{Message: hex.EncodeToString(unsigned), QuorumPercentage: quorum})
	t.Logf("%d after %v: %s", answer.Status, answer.Took, answer.Body)
	if answer.Status != http.StatusBadGateway || !strings.Contains(string(answer.Body), "invalid 34.0%") {
		t.Errorf("status %d, %s", answer.Status, answer.Body)
	}
}
