package ui

import (
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"math/big"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"quorate/httpapi/ui/plain"
)

// layout is what templates/layout.html shows around a page.
type layout struct {
	Title, Version string
	Path, Section  string
	Operator, Ops  bool
	Keys           bool // there are API keys
	Data           any  // the page's own
}

// section returns the first segment of a path, by which the navigation marks where the
// page belongs.
func section(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// views are the templates of all pages, for one path prefix.
type views struct{ pages map[string]*template.Template }

// prefixMark stands in templates for the path prefix, which Render puts in its place: one set of
// templates serves whatever prefixes clients claim. Nobody can guess it.
var prefixMark = "/" + rand.Text()

// sharedViews returns the views of all sites. They are parsed once: nothing changes them, it
// takes long, and in tests a process has dozens of sites.
var sharedViews = sync.OnceValues(func() (*views, error) { return newViews(prefixMark) })

// newViews parses each page's template with the layout and the parts.
func newViews(prefix string) (*views, error) {
	funcs, err := functions(prefix)
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Funcs(funcs).Option("missingkey=error").
		ParseFS(templateFiles, "templates/layout.html", "templates/*parts.html")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	v := &views{pages: make(map[string]*template.Template, len(files))}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f), ".html")
		if name == "layout" || strings.HasSuffix(name, "parts") {
			continue
		}
		page, err := shared.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, f)
		}
		if err != nil {
			return nil, err
		}
		v.pages[name] = page
	}
	return v, nil
}

// functions are those of templates.
func functions(prefix string) (template.FuncMap, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{
		// link "/chain" .ID "blocks": one of our own paths, its segments escaped.
		"link": func(path string, segments ...any) string {
			texts := make([]string, len(segments))
			for i, s := range segments {
				texts[i] = wordOf(s)
			}
			if len(texts) == 0 {
				return prefix + path
			}
			return prefix + join(path, texts...)
		},
		"prefix": func() string { return prefix },
		"asset": func(name string) (string, error) {
			a := assets[name]
			if a == nil {
				return "", fmt.Errorf("there is no asset %s", name)
			}
			return prefix + AssetPrefix + a.Name, nil
		},
		"short": short, "number": number, "amount": amount, "percent": percent,
		"time": timeOf, "since": since, "lasting": lasting, "bytes": sizeOf, "plural": plural, "dict": dict, "lower": strings.ToLower,
		"kindof": kindOf, "levelkind": levelKind,
		"add": func(a, b int) int { return a + b },
		// name .Event: a declaration without its parameters.
		"name": func(s string) string { name, _, _ := strings.Cut(s, "("); return name },
		// kind .Ok "ok" "bad": one of two words.
		"kind": func(is bool, yes, no string) string {
			if is {
				return yes
			}
			return no
		},
	}
	maps.Copy(funcs, evmFunctions)
	return funcs, nil
}

// shownText bounds what is shown of a text that should have been a number or an ID.
const shownText = 100

// wordOf is [fmt.Sprint], without allocations for strings of any type and small numbers.
func wordOf(v any) string {
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String:
		return r.String()
	case r.CanInt():
		return strconv.FormatInt(r.Int(), 10)
	}
	return fmt.Sprint(v)
}

// short leaves out the middle of long hex and of IDs.
func short(v any) string {
	s := wordOf(v)
	const head, tail = 8, 6
	if len(s) <= head+tail+3 {
		return s
	}
	for i := range len(s) { // what is not plain is left alone: cutting would break it
		if s[i] < '!' || s[i] > '~' {
			return plain.Text(s, shownText)
		}
	}
	if kind, id, ok := strings.Cut(s, "-"); ok && len(kind) <= 8 && len(id) > head+tail {
		return kind + "-" + id[:head-2] + "…" + id[len(id)-tail:]
	}
	return s[:head] + "…" + s[len(s)-tail:]
}

