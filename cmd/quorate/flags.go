package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupKey is the annotation of a flag that names its heading in --help.
const groupKey = "quorate/group"

// Headings of flags in --help. Commands show them in the order in which their
// first flags are defined.
const (
	groupNodes    = "Nodes and networks"
	groupListen   = "Listeners"
	groupSigning  = "Signing"
	groupPeers    = "Peers and validators"
	groupChains   = "Chains and data"
	groupAnswers  = "Answers"
	groupEvents   = "Events"
	groupLimits   = "API keys and limits"
	groupOperate  = "Logs, health and operation"
	groupBehave   = "Faulty validators"
	groupPrint    = "What is printed"
	groupOther    = "Other"
	flagsHeadline = "Flags"
)

// group defines the flags of add on flags, under a heading of --help.
func group(flags *pflag.FlagSet, title string, add func(flags *pflag.FlagSet)) {
	part := pflag.NewFlagSet(title, pflag.ContinueOnError)
	part.SortFlags = false
	add(part)
	flags.SortFlags = false
	part.VisitAll(func(f *pflag.Flag) {
		annotate(f, groupKey, title)
		flags.AddFlag(f)
	})
}

// groupOf returns the heading of a flag, or "" if it was defined without one.
func groupOf(f *pflag.Flag) string {
	if titles := f.Annotations[groupKey]; len(titles) > 0 {
		return titles[0]
	}
	return ""
}

// commonFlags are those of quorate serve that people need. Its help shows them, and with
// --help=all the rest.
var commonFlags = []string{
	"node-url", "devnet", "http-host", "http-port", "admin-addr", "tls-cert", "tls-key", "chains-file", "prices-file",
	"public-url", "api-keys-file", "memory", "data-dir", configFileFlag, "check",
}

// helpValue is the flag --help of a command that shows some flags only.
type helpValue struct{ asked, all bool }

// Type is bool, as cobra wants it.
func (*helpValue) Type() string { return "bool" }

// String implements pflag.Value.
func (h *helpValue) String() string { return strconv.FormatBool(h.asked) }

// Set implements pflag.Value.
func (h *helpValue) Set(s string) (err error) {
	if h.all = s == "all"; h.all {
		s = "true"
	}
	h.asked, err = strconv.ParseBool(s)
	return err
}

// addHelp has a command show commonFlags alone.
func addHelp(cmd *cobra.Command) {
	group(cmd.Flags(), groupPrint, func(flags *pflag.FlagSet) {
		flags.VarP(&helpValue{}, "help", "h", "help for "+cmd.Name()+"; --help=all shows all flags")
		flags.Lookup("help").NoOptDefVal = "true"
	})
}

// shortHelp reports whether a command is to show commonFlags alone.
func shortHelp(cmd *cobra.Command) bool {
	h, ok := cmd.Flags().Lookup("help").Value.(*helpValue)
	return ok && !h.all
}

var dashes = regexp.MustCompile(`(?m)^( +)--`)

// groupedUsage is a usage function for commands with more flags than one list
// can hold. Flags without a heading come last.
func groupedUsage(cmd *cobra.Command) error {
	var titles []string
	parts := make(map[string]*pflag.FlagSet)
	cmd.LocalFlags().SortFlags = false
	short := shortHelp(cmd)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := groupOf(f)
		if short && title != groupPrint && !slices.Contains(commonFlags, f.Name) {
			return
		}
		if title == "" {
			title = groupOther
		}
		if parts[title] == nil {
			if title != groupOther {
				titles = append(titles, title)
			}
			parts[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			parts[title].SortFlags = false
		}
		parts[title].AddFlag(f)
	})
	if len(titles) == 0 {
		titles, parts[flagsHeadline] = []string{flagsHeadline}, parts[groupOther]
	} else if parts[groupOther] != nil {
		titles = append(titles, groupOther)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	for _, title := range titles {
		fmt.Fprintf(&b, "\n%s:\n%s", title, parts[title].FlagUsages())
	}
	if short {
		fmt.Fprintf(&b, "\nAll flags: %s --help=all\n", cmd.CommandPath())
	} else {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if v, ok := f.Value.(hasSettings); ok {
				fmt.Fprintf(&b, "\n--%s:\n%s", f.Name, dashes.ReplaceAllString(v.set().FlagUsages(), "$1  "))
			}
		})
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}
