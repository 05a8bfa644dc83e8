package chains

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quorate/engine/chain"
)

var (
	idP = chain.PlatformChainID
	idX = chain.ID{1}
	idC = chain.ID{2}
	idL = chain.ID{3} // not followed at first
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newRegistry returns one that follows P, X and C.
func newRegistry(t *testing.T, file string) *Registry {
	t.Helper()
	r, err := Open(file)
	must(t, err)
	follow(t, r)
	return r
}

func follow(t *testing.T, r *Registry) {
	t.Helper()
	must(t, r.Add(idP, "P", "platform"))
	must(t, r.Add(idX, "X", "avm"))
	must(t, r.Add(idC, "C", "evm"))
}

func wantAliases(t *testing.T, r *Registry, name string, want ...string) {
	t.Helper()
	got, err := r.Aliases(name)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("aliases of %s: got %q, %v, want %q", name, got, err, want)
	}
}

func wantID(t *testing.T, r *Registry, name string, want chain.ID) {
	t.Helper()
	if got, ok := r.Lookup(name); !ok || got != want {
		t.Errorf("%q: got %s, %v, want %s", name, got, ok, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	wantAliases(t, r, "X", "X", "avm", idX.String())
	must(t, r.Alias("avm", "exchange"))
	must(t, r.Alias(idX.String(), "börse-1.2_~"))
	must(t, r.Alias("exchange", "third")) // by an alias of its own
	want := []string{"X", "avm", idX.String(), "exchange", "börse-1.2_~", "third"}
	for _, name := range want {
		wantID(t, r, name, idX)
		wantAliases(t, r, name, want...)
	}
	wantAliases(t, r, "P", "P", "platform", idP.String())
	if got := r.Primary(idX); got != "X" {
		t.Errorf("primary of X: %s", got)
	}
	if got := r.Primary(idL); got != idL.String() {
		t.Errorf("primary of a chain not followed: %s", got)
	}
	must(t, r.Add(idL))
	wantAliases(t, r, idL.String(), idL.String())
	must(t, r.Alias(idL.String(), "mine"))
	if got := r.Primary(idL); got != idL.String() {
		t.Errorf("primary of a chain without built-in names: %s", got)
	}
	got, err := r.Aliases("X")
	must(t, err)
	got[0] = "changed"
	wantAliases(t, r, "X", want...)
}

func TestAdd(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	must(t, r.Alias("X", "swap"))
	must(t, r.Add(idX, "X", "avm")) // again
	wantAliases(t, r, "X", "X", "avm", idX.String(), "swap")
	must(t, r.Add(idX, "avm", "swap", "more", idX.String()))
	wantAliases(t, r, "X", "X", "avm", "swap", "more", idX.String())

	err := r.Add(idL, "X", "bad/name", "lone", idC.String(), strings.Repeat("x", 513))
	for _, want := range []error{ErrTaken, ErrBadName, ErrTooLong} {
		if !errors.Is(err, want) {
			t.Errorf("want %v in %v", want, err)
		}
	}
	wantAliases(t, r, "lone", "lone", idL.String())
	wantID(t, r, "X", idX)
	wantID(t, r, idC.String(), idC)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, filepath.Join(t.TempDir(), "aliases.json"))
	must(t, r.Alias("X", "mine"))
	hex := strings.Repeat("ab", 32)
	long := strings.Repeat("ü", 513)
	for _, c := range []struct {
		chain, alias string
		want         error
		text         string
	}{
		{"X", long, ErrTooLong, "alias length is too long"},
		{"nope", long, ErrTooLong, ""}, // before all else, as the node
		{"nope", "fine", ErrUnknown, "there is no ID with alias: nope"},
		{"", "fine", ErrUnknown, "there is no ID with alias: "},
		{idL.String(), "fine", ErrUnknown, "there is no ID with alias: " + idL.String()},
		{long, "fine", ErrUnknown, "there is no ID with alias: " + long[:1024] + "..."},
		{"X", "mine", ErrTaken, "alias already mapped to an ID: mine"},
		{"C", "mine", ErrTaken, "alias already mapped to an ID: mine"},
		{"X", "avm", ErrTaken, ""},
		{"X", "P", ErrTaken, ""},
		{"X", idX.String(), ErrTaken, ""},
		{"X", idC.String(), ErrTaken, ""},
		{"X", idL.String(), ErrBadName, ""},
		{"X", hex, ErrBadName, ""},
		{"X", "0x" + hex, ErrBadName, ""},
		{"X", "", ErrBadName, ""},
		{"X", ".", ErrBadName, ""},
		{"X", "..", ErrBadName, ""},
		{"X", "../x", ErrBadName, ""},
		{"X", "/x", ErrBadName, ""},
		{"X", "x/", ErrBadName, ""},
		{"X", `..\x`, ErrBadName, ""},
		{"X", "{x:.*}", ErrBadName, ""},
		{"X", "x}", ErrBadName, ""},
		{"X", "a%2fb", ErrBadName, ""},
		{"X", "a?b", ErrBadName, ""},
		{"X", "a#b", ErrBadName, ""},
		{"X", "a b", ErrBadName, ""},
		{"X", " ", ErrBadName, ""},
		{"X", "a\u00a0b", ErrBadName, ""},
		{"X", "a\u200bb", ErrBadName, ""},
		{"X", "a\u202eb", ErrBadName, ""},
		{"X", "a\r\nb", ErrBadName, ""},
		{"X", "a\x00", ErrBadName, ""},
		{"X", "\x7f", ErrBadName, ""},
		{"X", "a\x80", ErrBadName, ""},
	} {
		before := *r.table.Load()
		err := r.Alias(c.chain, c.alias)
		if !errors.Is(err, c.want) || c.text != "" && err.Error() != c.text {
			t.Errorf("%.40q, %.40q: got %v, want %v %q", c.chain, c.alias, err, c.want, c.text)
		}
		after := *r.table.Load()
		if len(after.owner) != len(before.owner) || len(r.given) != 1 {
			t.Errorf("%.40q, %.40q: refused and yet something has changed", c.chain, c.alias)
		}
	}
	if err := r.Alias("X", strings.Repeat("ü", 512)); err != nil {
		t.Errorf("512 characters: %v", err)
	}
	for _, name := range []string{"...", ".x", "a.b", "~", "a+b", "a&b=c", "名前", "🙂", "-", "0x", `"`, "<b>"} {
		if err := r.Alias("X", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := r.Aliases("nope"); !errors.Is(err, ErrUnknown) {
		t.Errorf("aliases of a chain that is not there: %v", err)
	}
	if _, ok := r.Lookup(idL.String()); ok {
		t.Error("a chain that is not followed was found")
	}
}

func TestKeptOverRestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "folder", "aliases.json")
	r := newRegistry(t, file)
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("something was written without an alias: %v", err)
	}
	must(t, r.Add(idL, "L"))
	must(t, r.Alias("X", "one"))
	must(t, r.Alias("L", "lone"))
	must(t, r.Alias("X", `two"<`))

	r = newRegistry(t, file) // L is not followed now
	wantAliases(t, r, "X", "X", "avm", idX.String(), "one", `two"<`)
	if _, ok := r.Lookup("lone"); ok {
		t.Error("the alias of a chain that is not followed was found")
	}
	if err := r.Alias("X", "lone"); !errors.Is(err, ErrTaken) {
		t.Errorf("the name of a chain not followed now: %v", err)
	}
	must(t, r.Alias("C", "three"))

	r = newRegistry(t, file)
	must(t, r.Add(idL, "L"))
	wantAliases(t, r, "L", "L", idL.String(), "lone")
	wantAliases(t, r, "three", "C", "evm", idC.String(), "three")
	if err := r.Add(chain.ID{9}, "lone", "niner"); !errors.Is(err, ErrTaken) {
		t.Errorf("built-in name that an operator has given another chain: %v", err)
	}
	wantAliases(t, r, "niner", "niner", chain.ID{9}.String())
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v", entries, err)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "aliases.json")
	many := make([]given, maxGiven-1)
	for i := range many {
		many[i] = given{idX, fmt.Sprint("alias", i)}
	}
	must(t, save(osDisk{}, file, nil, many))
	r := newRegistry(t, file)
	must(t, r.Alias("X", "last"))
	if err := r.Alias("X", "beyond"); !errors.Is(err, ErrTooMany) {
		t.Errorf("alias %d: %v", maxGiven+1, err)
	}
	r = newRegistry(t, file)
	wantID(t, r, "last", idX)
	if got, err := r.Aliases("X"); err != nil || len(got) != maxGiven+3 {
		t.Errorf("%d names, %v", len(got), err)
	}
}

