package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzEnvelope sends any body to both services: the answer is empty, or one line
// of JSON whose size does not depend on the request's but for the id, which comes
// back as it was.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{}`, `[{"jsonrpc":"2.0","id":1,"method":"health.health"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"health.health","params":{"tags":["C","\u0000"]}}`,
		`{"jsonrpc":"2.0","id":{"a":[1.50]},"method":"admin.getLoggerLevel","params":[{"loggerName":"main"}]} trailing`,
		`{"JSONRPC":"2.0","id":"x","id":null,"method":"admin.alias","params":{"endpoint":"health","alias":"{x:.*}"}}`,
		`{"jsonrpc":"2.0","id":-0e1,"method":"admin.aliasChain","params":{"chain":"C","alias":"\ud800"}}`,
		`{"jsonrpc":2,"id":"\u2028","method":"admin.\u00e9"}`, `{"jsonrpc":"1","id":7,"params":"` + strings.Repeat("x", 3000) + `"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"admin.\xff\"}", strings.Repeat("[", 20_000),
	} {
		f.Add([]byte(seed))
	}
	s := New(fullConfig(f))
	admin := *s.cfg.Admin
	f.Fuzz(func(t *testing.T, body []byte) {
		// Each run starts with the same names.
		registry := newRegistry(t)
		s.aliases.table.Store(nil)
		s.cfg.Chains, s.cfg.Admin = registry, &Admin{Logs: admin.Logs, Chains: registry, Profiles: admin.Profiles, VMs: admin.VMs}
		for _, path := range []string{"/ext/admin", "/ext/health"} {
			resp := do(s, "POST", path, string(body))
			got := resp.Body()
			if resp.StatusCode() != 200 {
				t.Fatalf("status %d: %s", resp.StatusCode(), got)
			}
			req, _ := decodeRequest(body)
			if len(got) == 0 {
				if req.ID != nil {
					t.Fatal("no answer, but there is an id")
				}
				continue
			}
			if !json.Valid(got) || bytes.IndexByte(got, '\n') < 0 || got[len(got)-1] != '\n' {
				t.Fatalf("not a line of JSON: %q", got)
			}
			id := []byte("null")
			if req.ID != nil {
				id = *req.ID
			}
			if !bytes.HasSuffix(got, append(append([]byte(`,"id":`), id...), "}\n"...)) {
				t.Fatalf("the id %q is not in %q", id, got)
			}
			// JSON may need six bytes for one of a text.
			if len(got) > len(id)+7*(maxMessage+4*maxEcho)+4096 {
				t.Fatalf("%d bytes for %d", len(got), len(body))
			}
		}
	})
}

// FuzzPath takes any alias and path: an alias is found by its exact name alone,
// and unclean paths have a clean form on this host.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"health", "a/b", "a//b", "..", "%2e%2e/x", "bc/C/rpc", "x/readiness", "%zz", "{x:.*}", "\\", ""} {
		f.Add(seed, seed)
	}
	cfg := fullConfig(f)
	s, plain := New(cfg), New(cfg)
	f.Fuzz(func(t *testing.T, alias, path string) {
		s.aliases.table.Store(nil)
		err := s.alias("health", alias)
		if e := s.find([]byte("/ext/" + alias)); err == nil && e.kind != healthAll {
			t.Fatalf("alias %q was taken, but is not found", alias)
		}
		full := []byte("/ext/" + path)
		if alias != path && !strings.HasPrefix(path, alias+"/") && s.find(full) != plain.find(full) {
			t.Fatalf("alias %q changed what is at %q", alias, path)
		}
		decoded, ok := decodePath(full)
		if !ok {
			return
		}
		clean := cleanPath(decoded)
		if isClean(decoded) != (clean == string(decoded)) || !isClean([]byte(clean)) || clean[0] != '/' {
			t.Fatalf("%q is cleaned to %q", decoded, clean)
		}
	})
}
