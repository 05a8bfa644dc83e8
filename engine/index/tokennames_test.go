package index

import (
	"slices"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// named returns the first bytes of the tokens that a text finds.
func named(t *testing.T, c *Chain, text string, limit int) string {
	t.Helper()
	list, err := c.FindTokens(text, limit)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, n := range list {
		out = append(out, n.Token[0])
	}
	return string(out)
}

func namedTokens() map[evm.Address]TokenMeta {
	return map[evm.Address]TokenMeta{
		{'a'}: {Name: "USD Coin", Symbol: "USDC", Decimals: 6, HasDecimals: true},
		{'b'}: {Name: "usd coin bridged", Symbol: "USDC.e"},
		{'c'}: {Name: "Wrapped AVAX", Symbol: "WAVAX"},
		{'d'}: {Symbol: "WAVAX"},
		{'e'}: {Name: " Ünïcode\x00\xff ", Symbol: "Ü"},
		{'f'}: {Name: strings.Repeat("long ", 20) + "one", Symbol: "L"},
		{'g'}: {},
	}
}

// TestFindTokens: tokens are found by how their names and symbols begin, in whatever
// case, and not by what they were called before.
func TestFindTokens(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	if err := c.PutTokens(t.Context(), namedTokens()); err != nil {
		t.Fatal(err)
	}
	check := func(c *Chain, text, want string) {
		t.Helper()
		got := []byte(named(t, c, text, 20))
		if slices.Sort(got); string(got) != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"usdc": "ab", "USD": "ab", "usdc.": "b", "wrapped": "c", "wavax ": "cd", "avax": "", "ün": "e", "Ü": "e", "": "", " ": "",
		"long long": "f", strings.Repeat("LONG ", 20) + "one": "f", strings.Repeat("long ", 20) + "two": "", "\x00": "", "\xff": "", "l": "f",
	} {
		check(c, text, want)
	}
	if got := named(t, c, "usdc", 20); got != "ab" {
		t.Errorf("%q: what is called just so is not the first", got)
	}
	if got := named(t, c, "usd", 1); len(got) != 1 {
		t.Errorf("%q, want one", got)
	}
	if err := c.PutTokens(t.Context(), map[evm.Address]TokenMeta{{'a'}: {Name: "Other", Symbol: "usdc"}}); err != nil {
		t.Fatal(err)
	}
	check(c, "usd coin", "b")
	check(c, "other", "a")
	check(c, "usdc", "ab")
	again, err := Open(c.db, c.id, Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(again, "usdc", "ab")
}

// TestNamesOfOlderFolders: tokens that were known before names were kept are found once
// the chain was opened, also if that was cut short.
func TestNamesOfOlderFolders(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	if err := c.PutTokens(t.Context(), namedTokens()); err != nil {
		t.Fatal(err)
	}
	rowsOf := func() (keys []key) {
		s, err := c.db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		prefix := c.meta().key(store.TableTokenNames)
		it, err := s.Rows(prefix, false)
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		for it.Seek(prefix); it.Valid(); it.Next() {
			keys = append(keys, slices.Clone(it.Key()))
		}
		return keys
	}
	all := rowsOf()
	for _, gone := range [][]key{all, all[len(all)/2:]} { // the mark is the last row
		if err := c.dropRows(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		again, err := Open(c.db, c.id, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(); !slices.EqualFunc(got, all, func(a, b key) bool { return string(a) == string(b) }) {
			t.Errorf("%q, want %q", got, all)
		}
		if got := named(t, again, "wrapped", 9); got != "c" {
			t.Errorf("found %q", got)
		}
	}
	empty, err := Open(c.db, [32]byte{9}, Options{})
	if err != nil || empty.named.Load() || named(t, empty, "usd", 9) != "" {
		t.Errorf("a chain without tokens: %v", err)
	}
}
