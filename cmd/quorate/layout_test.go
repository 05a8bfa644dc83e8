package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// These tests keep the layout of the whole repository. Each failure says which
// rule is broken and why the rule is there.

const (
	modulePath = "quorate"
	repoRoot   = "../.."
	// maxFileLines bounds files other than tests.
	maxFileLines = 500
)

// layers says which packages stand on which: a package imports lower layers,
// and its own layer only inside its own top-level folder. The longest prefix counts.
var layers = map[string]int{
	"cmd":             5,
	"bench":           4,
	"packaging":       4,
	"engine":          3, // the package itself; its sub-packages are below
	"engine/network":  3, // stands on the aggregator and on peers
	"engine/folder":   3, // reads the identity as peers do
	"engine/facts":    3, // those of networks
	"httpapi":         3,
	"rpc":             3,
	"devnet":          3,
	"aggregator":      2,
	"p2p":             2,
	"engine/*":        2,
	"engine/chain":    1,
	"engine/outbound": 1, // peers' addresses follow its rule
	"rollup":          1,
	"engine/actor":    0,
	"engine/metric":   0,
	"internal/pull":   0, // reads what nodes answer and what clients of them ask
	// Reads hosts and ports of flags.
	"internal/hostport": 0,
	// For tests of any layer.
	"devnet/torture": 0,
}

// onlyImporter names the packages that may import a library.
var onlyImporter = []struct{ library, importer, reason string }{
	{
		"github.com/supranational/blst", "aggregator/bls",
		"signatures are checked in one place, where the subgroup and infinity rules are kept",
	},
	{
		"github.com/dgraph-io/badger", "engine/store",
		"one place knows the key layouts and the database can be replaced",
	},
	{
		"github.com/minio/minio-go", "engine/depot",
		"one place knows that object storage speaks S3",
	},
	{
		"github.com/nats-io/nats.go", "engine/feed/jetstream",
		"one place knows by what the log of newest blocks is kept",
	},
}

func layerOf(pkg string) (layer int, ok bool) {
	for p := pkg; p != ""; p, _, _ = cutLast(p) {
		if layer, ok = layers[p]; ok && (p != "engine" || pkg == "engine") {
			return layer, true
		}
	}
	if strings.HasPrefix(pkg, "engine/") {
		return layers["engine/*"], true
	}
	return 0, false
}

func cutLast(p string) (head, tail string, found bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}

func topFolder(pkg string) string {
	top, _, _ := strings.Cut(pkg, "/")
	return top
}

// checkImport says what is wrong with an import between two packages of ours, given
// without the module's path.
func checkImport(from, to string) error {
	low, ok := layerOf(to)
	if !ok {
		return fmt.Errorf("%s has no layer: add it to the table in this test", to)
	}
	high, ok := layerOf(from)
	switch {
	case !ok:
		return fmt.Errorf("%s has no layer: add it to the table in this test", from)
	case low > high, low == high && topFolder(from) != topFolder(to):
		return fmt.Errorf("%s imports %s: imports point down only, so that each layer can be tested "+
			"and understood without those above it; declare a small interface where it is used", from, to)
	case testGear(to) && !testGear(from):
		return fmt.Errorf("%s imports %s, which is for tests: it would be part of the program", from, to)
	}
	return nil
}

// testGear reports whether a package is for tests alone.
func testGear(pkg string) bool {
	return strings.HasSuffix(pkg, "test") && !strings.HasSuffix(pkg, "attest") || strings.HasSuffix(pkg, "/torture") || strings.HasSuffix(pkg, "/faultfs")
}

// within reports whether pkg is folder or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// checkLibrary says what is wrong with an import of a package that is not ours.
func checkLibrary(from, library string) error {
	for _, rule := range onlyImporter {
		if within(library, rule.library) && !within(from, rule.importer) {
			return fmt.Errorf("%s imports %s, which only %s may: %s", from, library, rule.importer, rule.reason)
		}
	}
	first, _, _ := strings.Cut(library, "/")
	if from == "engine/actor" && strings.Contains(first, ".") {
		return fmt.Errorf("%s imports %s: actors are built from the standard library alone", from, library)
	}
	return nil
}

