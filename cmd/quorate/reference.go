package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/httpapi"
	"quorate/httpapi/openapi"
)

// referenceNote is the beginning of a generated page. %s is what it is made of.
const referenceNote = "<!-- Written by \"make docs\" from %s: change it there. -->\n"

func referenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "reference flags|api|openapi",
		Short:  "Print a reference as a page of the documentation",
		Hidden: true,
		Long: `Prints a page of the documentation in Markdown: all commands with their flags, or
all addresses of the API with their parameters; or the description of the API as OpenAPI,
of which the Go client is made. "make docs" writes them.`,
		Example: `  quorate reference flags > docs/flags.md
  quorate reference api > docs/api.md`,
		Args: exactly(1, "flags, api or openapi"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := []byte(nil), error(nil)
			switch args[0] {
			case "flags":
				text = flagsReference(cmd.Root())
			case "api":
				text, err = apiReference()
			case "openapi":
				text, err = httpapi.OpenAPI()
			default:
				err = usageError{fmt.Errorf("there is no reference %q, only flags, api and openapi", args[0])}
			}
			if err != nil {
				return err
			}
			return print(cmd, text)
		},
	}
}

// flagsReference returns the page of all commands that are not hidden.
func flagsReference(root *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, referenceNote, "the commands themselves")
	b.WriteString(`# Commands and flags

Commands that have ` + "`--config-file`" + ` also take each of their flags from the environment
(` + "`QUORATE_HTTP_PORT` for `--http-port`" + `) and from that file. The command line wins over the
environment, and the environment over the file. Exit codes: 0 done, 1 failed, 2 wrong usage.

| command | |
|---|---|
`)
	all := shownCommands(root)
	for _, cmd := range all {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), cell(cmd.Short))
	}
	for _, cmd := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n    %s\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
		writeFlags(&b, cmd)
	}
	return b.Bytes()
}

// shownCommands returns the commands below one that its help shows, in the order of
// their names, each before its own.
func shownCommands(parent *cobra.Command) (list []*cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		list = append(append(list, cmd), shownCommands(cmd)...)
	}
	return list
}

// writeFlags writes a table for each heading of a command's flags.
func writeFlags(b *bytes.Buffer, cmd *cobra.Command) {
	var titles []string
	of := map[string][]*pflag.Flag{}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	if cmd.Name() == "config" { // has those of serve, to print them
		new(serveFlags).add(shared)
		b.WriteString("\nAll flags of [`quorate serve`](#quorate-serve), and:\n")
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden || shared.Lookup(f.Name) != nil {
			return
		}
		title := groupOf(f)
		if of[title] == nil {
			titles = append(titles, title)
		}
		of[title] = append(of[title], f)
	})
	for _, title := range titles {
		if title != "" {
			fmt.Fprintf(b, "\n**%s**\n", title)
		}
		b.WriteString("\n| flag | default | |\n|---|---|---|\n")
		for _, f := range of[title] {
			writeFlag(b, "--"+f.Name, f)
		}
	}
	if f := cmd.Flags().Lookup(scenarioFlag); f != nil {
		b.WriteString("\nOf a scenario, besides the flags about validators and chains:\n\n| key | default | |\n|---|---|---|\n")
		f.Value.(hasSettings).set().VisitAll(func(s *pflag.Flag) { writeFlag(b, s.Name, s) })
	}
	if f := cmd.Flags().Lookup(limitsFlag); f != nil && shared.Lookup(limitsFlag) == nil {
		fmt.Fprintf(b, "\n`limits.NAME` is written `--%s NAME=VALUE`, `%s=NAME=VALUE`, or in the file:\n\n    limits:\n      export-workers: 4\n\n| limit | default | |\n|---|---|---|\n", limitsFlag, envName(limitsFlag))
		f.Value.(hasSettings).set().VisitAll(func(s *pflag.Flag) { writeFlag(b, limitsFlag+"."+s.Name, s) })
	}
}

func writeFlag(b *bytes.Buffer, name string, f *pflag.Flag) {
	fmt.Fprintf(b, "| `%s` %s | %s | %s |\n", name, typeOf(f), defaultOf(f), cell(f.Usage))
}

// typeOf returns what a flag takes, empty for one that is only there or not.
func typeOf(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "bool":
		return ""
	case "stringSlice", "stringArray":
		return "strings"
	default:
		return t
	}
}

// defaultOf returns a flag's default. The data folder's is another one for everybody.
func defaultOf(f *pflag.Flag) string {
	switch {
	case f.Name == "data-dir":
		return "`.quorate` in the home folder"
	case f.DefValue == "" || f.DefValue == "[]":
		return ""
	}
	return "`" + strings.Trim(f.DefValue, "[]") + "`"
}

// cell returns text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(s)
}

// apiReference returns the page of all that can be served, by the groups of the
// API's own description.
func apiReference() ([]byte, error) {
	raw, err := httpapi.OpenAPI()
	if err != nil {
		return nil, err
	}
	var doc openapi.Document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, referenceNote, "the table of routes")
	b.WriteString(`# Addresses

All that a server can serve, as its own ` + "`/openapi.json`" + ` describes it, which also has the forms of
bodies. Chain RPC below ` + "`/ext/bc`" + ` and calls of ` + "`/ext/info`" + ` have prices by method: see [METHODS.md](../rpc/METHODS.md).
[data.md](data.md) and [sign.md](sign.md) explain how to use them.

`)
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "- [%s](#%s)\n", tag.Description, anchorOf(tag.Description))
	}
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "\n## %s\n", tag.Description)
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			writePath(&b, path, doc.Paths[path], tag.Name)
		}
	}
	return b.Bytes(), nil
}

// writePath writes the operations of a path that are of a group.
func writePath(b *bytes.Buffer, path string, ops openapi.Operations, tag string) {
	for _, method := range slices.Sorted(maps.Keys(ops)) {
		op := ops[method]
		if !slices.Contains(op.Tags, tag) {
			continue
		}
		fmt.Fprintf(b, "\n### %s %s\n\n%s %s\n", strings.ToUpper(method), cell(path), op.Summary, op.Description)
		if len(op.Parameters) == 0 {
			continue
		}
		b.WriteString("\n| parameter | in | is | values |\n|---|---|---|---|\n")
		for _, p := range op.Parameters {
			name := "`" + p.Name + "`"
			if p.Required && p.In == openapi.InQuery {
				name += ", required"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, p.In, cell(p.Description), valuesOf(p.Schema))
		}
	}
}

// valuesOf says which values a schema allows, and the default.
func valuesOf(s *openapi.Schema) string {
	var list []string
	of := s
	if s.Type == "array" && s.Items != nil {
		list, of = append(list, "list"), s.Items
	}
	switch {
	case len(of.Enum) > 0:
		list = append(list, "`"+strings.Join(of.Enum, "`, `")+"`")
	case of.Minimum != nil && of.Maximum != nil && *of.Maximum < 1<<31:
		list = append(list, fmt.Sprintf("%d to %d", *of.Minimum, *of.Maximum))
	}
	if s.Default != nil {
		list = append(list, fmt.Sprintf("default `%v`", s.Default))
	}
	return strings.Join(list, "; ")
}

// anchorOf returns the anchor that a heading has on a page.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ' || c == '-':
			b.WriteByte('-')
		case c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c > 127:
			b.WriteRune(c)
		}
	}
	return b.String()
}
