package index

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

const (
	// nameLen bounds what is kept of a name to find a token by.
	nameLen = 32
	// namesVersion counts the rules that names are folded by.
	namesVersion = 1
	// namesPassed bounds the rows that a search passes, for each token that it may find.
	namesPassed = 8
)

// NamedToken is a token with what its contract says of itself.
type NamedToken struct {
	Token evm.Address
	TokenMeta
}

// fold returns by what a name is found: how it is written does not matter.
func fold(name string) string {
	name = strings.ToLower(strings.ToValidUTF8(strings.TrimSpace(name), "?"))
	return strings.ReplaceAll(name, "\x00", " ")
}

// names returns what a token is found by.
func (t *TokenMeta) names() []string {
	list := []string{fold(t.Name), fold(t.Symbol)}
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
}

func (c *Chain) nameKey(name string, a *evm.Address) key {
	return append(append(c.namesStart(name), 0), a[:]...)
}

// namesStart is the beginning of the keys of all names that begin with a text.
func (c *Chain) namesStart(text string) key {
	return append(c.meta().key(store.TableTokenNames), text[:min(len(text), nameLen)]...)
}

// namedKey is that of the row that says that all tokens have their names.
func (c *Chain) namedKey() key { return append(c.meta().key(store.TableTokenNames), 0xff) }

// putNames adds the rows by which a token is found.
func (c *Chain) putNames(r *rows, a *evm.Address, t *TokenMeta) {
	for _, name := range t.names() {
		r.put(c.nameKey(name, a), nil)
	}
}

// oldNames returns the rows of names that tokens have no more.
func (c *Chain) oldNames(tokens map[evm.Address]TokenMeta) (gone []key, err error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for a, now := range tokens {
		var old TokenMeta
		if _, err := s.Get(c.meta().key(store.TableTokenMeta).addr(&a), func(b []byte) error {
			if t, err := decodeToken(b); err == nil { // a row that cannot be read has no names, and is replaced
				old = t
			}
			return nil
		}); err != nil {
			return nil, err
		}
		kept := now.names()
		for _, name := range old.names() {
			if k := c.nameKey(name, &a); !slices.ContainsFunc(kept, func(n string) bool { return bytes.Equal(k, c.nameKey(n, &a)) }) {
				gone = append(gone, k)
			}
		}
	}
	return gone, nil
}

// dropRows removes rows.
func (c *Chain) dropRows(ctx context.Context, keys []key) error {
	for group := range slices.Chunk(keys, metaGroup) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := c.db.Batch()
		if err != nil {
			return err
		}
		for _, k := range group {
			if err := b.Delete(k); err != nil {
				b.Discard()
				return err
			}
		}
		if err := b.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// markNamed writes once that all tokens have their names.
func (c *Chain) markNamed() error {
	if c.named.Load() {
		return nil
	}
	err := c.putGroup([]row{{c.namedKey(), []byte{namesVersion}}})
	c.named.Store(err == nil)
	return err
}

// loadNames adds the names of tokens that were known before names were kept.
func (c *Chain) loadNames() error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	named, err := s.Get(c.namedKey(), func([]byte) error { return nil })
	if err != nil || named {
		c.named.Store(named)
		return err
	}
	prefix := c.meta().key(store.TableTokenMeta)
	it, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer it.Close()
	var r rows
	found := false
	for it.Seek(prefix); it.Valid(); it.Next() {
		k := it.Key()[len(prefix):]
		if len(k) != evm.AddressLen {
			continue
		}
		a, t := evm.Address(k), TokenMeta{}
		if err := it.Value(func(b []byte) (err error) { t, err = decodeToken(b); return err }); err != nil {
			continue // the table's own check says so; a token that cannot be read has no name
		}
		found = true
		if c.putNames(&r, &a, &t); len(r.list) >= metaGroup-2 {
			if err := c.putGroup(r.list); err != nil {
				return err
			}
			r = rows{}
		}
	}
	if !found {
		return nil // the mark comes with the first token
	}
	if err := c.putGroup(r.list); err != nil {
		return err
	}
	return c.markNamed()
}

// FindTokens returns tokens whose names or symbols begin with a text in any case of
// letters, those first that are called just so, and at most limit of them.
func (c *Chain) FindTokens(text string, limit int) ([]NamedToken, error) {
	if text = fold(text); text == "" || limit < 1 {
		return nil, nil
	}
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	prefix := c.namesStart(text)
	it, err := s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var out []NamedToken
	seen := make(map[evm.Address]bool)
	passed := 0
	for it.Seek(prefix); it.Valid() && len(out) < limit && passed < limit*namesPassed; it.Next() {
		passed++
		k := it.Key()
		if len(k) < len(prefix)+1+evm.AddressLen {
			continue
		}
		a := evm.Address(k[len(k)-evm.AddressLen:])
		if seen[a] {
			continue
		}
		seen[a] = true
		t := NamedToken{Token: a}
		known, err := s.Get(c.meta().key(store.TableTokenMeta).addr(&a), func(b []byte) (err error) {
			t.TokenMeta, err = decodeToken(b)
			return err
		})
		if err != nil {
			return nil, err
		}
		if known && slices.ContainsFunc(t.names(), func(n string) bool { return strings.HasPrefix(n, text) }) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b NamedToken) int { return exactly(&b, text) - exactly(&a, text) })
	return out, nil
}

// exactly returns 1 for a token that is called just so.
func exactly(t *NamedToken, text string) int {
	if slices.Contains(t.names(), text) {
		return 1
	}
	return 0
}
