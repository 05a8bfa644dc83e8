package ui

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"quorate/httpapi/openapi"
)

// apiField is a parameter as a field of a form.
type apiField struct {
	Name, In, Doc string
	Required      bool
	Value         string
	// Known is where a value came from that nobody typed, or why there is none.
	Known   string
	Choices []string
	Default string
	Number  bool
	Pattern string
}

// value is what stands for the field in a request: its name in braces where a value is
// needed and there is none.
func (f apiField) value() string {
	if f.Value == "" && f.Required {
		return "{" + f.Name + "}"
	}
	return f.Value
}

// newField reads a parameter of the description.
func newField(p *openapi.Parameter, d *apiDocument) apiField {
	f := apiField{Name: p.Name, In: p.In, Doc: p.Description, Required: p.Required}
	s := d.resolve(p.Schema)
	if s == nil {
		return f
	}
	if s.Default != nil {
		f.Default = fmt.Sprint(s.Default)
	}
	switch s.Type {
	case "boolean":
		f.Choices = []string{"true", "false"}
	case "array":
		f.Doc += ", with commas between several"
		if items := d.resolve(s.Items); items != nil && len(items.Enum) > 0 {
			f.Doc += ": " + strings.Join(items.Enum, ", ")
		}
	default:
		f.Choices, f.Pattern, f.Number = s.Enum, s.Pattern, s.Type == "integer"
	}
	return f
}

// url returns the address of the call.
func (c *apiCall) url() string { return c.base + c.path() }

// path returns the path of the call with its query.
func (c *apiCall) path() string {
	path, query := c.op.Path, []string(nil)
	for _, f := range c.fields {
		switch {
		case f.In == openapi.InPath && f.Value != "":
			path = strings.Replace(path, "{"+f.Name+"}", url.PathEscape(f.Value), 1)
		case f.In == openapi.InQuery && f.value() != "":
			query = append(query, url.QueryEscape(f.Name)+"="+queryValue(f.value()))
		}
	}
	if c.rest != "" {
		path = join(path, strings.Split(strings.Trim(c.rest, "/"), "/")...)
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

// queryValue escapes a value, but for what lists are made of.
func queryValue(v string) string {
	return strings.NewReplacer("%2C", ",", "%7B", "{", "%7D", "}").Replace(url.QueryEscape(v))
}

// missing returns the names of what is needed and not there.
func (c *apiCall) missing() []string {
	var names []string
	for _, f := range c.fields {
		if f.Required && f.Value == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// operationView is the page of one operation.
type operationView struct {
	*apiOperation
	Group    *apiGroup
	Fields   []apiField
	Rest     string
	Body     string
	BodyNote string
	Shape    string // of the body
	Keyed    bool
	Path     string // of the request, with its query
	Pattern  string
	URL      string
	Missing  []string
	Streams  bool
	Snippets []snippet
	Answers  []apiAnswer
}

// apiAnswer is a status that an operation answers with.
type apiAnswer struct{ Status, Doc, Media, Shape string }

// HasBody reports whether the request has one.
func (v *operationView) HasBody() bool { return v.Op().Body != nil }

// Op returns the operation itself.
func (v *operationView) Op() *openapi.Operation { return v.Operation }

func (docs *apiDocuments) serveOperation(r *Request) error {
	d, err := docs.of(r)
	if err != nil {
		return err
	}
	op := d.byID[r.Param("operation")]
	if op == nil {
		return errorf(http.StatusNotFound, "there is no operation %s here", r.Param("operation"))
	}
	c := &apiCall{op: op, base: r.Base(), keyed: r.Query("key") != ""}
	v := &operationView{apiOperation: op, Group: op.group, Keyed: c.keyed}
	for i := range op.Parameters {
		c.fields = append(c.fields, newField(&op.Parameters[i], d))
	}
	if r.Query("filled") != "" {
		for i := range c.fields {
			c.fields[i].Value = r.Query(c.fields[i].Name)
		}
		c.rest, c.body = r.Query("rest"), r.Query("body")
	} else {
		c.prefill(newSamples(r))
	}
	if schema := op.bodySchema(); schema != nil {
		v.Shape = d.shape(schema)
		if c.body == "" {
			c.body, v.BodyNote = bodyExample(d, schema, newSamples(r), op)
		}
	}
	v.Fields, v.Rest, v.Body, v.Missing = c.fields, c.rest, c.body, c.missing()
	v.Pattern, v.Path, v.URL, v.Streams = op.Path, c.path(), c.url(), c.streams()
	v.Answers = d.answers(op)
	if v.Snippets, err = c.snippets(); err != nil {
		return err
	}
	return r.Render("operation", op.Method+" "+op.Path, v)
}

// prefill fills in what is needed with what there is, and what helps.
func (c *apiCall) prefill(s *samples) {
	for i := range c.fields {
		f := &c.fields[i]
		if !f.Required && !slices.Contains(helpful[c.op.Path], f.Name) {
			continue
		}
		if len(f.Choices) > 0 && f.Name != "network" {
			f.Value = f.Choices[0]
			if slices.Contains(f.Choices, commonMetric) {
				f.Value = commonMetric
			}
			continue
		}
		f.Value, f.Known = s.of(f.Name, c.op)
	}
	if c.op.Nested() && strings.HasSuffix(c.op.Path, "}") {
		c.rest = "rpc"
	}
}

// commonMetric is a metric of chains that both SDKs know; some only one of them does.
const commonMetric = "txCount"

// helpful are parameters that are not required by the description, but without any of
// which an operation has no answer, and those that say what kind of thing is asked for.
var helpful = map[string][]string{
	"/v1/networks/{network}/rewards":             {"nodeIds"},
	"/v1/networks/{network}/rewards:listPending": {"nodeIds"},
	"/v1/events": {"topics", "chainId"},
}

// answers returns the answers of an operation, the good ones first.
func (d *apiDocument) answers(op *apiOperation) []apiAnswer {
	var list []apiAnswer
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		resp := op.Responses[status]
		a := apiAnswer{Status: status, Doc: resp.Description}
		if name, ok := strings.CutPrefix(resp.Ref, "#/components/responses/"); ok {
			a.Doc = d.responses[name]
		}
		if strings.HasPrefix(status, "2") {
			for _, media := range slices.Sorted(maps.Keys(resp.Content)) {
				a.Media, a.Shape = media, d.shape(resp.Content[media].Schema)
			}
		}
		list = append(list, a)
	}
	return list
}

// bodyExample makes a body of a schema: members that are required or of which something
// is known. What is not known is left empty, and the note says so.
func bodyExample(d *apiDocument, schema *openapi.Schema, s *samples, op *apiOperation) (body, note string) {
	value, note := s.body(op)
	if value == nil {
		value = d.empty(schema, 0)
	}
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "{}", note
	}
	return string(b), note
}

// empty returns the members that a schema requires, without values.
func (d *apiDocument) empty(s *openapi.Schema, depth int) any {
	s = d.resolve(s)
	if s == nil || depth > maxShapeDepth {
		return nil
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		m := map[string]any{}
		for _, name := range s.Required {
			m[name] = d.empty(s.Properties[name], depth+1)
		}
		return m
	case s.Type == "string":
		return ""
	}
	return nil
}
