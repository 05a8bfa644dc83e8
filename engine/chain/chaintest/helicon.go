package chaintest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"os"
	"testing"

	"github.com/goccy/go-json"
)

// Checked is a byte string as nodes write it: with 0x, and a checksum of 4 bytes at the
// end.
type Checked []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Checked) UnmarshalText(b []byte) error {
	var h Hex
	err := h.UnmarshalText(b)
	*c = Checked(h[:max(0, len(h)-4)])
	return err
}

// HeliconBlock is a block of the P-Chain of a real network that crosses Helicon, of
// avalanchego v1.15.0: what its node answered about it.
type HeliconBlock struct {
	Height    uint64
	Block     Checked
	JSON      json.RawMessage
	Container *struct{ Bytes Checked } // nil at height 0
	Txs       []struct {
		ID          string
		Tx          Checked
		JSON        json.RawMessage
		Status      struct{ Status string }
		RewardUTXOs struct{ UTXOs []Checked }
	}
	// ValidatorsAt has the validator sets after the block, by subnet and node.
	ValidatorsAt map[string]map[string]struct {
		PublicKey string
		Weight    uint64 `json:",string"`
	}
}

// Helicon reads the recorded blocks in the order of their heights.
func Helicon(t testing.TB, name string) (blocks []HeliconBlock) {
	t.Helper()
	Lines(t, name, func(line []byte) {
		var b HeliconBlock
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	})
	return blocks
}

// Lines yields the lines of a compressed file.
func Lines(t testing.TB, name string, take func(line []byte)) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		take(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
