// Command sbom lists what a Go program was built from, as the program itself says, in
// the form of CycloneDX: go run ./packaging/sbom PROGRAM.
package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/goccy/go-json"
)

// component is a module, or the standard library.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// list is a bill of materials. It has no time and no serial number: the same program
// has the same list.
type list struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "sbom: give the program")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(program string, out io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(materials(filepath.Base(program), info))
}

// materials returns what a program was built from, in a fixed order.
func materials(name string, info *debug.BuildInfo) *list {
	l := &list{Format: "CycloneDX", Spec: "1.5", Version: 1}
	l.Metadata.Component = component{"application", name, info.Main.Version, "pkg:golang/" + info.Main.Path + "@" + info.Main.Version}
	l.Components = append(l.Components, component{"library", "std", info.GoVersion, "pkg:golang/std@" + info.GoVersion})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		l.Components = append(l.Components, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	slices.SortFunc(l.Components, func(a, b component) int { return cmp.Compare(a.Name, b.Name) })
	return l
}
