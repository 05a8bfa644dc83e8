package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagGroups: the commands that run a server show each flag under a
// heading, once; one list of forty flags is read by nobody.
func TestFlagGroups(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"serve", "devnet"} {
		code, help, errs := quorate(t, "", name, "--help")
		if code != exitDone || errs != "" {
			t.Fatalf("%s --help: exit code %d, %q", name, code, errs)
		}
		cmd, _, err := rootCommand(streams{}).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			title := groupOf(f)
			if title == "" {
				t.Errorf("%s --%s: no group: define it with group, see flags.go", name, f.Name)
				return
			}
			_, rest, found := strings.Cut(help, "\n"+title+":\n")
			section, _, _ := strings.Cut(rest, "\n\n")
			if !found || !strings.Contains(section, "--"+f.Name+" ") && !strings.Contains(section, "--"+f.Name+"\n") {
				t.Errorf("%s --help does not list --%s under %q", name, f.Name, title)
			}
			if n := strings.Count(help, " --"+f.Name+" "); n == 0 {
				t.Errorf("%s --help lists --%s %d times", name, f.Name, n)
			}
		})
		if n := strings.Count(help, "\n\n"); n < 6 {
			t.Errorf("%s --help is not divided:\n%s", name, help)
		}
	}
}