// TestLargestFileIsRead: what Alias lets into the file, Open takes out again.
func TestLargestFileIsRead(t *testing.T) {
	t.Parallel()
	largest, err := encode([]given{{idX, strings.Repeat("<", maxName)}}) // each character escaped
	if size := len(largest) * maxGiven; err != nil || size > maxFile {
		t.Errorf("%d aliases may take %d bytes, %v", maxGiven, size, err)
	}
	if _, err := decode(make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file above the bound: %v", err)
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "aliases.json")
	r := newRegistry(t, file)
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				if err := r.Add(chain.ID{100, byte(i)}, fmt.Sprint("chain", i)); err != nil {
					t.Error(err)
				}
				if r.Alias("X", fmt.Sprint("shared", j)) == nil {
					mu.Lock()
					wins++
					mu.Unlock()
				}
				own := fmt.Sprint("own", i, "-", j)
				if err := r.Alias("C", own); err != nil {
					t.Error(err)
				}
				wantID(t, r, own, idC)
				if _, err := r.Aliases("X"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if wins != 5 {
		t.Errorf("5 names were given %d times", wins)
	}
	r2 := newRegistry(t, file)
	if len(r2.given) != 45 {
		t.Errorf("%d aliases in the file, want 45", len(r2.given))
	}
}

// TestLookupDoesNotAllocate is a budget. Not parallel, for the count is the process's.
func TestLookupDoesNotAllocate(t *testing.T) {
	r := newRegistry(t, "")
	if n := testing.AllocsPerRun(100, func() { r.Lookup("avm") }); n != 0 {
		t.Errorf("%v allocations in a lookup", n)
	}
}
