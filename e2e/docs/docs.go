// Package docs reads the marked command blocks of the documentation: what a page says
// to type, and what it says that this prints. A block is marked by a comment before it:
//
//	<!-- run -->
//	```console
//	$ a command, which goes on \
//	    in the next line
//	its output, in which ... stands for any text
//	```
package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is a marked block of a page.
type Block struct {
	Page  string
	Steps []Step
}

// Step is a command of a block, with its output.
type Step struct{ Command, Output string }

var marked = regexp.MustCompile("(?ms)^<!-- run -->\n```console\n(.*?)^```$")

// Blocks returns the marked blocks of all pages of a repository, in the order of the
// pages' paths.
func Blocks(root fs.FS) (list []Block, err error) {
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		for _, m := range marked.FindAllStringSubmatch(string(text), -1) {
			list = append(list, Block{path, stepsOf(m[1])})
		}
		return err
	})
	return list, err
}

func stepsOf(block string) (steps []Step) {
	goesOn := false
	for line := range strings.Lines(block) {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			steps = append(steps, Step{Command: command})
		case goesOn:
			steps[len(steps)-1].Command += line
		case len(steps) > 0:
			steps[len(steps)-1].Output += line
			continue
		}
		goesOn = strings.HasSuffix(strings.TrimSpace(line), `\`)
	}
	return steps
}

// Matches reports whether something was printed that the page says is.
func (s *Step) Matches(printed string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(s.Output)), regexp.QuoteMeta("..."), ".*")
	return regexp.MustCompile(`(?s)\A` + pattern + `\z`).MatchString(strings.TrimSpace(printed))
}
