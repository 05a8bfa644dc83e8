package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// verb is a formatting verb of fmt, or what a page has in its place.
var verb = regexp.MustCompile(`%[-+#.0-9*\[\]]*[a-zA-Z]`)

// errorTexts returns the texts of all errors that a package makes, with … in the
// place of what is filled in. Texts without a word of their own are left out.
func errorTexts(t *testing.T, dir string) (texts []string) {
	t.Helper()
	return textsOf(t, dir, func(n ast.Node) ast.Expr {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return nil
		}
		if of, ok := call.Fun.(*ast.SelectorExpr); ok && makesError(of) {
			return call.Args[0]
		}
		return nil
	})
}

// answerTexts returns the texts of all errors that a package answers with: those of
// members of a name.
func answerTexts(t *testing.T, dir, member string) []string {
	t.Helper()
	return textsOf(t, dir, func(n ast.Node) ast.Expr {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return nil
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != member {
			return nil
		}
		if call, ok := pair.Value.(*ast.CallExpr); ok && len(call.Args) > 0 {
			return call.Args[0]
		}
		return pair.Value
	})
}

// textsOf returns the texts of the expressions that a function picks in a package.
func textsOf(t *testing.T, dir string, pick func(n ast.Node) ast.Expr) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repoRoot, dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			e := pick(n)
			if e == nil {
				return true
			}
			text := strings.ReplaceAll(verb.ReplaceAllString(literal(e), "…"), "%%", "%")
			if strings.Trim(text, "… :,;()") != "" {
				texts = append(texts, text)
			}
			return true
		})
	}
	return texts
}

func makesError(of *ast.SelectorExpr) bool {
	pkg, ok := of.X.(*ast.Ident)
	return ok && (pkg.Name == "errors" && of.Sel.Name == "New" || pkg.Name == "fmt" && of.Sel.Name == "Errorf")
}

// literal returns the text of a literal, of several that are added, or … for what
// else there is.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return "…"
}

// TestDocsErrors: each error of the commands, of starting, of the files that users write, of
// signing and of the API in general has its cause in docs/troubleshoot.md.
func TestDocsErrors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repoRoot, "docs", "troubleshoot.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, m := range inline.FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	looked := 0
	check := func(of string, texts []string) {
		for _, text := range texts {
			if looked++; !listed[text] {
				t.Errorf("docs/troubleshoot.md has nothing about an error of %s: `%s`", of, text)
			}
		}
	}
	for _, dir := range []string{"cmd/quorate", "engine/backup", "httpapi/provide"} {
		check(dir, errorTexts(t, dir))
	}
	check("aggregator", answerTexts(t, "aggregator", "Msg"))
	check("httpapi", answerTexts(t, "httpapi", "message"))
	check("httpapi/limit", answerTexts(t, "httpapi/limit", "Message"))
	if looked < 200 {
		t.Errorf("looked at %d errors only", looked)
	}
}

// TestDocsErrorsOfStart: what a wrong start prints is in docs/troubleshoot.md, where …
// stands for any text.
func TestDocsErrorsOfStart(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repoRoot, "docs", "troubleshoot.md"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*regexp.Regexp
	for _, m := range inline.FindAllStringSubmatch(string(page), -1) {
		if len(strings.Fields(strings.ReplaceAll(m[1], "…", ""))) > 1 { // says something
			patterns = append(patterns, regexp.MustCompile("(?s)"+strings.ReplaceAll(regexp.QuoteMeta(m[1]), "…", ".*")))
		}
	}
	dir := t.TempDir()
	notAFolder := writeFile(t, "file", "")
	for _, args := range [][]string{
		{"serve"}, {"serv"}, {"serve", "--devnet", "--http-port", "x"}, {"serve", "--devnet", "--http-port", "70000"}, {"serve", "--loud"},
		{"serve", "--devnet", "--data-dir", dir, "--http-host", "192.0.2.1"},
		{"serve", "--devnet", "--data-dir", dir, "--http-port", "0", "--admin-addr", "192.0.2.1:1"},
		{"serve", "--devnet", "--data-dir", dir, "--http-port", "0", "--chains-file", notAFolder},
		{"serve", "--devnet", "--data-dir", dir, "--config-file", writeFile(t, "a.yaml", "http-prt: 1")},
		{"serve", "--node-url", "127.0.0.1:9650"}, {"serve", "--devnet", "--memory", "1MiB"},
		{"backup", "--data-dir", dir}, {"restore", "--data-dir", dir, "--from", filepath.Join(dir, "none")},
		{"reindex", "nothing", "--data-dir", dir}, {"validators", "--data-dir", dir}, {"verify", "00", "--node-url", "http://127.0.0.1:1"},
		{"aggregate", "00", "--url", "http://127.0.0.1:1"}, {"export"}, {"bench"}, {"bench", "aggregate"}, {"key"},
	} {
		code, _, errs := quorate(t, "", args...)
		if code == exitDone {
			t.Errorf("%q passes", args)
		}
		found := false
		for _, p := range patterns {
			found = found || p.MatchString(errs)
		}
		if !found {
			t.Errorf("docs/troubleshoot.md has nothing about what %q prints: %s", args, errs)
		}
	}
}
