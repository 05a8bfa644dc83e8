package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/httpapi/suggest"
)

const (
	envPrefix      = "QUORATE_"
	configFileFlag = "config-file"
	// keyDelim separates levels of keys inside koanf; flag names have one level.
	keyDelim = "/"
	// unknownEnv is the annotation of a command with the environment variables of
	// our prefix that nothing reads, for the log.
	unknownEnv = "quorate/unknown-env"
)

// fillFlags gives every flag of cmd that was not set on the command line its
// value from the environment (QUORATE_HTTP_PORT for --http-port) or else from
// the file named by --config-file (YAML or JSON, keys named as the flags).
func fillFlags(cmd *cobra.Command, environ func() []string) error {
	flags := cmd.Flags()
	known := map[string]string{} // by environment name
	flags.VisitAll(func(f *pflag.Flag) { known[envName(f.Name)] = f.Name })
	k := koanf.New(keyDelim)
	fromEnv := koanf.New(keyDelim)
	provider := env.Provider(keyDelim, env.Opt{
		Prefix: envPrefix, EnvironFunc: environ,
		TransformFunc: func(key, value string) (string, any) { return known[key], value },
	})
	if err := fromEnv.Load(provider, nil); err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	if err := spread(fromEnv, flags, envName); err != nil {
		return err
	}
	if path := configFile(flags, fromEnv); path != "" {
		if err := loadFile(k, flags, path); err != nil {
			return err
		}
	}
	if err := k.Merge(fromEnv); err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	var errs []error
	for _, key := range k.Keys() {
		f := lookup(flags, key)
		switch {
		case f == nil:
			errs = append(errs, meantFlag(flags, fmt.Errorf("there is no %s", shownKey(key)), shownKey(key), ""))
			continue
		case f.Changed || key == configFileFlag:
			continue
		}
		name, _, _ := strings.Cut(key, keyDelim)
		source, where := envName(name), shownKey(envName(key))+" in the environment"
		if !fromEnv.Exists(key) {
			source = configFile(flags, fromEnv)
			where = shownKey(key) + " in " + source
		}
		annotate(f, setBy, source)
		if err := setFlag(f, k, key); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, plainValue(err)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return fillScenario(flags)
}

func annotate(f *pflag.Flag, key, value string) {
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[key] = []string{value}
}

// plainValue says of a value what is wrong with it, in place of the name of the
// function that found out.
func plainValue(err error) error {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range", number.Num)
	case number.Func == "ParseBool":
		return fmt.Errorf("%q is neither true nor false", number.Num)
	}
	return fmt.Errorf("%q is not a number", number.Num)
}

// plainFlag is plainValue for the errors of the command line, and names the flag that one that
// is unknown is all but called.
func plainFlag(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return meantFlag(flags, err, unknown.GetSpecifiedName(), "--")
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, plainValue(number))
	}
	return err
}

// checkEnviron refuses environment variables that are all but the name of a
// flag, and returns those of our prefix that are nothing like one. Flags of all
// commands count: they may share an environment.
func checkEnviron(root *cobra.Command, environ []string) (unknown []string, err error) {
	var known []string
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, strings.TrimPrefix(envName(f.Name), envPrefix)) })
	}
	var errs []error
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours || slices.Contains(known, rest) {
			continue
		}
		if meant, ok := suggest.Name(rest, known); ok {
			errs = append(errs, fmt.Errorf("the environment variable %s is unknown; did you mean %s?", name, envPrefix+meant))
			continue
		}
		unknown = append(unknown, name)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usageError{err}
	}
	return unknown, nil
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func configFile(flags *pflag.FlagSet, fromEnv *koanf.Koanf) string {
	f := flags.Lookup(configFileFlag)
	if f == nil {
		return ""
	}
	if f.Changed {
		return f.Value.String()
	}
	return fromEnv.String(configFileFlag)
}

func loadFile(k *koanf.Koanf, flags *pflag.FlagSet, path string) error {
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return usageError{fmt.Errorf("reading --%s %s: %w", configFileFlag, path, err)}
	}
	for _, key := range k.Keys() {
		switch {
		case key == configFileFlag || key == "help":
			return usageError{fmt.Errorf("--%s %s: %s cannot be set in a configuration file", configFileFlag, path, key)}
		case lookup(flags, key) == nil:
			name := shownKey(key)
			return usageError{meantFlag(flags, fmt.Errorf("--%s %s: unknown key %q", configFileFlag, path, name), name, "")}
		}
	}
	return spread(k, flags, func(string) string { return path })
}

// setFlag sets a flag to the value of a key. YAML's null is refused: it is what a key is
// left with when its value was forgotten.
func setFlag(f *pflag.Flag, k *koanf.Koanf, key string) error {
	value := k.Get(key)
	if value == nil {
		return errors.New("no value")
	}
	list, isList := f.Value.(pflag.SliceValue)
	if !isList {
		if _, several := value.([]any); several {
			return errors.New("a list, where one value belongs")
		}
		return f.Value.Set(k.String(key))
	}
	if s, ok := value.(string); ok {
		separator := ","
		if _, lines := f.Annotations[listByLine]; lines {
			separator = "\n"
		}
		return list.Replace(strings.Split(s, separator))
	}
	return list.Replace(k.Strings(key))
}

// addConfigFlag adds --config-file to a command and has its flags filled before it runs.
func addConfigFlag(cmd *cobra.Command) {
	group(cmd.Flags(), groupOperate, func(flags *pflag.FlagSet) {
		flags.String(configFileFlag, "", "YAML or JSON file with values for these flags, by flag name")
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		unknown, err := checkEnviron(cmd.Root(), os.Environ())
		if err != nil {
			return err
		}
		cmd.Annotations = map[string]string{unknownEnv: strings.Join(unknown, " ")}
		if err := fillFlags(cmd, os.Environ); err != nil {
			return err
		}
		noteMoved(cmd)
		return nil
	}
	cmd.Long += "\n\nEvery flag can also be given in the environment (" + envPrefix +
		"HTTP_PORT for --http-port)\nor in the file named by --" + configFileFlag +
		". The command line wins over the environment,\nand the environment over the file."
}
