package limit

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"quorate/httpapi/reload"
)

// TestReload: a changed file counts within a second, a broken one does not.
func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		file := newKeysFile(t, content(entry("a", "small")))
		l := newLimiter(t, Config{KeysFile: file.path, Logger: logTo(&log)})
		f := func(key string, want int) {
			t.Helper()
			<-time.After(reload.Every)
			if d := l.Admit(withKey(key).get, clientA, dataRoute, 0); d.status() != want {
				t.Errorf("key %s: %+v, want %d", key, d, want)
			}
		}
		f("a", 200)
		f("b", 401)
		file.write(t, content(entry("a", "small"), entry("b", "large")))
		f("b", 200)
		file.write(t, content(disabled("a", "small"), entry("b", "large")))
		f("a", 403)
		errors := func() int { return strings.Count(log.String(), "level=ERROR") }
		for i, broken := range []string{"tiers: [", "", content(entry("a", "missing"))} {
			file.write(t, broken)
			f("b", 200)
			f("b", 200) // logged once
			if errors() != i+1 {
				t.Errorf("%d errors logged after %d broken files:\n%s", errors(), i+1, log.String())
			}
			if err := l.Reload(); err == nil {
				t.Error("Reload took a broken file")
			}
		}
		if err := os.Remove(file.path); err != nil {
			t.Fatal(err)
		}
		f("b", 200)
		f("a", 403)
		if errors() != 4 {
			t.Errorf("%d errors logged, want one more for the missing file:\n%s", errors(), log.String())
		}
		file.write(t, content(entry("c", "large")))
		f("b", 401)
		f("c", 200)
	})
}

// TestReloadInterval: between two looks at the file a change does not count.
func TestReloadInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newKeysFile(t, content(entry("a", "small")))
		l := newLimiter(t, Config{KeysFile: file.path})
		l.Admit(headers{}.get, clientA, dataRoute, 0)
		file.write(t, content(entry("b", "small")))
		<-time.After(reload.Every - 1)
		if d := l.Admit(withKey("b").get, clientA, dataRoute, 0); d.Status != 401 {
			t.Errorf("looked at the file too early: %+v", d)
		}
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		if d := l.Admit(withKey("b").get, clientA, dataRoute, 0); !d.Allow {
			t.Errorf("after Reload: %+v", d)
		}
	})
}