// number returns a whole number, or the digits of one, in groups of three. What is no
// number is returned as it is.
func number(v any) string {
	s := wordOf(v)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, hasFrac := strings.Cut(s, ".")
	if !digits(whole) || hasFrac && !digits(frac) {
		return plain.Text(sign+s, shownText)
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteRune('\u202f') // a narrow space that does not break
		}
		b.WriteRune(c)
	}
	if hasFrac {
		b.WriteString("." + frac)
	}
	return b.String()
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// amountDigits is the number of digits that an amount shows behind its point.
const amountDigits = 6

// amount returns an amount in base units as one of the token, in groups of three and
// with at most amountDigits behind the point. What is no number is returned as it is, and so is
// an amount of a token whose decimals are not known.
func amount(v, decimals any) string {
	s := wordOf(v)
	d, err := strconv.Atoi(wordOf(decimals))
	if _, ok := new(big.Int).SetString(s, 10); !ok || err != nil || d < 0 || d > 77 {
		return number(s)
	}
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if len(s) <= d {
		s = strings.Repeat("0", d-len(s)+1) + s
	}
	whole, frac := s[:len(s)-d], s[len(s)-d:]
	cut := frac[:min(len(frac), amountDigits)]
	if whole == "0" && strings.Trim(cut, "0") == "" && strings.Trim(frac, "0") != "" {
		return sign + "<0." + strings.Repeat("0", len(cut)-1) + "1"
	}
	if cut = strings.TrimRight(cut, "0"); cut == "" {
		return sign + number(whole)
	}
	return sign + number(whole+"."+cut)
}

// percent returns part as a share of whole, both numbers or their digits, rounded down:
// what is not all is not 100%. Of nothing it is unknown.
func percent(part, whole any) string {
	p, ok := new(big.Rat).SetString(fmt.Sprint(part))
	w, also := new(big.Rat).SetString(fmt.Sprint(whole))
	if !ok || !also || w.Sign() == 0 {
		return "unknown"
	}
	p.Quo(p.Mul(p, big.NewRat(10_000, 1)), w)
	hundredths := new(big.Int).Quo(p.Num(), p.Denom())
	return p.SetFrac(hundredths, big.NewInt(100)).FloatString(2) + "%"
}

// timeOf shows a time: Unix seconds, as a number or its digits, a text of RFC 3339, or a
// time.Time. The page's script adds how long ago it was.
func timeOf(v any) (template.HTML, error) {
	t, ok := moment(v)
	if !ok {
		return "unknown", nil
	}
	// Built of a formatted time alone, so nothing in it comes from others.
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04:05") + " UTC</time>"), nil
}

// moment reads what timeOf takes.
func moment(v any) (time.Time, bool) {
	switch x := v.(type) {
	case time.Time:
		return x.UTC(), !x.IsZero()
	case string:
		if t, err := time.Parse(time.RFC3339, x); err == nil {
			return t.UTC(), true
		}
	}
	n, err := strconv.ParseInt(wordOf(v), 10, 64)
	if err != nil || n <= 0 || n > 1<<42 {
		return time.Time{}, false
	}
	if n > 1<<36 { // milliseconds
		n /= 1000
	}
	return time.Unix(n, 0).UTC(), true
}

// since returns a duration in words, its largest two units.
func since(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	for _, u := range []struct {
		of, part     time.Duration
		name, nameOf string
	}{
		{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "min"}, {time.Minute, time.Second, "min", "s"},
	} {
		if d >= u.of {
			text := strconv.FormatInt(int64(d/u.of), 10) + " " + u.name
			if rest := d % u.of / u.part; rest > 0 {
				text += " " + strconv.FormatInt(int64(rest), 10) + " " + u.nameOf
			}
			return text
		}
	}
	return ""
}

// sizeOf returns a number of bytes in the unit that suits it.
func sizeOf(v any) string {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return "unknown"
	}
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	if i == 0 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " B"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + units[i]
}

// plural returns a number with the word for it.
func plural(n any, one, many string) string {
	s := number(n)
	if s == "1" {
		return "1 " + one
	}
	return s + " " + many
}

// dict makes a map of names and values, to pass several to a part.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: a name without a value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}
