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
		code, help, errs := quorate(t, "", name, map[string]string{"serve": "--help=all", "devnet": "--help"}[name])
		if code != exitDone || errs != "" {
			t.Fatalf("%s --help: exit code %d, %q", name, code, errs)
		}
		cmd, _, err := rootCommand(streams{}).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			title := groupOf(f)
			if f.Hidden {
				return
			}
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

// TestServeFlags: the server has at most 53 flags, and its help shows those that people need.
func TestServeFlags(t *testing.T) {
	t.Parallel()
	shown := 0
	flags := serveCommand().Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			shown++
		}
	})
	if shown > 53 {
		t.Errorf("%d flags: what few servers change is a limit, see settings.go", shown)
	}
	_, short, _ := quorate(t, "", "serve", "--help")
	_, all, _ := quorate(t, "", "serve", "--help=all")
	for _, name := range commonFlags {
		if flags.Lookup(name) == nil || !strings.Contains(short, "--"+name+" ") && !strings.Contains(short, "--"+name+"[") {
			t.Errorf("serve --help does not show --%s", name)
		}
	}
	if n := strings.Count(short, "\n      --"); n != len(commonFlags) {
		t.Errorf("serve --help shows %d flags, not %d:\n%s", n, len(commonFlags), short)
	}
	for text, want := range map[string]bool{"--log-format ": true, "    export-workers int ": true, "--export-workers ": false, "All flags: ": false} {
		if strings.Contains(all, text) != want {
			t.Errorf("%q is in serve --help: %t, in --help=all: %t", text, strings.Contains(short, text), strings.Contains(all, text))
		}
	}
}

// TestMoved: a setting is taken by the name that it had, from all three places in the order that they
// have, and each old name is told with its new one.
func TestMoved(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "quorate.yaml", "export-queue: 5\nexport-workers: 5\nnft-http: true\nlogos-file: logos.json\nlimits:\n  export-keep: 5d\n")
	cmd := serveCommand()
	if err := cmd.ParseFlags([]string{"--config-file", file, "--export-workers", "7", "--nft-private"}); err != nil {
		t.Fatal(err)
	}
	environ := []string{"QUORATE_EXPORT_QUEUE=6", "QUORATE_EXPORT_WORKERS=6", "QUORATE_EXPORT_KEEP=6d", "QUORATE_LIMITS=export-max-size=6MiB", "QUORATE_EXPORT_MAX_SIZE=7MiB"}
	if err := fillFlags(cmd, func() []string { return environ }); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"export-workers": "7", "export-queue": "6", "export-keep": "6d", "export-max-size": "6MiB", "nft-http": "true", "nft-private": "true",
	} {
		if got := lookup(cmd.Flags(), "limits/"+key).Value.String(); got != want {
			t.Errorf("%s: %s, not %s", key, got, want)
		}
	}
	cmd.Annotations = map[string]string{}
	noteMoved(cmd)
	told := movedOf(cmd)
	for _, want := range []string{
		"--export-workers is taken by this release only: it is limits.export-workers now", "QUORATE_EXPORT_KEEP is", "--nft-private is",
		"nft-http in " + file + " is", "logos-file in " + file + " is taken by this release only: it is logos in the file of --tokens-file now",
	} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("no %q in %q", want, told)
		}
	}
	if len(told) != 7 {
		t.Errorf("%d names: %q", len(told), told)
	}
}
