package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add what is new to testdata/api.txt")

// Programs that use the client build with its next version: nothing that testdata/api.txt
// lists goes or changes. What is new is added to it by -update; a line is taken out by hand,
// with a line in the list of changes.
func TestAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/api.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(text)), "\n")
	var now []string
	for _, dir := range []string{".", "warp"} {
		now = append(now, exported(t, dir)...)
	}
	slices.Sort(now)
	for _, line := range listed {
		if !slices.Contains(now, line) && line != "" {
			t.Errorf("programs that use this do not build any more: %s", line)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile("testdata/api.txt", []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, line := range now {
		if !slices.Contains(listed, line) {
			t.Errorf("new, add it by go test -run TestAPI -update: %s", line)
		}
	}
}

// exported returns a line for each exported function, method, constant, variable, type and
// field of a package.
func exported(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	form := func(n ast.Node) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			for _, line := range declared(d, form) {
				list = append(list, f.Name.Name+" "+line)
			}
		}
	}
	return list
}

func declared(d ast.Decl, form func(ast.Node) string) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.TrimPrefix(form(d.Recv.List[0].Type), "*"))) {
			d.Body = nil
			list = append(list, form(d))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						list = append(list, d.Tok.String()+" "+n.Name)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					list = append(list, typeLines(s, form)...)
				}
			}
		}
	}
	return list
}

func typeLines(s *ast.TypeSpec, form func(ast.Node) string) []string {
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return []string{"type " + s.Name.Name + " " + form(s.Type)}
	}
	list := []string{"type " + s.Name.Name + " struct"}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				list = append(list, fmt.Sprintf("field %s.%s %s", s.Name.Name, n.Name, form(f.Type)))
			}
		}
	}
	return list
}