func TestImportArrows(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = repoRoot
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, fault.Bytes())
	}
	ours := func(path string) (string, bool) { return strings.CutPrefix(path, modulePath+"/") }
	packages := 0
	for d := json.NewDecoder(&out); ; packages++ {
		var pkg struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from, ok := ours(pkg.ImportPath)
		if !ok {
			t.Errorf("package %s at the root: packages belong in one of the top-level folders", pkg.ImportPath)
			continue
		}
		for _, path := range pkg.Imports {
			if to, ok := ours(path); ok {
				if err := checkImport(from, to); err != nil {
					t.Error(err)
				}
			}
		}
		for _, path := range slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports) {
			if _, ok := ours(path); !ok {
				if err := checkLibrary(from, path); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if packages < 5 {
		t.Errorf("looked at %d packages only", packages)
	}
}

// goFile is a parsed Go file of the repository. What stands below the imports is parsed
// only where its text could break a rule.
type goFile struct {
	path    string // from the root
	lines   int
	set     *token.FileSet
	ast     *ast.File
	imports map[string]string // local name -> path
}

func (f *goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func parse(path string, src []byte) (*goFile, error) {
	f := &goFile{path: path, lines: bytes.Count(src, []byte("\n")), set: token.NewFileSet(), imports: map[string]string{}}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	var err error
	if f.ast, err = parser.ParseFile(f.set, path, src, mode|parser.ImportsOnly); err != nil {
		return nil, err
	}
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		_, name, _ := cutLast(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		f.imports[name] = path
	}
	if f.suspect(src) {
		f.ast, err = parser.ParseFile(f.set, path, src, mode)
	}
	return f, err
}

// suspect reports whether the text could hold what checkFile looks for in a tree.
func (f *goFile) suspect(src []byte) bool {
	has := func(text string) bool { return bytes.Contains(src, []byte(text)) }
	if has("func init") {
		return true
	}
	for name, path := range f.imports {
		for _, rule := range forbidden {
			if rule.path == path && rule.applies(f) && (rule.names == nil || has(name+".\n") ||
				slices.ContainsFunc(rule.names, func(n string) bool { return has(name + "." + n) })) {
				return true
			}
		}
	}
	return false
}

// goFiles parses every Go file of the repository that people write, the end-to-end tests'
// too. It does so once for all tests.
var goFiles = sync.OnceValues(func() (files []*goFile, err error) {
	root := os.DirFS(repoRoot)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		f, err := parse(path, src)
		if err == nil && !ast.IsGenerated(f.ast) {
			files = append(files, f)
		}
		return err
	})
	return files, err
})

// forbidden lists what must not be called or named, by import path and name.
var forbidden = []struct {
	path, reason string
	names        []string // nil: anything of the package
	applies      func(f *goFile) bool
}{
	{
		"time", "a test that sleeps is slow or flaky: use testing/synctest, or wait for the event itself",
		[]string{"Sleep"}, (*goFile).isTest,
	},
	{
		"net/http", "the shared client has no time limit and is everybody's: make a client of your own",
		[]string{"DefaultClient", "DefaultServeMux", "Get", "Post", "PostForm", "Head", "Handle", "HandleFunc"},
		func(*goFile) bool { return true },
	},
	{
		"os", "the environment is read in cmd only: below it there are documented Config structs",
		[]string{"Getenv", "LookupEnv", "Environ"},
		func(f *goFile) bool {
			return !f.isTest() && topFolder(f.path) != "cmd" && topFolder(f.path) != "e2e" && !strings.HasPrefix(f.path, "devnet/torture/")
		},
	},
	{
		"flag", "flags are read in cmd only: below it there are documented Config structs",
		nil, func(f *goFile) bool { return !f.isTest() && topFolder(f.path) != "cmd" },
	},
}

// checkFile returns what is wrong with a file taken by itself.
func checkFile(f *goFile) []error {
	var errs []error
	bad := func(pos token.Pos, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %w", f.path, f.set.Position(pos).Line, fmt.Errorf(format, args...)))
	}
	if !f.isTest() && f.lines > maxFileLines {
		bad(f.ast.Package, "%d lines: files above %d hide more than one thing; split it", f.lines, maxFileLines)
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				bad(n.Pos(), "init function: what runs unasked cannot be ordered, configured or tested; build it in a constructor")
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			for _, rule := range forbidden {
				if f.imports[pkg.Name] == rule.path && rule.applies(f) && (rule.names == nil || slices.Contains(rule.names, n.Sel.Name)) {
					bad(n.Pos(), "%s.%s: %s", pkg.Name, n.Sel.Name, rule.reason)
				}
			}
		}
		return true
	})
	return errs
}

func TestFiles(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, err := range checkFile(f) {
			t.Error(err)
		}
	}
}

// A type of P-Chain transactions is told apart where it is encoded, executed and written, and
// by what the P-Chain signs of it. Whoever else wants to know something of it asks its body.
func TestBodySwitches(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"engine/primary/pchain/execute.go", "httpapi/attest/attest.go", "httpapi/view/primarytx.go"}
	var got []string
	for _, f := range files {
		if _, ok := f.imports["platform"]; !ok || f.isTest() || topFolder(f.path) == "devnet" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(repoRoot, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(src, []byte("case *platform.")) {
			got = append(got, f.path)
		}
	}
	if slices.Sort(got); !slices.Equal(got, allowed) {
		t.Errorf("types of P-Chain transactions are told apart in %v, not in %v: make it a method of platform.Body", got, allowed)
	}
}

func TestPackageDocs(t *testing.T) {
	t.Parallel()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string][]string{} // folder -> files with a package comment
	for _, f := range files {
		dir := filepath.Dir(f.path)
		if _, ok := docs[dir]; !ok {
			docs[dir] = nil
		}
		if f.ast.Doc == nil || f.isTest() {
			continue
		}
		docs[dir] = append(docs[dir], filepath.Base(f.path))
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(f.ast.Doc.Text(), want) {
			t.Errorf("%s: the package comment must start with %q, as the Go tools expect", f.path, want)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s: package comments in %d files %v, want exactly one: it is where a reader starts", dir, len(files), files)
		}
	}
}
