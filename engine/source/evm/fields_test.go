package evm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// corethBlock is a block of an upgrade, and its header with each field changed: what coreth
// and subnet-evm make and hash, see e2e/vectors, and what nodes of real networks had that
// turn the upgrades on one by one: see TestUpgrades in e2e.
type corethBlock struct {
	Name    string
	JSON    map[string]any
	Hash    string
	Changes []struct {
		Field   string
		Members map[string]any
		Hash    string
	}
	Receipts json.RawMessage // of a block of a network
}

func readFields(t *testing.T) (list []corethBlock) {
	t.Helper()
	names, err := filepath.Glob("testdata/upgrades-*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "../../chain/evm/consensus/testdata/fields.json") {
		var some []corethBlock
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &some)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range some {
			some[i].Name = filepath.Base(name) + " " + some[i].Name
		}
		list = append(list, some...)
	}
	return list
}

// answer returns what a node says of a block, with another hash and other members. One
// that coreth's packages made is a header alone.
func (b *corethBlock) answer(hash string, members map[string]any) lie {
	o := maps.Clone(b.JSON)
	maps.Copy(o, members)
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil }) // as a node does it
	o["hash"] = hash
	if b.Receipts != nil {
		return lie{block: must(json.Marshal(o)), receipts: b.Receipts}
	}
	o["transactions"], o["uncles"], o["size"], o["totalDifficulty"] = []any{}, []any{}, "0x1", "0x0"
	if b.coreth() {
		o["blockExtraData"] = "0x"
	}
	return lie{block: must(json.Marshal(o)), receipts: []byte("[]")}
}

func (b *corethBlock) coreth() bool { return b.JSON["extDataHash"] != nil }

// TestHeaderFields: headers of each upgrade, as coreth and subnet-evm make them, are taken
// with their hash, and with no other value in any of the fields that their types have. For
// each of those coreth's own hash is found: so a field is refused for what it says.
func TestHeaderFields(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	list := readFields(t)
	if len(list) < 41 {
		t.Fatalf("%d blocks", len(list))
	}
	for _, b := range list {
		number := must(hexUint([]byte(b.JSON["number"].(string))))
		got, err := decodeBoth(b.answer(b.Hash, nil), number, strict())
		if err != nil || got.Unverified != "" || got.Hash.String() != b.Hash {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		fields := map[string]bool{}
		for _, c := range b.Changes {
			fields[c.Field] = true
			if got, err := decodeBoth(b.answer(b.Hash, c.Members), number, strict()); err == nil {
				t.Errorf("%s, %s: %v is believed: %+v", b.Name, c.Field, c.Members, got)
			}
			_, h, err := decodeHeader(b.answer(c.Hash, c.Members).block)
			_, there := slices.Collect(maps.Values(c.Members))[0].(string)
			switch {
			case err != nil && (strings.HasPrefix(c.Field, "Time") || !there && (c.Field == "Number" || c.Field == "Difficulty")):
				// Seconds and milliseconds contradict each other, or what each block has is left out.
			case err != nil || !h.hashes() || evm.Keccak(h.encoded).String() != c.Hash:
				t.Errorf("%s, %s: %v has not the hash %s: %v", b.Name, c.Field, c.Members, c.Hash, err)
			}
		}
		if want := map[bool]int{true: 24, false: 22}[b.coreth()]; len(fields) != want {
			t.Errorf("%s: %d fields changed, want %d: %v", b.Name, len(fields), want, slices.Sorted(maps.Keys(fields)))
		}
	}
}

// TestExtDataBytes: each byte of a block's ExtData that is another one, or not there, or
// there twice, is refused: the header covers all of them, whatever they say.
func TestExtDataBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	m := variety(newMade(evm.Hash{3}, 7).header)
	block, receipts := m.json()
	honest := m.block.ExtData
	if len(honest) < 300 {
		t.Fatalf("ExtData of %d bytes", len(honest))
	}
	must(decodeBoth(lie{"", block, receipts}, 7, strict()))
	said := hexData(honest)
	refuse := func(what string, at int, other []byte) {
		t.Helper()
		l := lie{block: []byte(strings.Replace(string(block), said, hexData(other), 1)), receipts: receipts}
		if got, err := decodeBoth(l, 7, strict()); err == nil {
			t.Errorf("byte %d %s: believed: %+v", at, what, got.Atomic)
		}
	}
	for i := 0; i < len(honest); i++ {
		for bit := range 8 {
			other := slices.Clone(honest)
			other[i] ^= 1 << bit
			refuse("changed", i, other)
		}
		refuse("left out", i, slices.Delete(slices.Clone(honest), i, i+1))
		refuse("twice", i, slices.Insert(slices.Clone(honest), i, honest[i]))
		refuse("cut", i, honest[:i])
	}
}
