package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDir is where packages have the manual pages written to. Making them is the test's
// business, so that the program carries no code for it.
var manDir = flag.String("man", "", "folder for the manual pages")

// TestManPages: each command has a page, and none says anything of the machine that it
// was made on.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		t.Setenv("SOURCE_DATE_EPOCH", "0")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	root := rootCommand(streams{})
	root.DisableAutoGenTag = true // a line with the date
	all := []*cobra.Command{root}
	for i := 0; i < len(all); i++ { // it grows
		all = append(all, all[i].Commands()...)
		if f := all[i].Flags().Lookup("data-dir"); f != nil {
			f.DefValue = "~/.quorate"
		}
	}
	// Only its first page names the version, and that by --version.
	header := &doc.GenManHeader{Title: "QUORATE", Section: "1", Source: "Quorate", Manual: "Quorate"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range all {
		if cmd.Hidden || cmd.Deprecated != "" || cmd.Name() == "help" {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if bytes.Contains(page, []byte(home)) || !bytes.Contains(page, []byte("SYNOPSIS")) {
			t.Errorf("%s:\n%.500s", name, page)
		}
	}
}
