package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/httpapi/suggest"
)

// scenarioFlag names a file with the settings of a simulated network.
const scenarioFlag = "scenario"

// limitsFlag has the settings of quorate serve that few change.
const limitsFlag = "limits"

// Annotations of flags.
const (
	// setBy is what a flag has its value from, if that is neither the command line nor
	// its default.
	setBy = "quorate/set-by"
	// listByLine marks flags of lists whose values may have commas: in the
	// environment they are one on a line.
	listByLine = "list-by-line"
	// movedTo is the new place of what a hidden flag sets. Such flags are taken for one
	// release, with a warning.
	movedTo = "quorate/moved-to"
)

// movedNames is the annotation of a command with the warnings of movedTo, a line each.
const movedNames = "quorate/moved-names"

// hasSettings is the value of a flag that stands for several settings.
type hasSettings interface{ set() *pflag.FlagSet }

// settingsBlock is the value of one flag that has several settings with names of their own: NAME=VALUE,
// separated by commas, on the command line and in the environment, a map in a file.
type settingsBlock struct{ settings *pflag.FlagSet }

func (b *settingsBlock) set() *pflag.FlagSet { return b.settings }

// Type implements pflag.Value.
func (*settingsBlock) Type() string { return "settings" }

// String returns the settings that were given on the command line.
func (b *settingsBlock) String() string {
	var list []string
	b.settings.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			list = append(list, f.Name+"="+f.Value.String())
		}
	})
	return strings.Join(list, ",")
}

// Set implements pflag.Value.
func (b *settingsBlock) Set(s string) error {
	return eachPair(s, func(name, value string) error {
		f := b.settings.Lookup(name)
		if f == nil {
			return meantFlag(b.settings, fmt.Errorf("there is no %q", name), name, "")
		}
		if err := f.Value.Set(value); err != nil {
			return fmt.Errorf("%s: %w", name, plainValue(err))
		}
		f.Changed = true
		return nil
	})
}

func eachPair(s string, do func(name, value string) error) error {
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return fmt.Errorf("%q is not of the form NAME=VALUE", pair)
		}
		if err := do(name, value); err != nil {
			return err
		}
	}
	return nil
}

// addBlock defines a flag for the settings, and hidden ones that have their names, as they were
// flags themselves.
func addBlock(flags *pflag.FlagSet, name, usage string, settings *pflag.FlagSet) {
	flags.Var(&settingsBlock{settings}, name, usage)
	addOldNames(flags, settings, func(f *pflag.Flag) string { return name + keyDelim + f.Name })
}

func addOldNames(flags, settings *pflag.FlagSet, to func(f *pflag.Flag) string) {
	settings.SortFlags = false
	settings.VisitAll(func(f *pflag.Flag) {
		old := &pflag.Flag{Name: f.Name, Usage: f.Usage, Value: movedValue{f.Value, f}, DefValue: f.DefValue, NoOptDefVal: f.NoOptDefVal}
		flags.AddFlag(old)
		moved(flags, f.Name, to(f))
	})
}

// scenarioValue is a flag with a file of settings, or with the settings in braces.
type scenarioValue struct {
	text     string
	settings *pflag.FlagSet
}

func (v *scenarioValue) set() *pflag.FlagSet { return v.settings }

// Type implements pflag.Value.
func (*scenarioValue) Type() string { return "file" }

// String implements pflag.Value.
func (v *scenarioValue) String() string { return v.text }

// Set implements pflag.Value.
func (v *scenarioValue) Set(s string) error { v.text = s; return nil }

// addScenario defines the flag for a scenario, and hidden ones for its settings, as they were
// flags themselves.
func addScenario(flags, settings *pflag.FlagSet) {
	flags.Var(&scenarioValue{settings: settings}, scenarioFlag, "file (YAML or JSON) with how the network is, or the same in braces; it may have the flags of this command about validators and chains too")
	addOldNames(flags, settings, func(f *pflag.Flag) string { return f.Name + " in the file of --" + scenarioFlag })
}

// inBraces implements [koanf.Provider].
type inBraces string

func (b inBraces) ReadBytes() ([]byte, error)  { return []byte(b), nil }
func (inBraces) Read() (map[string]any, error) { return nil, errors.ErrUnsupported }

