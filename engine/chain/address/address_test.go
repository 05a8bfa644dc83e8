package address

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// goldenJSON holds what avalanchego's own packages say of good and bad texts:
// e2e/vectors.
//
//go:embed testdata/avalanchego.json
var goldenJSON []byte

type goldens struct {
	Texts []struct {
		Text, Chain, Prefix, Bytes string
		Good                       bool
	}
	Prefixes map[uint32]string
}

func golden(t testing.TB) *goldens {
	t.Helper()
	g := new(goldens)
	if err := json.Unmarshal(goldenJSON, g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGolden(t *testing.T) {
	t.Parallel()
	g := golden(t)
	for id, want := range g.Prefixes {
		if got := Prefix(id); got != want {
			t.Errorf("network %d: got %s, want %s", id, got, want)
		}
	}
	good := 0
	for _, e := range g.Texts {
		got, err := Parse(e.Text)
		switch {
		case !e.Good || strings.HasPrefix(e.Text, "-") || short(e.Text):
			if !errors.Is(err, ErrForm) {
				t.Errorf("%q: got %+v, %v", e.Text, got, err)
			}
		case err != nil:
			t.Errorf("%q: %v", e.Text, err)
		default:
			good++
			if got.Chain != e.Chain || got.Prefix != e.Prefix || "0x"+hex.EncodeToString(got.Address[:]) != e.Bytes {
				t.Errorf("%q: got %+v, want %+v", e.Text, got, e)
			}
			back := got.Address.Text(got.Prefix)
			if got.Chain != "" {
				back = got.Address.OnChain(got.Chain, got.Prefix)
			}
			if want := e.Text; back != want && !strings.HasSuffix(want, strings.ToUpper(got.Address.Text(got.Prefix))) {
				t.Errorf("%q is written as %q", want, back)
			}
		}
	}
	if good < 100 {
		t.Errorf("%d good examples", good)
	}
}

// short reports whether a text has 31 groups of 5 bits. avalanchego fills their 155
// bits up to 20 bytes; an address with a second spelling is none here.
func short(text string) bool {
	return strings.HasSuffix(text, "avax1"+strings.Repeat("q", 31)+"3wk3mh")
}

// The forms that a parameter may have, and what is said of the others.
func TestParseOn(t *testing.T) {
	t.Parallel()
	a := Address{1, 2, 3}
	check := func(text string, want error) {
		t.Helper()
		got, err := ParseOn(text, 5, "P", "X")
		if !errors.Is(err, want) || want == nil && got != a || want != nil && got != (Address{}) {
			t.Errorf("%q: got %x, %v; want %v", text, got, err, want)
		}
	}
	check(a.Text("fuji"), nil)
	check(a.OnChain("P", "fuji"), nil)
	check(a.OnChain("X", "fuji"), nil)
	check(strings.ToUpper(a.Text("fuji")), nil)
	check("P-"+strings.ToUpper(a.Text("fuji")), nil)
	check(a.OnChain("C", "fuji"), ErrChain)
	check(a.OnChain("p", "fuji"), ErrChain)
	check(a.Text("avax"), ErrNetwork)
	check(a.OnChain("P", "custom"), ErrNetwork)
	check("", ErrForm)
	check("P-", ErrForm)
	check("-"+a.Text("fuji"), ErrForm)
	check("P-X-"+a.Text("fuji"), ErrForm)
	check(strings.Repeat("P", 65)+"-"+a.Text("fuji"), ErrForm)
	check("P- "+a.Text("fuji"), ErrForm)
	check("0x"+hex.EncodeToString(a[:]), ErrForm)
	check(strings.Repeat("q", 1<<20), ErrForm)
}

func FuzzParse(f *testing.F) {
	for _, e := range golden(f).Texts {
		f.Add(e.Text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			return
		}
		back := got.Address.Text(got.Prefix)
		if got.Chain != "" {
			back = got.Address.OnChain(got.Chain, got.Prefix)
		}
		again, err := Parse(back)
		if err != nil || again != got || !strings.EqualFold(back, s) {
			t.Fatalf("%q is written as %q, which is %+v, %v", s, back, again, err)
		}
	})
}
