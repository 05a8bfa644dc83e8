package ui

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
)

// apiCall is an operation with the values of its parameters.
type apiCall struct {
	op     *apiOperation
	base   string     // address of the server
	fields []apiField // parameters in the order of the description
	rest   string     // the path below that of a nested operation
	body   string     // JSON
	keyed  bool       // a key goes with it
}

// snippet is a call in one language. Body is what a script replaces when another body is
// written: as says how it is quoted there.
type snippet struct {
	Name, Note         string
	Before, Body, Tail string
	As                 string
}

// keyVariable is the environment variable that snippets read the API key from.
const keyVariable = "QUORATE_API_KEY"

// keyHeader is the header of the API key.
const keyHeader = "x-service-api-key"

// snippets returns the call in all languages.
func (c *apiCall) snippets() ([]snippet, error) {
	list := []snippet{c.curl(), c.fetch()}
	methods, err := sdkMethods()
	if err != nil {
		return nil, err
	}
	m := methods[c.op.Method+" "+c.op.Path]
	for _, sdk := range []string{avacloud, chainkit} {
		if m.in(sdk) {
			list = append(list, c.sdk(sdk, m))
		}
	}
	return append(list, c.python(), c.golang()), nil
}

// mark stands for the body in the text of a snippet.
const mark = "\x00"

// newSnippet cuts the text where the body stands.
func newSnippet(name, text, as, body string) snippet {
	s := snippet{Name: name, As: as}
	var has bool
	if s.Before, s.Tail, has = strings.Cut(text, mark); has {
		s.Body = body
	}
	return s
}

// Text returns the whole of it.
func (s snippet) Text() string { return s.Before + s.Body + s.Tail }

func (c *apiCall) hasBody() bool { return c.op.Body != nil }

func (c *apiCall) streams() bool {
	_, media, _ := c.op.success()
	return media == "text/event-stream"
}

func (c *apiCall) answersJSON() bool {
	_, media, _ := c.op.success()
	return media == "application/json" || media == ""
}

func (c *apiCall) curl() snippet {
	var b strings.Builder
	b.WriteString("curl")
	if c.streams() {
		b.WriteString(" -N")
	}
	if c.op.Method != "GET" && !(c.op.Method == "POST" && c.hasBody()) {
		b.WriteString(" -X " + c.op.Method)
	}
	b.WriteString(" " + shellQuote(c.url()))
	if c.keyed {
		b.WriteString(" \\\n  -H \"" + keyHeader + ": $" + keyVariable + `"`)
	}
	if c.hasBody() {
		b.WriteString(" \\\n  -H 'content-type: application/json' \\\n  -d " + mark)
	}
	return newSnippet("curl", b.String(), "shell", shellQuote(c.body))
}

// shellQuote quotes text for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (c *apiCall) fetch() snippet {
	var b strings.Builder
	b.WriteString("const answer = await fetch(" + jsQuote(c.url()))
	var options []string
	if c.op.Method != "GET" {
		options = append(options, "method: "+jsQuote(c.op.Method))
	}
	var headers []string
	if c.hasBody() {
		headers = append(headers, `"content-type": "application/json"`)
	}
	if c.keyed {
		headers = append(headers, jsQuote(keyHeader)+": process.env."+keyVariable)
	}
	if len(headers) > 0 {
		options = append(options, "headers: { "+strings.Join(headers, ", ")+" }")
	}
	if c.hasBody() {
		options = append(options, "body: JSON.stringify("+mark+")")
	}
	if len(options) > 0 {
		b.WriteString(", {\n  " + strings.Join(options, ",\n  ") + ",\n}")
	}
	b.WriteString(");\nif (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);\n")
	switch {
	case c.streams():
		b.WriteString("for await (const part of answer.body.pipeThrough(new TextDecoderStream())) console.log(part);\n")
	case c.answersJSON():
		b.WriteString("console.log(await answer.json());\n")
	default:
		b.WriteString("console.log(await answer.text());\n")
	}
	return newSnippet("fetch", b.String(), "js", jsIndent(c.body, "  "))
}

// jsQuote returns a JavaScript string.
func jsQuote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // strings can always be written
		return strconv.Quote(s)
	}
	return strings.TrimSpace(b.String())
}

// jsIndent returns JSON as it stands in a program, or the text itself if it is none.
func jsIndent(body, indent string) string {
	var b bytes.Buffer
	if body == "" || json.Indent(&b, []byte(body), indent, "  ") != nil {
		return "{}"
	}
	return b.String()
}

