// Package chains knows the names of the followed blockchains: the ID of each,
// its built-in names such as X or avm, and the aliases that an operator has
// given. Given aliases are kept in a file. Readers take no lock; a change is
// on disk before anybody sees it, or it has not happened.
package chains

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"quorate/engine/chain"
)

const (
	// maxName bounds a name in characters.
	maxName = 512
	// maxGiven bounds the aliases in the file, of all chains together. Each change
	// writes them all.
	maxGiven = 10_000
)

// Errors of names. The texts of the first three are those that an Avalanche node
// answers with, where the name in question follows after a colon.
var (
	// ErrTooLong: the alias has more than 512 characters.
	ErrTooLong = errors.New("alias length is too long")
	// ErrUnknown: no followed chain has that name.
	ErrUnknown = errors.New("there is no ID with alias")
	// ErrTaken: a chain, the same or another, has that name already.
	ErrTaken = errors.New("alias already mapped to an ID")
	// ErrBadName: the alias could not be used in a URL, or reads as an ID.
	ErrBadName = errors.New("alias is not a valid name")
	// ErrTooMany: there are 10,000 given aliases.
	ErrTooMany = errors.New("there are too many aliases")
)

// Registry holds the names. All methods may be called at once.
type Registry struct {
	file  string // of the given aliases; empty: they are in memory only
	disk  disk
	table atomic.Pointer[table] // replaced with mu held

	mu       sync.Mutex // guards what follows
	followed []followed
	given    []given // in order of creation, those of chains not followed too
}

// followed is a chain with its built-in names, primary first, the ID not among them.
type followed struct {
	id    chain.ID
	names []string
}

// given is an alias that an operator has given a chain.
type given struct {
	id    chain.ID
	alias string
}

// table is what readers see. It never changes.
type table struct {
	owner map[string]chain.ID   // by any name, also of chains not followed
	names map[chain.ID][]string // of followed chains: built-in names, the ID, given aliases
}

// Open returns a registry that keeps given aliases in file, whose folder is made
// with the first alias. With "" they are kept in memory only. A file that does
// not exist is no error; one that cannot be read or is not whole is, because
// going on without it would lose what it holds.
func Open(file string) (*Registry, error) { return open(file, osDisk{}) }

func open(file string, d disk) (*Registry, error) {
	r := &Registry{file: file, disk: d}
	if file != "" {
		var err error
		if r.given, err = load(file); err != nil {
			return nil, fmt.Errorf("chain aliases: %w", err)
		}
	}
	r.table.Store(makeTable(nil, r.given))
	return r, nil
}

// Add makes a chain followed, with its built-in names, the primary one first.
// Added again, a chain gets the names that it has not yet. A name that another
// chain has is left out, and one that is no valid name; the chain is added all
// the same, and the error, which wraps [ErrTaken], [ErrTooLong] or [ErrBadName],
// names each.
func (r *Registry) Add(id chain.ID, names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := slices.Clone(r.followed)
	at := slices.IndexFunc(next, func(f followed) bool { return f.id == id })
	if at < 0 {
		at = len(next)
		next = append(next, followed{id: id})
	}
	have := slices.Clone(next[at].names)
	var errs []error
	for _, name := range names {
		owner, taken := r.table.Load().owner[name]
		switch {
		case name == id.String() || slices.Contains(have, name):
		case taken && owner != id:
			errs = append(errs, takenBy(name))
		default:
			if err := validate(name); err != nil {
				errs = append(errs, fmt.Errorf("%w: %s", err, clip(name)))
				continue
			}
			have = append(have, name)
		}
	}
	next[at].names = have
	r.followed = next
	r.table.Store(makeTable(r.followed, r.given))
	return errors.Join(errs...)
}

// Lookup returns the ID of the followed chain of that name, which is its blockchain
// ID in CB58 or any alias. It takes no lock.
func (r *Registry) Lookup(name string) (chain.ID, bool) { return r.table.Load().lookup(name) }

