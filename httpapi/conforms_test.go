package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quorate/httpapi/openapi"
)

// conforms says how a JSON value is not as a schema says, stricter than readers have to be: no
// object has members that are not described. Numbers are json.Number.
func conforms(doc *openapi.Document, s *openapi.Schema, v any) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return conforms(doc, doc.Components.Schemas[name], v)
	}
	for _, all := range s.AllOf {
		if err := conforms(doc, all, v); err != nil && (v != nil || !s.Nullable) {
			return err
		}
	}
	if len(s.OneOf) > 0 {
		are := 0
		for _, one := range s.OneOf {
			if conforms(doc, one, v) == nil {
				are++
			}
		}
		if are != 1 {
			return fmt.Errorf("%v is %d of %d forms", v, are, len(s.OneOf))
		}
	}
	if v == nil && s.Nullable || s.Type == "" {
		return nil
	}
	switch v := v.(type) {
	case string:
		return textFits(s, v)
	case json.Number:
		if s.Type != "number" && (s.Type != "integer" || strings.ContainsAny(string(v), ".eE")) {
			return fmt.Errorf("%s is no %s", v, s.Type)
		}
	case bool:
		if s.Type != "boolean" {
			return fmt.Errorf("%v is no %s", v, s.Type)
		}
	case []any:
		return listFits(doc, s, v)
	case map[string]any:
		return objectFits(doc, s, v)
	default:
		return fmt.Errorf("%v is no %s", v, s.Type)
	}
	return nil
}

func textFits(s *openapi.Schema, v string) error {
	switch {
	case s.Type != "string":
		return fmt.Errorf("%q is no %s", v, s.Type)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		return fmt.Errorf("%q is none of %q", v, s.Enum)
	case len(v) < s.MinLength, s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v):
		return fmt.Errorf("%q is not of %q, or shorter than %d", v, s.Pattern, s.MinLength)
	}
	return nil
}

func listFits(doc *openapi.Document, s *openapi.Schema, list []any) error {
	if s.Type != "array" || len(list) < s.MinItems || s.MaxItems > 0 && len(list) > s.MaxItems {
		return fmt.Errorf("a list of %d is no %s of %d to %d", len(list), s.Type, s.MinItems, s.MaxItems)
	}
	var all []error
	for i, v := range list {
		if err := conforms(doc, s.Items, v); err != nil {
			all = append(all, fmt.Errorf("[%d]: %w", i, err))
		}
	}
	return errors.Join(all...)
}

func objectFits(doc *openapi.Document, s *openapi.Schema, o map[string]any) error {
	if s.Type != "object" {
		return fmt.Errorf("an object is no %s", s.Type)
	}
	var all []error
	for _, name := range s.Required {
		if _, ok := o[name]; !ok {
			all = append(all, fmt.Errorf("%s is missing", name))
		}
	}
	for name, v := range o {
		of := s.Properties[name]
		if of == nil {
			of = s.Additional
		}
		if of == nil {
			all = append(all, fmt.Errorf("%s is not described", name))
		} else if err := conforms(doc, of, v); err != nil {
			all = append(all, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(all...)
}

// TestConforms: what is not as a schema says is found.
func TestConforms(t *testing.T) {
	t.Parallel()
	text := &openapi.Schema{Type: "string", Enum: []string{"a"}}
	doc := &openapi.Document{Components: openapi.Components{Schemas: map[string]*openapi.Schema{"text": text}}}
	object := &openapi.Schema{Type: "object", Required: []string{"a"}, Properties: map[string]*openapi.Schema{
		"a": {Ref: "#/components/schemas/text"}, "n": {AllOf: []*openapi.Schema{{Type: "integer"}}, Nullable: true},
		"l": {Type: "array", MaxItems: 1, Items: &openapi.Schema{OneOf: []*openapi.Schema{{Type: "number"}, {Type: "string", Pattern: "^x"}}}},
	}}
	f := func(text string, ok bool) {
		t.Helper()
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if err := conforms(doc, object, v); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	f(`{"a":"a","n":null,"l":[1.5]}`, true)
	f(`{"a":"a","n":3,"l":["x"]}`, true)
	f(`{"a":"b"}`, false)
	f(`{"a":1}`, false)
	f(`{"a":null}`, false)
	f(`{}`, false)
	f(`[]`, false)
	f(`{"a":"a","b":1}`, false)
	f(`{"a":"a","n":1.5}`, false)
	f(`{"a":"a","l":[1,2]}`, false)
	f(`{"a":"a","l":["y"]}`, false)
	f(`{"a":"a","l":[true]}`, false)
}
