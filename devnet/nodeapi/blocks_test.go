package nodeapi

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quorate/devnet/world"
	"quorate/engine/chain"
)

// block asks for a block and gives what the answer has as such.
func block(t *testing.T, s *Server, height uint64, encoding string) json.RawMessage {
	t.Helper()
	var reply struct {
		Result struct {
			Block    json.RawMessage
			Encoding string
		}
	}
	params := fmt.Sprintf(`{"height":"%d","encoding":%q}`, height, encoding)
	_, body := rpcCall(s, "/ext/bc/P", "platform.getBlockByHeight", params)
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	if reply.Result.Encoding != strings.ToLower(encoding) {
		t.Fatalf("got %s", body)
	}
	return reply.Result.Block
}

func blockBytes(t *testing.T, s *Server, height uint64, encoding string) []byte {
	t.Helper()
	var text string
	if err := json.Unmarshal(block(t, s, height, encoding), &text); err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The blocks are a chain in the node's codec: IDs are hashes, each block names
// the one before. The first asked for is not the first.
func TestBlocks(t *testing.T) {
	s, w, _ := newServer(t)
	const tip = 3
	for range tip {
		w.Shift()
	}
	same, _, _ := newServer(t)
	var below chain.ID
	for _, h := range []uint64{2, 0, 1, 2, 3} {
		b := blockBytes(t, s, h, "hexnc")
		id := chain.ID(sha256.Sum256(b))
		checked := blockBytes(t, s, h, "HEX")
		if sum := string(id[len(id)-4:]); string(checked) != string(b)+sum || string(blockBytes(t, s, h, "hexc")) != string(checked) {
			t.Errorf("block %d: %x with checksum, %x without", h, checked, b)
		}
		parent := b[6:]
		if h > 0 {
			parent = b[6+8:]
			if at := binary.BigEndian.Uint64(b[6:]); at != uint64(w.GenesisTime().Unix()) {
				t.Errorf("block %d has time %d", h, at)
			}
		}
		if got := binary.BigEndian.Uint64(parent[32:]); got != h {
			t.Errorf("block %d says it has height %d", h, got)
		}
		if h != 2 && h > 0 && chain.ID(parent[:32]) != below {
			t.Errorf("block %d does not follow the one before", h)
		}
		below = id

		var read struct {
			ID, ParentID string
			Height       uint64
			Time         int64
		}
		if err := json.Unmarshal(block(t, s, h, "json"), &read); err != nil {
			t.Fatal(err)
		}
		if read.ID != id.String() || read.ParentID != chain.ID(parent[:32]).String() || read.Height != h {
			t.Errorf("block %d as JSON: %+v", h, read)
		}
	}
	if string(blockBytes(t, s, 0, "hex")) != string(blockBytes(t, same, 0, "hex")) {
		t.Error("the same seed gives other blocks")
	}
	other, err := world.New(world.Params{Validators: 3, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if string(blockBytes(t, New(Config{World: other, Live: &fakeLive{}}), 0, "hex")) == string(blockBytes(t, s, 0, "hex")) {
		t.Error("another seed gives the same blocks")
	}
}

// TestBlockForm compares with the form of a real node's blocks.
func TestBlockForm(t *testing.T) {
	s, w, _ := newServer(t)
	w.Shift()
	parent := hex.EncodeToString(s.blocks.genesis[:])
	if got, want := hex.EncodeToString(blockBytes(t, s, 0, "hexnc")), "000000000002"+parent+"0000000000000000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	id, _ := s.blocks.at(0)
	if got, want := string(block(t, s, 0, "json")), fmt.Sprintf(`{"parentID":%q,"height":0,"id":%q}`, s.blocks.genesis, id); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	next, _ := s.blocks.at(1)
	if got, want := string(block(t, s, 1, "json")), fmt.Sprintf(`{"time":1735689600,"parentID":%q,"height":1,"id":%q,"txs":[]}`, id, next); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
