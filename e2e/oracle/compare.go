package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// object is a JSON object that is expected. Its values are strings, whole
// numbers, booleans, nil, objects, lists and rules.
type object map[string]any

// rule judges a value that is not known exactly. It says what is wrong, or "".
type rule func(got any, present bool) string

// diff appends where got, decoded from JSON with json.Number, is not want.
func diff(out []string, path string, want, got any) []string {
	bad := func() []string {
		return append(out, fmt.Sprintf("%s: server %s, node %s", path, show(got), show(want)))
	}
	switch want := want.(type) {
	case rule:
		if problem := want(got, true); problem != "" {
			return append(out, path+": "+problem)
		}
		return out
	case object:
		members, ok := got.(map[string]any)
		if !ok {
			return bad()
		}
		return diffMembers(out, path, want, members)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return bad()
		}
		if len(list) != len(want) {
			out = append(out, fmt.Sprintf("%s: server has %d items, node %d", path, len(list), len(want)))
		}
		for i := range min(len(list), len(want)) {
			out = diff(out, path+"["+strconv.Itoa(i)+"]", want[i], list[i])
		}
		return out
	case int, uint64, uint8:
		if n, ok := got.(json.Number); !ok || n.String() != fmt.Sprint(want) {
			return bad()
		}
	default: // string, bool, nil
		if got != want {
			return bad()
		}
	}
	return out
}

func diffMembers(out []string, path string, want object, got map[string]any) []string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, present := got[name]
		r, isRule := want[name].(rule)
		switch {
		case present:
			out = diff(out, path+"."+name, want[name], value)
		case !isRule:
			out = append(out, fmt.Sprintf("%s: server has no %s, node %s", path, name, show(want[name])))
		default:
			if problem := r(nil, false); problem != "" {
				out = append(out, path+"."+name+": "+problem)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[name]; !expected {
			out = append(out, fmt.Sprintf("%s: server has %s %s, which should not be there", path, name, show(got[name])))
		}
	}
	return out
}

const shown = 160 // characters of a value in a message

func show(v any) string {
	switch v := v.(type) {
	case rule:
		return "(a rule)"
	case object:
		return show(map[string]any(v))
	}
	b, err := json.Marshal(v)
	if err != nil { // a rule is in it
		b = fmt.Append(nil, v)
	}
	if len(b) > shown {
		return string(b[:shown]) + "..."
	}
	return string(b)
}

// oneOf accepts any of the texts.
func oneOf(texts ...string) rule {
	return func(got any, _ bool) string {
		if s, ok := got.(string); ok && slices.Contains(texts, s) {
			return ""
		}
		return fmt.Sprintf("server %s, node one of %q", show(got), texts)
	}
}