func (t *table) lookup(name string) (chain.ID, bool) {
	id, ok := t.owner[name]
	if ok {
		_, ok = t.names[id]
	}
	if !ok {
		return chain.ID{}, false
	}
	return id, true
}

// Aliases returns every name of a chain, of which name is one: the primary first,
// then the other built-in ones, the blockchain ID and the given aliases in order
// of creation. The slice is the caller's. The error wraps [ErrUnknown].
func (r *Registry) Aliases(name string) ([]string, error) {
	t := r.table.Load()
	id, ok := t.lookup(name)
	if !ok {
		return nil, unknown(name)
	}
	return slices.Clone(t.names[id]), nil
}

// Primary returns the first built-in name of a chain, or its ID when it has none or
// is not followed. Given aliases never are primary.
func (r *Registry) Primary(id chain.ID) string {
	if names := r.table.Load().names[id]; len(names) > 0 {
		return names[0]
	}
	return id.String()
}

// Alias returns the chain called name a further name. When it returns nil, the
// alias is on disk and seen by all; otherwise nothing has changed. The error
// wraps one of this package, or says why the file could not be written. An
// error's own text is fit for the caller of an API: it has no path in it.
func (r *Registry) Alias(name, alias string) error {
	if utf8.RuneCountInString(alias) > maxName {
		return ErrTooLong
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.table.Load()
	id, ok := t.lookup(name)
	if !ok {
		return unknown(name)
	}
	if _, taken := t.owner[alias]; taken {
		return takenBy(alias)
	}
	if err := validate(alias); err != nil {
		return err
	}
	if len(r.given) >= maxGiven {
		return fmt.Errorf("%w: at most %d", ErrTooMany, maxGiven)
	}
	next := append(slices.Clip(r.given), given{id: id, alias: alias})
	if r.file != "" {
		if err := save(r.disk, r.file, r.given, next); err != nil {
			return fmt.Errorf("the alias could not be stored: %w", err)
		}
	}
	r.given = next
	r.table.Store(makeTable(r.followed, next))
	return nil
}

func makeTable(chains []followed, aliases []given) *table {
	t := &table{
		owner: make(map[string]chain.ID, 3*len(chains)+len(aliases)),
		names: make(map[chain.ID][]string, len(chains)),
	}
	for _, f := range chains {
		id := f.id.String()
		t.owner[id] = f.id
		for _, name := range f.names {
			t.owner[name] = f.id
		}
		t.names[f.id] = append(slices.Clone(f.names), id)
	}
	for _, g := range aliases {
		_, builtIn := t.owner[g.alias]
		t.owner[g.alias] = g.id
		if names, ok := t.names[g.id]; ok && !builtIn {
			t.names[g.id] = append(names, g.alias)
		}
	}
	return t
}

// validate refuses what could not stand by itself in the path of a URL or would
// look like something else there.
func validate(name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxName:
		return ErrTooLong
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrBadName)
	case name == "." || name == "..":
		return fmt.Errorf("%w: it is a relative path", ErrBadName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: it is not UTF-8", ErrBadName)
	}
	for _, c := range name {
		if strings.ContainsRune(`/\{}%?#`, c) {
			return fmt.Errorf("%w: it has a %q", ErrBadName, c)
		}
		// Not graphic are control characters, and those that show as nothing or
		// change the direction of the text around them.
		if unicode.IsSpace(c) || !unicode.IsPrint(c) {
			return fmt.Errorf("%w: it has a space, a control character or an invisible one", ErrBadName)
		}
	}
	if _, err := chain.ParseIDHexOrCB58(name); err == nil {
		return fmt.Errorf("%w: it is a blockchain ID", ErrBadName)
	}
	return nil
}

func unknown(name string) error { return fmt.Errorf("%w: %s", ErrUnknown, clip(name)) }

func takenBy(name string) error { return fmt.Errorf("%w: %s", ErrTaken, name) }

// clip bounds what an error repeats of a name that may be of any length.
func clip(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxName {
			return name[:i] + "..."
		}
	}
	return name
}