// fillScenario gives the settings and flags of a scenario that were not given otherwise their value
// from it.
func fillScenario(flags *pflag.FlagSet) error {
	f := flags.Lookup(scenarioFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	v := f.Value.(*scenarioValue)
	k, source, from := koanf.New(keyDelim), v.text, koanf.Provider(file.Provider(v.text))
	if strings.HasPrefix(v.text, "{") {
		source, from = "--"+scenarioFlag, inBraces(v.text)
	}
	if err := k.Load(from, yaml.Parser()); err != nil {
		return usageError{fmt.Errorf("reading --%s %s: %w", scenarioFlag, v.text, err)}
	}
	for _, key := range k.Keys() {
		s := v.settings.Lookup(key)
		if s == nil && slices.Contains([]string{groupPeers, groupBehave, groupChains}, groupOf(cmp.Or(flags.Lookup(key), f))) && key != scenarioFlag {
			s = flags.Lookup(key)
		}
		if s == nil {
			return usageError{meantFlag(v.settings, fmt.Errorf("--%s %s: unknown key %q", scenarioFlag, v.text, key), key, "")}
		}
		if s.Changed || len(s.Annotations[setBy]) > 0 {
			continue
		}
		annotate(s, setBy, source)
		if err := setFlag(s, k, key); err != nil {
			return usageError{fmt.Errorf("%s in %s: %w", key, source, plainValue(err))}
		}
	}
	return nil
}

// moved hides a flag that is elsewhere now.
func moved(flags *pflag.FlagSet, name, to string) {
	f := flags.Lookup(name)
	f.Hidden = true
	annotate(f, movedTo, to)
}

// movedValue is the value of a setting that is given by its old name.
type movedValue struct {
	pflag.Value
	to *pflag.Flag
}

// Set implements pflag.Value.
func (v movedValue) Set(s string) error {
	v.to.Changed = true
	return v.Value.Set(s)
}

// isOldName reports whether a flag is the old name of a setting of a block.
func isOldName(f *pflag.Flag) bool {
	_, ok := f.Value.(movedValue)
	return ok
}

// lookup returns the flag, or the setting of a block, that a key names: nil if none.
func lookup(flags *pflag.FlagSet, key string) *pflag.Flag {
	name, rest, inBlock := strings.Cut(key, keyDelim)
	f := flags.Lookup(name)
	if f == nil || !inBlock {
		return f
	}
	if b, ok := f.Value.(*settingsBlock); ok {
		return b.settings.Lookup(rest)
	}
	return nil
}

// shownKey returns a key as people write it.
func shownKey(key string) string { return strings.ReplaceAll(key, keyDelim, ".") }

// spread gives each setting of a block a key of its own, and those with an old name their new one.
// source is what the keys are from.
func spread(k *koanf.Koanf, flags *pflag.FlagSet, source func(key string) string) error {
	for _, key := range k.Keys() {
		if err := spreadBlock(k, flags.Lookup(key), key); err != nil {
			return usageError{fmt.Errorf("%s: %w", source(key), err)}
		}
	}
	for _, key := range k.Keys() {
		f := flags.Lookup(key)
		if f == nil || !isOldName(f) || lookup(flags, f.Annotations[movedTo][0]) == nil {
			continue
		}
		annotate(f, setBy, source(key))
		if to := f.Annotations[movedTo][0]; !k.Exists(to) {
			if err := k.Set(to, k.Get(key)); err != nil {
				return err
			}
		}
		k.Delete(key)
	}
	return nil
}

func spreadBlock(k *koanf.Koanf, f *pflag.Flag, key string) error {
	if f == nil || f.Value.Type() != (*settingsBlock).Type(nil) {
		return nil
	}
	switch v := k.Get(key).(type) {
	case string:
		k.Delete(key)
		return eachPair(v, func(name, value string) error { return k.Set(key+keyDelim+name, value) })
	case map[string]any: // an empty one
		k.Delete(key)
	}
	return nil
}

// noteMoved annotates a command with the old names that its settings were given by.
func noteMoved(cmd *cobra.Command) {
	var list []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		to, by := f.Annotations[movedTo], f.Annotations[setBy]
		switch {
		case len(to) == 0 || !f.Changed && len(by) == 0:
			return
		case f.Changed:
			by = []string{"--" + f.Name}
		case by[0] != envName(f.Name):
			by = []string{f.Name + " in " + by[0]}
		}
		list = append(list, fmt.Sprintf("%s is taken by this release only: it is %s now", by[0], shownKey(to[0])))
	})
	cmd.Annotations[movedNames] = strings.Join(list, "\n")
}

// movedOf returns the warnings about old names.
func movedOf(cmd *cobra.Command) []string {
	return slices.DeleteFunc(strings.Split(cmd.Annotations[movedNames], "\n"), func(s string) bool { return s == "" })
}

// meantFlag adds to err, about an unknown name, the flag that was probably meant.
func meantFlag(flags *pflag.FlagSet, err error, name, dashes string) error {
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if b, ok := f.Value.(*settingsBlock); ok && dashes == "" {
			b.settings.VisitAll(func(s *pflag.Flag) { known = append(known, f.Name+"."+s.Name) })
		}
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if meant, ok := suggest.Name(name, known); ok {
		return fmt.Errorf("%w; did you mean %s?", err, dashes+meant)
	}
	return err
}
