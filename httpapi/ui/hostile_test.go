package ui

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// long is longer than the server's own texts can be, so only strangers say it.
var long = strings.Repeat("W", 50_000)

// strangers write these members, and of any length.
var strangers = map[string]bool{"name": true, "symbol": true, "chainName": true, "description": true, "reason": true, "methodName": true, "tokenUri": true,
	"imageUri": true, "animationUri": true, "externalUrl": true, "background": true, "attributes": true, "properties": true, "input": true, "data": true,
	"failureReason": true}

// hostileWords are words that chains could say.
var hostileWords = map[string]string{
	"script":      `<script>alert(1)</script><img src=x onerror=alert(1)>`,
	"attribute":   `" onmouseover="alert(1)" x="`,
	"single":      `' onfocus='alert(1)' autofocus='`,
	"link":        `javascript:alert(1)`,
	"data":        `data:text/html,<script>alert(1)</script>`,
	"host":        `//evil.example/x`,
	"address":     `https://evil.example/pixel.png`,
	"template":    `{{.Chain}} {{template "layout"}} ${alert(1)}`,
	"comment":     `--></main></body><!--`,
	"style":       `</style><style>*{display:none}`,
	"directions":  "abc\u202egnp.exe\u2066\u200f",
	"control":     "a\x00b\x1b[2J\u0085",
	"invisible":   "A\u200bV\u2060A\ufeffX\u3164",
	"line ends":   "a\r\nSet-Cookie: x=1\r\n\r\n<b>",
	"accents":     "z" + strings.Repeat("\u0301", 500),
	"long":        long,
	"no digits":   "-",
	"digits":      strings.Repeat("9", 400),
	"exponent":    "1e400",
	"traversal":   "../../ops?x=1#y",
	"percent":     "%2e%2e%2f%00%",
	"nothing":     "",
	"replacement": "\xff\xfe",
}

// steering are the members by which pages ask the API further; the others are replaced.
var steering = map[string]bool{"chainId": true, "blockHash": true, "blockNumber": true, "address": true, "ercType": true, "teleporterMessageId": true,
	"platformChainId": true, "sourceEvmChainId": true, "nextPageToken": true}

// replaced returns a body whose texts are others, but for what steers.
func replaced(v any, name, word string) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = replaced(x[k], k, word)
		}
	case []any:
		for i := range x {
			x[i] = replaced(x[i], name, word)
		}
	case string:
		if strangers[name] || !steering[name] && len(word) < len(long) {
			return word
		}
	}
	return v
}

// says is an API all of whose texts are a hostile one.
func says(t testing.TB, word string) fakeAPI {
	t.Helper()
	api := sampleEVM()
	for path, answer := range api {
		var v any
		d := json.NewDecoder(strings.NewReader(answer.(string)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(path, err)
		}
		b, err := json.Marshal(replaced(v, "", word))
		if err != nil {
			t.Fatal(err)
		}
		api[path] = string(b)
	}
	return api
}

// TestHostileWords: whatever a chain says, a page is one, has no element and no attribute
// but its own, leads nowhere else, loads nothing, and shows no character that deceives.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	for name, word := range hostileWords {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := evmSite(t, says(t, word))
			for _, path := range evmPaths {
				out := visit(t, s, path, true)
				if out.Status != http.StatusOK {
					t.Errorf("%s: %d", path, out.Status)
					continue
				}
				harmless(t, path, &out)
				if len(out.HTML) > 200_000 {
					t.Errorf("%s has %d bytes", path, len(out.HTML))
				}
			}
		})
	}
}

// ours are the elements of pages.
var ours = strings.Fields("html head meta title link script body a header div nav ul li form input button main section h1 h2 h3 p strong span small dl dt dd table thead tbody tr th td" +
	" time bdi datalist footer template details summary pre ol svg path figure figcaption output label progress code select option kbd em noscript")

func harmless(t *testing.T, path string, out *Output) {
	t.Helper()
	known := make(map[string]bool, len(ours))
	for _, e := range ours {
		known[e] = true
	}
	text := string(out.HTML)
	if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "<no value>") || strings.Contains(text, "%!") {
		t.Errorf("%s: a template failed: %s", path, text)
	}
	shown := visible(t, out)
	for _, r := range "\u202e\u2066\u200f\u200b\u2060\ufeff\u3164\x00\x1b\u0085" {
		if strings.ContainsRune(shown, r) {
			t.Errorf("%s shows %U", path, r)
		}
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !known[n.Data] {
			t.Errorf("%s has an element %s", path, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "autofocus" || a.Key == "srcset":
				t.Errorf("%s: <%s> has %s=%q", path, n.Data, a.Key, a.Val)
			case a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction":
				own := strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") && !strings.Contains(a.Val, "/../") && !strings.Contains(a.Val, `\`)
				if icon := n.Data == "link" && strings.HasPrefix(a.Val, "data:image/svg+xml,"); !own && !icon && a.Val != "#main" {
					t.Errorf("%s: <%s> leads to %q", path, n.Data, a.Val)
				}
			}
		}
	}
}

// visible returns the text of a page's main part and of its title.
func visible(t *testing.T, out *Output) string {
	t.Helper()
	_, text := parsed(t, out)
	doc, err := html.Parse(strings.NewReader(string(out.HTML)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "title" && n.FirstChild != nil {
			text += n.FirstChild.Data
		}
	}
	return text
}
