package openapi

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-json"
)

// Schemer is a type that says itself what its JSON looks like.
type Schemer interface{ Schema() *Schema }

// Describer is a struct that adds to its schema what tags cannot say: bounds that are
// constants elsewhere.
type Describer interface{ Describe(s *Schema) }

// Schemas collects the schemas of Go types. Structs are components by the name of their
// type, all else stands where it is used.
//
// Members are read from tags: json as encoding/json has them, so that one with omitempty
// may be absent and any other is required; doc is a description; enum lists what a string
// can be, and example is one of the others; null:"true" permits null. Members of embedded structs are those of the struct
// itself.
type Schemas struct {
	components map[string]*Schema
	types      map[string]reflect.Type
	err        error
}

// NewSchemas returns an empty collection.
func NewSchemas() *Schemas {
	return &Schemas{components: map[string]*Schema{}, types: map[string]reflect.Type{}}
}

// Components returns the schemas of all structs that were met, and the first error.
func (s *Schemas) Components() (map[string]*Schema, error) { return s.components, s.err }

// Of returns the schema of the type of a value.
func (s *Schemas) Of(v any) *Schema { return s.of(reflect.TypeOf(v)) }

func (s *Schemas) of(t reflect.Type) *Schema {
	if own, ok := reflect.Zero(t).Interface().(Schemer); ok {
		return own.Schema()
	}
	if t == reflect.TypeFor[json.Number]() {
		return &Schema{Type: "number"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Slice:
		return &Schema{Type: "array", Items: s.of(t.Elem())}
	case reflect.Map:
		return &Schema{Type: "object", Additional: s.of(t.Elem())}
	case reflect.Interface:
		return &Schema{}
	case reflect.Struct:
		return s.component(t)
	default:
		s.fail("type %s has no schema", t)
		return &Schema{}
	}
}

func (s *Schemas) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("openapi: "+format, args...)
	}
}

// component returns a reference to the schema of a struct. Its name is taken before its
// members are looked at: they may be of the same type.
func (s *Schemas) component(t reflect.Type) *Schema {
	name := t.Name()
	if name == "" {
		o := &Schema{Type: "object"}
		s.members(o, t)
		return o
	}
	if other, ok := s.types[name]; ok && other != t {
		s.fail("%s and %s have the same name", other, t)
	} else if !ok {
		o := &Schema{Type: "object"}
		s.types[name], s.components[name] = t, o
		s.members(o, t)
		if d, ok := reflect.Zero(t).Interface().(Describer); ok {
			d.Describe(o)
		}
	}
	return &Schema{Ref: "#/components/schemas/" + name}
}

// members adds those of a struct.
func (s *Schemas) members(o *Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.members(o, f.Type)
			continue
		case name == "":
			s.fail("%s.%s has no name", t, f.Name)
		}
		if o.Properties == nil {
			o.Properties = map[string]*Schema{}
		}
		o.Properties[name] = s.member(&f)
		if options != "omitempty" {
			o.Required = append(o.Required, name)
		}
	}
}

func (s *Schemas) member(f *reflect.StructField) *Schema {
	m := s.of(f.Type)
	to := m
	if m.Type == "array" && f.Tag.Get("enum") != "" {
		to = m.Items
	}
	if list := f.Tag.Get("enum"); list != "" {
		to.Enum = strings.Split(list, ",")
	}
	if example := f.Tag.Get("example"); example != "" {
		m.Example = example
	}
	null, doc := f.Tag.Get("null") == "true", f.Tag.Get("doc")
	if m.Ref != "" && (null || doc != "") { // nothing may stand beside a reference
		m = &Schema{AllOf: []*Schema{m}}
	}
	m.Nullable = m.Nullable || null
	if doc != "" {
		m.Description = doc
	}
	return m
}
