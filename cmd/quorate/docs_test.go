package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quorate/devnet"
	"quorate/httpapi"
	"quorate/httpapi/limit"
	"quorate/httpapi/provide"
	"quorate/httpapi/ui"
)

// pages returns all pages of the documentation by their paths from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := fs.WalkDir(os.DirFS(repoRoot), ".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(repoRoot, path))
		out[path] = string(text)
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d pages, %v", len(out), err)
	}
	return out
}

// TestDocsReference: the references are what the program says of itself.
func TestDocsReference(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"flags", "api"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "reference", name) // tests have other defaults
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(filepath.Join(repoRoot, "docs", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, kept) {
			t.Errorf("docs/%s.md is not what the program has: run \"make docs\"", name)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./internal/generate")
	cmd.Dir = filepath.Join(repoRoot, "client")
	text, err := httpapi.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(cmd.Dir, "api.go")); err != nil || !bytes.Equal(out, kept) {
		t.Errorf("client/api.go is not what the API has: run \"make docs\" (%v)", err)
	}
	if code, _, errs := quorate(t, "", "reference", "flag"); code != exitUsage || !strings.Contains(errs, `no reference "flag"`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// anOperator has pages for operators served, which are not asked for.
type anOperator struct{ ui.Operator }

func (anOperator) Ops() ui.Ops { return struct{ ui.Ops }{} }

// TestDocsPages: the page about the page has a line for each page.
func TestDocsPages(t *testing.T) {
	t.Parallel()
	site, err := ui.New(ui.Config{Mode: ui.On, Operator: anOperator{}})
	if err != nil {
		t.Fatal(err)
	}
	text := pages(t)["docs/page.md"]
	for _, p := range site.Pages() {
		if !strings.Contains(text, "`"+p.Pattern+"`") {
			t.Errorf("docs/page.md has nothing about %s", p.Pattern)
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline  = regexp.MustCompile("`([^`]*)`")
	byID    = regexp.MustCompile(`<a id="([^"]+)"`)
)

// TestDocsLinks: each link within the repository leads to a file, and to a heading of it.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	anchors := make(map[string][]string, len(all))
	for path, text := range all {
		for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			title := inline.ReplaceAllString(linked.ReplaceAllString(m[1], ""), "$1")
			anchors[path] = append(anchors[path], anchorOf(strings.NewReplacer(`\`, "", "[", "", "]", "").Replace(title)))
		}
		for _, m := range byID.FindAllStringSubmatch(text, -1) {
			anchors[path] = append(anchors[path], m[1])
		}
	}
	links := 0
	for path, text := range all {
		for _, m := range linked.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(filepath.Join(repoRoot, to)); err != nil {
				t.Errorf("%s: the link %s: %v", path, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors[to], anchor) {
				t.Errorf("%s: the link %s: there is no such heading", path, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("looked at %d links only", links)
	}
}

var (
	typed = regexp.MustCompile(`(?m)^(?:    (?:\$ )?(?:bin/quorate|quorate|make|curl|go|sudo|docker|cd) |\$ )`)
	block = regexp.MustCompile("(?m)^(<!-- (?:run|not run: [^>]+) -->\n+)?((?:^```(?s:.*?)^```$)|(?:^    .*\n)+)")
)

// TestDocsMarked: each block of commands says that a test runs it (e2e/docs), or why
// none does.
func TestDocsMarked(t *testing.T) {
	t.Parallel()
	blocks := 0
	for path, text := range pages(t) {
		if path == "docs/flags.md" {
			continue // has lines of usage
		}
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			if !typed.MatchString(m[2]) {
				continue
			}
			if blocks++; m[1] == "" {
				t.Errorf("%s: a block of commands without a mark: %.100s", path, m[2])
			}
		}
	}
	if blocks < 30 {
		t.Errorf("looked at %d blocks only", blocks)
	}
}

var example = regexp.MustCompile("(?ms)^<!-- format: (\\w+) -->\n```\\w+\n(.*?)^```$")

// TestDocsFormats: each example of a file is one that the program reads.
func TestDocsFormats(t *testing.T) {
	t.Parallel()
	readers := map[string]func(path string) error{
		"config": func(path string) error {
			if code, _, errs := quorate(t, "", "config", "--config-file", path); code != exitDone {
				return fmt.Errorf("exit code %d: %s", code, errs)
			}
			return nil
		},
		"chains": func(path string) error { _, err := readChains(path); return err },
		"keys": func(path string) error {
			_, err := limit.New(limit.Config{KeysFile: path, UnitsPerMinute: 1})
			return err
		},
		"prices": func(path string) error { _, err := provide.OpenPrices(path, nil); return err },
		"tokens": func(path string) error { _, err := provide.OpenTokens(path, nil); return err },
		"facts":  func(path string) error { _, err := devnet.ReadFacts(path); return err },
	}
	for _, m := range example.FindAllStringSubmatch(pages(t)["docs/formats.md"], -1) {
		read := readers[m[1]]
		if read == nil {
			t.Errorf("nothing reads the example %q, or there are two", m[1])
			continue
		}
		if err := read(writeFile(t, m[1], m[2])); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		delete(readers, m[1])
	}
	for name := range readers {
		t.Errorf("docs/formats.md has no example of %s", name)
	}
}
