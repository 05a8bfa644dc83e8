package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// The rules themselves: what they let pass and what they catch.

func TestLayerRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"cmd/quorate", "engine", true},
		{"engine", "engine/store", true},
		{"engine/follow", "p2p", false},
		{"engine/follow", "engine/network", false},
		{"engine/store", "engine/actor", true},
		{"devnet/node", "p2p/wire", true},
		{"engine", "rpc/profile", false},
		{"rpc", "internal/pull", true},
		{"engine", "rpc", false},
		{"engine/health", "rpc", false},
		{"engine", "devnet", false},
		{"engine", "httpapi", false},
		{"engine/store", "engine", false},
		{"httpapi", "bench", false},
		{"httpapi", "rpc", false},
		{"rpc", "devnet/world", false},
		{"aggregator", "p2p", false},
		{"aggregator", "engine/store", false},
		{"p2p", "aggregator/bls", false},
		{"engine/chain", "engine/log", false},
		{"engine/actor", "engine/chain", false},
		{"rollup", "engine/chain", false},
		{"internal/pull", "engine/chain", false},
		{"devnet", "bench", false},
		{"bench", "engine/index/indextest", false},
		{"engine/source/container/containertest", "engine/chain/chaintest", true},
		{"junk", "engine", false},
		{"engine", "junk/drawer", false},
	} {
		if err := checkImport(c.from, c.to); (err == nil) != c.ok {
			t.Errorf("%s -> %s: got %v, want ok %v", c.from, c.to, err, c.ok)
		}
	}
	for _, c := range []struct {
		from, library string
		ok            bool
	}{
		{"aggregator/bls", "github.com/supranational/blst/bindings/go", true},
		{"devnet", "github.com/supranational/blst/bindings/go", false},
		{"engine/store/results", "github.com/dgraph-io/badger/v4/options", true},
		{"engine/stores", "github.com/dgraph-io/badger/v4/options", false},
		{"engine/index", "github.com/dgraph-io/badger/v4", false},
		{"engine/actor", "golang.org/x/sync/errgroup", false},
	} {
		if err := checkLibrary(c.from, c.library); (err == nil) != c.ok {
			t.Errorf("%s -> %s: got %v, want ok %v", c.from, c.library, err, c.ok)
		}
	}
}

func TestFileRules(t *testing.T) {
	t.Parallel()
	check := func(path, src string, want ...string) {
		t.Helper()
		f, err := parse(path, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		errs := checkFile(f)
		if len(errs) != len(want) {
			t.Errorf("%s: got %v, want %d faults", path, errs, len(want))
			return
		}
		for i := range want {
			if !strings.Contains(errs[i].Error(), want[i]) {
				t.Errorf("%s: got %v, want %q", path, errs[i], want[i])
			}
		}
	}
	const sleep = "package p\n\nimport \"time\"\n\nfunc f() {\n\ttime.Sleep(1)\n}\n"
	check("p2p/p.go", sleep)
	check("p2p/p_test.go", sleep, "p2p/p_test.go:6: time.Sleep")
	check("p2p/p_test.go", strings.NewReplacer(`"time"`, `clock "time"`, "time.S", "clock.S").Replace(sleep), "clock.Sleep")
	check("p2p/p_test.go", strings.Replace(sleep, "time.S", "time.\n\t\tS", 1), "p2p/p_test.go:6: time.Sleep")
	check("p2p/p_test.go", "package p\n\nfunc f(time interface{ Sleep() }) { time.Sleep() }\n")
	check("p2p/p.go", "package p\n\nfunc init() {}\n", "init function")
	check("p2p/p.go", "package p\n\ntype t struct{}\n\nfunc (t) init() {}\n")
	const client = "package p\n\nimport \"net/http\"\n\nvar c = http.DefaultClient\n\nfunc f() { http.Get(\"\"); c.Get(\"\") }\n"
	check("e2e/p.go", client, "http.DefaultClient", "http.Get")
	const env = "package p\n\nimport (\n\t\"flag\"\n\t\"os\"\n)\n\nvar a, b = os.Getenv(\"A\"), flag.Bool(\"b\", false, \"\")\n"
	check("engine/p.go", env, "os.Getenv", "flag.Bool")
	check("cmd/quorate/p.go", env)
	check("engine/p_test.go", env)
	long := "package p\n" + strings.Repeat("\n", maxFileLines)
	check("p2p/p.go", long, "501 lines")
	check("p2p/p.go", long[:len(long)-1])
	check("p2p/p_test.go", long)
}

func TestRoomRules(t *testing.T) {
	t.Parallel()
	list := "# begins\np 5000 lines # a codec\np.T 50 methods\nq 30 files\n"
	known, err := parseRooms(list)
	if err != nil {
		t.Fatal(err)
	}
	now := map[subject]int{{"p", inLines}: 4999, {"p.T", inMethods}: 51, {"q", inFiles}: 20, {"r", inKnots}: 11, {"s", inKnots}: 10}
	want := []string{"p.T has 51 methods, and had 50", "q has shrunk from 30 to 20 files", "r has 11 knots, may have 10"}
	got := checkRooms(now, known)
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if got, want := shrunk(list, now), "# begins\np 4999 lines # a codec\np.T 50 methods\n"; got != want {
		t.Errorf("the list becomes %q, want %q", got, want)
	}
}

func TestKnots(t *testing.T) {
	t.Parallel()
	parsed := map[string]*ast.File{}
	for path, src := range map[string]string{
		"a.go": "package p\n\ntype a struct{ size int }\n\nfunc (a) only() { b() }\n",
		"b.go": "package p\n\nfunc b() { a := c{}; a.only() }\n", // uses a method of a.go
		"c.go": "package p\n\ntype c struct{}\n\nfunc (c) size() {}\n\nfunc d(b int) int { return b }\n",
		"d.go": "package p\n\nfunc e(x a) int { d(1); return x.size }\n",
	} {
		var err error
		if parsed[path], err = parser.ParseFile(token.NewFileSet(), path, src, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := countKnots(parsed); got != 1 {
		t.Errorf("got %d knots, want that of a.go and b.go", got)
	}
}
