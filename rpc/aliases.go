package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

const (
	// maxAlias bounds an alias in characters.
	maxAlias = 512
	// maxAliases bounds the aliases of endpoints.
	maxAliases = 10_000
	// maxSubPath is how many segments follow an alias at most: bc/X to bc/X/rpc is
	// one, and an alias of bc/X has no more.
	maxSubPath = 1
)

// errTooLong is a node's text.
var errTooLong = errors.New("alias length is too long")

// aliases are further names of endpoints, gone with the process. Readers take no
// lock: each change makes a new table.
type aliases struct {
	mu    sync.Mutex                        // held by who changes the table
	table atomic.Pointer[map[string]string] // alias to the name of a real endpoint
}

// lookup returns the endpoint's name that stands for name, when name is an alias
// or lies below one.
func (a *aliases) lookup(name []byte) (string, bool) {
	table := a.table.Load()
	if table == nil {
		return "", false
	}
	head := name
	for range maxSubPath + 1 {
		if to, ok := (*table)[string(head)]; ok {
			return to + string(name[len(head):]), true
		}
		i := bytes.LastIndexByte(head, '/')
		if i < 0 {
			break
		}
		head = head[:i]
	}
	return "", false
}

// add needs mu.
func (a *aliases) add(alias, to string) error {
	old := a.table.Load()
	size := 1
	if old != nil {
		size += len(*old)
	}
	if size > maxAliases {
		return fmt.Errorf("there are too many aliases: at most %d", maxAliases)
	}
	table := make(map[string]string, size)
	if old != nil {
		for k, v := range *old {
			table[k] = v
		}
	}
	table[alias] = to
	a.table.Store(&table)
	return nil
}

// alias gives the endpoint a further name, with all its sub-paths, or changes nothing.
func (s *Service) alias(name, alias string) error {
	if utf8.RuneCountInString(alias) > maxAlias {
		return errTooLong
	}
	if err := checkAlias(alias); err != nil {
		return err
	}
	s.aliases.mu.Lock()
	defer s.aliases.mu.Unlock()
	e := s.resolve([]byte(name))
	if e.kind == nothing {
		return fmt.Errorf("there is no endpoint %q below /ext/", excerpt(name))
	}
	for _, sub := range append([]string{""}, e.subPaths()...) {
		if err := s.free(alias + sub); err != nil {
			return err
		}
	}
	// The table holds real endpoints only, so that aliases never form chains.
	if s.real([]byte(name)).kind == nothing {
		name, _ = s.aliases.lookup([]byte(name))
	}
	return s.aliases.add(alias, name)
}

// free says, in a node's words, why name cannot be an alias.
func (s *Service) free(name string) error {
	switch k := s.real([]byte(name)).kind; {
	case k == nothing:
		if s.resolve([]byte(name)).kind == nothing && !s.aliases.has(name) {
			return nil
		}
	case k < chainRPC:
		return fmt.Errorf("failed to create endpoint as /ext/%s already exists", name)
	}
	return fmt.Errorf("route is either already aliased or already maps to a handle: /ext/%s", name)
}

// has reports whether alias was given, also when nothing is served there now.
func (a *aliases) has(alias string) bool {
	table := a.table.Load()
	if table == nil {
		return false
	}
	_, ok := (*table)[alias]
	return ok
}

// checkAlias says what is wrong with an alias. An alias is matched as it is, so
// one that no client's address can hold, or that other software on the way reads
// as something else, is refused instead of being kept and never found.
func checkAlias(alias string) error {
	if alias == "" {
		return errors.New("alias is empty")
	}
	for segment := range strings.SplitSeq(alias, "/") {
		switch segment {
		case "":
			return errors.New(`alias must not start or end with "/" nor have "//" in it`)
		case ".", "..":
			return fmt.Errorf("alias must not have %q as a part", segment)
		}
	}
	for _, c := range alias {
		if strings.ContainsRune(`{}%?#\`, c) || c == utf8.RuneError || unicode.IsSpace(c) || !unicode.IsPrint(c) {
			return fmt.Errorf("alias must not have the character %q", c)
		}
	}
	return nil
}

// aliasChain gives a chain a further name, unless the paths that come with it are
// taken by an alias of an endpoint.
func (s *Service) aliasChain(chains Chains, name, alias string) error {
	s.aliases.mu.Lock()
	defer s.aliases.mu.Unlock()
	// What is wrong with the names themselves comes first.
	if _, ok := chains.Lookup(name); ok && utf8.RuneCountInString(alias) <= maxAlias {
		path := "bc/" + alias
		for _, sub := range append([]string{""}, endpoint{kind: chainRPC}.subPaths()...) {
			if s.aliases.has(path + sub) {
				return fmt.Errorf("route is either already aliased or already maps to a handle: /ext/%s", path)
			}
		}
	}
	return chains.Alias(name, alias)
}