// sdk writes the call of an official SDK. Both make requests to servers of their own
// unless each call has the address: what the constructor has is not used for calls, yet
// the first SDK refuses to be made without.
func (c *apiCall) sdk(sdk string, m *sdkMethod) snippet {
	var b strings.Builder
	name, client, options := "@avalabs/avacloud-sdk", "AvaCloudSDK", "serverURL"
	if sdk == chainkit {
		name, client, options = "@avalanche-sdk/chainkit", "Avalanche", "enableTelemetry: false"
	}
	if c.keyed {
		options += ", apiKey: process.env." + keyVariable
	}
	fmt.Fprintf(&b, "import { %s } from %s;\n\nconst serverURL = %s;\nconst sdk = new %s({ %s });\n",
		client, jsQuote(name), jsQuote(c.base), client, options)
	var arguments []string
	if !m.bare {
		arguments = append(arguments, c.sdkRequest(sdk, m))
	}
	arguments = append(arguments, "{ serverURL }")
	fmt.Fprintf(&b, "const answer = await sdk.%s(%s);\n", m.name, strings.Join(arguments, ", "))
	if m.pages {
		b.WriteString("for await (const page of answer) {\n  console.log(page.result);\n  break; // without this, all pages are read\n}\n")
	} else {
		b.WriteString("console.log(answer);\n")
	}
	s := newSnippet(sdk, b.String(), "js", jsIndent(c.body, map[bool]string{true: "  ", false: ""}[m.bodyAs != ""]))
	s.Note = "npm install " + name
	for _, f := range c.fields {
		if f.Value != "" && !m.knows(sdk, f.Name) {
			s.Note += "; this SDK does not know " + f.Name
		}
	}
	return s
}

// sdkRequest writes the first argument of an SDK's method.
func (c *apiCall) sdkRequest(sdk string, m *sdkMethod) string {
	if m.body && m.bodyAs == "" {
		return mark
	}
	var members []string
	for _, f := range c.fields {
		if f.Value == "" && !f.Required || !m.knows(sdk, f.Name) {
			continue
		}
		members = append(members, sdkParam(f.Name)+": "+sdkValue(f))
	}
	if m.body {
		members = append(members, m.bodyAs+": "+mark)
	}
	switch {
	case len(members) == 0:
		return "{}"
	case len(members) == 1 && !m.body:
		return "{ " + members[0] + " }"
	}
	return "{\n  " + strings.Join(members, ",\n  ") + ",\n}"
}

// sdkValue writes the value of a parameter as the SDKs want it.
func sdkValue(f apiField) string {
	value := f.value()
	switch sdkKind(f.Name) {
	case "number":
		if _, err := strconv.ParseInt(value, 10, 64); err == nil {
			return value
		}
	case "boolean":
		if value == "true" || value == "false" {
			return value
		}
	case "list":
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			items = append(items, jsQuote(strings.TrimSpace(item)))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return jsQuote(value)
}

func (c *apiCall) python() snippet {
	var b strings.Builder
	headers := ""
	if c.hasBody() {
		headers = `"content-type": "application/json"`
	}
	if c.keyed {
		b.WriteString("import os\n\n")
		headers = strings.TrimPrefix(headers+", ", ", ") + jsQuote(keyHeader) + ": os.environ[" + jsQuote(keyVariable) + "]"
	}
	b.WriteString("import requests\n\nanswer = requests." + strings.ToLower(c.op.Method) + "(\n    " + jsQuote(c.url()))
	if headers != "" {
		b.WriteString(",\n    headers={" + headers + "}")
	}
	if c.hasBody() {
		b.WriteString(",\n    data=" + mark)
	}
	if c.streams() {
		b.WriteString(",\n    stream=True")
	}
	b.WriteString(",\n    timeout=60,\n)\nanswer.raise_for_status()\n")
	switch {
	case c.streams():
		b.WriteString("for line in answer.iter_lines():\n    print(line.decode())\n")
	case c.answersJSON():
		b.WriteString("print(answer.json())\n")
	default:
		b.WriteString("print(answer.text)\n")
	}
	s := newSnippet("Python", b.String(), "go", jsQuote(c.body)) // a string in JSON is one in Python
	s.Note = "pip install requests"
	return s
}

func (c *apiCall) golang() snippet {
	var b strings.Builder
	imports := []string{"fmt", "io", "log", "net/http"}
	body := "nil"
	if c.hasBody() {
		imports = append(imports, "strings")
		body = "strings.NewReader(body)"
	}
	if c.keyed {
		imports = append(imports, "os")
	}
	if c.streams() {
		imports = append(imports, "os")
	}
	slices.Sort(imports)
	imports = slices.Compact(imports)
	if c.streams() {
		imports = slices.DeleteFunc(imports, func(s string) bool { return s == "fmt" })
	}
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		b.WriteString("\t" + strconv.Quote(name) + "\n")
	}
	b.WriteString(")\n\nfunc main() {\n")
	if c.hasBody() {
		b.WriteString("\tconst body = " + mark + "\n")
	}
	fmt.Fprintf(&b, "\treq, err := http.NewRequest(%q, %s, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", c.op.Method, strconv.Quote(c.url()), body)
	if c.hasBody() {
		b.WriteString("\treq.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	if c.keyed {
		fmt.Fprintf(&b, "\treq.Header.Set(%q, os.Getenv(%q))\n", keyHeader, keyVariable)
	}
	b.WriteString("\tresp, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer resp.Body.Close()\n")
	if c.streams() {
		b.WriteString("\tif _, err := io.Copy(os.Stdout, resp.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n")
	} else {
		b.WriteString("\tanswer, err := io.ReadAll(resp.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(resp.Status)\n\tfmt.Println(string(answer))\n}\n")
	}
	return newSnippet("Go", b.String(), "go", jsQuote(c.body))
}
