package vm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"quorate/engine/chain"
)

// names maps the names of VMs to their IDs and back.
type names struct {
	ids     map[string]chain.ID
	aliases map[chain.ID][]string
}

// newNames joins the built-in names and the further ones.
func newNames(further map[chain.ID][]string) (names, error) {
	n := names{ids: make(map[string]chain.ID), aliases: make(map[chain.ID][]string)}
	// The IDs of well-known VMs are their names in ASCII, filled up with zeros.
	for _, builtin := range [...][2]string{
		{"platformvm", "platform"}, {"avm", "avm"}, {"evm", "evm"},
		{"subnetevm", "subnetevm"}, {"xsvm", "xsvm"}, {"timestamp", "timestampvm"},
	} {
		var id chain.ID
		copy(id[:], builtin[0])
		if err := n.add(id, builtin[1]); err != nil {
			return names{}, err
		}
	}
	// A fixed order, so that the same configuration fails with the same error.
	ids := slices.SortedFunc(maps.Keys(further), func(a, b chain.ID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range ids {
		for _, alias := range further[id] {
			if err := n.add(id, alias); err != nil {
				return names{}, err
			}
		}
	}
	return n, nil
}

func (n names) add(id chain.ID, alias string) error {
	// A file's extension is cut off, so a name with a dot would never be found.
	if alias == "" || strings.ContainsAny(alias, "./\x00") {
		return fmt.Errorf("vm: %q cannot be the name of a VM", alias)
	}
	if other, err := chain.ParseID(alias); err == nil {
		return fmt.Errorf("vm: the name %q of VM %s is the ID of a VM", other, id)
	}
	if other, ok := n.ids[alias]; ok {
		if other == id {
			return nil
		}
		return fmt.Errorf("vm: the name %q of VM %s belongs to VM %s", alias, id, other)
	}
	n.ids[alias] = id
	n.aliases[id] = append(n.aliases[id], alias)
	return nil
}

// lookup resolves an alias or the text form of an ID.
func (n names) lookup(name string) (chain.ID, bool) {
	if id, ok := n.ids[name]; ok {
		return id, true
	}
	id, err := chain.ParseID(name)
	return id, err == nil
}

// of returns the aliases of a VM, never nil: JSON shows an empty list as such.
func (n names) of(id chain.ID) []string {
	return append([]string{}, n.aliases[id]...)
}
