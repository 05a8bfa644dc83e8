package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	envPrefix      = "QUORATE_"
	configFileFlag = "config-file"
	// keyDelim separates levels of keys inside koanf; flag names have one level.
	keyDelim = "/"
	// listByLine marks flags of lists whose values may have commas: in the
	// environment they are one on a line.
	listByLine = "list-by-line"
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
	if path := configFile(flags, fromEnv); path != "" {
		if err := loadFile(k, flags, path); err != nil {
			return err
		}
	}
	if err := k.Merge(fromEnv); err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	var errs []error
	for _, name := range k.Keys() {
		f := flags.Lookup(name)
		if f == nil || f.Changed || name == configFileFlag {
			continue
		}
		if err := setFlag(f, k); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
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
		if flags.Lookup(key) == nil {
			return usageError{fmt.Errorf("--%s %s: unknown key %q", configFileFlag, path, key)}
		}
	}
	return nil
}

func setFlag(f *pflag.Flag, k *koanf.Koanf) error {
	list, isList := f.Value.(pflag.SliceValue)
	if !isList {
		return f.Value.Set(k.String(f.Name))
	}
	if s, ok := k.Get(f.Name).(string); ok {
		separator := ","
		if _, lines := f.Annotations[listByLine]; lines {
			separator = "\n"
		}
		return list.Replace(strings.Split(s, separator))
	}
	return list.Replace(k.Strings(f.Name))
}

// addConfigFlag adds --config-file to a command and has its flags filled before it runs.
func addConfigFlag(cmd *cobra.Command) {
	group(cmd.Flags(), groupOperate, func(flags *pflag.FlagSet) {
		flags.String(configFileFlag, "", "YAML or JSON file with values for these flags, by flag name")
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return fillFlags(cmd, os.Environ) }
	cmd.Long += "\n\nEvery flag can also be given in the environment (" + envPrefix +
		"HTTP_PORT for --http-port)\nor in the file named by --" + configFileFlag +
		". The command line wins over the environment,\nand the environment over the file."
}
