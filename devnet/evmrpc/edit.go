package evmrpc

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
)

// Drop is what a change of [Replace] returns for a member that is to go.
var Drop = new(struct{ _ byte })

// Replace makes an [Traits.Edit] that changes one place in the results of a
// method: path names members and indices with slashes between, * stands for all
// of them. change gets what is there, as package encoding/json decodes it with
// numbers as json.Number, or nil for a member that is not there, and returns what
// to put there, nil for null, or [Drop]. The empty path is the whole result. What
// the path does not reach stays as it is.
func Replace(method, path string, change func(v any) any) func(string, json.RawMessage, []byte) []byte {
	var steps []string
	if path != "" {
		steps = strings.Split(path, "/")
	}
	return func(called string, _ json.RawMessage, result []byte) []byte {
		if called != method {
			return result
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(result))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return result
		}
		out, err := json.Marshal(replace(v, steps, change))
		if err != nil {
			panic("evmrpc: a change that is no JSON: " + err.Error())
		}
		return out
	}
}

// replace changes v at what steps lead to.
func replace(v any, steps []string, change func(any) any) any {
	if len(steps) == 0 {
		return change(v)
	}
	step, rest := steps[0], steps[1:]
	switch v := v.(type) {
	case []any:
		kept := v[:0]
		for i := range v {
			if step == "*" || step == strconv.Itoa(i) {
				v[i] = replace(v[i], rest, change)
			}
			if v[i] != any(Drop) {
				kept = append(kept, v[i])
			}
		}
		return kept
	case map[string]any:
		if _, ok := v[step]; !ok && step != "*" && len(rest) == 0 {
			v[step] = nil
		}
		for name := range v {
			if step != "*" && step != name {
				continue
			}
			if v[name] = replace(v[name], rest, change); v[name] == any(Drop) {
				delete(v, name)
			}
		}
	}
	return v
}
