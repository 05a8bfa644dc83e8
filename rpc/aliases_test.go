package rpc

import (
	"fmt"
	"strings"
	"testing"
)

func TestAliasLength(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	ask := func(method, first, alias string) string {
		name := map[string]string{"admin.alias": "endpoint", "admin.aliasChain": "chain"}[method]
		return rpcCall(s, method, fmt.Sprintf(`{%q:%q,"alias":%q}`, name, first, alias))
	}
	for _, c := range []struct{ method, first, letter string }{
		{"admin.alias", "health", "a"}, {"admin.aliasChain", "C", "b"},
		// Characters count, not bytes.
		{"admin.alias", "health", "é"}, {"admin.aliasChain", "C", "ü"},
	} {
		long := strings.Repeat(c.letter, 513)
		if got := ask(c.method, c.first, long); got != failure("alias length is too long") {
			t.Errorf("%s %s of 513: %s", c.method, c.letter, got)
		}
		// The length comes before all else.
		if got := ask(c.method, "nope", long); got != failure("alias length is too long") {
			t.Errorf("%s %s of 513 for nothing: %s", c.method, c.letter, got)
		}
		fits := strings.Repeat(c.letter, 512)
		if got := ask(c.method, c.first, fits); got != done {
			t.Errorf("%s %s of 512: %s", c.method, c.letter, got)
		}
		path := map[string]string{"admin.alias": "/ext/" + fits + "/liveness", "admin.aliasChain": "/ext/bc/" + fits + "/rpc"}[c.method]
		verb := map[string]string{"admin.alias": "GET", "admin.aliasChain": "POST"}[c.method]
		if resp := do(s, verb, path, "1"); resp.StatusCode() != 200 {
			t.Errorf("%s %s of 512: status %d", c.method, c.letter, resp.StatusCode())
		}
	}
}

func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	table := make(map[string]string, maxAliases)
	for i := range maxAliases - 1 {
		table[fmt.Sprint("n", i)] = "health"
	}
	s.aliases.table.Store(&table)
	if err := s.alias("health", "last"); err != nil {
		t.Fatal(err)
	}
	if err := s.alias("health", "more"); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("one more: %v", err)
	}
	for path, want := range map[string]int{"/ext/last/liveness": 200, "/ext/n77/liveness": 200, "/ext/more/liveness": 404} {
		if got := do(s, "GET", path, "").StatusCode(); got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

// A chain that comes later keeps its paths, whatever was aliased before.
func TestAliasNeverShadows(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	registry := newRegistry(t)
	cfg.Chains, cfg.Admin.Chains = registry, registry
	s := New(cfg)
	for _, alias := range []string{"bc/new", "bc/newer/rpc"} {
		if got := rpcCall(s, "admin.alias", fmt.Sprintf(`{"endpoint":"bc/P/rpc","alias":%q}`, alias)); got != done {
			t.Fatal(got)
		}
	}
	if body := string(do(s, "POST", "/ext/bc/newer/rpc", "1").Body()); !strings.Contains(body, chainP.String()) {
		t.Errorf("before: %s", body)
	}
	// By administration it is refused, as a whole.
	for _, name := range []string{"new", "newer"} {
		if got := rpcCall(s, "admin.aliasChain", fmt.Sprintf(`{"chain":"C","alias":%q}`, name)); !strings.Contains(got, "already maps to a handle: /ext/bc/"+name) {
			t.Errorf("%s: %s", name, got)
		}
		if _, ok := registry.Lookup(name); ok {
			t.Errorf("%s: the refused alias stayed", name)
		}
	}
	if err := registry.Add(other, "newer"); err != nil {
		t.Fatal(err)
	}
	if body := string(do(s, "POST", "/ext/bc/newer/rpc", "1").Body()); !strings.Contains(body, other.String()) {
		t.Errorf("after: %s", body)
	}
}

// A refused alias leaves nothing behind.
func TestAliasAllOrNothing(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	before := s.aliases.table.Load()
	for _, c := range []struct{ endpoint, alias string }{
		{"health", ""}, {"health", "{x:.*}"}, {"health", "../x"}, {"health", "a\x00b"}, {"health", "a\nb"},
		{"health", strings.Repeat("x", 513)}, {"health", "metrics"}, {"health", "bc/C"}, {"nope", "x"},
	} {
		if err := s.alias(c.endpoint, c.alias); err == nil {
			t.Errorf("%q was accepted", c.alias)
		}
	}
	if s.aliases.table.Load() != before {
		t.Error("the table changed")
	}
}
