package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine/source"
)

func configCommand() *cobra.Command {
	var f serveFlags
	var changed, example bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration of the server",
		Long: `Prints the configuration with which quorate serve would start, given the same
flags, environment and file: each setting with where its value comes from, as YAML
for --config-file. It reads no other file, asks nobody and changes nothing. Of
addresses and headers that may have passwords only what may be shown is printed.`,
		Example: `  quorate config --changed --config-file quorate.yaml
  quorate config --example > quorate.yaml`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if example {
				return print(cmd, exampleConfig())
			}
			if err := f.check(); err != nil {
				return usageError{err}
			}
			for _, text := range movedOf(cmd) {
				cmd.PrintErrln("quorate: " + text)
			}
			return print(cmd, effectiveConfig(cmd.Flags(), changed))
		},
	}
	f.add(cmd.Flags())
	addConfigFlag(cmd)
	group(cmd.Flags(), groupPrint, func(flags *pflag.FlagSet) {
		flags.BoolVar(&changed, "changed", false, "print only what is not a default")
		flags.BoolVar(&example, "example", false, "print a file with all settings, their defaults and what they mean, instead")
	})
	addHelp(cmd)
	cmd.SetUsageFunc(groupedUsage)
	return cmd
}

func print(cmd *cobra.Command, text []byte) error {
	_, err := cmd.OutOrStdout().Write(text)
	return err
}

// effectiveConfig returns the values of flags as YAML, under the headings of --help.
func effectiveConfig(flags *pflag.FlagSet, onlyChanged bool) []byte {
	var b bytes.Buffer
	b.WriteString("# The command line wins over the environment, and the environment over the file.\n")
	eachSetting(flags, func(title string, first bool, f *pflag.Flag) bool {
		var lines bytes.Buffer
		if of, ok := f.Value.(*settingsBlock); ok {
			of.settings.VisitAll(func(s *pflag.Flag) { writeSetting(&lines, "  ", s, "--"+f.Name, onlyChanged) })
			if lines.Len() > 0 {
				lines = *bytes.NewBufferString(f.Name + ":\n" + lines.String())
			}
		} else if !f.Hidden || f.Changed || len(f.Annotations[setBy]) > 0 {
			writeSetting(&lines, "", f, "--"+f.Name, onlyChanged)
		}
		if first && lines.Len() > 0 {
			fmt.Fprintf(&b, "\n# %s\n", title)
		}
		b.Write(lines.Bytes())
		return lines.Len() > 0
	})
	return b.Bytes()
}

// writeSetting writes a line with a value and where it comes from; flag is what sets it on the
// command line.
func writeSetting(b *bytes.Buffer, indent string, f *pflag.Flag, flag string, onlyChanged bool) {
	from := "the default"
	switch by := f.Annotations[setBy]; {
	case f.Changed:
		from = flag
	case len(by) > 0:
		from = by[0]
	case onlyChanged:
		return
	}
	fmt.Fprintf(b, "%s%s: %s # %s\n", indent, f.Name, shownValue(f), from)
}

// exampleConfig returns a configuration file with each setting, none of which is in
// effect.
func exampleConfig() []byte {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(serveFlags).add(flags)
	var b bytes.Buffer
	b.WriteString(`# The settings of quorate serve, with their defaults: quorate serve --config-file FILE.
# Each can be given in the environment too (QUORATE_HTTP_PORT for http-port), which wins
# over this file, and on the command line, which wins over both.
`)
	eachSetting(flags, func(title string, first bool, f *pflag.Flag) bool {
		if first {
			fmt.Fprintf(&b, "\n# ---- %s ----\n", title)
		}
		if f.Hidden {
			return false
		}
		value, usage := shownValue(f), f.Usage
		if f.Name == "data-dir" { // is another one for everybody
			value, usage = `"/var/lib/quorate"`, usage+" (default .quorate in the home folder)"
		}
		if of, ok := f.Value.(*settingsBlock); ok {
			fmt.Fprintf(&b, "\n# %s\n#%s:\n", usage, f.Name)
			of.settings.VisitAll(func(s *pflag.Flag) {
				fmt.Fprintf(&b, "\n# %s\n#  %s: %s\n", s.Usage, s.Name, shownValue(s))
			})
			return true
		}
		fmt.Fprintf(&b, "\n# %s\n#%s: %s\n", usage, f.Name, value)
		return true
	})
	return b.Bytes()
}

// eachSetting calls do with the flags that a file can set, heading by heading in the order
// of --help. first is true until one of a heading was done.
func eachSetting(flags *pflag.FlagSet, do func(title string, first bool, f *pflag.Flag) bool) {
	var titles []string
	of := map[string][]*pflag.Flag{}
	flags.VisitAll(func(f *pflag.Flag) {
		title := groupOf(f)
		if f.Name == configFileFlag || title == groupPrint || title == "" || isOldName(f) {
			return
		}
		if of[title] == nil {
			titles = append(titles, title)
		}
		of[title] = append(of[title], f)
	})
	for _, title := range titles {
		first := true
		for _, f := range of[title] {
			if do(title, first, f) {
				first = false
			}
		}
	}
}

// shownValue returns a flag's value as YAML, without what may be a secret.
func shownValue(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values := slices.Clone(list.GetSlice())
		for i, v := range values {
			values[i] = withoutSecrets(f.Name, v)
		}
		return asJSON(append([]string{}, values...))
	}
	switch f.Value.Type() {
	case "bool", "int", "int64", "uint64", "float64", "duration":
		return f.Value.String()
	}
	return asJSON(f.Value.String())
}

// withoutSecrets returns the value of a flag that may be shown: nodes' addresses and
// headers have users, passwords and keys.
func withoutSecrets(flag, value string) string {
	switch flag {
	case "node-url":
		at, err := source.ParseEndpoint(value)
		if err != nil {
			return "[redacted]"
		}
		if at.String() != value {
			return at.String() + " [redacted]"
		}
	case "node-header":
		name, _, _ := strings.Cut(value, ":")
		if url, rest, of := strings.Cut(strings.TrimSpace(value), " "); of && strings.Contains(url, "://") {
			name, _, _ = strings.Cut(rest, ":")
		}
		return name + ": [redacted]"
	}
	return value
}

func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings can be encoded
	}
	return strings.TrimSpace(b.String())
}
