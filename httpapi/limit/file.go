package limit

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/goccy/go-json"
	"go.yaml.in/yaml/v3"

	"quorate/httpapi/reload"
)

// maxFile bounds the keys file in bytes: some hundred thousand keys.
const maxFile = 64 << 20

type fileContent struct {
	Tiers []fileTier `json:"tiers" yaml:"tiers"`
	Keys  []fileKey  `json:"keys" yaml:"keys"`
}

type fileTier struct {
	Name           string   `json:"name" yaml:"name"`
	UnitsPerMinute int64    `json:"unitsPerMinute" yaml:"unitsPerMinute"`
	Burst          int64    `json:"burst" yaml:"burst"`
	Routes         []string `json:"routes" yaml:"routes"`
	Chains         []string `json:"chains" yaml:"chains"`
}

type fileKey struct {
	Name     string `json:"name" yaml:"name"`
	Hash     string `json:"hash" yaml:"hash"`
	Tier     string `json:"tier" yaml:"tier"`
	Disabled bool   `json:"disabled" yaml:"disabled"`
}

// parseKeys reads the content of a keys file. Keys that are in before keep their buckets.
func parseKeys(content []byte, before *keyTable) (*keyTable, error) {
	f, err := decodeFile(content)
	if err != nil {
		return nil, err
	}
	tiers := make(map[string]*tier, len(f.Tiers))
	for i, ft := range f.Tiers {
		t, err := ft.tier()
		if err != nil {
			return nil, fmt.Errorf("tier %d (%q): %w", i+1, ft.Name, err)
		}
		if tiers[t.name] != nil {
			return nil, fmt.Errorf("tier %d (%q): there is another of that name", i+1, ft.Name)
		}
		tiers[t.name] = t
	}
	table := &keyTable{keys: make(map[digest]*key, len(f.Keys)), tiers: len(tiers)}
	for i, fk := range f.Keys {
		var d digest
		if n, err := hex.Decode(d[:], []byte(fk.Hash[:min(len(fk.Hash), 2*len(d))])); err != nil || n != len(d) || len(fk.Hash) != 2*len(d) {
			return nil, fmt.Errorf("key %d (%q): hash must be 64 hex digits, the SHA-256 of the key", i+1, fk.Name)
		}
		if table.keys[d] != nil {
			return nil, fmt.Errorf("key %d (%q): there is another with that hash", i+1, fk.Name)
		}
		t := tiers[fk.Tier]
		if t == nil {
			return nil, fmt.Errorf("key %d (%q): there is no tier %q", i+1, fk.Name, fk.Tier)
		}
		k := &key{id: cmp.Or(fk.Name, strings.ToLower(fk.Hash[:16])), name: fk.Name, tier: t, disabled: fk.Disabled}
		if old := before.keys[d]; old != nil {
			k.bucket, k.used = old.bucket, old.used
		} else {
			k.bucket, k.used = new(bucket), new(usage)
		}
		table.keys[d] = k
	}
	return table, nil
}

// decodeFile refuses members that it does not know: a mistyped one must not
// quietly take a restriction away.
func decodeFile(content []byte) (f fileContent, err error) {
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '{' {
		d := json.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		if err = d.Decode(&f); err == nil {
			if _, after := d.Token(); !errors.Is(after, io.EOF) {
				err = errors.New("there is more after the JSON object")
			}
		}
		return f, err
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err = d.Decode(&f); errors.Is(err, io.EOF) {
		err = errors.New("the file is empty") // perhaps just being written
	}
	if err != nil {
		return f, plainYAML(err)
	}
	if !errors.Is(d.Decode(new(any)), io.EOF) {
		err = errors.New("there is more than one YAML document")
	}
	return f, err
}

// Names of Go types, which say nothing to the writer of a file.
var (
	unknownKey = regexp.MustCompile(` not found in type [\w.]+`)
	typeName   = regexp.MustCompile(` into (\[\])?limit\.\w+`)
)

// plainYAML words a decoder's error for the writer of the file.
func plainYAML(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	text := unknownKey.ReplaceAllString(strings.Join(typed.Errors, "; "), " is unknown")
	return errors.New(typeName.ReplaceAllString(text, ", which does not belong there"))
}

func (f *fileTier) tier() (*tier, error) {
	if f.Name == "" {
		return nil, errors.New("name is missing")
	}
	t := &tier{name: f.Name, rate: rate{f.UnitsPerMinute, f.Burst}, routes: f.Routes, chains: f.Chains}
	if t.rate.burst == 0 {
		t.rate.burst = t.rate.perMinute
	}
	for _, r := range t.routes {
		if !strings.HasPrefix(r, "/") {
			return nil, fmt.Errorf("route %q does not start with a slash", r)
		}
	}
	for _, c := range t.chains {
		if c == "" || strings.Trim(c, "0123456789") != "" {
			return nil, fmt.Errorf("chain %q is not an EVM chain ID in decimal digits", c)
		}
	}
	return t, t.rate.check()
}

// openKeys reads the keys file and keeps what it says up to date.
func openKeys(cfg *Config, read func(err error)) (*reload.Value[keyTable], error) {
	return reload.Open(reload.Config[keyTable]{
		Name: "API keys", Paths: []string{cfg.KeysFile}, MaxBytes: maxFile, Logger: cfg.Logger, Read: read,
		Parse: func(content [][]byte, before *keyTable) (*keyTable, error) {
			if before == nil {
				before = &keyTable{}
			}
			return parseKeys(content[0], before)
		},
	})
}

func quoteJSON(s string) []byte {
	b, _ := json.Marshal(s) // a string always can be
	return b
}
