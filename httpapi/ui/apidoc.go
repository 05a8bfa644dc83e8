package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"quorate/httpapi/openapi"
)

// apiDocument is the description of the API as the console needs it.
type apiDocument struct {
	groups  []*apiGroup
	byID    map[string]*apiOperation
	schemas map[string]*openapi.Schema
	// responses are the texts of the answers that several operations have, by name.
	responses map[string]string
}

// apiGroup is a tag with its operations.
type apiGroup struct {
	Name, Doc  string
	Operations []*apiOperation
}

// Anchor is the name of the group in the address of the page.
func (g *apiGroup) Anchor() string { return strings.ReplaceAll(g.Name, " ", "-") }

// apiOperation is a method of a path.
type apiOperation struct {
	Method, Path string
	group        *apiGroup
	*openapi.Operation
}

// apiDocuments keeps the descriptions for clients and for operators. They never change
// while the server runs.
type apiDocuments [2]atomic.Pointer[apiDocument]

// of returns the description of what the request's listener serves.
func (docs *apiDocuments) of(r *Request) (*apiDocument, error) {
	slot := &docs[0]
	if r.in.Operator {
		slot = &docs[1]
	}
	if doc := slot.Load(); doc != nil {
		return doc, nil
	}
	var raw openapi.Document
	if err := r.Get("/openapi.json", &raw); err != nil {
		return nil, err
	}
	doc := newAPIDocument(&raw)
	slot.Store(doc)
	return doc, nil
}

// newAPIDocument sorts the operations of a document into groups, in the order of its tags.
func newAPIDocument(raw *openapi.Document) *apiDocument {
	d := &apiDocument{byID: map[string]*apiOperation{}, schemas: raw.Components.Schemas, responses: map[string]string{}}
	for name, resp := range raw.Components.Responses {
		d.responses[name] = resp.Description
	}
	groups := map[string]*apiGroup{}
	for _, t := range raw.Tags {
		g := &apiGroup{Name: t.Name, Doc: t.Description}
		groups[t.Name] = g
		d.groups = append(d.groups, g)
	}
	for _, path := range slices.Sorted(maps.Keys(raw.Paths)) {
		methods := raw.Paths[path]
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			op := &apiOperation{Method: strings.ToUpper(method), Path: path, Operation: methods[method]}
			name := "other"
			if len(op.Tags) > 0 {
				name = op.Tags[0]
			}
			if groups[name] == nil {
				groups[name] = &apiGroup{Name: name}
				d.groups = append(d.groups, groups[name])
			}
			op.group = groups[name]
			op.group.Operations = append(op.group.Operations, op)
			d.byID[op.ID] = op
		}
	}
	d.groups = slices.DeleteFunc(d.groups, func(g *apiGroup) bool { return len(g.Operations) == 0 })
	return d
}

// search returns the groups with the operations that have all words.
func (d *apiDocument) search(words string) []*apiGroup {
	wanted := strings.Fields(strings.ToLower(words))
	if len(wanted) == 0 {
		return d.groups
	}
	var found []*apiGroup
	for _, g := range d.groups {
		hit := &apiGroup{Name: g.Name, Doc: g.Doc}
		for _, op := range g.Operations {
			text := strings.ToLower(op.Method + " " + op.Path + " " + op.Summary + " " + g.Name)
			if !slices.ContainsFunc(wanted, func(w string) bool { return !strings.Contains(text, w) }) {
				hit.Operations = append(hit.Operations, op)
			}
		}
		if len(hit.Operations) > 0 {
			found = append(found, hit)
		}
	}
	return found
}

// Nested reports whether paths below the operation's are of it, too.
func (op *apiOperation) Nested() bool {
	return strings.HasPrefix(op.Path+"/", "/ext/") && op.Path != "/ext/metrics" && op.Path != "/ext/info"
}

// Keyed reports whether the operation may need an API key.
func (op *apiOperation) Keyed() bool { return len(op.Security) > 0 }

// success returns the status and the content type of a good answer, with its schema.
func (op *apiOperation) success() (status, media string, schema *openapi.Schema) {
	for _, code := range slices.Sorted(maps.Keys(op.Responses)) {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		content := op.Responses[code].Content
		for _, media := range slices.Sorted(maps.Keys(content)) {
			return code, media, content[media].Schema
		}
		return code, "", nil
	}
	return "", "", nil
}

// bodySchema returns the schema of the request's body, nil if there is none.
func (op *apiOperation) bodySchema() *openapi.Schema {
	if op.Body == nil {
		return nil
	}
	return op.Body.Content["application/json"].Schema
}

// resolve follows a reference.
func (d *apiDocument) resolve(s *openapi.Schema) *openapi.Schema {
	for i := 0; s != nil && s.Ref != "" && i < 8; i++ {
		s = d.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// maxShapeDepth bounds the depth to which the form of an answer is shown.
const maxShapeDepth = 6

// shape writes the form of a JSON value for people: names, types, what may be absent
// (marked by ?), and remarks.
func (d *apiDocument) shape(s *openapi.Schema) string {
	var b strings.Builder
	d.writeShape(&b, s, 0)
	return b.String()
}

func (d *apiDocument) writeShape(b *strings.Builder, s *openapi.Schema, depth int) {
	s = d.resolve(s)
	indent := strings.Repeat("  ", depth)
	switch {
	case s == nil:
		b.WriteString("any")
	case depth >= maxShapeDepth:
		b.WriteString("…")
	case len(s.OneOf) > 0:
		for i, one := range s.OneOf {
			if i > 0 {
				b.WriteString(" or ")
			}
			d.writeShape(b, one, depth)
		}
	case s.Type == "array":
		b.WriteString("[")
		d.writeShape(b, s.Items, depth)
		b.WriteString("]")
	case len(s.Properties) > 0:
		b.WriteString("{\n")
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[name]
			mark := "?"
			if slices.Contains(s.Required, name) {
				mark = ""
			}
			fmt.Fprintf(b, "%s  %s%s: ", indent, name, mark)
			d.writeShape(b, p, depth+1)
			if p.Description != "" {
				b.WriteString("  // " + p.Description)
			}
			b.WriteString("\n")
		}
		b.WriteString(indent + "}")
	case len(s.Enum) > 0:
		b.WriteString(strings.Join(s.Enum, " | "))
	case s.Type == "object":
		b.WriteString("{…}")
	case s.Type == "":
		b.WriteString("any")
	default:
		b.WriteString(s.Type)
	}
}