// TestReloadKeepsBuckets: a reload refills nothing.
func TestReloadKeepsBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newKeysFile(t, content(entry("a", "small")))
		l := newLimiter(t, Config{KeysFile: file.path})
		l.Admit(withKey("a").get, clientA, dataRoute, 10)
		file.write(t, content(entry("a", "small"), entry("b", "small")))
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		if d := l.Admit(withKey("a").get, clientA, dataRoute, 1); d.Status != 429 {
			t.Errorf("after a reload: %+v", d)
		}
	})
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	h := Hash("x")
	f := func(content, complaint string) {
		t.Helper()
		_, err := parseKeys([]byte(content), &keyTable{})
		if (err == nil) != (complaint == "") || err != nil && !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s\n%v, want %q", content, err, complaint)
		}
	}
	const tierT = `{"name": "t", "unitsPerMinute": 60}`
	f(`{"tiers": [`+tierT+`], "keys": [{"name": "n", "hash": "`+h+`", "tier": "t"}]}`, "")
	f(`{"tiers": [`+tierT+`], "keys": [{"hash": "`+strings.ToUpper(h)+`", "tier": "t"}]}`, "")
	f("\n\t{\n\t\t\"tiers\": []\n\t}\n", "") // JSON is indented by tabs too
	f("tiers: [{name: t, unitsPerMinute: 60}]\n", "")
	f("# nothing yet\n---\nkeys: []\n", "")
	f(``, "empty")
	f("\n# only words\n", "empty")
	f(`{}{}`, "more after")
	f("keys: []\n---\nkeys: []\n", "more than one")
	f(`[]`, "unmarshal")
	f(`{"tier": []}`, "unknown field")
	f("keys:\n- {kye: a}", "line 2: field kye is unknown")
	f("keys: [7]\ntiers: x", "line 1: cannot unmarshal !!int `7`, which does not belong there; line 2: cannot unmarshal !!str `x`, which does not belong there")
	f("tier: []\n", "field tier is unknown")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 60, "route": ["/"]}]}`, "unknown field")
	f(`{"tiers": [{"unitsPerMinute": 60}]}`, "name is missing")
	f(`{"tiers": [{"name": "t"}]}`, "0 units per minute")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 1e9}]}`, "unmarshal")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 100000001}]}`, "must be 1 to")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 6, "burst": -1}]}`, "burst")
	f(`{"tiers": [`+tierT+`,`+tierT+`]}`, "another of that name")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 60, "routes": ["v1"]}]}`, "slash")
	f(`{"tiers": [{"name": "t", "unitsPerMinute": 60, "chains": ["fuji"]}]}`, "decimal")
	f("tiers: [{name: t, unitsPerMinute: 60, chains: [43114]}]\n", "") // YAML numbers are texts too
	f(`{"keys": [{"hash": "`+h+`", "tier": "t"}]}`, "no tier")
	f(`{"tiers": [`+tierT+`], "keys": [{"hash": "`+h[:63]+`", "tier": "t"}]}`, "64 hex digits")
	f(`{"tiers": [`+tierT+`], "keys": [{"hash": "`+h+`0", "tier": "t"}]}`, "64 hex digits")
	f(`{"tiers": [`+tierT+`], "keys": [{"hash": "`+h[:63]+`g", "tier": "t"}]}`, "64 hex digits")
	f(`{"tiers": [`+tierT+`], "keys": [{"hash": "`+h+`", "tier": "t"}, {"hash": "`+h+`", "tier": "t"}]}`, "another with that hash")
}

// TestNewKey: what is written for a new key can be pasted into a file of either form.
func TestNewKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := WriteNewKey(&out, `acme "x" <y>`, "t"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("wrote\n%s", out.String())
	}
	key := lines[0][strings.LastIndexByte(lines[0], ' ')+1:]
	object := strings.TrimPrefix(lines[2], "  - ")
	var byJSON, byYAML fileKey
	if err := json.Unmarshal([]byte(object), &byJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(object), &byYAML); err != nil {
		t.Fatal(err)
	}
	if want := (fileKey{Name: `acme "x" <y>`, Hash: Hash(key), Tier: "t"}); byJSON != want || byYAML != want {
		t.Errorf("%s\nas JSON %+v, as YAML %+v, want %+v", object, byJSON, byYAML, want)
	}
	file := newKeysFile(t, "tiers: [{name: t, unitsPerMinute: 60}]\nkeys:\n"+lines[2]+"\n")
	l := newLimiter(t, Config{KeysFile: file.path})
	if d := l.Admit(withKey(key).get, clientA, dataRoute, 1); !d.Allow || d.Tier != "t" {
		t.Errorf("the new key: %+v", d)
	}
	if again, _ := NewKey(); again == key || len(again) != len(key) || len(key) > maxKey {
		t.Errorf("keys %s and %s", key, again)
	}
}

// FuzzKeysFile: no content makes the parser panic, and what it takes can be used.
func FuzzKeysFile(f *testing.F) {
	f.Add([]byte(content(entry("a", "small"), disabled("b", "narrow"))))
	f.Add([]byte(`{"tiers": [{"name": "t", "unitsPerMinute": 60, "burst": 5}], "keys": [{"hash": "` + Hash("a") + `", "tier": "t"}]}`))
	f.Add([]byte("tiers: &a [*a]"))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nkeys: [*b,*b]"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		table, err := parseKeys(content, &keyTable{})
		if (err == nil) != (table != nil) {
			t.Fatalf("%v and %v", table, err)
		}
		if err != nil {
			return
		}
		for _, k := range table.keys {
			if err := k.tier.rate.check(); err != nil || k.bucket == nil {
				t.Fatalf("took %+v: %v", k, err)
			}
			k.permits(&dataRoute)
		}
	})
}

// FuzzHeaders: no header value makes a limiter panic, lets a client in that has
// no key, or makes it another client when its peer is no proxy.
func FuzzHeaders(f *testing.F) {
	f.Add("a", "1.1.1.1, 198.51.100.1")
	f.Add("", "[::1]:80,10.0.0.1")
	f.Add("\x00\xff", "fe80::1%\x00,,,1")
	f.Add(strings.Repeat("k", 300), strings.Repeat("10.0.0.1,", 100))
	file := newKeysFile(f, content(entry("a", "large")))
	l := newLimiter(f, Config{KeysFile: file.path, RequireKey: true, NoLimit: true,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	f.Fuzz(func(t *testing.T, key, forwarded string) {
		h := headers{HeaderKey: key, HeaderForwarded: forwarded}
		if d := l.Admit(h.get, clientA, dataRoute, 1); d.Allow != (key == "a") {
			t.Errorf("key %q: %+v", key, d)
		}
		if a := l.client(h.get, clientA); a != clientA {
			t.Errorf("forwarded %q made another client: %s", forwarded, a)
		}
		if a := l.client(h.get, netip.MustParseAddr("10.0.0.1")); !a.IsValid() || a.Zone() != "" {
			t.Errorf("forwarded %q gives the address %s", forwarded, a)
		}
	})
}
