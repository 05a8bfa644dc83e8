package limit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

// keyPrefix makes keys known for what they are where they leak.
const keyPrefix = "quorate_"

// maxKey bounds the keys that are looked up, in bytes; [NewKey] makes shorter ones.
const maxKey = 256

// A digest is the SHA-256 of a key. Looking it up in a map takes no time that tells
// of keys: who does not know a key cannot choose its digest.
type digest [sha256.Size]byte

// keyTable is what a keys file says. It does not change.
type keyTable struct {
	keys  map[digest]*key
	tiers int
}

type key struct {
	id       string // its name, or else the start of its hash
	name     string
	tier     *tier
	disabled bool
	bucket   *bucket // goes on from one table to the next
	used     *usage  // likewise
}

// usage counts what a key was used for.
type usage struct{ requests, units atomic.Uint64 }

func (u *usage) add(requests, units int) {
	u.requests.Add(uint64(requests))
	u.units.Add(uint64(units))
}

type tier struct {
	name   string
	rate   rate
	routes []string // permitted patterns; empty for all
	chains []string // permitted chains; empty for all
}

// find returns the key with a value, or nil.
func (t *keyTable) find(value []byte) *key {
	if len(t.keys) == 0 || len(value) > maxKey {
		return nil
	}
	return t.keys[sha256.Sum256(value)]
}

// named returns the key with a name, or nil.
func (t *keyTable) named(id string) *key {
	for _, k := range t.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

func (k *key) permits(r *Route) bool {
	return !k.disabled && k.tier.permitsRoute(r.Pattern) && k.tier.permitsChain(r)
}

// refusal says why a request is not permitted.
func (k *key) refusal(r *Route) Decision {
	d := Decision{Status: statusForbidden, Tier: k.tier.name}
	switch {
	case k.disabled:
		d.Message = "the API key is disabled"
	case !k.tier.permitsRoute(r.Pattern):
		d.Message = "the API key does not permit this route"
	default:
		d.Message = "the API key does not permit this chain"
	}
	return d
}

func (t *tier) permitsRoute(pattern string) bool {
	if len(t.routes) == 0 {
		return true
	}
	for _, r := range t.routes {
		if prefix, ok := strings.CutSuffix(r, "*"); r == pattern || ok && strings.HasPrefix(pattern, prefix) {
			return true
		}
	}
	return false
}

// permitsChain lets requests pass that are for no chain in particular.
func (t *tier) permitsChain(r *Route) bool {
	if len(t.chains) == 0 || r.Chain == nil {
		return true
	}
	chain := r.Chain()
	if chain == "" {
		return true
	}
	for _, c := range t.chains {
		if c == chain {
			return true
		}
	}
	return false
}

// NewKey makes a key of 256 random bits. The hash is what the keys file holds of
// it; the key itself is for its owner alone.
func NewKey() (key, hash string) {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return key, Hash(key)
}

// Hash returns a key's hash as the keys file has it.
func Hash(key string) string {
	d := sha256.Sum256([]byte(key))
	return hex.EncodeToString(d[:])
}

// WriteNewKey makes a key and writes it, for the only time, with the entry for the
// keys file. The entry is valid both as YAML and in JSON.
func WriteNewKey(w io.Writer, name, tier string) error {
	key, hash := NewKey()
	_, err := fmt.Fprintf(w, "key, shown only now: %s\nentry for the keys file:\n  - {\"name\": %s, \"hash\": \"%s\", \"tier\": %s}\n",
		key, quoteJSON(name), hash, quoteJSON(tier))
	return err
}

// KeyUse is what API keys of one name were used for since the start. The name is that of
// the keys file, or the first half of the key's hash: never the key.
type KeyUse struct {
	Name, Tier string
	Disabled   bool
	// UnitsPerMinute is the key's rate.
	UnitsPerMinute  int64
	Requests, Units uint64
}

// Keys returns the use of each key by name; nil without a keys file.
func (l *Limiter) Keys() []KeyUse {
	if l == nil || l.keys == nil {
		return nil
	}
	var out []KeyUse
	for _, k := range l.keys.Get().keys {
		out = append(out, KeyUse{
			Name: k.id, Tier: k.tier.name, Disabled: k.disabled, UnitsPerMinute: k.tier.rate.perMinute,
			Requests: k.used.requests.Load(), Units: k.used.units.Load(),
		})
	}
	slices.SortFunc(out, func(a, b KeyUse) int { return strings.Compare(a.Name, b.Name) })
	return out
}
