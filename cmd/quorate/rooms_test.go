package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateRooms = flag.Bool("update-rooms", false, "write sizes that have shrunk to testdata/rooms.txt")

// measure counts something of a package or of a type.
type measure string

const (
	inLines   measure = "lines"   // of a package, without tests
	inFiles   measure = "files"   // of a package, without tests
	inMethods measure = "methods" // of a type
	// inKnots are pairs of files of a package each of which uses names of the other: such
	// files cannot be read, or moved to a package of their own, one by one.
	inKnots measure = "knots"
)

// most is what a package or a type may have. Those that have more are in
// testdata/rooms.txt with what they have now, which may only become less.
var most = map[measure]int{inLines: 3000, inFiles: 25, inMethods: 40, inKnots: 10}

// unnoticed is how much may go before the list has to follow.
var unnoticed = map[measure]int{inLines: 100}

// subject is what a measure is of: "httpapi", or "httpapi.call".
type subject struct {
	name string
	what measure
}

// TestRooms holds the size of packages and types. Files and functions are small by other
// rules; what a reader has to know at once is a package, and what can reach each other's
// state is a type.
func TestRooms(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	now, err := sizes(files)
	if err != nil {
		t.Fatal(err)
	}
	const list = "testdata/rooms.txt"
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	known, err := parseRooms(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *updateRooms {
		if err := os.WriteFile(list, []byte(shrunk(string(text), now)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, fault := range checkRooms(now, known) {
		t.Error(fault)
	}
}

// checkRooms compares sizes with those of the list, and with what is allowed for the rest.
func checkRooms(now, known map[subject]int) (faults []string) {
	for s, n := range now {
		was, listed := known[s]
		switch {
		case listed && n > was:
			faults = append(faults, fmt.Sprintf("%s has %d %s, and had %d: it is too large already, so find "+
				"what can go, or where else this belongs", s.name, n, s.what, was))
		case listed && n < was-unnoticed[s.what]:
			faults = append(faults, fmt.Sprintf("%s has shrunk from %d to %d %s: "+
				"go test ./cmd/quorate -run TestRooms -update-rooms", s.name, was, n, s.what))
		case !listed && n > most[s.what]:
			faults = append(faults, fmt.Sprintf("%s has %d %s, may have %d: "+
				"divide it where what it does has two names", s.name, n, s.what, most[s.what]))
		}
	}
	for s := range known {
		if _, ok := now[s]; !ok {
			faults = append(faults, fmt.Sprintf("%s is no more: go test ./cmd/quorate -run TestRooms -update-rooms", s.name))
		}
	}
	slices.Sort(faults)
	return faults
}

// parseRooms reads lines of the form "httpapi 15890 lines"; "#" begins a comment.
func parseRooms(text string) (map[subject]int, error) {
	known := map[subject]int{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var s subject
		var n int
		if _, err := fmt.Sscanf(line, "%s %d %s", &s.name, &n, &s.what); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, ok := most[s.what]; !ok {
			return nil, fmt.Errorf("%q: unknown measure", line)
		}
		known[s] = n
	}
	return known, nil
}

// shrunk is the list with the sizes that have become smaller, without what is small enough.
func shrunk(text string, now map[subject]int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		known, err := parseRooms(line)
		for s, was := range known {
			switch n := now[s]; {
			case n <= most[s.what]:
				line = ""
			case n < was:
				line = strings.Replace(line, fmt.Sprintf(" %d ", was), fmt.Sprintf(" %d ", n), 1)
			}
		}
		if err == nil {
			out.WriteString(line)
		}
	}
	return out.String()
}

// sizes measures all packages and types that are not tests.
func sizes(all []*goFile) (map[subject]int, error) {
	size := map[subject]int{}
	rooms := map[string]map[string]*ast.File{}
	for _, f := range all {
		if f.isTest() {
			continue
		}
		src, err := os.ReadFile(filepath.Join(repoRoot, f.path))
		if err != nil {
			return nil, err
		}
		// With its names resolved: what is left in Unresolved comes from other files.
		file, err := parser.ParseFile(f.set, f.path, src, 0)
		if err != nil {
			return nil, err
		}
		room := filepath.Dir(f.path)
		if rooms[room] == nil {
			rooms[room] = map[string]*ast.File{}
		}
		rooms[room][f.path] = file
		size[subject{room, inLines}] += bytes.Count(src, []byte("\n"))
		size[subject{room, inFiles}]++
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				size[subject{room + "." + receiver(fn), inMethods}]++
			}
		}
	}
	for room, parsed := range rooms {
		size[subject{room, inKnots}] = countKnots(parsed)
	}
	return size, nil
}

// receiver is the name of the type that a method is of.
func receiver(fn *ast.FuncDecl) string {
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// countKnots counts the pairs of files that use names of each other.
func countKnots(parsed map[string]*ast.File) int {
	home := homes(parsed)
	uses := map[[2]string]bool{}
	for path, file := range parsed {
		for name := range used(file) {
			if h, ok := home[name]; ok && h != path {
				uses[[2]string{path, h}] = true
			}
		}
	}
	n := 0
	for pair := range uses {
		if pair[0] < pair[1] && uses[[2]string{pair[1], pair[0]}] {
			n++
		}
	}
	return n
}

// homes says in which file a name of the package is declared. Of methods, written ".name",
// it knows those of the package alone whose name no other method and no field has.
func homes(parsed map[string]*ast.File) map[string]string {
	home, twice := map[string]string{}, map[string]bool{}
	add := func(name, path string) {
		if _, ok := home[name]; ok {
			twice[name] = true
		}
		home[name] = path
	}
	for path, file := range parsed {
		for name := range file.Scope.Objects {
			home[name] = path
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && !n.Name.IsExported() {
					add("."+n.Name.Name, path)
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					for _, name := range field.Names {
						twice["."+name.Name] = true
					}
				}
			}
			return true
		})
	}
	maps.DeleteFunc(home, func(name, _ string) bool { return twice[name] })
	return home
}

// used returns the names that a file takes from elsewhere, and those that it selects.
func used(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, id := range file.Unresolved {
		names[id.Name] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			names["."+s.Sel.Name] = true
		}
		return true
	})
	return names
}
