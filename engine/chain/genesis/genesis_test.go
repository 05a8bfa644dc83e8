package genesis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
)

// example is a genesis that avalanchego has made; see e2e/vectors.
type example struct {
	Config    json.RawMessage
	ID, Bytes string
}

func examples(t testing.TB) (list []example) {
	t.Helper()
	b, err := os.ReadFile("testdata/avalanchego.json")
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What is made of a configuration is what avalanchego makes of it.
func TestFromConfig(t *testing.T) {
	t.Parallel()
	for i, e := range examples(t) {
		got, err := FromConfig(e.Config)
		if err != nil {
			t.Errorf("example %d: %v", i, err)
			continue
		}
		if hex.EncodeToString(got) != e.Bytes || chain.ID(sha256.Sum256(got)).String() != e.ID {
			t.Errorf("example %d: other bytes", i)
		}
		if _, err := platform.ParseGenesis(got); err != nil {
			t.Errorf("example %d: %v", i, err)
		}
	}
}

// What is no configuration is refused.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	good := string(examples(t)[0].Config)
	for name, bad := range map[string]string{
		"nothing":         "{}",
		"no JSON":         good[:len(good)/2],
		"an account":      strings.Replace(good, "X-custom1", "X-custom2", 1),
		"a node":          strings.Replace(good, "NodeID-", "NodeId-", 1),
		"an EVM account":  strings.Replace(good, `"ethAddr": "0x0`, `"ethAddr": "0xg`, 1),
		"too much":        strings.Replace(good, `"amount": `, `"amount": 1844674407370955161`, 1),
		"no time":         strings.Replace(good, `"initialStakeDuration": 1000000`, `"initialStakeDuration": 0`, 1),
		"nothing staked":  strings.Replace(good, `"initialStakedFunds": [`, `"initialStakedFunds": [], "ignored": [`, 1),
		"no staker":       strings.Replace(good, `"initialStakers": [`, `"initialStakers": [], "ignored": [`, 1),
		"no C-Chain":      strings.Replace(good, `"cChainGenesis"`, `"cGenesis"`, 1),
		"a negative time": strings.Replace(good, `"startTime": `, `"startTime": -`, 1),
	} {
		if bad == good {
			t.Fatalf("%s: the file was not changed", name)
		}
		if _, err := FromConfig([]byte(bad)); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFromConfig(f *testing.F) {
	for _, e := range examples(f) {
		f.Add([]byte(e.Config))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, err := FromConfig(b)
		if err != nil {
			return
		}
		if _, err := platform.ParseGenesis(raw); err != nil {
			t.Errorf("made bytes that do not parse: %v", err)
		}
	})
}
